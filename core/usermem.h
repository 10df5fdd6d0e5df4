/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A script's access to the memory of its process: checked, fenced against
 * speculation, and without leaving script code if the pages are present.
 *
 * usermem.c implements this for the module, core/user/usermem.c for a process.
 * Plain C, for engines.
 */
#ifndef SYSCRIPT_USERMEM_H
#define SYSCRIPT_USERMEM_H

struct run;

/* Copies whole ranges: 0, or -EFAULT after possibly copying a part. */
int usermem_copy_in(struct run *run, void *to, unsigned long from, unsigned long n);
int usermem_copy_out(struct run *run, unsigned long to, const void *from, unsigned long n);

/*
 * As usermem_copy_*(), for a kernel object that the caller knows to have @n bytes: short copies
 * skip hardened usercopy's check of the object, which takes longer than the copy. usermem_put()
 * stores @head and then @n bytes.
 */
int usermem_get(struct run *run, void *to, unsigned long from, unsigned long n);
int usermem_put(struct run *run, unsigned long to, unsigned long long head, const void *from,
		unsigned long n);

/* Copies a scalar of 1, 2, 4 or 8 bytes from or to the low bytes of @v. */
int usermem_load(struct run *run, unsigned long long *v, unsigned long from,
		 unsigned int size);
int usermem_store(struct run *run, unsigned long to, const unsigned long long *v,
		  unsigned int size);

#endif /* SYSCRIPT_USERMEM_H */
