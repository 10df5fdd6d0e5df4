/* SPDX-License-Identifier: GPL-2.0 */
/*
 * recvmmsg(2) and sendmmsg(2) as the entries of the kernel make them, with the same
 * results, for less: mmsg.h says why.  A message with control data, with more or
 * fewer buffers than one to receive into, or with a bad header, and all after it,
 * are the kernel's own call's.
 */
#ifndef SYSCRIPT_MMSG_ENTRY_H
#define SYSCRIPT_MMSG_ENTRY_H

#include <linux/linkage.h>

struct pt_regs;

asmlinkage long mmsg_entry_recv(const struct pt_regs *regs);
asmlinkage long mmsg_entry_send(const struct pt_regs *regs);

#endif /* SYSCRIPT_MMSG_ENTRY_H */
