/* SPDX-License-Identifier: GPL-2.0 */
/* From events to monitors and rings. */
#ifndef EVMON_DISPATCH_H
#define EVMON_DISPATCH_H

struct seq_file;

int dispatch_init(void);
void dispatch_exit(void);

void dispatch_show(struct seq_file *m);

#endif /* EVMON_DISPATCH_H */
