/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Elements and packets of one trace id to events. Longer than other files: what is emitted depends
 * on the state that every kind of element changes.
 */
#include "ocsd_dec.h"

#include <errno.h>
#include <string.h>

#include "../../hwtrace/base/diag.h"

/* An element's own event may come with cycles, a time, a hole and what they release. */
#define STRAIGHT_MAX	(1U << 20)	/* bytes without a branch: no code, and a walk is long */
#define END_MAX		4096	/* bytes at the end of a part that may be asked for */
#define INSN_MAX	4	/* bytes */
#define ROOM_LOW	(16 * EMIT_STEP)	/* events that may follow after WAIT was answered */

/* ---- code ---- */

/*
 * The library wants four bytes of any T32 instruction. If code ends in one of two bytes, two zeros
 * follow, which it does not look at; a half of a longer one stays alone (Arm ARM, F3.1). It does
 * not say which instruction set it reads: see range().
 */
static int pad_t32(struct csdec *d, uint64_t addr, uint8_t *buf)
{
	if (buf[1] >> 3 >= 0x1d)
		return 0;
	buf[2] = buf[3] = 0;
	d->padded = addr;
	return 2;
}

static uint32_t on_code(void *ctx, uint64_t addr, uint32_t space, uint32_t n, uint8_t *buf)
{
	struct csdec *d = ctx;
	int rc;

	/* asked for piece after piece: a walk that meets no branch */
	d->straight = addr == d->straight_to ? d->straight : 0;
	if (d->straight >= STRAIGHT_MAX)
		return 0;
	rc = when_read(&d->when, d->s.code_pid, space, addr, buf, n, &d->differs);
	if (rc <= 0)
		return 0;
	if (rc == 2 && n >= INSN_MAX && d->differs == HWT_NO_ADDR)
		rc += pad_t32(d, addr, buf);
	d->straight += (uint32_t)rc;
	d->straight_to = addr + (uint32_t)rc;
	return (uint32_t)rc;
}

void csdec_code_changed(struct csdec *d)
{
	if (!++d->env->versions)
		d->env->versions = 1;
	d->version = d->env->versions;
	if (!d->live_code)
		return;
	cslib_drop_asked(d->lib);
	if (cslib_add_asked(d->lib, 0, UINT64_MAX) < 0)
		d->env->rc = -ENOMEM;
}

/* Does the halfword at @off of @v begin a T32 instruction of four bytes, if it begins one? */
static bool is_long(const struct code_part *v, uint32_t off)
{
	return v->p[off + 1] >> 3 >= 0x1d;
}

/*
 * Bytes at the end of @v that are better asked for: the last instruction may be one of T32 with two
 * bytes, see pad_t32(). What stays mapped must not end in one either: it ends behind a halfword
 * that begins nothing of four bytes, and four bytes that are an instruction then.
 */
static uint32_t end_apart(const struct code_part *v)
{
	if (is_long(v, v->size - 2))
		return 0;
	for (uint32_t n = 4 + (uint32_t)((v->addr + v->size) & 2); n <= END_MAX; n += 4) {
		uint32_t cut = v->size - n;

		if (n + 6 > v->size)
			return v->size;
		if (is_long(v, cut - 4) && !is_long(v, cut - 6))
			return n;
	}
	return 0;
}

/*
 * Mapped parts are read by the library itself. What lies between them may still be code without a
 * file, and is asked for; not if there are memory spaces, whose parts overlap.
 */
static int add_parts(struct csdec *d, const struct code_part *v, size_t n)
{
	uint64_t at = 0;
	bool between = true;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		between = between && !v[i].space;
	for (size_t i = 0; i < n && !rc; i++) {
		uint32_t size = v[i].size - (between ? end_apart(&v[i]) : 0);

		if (between && v[i].addr > at)
			rc = cslib_add_asked(d->lib, at, v[i].addr - 1);
		if (!rc && size)
			rc = cslib_add_code(d->lib, v[i].addr, v[i].space, v[i].p, size);
		at = v[i].addr + size;
	}
	if (between && !rc && at)
		rc = cslib_add_asked(d->lib, at, UINT64_MAX);
	return rc;
}

