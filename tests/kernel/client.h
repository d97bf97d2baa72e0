/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_TESTS_KERNEL_CLIENT_H
#define HWT_TESTS_KERNEL_CLIENT_H

/* A client of /dev/hwtrace that believes nothing: each packet and record is looked at. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <hwtrace/filter.h>
#include <hwtrace/kmod.h>
#include <hwtrace/uapi.h>

#define CLIENT_CPUS	8

struct client_cpu {
	uint64_t packets, records, lost, produced, time, missing, told;
	int out;	/* where its packets go, -1: nowhere */
};

struct client {
	int fd;
	const char *dir;	/* of stream files, NULL: none */
	uint32_t sub_size;
	uint8_t uuid[16];
	bool overwrite;
	const uint8_t *map[CLIENT_CPUS];	/* packets are read there; NULL: by read(2) */
	uint32_t ring_size;
	uint64_t stale;		/* packets that were overwritten while they were looked at */
	struct client_cpu cpu[CLIENT_CPUS];
	uint64_t of_id[0x1000];	/* records */
	uint64_t own[HWT_KMOD_PROBES];	/* of the session's own events */
	uint32_t context;	/* bytes in each record */
	const uint8_t *at;	/* those of the record that is looked at */
	/* each record, without its context; NULL: none */
	void (*record)(void *arg, unsigned cpu, const struct hwt_rec *rec);
	void *arg;
};

struct client_opts {
	const uint16_t *ids;
	unsigned nids;
	uint32_t sub_size, subs;
	bool overwrite, mapped;
	int pid;
	/* of the first event */
	const struct hwt_bpf_insn *filter;
	unsigned nfilter;
	const struct hwt_kmod_want *wants;	/* in place of ids, each with its filter */
	const char *dir;
	uint32_t contexts, counter_type;
	uint64_t counter_config;
	uint32_t context;	/* bytes that they take */
	const struct hwt_kmod_probe *probes;
	unsigned nprobes;
};

/* What goes wrong is said on the console and counted; client_failed() is how often it was. */
void client_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
unsigned client_failed(void);

/* Opens the device and a session. 0 or a negative error number; *c is set for both. */
int client_open(struct client *c, const struct client_opts *o);
int client_start(struct client *c);
/* Reads once; as read(2), but negative error numbers. */
ssize_t client_read(struct client *c);
/* Stops, reads all, compares the counts, closes. */
void client_finish(struct client *c);
/* All events that this file may have and the kernel gives. Returns the number. */
unsigned client_events(int fd, uint16_t *ids, unsigned max, bool user);

#endif
