// SPDX-License-Identifier: GPL-2.0
/*
 * The smallest engine, as a module of its own: it shows that the core knows nothing about the
 * engines that it runs.
 *
 * An image is one letter: 'e' returns its arguments, 'l' loops for ever, 's'
 * sleeps in nanosleep(2) with the addresses in its arguments, 'm' exceeds its memory limit.
 */
#include <linux/device.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "engine.h"

#define ECHO_ID	7

struct engine_vm {
	struct run *run;
	struct syscript_call *call;
	char what;
	unsigned long echoed;
};

static long nanosleep_index = -1;
module_param(nanosleep_index, long, 0444);
MODULE_PARM_DESC(nanosleep_index, "Of nanosleep(2) in syscalls.def");

static int echo_create(struct run *run, const struct engine_image *image)
{
	if (image->len != 1 || !strchr("elsm", image->data[0])) {
		strscpy(run->error, "an image is one of the letters e, l, s, m", sizeof(run->error));
		return -ENOEXEC;
	}
	run->vm = kzalloc(sizeof(*run->vm), GFP_KERNEL_ACCOUNT);
	if (!run->vm)
		return -ENOMEM;
	run->vm->run = run;
	run->vm->what = image->data[0];
	return 0;
}

static long echo_run(void *arg)
{
	struct engine_vm *vm = arg;
	struct syscript_call *call = vm->call;

	switch (vm->what) {
	case 'l':
		while (!vm->run->stop_reason)
			run_poll(vm->run);
		break;
	case 's':
		call->results[0] = run_syscall(vm->run, nanosleep_index,
					       (long[6]){ call->args[0], call->args[1] });
		call->nresults = 1;
		break;
	case 'm':
		run_stop(vm->run, -ENOBUFS);
		break;
	default:
		memcpy(call->results, call->args, sizeof(call->results));
		call->nresults = call->nargs;
		output_write(&vm->run->output, "echo\n", 5);
		vm->echoed++;
	}
	return vm->run->stop_reason;
}

static int echo_call(struct engine_vm *vm, struct syscript_call *call)
{
	vm->call = call;
	return run_script(vm->run, echo_run, vm, NULL);
}

static void echo_stats(struct engine_vm *vm, struct engine_stats *stats)
{
	stats->memory = sizeof(*vm);
	stats->counters[0] = READ_ONCE(vm->echoed);
}

static void echo_destroy(struct engine_vm *vm)
{
	kfree(vm);
}

static const struct engine_ops echo_engine = {
	.name = "echo", .id = ECHO_ID, .formats = 1, .contexts = IN_PROCESS,
	.prints = 1,
	.counters = { "echoed" }, .owner = THIS_MODULE,
	.create = echo_create, .call = echo_call,
	.stats = echo_stats, .destroy = echo_destroy,
};

module_driver(echo_engine, engine_register, engine_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("The smallest engine for syscript, for tests");
MODULE_IMPORT_NS(COMPAT_NS(SYSCRIPT));
