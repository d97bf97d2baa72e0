/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows: what is stepped begins at a breakpoint and ends where the stepper sees the end. */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "step_priv.h"

#define PATH_SHOWN	100	/* of a program in a note */
#define PLACES	8	/* of one name: a static function may stand in several files */

/* The places of @name in the process: a number is one itself. */
static size_t places(struct step *s, struct proc *p, const char *name, uint64_t at[PLACES])
{
	char *end;

	if (*name >= '0' && *name <= '9') {
		errno = 0;
		at[0] = strtoull(name, &end, 0);
		if (!*end && !errno)
			return 1;
	}
	return s->o.ops->resolve(s->o.arg, p, name, at, PLACES);
}

static void note(struct step *s, unsigned id, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void note(struct step *s, unsigned id, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->o.ops->note(s->o.arg, id, text);
}

/* Returns false if @name is nowhere. */
static bool add(struct step *s, struct proc *p, const char *name, uint32_t window, bool begin)
{
	struct proc_place *v = begin ? p->begins : p->ends;
	uint32_t *n = begin ? &p->nbegins : &p->nends, max = begin ? PROC_BEGINS : PROC_ENDS;
	uint64_t at[PLACES];
	size_t k = places(s, p, name, at);

	for (size_t i = 0; i < k; i++) {
		if (*n == max) {
			note(s, 177, "%s: more than %u places to watch; the first ones are", name,
			     max);
			break;
		}
		v[(*n)++] = (struct proc_place){ at[i], window };
	}
	return k > 0;
}

/* Children of a program miss the same names: once is enough. */
static void note_miss(struct step *s, const struct proc *p, const char *name, uint64_t bit)
{
	uint64_t *said = s->found & bit ? &s->gone : &s->missed;
	char link[64], exe[PATH_SHOWN];
	ssize_t n;

	if (*said & bit)
		return;
	*said |= bit;
	snprintf(link, sizeof(link), "/proc/%d/exe", p->pid);
	n = readlink(link, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = 0;
	/* no fault of who gave the name: it was good for the program before */
	if (s->found & bit)
		note(s, 0, "after exec of %s by process %d there is no %s: what has no window runs "
		     "unstepped", exe, p->pid, name);
	else
		note(s, 178, "%s: no such function in %s or its libraries", name, exe);
}

const char *step_missing(const struct step *s)
{
	const char *name = NULL;

	for (size_t i = 0; i < s->o.nwindows; i++) {
		/* the bits of names beyond are shared: not known */
		if (!s->o.windows[i].from || i >= 32 || s->found & 1ull << 2 * i)
			return NULL;
		if (!name && s->missed & 1ull << 2 * i)
			name = s->o.windows[i].from;
	}
	return name;
}

bool step_never(struct step *s, struct step_task *t)
{
	static const char *const execs[] = { "*execve*", "*orkExec*", "syscall.Exec" };
	uint64_t at[PLACES];

	/* notes of a program that starts come at once only if it is static */
	if (!step_missing(s))
		return false;
	if (!s->ours)
		return true;
	/* another program may be what the names are of; without symbols this is not known */
	if (!places(s, t->proc, "_start", at))
		return false;
	for (size_t i = 0; i < sizeof(execs) / sizeof(execs[0]); i++)
		if (places(s, t->proc, execs[i], at))
			return false;
	return true;
}

void step_resolve(struct step *s, struct step_task *t, bool exec)
{
	struct proc *p = t->proc;
	struct arch_regs r;

	if (!s->o.nwindows || p->resolved)
		return;
	p->nbegins = p->nends = 0;
	p->resolved = true;
	p->entry = 0;
	for (size_t i = 0; i < s->o.nwindows; i++) {
		const struct hwt_window *w = &s->o.windows[i];
		const char *name[2] = { w->from, w->to };

		for (unsigned k = 0; k < 2; k++) {
			uint64_t bit = 1ull << ((2 * i + k) & 63);

			if (!name[k])
				continue;
			if (add(s, p, name[k], (uint32_t)i + 1, !k)) {
				s->found |= bit;
				continue;
			}
			p->resolved = false;
			if (!exec)
				note_miss(s, p, name[k], bit);
		}
	}
	/* libraries are there when the program's own first instruction runs */
	if (!p->resolved && exec) {
		p->entry = proc_auxv(p->pid, AT_ENTRY);
		if (!arch_regs(t->tid, &r) && r.pc == p->entry) {
			p->entry = 0;
			step_resolve(s, t, false);
		}
	}
}

size_t step_breaks(const struct step *s, const struct step_task *t, uint64_t at[PROC_BEGINS])
{
	const struct proc *p = t->proc;
	size_t n = 0;

	if (t->foreign || p->ignores_trap || s->ending)
		return 0;
	if (p->entry)
		at[n++] = p->entry;
	for (uint32_t i = 0; i < p->nbegins && n < PROC_BEGINS; i++)
		at[n++] = p->begins[i].addr;
	return n;
}

void step_window_begin(struct step *s, struct step_task *t, const struct arch_regs *r)
{
	struct proc *p = t->proc;
	const struct hwt_window *w;

	if (p->entry && r->pc == p->entry) {
		p->entry = 0;
		step_resolve(s, t, false);
	}
	for (uint32_t i = 0; i < p->nbegins; i++) {
		if (p->begins[i].addr != r->pc)
			continue;
		t->window = p->begins[i].window;
		t->free = false;
		t->unseen = true;
		t->ret = 0;
		/* what was mapped at full speed was not seen, and is there already */
		step_in(s, t, step_ticks());
		if (s->o.ops->remap)
			step_told(s, s->o.ops->remap(s->o.arg, t, step_ticks()));
		w = &s->o.windows[t->window - 1];
		if (!w->to) {
			t->ret = arch_return(r, p->mem);
			t->ret_sp = r->sp;
		}
		s->opened = true;
		return;
	}
}

void step_leave(struct step *s, struct step_task *t)
{
	if (!t->unseen && !t->free)
		step_told(s, s->o.ops->leave(s->o.arg, t, t->pc, step_ticks()));
	t->unseen = true;
}

bool step_window_end(struct step *s, struct step_task *t, const struct arch_regs *r)
{
	const struct proc *p = t->proc;
	bool end;

	if (!t->window || t->free)
		return false;
	/* a deeper call of the same function returns to a lower stack; arm64 keeps the pointer */
	end = t->ret && r->pc == t->ret && r->sp >= t->ret_sp;
	for (uint32_t i = 0; i < p->nends && !end; i++)
		end = p->ends[i].window == t->window && p->ends[i].addr == r->pc;
	if (!end)
		return false;
	t->pc = r->pc;
	step_leave(s, t);
	t->window = 0;
	t->free = true;
	t->started = false;
	step_again(s, t);
	return true;
}

void step_exec_window(struct step *s, struct step_task *t)
{
	if (!s->o.nwindows)
		return;
	t->free = true;
	t->window = 0;
	t->ret = 0;
	/* a window without a begin is open from the start */
	for (size_t i = 0; i < s->o.nwindows && t->free; i++)
		if (!s->o.windows[i].from) {
			t->window = (uint32_t)i + 1;
			t->free = false;
		}
}
