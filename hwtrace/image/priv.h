/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_IMAGE_PRIV_H
#define HWT_IMAGE_PRIV_H

/* What the files of this folder share and nobody else sees. */
#include <stdbool.h>

#include "../base/arena.h"
#include "../base/cur.h"
#include "../base/idmap.h"
#include "../source/file.h"
#include "dwarf.h"
#include "image.h"
#include "obj.h"
#include "timed.h"

/* A function of a symbol table. */
struct sym {
	uint64_t addr;		/* as linked; kallsyms: run time */
	uint64_t size;		/* what the table says, 0: nothing */
	uint64_t last;		/* last byte that belongs to it */
	const char *name;	/* as in the table, in the arena */
	const char *shown;	/* demangled, NULL until it was asked for */
	const char *module;	/* kallsyms: "[name]" or the kernel; else NULL */
	bool plt;		/* shown as "name@plt" */
	bool match;		/* by the last hwt_image_find() */
	bool hidden;		/* a bound of its neighbours only, no function */
};

struct symtab {
	struct sym *v;		/* by address, one at each */
	size_t n;
};

/* Source lines of one function of a JIT, for the place @base where it was first. */
struct jit_lines {
	uint64_t base;
	uint32_t n;
	struct jit_line { uint64_t addr; const char *file; int32_t line; } v[];
};

/* A function without file: what a struct sym in struct aspace.syms is the head of. */
struct loose_sym {
	struct sym sym;
	const struct jit_lines *lines;	/* NULL: none */
};

enum module_kind {
	MODULE_MAPPED,		/* searched by the path that was recorded */
	MODULE_RAW,		/* the same, a plain dump */
	MODULE_USER		/* named by the user: this file and no other */
};

/* A file that holds code. */
struct module {
	struct module *next;	/* same hash */
	const char *path;	/* as recorded */
	const char *found;	/* the file that was opened, NULL if none */
	struct file *file;
	struct obj *obj;	/* NULL: not opened yet, or no ELF */
	struct file *debug;	/* separate debug file */
	struct obj *debug_obj;
	struct symtab syms;
	struct dwarf *dwarf;
	uint64_t finds;		/* struct hwt_image.finds of @syms[].match */
	uint8_t id[20], id_size;	/* recorded build-id */
	uint8_t kind;		/* enum module_kind */
	struct module *user;	/* MAPPED: USER file that was placed where this one was, NULL */
	bool stands_in;		/* USER: was taken for a recorded file */
	bool offered;		/* USER: stands in for a recorded file of its build-id or name */
	bool copied;		/* @found is the capture's own copy of it */
	bool tried, noted, syms_tried, debug_tried, dwarf_tried;
};

/* A copy of a file in the capture: struct image_copy. */
struct copy {
	struct copy *next;	/* same hash */
	const char *path, *file;
	uint64_t size;
	uint32_t crc;
	uint8_t id[20], id_size;
	bool checked, good;	/* its size and checksum */
};

enum part_kind {
	PART_NONE,		/* nothing is here from now on (munmap, exec) */
	PART_FILE,
	PART_BYTES,
	PART_ZERO,		/* memory size beyond file size */
	PART_FORK		/* what @parent had at that moment */
};

/* What a range of addresses holds; the value of struct timed_item. */
struct part {
	enum part_kind kind;
	bool has_link;		/* FILE: @link is valid */
	bool doubt;		/* BYTES: what was here before may run, too */
	struct module *mod;	/* FILE */
	uint64_t file_off;	/* FILE: of the range's first byte */
	uint64_t link;		/* FILE: address of the first byte as linked */
	const uint8_t *bytes;	/* BYTES */
	uint32_t parent;	/* FORK: index of the address space */
};

enum {	/* tags of items */
	TAG_SYM, TAG_FORK,	/* in struct aspace.syms */
	TAG_ANON = 1		/* in struct aspace.maps: memory without file */
};

struct page_range { uint64_t lo, hi; };	/* both included, whole pages */

struct aspace {
	int32_t pid;
	struct timed maps;	/* values are struct part */
	struct timed syms;	/* struct loose_sym, NULL for none; struct part if TAG_FORK */
	struct idmap same;	/* hash of a map to its item, to find repeats */
	uint32_t anew;		/* of those before no map is a repeat */
	uint64_t *changes;	/* times when image_sections() changes, sorted */
	uint32_t nchanges, changes_cap;
	bool sorted;		/* @changes are */
};

/* Where a question was answered, and how far the answer holds. */
struct spot {
	const struct timed_item *item;
	const struct part *part;	/* never NONE or FORK; NULL: nothing here */
	uint64_t lo, hi;		/* addresses, both included */
	uint64_t t0, t1;		/* instants, both included */
};

#define READ_CACHE	64	/* slots; powers of two */
#define SYM_CACHE	4096
#define FORKS_MAX	256	/* steps from child to parent that a question takes */

struct read_slot {
	uint64_t lo, hi, t0, t1;
	const uint8_t *p;	/* byte at @lo, NULL: zero */
	uint32_t space;
	int32_t pid;
	uint8_t used;		/* 1: bytes, 2: nothing there */
};

