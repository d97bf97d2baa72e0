// SPDX-License-Identifier: GPL-2.0-only
/* /dev/hwtrace, as <hwtrace/kmod.h> has it. */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include "dev.h"
#include "func.h"
#include "hook.h"
#include "mem.h"
#include "session.h"
#include "unit.h"

#define MARK_TEXT	255

struct dev_file {
	struct mutex lock;	/* of making @s */
	struct session *s;	/* made once, stays until the file is closed */
	bool all;		/* may record the whole machine */
};

/* A struct of the caller with its size in front. */
static int get_struct(void *to, size_t size, const void __user *from)
{
	u32 n;

	if (get_user(n, (const u32 __user *)from))
		return -EFAULT;
	if (n < 2 * sizeof(u32) || n > PAGE_SIZE)
		return -EINVAL;
	return copy_struct_from_user(to, size, from, n);
}

/* As much of it as the caller knows; @size is what the caller has. */
static int put_struct(void __user *to, void *from, size_t known, u32 size)
{
	*(u32 *)from = min_t(u32, size, known);
	return copy_to_user(to, from, min_t(size_t, known, size)) ? -EFAULT : 0;
}

static int get_info(struct dev_file *f, void __user *arg)
{
	struct hwt_kmod_info i;
	int rc = get_struct(&i, sizeof(i), arg);
	u32 size = i.size;

	if (rc)
		return rc;
	i = (struct hwt_kmod_info){ .version = HWT_KMOD_VERSION, .abi = HWT_ABI_VERSION,
		.cpus = nr_cpu_ids, .counter = clock_counter(), .events = VTP_COUNT,
		.flags = f->all ? HWT_KMOD_ALL : 0, .sub_max = RING_SUB_MAX, .hz = clock_hz() };
	return put_struct(arg, &i, sizeof(i), size);
}

static int get_event(struct dev_file *f, void __user *arg)
{
	struct hwt_kmod_event e;
	int rc = get_struct(&e, sizeof(e), arg);
	const struct vtp *v;

	if (rc)
		return rc;
	if (e.index >= VTP_COUNT)
		return -EINVAL;
	v = &vtps[e.index];
	e.id = v->id;
	e.flags = (v->own || v->made || hook_gives(e.index) ? HWT_KMOD_EV_HERE : 0) |
		(v->user ? HWT_KMOD_EV_USER : 0) | (v->own ? HWT_KMOD_EV_OWN : 0);
	e.anchor = f->all && !v->own ? (unsigned long)v->anchor : 0;
	return put_struct(arg, &e, sizeof(e), e.size);
}

static int open_session(struct dev_file *f, const void __user *arg)
{
	struct hwt_kmod_session c;
	struct session *s;
	int rc = get_struct(&c, sizeof(c), arg);

	if (rc)
		return rc;
	mutex_lock(&f->lock);
	rc = f->s ? -EBUSY : session_open(&s, &c, f->all);
	if (!rc)
		smp_store_release(&f->s, s);
	mutex_unlock(&f->lock);
	return rc;
}

static int get_counts(struct session *s, void __user *arg)
{
	struct hwt_kmod_counts c;
	int rc = get_struct(&c, sizeof(c), arg);

	if (!rc)
		rc = session_count(s, &c);
	return rc ? rc : put_struct(arg, &c, sizeof(c), c.size);
}

static int get_holder(struct dev_file *f, void __user *arg)
{
	struct hwt_kmod_holder h;
	int rc = get_struct(&h, sizeof(h), arg);

	if (!rc)
		rc = session_holder(&h, f->all);
	return rc ? rc : put_struct(arg, &h, sizeof(h), h.size);
}

static int get_probed(struct session *s, void __user *arg)
{
	struct hwt_kmod_probed p;
	int rc = get_struct(&p, sizeof(p), arg);

	if (!rc)
		rc = func_count(s, &p);
	return rc ? rc : put_struct(arg, &p, sizeof(p), p.size);
}

