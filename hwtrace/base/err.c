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
	[HWT_GAP_DAMAGED] = { "damaged", 28 },
};

const char *hwt_gap_name(unsigned cause)
{
	return cause < HWT_GAP_CAUSES ? gaps[cause].name : "unknown";
}

unsigned hwt_gap_error(unsigned cause)
{
	return cause < HWT_GAP_CAUSES ? gaps[cause].id : 0;
}

const char *hwt_exc_name(unsigned what)
{
	static const char *const names[HWT_EXC_KINDS] = {
		[HWT_EXC_UNKNOWN] = "exception", [HWT_EXC_ASYNC] = "interrupt or fault",
		[HWT_EXC_RESET] = "reset", [HWT_EXC_DEBUG_HALT] = "debug halt",
		[HWT_EXC_CALL] = "call", [HWT_EXC_SVC] = "SVC", [HWT_EXC_HVC] = "HVC",
		[HWT_EXC_SMC] = "SMC", [HWT_EXC_TRAP] = "trap", [HWT_EXC_SERROR] = "system error",
		[HWT_EXC_INST_DEBUG] = "instruction debug", [HWT_EXC_DATA_DEBUG] = "data debug",
		[HWT_EXC_ALIGNMENT] = "alignment", [HWT_EXC_INST_FAULT] = "instruction fault",
		[HWT_EXC_DATA_FAULT] = "data fault",
		[HWT_EXC_ASYNC_ABORT] = "asynchronous data abort",
		[HWT_EXC_UNDEFINED] = "undefined instruction",
		[HWT_EXC_JAZELLE] = "Jazelle or ThumbEE check", [HWT_EXC_GENERIC] = "generic",
		[HWT_EXC_IRQ] = "IRQ", [HWT_EXC_FIQ] = "FIQ",
		[HWT_EXC_IMPDEF] = "implementation defined", [HWT_EXC_NMI] = "NMI",
		[HWT_EXC_HARDFAULT] = "HardFault", [HWT_EXC_MEMMANAGE] = "MemManage",
		[HWT_EXC_BUSFAULT] = "BusFault", [HWT_EXC_USAGEFAULT] = "UsageFault",
		[HWT_EXC_SECUREFAULT] = "SecureFault", [HWT_EXC_DEBUGMON] = "DebugMonitor",
		[HWT_EXC_PENDSV] = "PendSV", [HWT_EXC_SYSTICK] = "SysTick",
		[HWT_EXC_LAZYFP] = "lazy FP push", [HWT_EXC_LOCKUP] = "lockup",
	};

	return what < HWT_EXC_KINDS ? names[what] : names[HWT_EXC_UNKNOWN];
}

const char *hwt_proto_name(unsigned proto)
{
	static const char *const names[] = { "none", "Intel PT", "ETMv3", "PTM", "ETMv4", "ETE",
		"STM", "ITM" };

	return proto < sizeof(names) / sizeof(names[0]) ? names[proto] : "unknown";
}