/* ---- elements to events ---- */

static void emit_value(struct csdec *d, unsigned type, uint64_t off, uint64_t v, uint32_t what)
{
	struct hwt_event ev = src_event(&d->s, type, off);

	ev.u.value.value = v;
	ev.u.value.addr = HWT_NO_ADDR;
	ev.u.value.what = what;
	ev.u.value.trace_id = d->s.id;
	src_emit(&d->s, &ev);
}

/* The element's event, with the source's time and owner. */
static struct hwt_event event_of(const struct csdec *d, const struct cslib_elem *e, uint64_t off)
{
	struct hwt_event ev = src_event(&d->s, e->ev.type, off);

	ev.flags = e->ev.flags;
	ev.u = e->ev.u;
	return ev;
}

static void emit_elem(struct csdec *d, const struct cslib_elem *e, uint64_t off)
{
	struct hwt_event ev = event_of(d, e, off);

	src_emit(&d->s, &ev);
}

/*
 * The library has no words for SVC, HVC and SMC, and for returns from exception of A32 and T32
 * (RFE, SUBS pc, LDM ^): our own tables have.
 */
static unsigned far_kind(const struct csdec *d, const struct hwt_event *ev)
{
	unsigned kind = ev->u.range.kind, isa = ev->u.range.isa;
	uint64_t addr = ev->u.range.last, differs;
	struct hwt_insn in;
	uint8_t code[4];
	int n;

	if (!ev->u.range.last_size)
		return kind;
	if (kind != HWT_INSN_OTHER && (kind != HWT_INSN_IJUMP || isa == HWT_ISA_A64))
		return kind;
	n = when_read(&d->when, d->s.code_pid, 0, addr, code,
		      ev->u.range.last_size == 2 ? 2 : 4, &differs);
	if (n <= 0 || hwt_insn_decode(&in, isa, addr, code, (size_t)n))
		return kind;
	return in.kind == (kind == HWT_INSN_OTHER ? HWT_INSN_FAR_CALL : HWT_INSN_FAR_RETURN) ?
		in.kind : kind;
}

/* An A64 branch without condition can not fall through: other code ran. */
static bool contradicts(const struct hwt_event *ev)
{
	if (ev->flags & (HWT_F_TAKEN | HWT_F_COND) || ev->u.range.isa != HWT_ISA_A64)
		return false;
	return ev->u.range.kind >= HWT_INSN_CALL && ev->u.range.kind <= HWT_INSN_IJUMP;
}

/* ---- bytes whose flow is known ---- */

/* Bytes of packets that were used since the last start, the one that is worked on included. */
static uint64_t used(const struct csdec *d)
{
	return d->s.packed > d->s.holed ? d->s.packed - d->s.holed : 0;
}

/* From behind the last range that ran. */
static void blind_begin(struct csdec *d)
{
	d->blind = true;
}

/* A range did run. */
static void blind_end(struct csdec *d)
{
	uint64_t now = used(d);

	if (d->blind && now > d->known + d->s.last_size)
		d->dark += now - d->known - d->s.last_size;
	d->blind = false;
	d->ran = true;
	d->known = now;
}

/* All counters start anew; @total bytes were used. */
static void blind_settle(struct csdec *d, uint64_t total)
{
	if (d->blind && total > d->known)
		d->dark += total - d->known;
	d->used += total;
	d->blind = false;
	d->known = 0;
}

void csdec_sum(const struct csdec *d, uint64_t *used, uint64_t *dark)
{
	*used += d->used;
	/* code was missing and nothing was followed at all: the rest says no more */
	*dark += d->dark && !d->ran ? d->used : d->dark;
}

