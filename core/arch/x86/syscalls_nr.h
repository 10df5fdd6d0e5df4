/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Numbers of system calls that only x86-64 has, as in the kernel's asm/unistd_64.h. */
#ifndef SYSCRIPT_X86_SYSCALLS_NR_H
#define SYSCRIPT_X86_SYSCALLS_NR_H

#ifndef __NR_uretprobe
#define __NR_uretprobe 335
#endif
#ifndef __NR_uprobe
#define __NR_uprobe 336
#endif

#endif /* SYSCRIPT_X86_SYSCALLS_NR_H */
