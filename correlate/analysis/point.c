/* SPDX-License-Identifier: BSD-2-Clause */
#include "point.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/abi.h>
#include <hwtrace/calls.h>
#include <hwtrace/kernel.h>
#include <hwtrace/uapi.h>

#include "../../hwtrace/base/diag.h"

#define ID_POINT	164
#define ID_NO_LINE	165

static int no_memory(struct hwt_diag *diag)
{
	return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
}

/* "sched.switch where ...", "irq.*", "syscall.enter:read", "dirty:...": the first word says it. */
static bool names_event(const char *text)
{
	size_t n = strcspn(text, " \t\n,"), dot = strcspn(text, ".");
	const char *name;

	if ((text[n] && strstr(text, " where ")) || !strncmp(text, "dirty:", 6))
		return true;
	if (dot >= n)
		return false;
	for (unsigned i = 0; i < 256; i++) {
		name = hwt_abi_section(i, NULL);
		if (name && strlen(name) == dot && !memcmp(name, text, dot))
			return true;
	}
	return false;
}

/* "sched.switch:3" */
static bool is_nth(const char *text)
{
	const char *colon = strrchr(text, ':');

	return colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
}

static int kernel(struct point *p, struct hwt_session *s, const char *text, struct hwt_diag *diag)
{
	int rc = hwt_kernel_filter(s, &p->filter, text, diag);

	if (rc == -HWT_E_FILTER && is_nth(text))
		return diag_set(diag, rc, ID_POINT, NULL, HWT_NO_OFF, "\"%.80s\" is one event, as "
				"between takes it: a point is all of a kind", text);
	if (rc) {
		if (diag)
			diag->off = HWT_NO_OFF;	/* it is of the text, not of the file */
		return rc;
	}
	p->kind = POINT_KERNEL;
	while (hwt_filter_event(p->filter, p->nevents))
		p->nevents++;
	p->e = hwt_abi_event_by_id(hwt_filter_event(p->filter, 0));
	p->text = strdup(text);
	return p->text ? 0 : no_memory(diag);
}

/* "NAME:exit"; what belongs to a name such as A::exit is none. */
static size_t suffix(const char *text, const char *what)
{
	size_t n = strlen(text), m = strlen(what);

	if (n <= m || strcmp(text + n - m, what) || (n > m && text[n - m - 1] == ':'))
		return 0;
	return n - m;
}

static int cmp_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void keep_once(struct point *p)
{
	size_t n = 0;

	qsort(p->addr, p->n, sizeof(*p->addr), cmp_u64);
	for (size_t i = 0; i < p->n; i++)
		if (!i || p->addr[i] != p->addr[i - 1])
			p->addr[n++] = p->addr[i];
	p->n = n;
}

static void name_function(struct point *p, const char *name)
{
	const char *what = p->kind == POINT_EXIT ? "return" : "entry";
	int rc = p->n > 1 ? asprintf(&p->text, "%s of %s (%zu places)", what, name, p->n) :
		asprintf(&p->text, "%s of %s", what, name);

	if (rc < 0)
		p->text = NULL;
}

static int function(struct point *p, struct hwt_session *s, const char *text, struct hwt_diag *diag)
{
	struct hwt_image *img = hwt_session_image(s);
	size_t len = suffix(text, ":exit"), n;
	uint64_t (*v)[2];
	char *name;

	p->kind = len ? POINT_EXIT : POINT_ENTRY;
	if (!len)
		len = suffix(text, ":entry");
	name = strndup(text, len ? len : strlen(text));
	if (!name)
		return no_memory(diag);
	n = hwt_image_find(img, name, NULL, 0);
	if (!n || n > POINT_PLACES) {
		free(name);
		return n ? diag_set(diag, -EINVAL, ID_POINT, NULL, HWT_NO_OFF, "\"%.80s\" fits "
				    "%zu functions, more than %d", text, n, POINT_PLACES) :
			diag_set(diag, -EINVAL, ID_POINT, NULL, HWT_NO_OFF, "\"%.80s\" is no "
				 "kernel event, function, address or FILE:LINE of this capture",
				 text);
	}
	v = calloc(n, sizeof(*v));
	p->addr = calloc(n, sizeof(*p->addr));
	if (v && p->addr) {
		p->n = hwt_image_find(img, name, v, n);
		if (p->n > n)
			p->n = n;
		for (size_t i = 0; i < p->n; i++)
			p->addr[i] = v[i][0];
		keep_once(p);
		name_function(p, name);
	}
	free(v);
	free(name);
	return p->text ? 0 : no_memory(diag);
}

/* Only the first start in each function: a line may be left and come back to. */
static void first_of_functions(struct point *p, struct hwt_session *s)
{
	struct hwt_image *img = hwt_session_image(s);
	uint64_t last = HWT_NO_ADDR;
	struct hwt_symbol sym;
	struct hwt_map m;
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
		int found = hwt_image_symbol(img, &w, p->addr[i], &sym);

		for (size_t k = 0; !found && hwt_image_map_at(img, k, &m); k++) {
			w.pid = m.pid;
			if (p->addr[i] - m.addr < m.size)
				found = hwt_image_symbol(img, &w, p->addr[i], &sym);
		}
		if (found && sym.start == last)
			continue;
		last = found ? sym.start : HWT_NO_ADDR;
		p->addr[n++] = p->addr[i];
	}
	p->n = n;
}

