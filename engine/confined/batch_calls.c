// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements the batches of syscript_image_batch.h.
 *
 * The arena is shared with the process, whose threads may write to it at any time.  So a batch's
 * structure is copied before it is checked, and only the copy is used; results are written and
 * never read again.  All other memory is accessed by addresses of the process, through functions
 * that check them.
 */
#include "batch_calls.h"
#include "batch_arena.h"
#include "fs/files.h"
#include "net/accept.h"
#include "net/mmsg.h"
#include "fs/readdirplus.h"
#include "engine.h"
#include "platform.h"
#include "syscalls_nr.h"
#include "usermem.h"

/* -- Files --------------------------------------------------------------------------- */

static s64 files_call(struct engine_vm *vm, enum files_op op, u64 address)
{
	struct image_batch_files given;
	struct files_request request;

	READ_STRUCT(vm, &given, address);
	request = (struct files_request){
		.op = op, .dirfd = given.dirfd, .addr = given.files, .n = given.n,
		.flags = given.flags, .mode = given.mode, .mask = given.mask,
	};
	return files_batch(vm->run, &request);
}

/* The structures have the same layout, so they are copied as a whole. */
#define SAME_FIELD(field)						\
	(offsetof(struct image_batch_file, field) == offsetof(struct files_reading, field))

static noinline s64 file_call(struct engine_vm *vm, u64 address)
{
	struct files_reading reading;
	s64 ret;

	_Static_assert(sizeof(reading) == sizeof(struct image_batch_file) &&
		       SAME_FIELD(path) && SAME_FIELD(addr) && SAME_FIELD(size) &&
		       SAME_FIELD(dirfd) && SAME_FIELD(flags) && SAME_FIELD(total), "");
	READ_STRUCT(vm, &reading, address);
	ret = files_read(vm->run, &reading);
	memcpy(in_arena(vm, address) + offsetof(struct files_reading, total), &reading.total,
	       sizeof(reading.total));
	return ret;
}

static s64 syscall_entry_call(struct engine_vm *vm, u64 address)
{
	struct image_batch_entries given;
	struct readdirplus request;
	s64 err;

	READ_STRUCT(vm, &given, address);
	request = (struct readdirplus){
		.fd = given.fd, .mask = given.mask, .flags = given.flags, .max = given.max,
		.names = given.names, .names_len = given.names_len, .room = given.room,
	};
	err = readdirplus(vm->run, &request);
	/* If the run ends, the records are not valid. */
	if (err || vm->run->stop_reason)
		return err;
	err = usermem_copy_out(vm->run, given.to, request.records, request.used);
	given.used = request.used;
	given.taken = request.taken;
	given.n = request.n;
	given.end = request.end;
	given.start = request.start;
	memcpy(in_arena(vm, address), &given, sizeof(given));
	return err;
}

/* -- Messages ------------------------------------------------------------------------- */

static size_t size_of(unsigned int n)
{
	return sizeof(struct mmsg) + n * sizeof(struct mmsg_slot);
}

/* Charged to the program's memory limit, which is already charged to the user. */
static bool batches_may_have(const struct engine_vm *vm, size_t size)
{
	return size <= vm->memory_max - vm->batches.memory;
}

/* Allocates where the run may sleep. */
struct allocation {
	struct mmsg *mmsg;
	size_t size;
};

static long batches_allocate(void *arg)
{
	struct allocation *allocation = arg;

	allocation->mmsg = platform_zalloc(allocation->size);
	return 0;
}

/* Stores @mmsg and returns its number; 0 if all numbers are in use. */
static int batches_keep(struct engine_vm *vm, struct mmsg *mmsg)
{
	unsigned int i;

	for (i = 0; i < IMAGE_MESSAGES_MAX; i++) {
		if (vm->batches.messages[i])
			continue;
		vm->batches.messages[i] = mmsg;
		vm->batches.memory += size_of(mmsg->n);
		return i + 1;
	}
	return 0;
}

static s64 batches_import(struct engine_vm *vm, struct image_batch_import *given)
{
	struct allocation allocation = { .size = size_of(given->n) };
	int number = 0;
	s64 err;

	if (!batches_may_have(vm, allocation.size))
		return -ENOBUFS;
	run_as_syscall(vm->run, batches_allocate, &allocation, false);
	if (!allocation.mmsg)
		return -ENOBUFS;
	err = mmsg_import(vm->run, allocation.mmsg, given->addr, given->n, &given->wrong);
	/* If the run ends, the program does not get the number. */
	if (!err && !vm->run->stop_reason)
		number = batches_keep(vm, allocation.mmsg);
	if (!number)
		platform_free(allocation.mmsg);
	return err ?: number ?: -ENOBUFS;
}

static s64 messages_call(struct engine_vm *vm, u64 address)
{
	struct image_batch_import given;
	s64 ret;

	READ_STRUCT(vm, &given, address);
	if (!given.n || given.n > MMSG_MAX)
		return -EINVAL;
	given.wrong = 0;
	ret = batches_import(vm, &given);
	memcpy(in_arena(vm, address), &given, sizeof(given));
	return ret;
}

