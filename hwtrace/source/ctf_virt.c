/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of foreign CTF as virtual ones: LTTng's by the tables, our own field by field. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <hwtrace/abi.h>

#include "ctf.h"

static int get_number(void *arg, const char *field, uint64_t *n)
{
	struct ctf_value v;

	return ctf_find(arg, field, &v) && v.h.scope == CTF_S_FIELDS && ctf_number(&v, n);
}

static int get_string(void *arg, const char *field, const char **p, size_t *n)
{
	struct ctf_value v;

	if (!ctf_find(arg, field, &v) || v.h.scope != CTF_S_FIELDS || v.h.kind != CTF_K_STRING)
		return 0;
	*p = (const char *)v.p;
	*n = v.h.size;
	return 1;
}

static int get_item(void *arg, const char *field, unsigned i, uint64_t *n)
{
	struct cur c = ctf_body(arg);
	struct ctf_value v;
	char name[96];

	if (!field) {
		while (ctf_next_field(&c, &v))
			if (v.h.scope == CTF_S_FIELDS && !i--)
				return ctf_number(&v, n) ? sizeof(*n) : 0;
		return 0;
	}
	snprintf(name, sizeof(name), "%s[%u]", field, i);
	return get_number(arg, name, n) ? sizeof(*n) : 0;
}

/* Bytes of an array of numbers, as far as they are there. */
static void own_bytes(const struct ctf_msg *m, const char *field, uint8_t *p, unsigned size)
{
	uint64_t n;

	for (unsigned i = 0; i < size && get_item((void *)(uintptr_t)m, field, i, &n); i++)
		p[i] = (uint8_t)n;
}

static void own_field(const struct ctf_msg *m, const struct hwt_abi_field *f, uint8_t *rec)
{
	void *arg = (void *)(uintptr_t)m;
	const char *p;
	uint64_t n;
	size_t len;

	switch (f->type) {
	case HWT_ABI_name16:
		if (get_string(arg, f->name, &p, &len))
			virt_set_name((char *)rec + f->offset, p, len);
		break;
	case HWT_ABI_code16: case HWT_ABI_id24:
		own_bytes(m, f->name, rec + f->offset, f->size);
		break;
	case HWT_ABI_text:
		if (get_string(arg, f->name, &p, &len))
			virt_set_text(rec, p, len);
		break;
	default:
		if (get_number(arg, f->name, &n))
			memcpy(rec + f->offset, &n, f->size);	/* little endian or whole */
	}
}

static uint64_t own_context(const struct ctf_msg *m, const char *name, uint64_t none)
{
	struct ctf_value v;
	uint64_t n;

	return ctf_find(m, name, &v) && ctf_number(&v, &n) ? n : none;
}

/* A record of a capture of ours, as it was written but for its time, which is in ns. */
static int make_own(const struct hwt_abi_event *e, struct virt_state *s, struct virt_ctx c,
		    const struct ctf_msg *m, void *rec)
{
	struct hwt_rec *h = rec;
	const struct hwt_abi_field *f;
	unsigned n;
	int rc;

	c.flags = (uint16_t)own_context(m, "stream.flags", 0);
	c.hit = own_context(m, "stream.hit", 0);
	virt_blank(s, &c, e->id, rec);
	h->hit = c.hit;
	h->pid = (int32_t)own_context(m, "stream.pid", (uint64_t)HWT_NONE);
	h->tid = (int32_t)own_context(m, "stream.tid", (uint64_t)HWT_NONE);
	h->version = (uint16_t)own_context(m, "stream.version", HWT_ABI_VERSION);
	for (f = e->fields(&n); n; n--, f++)
		own_field(m, f, rec);
	rc = virt_note(s, rec, c.cpu);
	return rc ? rc : h->size;
}

void ctf_class_bind(struct ctf_class *k, const char *tracer, const char *domain)
{
	const char *name = k->name + sizeof("dirty:") - 1;

	if (!strcmp(tracer, "hwtrace"))
		k->own = hwt_abi_event_by_name(name);
	else if (!strcmp(domain, "kernel"))
		k->map = virt_find(VIRT_LTTNG, NULL, name);
}

static const struct ctf_trace *trace_of(const struct ctf *x, uint32_t stream)
{
	static const struct ctf_trace none = { .name = "", .domain = "", .tracer = "" };
	uint32_t t = stream < x->nstreams ? x->streams[stream].trace : CTF_NO_STREAM;

	return t < x->ntraces ? &x->traces[t] : &none;
}

bool ctf_is_own(const struct ctf *x, uint32_t stream)
{
	return !strcmp(trace_of(x, stream)->tracer, "hwtrace");
}

bool ctf_is_kernel(const struct ctf *x, uint32_t stream)
{
	return !strcmp(trace_of(x, stream)->domain, "kernel");
}

int ctf_virt_make(const struct ctf_class *k, struct virt_state *s, const struct virt_ctx *c,
		  const struct ctf_msg *m, void *rec)
{
	const struct virt_get g = { .number = get_number, .string = get_string, .item = get_item,
		.arg = (void *)(uintptr_t)m };

	if (k->own)
		return make_own(k->own, s, *c, m, rec);
	return k->map ? virt_make(k->map, s, c, &g, rec) : 0;
}