/* @known instructions of the range of @e did run. */
static void give_range(struct csdec *d, const struct cslib_elem *e, uint64_t off, enum trust trust,
		       uint32_t known)
{
	struct csdec_env *env = d->env;
	struct hwt_event ev;

	if (env->counts_only || (env->calls_only && trust > TRUST_PART)) {
		env->stats->insns += known;
		env->stats->ranges++;
		return;
	}
	ev = event_of(d, e, off);
	ev.u.range.kind = (uint8_t)far_kind(d, &ev);
	if (trust != TRUST_ALL) {
		ev.flags |= HWT_F_DOUBT;
		env->stats->insns += known;
	}
	emit_range(env->emit, env->emit->ncpus > 1 ? d->s.id : 0, &ev);
}

/* Half an instruction of A32 or A64, where code ends, was taken for a whole one. */
static bool is_half(const struct csdec *d, const struct hwt_event *ev)
{
	return ev->u.range.isa != HWT_ISA_T32 && d->padded >= ev->u.range.first &&
		d->padded <= ev->u.range.last;
}

static void range(struct csdec *d, const struct cslib_elem *e, uint64_t off)
{
	struct hwt_where w = when_where(&d->when, d->s.code_pid, d->space);
	uint32_t known = e->ev.u.range.insns;
	uint64_t branch = HWT_NO_ADDR;
	enum trust trust;

	d->overflow_told = false;
	d->env->proof->version = d->version;
	trust = doubt_range(&d->doubt, d->env->proof, d->env->image, &w, &e->ev, off, &branch,
			    &known);
	if (trust <= TRUST_PART && is_half(d, &e->ev)) {
		src_hole_at(&d->s, off, d->padded, HWT_GAP_NO_IMAGE, 0);
		doubt_begin(&d->doubt);
		trust = TRUST_NONE;
	}
	if (trust > TRUST_PART)
		known = 0;
	if (trust == TRUST_STACK)
		src_hole_at(&d->s, off, HWT_NO_ADDR, HWT_GAP_NO_RETURN, 0);
	else if (trust == TRUST_WRONG)
		src_hole_at(&d->s, off, branch, HWT_GAP_UNKNOWN_BRANCH, 0);
	if (trust <= TRUST_PART)
		blind_end(d);
	if (trust != TRUST_ALL)
		blind_begin(d);
	give_range(d, e, off, trust, known);
	if (trust == TRUST_PART) {
		src_hole_at(&d->s, off, branch, HWT_GAP_UNKNOWN_BRANCH, 0);
	} else if (trust == TRUST_ALL && contradicts(&e->ev)) {
		src_hole_at(&d->s, off, e->ev.u.range.last, HWT_GAP_BAD_IMAGE, 0);
		doubt_begin(&d->doubt);
		blind_begin(d);
	}
}

static void no_sync(struct csdec *d, unsigned cause, uint64_t off)
{
	struct src *s = &d->s;

	if (off == s->sync_off)
		return;		/* told when the packet was seen */
	if (cause == HWT_GAP_NO_SYNC) {
		/* bytes before the next A-sync tell it, if there are any */
		if (!s->hunting)
			src_hunt(s, cause, 0);
		return;
	}
	if (s->hunting && s->hunt_cause == cause)
		return;
	src_hole(s, off, 0, cause, 0);
	src_hunt(s, cause, 0);
}

static void trace_on(struct csdec *d, const struct cslib_elem *e, uint64_t off)
{
	if (e->overflow && !d->overflow_told) {
		src_hole(&d->s, off, 0, HWT_GAP_OVERFLOW, 0);
		src_hole_flush(&d->s);
	}
	d->overflow_told = false;
	doubt_restart(&d->doubt);
	d->on = true;
	emit_elem(d, e, off);
}

