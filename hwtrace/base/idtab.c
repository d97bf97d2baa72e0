/* SPDX-License-Identifier: BSD-2-Clause */
#include "idtab.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spill.h"
#include "vec.h"

#define IDS	32u	/* in a block: a bit of @there each */
#define BLOCKS	32u	/* in a chunk */
#define REST	8u	/* new chunks before the system hears that old ones need not be resident */

struct idtab_chunk {
	char *p;
	size_t mapped;		/* bytes of the file, 0: in the heap */
};

struct block {
	uint64_t there;		/* bit of each id that has a record */
	char records[];
};

static size_t block_bytes(size_t size)
{
	return sizeof(struct block) + IDS * size;
}

static struct block *block_at(const struct idtab *t, size_t size, uint32_t i)
{
	return (void *)(t->chunks[i / BLOCKS].p + i % BLOCKS * block_bytes(size));
}

void *idtab_get(const struct idtab *t, size_t size, uint32_t id)
{
	uint32_t i = idmap_get(&t->block_of, id / IDS);
	struct block *b;

	if (i == IDMAP_NONE)
		return NULL;
	b = block_at(t, size, i);
	return b->there >> id % IDS & 1 ? b->records + id % IDS * size : NULL;
}

/* All of it is there: a full disk must not be met by a write to memory. */
static char *map_chunk(struct idtab *t, size_t bytes)
{
	void *p;

	if (!t->fd) {
		int fd = temp_fd();

		if (fd <= 0) {
			if (!fd)
				close(fd);	/* 0 is "none" */
			return NULL;
		}
		t->fd = fd;
	}
	if (posix_fallocate(t->fd, (off_t)t->filed, (off_t)bytes))
		return NULL;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, (off_t)t->filed);
	if (p == MAP_FAILED)
		return NULL;
	t->filed += bytes;
	return p;
}

void idtab_rest(const struct idtab *t)
{
	for (size_t i = 0; i < t->nchunks; i++)
		if (t->chunks[i].mapped)
			madvise(t->chunks[i].p, t->chunks[i].mapped, MADV_DONTNEED);
}

static int add_chunk(struct idtab *t, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = BLOCKS * block_bytes(size);
	struct idtab_chunk c = { .p = NULL };

	if (vec_room(&t->chunks, &t->cap, t->nchunks, sizeof(c)))
		return -1;
	if (t->nchunks * bytes >= SPILL_HEAP) {
		c.mapped = (bytes + page - 1) / page * page;
		c.p = map_chunk(t, c.mapped);
	}
	if (!c.p) {
		c.mapped = 0;
		c.p = calloc(1, bytes);
	}
	if (!c.p)
		return -1;
	t->chunks[t->nchunks++] = c;
	if (t->nchunks % REST == 0)
		idtab_rest(t);
	return 0;
}

void *idtab_make(struct idtab *t, size_t size, uint32_t id)
{
	uint32_t i = idmap_get(&t->block_of, id / IDS);
	struct block *b;

	if (i == IDMAP_NONE) {
		i = t->blocks;
		if (i >= IDTAB_BLOCKS || (i / BLOCKS >= t->nchunks && add_chunk(t, size)) ||
		    idmap_set(&t->block_of, id / IDS, i))
			return NULL;
		t->blocks++;
	}
	b = block_at(t, size, i);
	b->there |= 1ull << id % IDS;
	return b->records + id % IDS * size;
}

void *idtab_next(const struct idtab *t, size_t size, uint32_t *at)
{
	for (; *at / IDS < t->blocks; ++*at) {
		struct block *b = block_at(t, size, *at / IDS);
		unsigned bit = *at % IDS;

		if (b->there >> bit & 1) {
			++*at;
			return b->records + bit * size;
		}
	}
	return NULL;
}

void idtab_free(struct idtab *t)
{
	for (size_t i = 0; i < t->nchunks; i++)
		if (t->chunks[i].mapped)
			munmap(t->chunks[i].p, t->chunks[i].mapped);
		else
			free(t->chunks[i].p);
	free(t->chunks);
	idmap_free(&t->block_of);
	if (t->fd)
		close(t->fd);
	*t = (struct idtab){ .fd = 0 };
}
