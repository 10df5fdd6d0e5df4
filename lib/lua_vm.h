/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A script of lua_host.c, and the interfaces of its four files. */
#ifndef LIB_LUA_VM_H
#define LIB_LUA_VM_H

#include "lua-runtime/runtime.h"
#include "compound.h"
#include "lua/source_loc.h"
#include "lua_kept.h"
#include "lua_snapshot.h"
#include "user/turn.h"
#include "syscript.h"
#include "user/user.h"

#define ARENA_START	4096UL	/* an unused page */
/* user/turn.h's slots, and one for the owner of the turn. */
#define OWN_SLOT	TURN_SLOTS

/**
 * struct vm - a script
 * @backend: the backend that the caller has requested
 * @inner:   the compound in this process, or NULL
 * @kernel:  the compound in the kernel
 * @base:    Lua's runtime, which its image extends
 * @source:  the script's text, while it is registered; else NULL
 * @kept:    owns @image and @origins; or NULL
 * @anew:    run the top level, even if the state after it is kept from an earlier script
 * @ios:     a struct runtime_io for each slot; @frames: the compound's argument for each slot
 * @error:   text of the last error; in the arena, like @ios and @frames
 * @heap:    the memory for Lua in the arena
 * @module:  the arena is the module's memory, not the process's own
 * @is_loaded: the script's top level has run
 * @another: the library may use another engine, as nothing of the script has run yet
 */
struct vm {
	struct run *run;
	enum syscript_backend backend;
	struct engine_vm *inner;
	struct compound kernel;
	struct shared_image *base;
	const struct engine_image *source;
	struct lua_kept *kept;
	struct image_header *image;
	size_t image_len;
	char *arena, *at;		/* free memory begins at @at */
	char *heap, *error;
	uint32_t shift;
	struct runtime_call *call;
	struct runtime_io *ios, **frames;
	bool module, is_loaded, another, anew;
	struct origins origins;		/* functions of the compiled code */
};

static inline struct vm *lua_vm_of(struct engine_vm *vm)
{
	return (struct vm *)vm;
}

/* The key under which a script that is being made will be kept. */
static inline struct lua_kept_key lua_vm_key(const struct vm *vm)
{
	return (struct lua_kept_key){ vm->run, vm->source };
}

/*
 * lua_arena.c.  Functions that return int return 0, or -errno, with the reason in run->error if
 * the number does not say enough.
 */
int lua_vm_make_arena(struct vm *vm, const struct cosy_file *file, size_t source_len);

/* Places the compound and the script in the arena; in this process if the module has no memory. */
int lua_vm_place(struct vm *vm, const struct cosy_file *file);

/* Drops the image and its origins. */
void lua_vm_drop_image(struct vm *vm);

/*
 * The parts of the arena that the compound and Lua have used, except stack and output: up to the
 * call, of the heap, and of the heap's map. They share no page.
 */
void lua_vm_used_parts(const struct vm *vm, struct lua_part parts[SNAPSHOT_PARTS]);

/*
 * Moves the script to this process, whose children after fork(2) must find its memory: replaces
 * the module's memory by the process's.
 */
int lua_vm_leave_module(struct vm *vm);

/*
 * lua_load.c.  They return 0, or -errno, with the reason in run->error if the number does not say
 * enough.
 */
/* Load the script as vm->backend says, and in this process. */
int lua_vm_load(struct vm *vm);
int lua_vm_load_here(struct vm *vm);
/* Loads a kept script; on failure it is to be made anew, which may succeed. */
int lua_vm_load_kept(struct vm *vm);

/*
 * Loads @image in place of the script's current image: returns true; or false if the current one
 * stays, with *err set if even that failed.
 */
bool lua_vm_reload(struct vm *vm, struct image_header *image, size_t len, int *err);

/* Registers the same image with the time limit of calls. */
int lua_vm_limit_calls(struct vm *vm);

/* lua_call.c: runs the script in the arena. 0, or -errno with the text in run->error. */
int lua_vm_enter(struct vm *vm);
int lua_vm_call(struct engine_vm *engine_vm, struct syscript_call *call);

#endif /* LIB_LUA_VM_H */
