// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements direct.h. The arena has an unused page, then the result and the structure.  A
 * registration has one run at a time, so there are up to INSTANCES, each with a lock, of which a
 * thread takes a free one.
 *
 * Once the engine cannot be used, or the user's share is used up, scripts make all later batches
 * of the process, because they can move to user space.
 */
#include <errno.h>
#include <linux/syscript_image.h>
#include <string.h>

#include "backend_select.h"
#include "compound.h"
#include "direct.h"
#include "run.h"
#include "suites.h"
#include "user/ticket.h"
#include "user/arena.h"

#define INSTANCES	4
#define INSNS		4
#define RESULT_AT	4096
#define REQUEST_AT	(RESULT_AT + sizeof(int64_t))
/* For the arena, the image and its code. */
#define MEMORY_LIMIT	(128 << 10)
/* As for the scripts in builtin.c: little time is spent in the image's code. */
#define TIME_LIMIT	1000000000

/**
 * struct instance - a registration
 * @arena:    memory shared with the image; NULL: not mapped yet
 * @compound: the registration; none before the first call and after it was lost
 */
struct instance {
	struct ticket_lock turn;
	char *arena;
	struct compound compound;
};

static struct instance instances[INSTANCES];
static bool refused;

/* r6 = r2; r0 = batch(r1, r2); *(u64 *)(r6 - 8) = r0; exit */
static const struct {
	struct image_header header;
	struct image_func func;
	struct image_insn insns[INSNS];
} image = {
	.header = {
		.magic = IMAGE_MAGIC, .version = IMAGE_VERSION, .machine = IMAGE_MACHINE,
		.ninsns = INSNS, .nfuncs = 1,
		.arena_shift = IMAGE_ARENA_SHIFT_MIN,
	},
	.insns = {
		{ INSN_ALU64 | INSN_MOV | INSN_X, .dst = 6, .src = 2 },
		{ INSN_JMP | INSN_CALL, .imm = IMAGE_CALL_BATCH },
		{ INSN_STX | INSN_MEM | INSN_DW, .dst = 6, .src = 0, .off = -8 },
		{ INSN_JMP | INSN_EXIT },
	},
};

static int register_image(struct instance *instance)
{
	char error[RUN_ERROR_LEN];
	struct syscript_register reg = {
		.image = (unsigned long)&image, .image_len = sizeof(image),
		.memory_limit = MEMORY_LIMIT, .time_limit = TIME_LIMIT,
		.wall_limit = SYSCRIPT_NO_LIMIT,
		.error = (unsigned long)error, .error_len = sizeof(error),
		.shared_len = 1UL << IMAGE_ARENA_SHIFT_MIN, .name = "batch",
	};

	if (!choose_batches())
		return -EOPNOTSUPP;
	if (!instance->arena)
		instance->arena = arena_map(IMAGE_ARENA_SHIFT_MIN);
	if (!instance->arena)
		return -ENOMEM;
	reg.shared = (unsigned long)instance->arena;
	return compound_register(&instance->compound, &reg);
}

/* Returns 0; the run's -errno; or -ESTALE if there was no run. */
static int call(struct instance *instance, enum image_batch op)
{
	const struct expected script = expected_script(instance->compound.id);
	struct syscript_call call;
	char error[RUN_ERROR_LEN];
	int err;

	if (!instance->compound.registered)
		return -ESTALE;
	device_call_begin(&call, 2);
	call.args[0] = op;
	call.args[1] = (intptr_t)instance->arena + REQUEST_AT;
	err = device_call_expecting(instance->compound.fd, &call, &script);
	if (!err || err == -ESTALE ||
	    compound_has_failed(&instance->compound, err, error, sizeof(error)))
		return err;
	return -ESTALE;
}

/* Registers again if the registration is a parent's, or the program has closed its descriptor. */
static int call_again(struct instance *instance, enum image_batch op, int *result)
{
	int err;

	compound_close(&instance->compound);
	err = register_image(instance);
	if (err)
		return err;
	*result = call(instance, op);
	return *result == -ESTALE ? -ESTALE : 0;
}

/* Returns 0 with @result as direct_batch() does, or the reason why no batch was made. */
static int make_batch(struct instance *instance, enum image_batch op, void *request,
		      size_t size, int64_t *result)
{
	int err = instance->arena ? 0 : register_image(instance), ended;
	char *there;

	if (err)
		return err;
	there = instance->arena + REQUEST_AT;
	memcpy(there, request, size);
	ended = call(instance, op);
	if (ended == -ESTALE)
		err = call_again(instance, op, &ended);
	if (err)
		return err;
	/* An observer that appeared during the run has ended it. */
	if (ended == -EOPNOTSUPP)
		return ended;
	memcpy(request, there, size);
	memcpy(result, instance->arena + RESULT_AT, sizeof(*result));
	if (ended)
		*result = ended;
	return 0;
}

/*
 * May the next batch succeed?  The descriptor table was full, or another thread is closing
 * descriptors.
 */
static bool passes(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -EINTR || err == -ESTALE;
}

/*
 * NULL if this thread already uses an instance, or all are in use: then the caller's script waits
 * for its turn.
 */
static struct instance *take_instance(void)
{
	struct instance *instance;

	for (instance = instances; instance < instances + INSTANCES; instance++)
		if (ticket_try(&instance->turn))
			return instance;
	return NULL;
}

bool direct_batch(enum builtin which, enum image_batch op, void *request, size_t size,
		  int64_t *result)
{
	struct instance *instance;
	int err;

	if (__atomic_load_n(&refused, __ATOMIC_RELAXED) || !suites_allow(which))
		return false;
	instance = take_instance();
	if (!instance)
		return false;
	err = make_batch(instance, op, request, size, result);
	if (err && !passes(err))
		__atomic_store_n(&refused, true, __ATOMIC_RELAXED);
	ticket_give(&instance->turn);
	return !err;
}

/* Arenas stay mapped for the next call. */
void direct_release(void)
{
	struct instance *instance;

	for (instance = instances; instance < instances + INSTANCES; instance++) {
		if (!ticket_try(&instance->turn))
			continue;
		compound_close(&instance->compound);
		ticket_give(&instance->turn);
	}
}

/* Threads that held a lock at fork() do not exist in the child. */
void direct_fork_child(void)
{
	for (int i = 0; i < INSTANCES; i++)
		ticket_init(&instances[i].turn);
}
