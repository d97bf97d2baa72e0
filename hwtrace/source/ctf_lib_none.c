/* SPDX-License-Identifier: BSD-2-Clause */
/* Where libbabeltrace2 is not installed: foreign CTF can not be read, and the reader says so. */
#include "ctf.h"

bool ctf_lib_here(void)
{
	return false;
}

void ctf_lib_run(const struct ctf_job *job, int fd, int log)
{
}
