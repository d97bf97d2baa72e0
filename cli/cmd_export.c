/* SPDX-License-Identifier: BSD-2-Clause */
/* export: a capture as a file of another tool. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static char *text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return s;
}

static void on_note(void *arg, const struct hwt_diag *d)
{
	struct run *r = arg;
	const struct hwt_error_info *info = hwt_error_info(d->id);

	if (!r->opts.quiet)
		say(info ? info->hint : NULL, "%s [E%03u]", d->text, d->id);
}

/* @s for a shell; the whole is owned by the caller. */
static char *quoted(const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		"/._-+,:@%=";
	size_t n = strlen(s), k = 0;
	char *q;

	if (n && strspn(s, plain) == n)
		return strdup(s);
	q = malloc(4 * n + 3);
	if (!q)
		return NULL;
	q[k++] = '\'';
	for (; *s; s++) {
		if (*s == '\'') {
			memcpy(q + k, "'\\''", 4);
			k += 4;
		} else {
			q[k++] = *s;
		}
	}
	q[k++] = '\'';
	q[k] = 0;
	return q;
}

/* How perf is called for the file that was written. */
static char *perf_call(const struct run *r, const struct hwt_export_result *res)
{
	const char *name = r->opts.output && strcmp(r->opts.output, "-") ? r->opts.output :
		"FILE";
	const char *root = r->opts.images ? r->opts.images :
		res->elsewhere ? r->opts.open.sysroot : NULL;
	/* without times perf 6.1 stops at the first timestamp in CoreSight trace, but for "Z" */
	const char *how = res->proto == HWT_PROTO_PT ? "i0ns" : res->timed ? "i1i" : "Zi1i";
	char *file = quoted(name), *dir = root ? quoted(root) : NULL, *out = NULL;

	if (file && (!root || dir))
		out = text("perf script -i %s --itrace=%s -F comm,tid,%sip,sym%s%s", file,
			   how, res->timed ? "time," : "", dir ? " --symfs " : "",
			   dir ? dir : "");
	free(file);
	free(dir);
	return out;
}

static void summary(struct run *r, const struct hwt_export_result *res)
{
	char left[64] = "";

	if (res->left_out)
		snprintf(left, sizeof(left), ", %u left out", res->left_out);
	r->closing = text("%s: %llu bytes, %s of %u buffer%s%s: %llu bytes of trace, %u map%s of "
			  "code, %u file%s of code", r->opts.output ? r->opts.output : "-",
			  (unsigned long long)res->bytes, hwt_proto_name(res->proto), res->bufs,
			  out_s(res->bufs), left, (unsigned long long)res->trace_bytes,
			  res->maps, out_s(res->maps), res->files, out_s(res->files));
	r->closing_hint = perf_call(r, res);
}

static int code_of(int rc, const struct hwt_diag *d)
{
	if (rc == -EINTR && run_interrupted)
		return EXIT_INTERRUPTED;
	return d->id == 8 ? EXIT_USAGE : rc == -HWT_E_FORMAT ? EXIT_INPUT : EXIT_OUTPUT;
}

/* What is not whole would be taken for a recording that was cut. */
static void remove_output(struct run *r)
{
	struct stat a, b;

	if (r->out->owned && !fstat(r->out->fd, &a) && S_ISREG(a.st_mode) &&
	    !lstat(r->opts.output, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		unlink(r->opts.output);
}

int cmd_export(struct run *r)
{
	struct hwt_export_opts o = { .size = sizeof(o), .images = r->opts.images,
		.force = r->opts.force, .stop = &run_interrupted, .note = on_note, .arg = r };
	struct hwt_diag diag = { .off = HWT_NO_OFF };
	struct hwt_export_result res;
	bool file = r->opts.output && strcmp(r->opts.output, "-");
	int rc;

	if (!r->opts.to) {
		say("hwtrace export --to perf -o perf.data FILE", "export: --to is missing");
		return EXIT_USAGE;
	}
	if (r->opts.ncpus) {
		say("FAMILY/MODEL/STEPPING of a raw dump", "export: all CPUs are written, --cpu "
		    "names a processor only");
		return EXIT_USAGE;
	}
	if (!file && isatty(STDOUT_FILENO)) {
		say("-o FILE, or a pipe", "export: the output is no text for a terminal");
		return EXIT_USAGE;
	}
	rc = run_open(r);
	if (rc)
		return rc;
	rc = hwt_export_perf(r->session, r->out->fd, &o, &res, &diag);
	if (!rc) {
		summary(r, &res);
		return EXIT_OK;
	}
	remove_output(r);
	if (rc != -EPIPE && !run_interrupted) {
		if (!*diag.file && diag.id == 7)
			snprintf(diag.file, sizeof(diag.file), "%s", file ? r->opts.output :
				 "standard output");
		say_diag(&diag, rc, r->opts.args[0]);
	}
	r->failed = code_of(rc, &diag);
	return r->failed;
}
