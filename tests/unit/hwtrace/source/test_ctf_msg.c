/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages made by hand: fields by name, text, and what is no message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hwtrace/source/ctf.h"

static union { struct ctf_msg m; uint8_t b[2048]; } u;

static void begin(void)
{
	memset(&u, 0, sizeof(u));
	u.m.size = sizeof(u.m);
	u.m.type = CTF_EVENT;
}

static void raw(const void *p, size_t n)
{
	memcpy(u.b + u.m.size, p, n);
	u.m.size += (uint32_t)n;
}

static void field(unsigned scope, unsigned kind, const char *name, const void *p, size_t n)
{
	const struct ctf_field h = { .size = (uint32_t)n, .name = (uint16_t)strlen(name),
		.kind = (uint8_t)kind, .scope = (uint8_t)scope };

	raw(&h, sizeof(h));
	raw(name, strlen(name));
	raw(p, n);
}

static void number(unsigned scope, unsigned kind, const char *name, uint64_t v)
{
	field(scope, kind, name, &v, sizeof(v));
}

static void end(void)
{
	u.m.size = (u.m.size + 7) & ~7u;
}

static void is(const char *want)
{
	char buf[1024];

	assert_int_equal(ctf_format(&u.m, buf, sizeof(buf)), strlen(want));
	assert_string_equal(buf, want);
	/* cut like snprintf() */
	assert_int_equal(ctf_format(&u.m, buf, 5), strlen(want));
	assert_int_equal(strlen(buf), strlen(want) < 4 ? strlen(want) : 4);
	assert_int_equal(ctf_format(&u.m, NULL, 0), strlen(want));
}

static void test_text(void **state)
{
	const double d = 0.1;

	begin();
	end();
	is("");
	begin();
	number(CTF_S_FIELDS, CTF_K_UNSIGNED, "u", UINT64_MAX);
	number(CTF_S_FIELDS, CTF_K_SIGNED, "s", (uint64_t)-5);
	number(CTF_S_FIELDS, CTF_K_UNSIGNED | CTF_K_HEX, "x", 255);
	number(CTF_S_FIELDS, CTF_K_BOOL, "b", 1);
	field(CTF_S_FIELDS, CTF_K_REAL, "d", &d, sizeof(d));
	field(CTF_S_FIELDS, CTF_K_STRING, "t", "a\"\n", 3);
	field(CTF_S_FIELDS, CTF_K_STRUCT, "e", "", 0);
	field(CTF_S_FIELDS, CTF_K_ARRAY, "a", "", 0);
	number(CTF_S_EVENT, CTF_K_UNSIGNED, "c", 1);
	number(CTF_S_STREAM, CTF_K_UNSIGNED, "c", 2);
	number(CTF_S_PACKET, CTF_K_UNSIGNED, "c", 3);
	end();
	is("u=18446744073709551615 s=-5 x=0xff b=1 d=0.10000000000000001 t=\"a\\\"\\x0a\" e={} "
	   "a=[] context.c=1 stream.c=2 packet.c=3");
}

static void test_enums(void **state)
{
	static const char one[] = "\3\0\0\0\0\0\0\0one";
	static const char two[] = "\3\0\0\0\0\0\0\0one\0or two";
	static const char below[] = "\xff\xff\xff\xff\xff\xff\xff\xff" "below";
	static const char open[] = "\3\0\0\0\0\0\0\0one\0x";

	begin();
	field(CTF_S_FIELDS, CTF_K_UENUM, "a", one, sizeof(one));
	field(CTF_S_FIELDS, CTF_K_UENUM | CTF_K_HEX, "b", two, sizeof(two));
	field(CTF_S_FIELDS, CTF_K_SENUM, "c", below, sizeof(below));
	number(CTF_S_FIELDS, CTF_K_SENUM, "d", (uint64_t)-9);
	/* the last label has no end */
	field(CTF_S_FIELDS, CTF_K_UENUM, "e", open, sizeof(open) - 1);
	end();
	is("a=\"one\"(3) b=\"one\"|\"or two\"(3) c=\"below\"(-1) d=-9 e=\"one\"|\"\"(3)");
}

static void test_arrays(void **state)
{
	begin();
	number(CTF_S_FIELDS, CTF_K_UNSIGNED, "a[0]", 1);
	number(CTF_S_FIELDS, CTF_K_UNSIGNED, "a[1]", 2);
	number(CTF_S_FIELDS, CTF_K_UNSIGNED, "b[0]", 3);
	number(CTF_S_FIELDS, CTF_K_UNSIGNED, "b[2]", 4);
	number(CTF_S_FIELDS, CTF_K_UNSIGNED, "c[0].x", 5);
	number(CTF_S_FIELDS, CTF_K_UNSIGNED, "c[1].x", 6);
	number(CTF_S_FIELDS, CTF_K_UNSIGNED, "d[0]", 7);
	number(CTF_S_EVENT, CTF_K_UNSIGNED, "d[1]", 8);
	end();
	is("a=[1, 2] b=[3] b[2]=4 c[0].x=5 c[1].x=6 d=[7] context.d[1]=8");
	u.m.flags = CTF_F_CUT;
	is("a=[1, 2] b=[3] b[2]=4 c[0].x=5 c[1].x=6 d=[7] context.d[1]=8 ...");
	begin();
	u.m.flags = CTF_F_CUT;
	is("...");
}

