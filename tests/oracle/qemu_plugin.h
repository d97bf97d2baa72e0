/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_QEMU_PLUGIN_H
#define TESTS_ORACLE_QEMU_PLUGIN_H

/*
 * The part of QEMU's TCG plugin interface (version 1, QEMU 7.2, docs/devel/tcg-plugins) that the
 * recorders use, declared by ourselves: Debian ships no header for it.
 */
#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

/* What the emulator tells at installation; more follows that is not used. */
struct qemu_info {
	const char *target_name;
	struct { int min, cur; } version;
	uint8_t system_emulation;
};

enum { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };

/* Called by the emulator. 0, or anything else to refuse. */
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv);

typedef void (*qemu_vcpu_cb)(qemu_plugin_id_t id, unsigned vcpu);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_vcpu_cb cb);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id, qemu_vcpu_cb cb);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t, void *),
				    void *arg);
/* Takes all callbacks back and drops all translated code, soon; @cb can register others then. */
void qemu_plugin_reset(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t));
/* Before a system call of an emulated program: number and arguments. */
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id,
	void (*cb)(qemu_plugin_id_t, unsigned vcpu, int64_t num, uint64_t, uint64_t, uint64_t,
		   uint64_t, uint64_t, uint64_t, uint64_t, uint64_t));
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
	void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));

/* Valid inside the translation callback only. @cb runs before the block or the instruction. */
typedef void (*qemu_udata_cb)(unsigned vcpu, void *arg);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_udata_cb cb, int flags,
					  void *arg);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_udata_cb cb,
					    int flags, void *arg);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

/* @cb runs after each access of the instruction, and sees what it did. */
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_hwaddr;
enum { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
	void (*cb)(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *arg),
	int flags, int rw, void *arg);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
_Bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
/* Inside the callback only; NULL: not known. */
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr);
_Bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *h);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *h);

#endif
