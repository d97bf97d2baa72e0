/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_IMAGE_HISTORY_H
#define HWT_IMAGE_HISTORY_H

/* All that an image was told, in order of time, for those that write captures again. */
#include "image.h"

enum image_change_kind {
	IMAGE_MAP,	/* part of a file, or memory that is named like one */
	IMAGE_NAME,	/* kernel or module by name and place only, without bytes */
	IMAGE_BYTES,	/* @bytes are at @addr from now on */
	IMAGE_FORK,	/* @pid begins with what @parent has */
	IMAGE_EXEC,	/* @pid has nothing any more */
	IMAGE_UNMAP
};

struct file;

struct image_change {
	uint64_t time;		/* base ns, 0: from the start */
	uint64_t addr, last;	/* both included */
	uint64_t file_off;
	const char *path;	/* MAP, NAME: as recorded */
	/* MAP: the file that was found and its path, NULL if none was, or if it is not the code */
	const struct file *file;
	const char *found;
	const uint8_t *bytes;	/* BYTES: @last - @addr + 1 of them */
	int32_t  pid, parent;	/* HWT_NONE: every address space */
	uint32_t seq, space;
	uint8_t  kind;		/* enum image_change_kind */
	uint8_t  id_size, id[20];	/* MAP, NAME: build-id; 0: not known */
};

/*
 * *out is freed by the caller with free(); pointers in it live as long as the image. Files are
 * looked for. 0 or -ENOMEM.
 */
int image_history(struct hwt_image *img, struct image_change **out, size_t *n);

#endif
