/* SPDX-License-Identifier: BSD-2-Clause */
/* Which reader takes what: by content, by name, and what is said when none does. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "hwtrace/source/capture.h"

static char dir[] = "/tmp/hwt-open-XXXXXX";
static struct capture *c;
static struct hwt_diag diag;

static char *in_dir(const char *name)
{
	static char buf[256];

	snprintf(buf, sizeof(buf), "%s/%s", dir, name);
	return buf;
}

static char *put(const char *name, const void *p, size_t n)
{
	char *path = in_dir(name);
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	fclose(f);
	return path;
}

static int try(const char *path, const struct hwt_open_opts *o)
{
	static const struct hwt_open_opts none = { .size = sizeof(none) };

	diag = (struct hwt_diag){ .text = "" };
	capture_free(c);
	c = NULL;
	return source_open(&c, path, o ? o : &none, &diag);
}

static void fails(const char *path, const struct hwt_open_opts *o, int code, unsigned id,
		  const char *text)
{
	assert_int_equal(try(path, o), code);
	assert_null(c);
	assert_int_equal(diag.code, code);
	assert_int_equal(diag.id, id);
	if (!strstr(diag.text, text))
		fail_msg("%s", diag.text);
}

static const char psb[] = "\0\0\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82";

static void pt_by_content(void **state)
{
	struct hwt_open_opts o = { .size = sizeof(o), .cpu = "6/85/4" };

	assert_int_equal(try(put("x", psb, 18), &o), 0);
	assert_string_equal(c->format, "pt");
	assert_string_equal(c->path, in_dir("x"));
	assert_int_equal(c->bufs[0].cfgs[0].r.pt.model, 85);
	o.as = "pt";
	assert_int_equal(try(put("x", "y", 1), &o), 0);
}

static void cs_by_content(void **state)
{
	static const char frames[48] = "\x21\0\0\0\0\0\0\0\0\0\0\0\x80\x01\0\x80"
		"\x21\0\x04\x81\x10\x9d\0\0\x08\x08\x80\xff\xfe\xff\xf6\xc0"
		"\x21\xf6\xf6\0\x01\0\x01\0\x01\0\x01\0\x01\0\x01\x02";
	struct hwt_open_opts o = { .size = sizeof(o) };
	char conf[256];

	fails(put("x", frames, 48), NULL, -HWT_E_FORMAT, 84, "framing=memory");
	strcpy(conf, put("conf", "framing=memory\n[source]\nproto=ETM4\ntrace_id=0x10\n", 48));
	o.config = conf;
	assert_int_equal(try(in_dir("x"), &o), 0);
	assert_string_equal(c->format, "cs");
	assert_int_equal(c->bufs[0].framing, FRAMING_MEM);
	o.config = "/nonexistent";
	fails(in_dir("x"), &o, -ENOENT, 1, "open");
}

static void nobody(void **state)
{
	struct hwt_open_opts o = { .size = sizeof(o), .as = "elephant" };

	fails(put("x", "hello\n", 6), NULL, -HWT_E_FORMAT, 2, "format");
	fails(put("x", "", 0), NULL, -HWT_E_FORMAT, 5, "empty");
	fails(in_dir("x"), &o, -EINVAL, 2, "perf snapshot lldb native ctf ftrace pt cs");
	fails(in_dir("none"), NULL, -ENOENT, 1, "open");
	fails(dir, NULL, -HWT_E_FORMAT, 2, "directory");
	o.as = "pt";
	fails(dir, &o, -EISDIR, 1, "directory");
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	fails(in_dir("fifo"), NULL, -EINVAL, 1, "FIFO");
	unlink(in_dir("fifo"));
}

static void snapshots(void **state)
{
	static const char root[] = "[snapshot]\nversion=1.0\n[device_list]\n1=e.ini\n"
		"[trace]\nmetadata=t.ini\n";
	static const char trace[] = "[trace_buffers]\nbuffers=b\n[b]\nname=B\nfile=x\n"
		"format=source_data\n[source_buffers]\nS=B\n";
	static const char dev[] = "[device]\nname=S\nclass=trace_source\ntype=ITM\n"
		"[regs]\nITMTCR=0\n";

	put("x", "abc", 3);
	put("t.ini", trace, sizeof(trace) - 1);
	put("e.ini", dev, sizeof(dev) - 1);
	put("snapshot.ini", root, sizeof(root) - 1);
	assert_int_equal(try(dir, NULL), 0);
	assert_string_equal(c->format, "snapshot");
	assert_int_equal(c->bufs[0].spans[0].size, 3);
	assert_int_equal(try(in_dir("snapshot.ini"), NULL), 0);
	assert_string_equal(c->format, "snapshot");
	assert_int_equal(c->bufs[0].cfgs[0].proto, HWT_PROTO_ITM);
	unlink(in_dir("snapshot.ini"));
	put("contents.ini", root + 23, sizeof(root) - 24);
	assert_int_equal(try(dir, NULL), 0);
	assert_string_equal(c->format, "snapshot");
	unlink(in_dir("contents.ini"));
	unlink(in_dir("t.ini"));
	unlink(in_dir("e.ini"));
}

static void bundles(void **state)
{
	static const char json[] = " {\"type\":\"intel-pt\","
		"\"cpuInfo\":{\"vendor\":\"GenuineIntel\","
		"\"family\":6,\"model\":85,\"stepping\":4},"
		"\"cpus\":[{\"id\":3,\"iptTrace\":\"x\"}]}";

	put("x", psb, 18);
	put("trace.json", json, sizeof(json) - 1);
	assert_int_equal(try(dir, NULL), 0);
	assert_string_equal(c->format, "lldb");
	assert_int_equal(c->bufs[0].cpu, 3);
	assert_int_equal(try(in_dir("trace.json"), NULL), 0);
	assert_string_equal(c->format, "lldb");
	unlink(in_dir("x"));
	fails(in_dir("trace.json"), NULL, -HWT_E_FORMAT, 81, "no trace");
	put("trace.json", json, sizeof(json) - 2);
	fails(in_dir("trace.json"), NULL, -HWT_E_FORMAT, 80, "JSON");
	assert_int_equal(diag.off, sizeof(json) - 2);
	unlink(in_dir("trace.json"));
}

/* perf's directory form is known by what is in "data", which is not waited for */
static void perf_directory(void **state)
{
	put("data", "PERFILE2", 8);
	assert_true(try(dir, NULL) < 0);
	assert_string_equal(diag.file, in_dir("data"));
	put("data", "hello", 5);
	fails(dir, NULL, -HWT_E_FORMAT, 2, "directory");
	unlink(in_dir("data"));
	assert_int_equal(mkfifo(in_dir("data"), 0600), 0);
	fails(dir, NULL, -HWT_E_FORMAT, 2, "directory");
	unlink(in_dir("data"));
}

