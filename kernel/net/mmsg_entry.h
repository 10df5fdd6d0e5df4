/* SPDX-License-Identifier: GPL-2.0 */
/*
 * recvmmsg(2) and sendmmsg(2) with the arguments and results of the kernel's entries, but
 * cheaper, see mmsg.h. A message with control data, with more or fewer receive buffers than one,
 * or with a bad header is left to the kernel's own call, with all messages after it.
 */
#ifndef SYSCRIPT_MMSG_ENTRY_H
#define SYSCRIPT_MMSG_ENTRY_H

#include <linux/linkage.h>

struct pt_regs;

asmlinkage long mmsg_entry_recv(const struct pt_regs *regs);
asmlinkage long mmsg_entry_send(const struct pt_regs *regs);

#endif /* SYSCRIPT_MMSG_ENTRY_H */
