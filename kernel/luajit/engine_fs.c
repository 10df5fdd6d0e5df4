// SPDX-License-Identifier: GPL-2.0
/* What vm_fs.h asks of its place: engine.c's part for the library fs. */
#include <linux/errno.h>
#include <linux/minmax.h>

#include "../readdirplus.h"
#include "engine_fs.h"
#include "vm.h"
#include "vm_fs.h"

struct dir_outside {
	struct vm *vm;
	struct vm_dir *dir;
};

static long readdirplus_outside(void *arg)
{
	struct dir_outside *out = arg;
	struct vm_dir *dir = out->dir;
	struct readdirplus request = {
		.fd = dir->fd, .mask = dir->mask, .flags = dir->flags,
		.records = engine_batch(out->vm),
		.room = min_t(size_t, dir->room, VM_BATCH_SIZE),
		.max = dir->max,
	};
	int err;

	if (!request.records)
		return -ENOMEM;
	err = readdirplus(&request);
	dir->records = request.records;
	dir->used = request.used;
	dir->n = request.n;
	dir->end = request.end;
	dir->start = request.start;
	return err;
}

long port_readdirplus(struct vm *vm, struct vm_dir *dir)
{
	struct dir_outside out = { .vm = vm, .dir = dir };

	return engine_leave(vm, readdirplus_outside, &out);
}
