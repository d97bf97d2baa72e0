// SPDX-License-Identifier: GPL-2.0-only
/* Block and network devices: include/trace/events/block.h, net.h, napi.h, skb.h. */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <trace/events/block.h>
#include <trace/events/net.h>
#include <trace/events/napi.h>
#include <trace/events/skb.h>

#include "hook.h"
#include "probe.h"

static u32 block_op(blk_opf_t opf)
{
	switch (opf & REQ_OP_MASK) {
	case REQ_OP_READ: return HWT_block_op_read;
	case REQ_OP_WRITE: return HWT_block_op_write;
	case REQ_OP_FLUSH: return HWT_block_op_flush;
	case REQ_OP_DISCARD: return HWT_block_op_discard;
	case REQ_OP_SECURE_ERASE: return HWT_block_op_secure_erase;
	case REQ_OP_WRITE_ZEROES: return HWT_block_op_write_zeroes;
	case REQ_OP_ZONE_OPEN:
	case REQ_OP_ZONE_CLOSE:
	case REQ_OP_ZONE_FINISH:
	case REQ_OP_ZONE_APPEND:
	case REQ_OP_ZONE_RESET:
	case REQ_OP_ZONE_RESET_ALL: return HWT_block_op_zone;
	default: return HWT_block_op_other;
	}
}

static u32 block_flags(blk_opf_t opf)
{
	return (opf & REQ_SYNC ? HWT_block_bit_sync : 0) |
		(opf & REQ_META ? HWT_block_bit_meta : 0) |
		(opf & REQ_RAHEAD ? HWT_block_bit_ahead : 0) |
		(opf & REQ_FUA ? HWT_block_bit_fua : 0) |
		(opf & REQ_PREFLUSH ? HWT_block_bit_preflush : 0);
}

/* Major and minor as the kernel itself has them: 12 and 20 bits. */
static u32 disk_of(const struct request *rq)
{
	return rq->q->disk ? disk_devt(rq->q->disk) : 0;
}

static void on_queue(void *data, struct bio *bio)
{
	struct hwt_rec_block_queue r = { .sector = bio->bi_iter.bi_sector, .dev = bio_dev(bio),
		.op = block_op(bio->bi_opf), .bytes = bio->bi_iter.bi_size,
		.op_flags = block_flags(bio->bi_opf) };

	vtp_comm(r.comm, current->comm);
	vtp_block_queue(&r, NULL);
}

#define SET_REQUEST(r, rq) \
	do { \
		(r)->request = (unsigned long)(rq); \
		(r)->sector = blk_rq_trace_sector(rq); \
		(r)->dev = disk_of(rq); \
		(r)->op = block_op((rq)->cmd_flags); \
		(r)->bytes = blk_rq_bytes(rq); \
	} while (0)

#define REQUEST(ev) \
	static void on_##ev(void *data, struct request *rq) \
	{ \
		struct hwt_rec_block_##ev r; \
		\
		SET_REQUEST(&r, rq); \
		r.op_flags = block_flags(rq->cmd_flags); \
		vtp_comm(r.comm, current->comm); \
		vtp_block_##ev(&r, NULL); \
	}
REQUEST(insert)
REQUEST(issue)

static void on_requeue(void *data, struct request *rq)
{
	struct hwt_rec_block_requeue r;

	SET_REQUEST(&r, rq);
	r.op_flags = block_flags(rq->cmd_flags);
	vtp_block_requeue(&r, NULL);
}

static void on_complete(void *data, struct request *rq, blk_status_t error, unsigned int bytes)
{
	struct hwt_rec_block_complete r;

	SET_REQUEST(&r, rq);
	r.bytes = bytes;
	r.error = blk_status_to_errno(error);
	vtp_block_complete(&r, NULL);
}

#define PACKET(ev) \
	static void on_##ev(void *data, struct sk_buff *skb) \
	{ \
		struct hwt_rec_net_##ev r = { .packet = (unsigned long)skb, .bytes = skb->len }; \
		\
		r.ifindex = skb->dev ? skb->dev->ifindex : U32_MAX; \
		vtp_name(r.dev, skb->dev ? skb->dev->name : "-"); \
		vtp_net_##ev(&r, NULL); \
	}
PACKET(rx)
PACKET(tx)

/* The packet may be gone: nothing of it is looked at. */
static void on_xmit(void *data, struct sk_buff *skb, int rc, struct net_device *dev,
		    unsigned int len)
{
	struct hwt_rec_net_xmit r = { .packet = (unsigned long)skb, .bytes = len, .result = rc };

	vtp_name(r.dev, dev->name);
	vtp_net_xmit(&r, NULL);
}

static void on_poll(void *data, struct napi_struct *napi, int work, int budget)
{
	struct hwt_rec_net_poll r = { .work = work, .budget = budget };

	vtp_name(r.dev, napi->dev ? napi->dev->name : "-");
	vtp_net_poll(&r, NULL);
}

static void put_drop(struct sk_buff *skb, void *location)
{
	struct hwt_rec_net_drop r = { .packet = (unsigned long)skb,
		.location = (unsigned long)location };

	vtp_net_drop(&r, NULL);
}

static void on_drop(void *data, struct sk_buff *skb, void *location, enum skb_drop_reason reason)
{
	put_drop(skb, location);
}

static void on_drop_sock(void *data, struct sk_buff *skb, void *location,
			 enum skb_drop_reason reason, struct sock *sk)
{
	put_drop(skb, location);
}

struct hook hooks_io[] = {
	{ HOOK_TP(block_bio_queue, on_queue, VTP_block_queue) },
	{ HOOK_TP(block_rq_insert, on_insert, VTP_block_insert) },
	{ HOOK_TP(block_rq_issue, on_issue, VTP_block_issue) },
	{ HOOK_TP(block_rq_requeue, on_requeue, VTP_block_requeue) },
	{ HOOK_TP(block_rq_complete, on_complete, VTP_block_complete) },
	{ HOOK_TP(netif_receive_skb, on_rx, VTP_net_rx) },
	{ HOOK_TP(net_dev_queue, on_tx, VTP_net_tx) },
	{ HOOK_TP(net_dev_xmit, on_xmit, VTP_net_xmit) },
	{ HOOK_TP(napi_poll, on_poll, VTP_net_poll) },
	{ HOOK_TP2(kfree_skb, on_drop, on_drop_sock, VTP_net_drop) },
	{}
};
