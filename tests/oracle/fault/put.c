/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwtrace/uapi.h>

#include "fault.h"
#include "hwtrace/capture/native.h"
#include "hwtrace/capture/unit_cfg.h"

#define TRACE_ID	0x10
#define PID		1000
#define BLOCK		512	/* bytes that share a checksum */

/* Bytes of code at @addr as one of the patches leaves them. */
static int put_patch(struct native_writer *w, int32_t pid, const struct patch *a)
{
	return native_pages(w, pid, a->addr, a->tick, a->bytes, a->n);
}

/* Code with something between that the program that ran did not have. */
static int put_shifted(struct native_writer *w, int32_t pid, const struct trace *t,
		       const struct code *c, const struct plan *p)
{
	static const uint8_t nop[4] = { 0x1f, 0x20, 0x03, 0xd5 };
	uint64_t head = p->shift_code - c->addr;
	uint8_t *q = malloc(c->n);
	int err;

	if (!q)
		return -ENOMEM;
	memcpy(q, c->p, c->n);
	for (uint64_t i = head; i < c->n; i++)
		q[i] = i - head >= p->shift_by ? c->p[i - p->shift_by] :
			t->pt ? 0x90 : nop[i % 4];
	err = native_pages(w, pid, c->addr, 0, q, c->n);
	free(q);
	return err;
}

static int put_code(struct native_writer *w, int32_t pid, const struct trace *t,
		    const struct plan *p)
{
	int err = 0;

	for (size_t i = 0; i < t->ncode && !err; i++) {
		const struct code *c = &t->code[i];
		uint64_t hole = p->no_code, end = p->no_code + p->no_code_n;

		if (p->shift_by && p->shift_code >= c->addr && p->shift_code < c->addr + c->n) {
			err = put_shifted(w, pid, t, c, p);
			continue;
		}
		if (!p->no_code_n || end <= c->addr || hole >= c->addr + c->n) {
			err = native_pages(w, pid, c->addr, 0, c->p, c->n);
			continue;
		}
		if (hole > c->addr)
			err = native_pages(w, pid, c->addr, 0, c->p, hole - c->addr);
		if (!err && end < c->addr + c->n)
			err = native_pages(w, pid, end, 0, c->p + (end - c->addr),
					   c->addr + c->n - end);
	}
	for (unsigned i = 0; i < p->npatches && !err; i++)
		err = put_patch(w, pid, &p->patch[i]);
	return err;
}

/* What the kernel tells of who runs. */
static int put_turns(struct native_writer *w, const struct trace *t, const struct plan *p)
{
	int err = 0;

	for (size_t i = 0; i < t->nturns && !err; i++) {
		int32_t now = PID + t->turn[i].who, before = i ? PID + t->turn[i - 1].who : 0;
		struct hwt_rec_sched_switch r = {
			.rec = { .time = t->turn[i].tick, .id = HWT_ID_sched_switch,
				 .size = sizeof(r), .version = HWT_ABI_VERSION, .pid = before,
				 .tid = before },
			.prev_pid = before, .prev_tid = before, .next_pid = now, .next_tid = now,
			.next_aspace = UINT64_MAX, .prev_comm = "-", .next_comm = "-",
		};

		if (!p->no_turn || p->no_turn != i)
			err = native_event(w, 0, &r, sizeof(r));
	}
	return err;
}

static void unit(struct trace_cfg *g, const struct trace *t)
{
	*g = (struct trace_cfg){ .cpu = 0 };
	if (t->pt) {
		g->proto = HWT_PROTO_PT;
		g->r.pt.mtc_freq = t->ptc.mtc_freq;
		g->r.pt.nom_freq = t->ptc.ratio;
		g->r.pt.cpuid_15_eax = t->ptc.ctc_eax;
		g->r.pt.cpuid_15_ebx = t->ptc.ctc_ebx;
		g->r.pt.noretcomp = !t->ptc.retcomp;
		return;
	}
	unit_cfg_etm4(g, &t->etmc);
	g->trace_id = TRACE_ID;
}