static void context(struct csdec *d, const struct cslib_elem *e, uint64_t off)
{
	struct src *s = &d->s;
	int32_t tid = HWT_NONE, pid;

	d->space = image_space(e->ev.u.aspace.el, e->ev.u.aspace.secure);
	pid = src_owner(s, e->owner.id_valid, e->owner.id, e->owner.vmid_valid, e->owner.vmid,
			&tid);
	if (pid != HWT_NONE) {
		s->pid = pid;
		s->tid = tid;
	} else if (tid != HWT_NONE) {
		s->pid = s->span_pid;
		s->tid = s->span_tid;
	}
	emit_elem(d, e, off);
}

static void element(struct csdec *d, const struct cslib_elem *e, uint64_t off)
{
	unsigned cause = e->cause;

	switch (e->what) {
	case CSLIB_RANGE:
		range(d, e, off);
		break;
	case CSLIB_NOPATH:
		d->overflow_told = false;
		blind_begin(d);
		doubt_missed(&d->doubt);
		emit_elem(d, e, off);
		src_hole_at(&d->s, off, e->ev.u.range.first, HWT_GAP_NO_PATH, 0);
		break;
	case CSLIB_ON:
		trace_on(d, e, off);
		break;
	case CSLIB_OFF:		/* also said of a source that never was on */
		if (d->on)
			emit_elem(d, e, off);
		d->on = false;
		break;
	case CSLIB_CONTEXT:
		context(d, e, off);
		break;
	case CSLIB_NO_SYNC:
		no_sync(d, e->cause, off);
		break;
	case CSLIB_LOST:
		if (e->cause == HWT_GAP_NO_IMAGE && d->differs != HWT_NO_ADDR &&
		    d->differs - e->addr < INSN_MAX)
			cause = HWT_GAP_BAD_IMAGE;	/* it is not known which code ran */
		blind_begin(d);
		doubt_missed(&d->doubt);
		if (d->doubt.on)
			break;		/* not where the flow is: the hole was told */
		src_hole_at(&d->s, off, e->addr, cause, 0);
		break;
	case CSLIB_PLAIN:
		emit_elem(d, e, off);
		break;
	case CSLIB_NOTHING:
		break;
	}
}

static bool on_element(void *ctx, const struct cslib_elem *e)
{
	struct csdec *d = ctx;
	uint64_t off = src_off(&d->s, e->index);

	/* some elements of 1.3.3 (Q) come with an index that was never set */
	if (off >= d->s.end || off < d->s.start)
		off = d->s.last_off;
	if (e->has_cycles && !d->env->counts_only)
		emit_value(d, HWT_EV_CYCLES, off, e->cycles, e->cycles_before ?
			   HWT_CYCLES_BEFORE : HWT_CYCLES_BEHIND);
	if (e->has_time) {
		/* what came before happened before it, so it bounds only what comes */
		src_timestamp(&d->s, e->time);
		if (when_time(&d->when, &d->s))
			csdec_code_changed(d);
		emit_value(d, HWT_EV_TIMESTAMP, off, e->time,
			   e->cycles_before ? e->cycles : 0);
	}
	element(d, e, off);
	return emit_room(d->env->emit) >= ROOM_LOW;
}

/* ---- packets, seen before they are decoded ---- */

/* Whose code the next instructions are: must be known before the packet is walked. */
static void packet_context(struct csdec *d, const struct cslib_packet *p)
{
	int32_t pid, tid = HWT_NONE;
	struct cslib_owner o;

	if (!cslib_packet_owner(d->lib, p, &o))
		return;
	pid = src_owner(&d->s, o.id_valid, o.id, o.vmid_valid, o.vmid, &tid);
	if (tid == HWT_NONE)
		return;
	if (pid == HWT_NONE)
		pid = d->s.span_pid;
	if (pid != d->s.code_pid) {
		d->s.code_pid = pid;
		when_owner(&d->when, &d->s, src_off(&d->s, p->index));
		csdec_code_changed(d);
	}
}