static void has(const char *name, uint64_t want)
{
	struct ctf_value v;
	uint64_t n = 0;

	assert_true(ctf_find(&u.m, name, &v));
	assert_true(ctf_number(&v, &n));
	assert_int_equal(n, want);
}

static void test_find(void **state)
{
	struct ctf_value v;
	uint64_t n;

	begin();
	number(CTF_S_FIELDS, CTF_K_UNSIGNED, "tid", 1);
	number(CTF_S_FIELDS, CTF_K_UNSIGNED, "a.b[1]", 2);
	field(CTF_S_FIELDS, CTF_K_STRING, "s", "text", 4);
	number(CTF_S_EVENT, CTF_K_UNSIGNED, "ip", 3);
	number(CTF_S_STREAM, CTF_K_UNSIGNED, "tid", 4);
	number(CTF_S_PACKET, CTF_K_UNSIGNED, "cpu_id", 5);
	end();
	has("tid", 1);
	has("stream.tid", 4);
	has("a.b[1]", 2);
	has("ip", 3);
	has("context.ip", 3);
	has("cpu_id", 5);
	has("packet.cpu_id", 5);
	assert_false(ctf_find(&u.m, "packet.tid", &v));
	assert_false(ctf_find(&u.m, "ti", &v));
	assert_false(ctf_find(&u.m, "", &v));
	assert_false(ctf_find(&u.m, "stream.", &v));
	assert_true(ctf_find(&u.m, "s", &v));
	assert_false(ctf_number(&v, &n));
	assert_int_equal(v.h.size, 4);
}

/* Fields that run past the message are not there; those before are. */
static void test_cut(void **state)
{
	struct ctf_field h = { .size = 1000, .name = 1, .kind = CTF_K_STRING,
		.scope = CTF_S_FIELDS };
	struct ctf_value v;
	struct cur c;

	begin();
	number(CTF_S_FIELDS, CTF_K_UNSIGNED, "a", 1);
	raw(&h, sizeof(h));
	raw("b", 1);
	end();
	is("a=1");
	assert_false(ctf_find(&u.m, "b", &v));
	begin();
	h = (struct ctf_field){ .name = 1, .scope = CTF_SCOPES };
	raw(&h, sizeof(h));
	raw("b", 1);
	end();
	is("");
	/* texts: the last one has no end */
	begin();
	raw("one\0\0tw", 7);
	c = ctf_body(&u.m);
	assert_string_equal(ctf_text(&c), "one");
	assert_string_equal(ctf_text(&c), "");
	assert_string_equal(ctf_text(&c), "");
	assert_int_equal(cur_left(&c), 0);
	assert_string_equal(ctf_text(&c), "");
}

static void test_whole(void **state)
{
	begin();
	assert_int_equal(ctf_msg_whole(u.b, sizeof(u.m) - 1), 0);
	assert_int_equal(ctf_msg_whole(u.b, sizeof(u.m)), 1);
	u.m.size += 8;
	assert_int_equal(ctf_msg_whole(u.b, sizeof(u.m)), 0);
	assert_int_equal(ctf_msg_whole(u.b, sizeof(u.m) + 8), 1);
	for (unsigned size = 0; size < sizeof(u.m); size++) {
		u.m.size = size;
		assert_int_equal(ctf_msg_whole(u.b, sizeof(u)), -HWT_E_LIB);
	}
	u.m.size = sizeof(u.m) + 4;
	assert_int_equal(ctf_msg_whole(u.b, sizeof(u)), -HWT_E_LIB);
	u.m.size = CTF_MSG_MAX + 8;
	assert_int_equal(ctf_msg_whole(u.b, sizeof(u)), -HWT_E_LIB);
	u.m.size = CTF_MSG_MAX;
	assert_int_equal(ctf_msg_whole(u.b, sizeof(u)), 0);
	u.m.type = CTF_TYPES;
	assert_int_equal(ctf_msg_whole(u.b, sizeof(u)), -HWT_E_LIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text), cmocka_unit_test(test_enums),
		cmocka_unit_test(test_arrays), cmocka_unit_test(test_find),
		cmocka_unit_test(test_cut), cmocka_unit_test(test_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
