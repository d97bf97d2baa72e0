/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_SESSION_H
#define HWT_CORRELATE_SESSION_H

/* For tests that decode a part of a capture: what is changed here, streams opened later see. */
#include <hwtrace/session.h>

#include "../hwtrace/source/capture.h"

/* Names of tasks are known from now on. */
void session_names(const struct hwt_session *s);
struct capture *session_capture(struct hwt_session *s);

/*
 * As the public ones, for streams that are put together before session_widen(): with a fitted
 * clock map, times of what the one counter stamped are still exact to each other.
 */
int session_flow(struct hwt_session *s, size_t i, const struct hwt_interest *want,
		 struct hwt_stream **out, struct hwt_diag *diag);
/* @want as it is below session_widen(). */
struct hwt_interest session_early(const struct hwt_session *s, const struct hwt_interest *want);
int session_kernel(struct hwt_session *s, struct hwt_stream **out, struct hwt_diag *diag);
/* True if the trace of buffer @i has times, as far as its first @max events tell. */
bool session_timed(struct hwt_session *s, size_t i, unsigned max);
/* Whether the unit sends marks, and no flow; whether all units of buffer @i do. */
bool session_marks(const struct hwt_src_info *src);
bool session_of_marks(const struct hwt_session *s, size_t i);
/* Makes base time of it. Takes *@st, also on failure. 0 or -ENOMEM. */
int session_widen(struct hwt_session *s, struct hwt_stream **st);

/*
 * The map that session_widen() used, if lengths can be had from the counter, which stamped all but
 * dirty events; else NULL.
 */
const struct time_fit *session_fit(const struct hwt_session *s);

#endif
