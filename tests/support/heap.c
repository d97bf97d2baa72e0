/* SPDX-License-Identifier: BSD-2-Clause */
#include "heap.h"

/* of the sanitizers' common interface; absent in other builds */
int __sanitizer_install_malloc_and_free_hooks(void (*m)(const volatile void *, size_t),
	void (*f)(const volatile void *)) __attribute__((weak));
size_t __sanitizer_get_allocated_size(const volatile void *p) __attribute__((weak));
void __sanitizer_set_death_callback(void (*fn)(void)) __attribute__((weak));

static bool watching, installed;
/* signed: blocks may be freed that were allocated before */
static long long held, most;

static void taken(const volatile void *p, size_t n)
{
	if (!watching)
		return;
	held += (long long)n;
	if (held > most)
		most = held;
}

static void given(const volatile void *p)
{
	if (watching && p)
		held -= (long long)__sanitizer_get_allocated_size(p);
}

void heap_start(void)
{
	if (!installed && __sanitizer_install_malloc_and_free_hooks &&
	    __sanitizer_get_allocated_size)
		__sanitizer_install_malloc_and_free_hooks(taken, given);
	installed = true;
	held = most = 0;
	watching = true;
}

bool heap_watch(bool on)
{
	bool was = watching;

	watching = on;
	return was;
}

size_t heap_most(void)
{
	return (size_t)most;
}

void heap_on_death(void (*fn)(void))
{
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(fn);
}
