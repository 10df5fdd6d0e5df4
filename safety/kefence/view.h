/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /sys/kernel/debug/kefence, for root:
 *   settings	the settings of modules, one per line; written in the same form
 *   sites	places that allocate and free, a table with tabs
 *   modules	sizes that each requested, and its pages now and at most, a table
 *   pool	pages and slots
 *   violations	how many there were of each kind
 */
#ifndef KEFENCE_VIEW_H
#define KEFENCE_VIEW_H

void view_init(void);
void view_exit(void);

#endif /* KEFENCE_VIEW_H */
