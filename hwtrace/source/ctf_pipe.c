/* SPDX-License-Identifier: BSD-2-Clause */
/* The process that libbabeltrace2 runs in, and the pipe that its messages come through. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "ctf.h"

#define BUF		(2u * CTF_MSG_MAX)
#define PIPE		(1 << 20)	/* bytes */
#define MAX_MEMORY	(256ul << 20)	/* bytes of it, without mapped files */

struct ctf_pipe {
	pid_t pid;
	int fd, log;
	bool end;		/* no more comes */
	size_t head, tail;	/* unread bytes are buf[head..tail) */
	uint8_t buf[BUF];
};

/* --- in the process --- */

static void limit(int what, rlim_t max)
{
	struct rlimit r = { .rlim_cur = max, .rlim_max = max };

	setrlimit(what, &r);
}

static __attribute__((noreturn)) void child(const struct ctf_job *job, int fd, int log)
{
	struct ctf_job j = *job;
	sigset_t none;
	int null;

	/* handlers are the parent's, and would end its files; who waits for us ends us */
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* away from 0 to 4, then into their places; nobody may wait for the end of others' files */
	fd = fcntl(fd, F_DUPFD, 5);
	log = fcntl(log, F_DUPFD, 5);
	null = open("/dev/null", O_RDWR);
	if (fd < 0 || log < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
	    dup2(log, 2) < 0 || dup2(fd, 3) < 0 || dup2(log, 4) < 0)
		_exit(1);
	if (close_range(5, ~0u, 0))	/* Linux before 5.9 */
		for (int i = 5; i < 1024; i++)
			close(i);
	limit(RLIMIT_CORE, 0);
#ifndef __SANITIZE_ADDRESS__
	limit(RLIMIT_DATA, MAX_MEMORY);
#endif
	j.guard = true;
	ctf_lib_run(&j, 3, 4);
	_exit(0);
}

/* --- what is left of it --- */

/* The last line that it left, without time and place; why it aborts is before that it does. */
static void last_words(struct ctf_pipe *p, char *out, size_t size)
{
	char buf[4096], *line, *save = NULL;
	off_t to = lseek(p->log, 0, SEEK_END), from = to > (off_t)sizeof(buf) - 1 ?
		to - ((off_t)sizeof(buf) - 1) : 0;
	ssize_t n = to > 0 ? pread(p->log, buf, sizeof(buf) - 1, from) : 0;

	*out = 0;
	buf[n > 0 ? n : 0] = 0;
	for (line = strtok_r(buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *at = strstr(line, ".c:");

		at = at ? strchr(at, ' ') : NULL;
		if (strstr(line, "Aborting..."))
			continue;
		snprintf(out, size, "%s", at ? at + 1 : line);
	}
}

static int how_it_ended(struct ctf_pipe *p, struct hwt_diag *diag)
{
	char words[160];
	int st = 0, rc;

	do {
		rc = waitpid(p->pid, &st, 0);
	} while (rc < 0 && errno == EINTR);
	p->pid = 0;
	last_words(p, words, sizeof(words));
	if (rc > 0 && WIFSIGNALED(st) && WTERMSIG(st) == SIGXCPU)
		return diag_set(diag, -HWT_E_LIB, E_CTF_LIB, NULL, HWT_NO_OFF,
				"libbabeltrace2 does not come on: it ran for 20 seconds without "
				"an event");
	if (rc > 0 && WIFSIGNALED(st))
		return diag_set(diag, -HWT_E_LIB, E_CTF_LIB, NULL, HWT_NO_OFF,
				"libbabeltrace2 was ended by signal %d (%s)%s%s", WTERMSIG(st),
				strsignal(WTERMSIG(st)), *words ? ": " : "", words);
	return diag_set(diag, -HWT_E_LIB, E_CTF_LIB, NULL, HWT_NO_OFF,
			"libbabeltrace2 ended too early%s%s", *words ? ": " : "", words);
}

/* --- the other side --- */

int ctf_pipe_open(struct ctf_pipe **out, const struct ctf_job *job)
{
	struct ctf_pipe *p = malloc(sizeof(*p));
	int fd[2], rc = 0;

	if (!p)
		return -ENOMEM;
	p->head = p->tail = 0;
	p->end = false;
	p->log = memfd_create("libbabeltrace2", MFD_CLOEXEC);
	if (p->log < 0 || pipe2(fd, O_CLOEXEC) < 0) {
		rc = -errno;
		if (p->log >= 0)
			close(p->log);
		free(p);
		return rc;
	}
	fcntl(fd[1], F_SETPIPE_SZ, PIPE);
	p->pid = fork();
	if (!p->pid)
		child(job, fd[1], p->log);
	rc = p->pid < 0 ? -errno : 0;
	p->fd = fd[0];
	close(fd[1]);
	if (rc) {
		p->pid = 0;
		ctf_pipe_close(p);
		return rc;
	}
	*out = p;
	return 0;
}

void ctf_pipe_close(struct ctf_pipe *p)
{
	if (!p)
		return;
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(p->fd);
	close(p->log);
	free(p);
}

void ctf_pipe_release(struct ctf_pipe *p)
{
	memmove(p->buf, p->buf + p->head, p->tail - p->head);
	p->tail -= p->head;
	p->head = 0;
}

int ctf_pipe_next(struct ctf_pipe *p, const struct ctf_msg **m, struct hwt_diag *diag)
{
	const struct ctf_msg *at;
	ssize_t n;
	int rc;

	if (p->end)
		return 0;
	while (!(rc = ctf_msg_whole(p->buf + p->head, p->tail - p->head))) {
		if (p->tail == sizeof(p->buf))
			return -EAGAIN;
		n = read(p->fd, p->buf + p->tail, sizeof(p->buf) - p->tail);
		if (n < 0)
			return errno == EINTR ? -EINTR : diag_set(diag, -errno, E_CTF_LIB, NULL,
					HWT_NO_OFF, "%s", strerror(errno));
		if (!n) {
			p->end = true;
			return how_it_ended(p, diag);
		}
		p->tail += (size_t)n;
	}
	if (rc < 0) {
		p->end = true;
		return diag_set(diag, rc, E_CTF_LIB, NULL, HWT_NO_OFF,
				"libbabeltrace2's process sends what is no message");
	}
	/* messages have a multiple of 8 bytes, the buffer is aligned */
	at = (const struct ctf_msg *)(const void *)(p->buf + p->head);
	p->head += at->size;
	p->end = at->type == CTF_END;
	*m = at;
	return 1;
}
