// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * See vm.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "../image.h"
#include "../machine.h"
#include "vm.h"

u64 user_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000UL + now.tv_nsec;
}

void machine_poll(struct machine *machine)
{
	const struct user_image *image = machine->run;

	/* Another one has the CPU all the same. */
	machine->fuel = 64 * MACHINE_FUEL;
	if (image->deadline && user_time() >= image->deadline)
		machine->end = MACHINE_STOP;
}

static long call_array(u64 nr, const u64 *a)
{
	long ret = syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);

	return ret == -1 ? -errno : ret;
}

u64 machine_call(const u64 *args, struct machine *machine, u32 call)
{
	int saved = errno;
	long ret;

	if (call == IMAGE_CALL_SYSCALL)
		ret = call_array(args[0], (const u64 *)(unsigned long)args[1]);
	else
		ret = call_array(call - IMAGE_SYSCALL, args);
	errno = saved;
	(void)machine;
	return ret;
}

bool image_syscall_known(u32 nr, const char **why)
{
	(void)nr;
	(void)why;
	return true;
}

int user_image_load(struct user_image *image, const void *bytes, size_t len, char *error,
		    size_t error_len)
{
	struct jit jit = { .checked = &image->checked };
	int ret;

	error[0] = '\0';
	image->deadline = 0;
	image->copy = malloc(len ?: 1);
	if (!image->copy)
		return -ENOMEM;
	memcpy(image->copy, bytes, len);
	ret = image_check(image->copy, len, &image->checked, error, error_len);
	if (ret)
		goto copy;
	if (getrandom(&jit.key, sizeof(jit.key), GRND_NONBLOCK) != sizeof(jit.key))
		jit.key = 0;
	ret = code_make(&image->code, &jit, error, error_len);
	if (!ret)
		return 0;
	image_release(&image->checked);
copy:
	free(image->copy);
	return ret;
}

void user_image_release(struct user_image *image)
{
	code_free(&image->code);
	image_release(&image->checked);
	free(image->copy);
}

int user_image_call(const struct user_image *image, void *arena, u32 stack_end,
		    u32 stack_size, const u64 args[5], u64 *value, char *error,
		    size_t error_len)
{
	struct machine machine = {
		.user = (unsigned long)arena, .base = (unsigned long)arena,
		.run = (void *)image,
	};

	memcpy(machine.args, args, sizeof(machine.args));
	machine_init(&machine, image->checked.image);
	machine.stack = stack_end - stack_size;
	machine.frame = stack_end;
	confined_enter(&machine, image->code.exec);
	*value = machine.value;
	if (machine.end == MACHINE_DONE)
		return 0;
	if (machine.end == MACHINE_STOP)
		snprintf(error, error_len, "insn %u: over the time limit", machine.pc);
	else
		machine_text(&machine, error, error_len);
	return -EPROTO;
}
