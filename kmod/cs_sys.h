/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_CS_SYS_H
#define HWT_KMOD_CS_SYS_H

/*
 * The trace unit and the trace buffer of the CPU that runs this, by system registers. A test puts
 * models in their place.
 */
#include "hwreg.h"

/* What a CPU says of itself. */
struct cs_sys {
	bool unit;		/* TRC registers */
	bool buffer;		/* TRB registers */
	bool trf;		/* TRFCR_EL1 */
	const char *erratum;	/* why its buffer is not used although there is one, or NULL */
};

void cs_sys_look(struct cs_sys *s);
/* Of @cpu, used on that CPU only; registers as in etm4_prog.h and trbe_prog.h. */
struct hwreg *cs_sys_unit(unsigned int cpu);
struct hwreg *cs_sys_buffer(unsigned int cpu);

#endif
