// SPDX-License-Identifier: GPL-2.0
/* Catches guarded objects that the kernel frees. */
#include <linux/ptrace.h>

#include "corefree.h"
#include "hook.h"
#include "object.h"
#include "pool.h"
#include "site.h"
#include "watch.h"

/* free_large_kmalloc(struct folio * or struct page *, void *object) */
static bool corefree(struct pt_regs *args, unsigned long caller)
{
	unsigned long object = args->si;
	struct slot *slot = pool_slot_of(object);

	if (!slot)
		return false;
	watch_free((void *)object, caller);
	object_free(slot, object, NULL, site_of(caller));
	return true;
}

static struct hook hook = { .fn = corefree, .name = "free_large_kmalloc" };

int corefree_init(void)
{
	return hook_register(&hook);
}

void corefree_exit(void)
{
	hook_unregister(&hook);
}
