/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings that are mapped, and given to pipes, while others try to write there. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "client.h"
#include "work.h"

#define SUB	4096u
#define SUBS	16u
#define RING	(SUB * SUBS)
#define CALLS	100000

static const uint16_t calls[] = { HWT_ID_syscall_enter, HWT_ID_syscall_exit };
static const struct client_opts opts = { .ids = calls, .nids = 2, .sub_size = SUB, .subs = SUBS };

static void begin(struct client *c, const struct client_opts *o)
{
	if (client_open(c, o) || client_start(c))
		client_fail("a session");
}

static void refused(int fd, size_t n, int prot, off_t off, int error)
{
	errno = 0;
	if (mmap(NULL, n, prot, MAP_SHARED, fd, off) != MAP_FAILED || errno != error)
		client_fail("map of %zu at %" PRId64 ", prot %d: %s", n, (int64_t)off, prot,
			    strerror(errno));
}

static sigjmp_buf out;

static void on_fault(int sig)
{
	siglongjmp(out, 1);
}

/* All ways to write through a map that come to mind; each must fail. */
static void write_there(uint8_t *p, size_t n)
{
	static atomic_uint x;
	struct iovec from = { &x, 4 }, to = { p + x % (n - 4), 4 };
	int fd;

	x = x * 1664525 + 1013904223;
	signal(SIGSEGV, on_fault);
	if (!sigsetjmp(out, 1)) {
		*(volatile uint32_t *)(p + x % (n - 4) / 4 * 4) = x;
		client_fail("a map can be written");
	}
	signal(SIGSEGV, SIG_DFL);
	if (!mprotect(p, n, PROT_READ | PROT_WRITE) || errno != EACCES)
		client_fail("a map becomes one that can be written: %s", strerror(errno));
	if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) >= 0)
		client_fail("process_vm_writev() writes into a map");
	fd = open("/proc/self/mem", O_RDWR);
	if (fd < 0 || pwrite(fd, &x, 4, (off_t)(uintptr_t)to.iov_base) >= 0)
		client_fail("/proc/self/mem writes into a map");
	close(fd);
	fd = open("/dev/zero", O_RDONLY);
	if (read(fd, p, 64) >= 0 || errno != EFAULT)
		client_fail("read() writes into a map");
	close(fd);
}

/* Packets that are given back and are none of the caller's, or none at all. */
static void put_nonsense(int fd)
{
	struct hwt_kmod_packet p;

	for (int i = 0; i < 16; i++) {
		for (unsigned k = 0; k < sizeof(p) / 4; k++)
			((uint32_t *)&p)[k] = (uint32_t)random();
		p.size = sizeof(p);
		p.cpu &= 1;
		p.number |= 1ull << 40;
		if (!ioctl(fd, HWT_KMOD_PUT, &p) || errno != ESTALE)
			client_fail("a packet that is none is taken back: %s", strerror(errno));
		p.cpu = (uint32_t)random() | 1u << 20;
		if (!ioctl(fd, HWT_KMOD_PUT, &p) || errno != EINVAL)
			client_fail("a packet of no CPU is taken back: %s", strerror(errno));
	}
}

/* More than is read, through maps; meanwhile all that could disturb it is tried. */
static void mapped(bool overwrite)
{
	struct client_opts o = opts;
	struct client c;
	uint64_t produced = 0;

	o.overwrite = overwrite;
	o.mapped = true;
	begin(&c, &o);
	work_load(CALLS);
	for (int i = 0; work_loads(); i++) {
		client_read(&c);
		if (i % 16 == 0) {
			write_there((uint8_t *)c.map[0], RING);
			put_nonsense(c.fd);
			usleep(20000);
		}
	}
	work_loaded();
	client_finish(&c);
	for (int i = 0; i < CLIENT_CPUS; i++)
		produced += c.cpu[i].produced;
	if (produced < 4 * CALLS)
		client_fail("mapped: %" PRIu64 " produced", produced);
	printf("# mapped, %s: %" PRIu64 " produced, %" PRIu64 " given back too late\n",
	       overwrite ? "overwrite" : "discard", produced, c.stale);
}

