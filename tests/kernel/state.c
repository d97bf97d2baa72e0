/* SPDX-License-Identifier: BSD-2-Clause */
/* The state that the module tells, and what its records make of it later, against /proc. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "client.h"

#define MAX 1024

struct task { int32_t tid, pid, ppid, prio; uint32_t state; char comm[64]; };
struct map {
	int32_t pid;
	uint64_t start, end, off, inode;
	unsigned major, minor, prot;
	char path[128];
};
struct module { uint64_t addr; char name[64]; };

struct image {
	struct task tasks[MAX];
	struct map maps[MAX];
	struct module modules[64];
	unsigned ntasks, nmaps, nmodules;
};

/* Of all CPUs, to be put in order. */
static struct { uint64_t time; struct hwt_rec *rec; } recs[65536];
static unsigned nrecs;

static void keep(void *arg, unsigned cpu, const struct hwt_rec *rec)
{
	if (nrecs == sizeof(recs) / sizeof(recs[0]))
		return;
	recs[nrecs].time = rec->time;
	recs[nrecs].rec = malloc(rec->size);
	memcpy(recs[nrecs++].rec, rec, rec->size);
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct task *find_task(struct image *m, int32_t tid)
{
	for (unsigned i = 0; i < m->ntasks; i++)
		if (m->tasks[i].tid == tid)
			return &m->tasks[i];
	return NULL;
}

static bool slurp(char *buf, size_t size, const char *fmt, int a, int b)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), fmt, a, b);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	close(fd);
	buf[n < 0 ? 0 : n] = 0;
	return n > 0;
}

/* proc(5): "tid (comm) state ppid ...", the 18th is the priority */
static void proc_task(struct image *m, int pid, int tid)
{
	struct task *t = &m->tasks[m->ntasks];
	char buf[1024], *p, *end;

	if (m->ntasks == MAX || !slurp(buf, sizeof(buf), "/proc/%d/task/%d/stat", pid, tid))
		return;
	p = strchr(buf, '(') + 1;
	end = strrchr(buf, ')');
	*t = (struct task){ .tid = tid, .pid = pid };
	snprintf(t->comm, sizeof(t->comm), "%.*s", (int)(end - p), p);
	t->state = end[2] == 'R' ? HWT_task_state_ready : end[2] == 'S' ? HWT_task_state_sleep : 99;
	t->ppid = (int32_t)strtol(end + 4, &p, 10);
	for (int i = 5; i < 18; i++)
		p = strchr(p + 1, ' ');
	t->prio = (int32_t)strtol(p, NULL, 10) + 100;
	m->ntasks++;
}

static void proc_maps(struct image *m, int pid)
{
	char line[512], path[32];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (f && m->nmaps < MAX && fgets(line, sizeof(line), f)) {
		struct map *k = &m->maps[m->nmaps];
		char r, w, x;
		int at;

		*k = (struct map){ .pid = pid };
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%c%c%*c %" SCNx64 " %x:%x %" SCNu64
			   " %n", &k->start, &k->end, &r, &w, &x, &k->off, &k->major, &k->minor,
			   &k->inode, &at) < 9 || x != 'x' || k->start >> 63)
			continue;
		k->prot = (r == 'r') | (w == 'w') << 1 | 4;
		line[strcspn(line, "\n")] = 0;
		snprintf(k->path, sizeof(k->path), "%s", line + at);
		m->nmaps++;
	}
	if (f)
		fclose(f);
}

static void proc_modules(struct image *m)
{
	FILE *f = fopen("/proc/modules", "r");
	struct module *k = m->modules;

	while (f && fscanf(f, "%63s %*u %*u %*s %*s %" SCNx64 "%*[^\n]", k->name, &k->addr) == 2) {
		k++;
		m->nmodules++;
	}
	if (f)
		fclose(f);
}