/* Places of the line; 0 or an error. */
static int line_of(struct point *p, struct hwt_session *s, const char *file, unsigned long no,
		   struct hwt_diag *diag)
{
	int next = 0;

	p->n = hwt_image_find_line(hwt_session_image(s), file, (int)no, p->addr, POINT_PLACES,
				   &next);
	if (p->n > POINT_PLACES)
		return diag_set(diag, -EINVAL, ID_POINT, NULL, HWT_NO_OFF,
				"line %lu has more than %d places", no, POINT_PLACES);
	if (!p->n && next)
		return diag_set(diag, -EINVAL, ID_NO_LINE, NULL, HWT_NO_OFF,
				"%.80s has no code in line %lu; the next is line %d", file, no,
				next);
	if (!p->n)
		return diag_set(diag, -EINVAL, ID_NO_LINE, NULL, HWT_NO_OFF,
				"no code of the capture says that it is from line %lu of %.80s", no,
				file);
	first_of_functions(p, s);
	p->kind = POINT_ADDR;
	if (asprintf(&p->text, "%s:%lu (0x%llx%s)", file, no, (unsigned long long)p->addr[0],
		     p->n > 1 ? ", ..." : "") < 0)
		p->text = NULL;
	return p->text ? 0 : no_memory(diag);
}

/* FILE:LINE: 1 done, 0 it is none, or an error. */
static int line(struct point *p, struct hwt_session *s, const char *text, struct hwt_diag *diag)
{
	const char *colon = strrchr(text, ':');
	unsigned long no;
	char *file, *end;
	int rc;

	if (!colon || colon == text || !isdigit((unsigned char)colon[1]))
		return 0;
	no = strtoul(colon + 1, &end, 10);
	if (*end || no > INT32_MAX)
		return 0;
	file = strndup(text, (size_t)(colon - text));
	p->addr = calloc(POINT_PLACES, sizeof(*p->addr));
	rc = file && p->addr ? line_of(p, s, file, no, diag) : no_memory(diag);
	free(file);
	return rc ? rc : 1;
}

static int address(struct point *p, const char *text, struct hwt_diag *diag)
{
	char *end;

	p->addr = malloc(sizeof(*p->addr));
	if (!p->addr)
		return no_memory(diag);
	errno = 0;
	*p->addr = strtoull(text, &end, 16);
	if (*end || errno || end == text + 2)
		return diag_set(diag, -EINVAL, ID_POINT, NULL, HWT_NO_OFF,
				"\"%.80s\" is no address", text);
	p->n = 1;
	p->kind = POINT_ADDR;
	if (asprintf(&p->text, "0x%llx", (unsigned long long)*p->addr) < 0)
		p->text = NULL;
	return p->text ? 0 : no_memory(diag);
}

int point_init(struct point *p, struct hwt_session *s, const char *text, struct hwt_diag *diag)
{
	int rc;

	*p = (struct point){ .n = 0 };
	if (names_event(text))
		rc = kernel(p, s, text, diag);
	else if (text[0] == '0' && (text[1] | 32) == 'x')
		rc = address(p, text, diag);
	else if (!*text)
		rc = diag_set(diag, -EINVAL, ID_POINT, NULL, HWT_NO_OFF, "a point is empty");
	else
		rc = line(p, s, text, diag);
	if (!rc && !p->n && !p->filter)
		rc = function(p, s, text, diag);
	if (rc < 0)
		point_fini(p);
	return rc < 0 ? rc : 0;
}

void point_fini(struct point *p)
{
	hwt_filter_free(p->filter);
	free(p->addr);
	free(p->text);
	*p = (struct point){ .n = 0 };
}

bool point_in(const struct point *p, uint64_t lo, uint64_t hi)
{
	size_t a = 0, b = p->n;

	while (a < b) {
		size_t mid = a + (b - a) / 2;

		if (p->addr[mid] < lo)
			a = mid + 1;
		else
			b = mid;
	}
	return a < p->n && p->addr[a] <= hi;
}

static bool at_frame(const struct point *p, const struct hwt_call *c)
{
	if (!point_in(p, c->func, c->func))
		return false;
	/* found running inside is no entry; returns are told by tails_event() */
	return p->kind == POINT_ENTRY && c->what == HWT_CALL_ENTER && c->why != HWT_WHY_AGAIN &&
		(c->why != HWT_WHY_RUNNING || hwt_call_begins(c));
}

bool point_at(const struct point *p, const struct hwt_event *ev)
{
	if (p->kind == POINT_KERNEL)
		return hwt_filter_wants(p->filter, ev);
	switch (ev->type) {
	case HWT_EV_FRAME:
		return at_frame(p, ev->u.rec.data);
	case HWT_EV_CALL:
		return p->kind == POINT_ENTRY && point_in(p, ev->u.edge.to, ev->u.edge.to);
	case HWT_EV_EXCEPTION:
		return p->kind == POINT_ENTRY && point_in(p, ev->u.exc.to, ev->u.exc.to);
	case HWT_EV_ON:
		return p->kind == POINT_ENTRY && !(ev->flags & HWT_F_RESUMED) &&
			point_in(p, ev->u.at.addr, ev->u.at.addr);
	case HWT_EV_INSN:
	case HWT_EV_RANGE:
		return p->kind != POINT_EXIT && !(ev->flags & HWT_F_DOUBT) &&
			point_in(p, ev->u.range.first, ev->u.range.last);
	}
	return false;
}
