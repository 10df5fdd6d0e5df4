// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Programs of subsystems, by the requests of linux/syscript.h.  The kernel takes an image with
 * its data and the names of functions. object.c and aot/driver.c make these from programs in C and
 * Lua.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../backend_select.h"
#include "../device.h"
#include "../syscript_programs.h"
#include "user/tools.h"
#include "object.h"

#define MEMORY_BESIDES	(512 << 10)	/* bytes of arena, code, image and per-CPU contexts */
/* The size of the first version of struct syscript_load_options. */
#define OPTIONS_SIZE_1	sizeof(struct syscript_load_options)

/* Returns 0, or -EINVAL with a text if @text does not fit @to. */
static int copy_text(char *to, size_t size, const char *text, const char *what, char *error,
		     size_t error_len)
{
	if (strlen(text) >= size) {
		snprintf(error, error_len, "the %s is longer than %zu bytes", what, size - 1);
		return -EINVAL;
	}
	strcpy(to, text);
	return 0;
}

static int fill_load(struct syscript_load *load, const char *name,
		     const struct syscript_load_options *options, char *error, size_t error_len)
{
	if (options->flags & ~(SYSCRIPT_LOAD_NEW | SYSCRIPT_LOAD_FALLBACK))
		return -EINVAL;
	load->engine = SYSCRIPT_ENGINE_CONFINED;
	load->flags = options->flags | SYSCRIPT_LOAD_SEES;
	load->errors_max = options->errors_max;
	load->fallback = options->fallback;
	return copy_text(load->name, sizeof(load->name), name, "name", error, error_len) ?:
	       copy_text(load->subsystem, sizeof(load->subsystem),
			 options->subsystem ?: "netfilter", "subsystem's name", error, error_len) ?:
	       copy_text(load->where, sizeof(load->where), options->where ?: "", "place", error,
			 error_len);
}

static void fill_object(struct syscript_load *load, const struct object *object)
{
	load->image = (uintptr_t)object->image;
	load->image_len = object->image_len;
	load->data = (uintptr_t)object->data;
	load->data_len = object->data_len;
	load->functions = (uintptr_t)object->functions;
	load->functions_len = object->functions_len;
	load->copies = object->copies;
	load->sees = object->sees;
	load->states = (uintptr_t)object->states;
	load->nstates = object->nstates;
	load->lines = (uintptr_t)object->lines;
	load->lines_len = object->nlines * sizeof(*object->lines);
	load->memory_limit = object->memory + load->lines_len + MEMORY_BESIDES;
}

/* The kernel's text has the reason, but not the program's name. */
static int load_object(struct syscript_load *load, const struct object *object, char *error,
		       size_t error_len)
{
	char text[2048] = "";
	int err;

	fill_object(load, object);
	load->error = (uintptr_t)text;
	load->error_len = sizeof(text);
	err = device_program(SYSCRIPT_IOC_LOAD, load);
	if (err < 0 && text[0])
		snprintf(error, error_len, "cannot load %s: %s", load->name, text);
	return err;
}

int syscript_load(const char *name, const void *file, size_t len,
		  const struct syscript_load_options *given, char *error, size_t error_len)
{
	struct syscript_load_options options;
	struct syscript_load load = { 0 };
	struct object object;
	int err;

	if (!error && error_len)
		return -EINVAL;
	if (error_len)
		*error = '\0';
	tools_written(error, error_len);
	err = sized_copy(&options, sizeof(options), OPTIONS_SIZE_1, given) ?:
	      fill_load(&load, name, &options, error, error_len) ?:
	      object_read(&object, options.source ?: name, file, len, load.subsystem, error,
			  error_len);
	if (!err) {
		err = load_object(&load, &object, error, error_len);
		object_free(&object);
	}
	if (err < 0 && error_len && !*error)
		snprintf(error, error_len, "cannot load %s: %s", name, syscript_strerror(err));
	return err;
}

int syscript_unload(const char *name)
{
	struct syscript_unload unload = { 0 };

	if (strlen(name) >= sizeof(unload.name))
		return -ENOENT;
	strcpy(unload.name, name);
	return device_program(SYSCRIPT_IOC_UNLOAD, &unload);
}

int syscript_next_program(struct syscript_program *program)
{
	uint64_t after = program->id;

	memset(program, 0, sizeof(*program));
	program->id = after;
	tools_written(program, sizeof(*program));
	return device_program(SYSCRIPT_IOC_PROGRAM, program);
}

int syscript_open_events(const char *name, struct syscript_events *events)
{
	*events = (struct syscript_events){ 0 };
	tools_written(events, sizeof(*events));
	if (strlen(name) >= sizeof(events->name))
		return -ENOENT;
	strcpy(events->name, name);
	return device_program(SYSCRIPT_IOC_EVENTS, events);
}

int syscript_invoke(const char *name, unsigned int nargs, const int64_t *args,
		    const void *data, size_t data_len, int64_t *result,
		    char *error, size_t error_len)
{
	struct syscript_invoke call = {
		.nargs = nargs, .data = (uintptr_t)data, .data_len = data_len,
		.error = (uintptr_t)error, .error_len = error_len,
	};
	int err;

	if (error_len)
		*error = '\0';
	tools_written(error, error_len);
	if (nargs > SYSCRIPT_INVOKE_ARGS_MAX || data_len > SYSCRIPT_INVOKE_DATA_MAX)
		return -EINVAL;
	if (strlen(name) >= sizeof(call.name))
		return -ENOENT;
	strcpy(call.name, name);
	for (unsigned int i = 0; i < nargs; i++)
		call.args[i] = args[i];
	err = device_program(SYSCRIPT_IOC_INVOKE, &call);
	if (!err) {
		*result = call.result;
		tools_written(result, sizeof(*result));
	}
	return err;
}