static void look_at_proc(struct image *m)
{
	DIR *d = opendir("/proc"), *t;
	struct dirent *e, *k;
	char path[300];

	memset(m, 0, sizeof(*m));
	while ((e = readdir(d))) {
		int pid = atoi(e->d_name);

		snprintf(path, sizeof(path), "/proc/%s/task", e->d_name);
		t = pid ? opendir(path) : NULL;
		while (t && (k = readdir(t)))
			if (atoi(k->d_name))
				proc_task(m, pid, atoi(k->d_name));
		if (t)
			closedir(t);
		if (pid)
			proc_maps(m, pid);
	}
	closedir(d);
	proc_modules(m);
}

static void add_task(struct image *m, int32_t pid, int32_t tid, const char *comm)
{
	struct task *t = find_task(m, tid);

	if (!t && m->ntasks < MAX)
		t = &m->tasks[m->ntasks++];
	if (!t)
		return;
	*t = (struct task){ .tid = tid, .pid = pid };
	snprintf(t->comm, sizeof(t->comm), "%s", comm);
}

static void drop_maps(struct image *m, int32_t pid, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < m->nmaps; i++)
		if (m->maps[i].pid == pid && m->maps[i].start >= start && m->maps[i].end <= end)
			m->maps[i--] = m->maps[--m->nmaps];
}

static void state_task(struct image *m, const struct hwt_rec_state_task *r)
{
	struct task *t;

	add_task(m, r->task_pid, r->task_tid, r->comm);
	t = find_task(m, r->task_tid);
	t->ppid = r->parent_pid;
	t->prio = r->prio;
	t->state = r->state;
}

static void add_map(struct image *m, struct map k, const struct hwt_rec *rec, uint32_t text)
{
	snprintf(k.path, sizeof(k.path), "%s",
		 text ? (const char *)rec + rec->size - text : "");
	/* it may have been told by its own record just before */
	drop_maps(m, k.pid, k.start, k.end);
	if (m->nmaps < MAX)
		m->maps[m->nmaps++] = k;
}

#define MAP(r, id) { .pid = (r)->map_pid, .start = (r)->addr, .end = (r)->addr + (r)->length, \
	.off = (r)->offset, .inode = (r)->inode, .major = (r)->major, .minor = (r)->minor, \
	.prot = (r)->prot }

static void apply(struct image *m, const struct hwt_rec *rec)
{
	const union { struct hwt_rec rec; struct hwt_rec_state_task task;
		struct hwt_rec_state_map smap; struct hwt_rec_state_module module;
		struct hwt_rec_sched_fork fork; struct hwt_rec_sched_comm comm;
		struct hwt_rec_sched_exit exit; struct hwt_rec_mm_map map;
		struct hwt_rec_mm_unmap unmap; } *r = (const void *)rec;
	struct task *t;

	switch (rec->id) {
	case HWT_ID_state_task: state_task(m, &r->task); break;
	case HWT_ID_state_map:
		add_map(m, (struct map)MAP(&r->smap, state), rec, r->smap.path_size);
		break;
	case HWT_ID_state_module:
		m->modules[m->nmodules].addr = r->module.addr;
		snprintf(m->modules[m->nmodules++].name, 64, "%s",
			 (const char *)rec + rec->size - r->module.name_size);
		break;
	case HWT_ID_sched_fork:
		add_task(m, r->fork.child_pid, r->fork.child_tid, r->fork.comm);
		break;
	case HWT_ID_sched_comm:
		t = find_task(m, r->comm.task_tid);
		if (t)
			snprintf(t->comm, sizeof(t->comm), "%s", r->comm.comm);
		break;
	case HWT_ID_sched_exit:
		t = find_task(m, r->exit.task_tid);
		if (t)
			*t = m->tasks[--m->ntasks];
		if (r->exit.last)
			drop_maps(m, r->exit.task_pid, 0, UINT64_MAX);
		break;
	case HWT_ID_mm_map: add_map(m, (struct map)MAP(&r->map, mm), rec, r->map.path_size); break;
	case HWT_ID_mm_unmap:
		drop_maps(m, r->unmap.map_pid, r->unmap.addr, r->unmap.addr + r->unmap.length);
		break;
	}
}

/* /proc has whole names of kernel threads, and of workers what they do behind it. */
static bool same_name(const char *rec, const char *proc)
{
	size_t n = strlen(rec);

	return !strcmp(rec, proc) || (!strncmp(rec, proc, n) &&
				      (n == 15 || proc[n] == '-' || proc[n] == '+'));
}

