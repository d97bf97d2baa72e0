/* SPDX-License-Identifier: BSD-2-Clause */
/* block and net: include/trace/events/block.h, net.h, napi.h and skb.h of Linux, and LTTng's. */
#include "priv.h"

/* LTTng's bits of "rwbs" (its include/instrumentation/events/block.h) */
enum { RWBS_WRITE = 1, RWBS_DISCARD = 2, RWBS_READ = 4, RWBS_AHEAD = 8, RWBS_SYNC = 32,
	RWBS_META = 64, RWBS_SECURE = 128, RWBS_FLUSH = 256, RWBS_FUA = 512,
	RWBS_PREFLUSH = 1024 };

static void number_op(uint64_t v, uint32_t *op, uint32_t *flags)
{
	*op = v & RWBS_WRITE ? HWT_block_op_write : v & RWBS_SECURE ? HWT_block_op_secure_erase :
		v & RWBS_DISCARD ? HWT_block_op_discard : v & RWBS_READ ? HWT_block_op_read :
		v & RWBS_FLUSH ? HWT_block_op_flush : HWT_block_op_other;
	*flags = (v & RWBS_SYNC ? HWT_block_bit_sync : 0u) |
		(v & RWBS_META ? HWT_block_bit_meta : 0u) |
		(v & RWBS_AHEAD ? HWT_block_bit_ahead : 0u) |
		(v & RWBS_FUA ? HWT_block_bit_fua : 0u) |
		(v & RWBS_PREFLUSH ? HWT_block_bit_preflush : 0u);
}

/*
 * The letters of blk_fill_rwbs() (kernel/trace/blktrace.c): F for a flush before, the operation
 * (two letters for some), then the bits. An F that stands alone is the operation.
 */
static void letters_op(const char *p, size_t n, uint32_t *op, uint32_t *flags)
{
	size_t i = 0;

	n = strnlen(p, n);
	*flags = 0;
	if (n > 1 && p[0] == 'F' && strchr("WDRFNZ", p[1])) {
		*flags |= HWT_block_bit_preflush;
		i++;
	}
	*op = HWT_block_op_other;
	switch (i < n ? p[i++] : 'N') {
	case 'W': *op = HWT_block_op_write; break;
	case 'R': *op = HWT_block_op_read; break;
	case 'F': *op = HWT_block_op_flush; break;
	case 'Z':
		*op = HWT_block_op_zone;
		i = n;		/* more letters say what with the zone */
		break;
	case 'D':
		*op = HWT_block_op_discard;
		if (i < n && p[i] == 'E') {
			*op = HWT_block_op_secure_erase;
			i++;
		}
		break;
	}
	for (; i < n; i++)
		*flags |= p[i] == 'F' ? HWT_block_bit_fua : p[i] == 'A' ? HWT_block_bit_ahead :
			p[i] == 'S' ? HWT_block_bit_sync : p[i] == 'M' ? HWT_block_bit_meta : 0u;
}

static void get_op(const struct virt_in *in, uint32_t *op, uint32_t *flags)
{
	const char *p;
	size_t n;
	__u64 v;

	if (in->g->string(in->g->arg, "rwbs", &p, &n) > 0)
		letters_op(p, n, op, flags);
	else if (get_u64(in, "rwbs", &v))
		number_op(v, op, flags);
}

/* A driver's own request has no sectors, but may have bytes. */
static void get_bytes(const struct virt_in *in, uint32_t *bytes)
{
	uint32_t n;

	if (get_u32(in, "nr_sector", &n) && n <= UINT32_MAX >> 9)
		*bytes = n << 9;
	if (get_u32(in, "bytes", &n) && n)
		*bytes = n;
}

/* What all events of a block device have; false without a device. */
static bool get_block(const struct virt_in *in, uint32_t *dev, __u64 *sector, uint32_t *bytes,
		      uint32_t *op, uint32_t *flags)
{
	if (!get_u32(in, "dev", dev))
		return false;
	get_u64(in, "sector", sector);
	get_bytes(in, bytes);
	get_op(in, op, flags);
	return true;
}

static int make_queue(const struct virt_in *in, void *rec)
{
	struct hwt_rec_block_queue *r = rec;

	get_name(in, "comm", r->comm);
	return get_block(in, &r->dev, &r->sector, &r->bytes, &r->op, &r->op_flags);
}

/* block.insert and block.issue */
static int make_request(const struct virt_in *in, void *rec)
{
	struct hwt_rec_block_issue *r = rec;

	get_name(in, "comm", r->comm);
	return get_block(in, &r->dev, &r->sector, &r->bytes, &r->op, &r->op_flags);
}

static int make_requeue(const struct virt_in *in, void *rec)
{
	struct hwt_rec_block_requeue *r = rec;

	return get_block(in, &r->dev, &r->sector, &r->bytes, &r->op, &r->op_flags);
}

static int make_complete(const struct virt_in *in, void *rec)
{
	struct hwt_rec_block_complete *r = rec;
	uint32_t flags;

	if (!get_s32(in, "error", &r->error))	/* before 4.13 */
		get_s32(in, "errors", &r->error);
	return get_block(in, &r->dev, &r->sector, &r->bytes, &r->op, &flags);
}

/* net.rx and net.tx */
static int make_packet(const struct virt_in *in, void *rec)
{
	struct hwt_rec_net_rx *r = rec;

	if (!get_u64(in, "skbaddr", &r->packet))
		return 0;
	get_u32(in, "len", &r->bytes);
	get_name(in, "name", r->dev);
	return 1;
}

static int make_xmit(const struct virt_in *in, void *rec)
{
	struct hwt_rec_net_xmit *r = rec;

	if (!get_u64(in, "skbaddr", &r->packet))
		return 0;
	get_u32(in, "len", &r->bytes);
	get_s32(in, "rc", &r->result);
	get_name(in, "name", r->dev);
	return 1;
}

static int make_poll(const struct virt_in *in, void *rec)
{
	struct hwt_rec_net_poll *r = rec;

	if (!get_name(in, "dev_name", r->dev))
		return 0;
	get_u32(in, "work", &r->work);	/* since 4.8 */
	get_u32(in, "budget", &r->budget);
	return 1;
}

static int make_drop(const struct virt_in *in, void *rec)
{
	struct hwt_rec_net_drop *r = rec;

	if (!get_u64(in, "skbaddr", &r->packet))
		return 0;
	get_u64(in, "location", &r->location);
	return 1;
}

#define BOTH (ON_LINUX | ON_LTTNG)

const struct virt_map virt_device_maps[] = {
	MAP(BOTH, "block", "block_bio_queue", block, queue, make_queue),
	MAP(BOTH, "block", "block_rq_insert", block, insert, make_request),
	MAP(BOTH, "block", "block_rq_issue", block, issue, make_request),
	MAP(BOTH, "block", "block_rq_requeue", block, requeue, make_requeue),
	MAP(BOTH, "block", "block_rq_complete", block, complete, make_complete),
	MAP(BOTH, "net", "netif_receive_skb", net, rx, make_packet),
	MAP(ON_LTTNG, NULL, "net_if_receive_skb", net, rx, make_packet),
	MAP(BOTH, "net", "net_dev_queue", net, tx, make_packet),
	MAP(BOTH, "net", "net_dev_xmit", net, xmit, make_xmit),
	MAP(BOTH, "napi", "napi_poll", net, poll, make_poll),
	MAP(ON_LINUX, "skb", "kfree_skb", net, drop, make_drop),
	MAP(ON_LTTNG, NULL, "skb_kfree", net, drop, make_drop),
	{ 0 }
};
