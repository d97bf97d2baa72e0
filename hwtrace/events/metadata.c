/* SPDX-License-Identifier: BSD-2-Clause */
/* CTF 1.8 metadata (TSDL) from the tables: CTF specification 1.8.3, section 7 and appendix C. */
#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>
#include <inttypes.h>
#include <stdbool.h>

#include "../base/text.h"

/*
 * babeltrace2 warns of fields in an event header that it has no use for, so that ends behind the
 * id, and the rest of struct hwt_rec is the event context. Integers are declared with an alignment
 * of one byte: they lie where uapi.h puts them, and only the start of a record is aligned. A
 * leading underscore, which readers take away, keeps field names apart from the words of TSDL.
 */
static const char *const tsdl_types =
	"typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := u16;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
	"typealias integer { size = 32; align = 8; signed = false; base = 16; } := x32;\n"
	"typealias integer { size = 64; align = 8; signed = false; base = 16; } := x64;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := s32;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := s64;\n"
	"typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := chr;\n";

static void put_string(struct text *t, const char *s)
{
	text_put(t, "\"");
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			text_put(t, "\\%c", *s);
		else
			text_put(t, "%c", (unsigned char)*s < ' ' || *s == 127 ? '?' : *s);
	text_put(t, "\"");
}