static bool same_task(const struct task *rec, const struct task *proc)
{
	return rec && rec->pid == proc->pid && same_name(rec->comm, proc->comm);
}

static bool has_map(const struct image *m, const struct map *k)
{
	for (unsigned i = 0; i < m->nmaps; i++)
		if (!memcmp(&m->maps[i], k, sizeof(*k)))
			return true;
	return false;
}

/*
 * What was in /proc before and after must be in @rec, and what is in @rec must be in one of both.
 * Tasks that come and go meanwhile are in either.
 */
static void compare(const char *what, struct image *rec, struct image *a, struct image *b)
{
	unsigned both = 0, maps = 0;

	for (unsigned i = 0; i < a->ntasks; i++) {
		struct task *k = &a->tasks[i], *after = find_task(b, k->tid);

		if (!after || strcmp(after->comm, k->comm))
			continue;
		both++;
		if (!same_task(find_task(rec, k->tid), k))
			client_fail("%s: task %d of %d, %s, is not told", what, k->tid, k->pid,
				    k->comm);
	}
	for (unsigned i = 0; i < rec->ntasks; i++) {
		struct task *k = &rec->tasks[i], *x = find_task(a, k->tid);
		struct task *y = find_task(b, k->tid);

		/* one that was told as ended may be gone since */
		if ((k->state == HWT_task_state_zombie || k->state == HWT_task_state_dead) && !y)
			continue;
		if (!(x && same_task(k, x)) && !(y && same_task(k, y)))
			client_fail("%s: task %d of %d, %s, is not there (%s %s)", what, k->tid,
				    k->pid, k->comm, x ? x->comm : "", y ? y->comm : "");
	}
	for (unsigned i = 0; i < a->nmaps; i++)
		if (has_map(b, &a->maps[i])) {
			maps++;
			if (!has_map(rec, &a->maps[i]))
				client_fail("%s: map %" PRIx64 " of %d, %s, is not told", what,
					    a->maps[i].start, a->maps[i].pid, a->maps[i].path);
		}
	for (unsigned i = 0; i < rec->nmaps; i++)
		if (!has_map(a, &rec->maps[i]) && !has_map(b, &rec->maps[i]))
			client_fail("%s: map %" PRIx64 " of %d, %s, is not there", what,
				    rec->maps[i].start, rec->maps[i].pid, rec->maps[i].path);
	printf("# %s: %u tasks and %u maps as in /proc\n", what, both, maps);
	if (both < 20 || maps < 4)
		client_fail("%s: that are few", what);
}

static void compare_modules(const struct image *rec, const struct image *proc)
{
	unsigned same = 0;

	for (unsigned i = 0; i < rec->nmodules; i++)
		for (unsigned k = 0; k < proc->nmodules; k++)
			same += rec->modules[i].addr == proc->modules[k].addr &&
				!strcmp(rec->modules[i].name, proc->modules[k].name);
	if (same != proc->nmodules || same != rec->nmodules || same < 2)
		client_fail("%u modules are told, %u are there, %u the same", rec->nmodules,
			    proc->nmodules, same);
	printf("# %u modules\n", same);
}

static void *idle(void *arg)
{
	prctl(PR_SET_NAME, "state-thread");
	for (;;)
		pause();
	return arg;
}

