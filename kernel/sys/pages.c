// SPDX-License-Identifier: GPL-2.0
/*
 * Implements pages.h. Programs may have thousands of pages, so these functions let other tasks
 * run, and allocating ends when the caller is killed.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "pages.h"

int pages_alloc(struct page **pages, unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		pages[i] = fatal_signal_pending(current) ? NULL :
			alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL |
				   __GFP_NOWARN);
		if (!pages[i]) {
			pages_free(pages, i);
			return -ENOMEM;
		}
		cond_resched();
	}
	return 0;
}

void pages_free(struct page **pages, unsigned long n)
{
	while (n--) {
		__free_page(pages[n]);
		cond_resched();
	}
}
