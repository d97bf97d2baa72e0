/* SPDX-License-Identifier: BSD-2-Clause */
#include "virec.h"

#include <byteswap.h>
#include <errno.h>
#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void die(const char *text, const char *why)
{
	fprintf(stderr, "virec: %s: %s\n", text, why);
	exit(1);
}

/* The marks of uapi.h for what is not known. */
static void unknown(uint8_t *rec, const struct hwt_abi_event *e)
{
	unsigned n;
	const struct hwt_abi_field *f = e->fields(&n);

	for (; n; n--, f++) {
		uint8_t *p = rec + f->offset;

		switch (f->type) {
		case HWT_ABI_s32:
			memcpy(p, &(int32_t){ INT32_MIN }, 4);
			break;
		case HWT_ABI_s64:
			memcpy(p, &(int64_t){ INT64_MIN }, 8);
			break;
		case HWT_ABI_name16:
			*p = '-';
			break;
		case HWT_ABI_code16:
		case HWT_ABI_id24:
		case HWT_ABI_text:
			break;
		default:
			memset(p, 0xff, f->size);
		}
	}
}

static void set_text(struct virec *r, const struct hwt_abi_field *f, const char *s)
{
	uint32_t len = (uint32_t)((strlen(s) + 8) & ~7u);

	memcpy((char *)r->buf + r->size, s, strlen(s));
	memcpy((char *)r->buf + f->offset, &len, 4);
	r->size += len;
}

/* "\\xNN" to its byte, in place. */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		char hex[3] = { 0 };

		if (s[0] == '\\' && s[1] == 'x' && s[2] && s[3]) {
			memcpy(hex, s + 2, 2);
			*out++ = (char)strtoul(hex, NULL, 16);
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = 0;
}

static void set(struct virec *r, const struct hwt_abi_event *e, const char *text, const char *name,
		const char *value)
{
	struct hwt_rec *h = (struct hwt_rec *)r->buf;
	const struct hwt_abi_field *f = hwt_abi_field_by_name(e, name);
	uint64_t v = *value == '-' ? (uint64_t)strtoll(value, NULL, 0) : strtoull(value, NULL, 0);

	if (!strcmp(name, "cpu"))
		r->cpu = (int32_t)v;
	else if (!strcmp(name, "pid"))
		h->pid = (int32_t)v;
	else if (!strcmp(name, "tid"))
		h->tid = (int32_t)v;
	else if (!strcmp(name, "time"))
		h->time = v;
	else if (!strcmp(name, "version"))
		h->version = (uint16_t)v;
	else if (!strcmp(name, "hit")) {
		h->hit = v;
		h->flags |= HWT_REC_HIT;
	} else if (!f)
		die(text, name);
	else if (f->type == HWT_ABI_text)
		set_text(r, f, value);
	else if (f->type == HWT_ABI_name16)
		strncpy((char *)r->buf + f->offset, value, 16);
	else if (f->type == HWT_ABI_id24)
		*((char *)r->buf + f->offset) = (char)v;
	else
		memcpy((char *)r->buf + f->offset, &v, f->size);	/* little endian */
}

void virec_make(struct virec *r, const char *text)
{
	struct hwt_rec *h = (struct hwt_rec *)r->buf;
	const struct hwt_abi_event *e;
	char copy[1024], *save = NULL, *p;

	snprintf(copy, sizeof(copy), "%s", text);
	p = strtok_r(copy, " ", &save);
	e = p ? hwt_abi_event_by_name(p) : NULL;
	if (!e)
		die(text, "no event");
	memset(r, 0, sizeof(*r));
	r->cpu = -1;
	r->size = e->size;
	*h = (struct hwt_rec){ .id = e->id, .version = (uint16_t)hwt_abi_version(), .pid = -1,
		.tid = -1 };
	unknown((uint8_t *)r->buf, e);
	while ((p = strtok_r(NULL, " ", &save))) {
		char *eq = strchr(p, '=');

		if (!eq)
			die(text, p);
		*eq = 0;
		unescape(eq + 1);
		set(r, e, text, p, eq + 1);
	}
	h->size = (uint16_t)r->size;
}

/* A pair of sockets that are kept: what is sent into the first passes the filter of the second. */
static int pair(int fd[2])
{
	static int kept[2] = { -1, -1 };

	if (kept[0] < 0 && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, kept))
		return -1;
	memcpy(fd, kept, sizeof(kept));
	return 0;
}

int virec_kernel(const struct hwt_bpf_insn *v, size_t n, const void *rec, size_t size)
{
	struct sock_fprog prog = { .len = (unsigned short)n, .filter = (struct sock_filter *)v };
	static uint32_t words[VIREC_MAX / 4];
	static int refused;	/* once is always */
	int fd[2];
	ssize_t got;

	/* a packet is loaded as big-endian words */
	memcpy(words, rec, size);
	for (size_t i = 0; i < size / 4; i++)
		words[i] = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? words[i] : bswap_32(words[i]);
	if (refused)
		return -1;
	if (pair(fd) || setsockopt(fd[1], SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog))) {
		perror("SO_ATTACH_FILTER");
		if (errno == EINVAL)
			exit(1);	/* a program that the kernel does not take is a fault */
		refused = 1;
		return -1;
	}
	if (send(fd[0], words, size, 0) != (ssize_t)size) {
		perror("send");
		return -1;
	}
	got = recv(fd[1], words, sizeof(words), 0);
	if (got < 0 && errno != EAGAIN) {
		perror("recv");
		return -1;
	}
	return got > 0;
}
