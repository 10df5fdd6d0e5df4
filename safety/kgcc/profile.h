/* SPDX-License-Identifier: GPL-2.0 */
/* The time from one check to the next, by site: a profile of the code, line by line. */
#ifndef KGCC_PROFILE_H
#define KGCC_PROFILE_H

#include "kgcc.h"

/* The first use allocates. -ENOMEM; -ENOENT: the kernel has no such tracepoints. */
int kgcc_profile_on(void);
void kgcc_profile_off(void);
void kgcc_profile_exit(void);

/* ns spent after the site's checks, and: forget the sites of a range. */
u64 kgcc_profile_ns(const struct kgcc_site *site);
void kgcc_profile_forget(unsigned long start, unsigned long end);

/* On while executions are timed; used by the assembly, too. */
extern struct static_key_false kgcc_timing;
void kgcc_profile_hit(struct kgcc_site *site);

#endif
