/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_CS_SYS_REGS_H
#define HWT_KMOD_CS_SYS_REGS_H

/*
 * Which registers of a trace unit are reached by system registers, and under which numbers. An
 * instruction has its register's number in it, so each is listed, by its offset in memory
 * (etm4_prog.h): n = offset / 4 is op0 2, op1 1, CRn n<9:7>, CRm n<3:0>, op2 n<6:4> (Arm IHI 0064,
 * "System instructions"; Arm ARM, TRCxxx). Numbers only: the assembler sees them.
 */
#define CS_SYS_CRN(offset)	((offset) >> 9 & 7)
#define CS_SYS_CRM(offset)	((offset) >> 2 & 15)
#define CS_SYS_OP2(offset)	((offset) >> 6 & 7)

#define CS_SYS_4(X, o)	X((o)) X((o) + 4) X((o) + 8) X((o) + 12)
#define CS_SYS_8(X, o)	CS_SYS_4(X, (o)) CS_SYS_4(X, (o) + 16)
#define CS_SYS_W4(X, o)	X((o)) X((o) + 8) X((o) + 16) X((o) + 24)
#define CS_SYS_W8(X, o)	CS_SYS_W4(X, (o)) CS_SYS_W4(X, (o) + 32)

/* STATR; IDR8 to 13; IDR0 to 7; OSLSR; DEVARCH */
#define CS_SYS_READ(X) \
	X(0x00c) CS_SYS_4(X, 0x180) X(0x190) X(0x194) CS_SYS_8(X, 0x1e0) X(0x304) X(0xfbc)

/* OSLAR */
#define CS_SYS_WRITE(X) X(0x300)

/*
 * PRGCTLR, CONFIGR; EVENTCTL0R to BBCTLR; TRACEIDR, QCTLR; VICTLR to VIPCSSCTLR; VDCTLR; SEQEVR0 to
 * 2; SEQRSTEVR, SEQSTR; EXTINSELR; CNTRLDVR, CNTCTLR, CNTVR; RSCTLR2 to 31; SSCCR, SSCSR, SSPCICR;
 * CIDCCTLR, VMIDCCTLR; CLAIMSET, CLAIMCLR
 */
#define CS_SYS_BOTH(X) \
	X(0x004) X(0x010) CS_SYS_8(X, 0x020) X(0x040) X(0x044) CS_SYS_4(X, 0x080) \
	X(0x0a0) X(0x0a4) X(0x0a8) X(0x100) X(0x104) X(0x108) X(0x118) X(0x11c) \
	CS_SYS_4(X, 0x120) CS_SYS_4(X, 0x140) CS_SYS_4(X, 0x150) CS_SYS_4(X, 0x160) \
	X(0x208) X(0x20c) CS_SYS_4(X, 0x210) CS_SYS_8(X, 0x220) CS_SYS_8(X, 0x240) \
	CS_SYS_8(X, 0x260) CS_SYS_8(X, 0x280) CS_SYS_8(X, 0x2a0) CS_SYS_8(X, 0x2c0) \
	CS_SYS_4(X, 0x680) X(0xfa0) X(0xfa4)

/* 64 bits: ACVR, ACATR; CIDCVR, VMIDCVR */
#define CS_SYS_WIDE(X) \
	CS_SYS_W8(X, 0x400) CS_SYS_W8(X, 0x440) CS_SYS_W8(X, 0x480) CS_SYS_W8(X, 0x4c0) \
	CS_SYS_W8(X, 0x600) CS_SYS_W8(X, 0x640)

/* Of a trace buffer (trbe_prog.h): LIMITR, PTR, BASER, SR, TRG; IDR: S3_0_C9_C11_n. */
#define CS_SYS_BUFFER(X) X(0) X(1) X(2) X(3) X(6)
#define CS_SYS_BUFFER_READ(X) X(7)

#endif
