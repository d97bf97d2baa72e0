/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals: Ctrl-C, and files that become shorter while they are mapped. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

volatile sig_atomic_t run_interrupted, run_has_output, run_snapshots;

static struct run *running;

static void on_signal(int sig)
{
	/* opening may take long and does not look here; there is nothing yet to be kept whole */
	if (!run_has_output)
		_exit(EXIT_INTERRUPTED);
	run_interrupted = 1;
}

static void on_ignored(int sig)
{
}

/*
 * The call that the signal is about fails instead, and its error is told. A handler, as what is
 * ignored would be so in a program that we execute, too.
 */
static void ignore(int sig)
{
	struct sigaction sa = { .sa_handler = on_ignored, .sa_flags = SA_RESTART }, old;

	if (!sigaction(sig, NULL, &old) && old.sa_handler != SIG_IGN)
		sigaction(sig, &sa, NULL);
}

/* Path of the mapping that @addr lies in, in @line; NULL if there is none. */
static const char *mapped_file(uintptr_t addr, char *line, size_t size)
{
	FILE *f = fopen("/proc/self/maps", "r");
	const char *path = NULL;
	unsigned long from, to;
	int at = 0;

	while (f && !path && fgets(line, (int)size, f)) {
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &from, &to, &at) < 2)
			continue;
		if (addr >= from && addr < to) {
			line[strcspn(line, "\n")] = 0;
			path = line + at;
		}
	}
	if (f)
		fclose(f);
	return path;
}

/*
 * Raised by our own read of a page that the file no longer has, so never inside the C library's
 * own data: it may be used here. What was decoded up to the page is kept, as whole lines.
 */
static void on_bus(int sig, siginfo_t *si, void *context)
{
	static char line[4096 + 128];
	const char *path = mapped_file((uintptr_t)si->si_addr, line, sizeof(line));
	struct out *o = running->out;

	if (si->si_code != BUS_ADRERR || !path || !*path) {
		signal(sig, SIG_DFL);	/* a fault of the program: comes again */
		return;
	}
	if (run_has_output) {
		while (o->n && o->buf[o->n - 1] != '\n')
			o->n--;
		out_flush(o);
	}
	say("copy the file once its writer is done; what was read before is shown",
	    "%s: became shorter while it was read [E004]", path);
	if (running->pager) {
		close(STDOUT_FILENO);
		waitpid(running->pager, NULL, 0);
	}
	_exit(EXIT_INPUT);
}

/*
 * A recorder that dies while it steps takes a process that is not its own with it: the trap flag
 * stays set. So each of these asks for the end, as often as it comes; timeout(1) and a terminal
 * send the same one twice. What nohup(1) and shells have ignored stays so.
 */
void sig_record(void (*handler)(int))
{
	struct sigaction sa = { .sa_handler = handler ? handler : on_signal }, old;
	static const int quiet[] = { SIGHUP, SIGQUIT };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
		if (!sigaction(quiet[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(quiet[i], &sa, NULL);
}

void sig_init(struct run *r)
{
	/* the second one ends the program at once */
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };
	struct sigaction bus = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_RESETHAND };

	running = r;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGBUS, &bus, NULL);
	signal(SIGPIPE, SIG_DFL);	/* a closed pipe ends the program quietly */
	ignore(SIGXFSZ);
}

static void on_snapshot(int sig)
{
	run_snapshots = (run_snapshots + 1) & 0x7fff;
}

void sig_snapshots(void)
{
	struct sigaction sa = { .sa_handler = on_snapshot, .sa_flags = SA_RESTART };

	sigaction(SIGUSR2, &sa, NULL);
}
