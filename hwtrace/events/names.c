/* SPDX-License-Identifier: BSD-2-Clause */
#include "names.h"

#include <stddef.h>
#include <string.h>

static const struct { uint16_t id, tid, name; } named[] = {
#define NAMED_OF(sec, ev, who, comm) \
	{ HWT_ID_##sec##_##ev, offsetof(struct hwt_rec_##sec##_##ev, who), \
	  offsetof(struct hwt_rec_##sec##_##ev, comm) }
#define NAMED(ev, who, comm) NAMED_OF(sched, ev, who, comm)
	NAMED(switch, prev_tid, prev_comm), NAMED(switch, next_tid, next_comm),
	NAMED(waking, wake_tid, comm), NAMED(wakeup, wake_tid, comm),
	NAMED(wakeup_new, wake_tid, comm), NAMED(migrate, task_tid, comm),
	NAMED(exit, task_tid, comm), NAMED(inherit, task_tid, comm),
	NAMED(signal_send, to_tid, comm), NAMED_OF(state, task, task_tid, comm),
#undef NAMED
#undef NAMED_OF
};

int names_of(const void *rec, unsigned i, int32_t *tid, const char **name)
{
	const struct hwt_rec *h = rec;

	for (size_t k = 0; k < sizeof(named) / sizeof(named[0]); k++) {
		if (named[k].id != h->id || i--)
			continue;
		memcpy(tid, (const char *)rec + named[k].tid, sizeof(*tid));
		*name = (const char *)rec + named[k].name;
		if (!**name || !strncmp(*name, "-", 2) || (*name)[15])
			*tid = -1;
		return 1;
	}
	return 0;
}
