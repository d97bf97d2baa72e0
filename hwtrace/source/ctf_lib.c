/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Foreign CTF through libbabeltrace2, in a process of its own (ctf_pipe.c): each stream of events
 * has an iterator, the earliest message of all is sent next. A stream that can not be read on ends
 * alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/vec.h"
#include "ctf_bt.h"

#define MAX_PORTS	16384

/* --- the graph: all ports of the sources into one component --- */

static bt_component_class_initialize_method_status sink_init(
	bt_self_component_sink *self, bt_self_component_sink_configuration *config,
	const bt_value *params, void *data)
{
	struct ctf_lib *l = data;
	char name[32];

	for (size_t i = 0; i < l->nports; i++) {
		snprintf(name, sizeof(name), "in%zu", i);
		if (bt_self_component_sink_add_input_port(self, name, NULL, NULL))
			return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	bt_self_component_set_data(bt_self_component_sink_as_self_component(self), l);
	return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static struct ctf_lib *lib_of(bt_self_component_sink *self)
{
	return bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
}

static bt_component_class_sink_graph_is_configured_method_status sink_ready(
	bt_self_component_sink *self)
{
	struct ctf_lib *l = lib_of(self);

	for (size_t i = 0; i < l->nports; i++) {
		struct ctf_port *p = &l->ports[i];

		if (bt_message_iterator_create_from_sink_component(self,
				bt_self_component_sink_borrow_input_port_by_index(self, i),
				&p->it)) {
			p->it = NULL;
			ctf_put_error(l, CTF_NO_STREAM, ctf_port_file(p, NULL));
		}
	}
	return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
}

static bt_component_class_sink_consume_method_status sink_consume(bt_self_component_sink *self)
{
	struct ctf_lib *l = lib_of(self);

	ctf_merge(l);
	for (size_t i = 0; i < l->nports; i++)
		BT_MESSAGE_ITERATOR_PUT_REF_AND_RESET(l->ports[i].it);
	return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(((const struct ctf_port *)a)->name, ((const struct ctf_port *)b)->name);
}

static bool connect(struct ctf_lib *l)
{
	bt_component_class_sink *cls = bt_component_class_sink_create("events", sink_consume);
	const bt_component_sink *snk = NULL;
	bool ok = cls && !bt_component_class_sink_set_initialize_method(cls, sink_init) &&
		!bt_component_class_sink_set_graph_is_configured_method(cls, sink_ready) &&
		!bt_graph_add_sink_component_with_initialize_method_data(l->graph, cls, "events",
				NULL, l, CTF_LOG_LEVEL, &snk);

	qsort(l->ports, l->nports, sizeof(*l->ports), by_name);
	for (size_t i = 0; i < l->nports && ok; i++)
		ok = !bt_graph_connect_ports(l->graph, l->ports[i].from,
				bt_component_sink_borrow_input_port_by_index_const(snk, i), NULL);
	bt_component_class_sink_put_ref(cls);
	return ok;
}

static bool add_ports(struct ctf_lib *l, const bt_component_source *src)
{
	uint64_t n = bt_component_source_get_output_port_count(src);

	for (uint64_t i = 0; i < n && l->nports < MAX_PORTS; i++) {
		struct ctf_port *p;

		if (vec_room(&l->ports, &l->capports, l->nports, sizeof(*p)))
			return false;
		p = &l->ports[l->nports++];
		*p = (struct ctf_port){ .lib = l, .stream = CTF_NO_STREAM, .key = INT64_MIN };
		p->from = bt_component_source_borrow_output_port_by_index_const(src, i);
		p->name = bt_port_get_name(bt_port_output_as_port_const(p->from));
	}
	return true;
}

/* One trace that lies in the @n directories at @dirs into @graph; NULL, and told, if it can not. */
static const bt_component_source *open_trace(struct ctf_lib *l, bt_graph *graph,
					     const char *const *dirs, size_t n)
{
	const bt_component_source *src = NULL;
	bt_value *params = bt_value_map_create(), *inputs = NULL;
	char name[32];
	bool ok = params && !bt_value_map_insert_empty_array_entry(params, "inputs", &inputs);

	for (size_t i = 0; i < n && ok; i++)
		ok = !bt_value_array_append_string_element(inputs, dirs[i]);
	snprintf(name, sizeof(name), "trace%zu", l->nports);
	if (!ok || bt_graph_add_source_component(graph, l->fs, name, params, CTF_LOG_LEVEL, &src)) {
		src = NULL;
		ctf_put_error(l, CTF_NO_STREAM, dirs[0]);
	} else {
		ctf_forget(l);
	}
	bt_value_put_ref(params);
	return src;
}

/*
 * A graph is of no use any more after a component could not be added. So where there are others,
 * each is tried in a graph of its own. False: no memory.
 */
static bool add_trace(struct ctf_lib *l, const char *const *dirs, size_t n)
{
	const bt_component_source *src;
	bt_graph *own = NULL;
	bool good = true;

	if (n < l->job->ndirs) {
		own = bt_graph_create(0);
		good = own && open_trace(l, own, dirs, n);
		bt_graph_put_ref(own);
	}
	src = good ? open_trace(l, l->graph, dirs, n) : NULL;
	return !src || add_ports(l, src);
}

/* What the parts of one trace have in common (its uuid), "" if nothing is known. */
static void group_of(struct ctf_lib *l, const char *dir, char *out, size_t size)
{
	bt_value *params = bt_value_map_create();
	const bt_value *res = NULL, *group = NULL;
	bt_query_executor *q = NULL;

	if (params && !bt_value_map_insert_string_entry(params, "type", "directory") &&
	    !bt_value_map_insert_string_entry(params, "input", dir))
		q = bt_query_executor_create(
			bt_component_class_source_as_component_class_const(l->fs),
			"babeltrace.support-info", params);
	if (q && !bt_query_executor_query(q, &res) && bt_value_get_type(res) == BT_VALUE_TYPE_MAP)
		group = bt_value_map_borrow_entry_value_const(res, "group");
	*out = 0;
	if (group && bt_value_get_type(group) == BT_VALUE_TYPE_STRING)
		snprintf(out, size, "%s", bt_value_string_get(group));
	bt_value_put_ref(res);
	bt_query_executor_put_ref(q);
	bt_value_put_ref(params);
	/* what is wrong with it is told when it is opened */
	ctf_forget(l);
}

struct group { char id[40]; bool used; };

/* Directories of one group (parts of a rotated recording) are one trace. */
static bool add_sources(struct ctf_lib *l)
{
	const struct ctf_job *job = l->job;
	struct group *g = calloc(job->ndirs, sizeof(*g));
	const char **same = calloc(job->ndirs, sizeof(*same));
	bool ok = true;
	size_t n;

	for (size_t i = 0; i < job->ndirs && g && same; i++)
		group_of(l, job->dirs[i], g[i].id, sizeof(g[i].id));
	for (size_t i = 0; i < job->ndirs && g && same && ok; i++) {
		if (g[i].used)
			continue;
		n = 0;
		same[n++] = job->dirs[i];
		for (size_t k = i + 1; k < job->ndirs && g[i].id[0]; k++) {
			if (g[k].used || strcmp(g[k].id, g[i].id))
				continue;
			g[k].used = true;
			same[n++] = job->dirs[k];
		}
		ok = add_trace(l, same, n);
	}
	free(same);
	free(g);
	return g && same && ok;
}

static void run(struct ctf_lib *l)
{
	const bt_plugin *plugin = NULL;
	bool ok;

	bt_logging_set_global_level(CTF_LOG_LEVEL);
	/* what its parser says has a level of its own, read as the plug-in is loaded */
	setenv("BABELTRACE_PLUGIN_CTF_METADATA_LOG_LEVEL", "WARNING", 1);
	ok = !bt_plugin_find("ctf", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin);
	if (ok)
		l->fs = bt_plugin_borrow_source_component_class_by_name_const(plugin, "fs");
	l->graph = bt_graph_create(0);
	if (!ok || !l->fs || !l->graph || !add_sources(l)) {
		ctf_put_error(l, CTF_NO_STREAM, "");
	} else if (l->nports) {
		l->heap = calloc(l->nports, sizeof(*l->heap));
		if (!l->heap || !connect(l) || bt_graph_run(l->graph))
			ctf_put_error(l, CTF_NO_STREAM, "");
	}
	bt_graph_put_ref(l->graph);
	bt_plugin_put_ref(plugin);
}

bool ctf_lib_here(void)
{
	return true;
}

void ctf_lib_run(const struct ctf_job *job, int fd, int log)
{
	struct ctf_lib l = { .job = job, .fd = fd, .log = log, .first = HWT_TIME_UNKNOWN,
		.out = malloc(CTF_OUT_FLUSH + CTF_MSG_MAX) };
	struct ctf_msg *m;

	if (!l.out)
		return;
	ctf_flush(&l);
	run(&l);
	m = ctf_begin(&l, CTF_END, CTF_NO_STREAM);
	m->count = l.events;
	m->lo = l.first;
	ctf_end(&l);
	ctf_flush(&l);
	idmap_free(&l.classes);
	idmap_free(&l.traces);
	free(l.heap);
	free(l.ports);
	free(l.out);
}
