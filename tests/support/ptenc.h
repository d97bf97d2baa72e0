/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PTENC_H
#define TESTS_PTENC_H

/*
 * Writes Intel PT packets for tests, from the manual (Intel SDM vol. 3, "Trace Packets"). It shares
 * no table and no code with decoders/, so that a mistake there is not repeated here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Into memory of the caller; what does not fit sets @full and writes nothing. */
struct ptenc {
	uint8_t *p;
	size_t n, cap;		/* bytes written, room */
	uint64_t last_ip;	/* as the decoder must know it */
	bool full;
};

enum ptenc_ip { PTENC_TIP, PTENC_PGE, PTENC_PGD, PTENC_FUP };
enum ptenc_ipc {		/* values of the IPBytes field */
	PTENC_SUPPRESSED = 0, PTENC_16 = 1, PTENC_32 = 2, PTENC_48S = 3, PTENC_48 = 4, PTENC_64 = 6,
	PTENC_AUTO = 100	/* the shortest that gives the address */
};

void ptenc_init(struct ptenc *e, void *p, size_t cap);
void ptenc_raw(struct ptenc *e, const void *p, size_t n);	/* any bytes */
void ptenc_hex(struct ptenc *e, const char *hex);		/* blanks are skipped */

void ptenc_pad(struct ptenc *e, unsigned n);
void ptenc_psb(struct ptenc *e);	/* last ip becomes 0 */
void ptenc_psbend(struct ptenc *e);
void ptenc_ovf(struct ptenc *e);
void ptenc_stop(struct ptenc *e);

/* An IP packet; false (nothing written) if @ipc can not give @ip from the last one. */
bool ptenc_ip(struct ptenc *e, enum ptenc_ip what, uint64_t ip, enum ptenc_ipc ipc);
bool ptenc_tip(struct ptenc *e, uint64_t ip);		/* PTENC_AUTO */
bool ptenc_pge(struct ptenc *e, uint64_t ip);
bool ptenc_pgd(struct ptenc *e, uint64_t ip);
bool ptenc_fup(struct ptenc *e, uint64_t ip);
void ptenc_pgd_noip(struct ptenc *e);

/* Branches as text, first one left: 'T' or '!' taken, 'N' or '.' not; split into packets. */
void ptenc_tnt(struct ptenc *e, const char *branches);		/* short packets */
void ptenc_tnt_long(struct ptenc *e, const char *branches);	/* long packets, 47 each */

void ptenc_exec(struct ptenc *e, unsigned bits);	/* code size: 16, 32 or 64 */
void ptenc_tsx(struct ptenc *e, bool intx, bool abort);
void ptenc_pip(struct ptenc *e, uint64_t cr3, bool nr);		/* @cr3: multiple of 32 */
void ptenc_vmcs(struct ptenc *e, uint64_t base);		/* multiple of 4096 */
void ptenc_cbr(struct ptenc *e, uint8_t ratio);
void ptenc_tsc(struct ptenc *e, uint64_t tsc);			/* 56 bits */
void ptenc_tma(struct ptenc *e, uint16_t ctc, uint16_t fc);	/* @fc: 9 bits */
void ptenc_mtc(struct ptenc *e, uint8_t ctc);
void ptenc_cyc(struct ptenc *e, uint64_t cycles);		/* shortest form */
void ptenc_mnt(struct ptenc *e, uint64_t v);
void ptenc_ptw(struct ptenc *e, uint64_t v, unsigned bytes, bool ip);	/* 4 or 8 */
void ptenc_exstop(struct ptenc *e, bool ip);
void ptenc_mwait(struct ptenc *e, uint32_t hints, uint32_t extensions);
void ptenc_pwre(struct ptenc *e, unsigned state, unsigned sub, bool hw);	/* as sent */
void ptenc_pwrx(struct ptenc *e, unsigned last, unsigned deepest, unsigned wake);
void ptenc_bbp(struct ptenc *e, unsigned type, unsigned item_bytes);	/* 4 or 8 */
void ptenc_bip(struct ptenc *e, unsigned id, uint64_t v, unsigned item_bytes);
void ptenc_bep(struct ptenc *e, bool ip);
void ptenc_cfe(struct ptenc *e, unsigned type, uint8_t vector, bool ip);
void ptenc_evd(struct ptenc *e, unsigned type, uint64_t v);

/*
 * A PSB with what tracing hardware sends after it: MODE.Exec 64-bit, FUP @ip, PSBEND. With
 * @on false tracing is off here: no FUP.
 */
void ptenc_psb_plus(struct ptenc *e, uint64_t ip, bool on);

#endif
