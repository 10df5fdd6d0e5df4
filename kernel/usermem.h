/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A script's access to the memory of its process: checked, fenced against
 * speculation, and without leaving script code if the pages are present.
 *
 * usermem.c implements this for the module, lib/user/usermem.c for a process.
 * Plain C, for engines.
 */
#ifndef SYSCRIPT_USERMEM_H
#define SYSCRIPT_USERMEM_H

struct run;

/* Whole ranges: 0, or -EFAULT after possibly copying a part. */
int usermem_copy_in(struct run *run, void *to, unsigned long from, unsigned long n);
int usermem_copy_out(struct run *run, unsigned long to, const void *from, unsigned long n);

/*
 * The same for bytes of an object of which the caller knows that it has them: a few are
 * copied without the kernel's look at the object, which takes longer than they do.
 * usermem_put() stores @head first, and @n bytes after it.
 */
int usermem_get(struct run *run, void *to, unsigned long from, unsigned long n);
int usermem_put(struct run *run, unsigned long to, unsigned long long head, const void *from,
		unsigned long n);

/* The same for a scalar of 1, 2, 4 or 8 bytes, in the low bytes of @v. */
int usermem_load(struct run *run, unsigned long long *v, unsigned long from,
		 unsigned int size);
int usermem_store(struct run *run, unsigned long to, const unsigned long long *v,
		  unsigned int size);

#endif /* SYSCRIPT_USERMEM_H */