/* The three have the same fields. */
static int make_mark(const void __user *arg)
{
	struct hwt_rec_user_mark r;
	struct hwt_kmod_mark m;
	struct vtp_more more = {};
	char text[MARK_TEXT];
	int rc = get_struct(&m, sizeof(m), arg);

	BUILD_BUG_ON(sizeof(r) != sizeof(struct hwt_rec_user_begin) ||
		     sizeof(r) != sizeof(struct hwt_rec_user_end));
	if (rc)
		return rc;
	if (m.len > sizeof(text) || m.kind > HWT_KMOD_END)
		return -EINVAL;
	if (copy_from_user(text, u64_to_user_ptr(m.text), m.len))
		return -EFAULT;
	more.text = text;
	more.len = strnlen(text, m.len);
	r.value = m.value;
	r.ip = instruction_pointer(task_pt_regs(current));
	r.channel = m.channel;
	r.text_size = vtp_text_size(more.len);
	preempt_disable();	/* as in the probe of a tracepoint */
	if (m.kind == HWT_KMOD_MARK)
		vtp_user_mark(&r, &more);
	else if (m.kind == HWT_KMOD_BEGIN)
		vtp_user_begin((struct hwt_rec_user_begin *)&r, &more);
	else
		vtp_user_end((struct hwt_rec_user_end *)&r, &more);
	preempt_enable();
	return 0;
}

static int get_packet(struct session *s, void __user *arg)
{
	struct hwt_kmod_packet p;
	int rc = get_struct(&p, sizeof(p), arg);

	if (!rc)
		rc = session_get(s, &p);
	return rc ? rc : put_struct(arg, &p, sizeof(p), p.size);
}

static int put_packet(struct session *s, const void __user *arg)
{
	struct hwt_kmod_packet p;
	int rc = get_struct(&p, sizeof(p), arg);

	return rc ? rc : session_put_back(s, &p);
}

/* What refuses it is told, too. */
static int add_unit(struct session *s, void __user *arg)
{
	struct hwt_kmod_unit c;
	int rc = get_struct(&c, sizeof(c), arg), put;

	if (rc)
		return rc;
	rc = session_unit(s, &c);
	put = put_struct(arg, &c, sizeof(c), c.size);
	return rc ? rc : put;
}

static int get_trace(struct session *s, void __user *arg)
{
	struct unit *u = smp_load_acquire(&s->unit);
	struct hwt_kmod_trace t;
	int rc = get_struct(&t, sizeof(t), arg);

	if (!rc)
		rc = u ? u->ops->get(u, &t) : -EINVAL;
	return rc ? rc : put_struct(arg, &t, sizeof(t), t.size);
}

static int read_trace(struct session *s, const void __user *arg)
{
	struct unit *u = smp_load_acquire(&s->unit);
	struct hwt_kmod_trace t;
	int rc = get_struct(&t, sizeof(t), arg);

	if (rc)
		return rc;
	return u ? u->ops->read(u, &t) : -EINVAL;
}

static int get_regs(struct session *s, void __user *arg)
{
	struct unit *u = smp_load_acquire(&s->unit);
	struct hwt_kmod_cs_regs r;
	int rc = get_struct(&r, sizeof(r), arg);

	if (!rc)
		rc = u && u->ops->regs ? u->ops->regs(u, &r) : -EINVAL;
	return rc ? rc : put_struct(arg, &r, sizeof(r), r.size);
}

