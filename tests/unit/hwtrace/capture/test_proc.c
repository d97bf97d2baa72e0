/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc tells of a process, asked of our own. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "hwtrace/capture/proc.h"
#include "tests/support/scratch.h"

static int answer(void)
{
	return 42;
}

static void maps(void **state)
{
	uint64_t here = (uint64_t)(uintptr_t)answer;
	const struct proc_map *m;
	char exe[4096], got[16];
	struct proc *p;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *more;

	assert_true(n > 0);
	exe[n] = 0;
	assert_int_equal(proc_new(&p, getpid()), 0);
	assert_int_equal(proc_exec(p), 0);
	assert_int_equal(proc_remap(p), 0);
	m = proc_map(p, here);
	assert_non_null(m);
	assert_true(m->file && !m->deleted);
	assert_string_equal(m->path, exe);
	assert_int_equal(proc_read(p, here, got, sizeof(got)), sizeof(got));
	assert_memory_equal(got, (const void *)answer, sizeof(got));
	assert_null(proc_map(p, 0));
	assert_int_equal(proc_read(p, 0, got, sizeof(got)), 0);
	assert_int_equal(proc_read(p, UINT64_MAX, got, 1), 0);
	/* what comes is found, what stays is known */
	p->maps[m - p->maps].told = true;
	more = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(more, MAP_FAILED);
	assert_int_equal(proc_remap(p), 0);
	assert_true(proc_map(p, here)->told);
	m = proc_map(p, (uint64_t)(uintptr_t)more);
	assert_non_null(m);
	assert_false(m->told);
	assert_false(m->file);
	munmap(more, 8192);
	assert_int_equal(proc_remap(p), 0);
	assert_null(proc_map(p, (uint64_t)(uintptr_t)more));
	proc_free(p);
	proc_free(NULL);
}

static void deleted(void **state)
{
	const struct proc_map *m;
	struct proc *p;
	const char *path;
	void *at;
	FILE *f;

	scratch_write("code", "0123456789", 10);
	path = scratch("code");
	f = fopen(path, "r+");
	assert_non_null(f);
	assert_int_equal(ftruncate(fileno(f), 4096), 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0);
	fclose(f);
	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(proc_new(&p, getpid()), 0);
	assert_int_equal(proc_remap(p), 0);
	m = proc_map(p, (uint64_t)(uintptr_t)at);
	assert_non_null(m);
	assert_true(m->file && !m->deleted);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(proc_remap(p), 0);
	m = proc_map(p, (uint64_t)(uintptr_t)at);
	assert_true(m->file && m->deleted);
	munmap(at, 4096);
	proc_free(p);
}

static void pages(void **state)
{
	struct proc_page *g;
	struct proc *p;
	bool fresh;

	assert_int_equal(proc_new(&p, getpid()), 0);
	for (uint64_t i = 0; i < 2000; i++) {
		g = proc_page(p, i * 0x7f3000 + 5, &fresh);
		assert_non_null(g);
		assert_true(fresh);
		assert_int_equal(g->addr, i * 0x7f3000);
		g->tick = i;
	}
	for (uint64_t i = 0; i < 2000; i++) {
		g = proc_page(p, i * 0x7f3000 + 4095, &fresh);
		assert_false(fresh);
		assert_int_equal(g->tick, i);
	}
	proc_free(p);
}

static const char *program(const char *name, const char *text, size_t n)
{
	scratch_write(name, text, n);
	assert_int_equal(chmod(scratch(name), 0755), 0);
	return scratch(name);
}

/* Under user-mode emulation /proc tells of the emulator, and programs are the host's. */
static bool emulated(void)
{
	char comm[16];

	proc_comm(getpid(), comm);
	return strncmp(comm, "test_proc", 9);
}

static void find(void **state)
{
	static const char arm[] = "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\266\0\1\0\0\0";
	struct hwt_diag d = { .off = HWT_NO_OFF };
	char out[4096];
	const char *path;

	assert_int_equal(proc_find("sh", out, sizeof(out), &d), emulated() ? -ENOEXEC : 0);
	assert_true(!access(out, X_OK) && strstr(out, "/sh"));
	assert_int_equal(proc_find("/proc/self/exe", out, sizeof(out), &d), 0);
	assert_true(proc_find("no such program", out, sizeof(out), &d) < 0);
	assert_int_equal(d.id, 170);
	assert_true(proc_find("", out, sizeof(out), &d) < 0);
	assert_true(proc_find("/", out, sizeof(out), &d) < 0);
	assert_int_equal(d.id, 170);
	path = program("text", "echo hello\n", 11);
	assert_true(proc_find(path, out, sizeof(out), &d) < 0);
	assert_int_equal(d.id, 171);
	path = program("script", "#!/bin/sh\n", 10);
	assert_int_equal(proc_find(path, out, sizeof(out), &d), 0);
	/* machine 182 is none that has a name here */
	path = program("other", arm, sizeof(arm));
	assert_true(proc_find(path, out, sizeof(out), &d) < 0);
	assert_int_equal(d.id, 172);
	assert_non_null(strstr(d.text, "machine 182"));
}

static void status(void **state)
{
	char comm[16];

	assert_int_equal(proc_status(getpid(), "Tgid"), getpid());
	assert_int_equal(proc_status(getpid(), "PPid"), getppid());
	assert_int_equal(proc_status(getpid(), "NoSuchKey"), -1);
	assert_int_equal(proc_status(-5, "Tgid"), -1);
	proc_comm(getpid(), comm);
	assert_true(!strncmp(comm, "test_proc", 9) || emulated());
	assert_true(*comm);
	proc_comm(-5, comm);
	assert_string_equal(comm, "");
	assert_int_equal(proc_auxv(getpid(), 6), sysconf(_SC_PAGESIZE));	/* AT_PAGESZ */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps), cmocka_unit_test(deleted), cmocka_unit_test(pages),
		cmocka_unit_test(find), cmocka_unit_test(status),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
