/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Making VMs as copies of one, between clone.c and vm.c. */
#ifndef SYSCRIPT_CLONE_H
#define SYSCRIPT_CLONE_H

struct lua_State;
struct vm;

void vm_publish(struct vm *vm, struct lua_State *L);

/* Is there an original, and does it fit @vm's limit? */
int vm_canclone(struct vm *vm);

/* 0, or -ENOMEM with the text in the VM. */
int vm_clone(struct vm *vm);

/* Functions of vm.c. */
void vm_settext(struct vm *vm, const char *s);
void vm_usejit(struct vm *vm);

#endif
