/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_BASE_IDMAP_H
#define HWT_BASE_IDMAP_H

/* From a 64-bit id to a small number: tids, CPUs, sample ids. A zeroed struct is an empty map. */
#include <stdint.h>

#define IDMAP_NONE UINT32_MAX	/* what idmap_get() gives for an id that is not there */

struct idmap_slot;
struct idmap {
	struct idmap_slot *slots;
	uint32_t n, cap;	/* cap is 0 or a power of two */
};

/* Sets @id to @value, which is not IDMAP_NONE. 0, or -ENOMEM with the map as it was. */
int idmap_set(struct idmap *m, uint64_t id, uint32_t value);
void idmap_del(struct idmap *m, uint64_t id);	/* fine if it is not there */
uint32_t idmap_get(const struct idmap *m, uint64_t id);
void idmap_free(struct idmap *m);

#endif
