/* SPDX-License-Identifier: GPL-2.0 OR LGPL-2.1 */
/* An event within a batch: evmon.ko writes it, libkernevents reads it. */
#ifndef EVMON_PACKED_H
#define EVMON_PACKED_H

#include <linux/types.h>

struct evmon_packed {
	__u64 object;
	__u64 value;
	__u64 cycles;		/* the CPU's time stamp counter */
	__s32 pid;		/* of the thread that ran */
	__u16 place;
	__u16 type;
};

#endif /* EVMON_PACKED_H */
