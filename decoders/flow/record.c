/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that flow hands on as they are. */
#include <stdio.h>

#include "../pt/packet.h"
#include "flow.h"

bool flow_is_record(const struct hwt_event *ev)
{
	return ev->type == HWT_EV_RECORD && (ev->u.rec.id & ~0xffu) == FLOW_RECORD_PT;
}

const char *flow_record_name(const struct hwt_event *ev)
{
	switch (ev->u.rec.id & 0xff) {
	case IPT_BBP: return "pt:pebs";
	case IPT_BIP: case IPT_BEP: return "pt:pebs-rest";
	case IPT_CFE: return "pt:event";
	case IPT_EVD: return "pt:event-data";
	case IPT_TRIG: return "pt:trigger";
	case IPT_MNT: return "pt:maintenance";
	case IPT_MODE_EXEC: return "pt:interrupt-flag";
	}
	return "pt:packet";
}

size_t flow_record_text(const struct hwt_event *ev, char *buf, size_t n)
{
	const uint8_t *p = ev->u.rec.data;
	struct ipt_last_ip last = { 0 };
	struct ipt_ctx ctx = { 0 };
	size_t at = 0, len = 0;
	bool open = false;

	if (n)
		buf[0] = 0;
	while (at < ev->u.rec.size) {
		struct ipt_packet pkt;
		char text[160];
		int got = ipt_packet_decode(&pkt, &ctx, p + at, ev->u.rec.size - at);

		if (got < 0)
			break;
		at += (unsigned)got;
		open = pkt.kind == IPT_BBP || (open && pkt.kind != IPT_BEP);
		ipt_packet_text(&pkt, &last, text, sizeof(text));
		got = snprintf(len < n ? buf + len : NULL, len < n ? n - len : 0, "%s%s%s%s",
			       len ? "; " : "", ipt_packet_name(pkt.kind), text[0] ? " " : "",
			       text);
		len += got > 0 ? (size_t)got : 0;
	}
	if (open) {	/* a block without its BEP */
		int got = snprintf(len < n ? buf + len : NULL, len < n ? n - len : 0,
				   "; incomplete");

		len += got > 0 ? (size_t)got : 0;
	}
	return len;
}
