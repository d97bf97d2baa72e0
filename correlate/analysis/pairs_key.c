/* SPDX-License-Identifier: BSD-2-Clause */
/* What two events have in common that makes them a pair. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/abi.h>
#include <hwtrace/kernel.h>
#include <hwtrace/uapi.h>

#include "../../hwtrace/base/diag.h"
#include "pairs.h"

#define ID_KEY 166

/* By event, or by section; the first that fits. What is not here is of the task that runs. */
static const struct {
	const char *event;	/* with "." at its end: all of the section */
	uint8_t by;
	const char *field;
} natural[] = {
	{ "sched.waking", BY_TASK, "wake_tid" },
	{ "sched.wakeup", BY_TASK, "wake_tid" },
	{ "sched.wakeup_new", BY_TASK, "wake_tid" },
	{ "sched.switch", BY_TASK, "next_tid" },
	{ "sched.fork", BY_TASK, "child_tid" },
	{ "sched.migrate", BY_TASK, "task_tid" },
	{ "sched.signal_send", BY_TASK, "to_tid" },
	{ "irq.ipi_send", BY_CPU, "" },
	{ "irq.", BY_CPU, "irq" },
	{ "softirq.work_", BY_FIELD, "work" },
	{ "softirq.", BY_CPU, "vec" },
	{ "block.queue", BY_FIELD, "sector" },
	{ "block.", BY_FIELD, "request" },
	{ "net.poll", BY_CPU, "" },
	{ "net.", BY_FIELD, "packet" },
	{ "timer.", BY_FIELD, "timer" },
	{ "power.", BY_CPU, "" },
	{ "user.", BY_FIELD, "value" },
};

static struct pairs_key natural_key(const struct point *p)
{
	for (size_t i = 0; p->e && i < sizeof(natural) / sizeof(natural[0]); i++) {
		const char *n = natural[i].event;
		size_t len = strlen(n);
		bool prefix = n[len - 1] == '.' || n[len - 1] == '_';

		if (prefix ? !strncmp(p->e->name, n, len) : !strcmp(p->e->name, n))
			return (struct pairs_key){ natural[i].by, natural[i].field };
	}
	return (struct pairs_key){ BY_TASK, "" };
}

static bool has(const struct point *p, const char *field)
{
	return p->e && hwt_abi_field_by_name(p->e, field);
}

static bool is_event(const struct point *p, const char *name)
{
	return p->e && p->nevents == 1 && !strcmp(p->e->name, name);
}

/* Makes two natural keys one kind. */
static int agree(struct hwt_pairs *p, struct hwt_diag *diag)
{
	struct pairs_key *a = &p->from_key, *b = &p->to_key;

	/* from being switched out to being switched in */
	if (is_event(&p->from, "sched.switch") && is_event(&p->to, "sched.switch"))
		a->field = "prev_tid";
	if (a->by == BY_FIELD || b->by == BY_FIELD) {
		const char *f = a->by == BY_FIELD && has(&p->to, a->field) ? a->field :
			b->by == BY_FIELD && has(&p->from, b->field) ? b->field : NULL;

		if (f)
			*a = *b = (struct pairs_key){ BY_FIELD, f };
		else if (a->by != b->by)
			*a = *b = (struct pairs_key){ BY_TASK, "" };
		else
			return diag_set(diag, -EINVAL, ID_KEY, NULL, HWT_NO_OFF,
					"%s and %s have no field in common that tells which belong "
					"together", p->from.e->name, p->to.e->name);
	} else if (a->by == BY_CPU || b->by == BY_CPU) {
		if (a->by != b->by || strcmp(a->field, b->field))
			*a = *b = (struct pairs_key){ BY_CPU, "" };
	}
	return 0;
}

static int check_field(const struct point *p, const char *field, struct hwt_diag *diag)
{
	if (has(p, field))
		return 0;
	if (p->e)
		return diag_set(diag, -EINVAL, ID_KEY, NULL, HWT_NO_OFF,
				"%s has no field \"%.40s\"", p->e->name, field);
	return diag_set(diag, -EINVAL, ID_KEY, NULL, HWT_NO_OFF,
			"%.100s has no fields: its key can be task or cpu", p->text);
}

static uint8_t by_of(const char *word)
{
	return !strcmp(word, "task") ? BY_TASK : !strcmp(word, "cpu") ? BY_CPU : BY_FIELD;
}

