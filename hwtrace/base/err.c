/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>
#include <string.h>

#include <hwtrace/err.h>
#include <hwtrace/event.h>
#include <hwtrace/packet.h>

static const struct hwt_error_info catalogue[] = {
#define ERR(id, name, cause, hint) { id, name, cause, hint },
#include "errors.def"
#undef ERR
};

const char *hwt_strerror(int err)
{
	if (err >= 0)
		return "no error";
	switch (-err) {
	case HWT_E_FORMAT: return "not the expected format";
	case HWT_E_PACKET: return "undefined packet";
	case HWT_E_MORE:   return "packet continues after the last byte";
	case HWT_E_CLOCK:  return "clocks can not be related";
	case HWT_E_FILTER: return "filter expression is not valid";
	case HWT_E_LIB:    return "error in a backend library";
	}
	return -err < HWT_E_FORMAT ? strerror(-err) : "unknown error";
}

const struct hwt_error_info *hwt_error_at(unsigned i)
{
	return i < sizeof(catalogue) / sizeof(catalogue[0]) ? &catalogue[i] : NULL;
}

const struct hwt_error_info *hwt_error_info(unsigned id)
{
	for (unsigned i = 0; hwt_error_at(i); i++)
		if (catalogue[i].id == id)
			return &catalogue[i];
	return NULL;
}

static const struct { const char *name; unsigned id; } gaps[HWT_GAP_CAUSES] = {
	[HWT_GAP_NONE] = { "none", 0 },
	[HWT_GAP_OVERFLOW] = { "overflow", 10 },
	[HWT_GAP_NO_SYNC] = { "no-sync", 11 },
	[HWT_GAP_BAD_PACKET] = { "bad-packet", 12 },
	[HWT_GAP_TRUNCATED] = { "truncated", 13 },
	[HWT_GAP_NO_IMAGE] = { "no-image", 14 },
	[HWT_GAP_BAD_IMAGE] = { "bad-image", 15 },
	[HWT_GAP_NO_RETURN] = { "no-return", 16 },
	[HWT_GAP_NO_PROGRESS] = { "no-progress", 17 },
	[HWT_GAP_NO_PATH] = { "no-path", 18 },
	[HWT_GAP_BREAK] = { "break", 19 },
	[HWT_GAP_AUX_LOST] = { "aux-lost", 20 },
	[HWT_GAP_AUX_MISSING] = { "aux-missing", 21 },
	[HWT_GAP_AUX_OVERLAP] = { "aux-overlap", 22 },
	[HWT_GAP_COLLISION] = { "collision", 23 },
	[HWT_GAP_RESERVED] = { "reserved-id", 24 },
	[HWT_GAP_NO_DECODER] = { "no-decoder", 25 },
	[HWT_GAP_LIB] = { "library", 26 },
	[HWT_GAP_UNKNOWN_BRANCH] = { "unknown-branch", 27 },
};

const char *hwt_gap_name(unsigned cause)
{
	return cause < HWT_GAP_CAUSES ? gaps[cause].name : "unknown";
}

unsigned hwt_gap_error(unsigned cause)
{
	return cause < HWT_GAP_CAUSES ? gaps[cause].id : 0;
}

const char *hwt_proto_name(unsigned proto)
{
	static const char *const names[] = { "none", "Intel PT", "ETMv3", "PTM", "ETMv4", "ETE",
		"STM", "ITM" };

	return proto < sizeof(names) / sizeof(names[0]) ? names[proto] : "unknown";
}
