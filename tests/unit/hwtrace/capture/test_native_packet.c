/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that the kernel made: bytes by hand, the checksum by its definition, bit by bit. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <hwtrace/capture.h>
#include <hwtrace/uapi.h>

#include "hwtrace/capture/native.h"

struct packet {
	struct hwt_ctf_packet h;
	struct hwt_rec_softirq_raise r[2];
};

static char dir[64];

static int setup(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/hwt-packet-%d", getpid());
	return 0;
}

static int teardown(void **state)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

static struct native_writer *create(void)
{
	struct native_clock clock = { .counter = "tsc", .base = "CLOCK_MONOTONIC",
		.frequency = 1000000000, .from_records = true };
	struct native_writer *w;
	struct hwt_diag diag;

	assert_int_equal(native_create(&w, dir, true, &diag), 0);
	assert_int_equal(native_clock(w, &clock), 0);
	return w;
}

static struct packet make(struct native_writer *w, uint32_t cpu)
{
	struct packet p = { .h = { .magic = 0xc1fc1fc1, .timestamp_begin = 10,
		.timestamp_end = 20, .content_size = sizeof(p) * 8, .packet_size = sizeof(p) * 8,
		.events_discarded = 3, .cpu_id = cpu, .flags = 2, .events = 2, .produced = 5 } };

	for (int i = 0; i < 2; i++)
		p.r[i] = (struct hwt_rec_softirq_raise){ .rec = { .time = 10u + 10u * (unsigned)i,
			.id = 0x301, .size = sizeof(p.r[i]), .version = 1, .pid = 1, .tid = 2 },
			.vec = 3 };
	assert_int_equal(native_uuid(w, p.h.uuid), 0);
	return p;
}

/* CRC32C, reflected polynomial 0x82f63b78. */
static uint32_t checksum(const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint32_t crc = UINT32_MAX;

	while (n--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static void test_written(void **state)
{
	struct native_writer *w = create();
	struct packet p = make(w, 3), q, got[3];
	char path[128];
	uint32_t crc;
	int fd;

	q = p;
	assert_int_equal(native_packet(w, &q, sizeof(q)), 0);
	q = p;
	q.h.packet_seq_num = 1;
	assert_int_equal(native_packet(w, &q, sizeof(q)), 0);
	assert_int_equal(native_close(w, NULL), 0);
	snprintf(path, sizeof(path), "%s/kernel/cpu3", dir);
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, got, sizeof(got)), 2 * sizeof(p));
	close(fd);
	for (uint64_t i = 0; i < 2; i++) {
		crc = got[i].h.crc;
		got[i].h.crc = 0;
		assert_int_equal(got[i].h.flags, 3);
		assert_int_equal(crc, checksum(&got[i], sizeof(got[i])));
		got[i].h.flags = 2;
		p.h.packet_seq_num = i;
		assert_memory_equal(&got[i], &p, sizeof(p));
	}
}

static void test_refused(void **state)
{
	struct native_writer *w = create();
	struct packet p = make(w, 0), q = p;

	q.h.uuid[0] ^= 1;
	assert_int_equal(native_packet(w, &q, sizeof(q)), -EINVAL);
	q = p;
	q.h.magic++;
	assert_int_equal(native_packet(w, &q, sizeof(q)), -EINVAL);
	q = p;
	q.h.packet_size += 64;
	assert_int_equal(native_packet(w, &q, sizeof(q)), -EINVAL);
	q = p;
	q.h.cpu_id = UINT32_MAX;
	assert_int_equal(native_packet(w, &q, sizeof(q)), -EINVAL);
	q = p;
	assert_int_equal(native_packet(w, &q, sizeof(q) - 8), -EINVAL);
	assert_int_equal(native_packet(w, &q, 16), -EINVAL);
	/* a CPU's packets have one maker */
	assert_int_equal(native_event(w, 0, &p.r[0], sizeof(p.r[0])), 0);
	assert_int_equal(native_packet(w, &q, sizeof(q)), -EINVAL);
	q.h.cpu_id = 1;
	assert_int_equal(native_packet(w, &q, sizeof(q)), 0);
	assert_int_equal(native_event(w, 1, &p.r[0], sizeof(p.r[0])), -EINVAL);
	assert_int_equal(native_close(w, NULL), 0);
}

static void test_before_clock(void **state)
{
	struct native_writer *w;
	struct hwt_diag diag;
	struct packet p = { .h = { .magic = 0xc1fc1fc1, .content_size = sizeof(p) * 8,
		.packet_size = sizeof(p) * 8 } };

	assert_int_equal(native_create(&w, dir, true, &diag), 0);
	assert_int_equal(native_packet(w, &p, sizeof(p)), -EINVAL);
	assert_int_equal(native_close(w, NULL), 0);
}

/* The number of the trace may be given, once, before anything of it is written. */
static void test_number(void **state)
{
	static const uint8_t mine[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	struct native_writer *w = create();
	uint8_t got[16];

	assert_int_equal(native_take_uuid(w, mine), 0);
	assert_int_equal(native_uuid(w, got), 0);
	assert_memory_equal(got, mine, sizeof(mine));
	assert_int_equal(native_take_uuid(w, got), -EINVAL);
	assert_int_equal(native_records(w), 0);
	assert_int_equal(native_close(w, NULL), 0);
}

/* Options that make no sense, and no module: nothing is left behind. */
static void test_no_module(void **state)
{
	char none[80];
	struct hwt_record_kernel_opts o = { .size = sizeof(o), .output = none, .events = "*" };
	struct hwt_record_kernel_result r;
	struct hwt_diag d;

	snprintf(none, sizeof(none), "%s.none", dir);
	assert_int_equal(hwt_record_kernel(&o, &r, &d), -EINVAL);
	o.all = true;
	o.provider = HWT_PROVIDER_MODULE + 1;
	if (!access("/dev/hwtrace", F_OK))
		skip();
	assert_int_equal(hwt_record_kernel(&o, &r, &d), -ENOENT);
	assert_int_equal(d.id, 182);
	assert_int_not_equal(access(none, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_written, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_before_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_number, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_module, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
