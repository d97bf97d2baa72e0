/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELF files. Headers and segments are parsed here with the bounded cursor, because they decide
 * which bytes are code; libelf is used for sections, where a fault costs no more than symbols.
 */
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cur.h"
#include "../base/vec.h"
#include "obj.h"

#define SEGS_MAX	65536u		/* program headers; kcore needs a few hundred */
#define SYMS_MAX	(1u << 24)	/* symbols of one file */
#define NOTES_MAX	4096u		/* notes looked at for a build-id */

struct obj {
	const uint8_t *p;
	size_t n;
	Elf *elf;			/* NULL until sections are asked for */
	bool elf_tried, id_tried, wide, swap;
	uint16_t type, machine;
	uint16_t phentsize, phnum16, shentsize;
	uint64_t phoff, shoff;
	uint64_t phnum;
	struct obj_seg *segs;		/* good ones; all if @fault.code is 0 */
	size_t nsegs;
	struct hwt_diag fault;		/* of the program headers; code 0: none */
	uint8_t id[20];
	size_t id_size;
};

struct phdr {
	uint32_t type;
	uint64_t off, vaddr, filesz, memsz, align;
};

static struct cur at(const struct obj *o, uint64_t off)
{
	struct cur c = cur_new(o->p, o->n, o->swap);

	cur_skip(&c, off > o->n ? o->n + 1 : (size_t)off);
	return c;
}

static uint64_t word(struct cur *c, bool wide)
{
	return wide ? cur_u64(c) : cur_u32(c);
}

static int header(struct obj *o, const char *path, struct hwt_diag *diag)
{
	struct cur c = cur_new(o->p, o->n, false);
	const uint8_t *id = cur_take(&c, EI_NIDENT);

	if (!id || memcmp(id, ELFMAG, SELFMAG))
		return diag_set(diag, -HWT_E_FORMAT, 90, path, 0, "not an ELF file");
	if ((id[EI_CLASS] != ELFCLASS32 && id[EI_CLASS] != ELFCLASS64) ||
	    (id[EI_DATA] != ELFDATA2LSB && id[EI_DATA] != ELFDATA2MSB))
		return diag_set(diag, -HWT_E_FORMAT, 90, path, EI_CLASS,
				"ELF class %u, byte order %u are not known", id[EI_CLASS],
				id[EI_DATA]);
	o->wide = id[EI_CLASS] == ELFCLASS64;
	o->swap = (id[EI_DATA] == ELFDATA2LSB) != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	c.swap = o->swap;
	o->type = cur_u16(&c);
	o->machine = cur_u16(&c);
	cur_skip(&c, 4);		/* e_version */
	word(&c, o->wide);		/* e_entry */
	o->phoff = word(&c, o->wide);
	o->shoff = word(&c, o->wide);
	cur_skip(&c, 4 + 2);		/* e_flags, e_ehsize */
	o->phentsize = cur_u16(&c);
	o->phnum16 = cur_u16(&c);
	o->shentsize = cur_u16(&c);
	cur_skip(&c, 4);		/* e_shnum, e_shstrndx */
	if (c.bad)
		return diag_set(diag, -HWT_E_FORMAT, 4, path, o->n, "truncated at %zu", o->n);
	return 0;
}

/* PN_XNUM: the count did not fit and is in sh_info of section 0 (gABI, "ELF Header"). */
static int header_count(struct obj *o, const char *path)
{
	struct cur c;

	o->phnum = o->phnum16;
	if (o->phnum16 != PN_XNUM)
		return 0;
	c = at(o, o->shoff);
	cur_skip(&c, o->wide ? 44 : 28);
	o->phnum = cur_u32(&c);
	if (!o->shoff || c.bad)
		return diag_set(&o->fault, -HWT_E_FORMAT, 92, path, o->shoff,
				"the number of program headers should be in section 0, which is "
				"not in the file");
	return 0;
}

static void phdr_read(const struct obj *o, struct cur *c, struct phdr *ph)
{
	if (o->wide) {
		ph->type = cur_u32(c);
		cur_skip(c, 4);		/* p_flags */
	} else {
		ph->type = cur_u32(c);
	}
	ph->off = word(c, o->wide);
	ph->vaddr = word(c, o->wide);
	word(c, o->wide);		/* p_paddr */
	ph->filesz = word(c, o->wide);
	ph->memsz = word(c, o->wide);
	if (!o->wide)
		cur_skip(c, 4);		/* p_flags */
	ph->align = word(c, o->wide);
}

