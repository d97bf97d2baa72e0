/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_PATH_H
#define HWT_CORRELATE_PATH_H

/*
 * The path of one call: the branches taken, with repeats of a loop's body folded into one, and when
 * which part of its time began.
 */
#include <hwtrace/why.h>

#include "../../hwtrace/base/vec.h"

#define PATH_TOKENS	16384		/* after folding; what comes later is not compared */
#define PATH_STEPS	(1u << 20)
#define PATH_LOOP	64		/* longest body that is folded, tokens */

/* Parts of a path: enum hwt_part, then these. */
enum { PATH_EXCEPTION = HWT_PARTS, PATH_HOLE, PATH_DARK, PATH_FAULT, PATH_PARTS };

struct path_token {
	uint64_t value;		/* what was done */
	uint64_t addr;		/* where it led */
	uint32_t visits;
	uint8_t hole;		/* it is a hole */
};

struct path_step {
	struct hwt_interval at;	/* it began */
	uint32_t pos;		/* token; RUN: of that */
	uint32_t round;		/* visit of it, from 1 on */
	uint8_t part;
	uint8_t visit;		/* a branch led here; else the token goes on */
	uint8_t group;		/* enum hwt_why_what, when compared */
};

struct path {
	struct vec tokens;	/* of struct path_token */
	struct vec steps;	/* of struct path_step, if @detail */
	uint64_t more;		/* hash of the tokens that found no room */
	bool detail, cut;
	uint8_t part;		/* now */
	uint32_t faults;	/* that the path was told of */
	uint64_t fault_at;	/* instruction of the first one, HWT_NO_ADDR */
	/* what causes the stretch of its part that it is in, which began at @since; "" */
	char cause[HWT_WHY_BY];
	uint64_t since;
	/* of the longest stretch of each part that has a cause, and that length */
	char by[PATH_PARTS][HWT_WHY_BY];
	uint64_t longest[PATH_PARTS];
};

void path_begin(struct path *p, struct hwt_interval at, uint8_t part, bool detail);
void path_free(struct path *p);
/* A branch was taken. 0 or -ENOMEM. */
int path_token(struct path *p, struct hwt_interval at, uint64_t value, uint64_t addr, bool hole);
/* Its time is of another part from now on. */
int path_part(struct path *p, struct hwt_interval at, uint8_t part);
/* The path ends. */
void path_end(struct path *p, struct hwt_interval at);
/*
 * It began at @at already, and up to where it is known was of part @part. 0 or -ENOMEM.
 */
int path_behind(struct path *p, struct hwt_interval at, uint8_t part);
/* What is of part @from up to now is of part @to. */
void path_rename(struct path *p, uint8_t from, uint8_t to);
/* Hash of the folded path: the same for the same path, however often its loops ran. */
uint64_t path_hash(const struct path *p);

/*
 * Which tokens of @a and @b are the same in order: match[i] of @a is the index in @b, or
 * UINT32_MAX. The most are found, unless that takes too many steps: then all between the common
 * begin and end are different. 0 or -ENOMEM.
 */
int path_match(const struct path *a, const struct path *b, uint32_t *match);

#endif
