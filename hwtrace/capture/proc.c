/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc tells of a process. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/diag.h"
#include "proc.h"

#define MAPS_MAX	65536u	/* executable maps of a process; the kernel's own limit is 65530 */

static FILE *open_proc(int32_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return fopen(path, "re");
}

static void clear(struct proc *p)
{
	for (size_t i = 0; i < p->nmaps; i++)
		free(p->maps[i].path);
	free(p->maps);
	p->maps = NULL;
	p->nmaps = 0;
	for (size_t i = 0; i < p->cap; i++)
		free(p->pages[i]);
	free(p->pages);
	p->pages = NULL;
	p->npages = p->cap = 0;
	p->nbegins = p->nends = 0;
	p->resolved = false;
	p->entry = 0;
	if (p->mem >= 0)
		close(p->mem);
	p->mem = -1;
}

int proc_exec(struct proc *p)
{
	char path[64];

	clear(p);
	snprintf(path, sizeof(path), "/proc/%d/mem", p->pid);
	p->mem = open(path, O_RDWR | O_CLOEXEC);
	if (p->mem < 0)
		p->mem = open(path, O_RDONLY | O_CLOEXEC);
	return p->mem < 0 ? -errno : 0;
}

int proc_new(struct proc **out, int32_t pid)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->pid = pid;
	p->mem = -1;
	*out = p;
	return 0;
}

void proc_free(struct proc *p)
{
	if (!p)
		return;
	clear(p);
	free(p);
}

size_t proc_read(const struct proc *p, uint64_t addr, void *buf, size_t n)
{
	size_t got = 0;

	/* the kernel refuses offsets that are negative numbers */
	if (p->mem < 0 || addr > INT64_MAX)
		return 0;
	while (got < n) {
		ssize_t k = pread(p->mem, (char *)buf + got, n - got, (off_t)(addr + got));

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break;
		got += (size_t)k;
	}
	return got;
}

/* "start-end perms off dev inode path", the path from column 73 on; newline is written \012. */
static bool parse_map(char *line, struct proc_map *m)
{
	unsigned long long start, end, off;
	char perms[5], *path;
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, perms, &off, &at) < 4 ||
	    perms[2] != 'x' || start >= end)
		return false;
	line[strcspn(line, "\n")] = 0;
	path = at ? line + at : (char *)"";
	*m = (struct proc_map){ .start = start, .end = end, .off = off, .path = strdup(path),
		.file = *path == '/' };
	return true;
}

/* The file behind a map is the one of its name: a name may have been given to another since. */
static bool is_deleted(int32_t pid, const struct proc_map *m)
{
	static const char gone[] = " (deleted)";
	size_t n = strlen(m->path), k = sizeof(gone) - 1;
	struct stat by_name, by_map;
	char link[96];

	if (n > k && !strcmp(m->path + n - k, gone))
		return true;
	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	/* the links may need a privilege: then the name has to do */
	if (stat(link, &by_map))
		return false;
	return stat(m->path, &by_name) || by_name.st_dev != by_map.st_dev ||
		by_name.st_ino != by_map.st_ino;
}

static bool same(const struct proc_map *a, const struct proc_map *b)
{
	return a->start == b->start && a->end == b->end && a->off == b->off &&
		!strcmp(a->path, b->path);
}

static void keep_told(struct proc *p, struct proc_map *m)
{
	for (size_t i = 0; i < p->nmaps; i++)
		if (same(&p->maps[i], m))
			m->told = p->maps[i].told;
}

int proc_remap(struct proc *p)
{
	FILE *f = open_proc(p->pid, "maps");
	struct proc_map *v = NULL, m;
	char *line = NULL;
	size_t n = 0, cap = 0, size = 0;
	int rc = 0;

	if (!f)
		return -errno;
	while (n < MAPS_MAX && getline(&line, &size, f) > 0) {
		if (!parse_map(line, &m))
			continue;
		if (!m.path) {
			rc = -ENOMEM;
			break;
		}
		if (n == cap) {
			struct proc_map *more = realloc(v, (cap + 64) * sizeof(*v));

			if (!more) {
				free(m.path);
				rc = -ENOMEM;
				break;
			}
			v = more;
			cap += 64;
		}
		m.deleted = m.file && is_deleted(p->pid, &m);
		keep_told(p, &m);
		v[n++] = m;
	}
	free(line);
	fclose(f);
	if (rc) {
		while (n)
			free(v[--n].path);
		free(v);
		return rc;
	}
	for (size_t i = 0; i < p->nmaps; i++)
		free(p->maps[i].path);
	free(p->maps);
	p->maps = v;
	p->nmaps = n;
	return 0;
}