/* code that the user names must be there */
static void code(void **state)
{
	struct hwt_elf_arg e = { "/nonexistent", HWT_NO_ADDR };
	struct hwt_open_opts o = { .size = sizeof(o), .elfs = &e, .nelfs = 1 };
	struct hwt_map m;

	assert_true(try(put("x", psb, 18), &o) < 0);
	assert_null(c);
	e.path = "/proc/self/exe";
	assert_int_equal(try(in_dir("x"), &o), 0);
	assert_int_equal(hwt_image_map_at(c->image, 0, &m), 1);
	assert_int_equal(m.pid, HWT_NONE);
	o.nelfs = 0;
	o.kcore = "/nonexistent";
	assert_true(try(in_dir("x"), &o) < 0);
}

static void names(void **state)
{
	static const char *const want[] = { "perf", "snapshot", "lldb", "native", "ctf", "ftrace",
		"pt", "cs" };
	unsigned i;

	for (i = 0; source_at(i); i++) {
		assert_string_equal(source_at(i)->name, want[i]);
		assert_true(*source_at(i)->what);
	}
	assert_int_equal(i, sizeof(want) / sizeof(want[0]));
}

static int setup(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	capture_free(c);
	unlink(in_dir("x"));
	unlink(in_dir("conf"));
	return rmdir(dir);
}

int main(void)
{
	static const struct CMUnitTest t[] = {
		cmocka_unit_test(pt_by_content), cmocka_unit_test(cs_by_content),
		cmocka_unit_test(nobody), cmocka_unit_test(snapshots), cmocka_unit_test(bundles),
		cmocka_unit_test(perf_directory), cmocka_unit_test(code), cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(t, setup, teardown);
}
