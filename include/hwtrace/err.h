/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_ERR_H
#define HWTRACE_ERR_H

/*
 * Every fallible function returns int: 0 or a count on success, a negative code on failure.
 * -1..-4095 are negated errno values; from -4096 on the codes below, so both travel in one int.
 */
#include <stdint.h>

enum hwt_err {
	HWT_E_FORMAT = 4096,	/* container is not what it claims to be */
	HWT_E_PACKET,		/* undefined packet */
	HWT_E_MORE,		/* packet continues after the last byte */
	HWT_E_CLOCK,		/* clocks can not be related */
	HWT_E_FILTER,		/* filter expression is not valid */
	HWT_E_LIB,		/* error in a backend library, see hwt_diag */
	HWT_E_END
};

/* Text for a code that this library returned; static, never NULL. */
const char *hwt_strerror(int err);

#define HWT_NO_OFF UINT64_MAX	/* the place in the file is not known */

/*
 * The words for a human, written once where the fault is found. Owned by the caller, who passes
 * only the number on. @id is the number N of "help EN": cause, and what to try.
 */
struct hwt_diag {
	/* what is wrong, no file name, no newline; "" if nothing was said */
	char text[256];
	char file[256];		/* file it is about, "" if none */
	uint64_t off;		/* byte offset in @file, or HWT_NO_OFF */
	int code;		/* the negative number that was returned */
	uint16_t id;		/* error id, 0 if none */
};

/* What an error id means. All strings are static. */
struct hwt_error_info {
	uint16_t id;
	const char *name;	/* short title */
	const char *cause;	/* what leads to it */
	const char *hint;	/* what to try, one sentence */
};

/* The entry of @id, or NULL. */
const struct hwt_error_info *hwt_error_info(unsigned id);

/* The @i-th entry of the catalogue in order of ids, or NULL past its end. */
const struct hwt_error_info *hwt_error_at(unsigned i);

#endif
