/* SPDX-License-Identifier: BSD-2-Clause */
/* Records assembled byte by byte, little-endian, as uapi.h tells their layout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/abi.h>

struct bytes {
	uint8_t p[5000];
	size_t n;
};

static void le(struct bytes *b, unsigned size, uint64_t v)
{
	for (unsigned i = 0; i < size; i++)
		b->p[b->n++] = (uint8_t)(v >> 8 * i);
}

static void str(struct bytes *b, const char *s, size_t size)
{
	memset(b->p + b->n, 0, size);
	memcpy(b->p + b->n, s, strlen(s));
	b->n += size;
}

/* Header of a record of @size bytes. */
static void head(struct bytes *b, unsigned id, unsigned size, unsigned version)
{
	b->n = 0;
	le(b, 8, 1234567);
	le(b, 2, id);
	le(b, 2, size);
	le(b, 2, version);
	le(b, 2, 1);
	le(b, 8, 42);
	le(b, 4, 100);
	le(b, 4, 101);
}

static int look(const struct bytes *b, const struct hwt_abi_event **e)
{
	/* of its exact size, so that a sanitizer sees what is read past it */
	uint8_t *p = malloc(b->n ? b->n : 1);
	int rc;

	memcpy(p, b->p, b->n);
	rc = hwt_abi_record(e, p, b->n);
	free(p);
	return rc;
}

static void shows(const struct bytes *b, const char *want)
{
	const struct hwt_abi_event *e;
	char buf[8192], cut[8];

	assert_int_equal(look(b, &e), b->n);
	assert_non_null(e);
	assert_int_equal(hwt_abi_format(buf, sizeof(buf), e, b->p), strlen(want));
	assert_string_equal(buf, want);
	/* as snprintf(): cut, ended, and the whole length */
	assert_int_equal(hwt_abi_format(cut, sizeof(cut), e, b->p), strlen(want));
	assert_int_equal(strlen(cut), strlen(want) < 7 ? strlen(want) : 7);
	assert_int_equal(hwt_abi_format(NULL, 0, e, b->p), strlen(want));
}

static void sched_switch(void **state)
{
	struct bytes b;

	head(&b, 0x101, 104, 1);
	le(&b, 4, 7);
	le(&b, 4, 8);
	le(&b, 4, 0);
	le(&b, 4, 0);
	le(&b, 4, 0xffffffff);		/* a deadline task */
	le(&b, 4, 120);
	le(&b, 4, 1);
	le(&b, 4, 0);
	le(&b, 8, 0x1234000);
	str(&b, "a \"b\"\\\n", 16);
	str(&b, "swapper/0", 16);
	assert_int_equal(b.n, 104);
	shows(&b, "prev_pid=7 prev_tid=8 next_pid=0 next_tid=0 prev_prio=-1 next_prio=120 "
	      "prev_state=sleep preempted=no next_aspace=0x1234000 "
	      "prev_comm=\"a \\\"b\\\"\\\\\\x0a\" "
	      "next_comm=\"swapper/0\"");
}

static void nothing_known(void **state)
{
	struct bytes b;

	head(&b, 0x101, 104, 1);
	for (unsigned i = 0; i < 4; i++)
		le(&b, 4, 0xffffffff);
	le(&b, 4, 0x80000000);
	le(&b, 4, 0x80000000);
	le(&b, 4, 0xffffffff);
	le(&b, 4, 0xffffffff);
	le(&b, 8, UINT64_MAX);
	str(&b, "-", 16);
	str(&b, "", 16);
	shows(&b, "");
}

/* mm.map: a build-id, and a text whose place follows from the record's end. */
static void map(struct bytes *b, unsigned text, const char *path)
{
	head(b, 0x701, 128 + text, 1);
	le(b, 4, 7);
	le(b, 4, 7);
	le(b, 8, 0x400000);
	le(b, 8, 0x1000);
	le(b, 8, 0);
	le(b, 8, 99);
	le(b, 8, UINT64_MAX);
	for (unsigned i = 0; i < 3; i++)
		le(b, 4, i);
	le(b, 4, 0);
	le(b, 1, 4);
	le(b, 4, 0xddccbbaa);
	str(b, "", 19);
	le(b, 4, 0);
	le(b, 4, text);
	assert_int_equal(b->n, 128);
	str(b, path, text);
}

