/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_CS_LINKS_H
#define HWT_KMOD_CS_LINKS_H

/*
 * What lies between the trace units of a session and its controllers, and must be told to let trace
 * through. Ways of several units go through the same parts, which are taken once.
 */
#include "cs_find.h"
#include "link_prog.h"

#define CS_LINKS	32	/* of a session */

struct cs_link {
	struct cs_dev *dev;
	struct link l;
	bool lost;		/* it could not be had again behind a sleep */
};

struct cs_links {
	unsigned int n;
	struct cs_link link[CS_LINKS];
};

struct cs_way {
	unsigned int n;		/* from the unit on */
	struct { struct cs_link *link; unsigned int port; } hop[CS_HOPS];
	bool open;
};

/* All closed. A refusal is told in *why. */
int cs_way_take(struct cs_way *w, struct cs_links *all, const struct cs_path *path,
		const char **why);
/* From the controller to the unit, which is started after that; nothing is open when it fails. */
int cs_way_open(struct cs_way *w);
/* From the unit, which is stopped and drained, to the controller. */
void cs_way_close(struct cs_way *w);
/* Before and after the machine sleeps, all closed. */
void cs_links_give(struct cs_links *all);
void cs_links_take(struct cs_links *all);

#endif
