/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

static struct {
	FILE *out;
	pthread_mutex_t lock;	/* file, dictionary */
	struct blk **hash;
	uint32_t nblk, nstreams;
	int failed;
} r = { .lock = PTHREAD_MUTEX_INITIALIZER };

void recorder_fail(const char *why)
{
	if (!r.failed)
		fprintf(stderr, "recorder: %s\n", why);
	r.failed = 1;
}

int recorder_failed(void)
{
	return r.failed;
}

void recorder_lock(void)
{
	pthread_mutex_lock(&r.lock);
}

void recorder_unlock(void)
{
	pthread_mutex_unlock(&r.lock);
}

int recorder_open(const char *path, unsigned isa, unsigned flags)
{
	struct rec_head head = { .magic = REC_MAGIC, .isa = isa, .flags = flags };

	r.hash = calloc(REC_HASH, sizeof(*r.hash));
	r.out = fopen(path, "wb");
	if (r.hash && r.out && fwrite(&head, sizeof(head), 1, r.out) == 1)
		return 0;
	recorder_fail("the recording can not be made");
	return 1;
}

/* A chunk of the file; the lock is held. */
static void put_chunk(uint32_t kind, uint32_t stream, const void *p, size_t n)
{
	uint32_t head[3] = { kind, stream, (uint32_t)n };

	if (!r.out)
		return;
	if (fwrite(head, sizeof(head), 1, r.out) != 1 || (n && fwrite(p, n, 1, r.out) != 1))
		recorder_fail("the recording can not be written");
}

void recorder_close(void)
{
	recorder_lock();
	if (r.out && !r.failed)
		put_chunk(REC_FILE_END, 0, NULL, 0);
	if (r.out && fclose(r.out))
		recorder_fail("the recording can not be written");
	r.out = NULL;
	r.failed |= 2;
	recorder_unlock();
}

struct blk *recorder_intern(struct blk *b)
{
	uint64_t h = b->first * 0x9e3779b97f4a7c15 ^ b->isa ^ b->it << 8;
	struct rec_block_head head;
	struct blk **slot, *o;

	for (uint32_t i = 0; i < b->n + b->nbytes; i++)
		h = (h ^ b->data[i]) * 0x100000001b3;
	recorder_lock();
	slot = &r.hash[h >> 32 & (REC_HASH - 1)];
	for (o = *slot; o; o = o->next) {
		if (o->first == b->first && o->n == b->n && o->isa == b->isa &&
		    o->it == b->it && o->nbytes == b->nbytes &&
		    !memcmp(o->data, b->data, b->n + b->nbytes)) {
			recorder_unlock();
			free(b);
			return o;
		}
	}
	b->id = r.nblk++;
	b->next = *slot;
	*slot = b;
	head = (struct rec_block_head){ .first = b->first, .insns = b->n, .nbytes = b->nbytes,
					.isa = b->isa, .it = b->it };
	put_chunk(REC_BLOCK, 0, &head, sizeof(head));
	if (r.out && fwrite(b->data, b->n + b->nbytes, 1, r.out) != 1)
		recorder_fail("the recording can not be written");
	recorder_unlock();
	return b;
}

uint32_t recorder_stream(void)
{
	uint32_t n;

	recorder_lock();
	n = r.nstreams++;
	recorder_unlock();
	return n;
}

void recorder_put(struct out *o, uint64_t v)
{
	do {
		o->buf[o->n++] = (uint8_t)(v & 127) | (v > 127 ? 128 : 0);
		v >>= 7;
	} while (v);
}

void recorder_flush(struct out *o)
{
	recorder_lock();
	if (o->n)
		put_chunk(REC_STREAM, o->number, o->buf, o->n);
	recorder_unlock();
	o->n = 0;
}
