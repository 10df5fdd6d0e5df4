/* SPDX-License-Identifier: GPL-2.0 */
/* Page faults in slots. */
#ifndef KEFENCE_FAULT_H
#define KEFENCE_FAULT_H

int fault_init(void);
void fault_exit(void);

#endif /* KEFENCE_FAULT_H */
