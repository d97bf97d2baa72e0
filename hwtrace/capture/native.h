/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_NATIVE_H
#define HWT_CAPTURE_NATIVE_H

/*
 * Writes a native capture, the directory NAME.hwt/ (hwtrace-capture(5)). Everything is only ever
 * appended, in blocks with a checksum each: whatever instant the writer dies at, what was written
 * before can be read. Blocks are filled in memory; a kill loses at most what came after the last
 * native_sync().
 *
 * Functions return 0 or a negative code. The first failure of the system (disk full, no memory)
 * stays: every later call returns it too, and native_diag() has its words. What a call refuses
 * because of its arguments (-EINVAL, -E2BIG) changes nothing and does not stay.
 *
 * Times are base clock, ns, unless said otherwise. Not for several threads at once.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/err.h>
#include <hwtrace/image.h>

#include "../source/capture.h"

struct native_writer;

/*
 * Makes directory @dir. One that exists is refused (-EEXIST), with @force only if it is no native
 * capture; else the files of the old capture are removed first, and nothing but those.
 */
int native_create(struct native_writer **out, const char *dir, bool force, struct hwt_diag *diag);
/*
 * Writes what is left, says that the capture is whole, and frees. Returns the error that stayed,
 * with its words in @diag (NULL is fine). @w NULL is fine.
 */
int native_close(struct native_writer *w, struct hwt_diag *diag);
/* Has any trace been written? What only waits in memory does not count. */
bool native_traced(const struct native_writer *w);
/* Takes away what was written, and the directory if it was made for it; frees. */
void native_discard(struct native_writer *w);
/* Everything that was given so far is handed to the system. */
int native_sync(struct native_writer *w);
/*
 * From now on all that was handed to the system is put on the disk, each second, by a thread of
 * its own; native_close() waits until all is there. A disk that fails is told by native_sync().
 */
int native_durable(struct native_writer *w);
/* What went wrong; code 0 if nothing did. */
const struct hwt_diag *native_diag(const struct native_writer *w);
uint64_t native_records(const struct native_writer *w);	/* of kernel/ and dirty/, so far */
/* Of them: clock.sync records that came through native_event(). */
uint64_t native_readings(const struct native_writer *w);
uint64_t native_bytes(const struct native_writer *w);	/* written so far, all files */

/*
 * A line of hwtrace.ini. Section "capture" has the keys that "info" knows: recorder ("model" is
 * shown as simulation), arch ("x86_64", "aarch64"), host, release, cmdline, cpu; all others are
 * shown as they are. A key set again counts as set last. Any text is fine as value, up to 4 KiB.
 */
int native_set(struct native_writer *w, const char *section, const char *key, const char *fmt,
	       ...) __attribute__((format(printf, 4, 5)));

/* Sets recorder, arch, host and release of this machine, and of @argv (NULL: none) cmdline. */
int native_origin(struct native_writer *w, const char *recorder, char *const *argv);

/* The clock of kernel records and trace, and what its ticks are worth. Set it before the first. */
struct native_clock {
	const char *counter;	/* "tsc", "cntvct", "qemu-insns": what the ticks are of */
	const char *base;	/* clock that @map leads to: "CLOCK_MONOTONIC", "" if none */
	uint64_t frequency;	/* ticks in a second, 0: not known */
	/* ticks to base ns; mult 0: made of @frequency if nanoseconds are exact, else none */
	struct time_map map;
	int64_t wall;		/* what to add to base ns for ns since 1970 UTC; 0: not known */
	bool from_records;	/* no map: clock.sync records tell it */
};
int native_clock(struct native_writer *w, const struct native_clock *clock);

/*
 * A trace buffer; @cfgs as a reader would have them (one for PT and for unformatted trace).
 * Returns its number for the calls below.
 */
int native_add_buf(struct native_writer *w, const char *name, int32_t cpu, int32_t pid,
		   int32_t tid, unsigned framing, const struct trace_cfg *cfgs, size_t ncfgs);
