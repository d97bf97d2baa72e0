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
/* An exec of @pid may follow that is told later: what is mapped from now on repeats nothing. */
void image_maps_anew(struct hwt_image *img, int32_t pid);
/* Bytes from @time on (text poke, JIT, vdso); copied. @name may be NULL. */
int image_add_bytes(struct hwt_image *img, int32_t pid, uint64_t time, uint64_t addr,
	const void *p, size_t n,
		    const char *name);
/*
 * The same, but until other bytes are told there a CPU may also run what was there before: such
 * code is read as @p, and image_read_during() finds that it differs.
 */
int image_add_doubt(struct hwt_image *img, int32_t pid, uint64_t time, uint64_t addr,
		    const void *p, size_t n);
/*
 * A whole ELF file of the user's: every PT_LOAD. @addr: where its lowest segment lies,
 * HWT_NO_ADDR: as linked; then the file also stands in for recorded files of the same build-id,
 * or of the same name if none was recorded. With an address it stands in for a file that was
 * recorded there; if it can not, a note says so. Refused if image_set_build_id() told another one.
 */
int image_add_elf(struct hwt_image *img, int32_t pid, const char *path, uint64_t addr,
	struct hwt_diag *diag);
int image_add_kcore(struct hwt_image *img, const char *path, struct hwt_diag *diag);
int image_add_kallsyms(struct hwt_image *img, const char *path, struct hwt_diag *diag);
/* The same text, out of the capture @name; not kept. */
int image_add_kallsyms_text(struct hwt_image *img, const char *name, const void *p, size_t n,
			    struct hwt_diag *diag);
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
 * A copy of the file at @path that a capture carries, looked for before the file itself. Strings
 * are copied; the file is opened, and its size and checksum compared, when code of it is needed.
 */
struct image_copy {
	const char *path;	/* as maps name it */
	const char *file;	/* where the copy is */
	uint64_t size;		/* bytes */
	uint32_t crc;		/* CRC-32C of the file */
	/* build-id; maps without one, or with this one, mean this copy */
	const uint8_t *id;
	uint8_t id_size;
};
int image_add_copy(struct hwt_image *img, const struct image_copy *c);

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
 * A recorder that steps wrote what is added from now on: bytes have the time of the last
 * instruction that ran before them in their page, and packets with a time stand between these.
 * Versions are then taken by the time of the packet alone.
 */
void image_set_stepped(struct hwt_image *img);
/* True if there are such bytes with a time: code that is another one from then on. */
bool image_is_rewritten(const struct hwt_image *img);
/* The same of code in the page of @addr. */
bool image_is_rewritten_at(const struct hwt_image *img, uint64_t addr);

/*
 * Time after @time from which on any byte at all may be another one to process @pid, text pokes
 * and JIT code included; HWT_TIME_UNKNOWN if never.
 */
uint64_t image_code_change(struct hwt_image *img, int32_t pid, uint64_t time);
/*
 * Code that ran at some instant from @w->time to @hi (both included; HWT_TIME_UNKNOWN: no end):
 * bytes that are the same in all versions of that time. Where there was nothing at first, what
 * came later ran. As hwt_image_read(), and ends before the first byte that versions do not agree
 * on: *@differs is its address, or HWT_NO_ADDR.
 */
int image_read_during(struct hwt_image *img, const struct hwt_where *w, uint64_t hi, uint64_t addr,
		      void *buf, size_t n, uint64_t *differs);

/*
 * 1 if @addr is the first instruction of a function, 0 if not, and *@func the start of the
 * function that
 * holds it (HWT_NO_ADDR if none). The first instruction of an unlikely part that a compiler
 * moved away ("f.cold") gives 0. Must be cheap: called for each jump by flow at HWT_LEVEL_CALLS.
 */
int image_entry(struct hwt_image *img, const struct hwt_where *w, uint64_t addr, uint64_t *func);

#endif
