/* SPDX-License-Identifier: BSD-2-Clause */
/* Trace framed again: output of a TPIU without its sync words, and trace that had no frames. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../decoders/tpiu/tpiu.h"
#include "../../hwtrace/model/frame.h"
#include "export.h"

#define RUNS	64

static int put(void *arg, const void *p, size_t n)
{
	struct bytes *b = arg;

	bytes_put(b, p, n);
	return b->failed ? -ENOMEM : 0;
}

/* Runs of sources; what is of no source is counted. */
static int take(struct model_frame *f, const struct tpiu_run *r, int n, unsigned *odd)
{
	int rc = 0;

	for (int i = 0; i < n && !rc; i++) {
		bool source = r[i].id != TPIU_ID_NULL && r[i].id <= TPIU_ID_LAST && !r[i].unsure;

		*odd += !source;
		if (source)
			rc = model_frame_put(f, r[i].id, r[i].data, r[i].n);
	}
	return rc;
}

static int convert(struct model_frame *f, const struct trace_span *s, unsigned *odd)
{
	struct tpiu_run runs[RUNS];
	struct tpiu t;
	uint64_t at = 0;
	size_t used = 0;
	int rc = 0;

	tpiu_init(&t, true);
	t.dstream = tpiu_is_dstream(s->p, (size_t)s->size);
	while (at < s->size && !rc) {
		int n = tpiu_decode(&t, s->p + at, (size_t)(s->size - at), &used, runs, RUNS);

		rc = n < 0 ? n : take(f, runs, n, odd);
		at += used;
	}
	if (!rc) {
		int n = tpiu_flush(&t, runs, RUNS);

		rc = n < 0 ? n : take(f, runs, n, odd);
	}
	return rc ? rc : model_frame_flush(f);
}

/*
 * A frame of no source, as hardware pads with. perf 6.1 stops at each timestamp, and where its
 * queue is full, and goes on only while it has bytes to give: what a last frame then has more is
 * lost.
 */
static const uint8_t last_frame[EX_FRAME] = { 0x01 };

void ex_last_frame(struct ex_chunk *c)
{
	c->frame = last_frame;
	c->size += EX_FRAME;
}

/* Ends the frames in @b that @rc tells of; their memory is the exporter's from now on. */
static int finish(struct ex *e, struct bytes *b, int rc, struct ex_chunk *c)
{
	uint8_t **slot = vec_push(&e->strips, sizeof(*slot));

	if (!slot) {
		free(b->p);
		return ex_nomem(e);
	}
	if (!rc && b->failed)
		rc = -ENOMEM;
	*slot = b->p;
	if (rc == -ENOMEM)
		return ex_nomem(e);
	if (rc)
		return diag_set(e->diag, -HWT_E_FORMAT, E_EXPORT_NO, e->c->path, HWT_NO_OFF,
				"more than 16 trace ids in a buffer, or one that is none");
	c->p = b->p;
	c->size = b->n;
	ex_last_frame(c);
	return 0;
}

static const struct model_frame_cfg framer = { .sync = MODEL_FRAME_MEM, .run_max = 15 };

int ex_frames(struct ex *e, const struct trace_span *s, struct ex_chunk *c)
{
	struct bytes b = { 0 };
	struct model_out to = { .put = put, .arg = &b };
	struct model_frame *f;
	unsigned odd = 0;
	int rc = model_frame_new(&f, &framer, &to);

	if (rc)
		return ex_nomem(e);
	rc = convert(f, s, &odd);
	model_frame_free(f);
	if (odd)
		ex_note(e, E_EXPORT_PART, "bytes of no trace source, in %u places between sync "
			"words, are not in the file", odd);
	return finish(e, &b, rc, c);
}

int ex_frame_raw(struct ex *e, const struct trace_span *s, uint8_t id, struct ex_chunk *c)
{
	struct bytes b = { 0 };
	struct model_out to = { .put = put, .arg = &b };
	struct model_frame *f;
	int rc = model_frame_new(&f, &framer, &to);

	if (rc)
		return ex_nomem(e);
	rc = model_frame_put(f, id, s->p, (size_t)s->size);
	if (!rc)
		rc = model_frame_flush(f);
	model_frame_free(f);
	return finish(e, &b, rc, c);
}
