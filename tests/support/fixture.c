/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(const struct fixture *f, unsigned line, const char *what)
{
	fprintf(stderr, "%s:%u: %s\n", f->path, line, what);
	return -1;
}

static int read_bytes(struct fixture *f, const char *s, unsigned line)
{
	for (; *s; s++) {
		unsigned b;

		if (isblank((unsigned char)*s))
			continue;
		if (!isxdigit((unsigned char)s[0]) || !isxdigit((unsigned char)s[1]))
			return complain(f, line, "bytes are pairs of hex digits");
		if (f->size == sizeof(f->bytes))
			return complain(f, line, "too many bytes");
		sscanf(s, "%2x", &b);
		f->bytes[f->size++] = (uint8_t)b;
		s++;
	}
	return 0;
}

static int read_row(struct fixture *f, char *s, unsigned line)
{
	struct fixture_row *r = &f->rows[f->nrows];
	char *bytes = strtok(s, "\t"), *name = strtok(NULL, "\t"), *text = strtok(NULL, "\t");

	if (!bytes || !name)
		return complain(f, line, "needs bytes, tab, name");
	if (f->nrows == FIXTURE_ROWS)
		return complain(f, line, "too many rows");
	f->nrows++;
	r->line = line;
	r->off = f->size;
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->text, sizeof(r->text), "%s", text ? text : "");
	if (read_bytes(f, bytes, line))
		return -1;
	r->n = f->size - r->off;
	return 0;
}

static int read_key(struct fixture *f, const char *s, unsigned line)
{
	if (f->nkeys == 4 || sscanf(s, "@%15s %63[^\n]", f->key[f->nkeys], f->value[f->nkeys]) != 2)
		return complain(f, line, "bad @ line");
	f->nkeys++;
	return 0;
}

int fixture_read(struct fixture *f, const char *path)
{
	char s[2 * FIXTURE_BYTES + 512];
	unsigned line = 0;
	int rc = 0;
	FILE *in;

	memset(f, 0, sizeof(*f));
	snprintf(f->path, sizeof(f->path), "%s", path);
	in = fopen(path, "r");
	if (!in)
		return complain(f, 0, "can not open");
	while (!rc && fgets(s, sizeof(s), in)) {
		line++;
		s[strcspn(s, "\r\n")] = 0;
		if (!*s || *s == '#')
			continue;
		rc = *s == '@' ? read_key(f, s, line) : read_row(f, s, line);
	}
	fclose(in);
	return rc;
}

const char *fixture_value(const struct fixture *f, const char *key)
{
	for (unsigned i = 0; i < f->nkeys; i++)
		if (!strcmp(f->key[i], key))
			return f->value[i];
	return NULL;
}

int fixture_list(const char *dir, const char *suffix, char **out, int max)
{
	struct dirent **v;
	int n = scandir(dir, &v, NULL, alphasort), got = 0;
	size_t end = strlen(suffix);

	for (int i = 0; i < n; i++) {
		const char *name = v[i]->d_name;
		size_t len = strlen(name);

		if (got < max && len > end && !strcmp(name + len - end, suffix) &&
		    asprintf(&out[got], "%s/%s", dir, name) > 0)
			got++;
		free(v[i]);
	}
	if (n >= 0)
		free(v);
	return got;
}