/*
 * Bytes that the unit sent, appended. @time: when they were taken, HWT_TIME_UNKNOWN if nobody
 * knows. They continue those before unless native_hole() or native_span() came between.
 */
int native_trace(struct native_writer *w, int buf, uint64_t time, const void *p, size_t n);
/*
 * Bytes are missing here, or at the end if no more follow: @cause is enum hwt_gap_cause, NONE for
 * a new start of the trace without loss; @lost bytes, 0 if not known.
 */
int native_hole(struct native_writer *w, int buf, unsigned cause, uint64_t lost);
/* Begins a new span with all that a reader may know of one; @p, size and file do not count. */
int native_span(struct native_writer *w, int buf, const struct trace_span *s);

/* The state at the start of the capture; what changes later comes as kernel records. */
int native_task(struct native_writer *w, int32_t pid, int32_t tid, const char *comm);
int native_map(struct native_writer *w, const struct hwt_map *map);
/* CR3 or CONTEXTIDR of a process. */
int native_aspace(struct native_writer *w, uint64_t aspace, int32_t pid);
/*
 * Each time that the kernel's instruction at @addr runs, one record of @event ("sched.switch") is
 * written behind it and before its function returns; no other record of it is. Where that is so of
 * the functions PREFIX + Linux' name of the event, native_set() of "commits", "symbols" says it.
 */
int native_commit(struct native_writer *w, const char *event, uint64_t addr);

/*
 * Copies a file that code was mapped from: @path as maps name it, @from where it can be read
 * (NULL: @path), such as /proc/PID/map_files/... A copy of the same path and build-id is taken
 * once. If it can not be read the negative code is returned and does not stay: native_pages()
 * then serves.
 */
int native_file(struct native_writer *w, const char *path, const char *from,
		const uint8_t *build_id, size_t id_size);
/*
 * Bytes of code in memory of @pid (HWT_NONE: of all) from @time on, 0 for always: code without a
 * file, or of one that can not be read, and again when it changed.
 */
int native_pages(struct native_writer *w, int32_t pid, uint64_t addr, uint64_t time,
		 const void *p, size_t n);

/*
 * A kernel-side record of @cpu as <hwtrace/uapi.h> lays it out, @n bytes. Times of one CPU must
 * not go back (-EINVAL).
 */
int native_event(struct native_writer *w, int32_t cpu, const void *rec, size_t n);
/*
 * The same into a second file of the CPU, for who records beside another: the file has an order of
 * its own, and what one of them tells the other does not.
 */
int native_side(struct native_writer *w, int32_t cpu, const void *rec, size_t n);

/*
 * Events of the recording's own, in a trace beside that of the kernel: dirty/. Its clock is that of
 * kernel/ if @counter is called like it; else what clock.sync records in it tell. @events outlives
 * the writer. Once, before native_durable() and the first of its records, which are given as to
 * native_event().
 */
struct hwt_abi_own;
int native_dirty(struct native_writer *w, const char *counter, uint64_t frequency,
		 const struct hwt_abi_own *events, unsigned n);
int native_dirty_event(struct native_writer *w, int32_t cpu, const void *rec, size_t n);

/*
 * For packets that others make: the number of the trace that they must have. The clock is set
 * before, if it will be.
 */
int native_uuid(struct native_writer *w, uint8_t uuid[16]);
/*
 * Context fields of each record, bits of enum hwt_context, and events of the recording's own that
 * packets of others have. Before anything of kernel/ is written; @events outlives the writer.
 */
void native_own(struct native_writer *w, uint32_t contexts, const struct hwt_abi_own *events,
		unsigned n);
/* The other way round: the trace has that number. Before anything of kernel/ is written. */
int native_take_uuid(struct native_writer *w, const uint8_t uuid[16]);
/*
 * A whole packet of kernel records as <hwtrace/uapi.h> lays it out, appended to the file of the CPU
 * that it names, with a checksum. -EINVAL if it is none, is of another trace, or @n bytes is not
 * what it says; or native_event() was called for the CPU.
 */
int native_packet(struct native_writer *w, void *packet, size_t n);

#endif