bool csdec_padding(const struct csdec *d, const struct cslib_packet *p)
{
	if (d->s.cfg->proto != HWT_PROTO_ETE || p->use != CSLIB_UNSYNC || !p->bytes ||
	    p->have < p->size)
		return false;
	for (uint32_t i = 0; i < p->have; i++)
		if (p->bytes[i] != 0x70)
			return false;
	return true;
}

bool csdec_account(struct csdec *d, const struct cslib_packet *p)
{
	struct src *s = &d->s;
	uint64_t off = src_off(s, p->index);

	d->blame_before = d->blame;
	d->blame = p->blame;
	if (csdec_padding(d, p)) {
		s->packed += p->size;	/* nothing is missing */
		return false;
	}
	if (!s->hunting && p->use == CSLIB_BAD)
		src_hunt(s, HWT_GAP_BAD_PACKET, p->type);
	else if (!s->hunting && p->use == CSLIB_CUT)
		src_hunt(s, HWT_GAP_TRUNCATED, 0);
	else if (!s->hunting && p->use == CSLIB_UNSYNC)
		src_hunt(s, HWT_GAP_NO_SYNC, 0);
	src_packet(s, off, p->size, p->use == CSLIB_SYNC);
	if (!s->hunting && (p->use == CSLIB_OVERFLOW || p->use == CSLIB_DISCARD)) {
		/* the packet itself is understood, what the unit wrote before it may be lost */
		unsigned cause = p->use == CSLIB_OVERFLOW ? HWT_GAP_OVERFLOW : HWT_GAP_BREAK;

		src_hole(s, off, 0, cause, 0);
		src_hunt(s, cause, 0);
		d->overflow_told = p->use == CSLIB_OVERFLOW;
	}
	if (p->use == CSLIB_GOOD && !s->hunting && p->unexpected)
		src_hole(s, off, 0, HWT_GAP_BAD_PACKET, p->type);
	return p->use == CSLIB_GOOD;
}

static void on_packet(void *ctx, const struct cslib_packet *p)
{
	struct csdec *d = ctx;
	uint64_t off = src_off(&d->s, p->index);

	d->straight = 0;
	if (!csdec_account(d, p))
		return;
	if (p->has_addr || p->has_source || p->exception)
		doubt_packet(&d->doubt, off, p->exception ? SEEN_EXCEPTION :
			     p->has_source ? SEEN_SOURCE : SEEN_TARGET, p->addr);
	if (p->has_time && when_packet(&d->when, &d->s, off, p->time))
		csdec_code_changed(d);
	if (p->no_returns)
		doubt_packet(&d->doubt, off, SEEN_NO_RETURNS, HWT_NO_ADDR);
	if (d->live_code)
		packet_context(d, p);
}

/* ---- the decoder ---- */

int csdec_sort(const struct trace_buf *buf, const struct trace_cfg *out[CSDEC_IDS], unsigned *n)
{
	*n = 0;
	for (size_t i = 0; i < buf->ncfgs; i++) {
		const struct trace_cfg *c = &buf->cfgs[i];
		unsigned k;

		if (c->trace_id >= CSDEC_IDS)
			return -HWT_E_FORMAT;
		for (k = 0; k < *n && out[k]->trace_id != c->trace_id; k++)
			;
		if (k < *n || (buf->framing == FRAMING_NONE && *n))
			continue;
		for (k = *n; k && out[k - 1]->trace_id > c->trace_id; k--)
			out[k] = out[k - 1];
		out[k] = c;
		++*n;
	}
	return 0;
}

#define CONFIGR_RS	(1u << 12)	/* TRCCONFIGR: return stack */
#define CR_RS		(1u << 29)	/* ETMCR of a PTM: return stack */

