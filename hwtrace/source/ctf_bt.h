/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_CTF_BT_H
#define HWT_SOURCE_CTF_BT_H

/* What the files have in common that call libbabeltrace2, in a process of their own. */
#include <babeltrace2/babeltrace.h>

#include "../base/idmap.h"
#include "ctf.h"

#define CTF_LOG_LEVEL	BT_LOGGING_LEVEL_WARNING

#define CTF_OUT_FLUSH	(64u << 10)	/* bytes */

struct ctf_lib;

struct ctf_port {
	struct ctf_lib *lib;
	const char *name;		/* "DIR | class | FILE" */
	const bt_port_output *from;
	bt_message_iterator *it;
	bt_message_array_const msgs;
	uint64_t at, n;			/* in @msgs */
	int64_t key;			/* ns of the next message, not before the one before it */
	uint64_t time;			/* the same as it is, HWT_TIME_UNKNOWN */
	uint32_t early, late;		/* ns that its clock may be off */
	uint64_t events;
	uint32_t stream;		/* CTF_NO_STREAM: not begun */
	uint64_t packets, packet_end;	/* begun; when the last one ended, 0 if it does not tell */
	bool back, packet_back;		/* said that time goes back */
};

struct ctf_lib {
	const struct ctf_job *job;
	int fd, log;
	uint8_t *out;			/* room for CTF_OUT_FLUSH and a message */
	size_t nout, msg;		/* @msg: where the one that is made begins */
	bool failed;			/* nobody reads any more */
	bool full, cut;			/* nothing more goes into the message; a text is cut */
	const bt_component_class_source *fs;
	bt_graph *graph;
	struct ctf_port *ports;
	size_t nports, capports;
	struct ctf_port **heap;
	size_t nheap;
	struct idmap classes, traces;
	uint32_t nstreams;
	uint64_t events, first;
	const bt_clock_class *clock;	/* of the first stream that has one */
};

/* ctf_put.c: messages. One is made at a time; its head is valid until it has a body. */
void ctf_flush(struct ctf_lib *l);
struct ctf_msg *ctf_begin(struct ctf_lib *l, enum ctf_type type, uint32_t stream);
void ctf_put_text(struct ctf_lib *l, const char *s);
void ctf_put_fields(struct ctf_lib *l, enum ctf_scope scope, const bt_field *root);
void ctf_end(struct ctf_lib *l);
/* Tells an error of the library, in its words, and lets it forget it. */
void ctf_put_error(struct ctf_lib *l, uint32_t stream, const char *file);
/* Forgets an error that is not told. */
void ctf_forget(struct ctf_lib *l);

/* ctf_merge.c: all events of all ports, whose iterators are there. */
void ctf_merge(struct ctf_lib *l);
/* File of events of @s (NULL: not known yet), which comes from @p. */
const char *ctf_port_file(const struct ctf_port *p, const bt_stream *s);

#endif
