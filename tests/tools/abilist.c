/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * abilist VERSION: what that version of the virtual events promises, one line for each promise.
 * abilist VERSION metadata: its CTF metadata. abilist: the newest version. Words about a field's
 * meaning may become clearer; all else is promised.
 */
#include <hwtrace/abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void list(const struct hwt_abi_event *e, unsigned version)
{
	unsigned n;
	const struct hwt_abi_field *f = e->fields(&n);

	printf("%s id: %u\n%s stamped: %s\n%s before: %s\n%s often: %s\n", e->name, e->id, e->name,
	       e->stamp, e->name, e->order, e->name, e->often);
	for (; n; n--, f++)
		if (f->since <= version)
			printf("%s.%s: %s at %u, unit \"%s\"\n", e->name, f->name,
			       hwt_abi_type_name(f->type), f->offset, f->unit);
}

static int metadata(unsigned version)
{
	static char text[1 << 17];
	const struct hwt_abi_trace t = { .version = version };

	return hwt_abi_metadata(text, sizeof(text), &t) >= sizeof(text) || fputs(text, stdout) < 0;
}

/* The values of each list, told where a field names it first. */
static void list_values(unsigned version)
{
	const struct hwt_abi_event *e;
	const struct hwt_abi_named *v;
	char seen[4096] = " ";

	for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++) {
		unsigned n;
		const struct hwt_abi_field *f = e->fields(&n);

		for (; n; n--, f++) {
			char word[64];

			snprintf(word, sizeof(word), " %s ", f->unit);
			if (strstr(seen, word))
				continue;
			strncat(seen, word + 1, sizeof(seen) - strlen(seen) - 1);
			for (unsigned k = 0; (v = hwt_abi_value_at(f->unit, k)); k++)
				if (v->since <= version)
					printf("%s %llu: %s\n", f->unit,
					       (unsigned long long)v->value, v->name);
		}
	}
}

int main(int argc, char **argv)
{
	const struct hwt_abi_event *e;
	unsigned version;

	if (argc == 1)
		return printf("%u\n", hwt_abi_version()) < 0;
	version = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc == 3)
		return metadata(version);
	for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++)
		if (e->since <= version)
			list(e, version);
	list_values(version);
	return fflush(stdout) ? 1 : 0;
}
