/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of system calls, and of their arguments. */
#include <string.h>

#include "filter.h"

struct call {
	const char *name;
	int16_t x86, a64;
};

static const struct call calls[] = {
#define SYSCALL(name, x86, a64) { #name, x86, a64 },
#include "syscalls.def"
};

static int number(const struct call *c, const char *arch)
{
	if (!strcmp(arch, "x86_64"))
		return c->x86;
	return !strcmp(arch, "aarch64") ? c->a64 : -1;
}

int filter_syscall(const char *arch, const char *name, size_t n)
{
	size_t lo = 0, hi = sizeof(calls) / sizeof(calls[0]);

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int d = strncmp(calls[mid].name, name, n);

		if (!d && !calls[mid].name[n])
			return number(&calls[mid], arch);
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

const char *filter_syscall_near(const char *arch, const char *name, size_t n)
{
	struct near near;

	near_init(&near, name, n);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (number(&calls[i], arch) >= 0)
			near_try(&near, calls[i].name);
	return near.best;
}

const char *filter_syscall_name(const char *arch, uint64_t nr)
{
	for (size_t i = 0; nr <= INT16_MAX && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (number(&calls[i], arch) == (int)nr)
			return calls[i].name;
	return NULL;
}

#define ARGS	6
struct call_args { const char *name, *arg[ARGS]; };

static const struct call_args args[] = {
#define SYSCALL_ARGS(name, ...) { #name, { __VA_ARGS__ } },
#include "syscall_args.def"
};

const char *filter_syscall_arg(const char *arch, const char *name, unsigned i)
{
	size_t lo = 0, hi = sizeof(args) / sizeof(args[0]);
	const char *arg;

	/* CONFIG_CLONE_BACKWARDS of arm64: the last two of x86-64's are the other way round */
	if (!strcmp(name, "clone") && !strcmp(arch, "aarch64") && (i == 3 || i == 4))
		i = 7 - i;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int d = strcmp(args[mid].name, name);

		if (!d) {
			arg = i < ARGS ? args[mid].arg[i] : NULL;
			return arg ? arg : "";
		}
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}
