/* SPDX-License-Identifier: GPL-2.0 */
/* What engine.c has for bindings that stand for system calls. */
#ifndef SYSCRIPT_LUAJIT_ENGINE_FS_H
#define SYSCRIPT_LUAJIT_ENGINE_FS_H

struct vm;

/*
 * Calls @fn outside VM mode, in place of a system call: a watched task does not
 * get there, and its script ends; files let go of are given up, and -ERESTART*
 * becomes -EINTR.
 */
long engine_leave(struct vm *vm, long (*fn)(void *arg), void *arg);

/* VM_BATCH_SIZE + VM_PATHS_SIZE bytes that live as long as the VM, or NULL.  Sleeps. */
char *engine_batch(struct vm *vm);

#endif
