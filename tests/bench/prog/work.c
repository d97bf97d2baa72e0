/* SPDX-License-Identifier: BSD-2-Clause */
/* A program with many branches: sorting, formatting, parsing and matching of a libc, linked in. */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 24

static char *word[WORDS];

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_number(const void *a, const void *b)
{
	double x = strtod(*(char *const *)a, NULL), y = strtod(*(char *const *)b, NULL);

	return x < y ? -1 : x > y;
}

int main(void)
{
	unsigned seed = 12345, hits = 0;
	char line[256];
	regex_t re;

	for (int i = 0; i < WORDS; i++) {
		seed = seed * 1103515245 + 12345;
		snprintf(line, sizeof(line), "%u.%03u:%s", seed >> 20, seed >> 8 & 0x1ff,
			 seed & 0x10000 ? "even" : "odd-one");
		word[i] = strdup(line);
	}
	qsort(word, WORDS, sizeof(word[0]), by_text);
	qsort(word, WORDS, sizeof(word[0]), by_number);
	if (regcomp(&re, "^[0-9]+\\.(1|23)[0-9]*:(ev|o)", REG_EXTENDED | REG_NOSUB))
		return 1;
	for (int i = 0; i < WORDS; i++)
		hits += !regexec(&re, word[i], 0, NULL, 0);
	regfree(&re);
	printf("%u %g\n", hits, strtod(word[1], NULL) / 7);
	for (int i = 0; i < WORDS; i++)
		free(word[i]);
	return 0;
}