/* Ids of tasks are those of the tasks that run, whatever the field is called. */
static struct pairs_key given(const struct point *p, const char *word)
{
	const struct hwt_abi_field *f = p->e ? hwt_abi_field_by_name(p->e, word) : NULL;

	if (by_of(word) != BY_FIELD)
		return (struct pairs_key){ by_of(word), "" };
	if (f && f->type == HWT_ABI_pid)
		return (struct pairs_key){ BY_TASK, word };
	return (struct pairs_key){ BY_FIELD, word };
}

static int given_keys(struct hwt_pairs *p, struct hwt_diag *diag)
{
	char *eq = strchr(p->key, '=');
	const char *to = p->key;
	int rc = 0;

	if (eq) {
		*eq = 0;
		to = eq + 1;
	}
	p->from_key = given(&p->from, p->key);
	p->to_key = given(&p->to, to);
	if (*p->from_key.field)
		rc = check_field(&p->from, p->key, diag);
	if (!rc && *p->to_key.field)
		rc = check_field(&p->to, to, diag);
	if (!rc && p->from_key.by != p->to_key.by)
		rc = diag_set(diag, -EINVAL, ID_KEY, NULL, HWT_NO_OFF,
			      "a task, a CPU and a value are never the same key");
	return rc;
}

int pairs_key_init(struct hwt_pairs *p, const char *key, struct hwt_diag *diag)
{
	p->from_key = natural_key(&p->from);
	p->to_key = natural_key(&p->to);
	if (!key)
		return agree(p, diag);
	p->key = strdup(key);
	if (!p->key)
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	return given_keys(p, diag);
}

bool pairs_one_context(const struct hwt_pairs *p)
{
	unsigned a = p->from.e ? p->from.e->id : 0, b = p->to.e ? p->to.e->id : 0;

	if (p->from.nevents != 1 || p->to.nevents != 1)
		return false;
	return (a == HWT_ID_irq_entry && b == HWT_ID_irq_exit) ||
		(a == HWT_ID_softirq_entry && b == HWT_ID_softirq_exit) ||
		(a == HWT_ID_timer_expire && b == HWT_ID_timer_done) ||
		(a == HWT_ID_timer_hr_expire && b == HWT_ID_timer_hr_done) ||
		/* what programs say is of the program that says it */
		(a >> 8 == HWT_SECTION_user && b >> 8 == HWT_SECTION_user);
}

int pairs_key_of(const struct hwt_pairs *p, const struct pairs_key *k, const struct hwt_event *ev,
		 uint64_t *v)
{
	struct hwt_abi_value f = { 0 };

	if (*k->field && !hwt_kernel_field(p->s, ev, k->field, &f))
		return 0;
	switch (k->by) {
	case BY_CPU:
		*v = (uint64_t)(uint32_t)ev->cpu << 32 | (uint32_t)f.u;
		return ev->cpu >= 0;
	case BY_FIELD:
		*v = f.u;
		return !f.p;
	}
	if (*k->field) {
		*v = f.u;
		return 1;
	}
	/* idle runs on each CPU; what has no task has at least a CPU */
	if (ev->tid > 0)
		*v = (uint64_t)ev->tid;
	else
		*v = 1ull << 63 | (uint32_t)ev->cpu;
	return ev->tid >= 0 || ev->cpu >= 0;
}

struct pairs_slot *pairs_slot_of(struct hwt_pairs *p, uint64_t key, bool make)
{
	uint32_t at = idmap_get(&p->by_key, key);
	struct pairs_slot *slot;

	if (at != IDMAP_NONE)
		return (struct pairs_slot *)p->slots.v + at;
	if (!make)
		return NULL;
	if (!p->free_slot) {
		if (!vec_push(&p->slots, sizeof(*slot)))
			return NULL;
		p->free_slot = (uint32_t)p->slots.n;
	}
	at = p->free_slot - 1;
	if (idmap_set(&p->by_key, key, at) < 0)
		return NULL;
	slot = (struct pairs_slot *)p->slots.v + at;
	p->free_slot = slot->free;
	*slot = (struct pairs_slot){ .top = NULL };
	return slot;
}

void pairs_tidy(struct hwt_pairs *p, uint64_t key)
{
	struct pairs_slot *slot = pairs_slot_of(p, key, false);

	if (!slot || slot->top)
		return;
	slot->free = p->free_slot;
	p->free_slot = (uint32_t)(slot - (struct pairs_slot *)p->slots.v) + 1;
	idmap_del(&p->by_key, key);
}