/* The function at @addr. */
struct sym_slot {
	uint64_t addr;
	uint64_t t0, t1;	/* instants, both included, with the same answer */
	struct sym *sym;	/* NULL: none */
	const char *module;
	uint64_t start;		/* run time */
	uint32_t space;
	int32_t pid;
	bool used, is_entry;	/* as image_entry() says */
};

#define MODULE_HASH	1024
#define OFFERS_MAX	64

struct hwt_image {
	struct arena arena;
	struct notes *ns;
	const char *sysroot, *base, *cache;	/* NULL: not given */
	struct module *mods[MODULE_HASH];
	struct copy *copies[MODULE_HASH];
	struct module *offers[OFFERS_MAX];	/* files of the user's without address */
	unsigned noffers;
	struct aspace **spaces;
	uint32_t nspaces, spaces_cap;
	struct idmap by_pid;
	uint32_t seq;		/* of the last item added */
	struct hwt_map *list;	/* all maps, in order of addition */
	size_t nlist, list_cap;
	struct page_range *pokes;	/* pages with BYTES in any address space */
	uint32_t npokes, pokes_cap;
	bool pokes_sorted;	/* and merged */
	bool rewritten;		/* some of them after the start */
	bool stepped;		/* see image_set_stepped() */
	bool other_clock;	/* times of jitdump files are not on the base clock */
	struct symtab kallsyms;
	struct read_slot reads[READ_CACHE];
	struct sym_slot names[SYM_CACHE];
	uint64_t finds;		/* calls of hwt_image_find() */
	bool warm;		/* something is in @reads or @names */
};

/* maps.c */
/* Index of the address space, made if it is not there; negative error. */
int64_t maps_space(struct hwt_image *img, int32_t pid);
struct aspace *maps_find_space(const struct hwt_image *img, int32_t pid);
/* Adds [@addr, @last] holding a copy of @part. 0 or a negative error. */
int maps_add(struct hwt_image *img, int32_t pid, uint64_t time, uint64_t addr, uint64_t last,
	     uint32_t space, const struct part *part);
/* image_add_symbol() with the lines of the function. */
int maps_add_symbol(struct hwt_image *img, int32_t pid, uint64_t time, uint64_t addr,
		    uint64_t size, const char *name, const struct jit_lines *lines);
/* Time of the last exec of @pid, or of the fork that made it; 0 if none is known. */
uint64_t maps_last_reset(const struct hwt_image *img, int32_t pid);
/* Maps of the kernel that name code but hold none. */
bool maps_name_only(const struct hwt_map *m);
/* Notes a map for listing. */
int maps_list(struct hwt_image *img, const struct hwt_map *m);
/* 1 found, 0 nothing there (@out->part NULL, ranges valid), negative error. */
int maps_locate(struct hwt_image *img, const struct hwt_where *w, uint64_t addr,
		struct spot *out);
/* The same for functions without file: @out->item->val is a struct sym. */
int maps_locate_sym(struct hwt_image *img, const struct hwt_where *w, uint64_t addr,
		    struct spot *out);
void maps_forget(struct hwt_image *img);	/* caches are void */
void maps_free(struct hwt_image *img);

/* place.c */
/*
 * @m, of the user's, lies @bias above where it was linked: it stands in for the file that was
 * recorded there, or a note says why not. 0 or -ENOMEM.
 */
int place_user(struct hwt_image *img, struct module *m, uint64_t bias);

/* module.c */
/* True for a recorded name and a user's file that can be of it. */
bool module_same_name(const char *recorded, const char *user);
struct module *module_get(struct hwt_image *img, const char *path, unsigned kind,
			  const uint8_t *id, size_t id_size);
/* A file of the user's, opened at once; its faults are in @diag and in the notes. */
int module_user(struct hwt_image *img, struct module **out, const char *path,
		struct hwt_diag *diag);
/* Opens the file on the first call. True if its bytes are there. */
bool module_find(struct hwt_image *img, struct module *m);
/* The same, for who needs them: a file that is not there is noted, once. */
bool module_open(struct hwt_image *img, struct module *m);
/* The separate debug file's view, NULL if there is none. */
struct obj *module_debug(struct hwt_image *img, struct module *m);
/* False for "[heap]", "//anon" and the like, which are no files. */
bool module_is_file(const char *path);
void module_free_all(struct hwt_image *img);
/* file_open() for code: refuses what is no regular file before it is opened. */
int module_file(struct file **out, const char *path, struct hwt_diag *diag);

/* symtab.c */
/* The function that holds @addr, NULL if none. */
struct sym *symtab_at(const struct symtab *t, uint64_t addr);
/* Functions of a file, empty if it has none. Loaded on the first call. */
const struct symtab *symtab_module(struct hwt_image *img, struct module *m);

/* kallsyms.c, jit.c: the files' contents, not kept */
int kallsyms_load(struct hwt_image *img, const struct file *f, struct hwt_diag *diag);
int perf_map_load(struct hwt_image *img, int32_t pid, const struct file *f,
		  struct hwt_diag *diag);
int jitdump_load(struct hwt_image *img, int32_t pid, const struct file *f, struct hwt_diag *diag);

#endif
