/* SPDX-License-Identifier: GPL-2.0 */
/* From events to monitors and rings. */
#ifndef EVMON_DISPATCH_H
#define EVMON_DISPATCH_H

#include <linux/types.h>

struct seq_file;

int dispatch_init(void);
void dispatch_exit(void);

/* Writes it to the rings that are open. */
void dispatch_violation(const char *monitor, const void *object, u32 here, u32 there,
			const char *text);
void dispatch_show(struct seq_file *m);

#endif /* EVMON_DISPATCH_H */
