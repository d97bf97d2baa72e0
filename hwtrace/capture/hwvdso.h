/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_HWVDSO_H
#define HWT_CAPTURE_HWVDSO_H

struct native_writer;

/*
 * Code that the kernel maps into each program ("[vdso]") has no file: this program's own, which is
 * the same for all of its kind (64-bit programs), is copied as one. 0, also where there is none, or
 * an error of the writer.
 */
int hwvdso_copy(struct native_writer *w);

#endif
