/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of the list: what a reader of any age relies on. Figures are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

static void ids_rise(void **state)
{
	const struct hwt_abi_event *e;
	unsigned last = 0, n = 0;

	for (; (e = hwt_abi_event_at(n)); n++) {
		assert_true(e->id > last);
		assert_true(e->id < HWT_ID_DIRTY);
		last = e->id;
		assert_ptr_equal(hwt_abi_event_by_id(e->id), e);
		assert_ptr_equal(hwt_abi_event_by_name(e->name), e);
	}
	assert_true(n >= 60);
	assert_null(hwt_abi_event_by_id(0));
	assert_null(hwt_abi_event_by_id(last + 1));
	assert_null(hwt_abi_event_by_id(256));
	assert_null(hwt_abi_event_by_id(UINT32_MAX));
	assert_null(hwt_abi_event_by_name("sched"));
	assert_null(hwt_abi_event_by_name("sched.switch "));
	assert_null(hwt_abi_event_at(n + 1000));
}

static void is_name(const char *s)
{
	assert_true(s[0] >= 'a' && s[0] <= 'z');
	assert_true(strlen(s) < 32);
	for (; *s; s++)
		assert_true((*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9') || *s == '_');
}

static void names(void **state)
{
	const struct hwt_abi_event *e;
	const char *text;

	for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++) {
		const char *sec = hwt_abi_section(e->id >> 8, &text);
		size_t n = sec ? strlen(sec) : 0;

		assert_non_null(sec);
		is_name(sec);
		assert_true(text[0] != 0);
		assert_memory_equal(e->name, sec, n);
		assert_true(e->name[n] == '.');
		is_name(e->name + n + 1);
		assert_true(e->stamp[0] && e->often[0]);
	}
	assert_null(hwt_abi_section(255, NULL));
	assert_null(hwt_abi_section(14, NULL));
}

/* Bytes of each type, as uapi.h tells them in words. */
static unsigned bytes_of(unsigned type)
{
	static const uint8_t size[HWT_ABI_TYPES] = { 4, 8, 4, 8, 4, 8, 4, 16, 16, 24, 4 };

	return size[type];
}

static void fields(void **state)
{
	const struct hwt_abi_event *e;

	for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++) {
		unsigned n, at = 32, texts = 0, since = e->since;
		const struct hwt_abi_field *f = e->fields(&n);

		assert_true(n > 0);
		for (unsigned k = 0; k < n; k++) {
			unsigned align = bytes_of(f[k].type) == 4 ? 4 : 8;

			is_name(f[k].name);
			assert_ptr_equal(hwt_abi_field_by_name(e, f[k].name), &f[k]);
			assert_int_equal(f[k].size, bytes_of(f[k].type));
			assert_int_equal(f[k].offset, at);
			/* names may lie at any word: filters load 4 bytes */
			if (f[k].type != HWT_ABI_name16)
				assert_int_equal(at % align, 0);
			assert_int_equal(at % 4, 0);
			at += f[k].size;
			assert_true(f[k].since >= since);
			since = f[k].since;
			texts += f[k].type == HWT_ABI_text;
			/* a new version begins at a multiple of 8, and ends at one */
			if (k + 1 == n || f[k + 1].since > since)
				assert_int_equal(at % 8, 0);
		}
		assert_true(texts <= 1);
		assert_int_equal(at, e->size);
		assert_null(hwt_abi_field_by_name(e, ""));
	}
}

/* Words that mean the record's header in a filter are no fields. */
static void reserved(void **state)
{
	static const char *const words[] = { "time", "id", "version", "flags", "hit", "pid", "tid",
		"cpu" };
	const struct hwt_abi_event *e;

	for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++)
		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			assert_null(hwt_abi_field_by_name(e, words[k]));
}

/* Each named value once in its list; bits are single bits; every list is used by a field. */
static void values(void **state)
{
	static const char *const lists[] = { "yesno", "lost_cause", "stream_state", "stream_reason",
		"task_state", "signal_result", "irq_kind", "irq_result", "softirq", "syscall_abi",
		"block_op", "block_bit", "prot_bit", "map_kind", "access_bit", "patch_kind",
		"code_kind", "sleep_mode", "clock_id" };
	const struct hwt_abi_named *v, *w;
	unsigned all = 0;

	for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++) {
		const char *end = lists[l] + strlen(lists[l]) - 4;
		const struct hwt_abi_event *e;
		unsigned used = 0, n;

		for (unsigned i = 0; (v = hwt_abi_value_at(lists[l], i)); i++, all++) {
			is_name(v->name);
			assert_true(v->value < UINT32_MAX);
			if (!strcmp(end, "_bit"))
				assert_true(v->value && !(v->value & (v->value - 1)));
			for (unsigned k = 0; k < i; k++) {
				w = hwt_abi_value_at(lists[l], k);
				assert_true(w->value != v->value && strcmp(w->name, v->name));
			}
		}
		for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++) {
			const struct hwt_abi_field *f = e->fields(&n);

			for (; n; n--, f++)
				used += !strcmp(f->unit, lists[l]);
		}
		assert_true(used > 0);
	}
	assert_int_equal(all, 99);
	assert_null(hwt_abi_value_at("kHz", 0));
	assert_null(hwt_abi_value_at("", 0));
	assert_int_equal(HWT_irq_kind_irq_work, 5);
	assert_int_equal(HWT_prot_bit_exec, 4);
}

/* Some that a kernel already writes: ids and offsets, counted by hand from the list. */
static void known(void **state)
{
	const struct hwt_abi_event *e = hwt_abi_event_by_name("sched.switch");
	const struct hwt_abi_field *f = hwt_abi_field_by_name(e, "next_aspace");

	assert_int_equal(e->id, 0x101);
	assert_int_equal(e->size, 104);
	assert_int_equal(f->offset, 64);
	assert_string_equal(hwt_abi_type_name(f->type), "x64");
	assert_int_equal(hwt_abi_event_by_name("mm.map")->id, 0x701);
	assert_int_equal(hwt_abi_event_by_name("clock.sync")->id, 0xc01);
	assert_int_equal(HWT_ID_user_mark, 0xb01);
	assert_int_equal(hwt_abi_event_by_name("stream.lost")->id, 1);
	assert_string_equal(hwt_abi_type_name(HWT_ABI_TYPES), "");
	assert_int_equal(hwt_abi_version(), HWT_ABI_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_rise),
		cmocka_unit_test(names),
		cmocka_unit_test(fields),
		cmocka_unit_test(reserved),
		cmocka_unit_test(values),
		cmocka_unit_test(known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
