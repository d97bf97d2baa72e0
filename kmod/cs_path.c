// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way of trace as the device tree has it: from the output ports of a unit to the input ports of
 * the next. A replicator has more than one output; all are tried, in order.
 */
#include <linux/of.h>
#include <linux/of_graph.h>

#include "cs_find.h"

/* Where the search is at one part: its output ports, and the endpoint that is tried. */
struct level {
	struct device_node *ports, *end;
	struct cs_dev *split;	/* a replicator that must be programmed, NULL: it is none */
};

struct search {
	struct level level[CS_HOPS + 1];
	int depth;		/* the level that is looked at, -1: all is done */
	struct cs_path *p;
	const char *why;
};

static bool enter(struct search *s, const struct device_node *node, struct cs_dev *split)
{
	struct device_node *ports = of_get_child_by_name(node, "out-ports");

	if (!ports)
		return false;
	s->level[++s->depth] = (struct level){ .ports = ports, .split = split };
	return true;
}

static void leave(struct search *s)
{
	of_node_put(s->level[s->depth].end);
	of_node_put(s->level[s->depth].ports);
	s->depth--;
}

static int hop(struct search *s, struct cs_dev *dev, unsigned int port)
{
	if (s->p->n == CS_HOPS)
		return -ENODEV;
	s->p->hop[s->p->n++] = (struct cs_hop){ dev, port };
	return 0;
}

static unsigned int port_of(const struct device_node *end)
{
	struct of_endpoint e;

	return end && !of_graph_parse_endpoint(end, &e) ? e.port : 0;
}

/* The device that has an endpoint: endpoint, port, in-ports; it has a name of its kind. */
static struct device_node *device_of(const struct device_node *end)
{
	struct device_node *node = of_get_next_parent(of_node_get((struct device_node *)end));

	while (node && !of_property_read_bool(node, "compatible"))
		node = of_get_next_parent(node);
	return node;
}

/* Parts that pass all on have no registers. */
static bool passes(const struct device_node *node)
{
	return of_device_is_compatible(node, "arm,coresight-static-funnel") ||
		of_device_is_compatible(node, "arm,coresight-static-replicator") ||
		of_device_is_compatible(node, "arm,coresight-replicator");
}

/* On from the endpoint that is tried; true: a controller was found. */
static bool step(struct search *s, struct device_node *node, unsigned int in)
{
	struct level *l = &s->level[s->depth];
	unsigned int n = s->p->n;
	enum cs_kind kind = cs_kind_of(node);
	struct cs_dev *dev = cs_dev_of(node);

	if (l->split && hop(s, l->split, port_of(l->end)))
		return false;
	if (kind == CS_SINK) {
		s->why = "another driver has what keeps its trace";
		s->p->sink = dev;
		if (dev)
			return true;
	} else if (kind == CS_FUNNEL || kind == CS_REPLICATOR) {
		s->why = "another driver has a part that its trace goes through";
		if (dev && s->depth < CS_HOPS && !(kind == CS_FUNNEL && hop(s, dev, in)) &&
		    enter(s, node, kind == CS_REPLICATOR ? dev : NULL))
			return false;
	} else if (passes(node)) {
		if (s->depth < CS_HOPS && enter(s, node, NULL))
			return false;
	} else {
		s->why = "its trace goes through a part that this module does not program";
	}
	s->p->n = n;
	return false;
}

int cs_path_find(const struct device_node *unit, struct cs_path *p, const char **why)
{
	struct search s = { .depth = -1, .p = p,
		.why = "the device tree does not say where its trace goes" };
	unsigned int parts[CS_HOPS + 1] = { 0 };	/* on the way to each level */
	bool found = false;

	if (!unit || !enter(&s, unit, NULL)) {
		*why = s.why;
		return -ENODEV;
	}
	while (s.depth >= 0 && !found) {
		struct level *l = &s.level[s.depth];
		struct device_node *far, *node;
		int depth = s.depth;

		p->n = parts[depth];
		l->end = of_graph_get_next_endpoint(l->ports, l->end);
		if (!l->end) {
			leave(&s);
			continue;
		}
		far = of_graph_get_remote_endpoint(l->end);
		node = far ? device_of(far) : NULL;
		if (node)
			found = step(&s, node, port_of(far));
		of_node_put(node);
		of_node_put(far);
		if (s.depth > depth)
			parts[s.depth] = p->n;
	}
	while (s.depth >= 0)
		leave(&s);
	*why = s.why;
	return found ? 0 : -ENODEV;
}
