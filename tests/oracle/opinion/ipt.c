/* SPDX-License-Identifier: BSD-2-Clause */
/* libipt's instruction decoder over the code that ran; nothing of decoders/flow/ is between. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "opinion.h"

#if __has_include(<intel-pt.h>)
#include <intel-pt.h>

static int read_code(uint8_t *buf, size_t size, const struct pt_asid *asid, uint64_t ip, void *arg)
{
	struct code *c = arg;
	size_t n = 0;

	for (; n < size; n++, ip++) {
		size_t o = ip % CODE_PAGE;
		const struct code_page *pg = codemap_page(c, ip - o, 0);

		if (!pg || !pg->have[o])
			break;
		buf[n] = pg->byte[o];
	}
	return n ? (int)n : -pte_nomap;
}

static void events(struct peer *p, size_t thread, struct pt_insn_decoder *d, int *status)
{
	struct pt_event ev;

	while (*status >= 0 && *status & pts_event_pending) {
		*status = pt_insn_event(d, &ev, sizeof(ev));
		if (*status >= 0 && ev.type == ptev_overflow)
			peer_gap(p, thread);
	}
}

static void decode(struct peer *p, size_t thread, struct pt_insn_decoder *d)
{
	int status = pt_insn_sync_forward(d);
	uint64_t off = 0;

	while (status >= 0) {
		struct pt_insn insn = { 0 };

		events(p, thread, d, &status);
		if (status < 0 || status & pts_eos)
			break;
		status = pt_insn_next(d, &insn, sizeof(insn));
		if (insn.size)
			peer_range(p, thread, insn.ip, insn.ip, 1, HWT_ISA_X86_64);
	}
	if (status < 0 && status != -pte_eos) {
		pt_insn_get_offset(d, &off);
		peer_wrong(p, "thread %zu: %s at byte %" PRIu64, thread,
			   pt_errstr(pt_errcode(status)), off);
	}
}

static int one(struct peer *p, size_t thread, const struct trace_buf *b, const struct code *code)
{
	struct pt_config cfg;
	struct pt_insn_decoder *d;
	struct pt_image *image;

	if (b->nspans != 1 || b->ncfgs != 1)
		return -EINVAL;
	pt_config_init(&cfg);
	cfg.begin = (uint8_t *)b->spans[0].p;
	cfg.end = cfg.begin + b->spans[0].size;
	cfg.mtc_freq = b->cfgs[0].r.pt.mtc_freq;
	cfg.nom_freq = b->cfgs[0].r.pt.nom_freq;
	cfg.cpuid_0x15_eax = b->cfgs[0].r.pt.cpuid_15_eax;
	cfg.cpuid_0x15_ebx = b->cfgs[0].r.pt.cpuid_15_ebx;
	d = pt_insn_alloc_decoder(&cfg);
	image = pt_image_alloc(NULL);
	if (!d || !image || pt_image_set_callback(image, read_code, (void *)code) < 0 ||
	    pt_insn_set_image(d, image) < 0) {
		pt_insn_free_decoder(d);
		pt_image_free(image);
		return -ENOMEM;
	}
	decode(p, thread, d);
	pt_insn_free_decoder(d);
	pt_image_free(image);
	return 0;
}

int ipt_listen(struct peer *p, const struct capture *c, const struct code *code)
{
	int err = 0;

	for (size_t i = 0; i < c->nbufs && !err; i++)
		err = one(p, i, &c->bufs[i], code);
	return err;
}
#else
int ipt_listen(struct peer *p, const struct capture *c, const struct code *code)
{
	return -ENOSYS;
}
#endif