/* Is there while the state is told; then it maps and unmaps code, and has children. */
static int child(int in, int out)
{
	int fd = open("/bin/busybox", O_RDONLY);
	pthread_t t;
	pid_t p;
	char c = 0, *m;

	prctl(PR_SET_NAME, "state-child");
	if (setpriority(PRIO_PROCESS, 0, 5))
		return 1;
	pthread_create(&t, NULL, idle, NULL);
	m = mmap(NULL, 8 * 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
	usleep(50000);
	if (write(out, &c, 1) != 1 || read(in, &c, 1) != 1)
		return 1;
	munmap(m, 8 * 4096);
	mmap(NULL, 3 * 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 8192);
	mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	prctl(PR_SET_NAME, "state-renamed");
	p = fork();
	if (!p)
		_exit(0);
	waitpid(p, NULL, 0);
	if (write(out, &c, 1) != 1)
		return 1;
	for (;;)
		pause();
}

static unsigned tell(struct client *c)
{
	unsigned calls = 0;
	int rc;

	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	do {
		rc = ioctl(c->fd, HWT_KMOD_STATE);
		calls++;
		while (client_read(c) > 0)
			;
	} while (rc == 1 && calls < 10000);
	if (rc)
		client_fail("state: %s", strerror(errno));
	return calls;
}

void client_state(struct client *c)
{
	int flags = fcntl(c->fd, F_GETFL);

	tell(c);
	fcntl(c->fd, F_SETFL, flags);
}

static void check_child(struct image *m, int32_t pid, struct image *proc)
{
	const struct task *t = find_task(m, pid), *p = find_task(proc, pid);

	if (!t || !p || t->ppid != getpid() || t->prio != 125 || p->prio != 125 ||
	    t->state != HWT_task_state_sleep)
		client_fail("the child: parent %d, priority %d, state %u", t ? t->ppid : -1,
			    t ? t->prio : -1, t ? t->state : 99);
}

static void check_end(const struct image *m)
{
	const struct hwt_rec_state_end *e = NULL;
	uint64_t first = UINT64_MAX;
	unsigned n = 0;

	for (unsigned i = 0; i < nrecs; i++) {
		if (recs[i].rec->id == HWT_ID_state_end) {
			e = (const void *)recs[i].rec;
			n++;
		} else if (recs[i].rec->id >> 8 == HWT_SECTION_state && recs[i].time < first) {
			first = recs[i].time;
		}
	}
	if (n != 1 || e->since > first || e->tasks != m->ntasks || e->maps != m->nmaps ||
	    e->modules != m->nmodules)
		client_fail("%u ends; %u tasks, %u maps, %u modules", n, m->ntasks, m->nmaps,
			    m->nmodules);
}

void case_state(void)
{
	static const uint16_t ids[] = { HWT_ID_sched_fork, HWT_ID_sched_comm, HWT_ID_sched_exit,
		HWT_ID_mm_map, HWT_ID_mm_unmap };
	static struct image before, after, end, last, told, now;
	struct client_opts o = { .ids = ids, .nids = 5, .sub_size = 4096, .subs = 2 };
	struct client c;
	int to[2], from[2];
	unsigned calls;
	char b = 0;
	pid_t p;

	if (pipe(to) || pipe(from))
		return;
	p = fork();
	if (!p)
		_exit(child(to[0], from[1]));
	if (read(from[0], &b, 1) != 1)
		client_fail("the child");
	if (client_open(&c, &o) || ioctl(c.fd, HWT_KMOD_STATE) != -1 || errno != EINVAL)
		client_fail("state before the start");
	c.record = keep;
	if (client_start(&c))
		client_fail("start");
	look_at_proc(&before);
	calls = tell(&c);
	look_at_proc(&after);
	if (write(to[1], &b, 1) != 1 || read(from[0], &b, 1) != 1)
		client_fail("the child goes on");
	look_at_proc(&end);
	client_finish(&c);
	look_at_proc(&last);
	qsort(recs, nrecs, sizeof(recs[0]), by_time);
	for (unsigned i = 0; i < nrecs; i++) {
		if (recs[i].rec->id >> 8 == HWT_SECTION_state)
			apply(&told, recs[i].rec);
		apply(&now, recs[i].rec);
	}
	printf("# state told in %u calls\n", calls);
	compare("state", &told, &before, &after);
	compare_modules(&told, &after);
	check_child(&told, p, &before);
	check_end(&told);
	/* what was told, and what changed later, is what is there when the session ends */
	compare("end", &now, &end, &last);
	if (calls < 2 || !find_task(&now, p) || strcmp(find_task(&now, p)->comm, "state-renamed"))
		client_fail("%u calls", calls);
	for (unsigned i = 0; i < nrecs; i++)
		free(recs[i].rec);
	kill(p, SIGKILL);
	waitpid(p, NULL, 0);
}