/* The first fault is kept; @keep says whether the segment can be used nevertheless. */
static bool seg_check(struct obj *o, const struct phdr *ph, const char *path, uint64_t at_off)
{
	const char *why = NULL;
	uint64_t end;

	if (__builtin_add_overflow(ph->off, ph->filesz, &end))
		why = "offset and size of a segment wrap";
	else if (end > o->n)
		why = "a segment lies beyond the end of the file";
	else if (ph->memsz && ph->vaddr + (ph->memsz - 1) < ph->vaddr)
		why = "address and size of a segment wrap";
	else if (ph->filesz > ph->memsz)
		why = "a segment has more bytes in the file than in memory";
	if (why && !o->fault.code)
		diag_set(&o->fault, -HWT_E_FORMAT, 92, path, at_off,
			 "%s (offset 0x%llx, address 0x%llx, file size 0x%llx, "
			 "memory size 0x%llx)",
			 why, (unsigned long long)ph->off, (unsigned long long)ph->vaddr,
			 (unsigned long long)ph->filesz, (unsigned long long)ph->memsz);
	return !why;
}

static void seg_notes(const struct obj *o, const struct phdr *ph, const char *path,
		      uint64_t at_off, struct notes *ns)
{
	if (!ns || ph->align < 2)
		return;
	if (ph->align & (ph->align - 1))
		notes_add(ns, HWT_NOTE_INFO, 96, path, at_off,
			  "alignment %llu of a segment is not a power of two",
			  (unsigned long long)ph->align);
	else if ((ph->off ^ ph->vaddr) & (ph->align - 1))
		notes_add(ns, HWT_NOTE_INFO, 96, path, at_off,
			  "offset 0x%llx and address 0x%llx of a segment differ modulo 0x%llx",
			  (unsigned long long)ph->off, (unsigned long long)ph->vaddr,
			  (unsigned long long)ph->align);
}

/* Elf32_Nhdr and Elf64_Nhdr are the same; name and contents are padded to 4 bytes. */
static void find_build_id(struct obj *o, uint64_t off, uint64_t size)
{
	struct cur c = at(o, off);

	if (size < cur_left(&c))
		c.end = c.p + size;
	for (unsigned i = 0; i < NOTES_MAX && !o->id_size && cur_left(&c) >= 12; i++) {
		uint32_t namesz = cur_u32(&c), descsz = cur_u32(&c), type = cur_u32(&c);
		const uint8_t *name = cur_take(&c, ((size_t)namesz + 3) & ~(size_t)3);
		const uint8_t *desc = cur_take(&c, descsz);

		if (!name || !desc)
			return;
		if (type == NT_GNU_BUILD_ID && namesz == 4 && !memcmp(name, "GNU", 4) && descsz) {
			o->id_size = descsz < sizeof(o->id) ? descsz : sizeof(o->id);
			memcpy(o->id, desc, o->id_size);
		}
		cur_skip(&c, (4 - (descsz & 3)) & 3);
	}
}

