// SPDX-License-Identifier: GPL-2.0-only
#include <linux/smp.h>

#include "cs.h"

struct call {
	struct cs_session *p;
	int (*f)(struct cs_session *p, struct cs_cpu *c, unsigned int cpu);
	int rc;
};

static void run_here(void *arg)
{
	struct call *c = arg;
	unsigned int cpu = raw_smp_processor_id();

	c->rc = c->f(c->p, &c->p->cpu[cpu], cpu);
}

static int on_cpu(struct cs_session *p, unsigned int cpu,
		  int (*f)(struct cs_session *p, struct cs_cpu *c, unsigned int cpu))
{
	struct call c = { p, f, 0 };
	int rc = smp_call_function_single(cpu, run_here, &c, 1);

	return rc ? rc : c.rc;
}

static int look_here(struct cs_session *p, struct cs_cpu *c, unsigned int cpu)
{
	cs_sys_look(&c->sys);
	return 0;
}

/* The trace buffer of the CPU, which is taken behind its trace unit. */
static int open_buffer(struct cs_cpu *c, unsigned int cpu)
{
	return c->sink && cs_sink_here(c->sink) ? cs_sink_open(c->sink, NULL, cpu) : 0;
}

static void leave_buffer(struct cs_cpu *c)
{
	if (!cs_own_buffer(c))
		return;
	cs_sink_stop(c->sink);
	cs_sink_give(c->sink);
}

static int open_here(struct cs_session *p, struct cs_cpu *c, unsigned int cpu)
{
	bool sys = c->dev->kind == CS_SYS_UNIT;
	struct etm4_place place = { .r = sys ? cs_sys_unit(cpu) : &c->dev->r, .powered = true,
		.system = sys };
	int rc;

	cs_sys_look(&c->sys);
	place.trf = c->sys.trf;
	/* it was off when its way was chosen, and may not be as the others */
	if (sys && (!c->sys.unit ||
		    (c->sink && cs_own_buffer(c) && (!c->sys.buffer || c->sys.erratum)))) {
		c->e.why = ETM4_KIND;
		return -ENODEV;
	}
	rc = etm4_open(&c->e, &place);
	if (!rc) {
		rc = open_buffer(c, cpu);
		if (rc)
			etm4_close(&c->e);
	}
	return rc;
}

/* Trace ids are of the CPU. */
static int config_here(struct cs_session *p, struct cs_cpu *c, unsigned int cpu)
{
	struct etm4_wish w = p->wish;

	w.id = CS_ID(cpu);
	return etm4_config(&c->e, &w);
}

/* A unit whose buffer has no room stays off. */
static int start_here(struct cs_session *p, struct cs_cpu *c, unsigned int cpu)
{
	int rc = cs_own_buffer(c) ? cs_sink_start(c->sink) : 0;

	if (rc || !cs_sink_runs(c->sink))
		return rc;
	rc = etm4_start(&c->e);
	if (rc && cs_own_buffer(c))
		cs_sink_stop(c->sink);
	return rc;
}

static int stop_here(struct cs_session *p, struct cs_cpu *c, unsigned int cpu)
{
	int rc = etm4_stop(&c->e);

	if (cs_own_buffer(c))
		cs_sink_stop(c->sink);
	return rc;
}

static int save_here(struct cs_session *p, struct cs_cpu *c, unsigned int cpu)
{
	int rc = etm4_save(&c->e);

	/* then it can not be used any more, but is not left on */
	if (rc)
		etm4_close(&c->e);
	leave_buffer(c);
	return rc;
}

static int restore_here(struct cs_session *p, struct cs_cpu *c, unsigned int cpu)
{
	int rc;

	if (cs_own_buffer(c)) {
		cs_sink_take(c->sink);
		if (c->e.was_running)
			cs_sink_start(c->sink);
		c->e.was_running = cs_sink_runs(c->sink);
	}
	rc = etm4_restore(&c->e);
	/* nobody would stop the buffer of a unit that is neither ready nor runs */
	if (rc)
		leave_buffer(c);
	return rc;
}

static int close_here(struct cs_session *p, struct cs_cpu *c, unsigned int cpu)
{
	int rc = etm4_close(&c->e);

	leave_buffer(c);
	return rc;
}

int cs_here_look(struct cs_session *p, unsigned int cpu)
{
	return on_cpu(p, cpu, look_here);
}

int cs_here_open(struct cs_session *p, unsigned int cpu)
{
	return on_cpu(p, cpu, open_here);
}

int cs_here_config(struct cs_session *p, unsigned int cpu)
{
	return on_cpu(p, cpu, config_here);
}

int cs_here_start(struct cs_session *p, unsigned int cpu)
{
	return on_cpu(p, cpu, start_here);
}

int cs_here_stop(struct cs_session *p, unsigned int cpu)
{
	return on_cpu(p, cpu, stop_here);
}

int cs_here_save(struct cs_session *p, unsigned int cpu)
{
	return on_cpu(p, cpu, save_here);
}

int cs_here_restore(struct cs_session *p, unsigned int cpu)
{
	return on_cpu(p, cpu, restore_here);
}

int cs_here_close(struct cs_session *p, unsigned int cpu)
{
	return on_cpu(p, cpu, close_here);
}
