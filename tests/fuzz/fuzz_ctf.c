/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What comes out of the pipe of libbabeltrace2's process, which a damaged trace may have led
 * astray: messages of any content, as both passes take them. This program is the pipe.
 */
#include <stdlib.h>
#include <string.h>

#include "hwtrace/source/ctf.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static const uint8_t *input;
static size_t input_size;

struct ctf_pipe {
	size_t at;
	bool end;
	uint64_t buf[];		/* the input: messages are aligned to 8 */
};

int ctf_pipe_open(struct ctf_pipe **out, const struct ctf_job *job)
{
	struct ctf_pipe *p = malloc(sizeof(*p) + input_size);

	if (!p)
		return -12;
	p->at = 0;
	p->end = false;
	if (input_size)
		memcpy(p->buf, input, input_size);
	*out = p;
	return 0;
}

void ctf_pipe_release(struct ctf_pipe *p)
{
}

int ctf_pipe_next(struct ctf_pipe *p, const struct ctf_msg **m, struct hwt_diag *diag)
{
	const uint8_t *b = (const uint8_t *)p->buf + p->at;

	if (p->end)
		return 0;
	if (ctf_msg_whole(b, input_size - p->at) <= 0) {
		p->end = true;
		return diag_set(diag, -HWT_E_LIB, E_CTF_LIB, NULL, HWT_NO_OFF, "ended");
	}
	*m = (const struct ctf_msg *)(const void *)b;
	p->at += (*m)->size;
	p->end = (*m)->type == CTF_END;
	return 1;
}

void ctf_pipe_close(struct ctf_pipe *p)
{
	free(p);
}

static void walk(struct capture *c, int (*open)(struct capture *, struct hwt_stream **,
						struct hwt_diag *))
{
	static const char *const fields[] = { "prev_tid", "stream.pid", "a[1]", "" };
	struct hwt_abi_value v;
	struct hwt_event ev[16];
	struct hwt_stream *st;
	struct hwt_diag d;
	char text[200];
	int n;

	if (open(c, &st, &d))
		return;
	while ((n = hwt_stream_next(st, ev, 16)) > 0)
		for (int i = 0; i < n; i++) {
			if (ev[i].type == HWT_EV_GAP)
				continue;
			if (ev[i].type != HWT_EV_RECORD)
				abort();
			ctf_event_name(c, &ev[i]);
			ctf_event_text(c, &ev[i], text, sizeof(text));
			if (strlen(text) >= sizeof(text))
				abort();
			for (int k = 0; k < 4 && ev[i].u.rec.id >= HWT_ID_DIRTY; k++)
				if (ctf_dirty_field(c, &ev[i], fields[k], &v) && v.n &&
				    ((const uint8_t *)v.p < (const uint8_t *)ev[i].u.rec.data ||
				     (const uint8_t *)v.p + v.n >
				     (const uint8_t *)ev[i].u.rec.data + ev[i].u.rec.size))
					abort();
		}
	if (n < 0)
		abort();
	hwt_stream_close(st);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct hwt_diag d = { .off = HWT_NO_OFF };
	struct ctf x = { 0 };

	input = p;
	input_size = n;
	if (capture_new(&x.c))
		return 0;
	x.c->path = "trace";
	x.c->priv = &x;
	x.max_events = n;
	if (!ctf_scan(&x, &d)) {
		walk(x.c, ctf_events);
		walk(x.c, ctf_kernel);
	}
	free(x.traces);
	free(x.streams);
	free(x.classes);
	capture_free(x.c);
	return 0;
}
