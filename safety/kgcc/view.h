/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_VIEW_H
#define KGCC_VIEW_H

/* /sys/kernel/debug/kgcc, see kgcc(8). */
void kgcc_view_init(void);
void kgcc_view_exit(void);

#endif
