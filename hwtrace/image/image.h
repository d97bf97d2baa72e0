/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_IMAGE_IMAGE_H
#define HWT_IMAGE_IMAGE_H

/* What readers and flow decoders need of the image beyond the public questions. */
#include <hwtrace/image.h>

#include "../base/diag.h"

struct hwt_open_opts;

/* The memory space (HWT_SPACE_*) of an ASPACE event's level and security; 0: it has no name. */
static inline uint32_t image_space(unsigned el, unsigned secure)
{
	static const uint32_t spaces[2][4] = {
		{ HWT_SPACE_EL1N, HWT_SPACE_EL1N, HWT_SPACE_EL2, HWT_SPACE_EL3 },
		{ HWT_SPACE_EL1S, HWT_SPACE_EL1S, HWT_SPACE_EL2S, HWT_SPACE_EL3 },
	};

	/* root and realm have no name among the spaces */
	return el > 3 || secure > 1 ? 0 : spaces[secure][el];
}

/* @ns takes what is wrong with files (no match of build-id, overlap, ...); kept, not owned. */
int image_new(struct hwt_image **out, struct notes *ns);
void image_free(struct hwt_image *img);
/*
 * sysroot, debuginfod cache, ... from the user's options; before the first map is read. Strings
 * are copied.
 */
int image_set_opts(struct hwt_image *img, const struct hwt_open_opts *o);
/* Directory that relative paths of maps are relative to. */
int image_set_base(struct hwt_image *img, const char *dir);

/*
 * Maps that take effect later hide older ones where they overlap (the tail's file offset moves
 * along). Idempotent.
 */
int image_add_map(struct hwt_image *img, const struct hwt_map *m);
int image_unmap(struct hwt_image *img, int32_t pid, uint64_t time, uint64_t addr, uint64_t size);
int image_fork(struct hwt_image *img, uint64_t time, int32_t parent, int32_t child);
/* drops all user maps of @pid */
int image_exec(struct hwt_image *img, uint64_t time, int32_t pid);
/* Bytes from @time on (text poke, JIT, vdso); copied. @name may be NULL. */
int image_add_bytes(struct hwt_image *img, int32_t pid, uint64_t time, uint64_t addr,
	const void *p, size_t n,
		    const char *name);
/*
 * A whole ELF file of the user's: every PT_LOAD. @addr: where its lowest segment lies,
 * HWT_NO_ADDR: as linked; then the file also stands in for recorded files of the same build-id,
 * or of the same name if none was recorded. Refused if image_set_build_id() told another one.
 */
int image_add_elf(struct hwt_image *img, int32_t pid, const char *path, uint64_t addr,
	struct hwt_diag *diag);
int image_add_kcore(struct hwt_image *img, const char *path, struct hwt_diag *diag);
int image_add_kallsyms(struct hwt_image *img, const char *path, struct hwt_diag *diag);
/* Number of maps that hwt_image_map_at() lists; no file is looked for. */
size_t image_nmaps(const struct hwt_image *img);
/* A function of known place without a file (KSYMBOL, perf map, jitdump). */
int image_add_symbol(struct hwt_image *img, int32_t pid, uint64_t time, uint64_t addr,
	uint64_t size, const char *name);
int image_add_perf_map(struct hwt_image *img, int32_t pid, const char *path, struct hwt_diag *diag);
int image_add_jitdump(struct hwt_image *img, int32_t pid, const char *path, struct hwt_diag *diag);
/*
 * Code of runtimes, after all maps are known: perf-PID.map and jit-PID.dump in @dir (NULL: not
 * looked for) for each process, and dumps that the recorder saw mapped. Times of dumps count only
 * if @clock, the name of the base clock, is CLOCK_MONOTONIC. What can not be read is a note.
 */
int image_add_jit(struct hwt_image *img, const char *dir, const char *clock);
/* The build-id that the recorder saw for @path, checked when the file is opened. */
int image_set_build_id(struct hwt_image *img, const char *path, const uint8_t *id, size_t n);

/*
 * The parts of an address space at one time that lie in files, sorted and without overlap, for
 * libraries
 * that map files themselves. Parts that change while the capture runs (text pokes, JIT) are left
 * out: those
 * are read with hwt_image_read(). *out is freed by the caller with free().
 */
struct image_section {
	const char *path;	/* the file found, alive as long as the image */
	uint64_t file_off, addr, size;
	uint32_t space;
	/* @size bytes, mapped as long as the image lives; NULL if not mapped */
	const uint8_t *p;
};
int image_sections(struct hwt_image *img, const struct hwt_where *w, struct image_section **out,
	size_t *n);
/*
 * Time from which image_sections() may give another answer than at @w->time, HWT_TIME_UNKNOWN if
 * never.
 */
uint64_t image_next_change(const struct hwt_image *img, const struct hwt_where *w);
/*
 * 1 if image_add_bytes() was used: bytes may then change at times that image_next_change() leaves
 * out.
 */
int image_has_pokes(const struct hwt_image *img);

/*
 * 1 if @addr is the first instruction of a function, 0 if not, and *@func the start of the
 * function that
 * holds it (HWT_NO_ADDR if none). The first instruction of an unlikely part that a compiler
 * moved away ("f.cold") gives 0. Must be cheap: called for each jump by flow at HWT_LEVEL_CALLS.
 */
int image_entry(struct hwt_image *img, const struct hwt_where *w, uint64_t addr, uint64_t *func);

#endif
