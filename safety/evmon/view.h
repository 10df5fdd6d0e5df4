/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /sys/kernel/debug/evmon, for root:
 *   places	places that emitted events, by number: a table with tabs
 *   monitors	a section of each monitor's own
 */
#ifndef EVMON_VIEW_H
#define EVMON_VIEW_H

void view_init(void);
void view_exit(void);

#endif /* EVMON_VIEW_H */