const struct proc_map *proc_map(const struct proc *p, uint64_t addr)
{
	size_t lo = 0, hi = p->nmaps;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->maps[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->nmaps && p->maps[lo].start <= addr ? &p->maps[lo] : NULL;
}

static size_t slot(const struct proc *p, uint64_t addr)
{
	size_t i = (size_t)((addr / PROC_PAGE) * 0x9e3779b97f4a7c15u >> 20) & (p->cap - 1);

	while (p->pages[i] && p->pages[i]->addr != addr)
		i = (i + 1) & (p->cap - 1);
	return i;
}

static bool grow(struct proc *p)
{
	struct proc old = *p;

	p->cap = p->cap ? p->cap * 2 : 256;
	p->pages = calloc(p->cap, sizeof(*p->pages));
	if (!p->pages) {
		*p = old;
		return false;
	}
	for (size_t i = 0; i < old.cap; i++)
		if (old.pages[i])
			p->pages[slot(p, old.pages[i]->addr)] = old.pages[i];
	free(old.pages);
	return true;
}

struct proc_page *proc_page(struct proc *p, uint64_t addr, bool *fresh)
{
	size_t i;

	addr &= ~(uint64_t)(PROC_PAGE - 1);
	*fresh = false;
	if (p->cap) {
		i = slot(p, addr);
		if (p->pages[i])
			return p->pages[i];
	}
	if (p->npages >= PROC_PAGES || (p->npages * 2 >= p->cap && !grow(p)))
		return NULL;
	i = slot(p, addr);
	p->pages[i] = calloc(1, sizeof(**p->pages));
	if (!p->pages[i])
		return NULL;
	p->pages[i]->addr = addr;
	p->npages++;
	*fresh = true;
	return p->pages[i];
}

/* The rest of the line "key:" of /proc/PID/status. */
static bool status_line(int32_t pid, const char *key, char *out, size_t size)
{
	FILE *f = open_proc(pid, "status");
	size_t n = strlen(key);
	bool found = false;
	char line[256];

	while (f && !found && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, n) && line[n] == ':') {
			snprintf(out, size, "%s", line + n + 1 + strspn(line + n + 1, " \t"));
			found = true;
		}
	if (f)
		fclose(f);
	return found;
}

int64_t proc_status(int32_t pid, const char *key)
{
	char text[64];

	return status_line(pid, key, text, sizeof(text)) ? strtoll(text, NULL, 10) : -1;
}

uint64_t proc_signals(int32_t pid, const char *key)
{
	char text[64];

	return status_line(pid, key, text, sizeof(text)) ? strtoull(text, NULL, 16) : 0;
}

void proc_comm(int32_t tid, char out[16])
{
	FILE *f = open_proc(tid, "comm");

	*out = 0;
	if (!f)
		return;
	if (!fgets(out, 16, f))
		*out = 0;
	fclose(f);
	out[strcspn(out, "\n")] = 0;
}

uint64_t proc_auxv(int32_t pid, uint64_t type)
{
	FILE *f = open_proc(pid, "auxv");
	uint64_t v[2], found = 0;

	while (f && !found && fread(v, sizeof(v), 1, f) == 1 && v[0])
		if (v[0] == type)
			found = v[1];
	if (f)
		fclose(f);
	return found;
}

#if defined(__x86_64__)
#define OUR_MACHINE	EM_X86_64
#define OUR_NAME	"x86-64"
#elif defined(__aarch64__)
#define OUR_MACHINE	EM_AARCH64
#define OUR_NAME	"arm64"
#else
#define OUR_MACHINE	EM_NONE
#define OUR_NAME	"this machine's"
#endif

static const char *machine_name(unsigned machine, char *buf, size_t size)
{
	static const struct { unsigned machine; const char *name; } names[] = {
		{ EM_386, "32-bit x86" }, { EM_X86_64, "x86-64" }, { EM_ARM, "32-bit Arm" },
		{ EM_AARCH64, "arm64" }, { EM_RISCV, "RISC-V" }, { EM_PPC64, "64-bit PowerPC" },
		{ EM_S390, "s390" }, { EM_MIPS, "MIPS" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].machine == machine)
			return names[i].name;
	snprintf(buf, size, "machine %u", machine);
	return buf;
}

/* A script is run by its interpreter, which is looked at when it is executed. */
static int check_elf(const char *path, struct hwt_diag *diag)
{
	unsigned char h[sizeof(Elf64_Ehdr)] = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned machine;
	char name[32];
	ssize_t n;

	if (fd < 0)	/* may be executed all the same */
		return 0;
	n = read(fd, h, sizeof(h));
	close(fd);
	if (n > 1 && h[0] == '#' && h[1] == '!')
		return 0;
	if (n < 20 || memcmp(h, ELFMAG, SELFMAG))
		return diag_set(diag, -ENOEXEC, 171, path, HWT_NO_OFF,
				"is neither a program nor a script with #!");
	machine = h[EI_DATA] == ELFDATA2MSB ? h[18] * 256u + h[19] : h[18] + h[19] * 256u;
	if (machine != OUR_MACHINE || h[EI_CLASS] != ELFCLASS64)
		return diag_set(diag, -ENOEXEC, 172, path, HWT_NO_OFF,
				"is a program for %s%s; this machine steps %s programs",
				machine == OUR_MACHINE ? "the 32-bit variant of " : "",
				machine_name(machine, name, sizeof(name)), OUR_NAME);
	return 0;
}

static int check_file(const char *path, struct hwt_diag *diag)
{
	struct stat st;

	if (stat(path, &st))
		return diag_set(diag, -errno, 170, path, HWT_NO_OFF, "%s", strerror(errno));
	if (S_ISDIR(st.st_mode))
		return diag_set(diag, -EACCES, 170, path, HWT_NO_OFF, "is a directory");
	if (access(path, X_OK))
		return diag_set(diag, -EACCES, 170, path, HWT_NO_OFF, "may not be executed: %s",
				strerror(errno));
	return check_elf(path, diag);
}

int proc_find(const char *name, char *out, size_t size, struct hwt_diag *diag)
{
	const char *path = getenv("PATH");
	size_t n;

	if (strchr(name, '/')) {
		snprintf(out, size, "%s", name);
		return check_file(out, diag);
	}
	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *name; path += n + 1) {
		n = strcspn(path, ":");
		/* an empty part is the current directory */
		if ((size_t)snprintf(out, size, "%.*s%s%s", (int)n, path, n ? "/" : "./", name) <
		    size && !access(out, X_OK)) {
			struct stat st;

			if (!stat(out, &st) && S_ISREG(st.st_mode))
				return check_file(out, diag);
		}
		if (!path[n])
			break;
	}
	return diag_set(diag, -ENOENT, 170, name, HWT_NO_OFF,
			"no program of that name in the directories of PATH");
}