static void text(void **state)
{
	static const char want[] =
		"map_pid=7 map_tid=7 addr=0x400000 length=4096 offset=0 inode=99 "
		"major=0 minor=1 prot=write kind=file build_id=aabbccdd shared=no";
	char buf[512];
	struct bytes b;

	map(&b, 16, "/usr/bin/x");
	snprintf(buf, sizeof(buf), "%s path=\"/usr/bin/x\"", want);
	shows(&b, buf);
	map(&b, 8, "-");
	shows(&b, want);
	map(&b, 0, "");
	shows(&b, want);
	/* a later version has fields between ours and the text */
	map(&b, 16, "/usr/bin/x");
	memmove(b.p + 136, b.p + 128, 16);
	memset(b.p + 128, 0xee, 8);
	b.n += 8;
	b.p[10] = 152;
	b.p[12] = 2;
	snprintf(buf, sizeof(buf), "%s path=\"/usr/bin/x\"", want);
	shows(&b, buf);
	/* no such build-id */
	map(&b, 8, "-");
	b.p[96] = 21;
	snprintf(buf, sizeof(buf), "%.*s shared=no", (int)(strstr(want, " build_id") - want), want);
	shows(&b, buf);
}

static void refuse(struct bytes *b, int want)
{
	const struct hwt_abi_event *e = (const void *)b;

	assert_int_equal(look(b, &e), want);
	assert_null(e);
}

static void damaged(void **state)
{
	const struct hwt_abi_event *e;
	struct bytes b, good;

	map(&good, 16, "/usr/bin/x");
	for (size_t n = 0; n < good.n; n++) {
		b = good;
		b.n = n;
		refuse(&b, -HWT_E_MORE);
	}
	b = good;
	b.p[8] = b.p[9] = 0;		/* no id */
	refuse(&b, -HWT_E_FORMAT);
	b = good;
	b.p[12] = 0;			/* no version */
	refuse(&b, -HWT_E_FORMAT);
	for (unsigned size = 0; size < 128; size++) {
		b = good;
		b.p[10] = (uint8_t)size;	/* too small for the header or the fields */
		refuse(&b, -HWT_E_FORMAT);
	}
	b = good;
	b.p[10] = 143;			/* no multiple of 8 */
	refuse(&b, -HWT_E_FORMAT);
	for (unsigned len = 1; len < 300; len++) {
		b = good;
		b.p[124] = (uint8_t)len;
		b.p[125] = (uint8_t)(len >> 8);
		if (len == 8 || len == 16)
			continue;
		refuse(&b, -HWT_E_FORMAT);	/* runs into the fields, or no multiple of 8 */
	}
	b = good;
	b.p[127] = 0x80;
	refuse(&b, -HWT_E_FORMAT);
	b = good;
	b.p[b.n - 1] = 'x';		/* no end */
	refuse(&b, -HWT_E_FORMAT);
	/* an id that is not in the list is no damage */
	b = good;
	b.p[9] = 0x80;
	assert_int_equal(look(&b, &e), b.n);
	assert_null(e);
}

static void value(void **state)
{
	const struct hwt_abi_event *e;
	struct hwt_abi_value v;
	struct bytes b;

	head(&b, 0x402, 48, 1);		/* syscall.exit */
	le(&b, 4, 257);
	le(&b, 4, 0);
	le(&b, 8, (uint64_t)-2);
	assert_int_equal(look(&b, &e), 48);
	assert_int_equal(hwt_abi_value(&v, hwt_abi_field_by_name(e, "nr"), b.p), 1);
	assert_int_equal(v.u, 257);
	assert_int_equal(hwt_abi_value(&v, hwt_abi_field_by_name(e, "ret"), b.p), 1);
	assert_int_equal((int64_t)v.u, -2);
	shows(&b, "nr=257 abi=bits64 ret=-2");
	/* a field that is younger than the record's writer is not there */
	struct hwt_abi_field young = *hwt_abi_field_by_name(e, "ret");

	young.since = 2;
	assert_int_equal(hwt_abi_value(&v, &young, b.p), 0);
}

/* Values by name; what has none is a number. */
static void named(void **state)
{
	struct bytes b;

	head(&b, 0x501, 72, 1);		/* block.queue */
	le(&b, 8, 1000);
	le(&b, 4, 8 << 20 | 1);
	le(&b, 4, 2);
	le(&b, 4, 4096);
	le(&b, 4, 0x109);
	str(&b, "dd", 16);
	shows(&b, "sector=1000 dev=8388609 op=write bytes=4096 op_flags=sync|fua|0x100 "
	      "comm=\"dd\"");
	b.p[44] = 99;
	b.p[52] = 0;
	b.p[53] = 0;
	shows(&b, "sector=1000 dev=8388609 op=99 bytes=4096 op_flags=0 comm=\"dd\"");
	b.p[52] = 0x40;
	shows(&b, "sector=1000 dev=8388609 op=99 bytes=4096 op_flags=64 comm=\"dd\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sched_switch),
		cmocka_unit_test(nothing_known),
		cmocka_unit_test(text),
		cmocka_unit_test(damaged),
		cmocka_unit_test(value),
		cmocka_unit_test(named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