static int put_piece(struct native_writer *w, int buf, const uint8_t *p, const struct piece *c,
		     bool blocks)
{
	int err = c->told ? native_hole(w, buf, c->cause, c->lost) : 0;

	for (uint64_t at = c->from; at < c->to && !err;) {
		uint64_t n = blocks && c->to - at > BLOCK ? BLOCK : c->to - at;

		err = native_trace(w, buf, HWT_TIME_UNKNOWN, p + at, n);
		if (blocks && !err)
			err = native_sync(w);
		at += n;
	}
	return err;
}

static int put_trace(struct native_writer *w, const struct trace *t, const struct plan *p)
{
	struct trace_cfg g;
	uint8_t *bytes = malloc(t->n);
	int buf, err = 0;

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, t->p, t->n);
	if (p->flip != NO_POS)
		bytes[p->flip / 8] ^= (uint8_t)(1 << p->flip % 8);
	if (p->nzero && !p->late)
		memset(bytes + p->zero, 0, p->nzero);
	if (t->pt)
		trace_set_tsc(t, bytes, p);
	unit(&g, t);
	buf = native_add_buf(w, "cpu", 0, t->other ? HWT_NONE : PID, t->other ? HWT_NONE : PID,
			     t->framed ? FRAMING_MEM : FRAMING_NONE, &g, 1);
	err = buf < 0 ? buf : 0;
	for (unsigned i = 0; i < p->npieces && !err; i++)
		err = put_piece(w, buf, bytes, &p->piece[i], p->late || p->chop);
	if (!err && p->end_cause)
		err = native_hole(w, buf, p->end_cause, p->to - p->from);
	free(bytes);
	return err;
}

/* What happens to the file when it is written. */
static int damage_file(const char *dir, const struct plan *p)
{
	static const uint8_t zero[4096];
	char path[512];
	off_t size;
	int fd, err = 0;

	if (!p->chop && !(p->nzero && p->late))
		return 0;
	snprintf(path, sizeof(path), "%s/hw/0_cpu.bin", dir);
	fd = open(path, O_RDWR);
	if (fd < 0)
		return -errno;
	size = lseek(fd, 0, SEEK_END);
	if (p->chop && ftruncate(fd, size - (off_t)p->chop))
		err = -errno;
	if (p->nzero && pwrite(fd, zero, p->nzero, (off_t)p->zero) != (ssize_t)p->nzero)
		err = -EIO;
	close(fd);
	return err;
}

int put_capture(const char *dir, const struct trace *t, const struct plan *p)
{
	const struct native_clock clock = { .counter = "qemu-insns", .base = "CLOCK_MONOTONIC",
					    .frequency = 1000000000 };
	struct hwt_diag diag = { 0 };
	struct native_writer *w;
	int err = native_create(&w, dir, true, &diag), closed;

	if (err) {
		fprintf(stderr, "fault: %s\n", diag.text);
		return err;
	}
	native_set(w, "capture", "recorder", "model");
	native_set(w, "capture", "arch", t->pt ? "x86_64" : "aarch64");
	native_clock(w, &clock);
	err = put_code(w, t->other ? PID : HWT_NONE, t, p);
	if (!err && t->other)
		err = put_code(w, PID + 1, t->other, p);
	err = err ? err : put_turns(w, t, p);
	err = err ? err : put_trace(w, t, p);
	closed = native_close(w, &diag);
	err = err ? err : closed;
	err = err ? err : damage_file(dir, p);
	if (err)
		fprintf(stderr, "fault: %s: %s\n", dir, diag.code ? diag.text : hwt_strerror(err));
	return err;
}

uint64_t put_origin(const struct plan *p, uint64_t off)
{
	uint64_t at = 0;

	for (unsigned i = 0; i < p->npieces; i++) {
		const struct piece *c = &p->piece[i];

		if (c->told)
			at += c->lost;
		if (off < at)
			return c->from;
		if (off - at < c->to - c->from)
			return c->from + (off - at);
		at += c->to - c->from;
	}
	return p->npieces ? p->piece[p->npieces - 1].to + (off - at) : off;
}