static void limits(void)
{
	struct client_opts o = opts;
	struct client c;
	void *p;

	if (client_open(&c, &o))
		client_fail("a session");
	refused(c.fd, RING, PROT_READ | PROT_WRITE, 0, EPERM);
	refused(c.fd, RING, PROT_READ | PROT_EXEC, 0, EPERM);
	refused(c.fd, RING / 2, PROT_READ, 0, EINVAL);
	refused(c.fd, 2 * RING, PROT_READ, 0, EINVAL);
	refused(c.fd, RING, PROT_READ, 4096, EINVAL);
	refused(c.fd, RING, PROT_READ, (off_t)RING * 4096, EINVAL);
	refused(c.fd, RING, PROT_READ, (off_t)1 << 62, EINVAL);
	p = mmap(NULL, RING, PROT_READ, MAP_PRIVATE, c.fd, RING);
	if (p == MAP_FAILED)
		client_fail("a private map: %s", strerror(errno));
	else
		write_there(p, RING);
	if (mremap(p, RING, 2 * RING, MREMAP_MAYMOVE) != MAP_FAILED)
		client_fail("a map grows");
	if (pread(c.fd, &o, 8, 0) >= 0 || errno != ESPIPE)
		client_fail("the device has positions");
	munmap(p, RING);
	close(c.fd);
}

/* The child has the descriptor, but not the map; the session ends with the last of both. */
static void owners(void)
{
	struct client_opts o = opts;
	struct client c[2];
	const uint8_t *map;
	int status;
	pid_t p;

	o.mapped = true;
	begin(&c[0], &o);
	map = c[0].map[0];
	p = fork();
	if (!p) {
		_exit(*(volatile const uint8_t *)map);
	}
	waitpid(p, &status, 0);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
		client_fail("a child has the map: %x", status);
	munmap((void *)c[0].map[1], RING);
	close(c[0].fd);
	/* one that is only mapped goes on, and disturbs nobody */
	work_calls();
	begin(&c[1], &opts);
	work_calls();
	client_finish(&c[1]);
	for (unsigned i = 0; i < RING; i += 4096)
		if (map[i] != 0 && memcmp(map + i, "\xc1\x1f\xfc\xc1", 4))
			client_fail("a map after its file was closed");
	munmap((void *)map, RING);
}

static ssize_t through(int fd, uint64_t off, int pipe_in, size_t n)
{
	loff_t at = (loff_t)off;
	size_t done = 0;

	while (done < n) {
		ssize_t k = splice(fd, &at, pipe_in, NULL, n - done, 0);

		if (k <= 0)
			return k < 0 ? -errno : (ssize_t)done;
		done += (size_t)k;
	}
	return (ssize_t)done;
}

/* The same bytes through a pipe into a file, and from a pipe that outlives the session. */
static void pipes(void)
{
	struct hwt_kmod_packet p = { .size = sizeof(p) };
	int fds[2], file = open("/tmp/spliced", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct client_opts o = opts;
	static uint8_t buf[SUB];
	unsigned packets = 0;
	struct client c;

	o.mapped = true;
	begin(&c, &o);
	if (pipe(fds))
		return;
	for (int i = 0; i < 20; i++) {
		work_calls();
		for (p.cpu = 0; p.cpu < 2; p.cpu++)
			while (!ioctl(c.fd, HWT_KMOD_GET, &p)) {
				const uint8_t *at = (const uint8_t *)c.map[p.cpu] + p.offset % RING;

				if (through(c.fd, p.offset, fds[1], p.bytes) != p.bytes ||
				    splice(fds[0], NULL, file, NULL, p.bytes, 0) != p.bytes ||
				    pread(file, buf, p.bytes, lseek(file, 0, SEEK_CUR) - p.bytes) !=
				    p.bytes || memcmp(buf, at, p.bytes))
					client_fail("a packet of %u bytes through a pipe: %s",
						    p.bytes, strerror(errno));
				packets++;
				if (ioctl(c.fd, HWT_KMOD_PUT, &p))
					client_fail("put: %s", strerror(errno));
			}
	}
	if (packets < 20 || through(c.fd, 1ull << 40, fds[1], 8) != -EINVAL)
		client_fail("%u packets, and from outside", packets);
	if (through(c.fd, 0, fds[1], SUB) != SUB)
		client_fail("a pipe");
	ioctl(c.fd, HWT_KMOD_STOP);
	for (int i = 0; i < 2; i++)
		munmap((void *)c.map[i], RING);
	close(c.fd);
	if (read(fds[0], buf, SUB) != SUB || memcmp(buf, "\xc1\x1f\xfc\xc1", 4))
		client_fail("a pipe after the session ended");
	close(fds[0]);
	close(fds[1]);
	close(file);
	printf("# %u packets through a pipe\n", packets);
}

void case_pages(void)
{
	srandom(5);
	limits();
	mapped(false);
	mapped(true);
	owners();
	pipes();
}
