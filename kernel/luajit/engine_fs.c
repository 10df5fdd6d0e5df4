// SPDX-License-Identifier: GPL-2.0
/* What vm_fs.h asks of its place: engine.c's part for the library fs. */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>

#include "../files.h"
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

struct files_outside {
	struct vm *vm;
	const struct vm_files *files;
};

static long files_outside(void *arg)
{
	struct files_outside *out = arg;
	const struct vm_files *files = out->files;
	struct files_request request = {
		.dirfd = files->dirfd, .addr = files->addr, .n = files->n,
		.flags = files->flags, .mode = files->mode, .mask = files->mask,
	};
	char *batch = engine_batch(out->vm);

	BUILD_BUG_ON(FILES_SCRATCH > VM_PATHS_SIZE);
	BUILD_BUG_ON((int)VM_FILES_STAT != FILES_STAT || (int)VM_FILES_READ != FILES_READ ||
		     (int)VM_FILES_WRITE != FILES_WRITE || (int)VM_FILES_OPEN != FILES_OPEN);
	if (!batch)
		return -ENOMEM;
	/* Records of a directory stay valid. */
	request.scratch = batch + VM_BATCH_SIZE;
	request.op = (enum files_op)files->op;
	return files_do(&request);
}

long port_files(struct vm *vm, const struct vm_files *files)
{
	struct files_outside out = { .vm = vm, .files = files };

	return engine_leave(vm, files_outside, &out);
}