static long dev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct dev_file *f = file->private_data;
	struct session *s = smp_load_acquire(&f->s);
	void __user *p = (void __user *)arg;

	switch (cmd) {
	case HWT_KMOD_INFO: return get_info(f, p);
	case HWT_KMOD_EVENT: return get_event(f, p);
	case HWT_KMOD_OPEN: return open_session(f, p);
	case HWT_KMOD_HOLDER: return get_holder(f, p);
	case HWT_KMOD_MARK_IT: return make_mark(p);
	case HWT_KMOD_START: return s ? session_start(s) : -EINVAL;
	case HWT_KMOD_STOP: return s ? session_stop(s) : -EINVAL;
	case HWT_KMOD_COUNTS: return s ? get_counts(s, p) : -EINVAL;
	case HWT_KMOD_PROBED: return s ? get_probed(s, p) : -EINVAL;
	case HWT_KMOD_STATE: return s ? session_state(s) : -EINVAL;
	case HWT_KMOD_GET: return s ? get_packet(s, p) : -EINVAL;
	case HWT_KMOD_PUT: return s ? put_packet(s, p) : -EINVAL;
	case HWT_KMOD_UNIT: return s ? add_unit(s, p) : -EINVAL;
	case HWT_KMOD_TRACE: return s ? get_trace(s, p) : -EINVAL;
	case HWT_KMOD_TRACE_READ: return s ? read_trace(s, p) : -EINVAL;
	case HWT_KMOD_CS_REGS: return s ? get_regs(s, p) : -EINVAL;
	default: return -ENOTTY;
	}
}

static ssize_t dev_read(struct file *file, char __user *buf, size_t n, loff_t *pos)
{
	struct dev_file *f = file->private_data;
	struct session *s = smp_load_acquire(&f->s);

	if (pos)
		return -ESPIPE;	/* pread(2): there are no positions */
	return s ? session_read(s, buf, n, !(file->f_flags & O_NONBLOCK)) : -EINVAL;
}

static int dev_mmap(struct file *file, struct vm_area_struct *v)
{
	struct dev_file *f = file->private_data;
	struct session *s = smp_load_acquire(&f->s);

	struct unit *u = s ? smp_load_acquire(&s->unit) : NULL;
	u64 off = (u64)v->vm_pgoff << PAGE_SHIFT;

	if (off >= HWT_KMOD_TRACE_AT)
		return u ? u->ops->mmap(u, v, off - HWT_KMOD_TRACE_AT) : -EINVAL;
	return s ? session_mmap(s, v) : -EINVAL;
}

static ssize_t dev_splice_read(struct file *file, loff_t *pos, struct pipe_inode_info *pipe,
			       size_t len, unsigned int flags)
{
	struct dev_file *f = file->private_data;
	struct session *s = smp_load_acquire(&f->s);

	return s ? session_splice(s, pos, pipe, len) : -EINVAL;
}

static __poll_t dev_poll(struct file *file, poll_table *table)
{
	struct dev_file *f = file->private_data;
	struct session *s = smp_load_acquire(&f->s);

	if (!s)
		return EPOLLERR;
	poll_wait(file, &s->wait, table);
	return session_readable(s) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int dev_open(struct inode *inode, struct file *file)
{
	struct dev_file *f = mem_alloc(sizeof(*f));

	if (!f)
		return -ENOMEM;
	mutex_init(&f->lock);
	f->all = perfmon_capable();
	file->private_data = f;
	stream_open(inode, file);
	file->f_mode |= FMODE_PREAD;	/* splice(2) has an offset: that of the map */
	return 0;
}

static int dev_release(struct inode *inode, struct file *file)
{
	struct dev_file *f = file->private_data;

	if (f->s)
		session_close(f->s);
	mem_free(f);
	return 0;
}

static const struct file_operations dev_ops = {
	.owner = THIS_MODULE,
	.open = dev_open,
	.release = dev_release,
	.read = dev_read,
	.poll = dev_poll,
	.mmap = dev_mmap,
	.splice_read = dev_splice_read,
	.unlocked_ioctl = dev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/* Which group it belongs to is for udev to say. */
static struct miscdevice dev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "hwtrace",
	.fops = &dev_ops,
	.mode = 0660,
};

int dev_init(void)
{
	return misc_register(&dev);
}

void dev_exit(void)
{
	misc_deregister(&dev);
}
