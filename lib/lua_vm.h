/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A script of lua_host.c, and what its four files offer one another. */
#ifndef LIB_LUA_VM_H
#define LIB_LUA_VM_H

#include "lua-runtime/runtime.h"
#include "compound.h"
#include "lua/place.h"
#include "lua_opened.h"
#include "user/turn.h"
#include "syscript.h"
#include "user/user.h"

#define ARENA_START	4096UL	/* a page that nothing lies in */
/* user/turn.h's, and that of whoever has the turn. */
#define OWN_SLOT	TURN_SLOTS

/**
 * struct vm - a script
 * @backend: the one that the caller has asked for
 * @inner:   the compound in this process, or NULL
 * @kernel:  or in the kernel
 * @base:    Lua, which its image extends
 * @ios:     for each slot, and @frames: where the compound's argument leads then
 * @heap:    Lua's memory in the arena
 * @module:  the arena is the module's memory, not the process's own
 * @is_loaded: its top level has run
 * @another: LUA_HOST_OR_ANOTHER, and nothing of the script has run
 */
struct vm {
	struct run *run;
	enum syscript_backend backend;
	struct engine_vm *inner;
	struct compound kernel;
	struct lua_base *base;
	struct image_header *image;
	size_t image_len;
	char *arena, *at;		/* what is free of it starts here */
	char *heap;
	uint32_t shift;
	struct runtime_call *call;
	struct runtime_io *ios, **frames;
	bool module, is_loaded, another;
	struct origins origins;		/* of what is compiled */
};

static inline struct vm *lua_vm_of(struct engine_vm *vm)
{
	return (struct vm *)vm;
}

/*
 * lua_arena.c.  Each that returns int: 0, or -errno with the reason in run->error if there is
 * more to say than the number.
 */
int lua_vm_make_arena(struct vm *vm, const struct cosy_file *file, size_t source_len);

/* The compound and the script in the arena; in this process where the module has no memory. */
int lua_vm_place(struct vm *vm, const struct cosy_file *file,
		 const struct engine_image *source);

/*
 * What the compound and Lua have used of the arena, apart from stack and output: up to the
 * call, of the heap, and of its map.  No page is in two of them.
 */
void lua_vm_used_parts(const struct vm *vm, struct lua_part parts[LUA_OPENED_PARTS]);

/*
 * The script goes on in this process, whose child after fork(2) has to find what it has:
 * the process's own memory comes in place of the module's.
 */
int lua_vm_leave_module(struct vm *vm);

/*
 * lua_load.c.  Each returns 0, or -errno with the reason in run->error if there is more to say
 * than the number.
 */
/* As vm->backend says, and in this process. */
int lua_vm_load(struct vm *vm);
int lua_vm_load_here(struct vm *vm);

/*
 * Loads @image in place of the one that the script has: true, or false and that one stays, if
 * it can; else *err is set.
 */
bool lua_vm_reload(struct vm *vm, struct image_header *image, size_t len, int *err);

/* The image stays, and the time limit is that of calls from here on. */
int lua_vm_limit_calls(struct vm *vm);

/* lua_call.c: runs what the arena has.  0, or -errno with the text in run->error. */
int lua_vm_enter(struct vm *vm);
int lua_vm_call(struct engine_vm *engine_vm, struct syscript_call *call);

#endif /* LIB_LUA_VM_H */
