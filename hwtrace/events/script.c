/* SPDX-License-Identifier: BSD-2-Clause */
/* abi=stable: a script that wants to run on every kernel names events of the tables only. */
#include <hwtrace/abi.h>
#include <string.h>

#include "../base/diag.h"
#include "../base/text.h"

#define ID_DIRTY	160
#define ID_SCRIPT	161
#define SHOWN		4	/* dirty names in a message */

size_t hwt_abi_dirty(const char *const *names, size_t n, size_t *dirty, size_t max)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (hwt_abi_event_by_name(names[i]))
			continue;
		if (found < max)
			dirty[found] = i;
		found++;
	}
	return found;
}

static const struct hwt_abi_event *event_of(const char *name, size_t len)
{
	char buf[64];

	if (len >= sizeof(buf) || memchr(name, 0, len))
		return NULL;
	memcpy(buf, name, len);
	buf[len] = 0;
	return hwt_abi_event_by_name(buf);
}

static int blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of [*p, end), its length in @len; 0 at the end. */
static size_t word(const char **p, const char *end)
{
	size_t n = 0;

	while (*p < end && blank(**p))
		++*p;
	while (*p + n < end && !blank((*p)[n]))
		n++;
	return n;
}

/* Letters, digits and "._:-+*?[]@/$": what names of events, probes and patterns are made of. */
static int is_name(const char *p, size_t n)
{
	for (; n; n--, p++) {
		unsigned char c = (unsigned char)*p;

		if (!((c | 32) >= 'a' && (c | 32) <= 'z') && !(c >= '0' && c <= '9') &&
		    (!c || !strchr("._:-+*?[]@/$", c)))
			return 0;
	}
	return 1;
}

static int is(const char *p, size_t n, const char *what)
{
	return n == strlen(what) && !memcmp(p, what, n);
}

struct script {
	unsigned line;
	int stable;
	size_t names, dirty;
	char shown[160];
	struct text t;
};

/* The line's event in @u, 0; 1 if it has none; -1 if it makes no sense. */
static int parse_line(struct script *s, const char *p, const char *end, struct hwt_abi_use *u)
{
	size_t n = word(&p, end);

	if (!n)
		return 1;
	if (is(p, n, "abi=stable")) {
		p += n;
		s->stable = 1;
		return word(&p, end) ? -1 : 1;
	}
	if (!is_name(p, n))
		return -1;
	*u = (struct hwt_abi_use){ p, n, s->line, event_of(p, n) };
	p += n;
	n = word(&p, end);
	if (!n)
		return 0;
	if (!is(p, n, "where"))
		return -1;
	p += n;
	return word(&p, end) ? 0 : -1;
}

static void count(struct script *s, const struct hwt_abi_use *u)
{
	s->names++;
	if (u->event)
		return;
	if (s->dirty++ < SHOWN)
		text_put(&s->t, "%s%.*s (line %u)", s->t.len ? ", " : "",
			 u->len < 64 ? (int)u->len : 64, u->name, u->line);
}

int hwt_abi_script(const char *text, size_t n, void (*use)(void *arg, const struct hwt_abi_use *u),
		   void *arg, struct hwt_diag *diag)
{
	const char *p = text, *end = text + n;
	struct script s = { 0 };
	struct hwt_abi_use u;

	s.t = (struct text){ s.shown, sizeof(s.shown), 0 };
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *eol = nl ? nl : end;
		const char *hash = memchr(p, '#', (size_t)(eol - p));
		int rc;

		s.line++;
		rc = parse_line(&s, p, hash ? hash : eol, &u);
		if (rc < 0)
			return diag_set(diag, -HWT_E_FILTER, ID_SCRIPT, NULL,
					(uint64_t)(p - text), "line %u is no event's name",
					s.line);
		if (!rc) {
			count(&s, &u);
			if (use)
				use(arg, &u);
		}
		p = nl ? nl + 1 : end;
	}
	if (s.stable && s.dirty)
		return diag_set(diag, -HWT_E_FILTER, ID_DIRTY, NULL, HWT_NO_OFF,
				"the script declares abi=stable and names %zu dirty event%s: %s%s",
				s.dirty, text_s(s.dirty), s.shown,
				s.dirty > SHOWN ? ", ..." : "");
	return s.names > INT32_MAX ? INT32_MAX : (int)s.names;
}
