// SPDX-License-Identifier: GPL-2.0-only
/* Records to user space: whole packets by read(2). */
#include <linux/cpumask.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "session.h"

/* The ring has room for a whole sub-buffer; who reads gets what is filled. */
static int copy_packet(char __user *to, const struct ring_view *v)
{
	struct hwt_ctf_packet h;

	if (v->size < sizeof(h))
		return -EIO;
	memcpy(&h, v->p, sizeof(h));
	h.packet_size = h.content_size;
	if (copy_to_user(to, &h, sizeof(h)) ||
	    copy_to_user(to + sizeof(h), (const u8 *)v->p + sizeof(h), v->size - sizeof(h)))
		return -EFAULT;
	return 0;
}

int session_next(struct session *s, struct ring *r, struct ring_view *v)
{
	if (ring_get(r, v))
		return 1;
	/* what was lost while there was no room to say so */
	if (READ_ONCE(s->state) == SESSION_STOPPED && !ring_flush(r))
		return ring_get(r, v);
	return 0;
}

/* Bytes, or a negative code if there are none. */
static ssize_t read_cpu(struct session *s, struct ring *r, char __user *buf, size_t n)
{
	struct ring_view v;
	size_t done = 0;

	while (n - done >= s->sub_size && session_next(s, r, &v)) {
		int rc = copy_packet(buf + done, &v);

		if (rc)
			return done ? (ssize_t)done : rc;
		if (!ring_put(r, &v))
			done += v.size;
		if (signal_pending(current))
			break;
	}
	return done;
}

static ssize_t read_all(struct session *s, char __user *buf, size_t n)
{
	ssize_t done = 0, got;
	unsigned int i;

	for (i = 0; i < nr_cpu_ids; i++) {
		unsigned int cpu = (s->next_cpu + i) % nr_cpu_ids;

		if (!s->cpu[cpu].ring)
			continue;
		got = read_cpu(s, s->cpu[cpu].ring, buf + done, n - done);
		if (got < 0)
			return done ? done : got;
		done += got;
		if (n - done < s->sub_size) {
			s->next_cpu = cpu + 1;
			break;
		}
	}
	return done;
}

static bool readable(struct session *s)
{
	struct ring_view v;
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		if (ring_get(s->cpu[cpu].ring, &v))
			return true;
	return READ_ONCE(s->state) == SESSION_STOPPED;
}

bool session_readable(struct session *s)
{
	bool yes = false;

	/* another one that reads takes it */
	if (mutex_trylock(&s->read_lock)) {
		yes = readable(s);
		mutex_unlock(&s->read_lock);
	}
	return yes;
}

ssize_t session_read(struct session *s, char __user *buf, size_t n, bool wait)
{
	ssize_t rc;

	if (n < s->sub_size || READ_ONCE(s->state) == SESSION_READY)
		return -EINVAL;
	if (!wait && !mutex_trylock(&s->read_lock))
		return -EAGAIN;		/* another one waits there */
	if (wait && mutex_lock_interruptible(&s->read_lock))
		return -ERESTARTSYS;
	for (;;) {
		bool stopped = READ_ONCE(s->state) == SESSION_STOPPED;

		rc = read_all(s, buf, n);
		if (rc || stopped)
			break;
		rc = -EAGAIN;
		if (!wait)
			break;
		rc = wait_event_interruptible(s->wait, readable(s));
		if (rc)
			break;
	}
	mutex_unlock(&s->read_lock);
	return rc;
}

int session_count(struct session *s, struct hwt_kmod_counts *c)
{
	struct ring_counts n;

	if (c->cpu >= nr_cpu_ids || !cpu_possible(c->cpu))
		return -EINVAL;
	ring_count(s->cpu[c->cpu].ring, &n);
	c->produced = n.produced;
	c->lost = n.lost;
	c->overwritten = n.overwritten;
	c->read = n.read;
	return 0;
}