static int cmp_seg(const void *a, const void *b)
{
	const struct obj_seg *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void note_overlap(const struct obj *o, const char *path, struct notes *ns)
{
	struct obj_seg *v = ns && o->nsegs > 1 ? malloc(o->nsegs * sizeof(*v)) : NULL;

	if (!v)
		return;
	memcpy(v, o->segs, o->nsegs * sizeof(*v));
	qsort(v, o->nsegs, sizeof(*v), cmp_seg);
	for (size_t i = 1; i < o->nsegs; i++) {
		if (!v[i - 1].memsz || v[i].addr - v[i - 1].addr >= v[i - 1].memsz)
			continue;
		notes_add(ns, HWT_NOTE_WARN, 95, path, HWT_NO_OFF,
			  "segments at 0x%llx and 0x%llx overlap; the file's later one is used",
			  (unsigned long long)v[i - 1].addr, (unsigned long long)v[i].addr);
		break;
	}
	free(v);
}

static int segments(struct obj *o, const char *path, struct notes *ns)
{
	struct cur c;

	if (!o->phnum)
		return 0;
	if (o->phentsize != (o->wide ? 56 : 32)) {
		diag_set(&o->fault, -HWT_E_FORMAT, 92, path, HWT_NO_OFF,
			 "program headers of %u bytes", o->phentsize);
		return 0;
	}
	if (o->phnum > SEGS_MAX) {
		diag_set(&o->fault, -HWT_E_FORMAT, 92, path, HWT_NO_OFF,
			 "%llu program headers are too many", (unsigned long long)o->phnum);
		return 0;
	}
	c = at(o, o->phoff);
	if (c.bad || cur_left(&c) / o->phentsize < o->phnum) {
		diag_set(&o->fault, -HWT_E_FORMAT, 4, path, o->n,
			 "truncated at %zu, inside the program headers", o->n);
		o->phnum = c.bad ? 0 : cur_left(&c) / o->phentsize;
	}
	o->segs = calloc((size_t)o->phnum + 1, sizeof(*o->segs));
	if (!o->segs)
		return -ENOMEM;
	for (uint64_t i = 0; i < o->phnum; i++) {
		uint64_t off = cur_pos(&c);
		struct phdr ph;

		phdr_read(o, &c, &ph);
		if (ph.type == PT_NOTE && !o->id_size && o->type != ET_CORE)
			find_build_id(o, ph.off, ph.filesz);
		if (ph.type != PT_LOAD || !seg_check(o, &ph, path, off))
			continue;
		seg_notes(o, &ph, path, off, ns);
		o->segs[o->nsegs++] = (struct obj_seg){ ph.off, ph.filesz, ph.vaddr, ph.memsz };
	}
	note_overlap(o, path, ns);
	return 0;
}

/* Sections are optional, but a table that is declared should be in the file. */
static void note_sections(const struct obj *o, const char *path, struct notes *ns)
{
	struct cur c = at(o, o->shoff);
	uint16_t n = 0;
	struct cur h = at(o, o->wide ? 60 : 48);

	n = cur_u16(&h);
	if (ns && o->shoff && n && (c.bad || (uint64_t)n * (o->wide ? 64 : 40) > cur_left(&c)))
		notes_add(ns, HWT_NOTE_INFO, 100, path, o->shoff,
			  "the table of %u sections is not in the file: no symbols", n);
}

int obj_open(struct obj **out, const void *p, size_t n, const char *path, struct notes *ns,
	     struct hwt_diag *diag)
{
	struct obj *o = calloc(1, sizeof(*o));
	int rc;

	if (!o)
		return diag_set(diag, -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
	o->p = p;
	o->n = n;
	rc = header(o, path, diag);
	if (rc)
		goto fail;
	if (!header_count(o, path) && segments(o, path, ns) < 0) {
		rc = diag_set(diag, -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
		goto fail;
	}
	note_sections(o, path, ns);
	*out = o;
	return 0;
fail:
	obj_close(o);
	return rc;
}

void obj_close(struct obj *o)
{
	if (!o)
		return;
	elf_end(o->elf);
	free(o->segs);
	free(o);
}

int obj_fault(const struct obj *o, struct hwt_diag *diag)
{
	if (o->fault.code && diag)
		*diag = o->fault;
	return o->fault.code;
}

size_t obj_segs(const struct obj *o, const struct obj_seg **out)
{
	*out = o->segs;
	return o->nsegs;
}

bool obj_relocatable(const struct obj *o)
{
	return o->type == ET_REL;
}

bool obj_core(const struct obj *o)
{
	return o->type == ET_CORE;
}

static Elf *sections(struct obj *o)
{
	if (o->elf_tried)
		return o->elf;
	o->elf_tried = true;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	/* libelf only reads from it; its prototype is older than const */
	o->elf = elf_memory((char *)(uintptr_t)o->p, o->n);
	return o->elf;
}

static Elf_Scn *section_named(struct obj *o, const char *want, GElf_Shdr *sh)
{
	Elf *e = sections(o);
	Elf_Scn *s = NULL;
	size_t names;

	if (!e || elf_getshdrstrndx(e, &names))
		return NULL;
	while ((s = elf_nextscn(e, s))) {
		const char *name;

		if (!gelf_getshdr(s, sh))
			continue;
		name = elf_strptr(e, names, sh->sh_name);
		if (name && !strcmp(name, want))
			return s;
	}
	return NULL;
}

/* Relocatable objects have no program headers, and those of a debug file may be stale. */
static void section_build_id(struct obj *o)
{
	GElf_Shdr sh;

	if (section_named(o, ".note.gnu.build-id", &sh) && sh.sh_type == SHT_NOTE)
		find_build_id(o, sh.sh_offset, sh.sh_size);
}

size_t obj_build_id(struct obj *o, uint8_t *id)
{
	if (!o->id_size && !o->id_tried) {
		o->id_tried = true;
		section_build_id(o);
	}
	memcpy(id, o->id, o->id_size);
	return o->id_size;
}

int obj_link(const struct obj *o, uint64_t off, uint64_t *addr)
{
	for (size_t i = 0; i < o->nsegs; i++) {
		const struct obj_seg *s = &o->segs[i];

		if (off >= s->off && off - s->off < s->filesz) {
			*addr = s->addr + (off - s->off);
			return 1;
		}
	}
	return 0;
}

const char *obj_debuglink(struct obj *o, uint32_t *crc)
{
	GElf_Shdr sh;
	Elf_Scn *s = section_named(o, ".gnu_debuglink", &sh);
	Elf_Data *d = s && sh.sh_type != SHT_NOBITS ? elf_rawdata(s, NULL) : NULL;
	struct cur c;
	size_t len;

	if (!d || !d->d_buf)
		return NULL;
	c = cur_new(d->d_buf, d->d_size, o->swap);
	len = strnlen(d->d_buf, d->d_size);
	cur_skip(&c, (len + 4) & ~(size_t)3);	/* NUL and padding, then the CRC */
	*crc = cur_u32(&c);
	return c.bad ? NULL : d->d_buf;
}

/* What is asked of one symbol table. */
struct gather {
	struct obj_sym *v;
	size_t n, cap;
};

static int add_sym(struct gather *g, const struct obj_sym *s)
{
	if (vec_room(&g->v, &g->cap, g->n, sizeof(*g->v)))
		return -ENOMEM;
	g->v[g->n++] = *s;
	return 0;
}

/* "$a", "$t.3", "$x": where Arm code changes its kind (ELF for the Arm Architecture, 5.5.5). */
static bool mapping_name(const char *s)
{
	return s[0] == '$' && s[1] && strchr("adtx", s[1]) && (!s[2] || s[2] == '.');
}

/*
 * Functions; and labels of assembly in executable sections if they are seen from outside or have a
 * size: a local label without one is a place inside a function.
 */
static bool is_function(const GElf_Sym *s, const GElf_Shdr *in, const char *name)
{
	unsigned type = GELF_ST_TYPE(s->st_info);

	if (!*name || mapping_name(name) || !strncmp(name, ".L", 2))
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return type == STT_NOTYPE && (in->sh_flags & SHF_EXECINSTR) &&
		(s->st_size || GELF_ST_BIND(s->st_info) != STB_LOCAL);
}

static int take_sym(struct obj *o, struct gather *g, const GElf_Sym *s, const char *name)
{
	Elf_Scn *scn = s->st_shndx < SHN_LORESERVE ? elf_getscn(o->elf, s->st_shndx) : NULL;
	GElf_Shdr in;
	struct obj_sym out = { .name = name, .value = s->st_value, .size = s->st_size };

	if (!scn || s->st_shndx == SHN_UNDEF || !gelf_getshdr(scn, &in) ||
	    !is_function(s, &in, name))
		return 0;
	if (o->machine == EM_ARM && GELF_ST_TYPE(s->st_info) == STT_FUNC)
		out.value &= ~(uint64_t)1;	/* Thumb */
	if (out.value < in.sh_addr || out.value - in.sh_addr >= in.sh_size)
		return 0;
	out.limit = in.sh_addr + (in.sh_size - 1);
	if (out.limit < out.value)
		return 0;
	out.global = GELF_ST_BIND(s->st_info) == STB_GLOBAL;
	out.weak = GELF_ST_BIND(s->st_info) == STB_WEAK;
	return add_sym(g, &out);
}

static Elf_Scn *table_of(struct obj *o, unsigned type, GElf_Shdr *sh)
{
	Elf *e = sections(o);
	Elf_Scn *s = NULL;

	while (e && (s = elf_nextscn(e, s)))
		if (gelf_getshdr(s, sh) && sh->sh_type == type)
			return s;
	return NULL;
}

static size_t entries(const struct obj *o, const Elf_Data *d, Elf_Type type)
{
	size_t one = gelf_fsize(o->elf, type, 1, EV_CURRENT);
	size_t n = d && d->d_buf && one ? d->d_size / one : 0;

	return n < SYMS_MAX ? n : SYMS_MAX;
}

static int table_syms(struct obj *o, unsigned type, struct gather *g)
{
	GElf_Shdr sh;
	Elf_Scn *s = table_of(o, type, &sh);
	Elf_Data *d = s ? elf_getdata(s, NULL) : NULL;
	size_t n = s ? entries(o, d, ELF_T_SYM) : 0;

	for (size_t i = 1; i < n; i++) {
		GElf_Sym sym;
		const char *name;
		int rc;

		if (!gelf_getsym(d, (int)i, &sym))
			break;
		name = elf_strptr(o->elf, sh.sh_link, sym.st_name);
		rc = name ? take_sym(o, g, &sym, name) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

/*
 * Entries of the procedure linkage table are in the order of its relocations. The layout is taken
 * only if the sizes agree: psABI x86-64 5.2 (16 bytes, one header; .plt.sec has none), AArch64
 * (32 byte header, 16 bytes, 24 with BTI or PAC), Arm (20 byte header, 12 bytes).
 */
static bool plt_shape(const struct obj *o, size_t nrel, const GElf_Shdr *plt, bool sec,
		      uint64_t *first, uint64_t *step)
{
	uint64_t head = sec ? 0 : o->machine == EM_AARCH64 ? 32 : o->machine == EM_ARM ? 20 : 16;

	if (!nrel || plt->sh_size < head || (plt->sh_size - head) % nrel)
		return false;
	*step = (plt->sh_size - head) / nrel;
	*first = plt->sh_addr + head;
	switch (o->machine) {
	case EM_X86_64:
	case EM_386:
		return *step == 16;
	case EM_AARCH64:
		return *step == 16 || *step == 24;
	case EM_ARM:
		return *step == 12;
	}
	return false;
}

static int plt_syms(struct obj *o, struct gather *g)
{
	GElf_Shdr plt, rel, dyn;
	Elf_Scn *ps, *rs, *ds = table_of(o, SHT_DYNSYM, &dyn);
	bool sec = false, rela = true;
	uint64_t first, step;
	Elf_Data *rd, *dd;
	size_t n, nsyms;

	rs = section_named(o, ".rela.plt", &rel);
	if (!rs) {
		rs = section_named(o, ".rel.plt", &rel);
		rela = false;
	}
	ps = section_named(o, ".plt.sec", &plt);
	sec = ps != NULL;
	if (!ps)
		ps = section_named(o, ".plt", &plt);
	if (!rs || !ps || !ds)
		return 0;
	rd = elf_getdata(rs, NULL);
	dd = elf_getdata(ds, NULL);
	n = entries(o, rd, rela ? ELF_T_RELA : ELF_T_REL);
	nsyms = entries(o, dd, ELF_T_SYM);
	if (!plt_shape(o, n, &plt, sec, &first, &step))
		return 0;
	for (size_t i = 0; i < n; i++) {
		struct obj_sym out = { .value = first + i * step, .size = step, .plt = 1 };
		GElf_Rela ra;
		GElf_Rel r;
		GElf_Sym sym;
		size_t k;
		int rc;

		if (rela ? !gelf_getrela(rd, (int)i, &ra) : !gelf_getrel(rd, (int)i, &r))
			break;
		k = GELF_R_SYM(rela ? ra.r_info : r.r_info);
		if (!k || k >= nsyms || !gelf_getsym(dd, (int)k, &sym))
			continue;
		out.name = elf_strptr(o->elf, dyn.sh_link, sym.st_name);
		out.limit = out.value + step - 1;
		if (!out.name || !*out.name || out.limit < out.value)
			continue;
		rc = add_sym(g, &out);
		if (rc)
			return rc;
	}
	return 0;
}

int obj_syms(struct obj *o, bool dynamic, struct obj_sym **out, size_t *n)
{
	struct gather g = { 0 };
	int rc = 0;

	if (sections(o))
		rc = table_syms(o, dynamic ? SHT_DYNSYM : SHT_SYMTAB, &g);
	if (!rc && dynamic && o->elf)
		rc = plt_syms(o, &g);
	if (rc) {
		free(g.v);
		return rc;
	}
	*out = g.v;
	*n = g.n;
	return 0;
}
