/* SPDX-License-Identifier: BSD-2-Clause */
/* Who holds a trace unit by perf: no file of the kernel says so, but its buffer is mapped. */
#include "hwhold.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOWN	3

static FILE *file_of(DIR *proc, const char *pid, const char *name)
{
	char path[300];
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", pid, name);
	fd = openat(dirfd(proc), path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

/*
 * The ring of records is mapped from the file's begin on, that of trace from behind it
 * (perf_event_open(2), aux_offset).
 */
static bool has_buffer(FILE *maps)
{
	static const char name[] = "anon_inode:[perf_event]\n";
	unsigned long long offset;
	char line[512];

	while (fgets(line, sizeof(line), maps)) {
		size_t n = strlen(line);

		if (n >= sizeof(name) && !strcmp(line + n - (sizeof(name) - 1), name) &&
		    sscanf(line, "%*x-%*x %*s %llx", &offset) == 1 && offset)
			return true;
	}
	return false;
}

__attribute__((format(printf, 3, 4)))
static void put(char *text, size_t size, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, size - n, fmt, ap);
	va_end(ap);
}

static void put_one(DIR *proc, const char *pid, char *text, size_t size)
{
	FILE *f = file_of(proc, pid, "comm");
	char name[32] = "";

	if (f && !fgets(name, sizeof(name), f))
		*name = 0;
	name[strcspn(name, "\n")] = 0;
	put(text, size, "%sprocess %.10s%s%s%s", *text ? ", " : "", pid, *name ? " (" : "", name,
	    *name ? ")" : "");
	if (f)
		fclose(f);
}

void hwhold_perf(DIR *proc, char *text, size_t size)
{
	struct dirent *e;
	unsigned n = 0;

	*text = 0;
	while (proc && n <= SHOWN && (e = readdir(proc))) {
		bool number = strspn(e->d_name, "0123456789") == strlen(e->d_name);
		FILE *maps = number ? file_of(proc, e->d_name, "maps") : NULL;
		bool has = maps && has_buffer(maps);

		if (maps)
			fclose(maps);
		if (!has)
			continue;
		if (n++ < SHOWN)
			put_one(proc, e->d_name, text, size);
		else
			put(text, size, " and more");
	}
	if (proc)
		closedir(proc);
}