/* Does the trace unit leave out the addresses of returns? */
static bool has_stack(const struct trace_cfg *cfg)
{
	switch (cfg->proto) {
	case HWT_PROTO_ETM4:
	case HWT_PROTO_ETE:
		return cfg->r.etm4.configr & CONFIGR_RS;
	case HWT_PROTO_PTM:
		return cfg->r.etm3.cr & CR_RS;
	}
	return false;
}

int csdec_open(struct csdec *d, const struct flow_args *a, const struct trace_cfg *cfg,
	       struct csdec_env *env, const struct code_part *parts, size_t nparts)
{
	static const struct cslib_calls calls = { on_packet, on_element, on_code };
	int rc;

	d->env = env;
	d->version = env->versions;
	d->when = (struct when){ .image = a->image, .span = HWT_TIME_UNKNOWN };
	d->differs = d->padded = HWT_NO_ADDR;
	d->blame = HWT_GAP_LIB;
	d->doubt.stack = has_stack(cfg);
	src_init(&d->s, a, env->emit, cfg);
	src_start(&d->s);
	rc = cslib_open(&d->lib, cfg, &calls, d, &d->refused);
	if (rc < 0 || !d->lib || cfg->proto == HWT_PROTO_STM)
		return rc;
	d->live_code = !nparts;
	if (d->live_code)
		rc = when_open(&d->when, a->image, &d->s, a->buf);
	if (rc < 0)
		return rc;
	return nparts ? add_parts(d, parts, nparts) : cslib_add_asked(d->lib, 0, UINT64_MAX);
}

int csdec_refuse(struct hwt_diag *diag, const struct trace_buf *buf, int rc)
{
	if (rc == -ENOMEM)
		return diag_set(diag, rc, 3, NULL, HWT_NO_OFF, "out of memory");
	if (rc == -HWT_E_FORMAT)
		return diag_set(diag, rc, 121, NULL, HWT_NO_OFF,
				"trace buffer \"%s\": a trace id is above 0x7f", buf->name);
	return diag_set(diag, rc, 120, NULL, HWT_NO_OFF, "trace buffer \"%s\": %s", buf->name,
			flow_ocsd_version());
}

/* The library's STM reader looks one byte past the end while it searches for a sync. */
enum cslib_answer csdec_give(struct csdec *d, const uint8_t *p, uint32_t n, uint32_t *used,
			     int32_t *code)
{
	if (d->s.cfg->proto == HWT_PROTO_STM) {
		n = n < CSDEC_PAD ? n : CSDEC_PAD;
		memcpy(d->pad, p, n);
		d->pad[n] = 0;
		d->given = n;
		p = d->pad;
	}
	d->s.end = d->s.base + n;
	return cslib_data(d->lib, d->s.base, p, n, used, code);
}

void csdec_reset(struct csdec *d, unsigned cause)
{
	uint64_t total = src_settle(&d->s, cause);

	d->env->stats->bytes_decoded += total;
	blind_settle(d, total);
	if (d->lib)
		cslib_reset(d->lib);
	src_start(&d->s);
	doubt_reset(&d->doubt);
	d->overflow_told = false;
}

void csdec_fatal(struct csdec *d, int32_t code)
{
	struct src *s = &d->s;
	unsigned cause = d->blame;

	/* a Q element without an address fails at the packet behind it */
	if (cause == HWT_GAP_LIB && d->blame_before == HWT_GAP_NO_PATH)
		cause = HWT_GAP_NO_PATH;
	if (!s->hunting && s->last_size)
		src_hole(s, s->last_off, s->last_size, cause, code);
	if (s->cfg->proto != HWT_PROTO_STM && s->fed > s->packed) {
		src_hole(s, s->last_off + s->last_size, s->fed - s->packed, cause, code);
		s->packed = s->fed;
	}
	cslib_reset(d->lib);
	doubt_reset(&d->doubt);
	src_hunt(s, cause, code);
	s->sync_off = HWT_NO_OFF;
	s->last_size = 0;
}
