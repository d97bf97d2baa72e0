/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PTENC_H
#define TESTS_PTENC_H

/* Intel PT packets as tests like to write them, over the model's writer. */
#include "hwtrace/model/pt_packet.h"

void ptenc_hex(struct model_pt_buf *e, const char *hex);	/* bytes; blanks are skipped */

/* Branches as text, first one left: 'T' or '!' taken, 'N' or '.' not; split into packets. */
void ptenc_tnt(struct model_pt_buf *e, const char *branches);		/* short packets */
void ptenc_tnt_long(struct model_pt_buf *e, const char *branches);	/* long packets, 47 each */

/*
 * A PSB with what tracing hardware sends after it: MODE.Exec 64-bit, FUP @ip, PSBEND. With
 * @on false tracing is off here: no FUP.
 */
void ptenc_psb_plus(struct model_pt_buf *e, uint64_t ip, bool on);

#endif
