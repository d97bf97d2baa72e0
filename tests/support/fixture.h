/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

/*
 * Packet fixtures, fixtures/packets/PROTO/NAME.txt: one packet a line, bytes left, meaning right:
 *
 *	# comment
 *	@key value
 *	028202820282...	psb
 *	3d1010		fup	1: ????????????1010 ip 0000000000401010
 *
 * Fields are separated by tabs; blanks between bytes are allowed.
 */
#include <stddef.h>
#include <stdint.h>

#define FIXTURE_ROWS	128
#define FIXTURE_BYTES	4096

struct fixture_row {
	size_t off, n;		/* where its bytes are in the input */
	char name[32], text[192];
	unsigned line;
};

struct fixture {
	char path[512];
	char key[4][16], value[4][64];	/* @ lines in order */
	unsigned nkeys;
	uint8_t bytes[FIXTURE_BYTES];
	size_t size;
	struct fixture_row rows[FIXTURE_ROWS];
	size_t nrows;
};

/* 0, or -1 with a message on stderr. */
int fixture_read(struct fixture *f, const char *path);
/* Value of an @ line, or NULL. */
const char *fixture_value(const struct fixture *f, const char *key);

/*
 * Sorted paths of the files in @dir that end in @suffix, at most @max; how many. Each is freed by
 * the caller.
 */
int fixture_list(const char *dir, const char *suffix, char **out, int max);

#endif