/* The imported messages with @number, or NULL. */
static struct mmsg **batches_find(struct engine_vm *vm, u64 number)
{
	u64 i = number - 1;
	struct mmsg **messages;

	if (i >= IMAGE_MESSAGES_MAX)
		return NULL;
	messages = &vm->batches.messages[image_index(i, IMAGE_MESSAGES_MAX)];
	return *messages ? messages : NULL;
}

static s64 forget_call(struct engine_vm *vm, u64 number)
{
	struct mmsg **messages = batches_find(vm, number);

	if (!messages)
		return -ENOENT;
	vm->batches.memory -= size_of((*messages)->n);
	/* Not as a system call: if observers refused it, the memory would stay allocated. */
	platform_free(*messages);
	*messages = NULL;
	return 0;
}

static s64 transfer_call(struct engine_vm *vm, bool receives, u64 address)
{
	struct image_batch_messages given;
	struct mmsg **messages = NULL;
	struct mmsg_call call;

	READ_STRUCT(vm, &given, address);
	if (receives || given.messages) {
		messages = batches_find(vm, given.messages);
		if (!messages)
			return -ENOENT;
	}
	call = (struct mmsg_call){
		.fd = given.fd, .n = given.n, .flags = given.flags, .addr = given.addr,
		.mmsg = messages ? *messages : NULL,
	};
	return receives ? mmsg_recv(vm->run, &call) : mmsg_send(vm->run, &call);
}

/* -- Connections ---------------------------------------------------------------------- */

static s64 accept_call(struct engine_vm *vm, u64 address)
{
	struct image_batch_accept given;
	struct accept_request request;

	READ_STRUCT(vm, &given, address);
	request = (struct accept_request){
		.fd = given.fd, .n = given.n, .flags = given.flags, .addr = given.fds,
	};
	return accept_batch(vm->run, &request);
}

/* -- Copies ---------------------------------------------------------------------------- */

static s64 copy_call(struct engine_vm *vm, bool in, u64 address)
{
	struct image_batch_copy given;
	unsigned long size = 1UL << vm->image.arena_shift, offset;

	READ_STRUCT(vm, &given, address);
	offset = given.here & (size - 1);
	if (given.n > IMAGE_COPY_MAX || given.n > size - offset)
		return -EINVAL;
	return in ? usermem_copy_in(vm->run, in_arena(vm, offset), given.there, given.n) :
		    usermem_copy_out(vm->run, given.there, in_arena(vm, offset), given.n);
}

/* -- Memory ---------------------------------------------------------------------------- */

static s64 use_call(struct engine_vm *vm, u64 address)
{
	struct image_batch_use given;
	unsigned long size = 1UL << vm->image.arena_shift, offset;

	READ_STRUCT(vm, &given, address);
	offset = given.from & (size - 1);
	return given.n > size - offset ? -EINVAL : vm_use(vm, offset, given.n);
}

/* -- Dispatch ---------------------------------------------------------------------------- */

static noinline s64 call_other(struct engine_vm *vm, u64 op, u64 address)
{
	switch (op) {
	case IMAGE_BATCH_PENDING:
		return !!run_pending(vm->run);
	case IMAGE_BATCH_STAT:
		return files_call(vm, FILES_STAT, address);
	case IMAGE_BATCH_READ:
		return files_call(vm, FILES_READ, address);
	case IMAGE_BATCH_WRITE:
		return files_call(vm, FILES_WRITE, address);
	case IMAGE_BATCH_OPEN:
		return files_call(vm, FILES_OPEN, address);
	case IMAGE_BATCH_ENTRIES:
		return syscall_entry_call(vm, address);
	case IMAGE_BATCH_MESSAGES:
		return messages_call(vm, address);
	case IMAGE_BATCH_FORGET:
		return forget_call(vm, address);
	case IMAGE_BATCH_RECEIVE:
	case IMAGE_BATCH_SEND:
		return transfer_call(vm, op == IMAGE_BATCH_RECEIVE, address);
	case IMAGE_BATCH_ACCEPT:
		return accept_call(vm, address);
	case IMAGE_BATCH_COPY_IN:
	case IMAGE_BATCH_COPY_OUT:
		return copy_call(vm, op == IMAGE_BATCH_COPY_IN, address);
	case IMAGE_BATCH_USE:
		return use_call(vm, address);
	}
	return batches_frames_call(vm, op, address);
}

/* A single file is tested first, because the tests for other batches would be much of its cost. */
s64 batches_call(struct engine_vm *vm, u64 op, u64 address)
{
	return likely(op == IMAGE_BATCH_READ_FILE) ? file_call(vm, address) :
						     call_other(vm, op, address);
}

void batches_release(struct engine_vm *vm)
{
	unsigned int i;

	for (i = 0; i < IMAGE_MESSAGES_MAX; i++)
		if (vm->batches.messages[i])
			platform_free(vm->batches.messages[i]);
}