static void put_uuid(struct text *t, const uint8_t *u)
{
	text_put(t, "\"");
	for (unsigned i = 0; i < 16; i++)
		text_put(t, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
	text_put(t, "\"");
}

static void put_trace(struct text *t, const struct hwt_abi_trace *tr, unsigned version)
{
	text_put(t, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = ");
	put_uuid(t, tr->uuid);
	text_put(t, ";\n\tbyte_order = %s;\n"
		 "\tpacket.header := struct {\n\t\tx32 magic;\n\t\tu8 uuid[16];\n"
		 "\t\tu32 stream_id;\n\t};\n};\n\n", tr->big_endian ? "be" : "le");
	text_put(t, "env {\n\tdomain = \"kernel\";\n\ttracer_name = \"hwtrace\";\n"
		 "\ttracer_major = %u;\n\ttracer_minor = 0;\n\thwtrace_abi = %u;\n", version,
		 version);
	if (tr->label) {
		text_put(t, "\tlabel = ");
		put_string(t, tr->label);
		text_put(t, ";\n");
	}
	if (tr->host) {
		text_put(t, "\thostname = ");
		put_string(t, tr->host);
		text_put(t, ";\n");
	}
	text_put(t, "};\n\n");
}

static void put_clock(struct text *t, const struct hwt_abi_trace *tr, const char *name)
{
	/* a frequency must be given: without it, readers show ticks as nanoseconds */
	text_put(t, "clock {\n\tname = \"%s\";\n"
		 "\tdescription = \"counter of the traced machine%s\";\n"
		 "\tfreq = %" PRIu64 ";\n\tprecision = %" PRIu64 ";\n"
		 "\toffset_s = %" PRId64 ";\n\toffset = %" PRIu64 ";\n\tabsolute = %s;\n};\n\n",
		 name, tr->freq ? "" : "; its frequency is not known, shown ns are ticks",
		 tr->freq ? tr->freq : 1000000000u, tr->precision, tr->offset_s, tr->offset,
		 tr->absolute ? "TRUE" : "FALSE");
	text_put(t, "typealias integer { size = 64; align = 8; signed = false; "
		 "map = clock.%s.value; } := ticks;\n\n", name);
}

static const char tsdl_stream[] =
	"stream {\n\tid = 0;\n"
	"\tpacket.context := struct {\n"
	"\t\tticks timestamp_begin;\n\t\tticks timestamp_end;\n\t\tu64 content_size;\n"
	"\t\tu64 packet_size;\n\t\tu64 events_discarded;\n\t\tu64 packet_seq_num;\n"
	"\t\tu32 cpu_id;\n\t\tx32 flags;\n\t\tu32 events;\n\t\tx32 crc;\n"
	"\t\tu64 produced;\n\t};\n"
	"\tevent.header := struct {\n"
	"\t\tticks timestamp;\n\t\tu16 id;\n\t} align(64);\n"
	"\tevent.context := struct {\n"
	"\t\tu16 _size;\n\t\tu16 _version;\n\t\tu16 _flags;\n"
	"\t\tu64 _hit;\n\t\ts32 _pid;\n\t\ts32 _tid;\n";

static void put_field(struct text *t, const struct hwt_abi_field *f)
{
	switch (f->type) {
	case HWT_ABI_name16:
		text_put(t, "\t\tchr _%s[16];\n", f->name);
		break;
	case HWT_ABI_code16:
		text_put(t, "\t\tu8 _%s[16];\n", f->name);
		break;
	case HWT_ABI_id24:
		text_put(t, "\t\tu8 _%s[24];\n", f->name);
		break;
	case HWT_ABI_text:
		text_put(t, "\t\tu32 _%s_size;\n", f->name);
		break;
	case HWT_ABI_pid:
		text_put(t, "\t\ts32 _%s;\n", f->name);
		break;
	default:
		text_put(t, "\t\t%s _%s;\n", hwt_abi_type_name(f->type), f->name);
	}
}

/* Behind the header; true: it does not fill a multiple of 8 bytes. */
static bool put_context(struct text *t, const struct hwt_abi_trace *tr)
{
	struct hwt_abi_field v[HWT_ABI_CONTEXTS];
	unsigned n, end = 0, size = hwt_abi_context(tr->contexts, v, &n);

	for (unsigned i = 0; i < n; i++) {
		put_field(t, &v[i]);
		end = v[i].offset + v[i].size;
	}
	text_put(t, "\t};\n};\n\n");
	return end != size;
}

/* @align: the fields begin where the next multiple of 8 bytes is. */
static void put_end(struct text *t, bool align)
{
	text_put(t, "\t}%s;\n};\n\n", align ? " align(64)" : "");
}

static void put_begin(struct text *t, const char *name, unsigned id)
{
	text_put(t, "event {\n\tname = ");
	put_string(t, name);
	text_put(t, ";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n", id);
}

static void put_text(struct text *t, const struct hwt_abi_field *f)
{
	text_put(t, "\t\tchr _%s[_%s_size];\n", f->name, f->name);
}

static void put_event(struct text *t, const struct hwt_abi_event *e, unsigned version, bool align)
{
	unsigned n;
	const struct hwt_abi_field *f = e->fields(&n), *tail = NULL;

	put_begin(t, e->name, e->id);
	for (; n; n--, f++) {
		if (f->since > version)
			continue;
		put_field(t, f);
		if (f->type == HWT_ABI_text)
			tail = f;
	}
	if (tail)
		put_text(t, tail);
	put_end(t, align);
}

static void put_own(struct text *t, const struct hwt_abi_own *o, bool align)
{
	put_begin(t, o->name, o->id);
	for (unsigned i = 0; i < o->nfields; i++)
		put_field(t, &o->fields[i]);
	for (unsigned i = 0; i < o->nfields; i++)
		if (o->fields[i].type == HWT_ABI_text)
			put_text(t, &o->fields[i]);
	put_end(t, align);
}

size_t hwt_abi_metadata(char *buf, size_t size, const struct hwt_abi_trace *tr)
{
	struct text t = { buf, size, 0 };
	unsigned version = tr->version ? tr->version : HWT_ABI_VERSION;
	const struct hwt_abi_event *e;
	bool align;

	text_put(&t, "/* CTF 1.8 */\n\n%s\n", tsdl_types);
	put_trace(&t, tr, version);
	put_clock(&t, tr, tr->clock ? tr->clock : "counter");
	text_put(&t, "%s", tsdl_stream);
	align = put_context(&t, tr);
	for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++)
		if (e->since <= version)
			put_event(&t, e, version, align);
	for (unsigned i = 0; i < tr->nown; i++)
		put_own(&t, &tr->own[i], align);
	return t.len;
}
