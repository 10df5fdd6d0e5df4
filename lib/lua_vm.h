/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A script of lua_host.c, and what its three files offer one another. */
#ifndef LIB_LUA_VM_H
#define LIB_LUA_VM_H

#include "lua-runtime/runtime.h"
#include "compound.h"
#include "lua/place.h"
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
	uint32_t shift;
	struct runtime_call *call;
	struct runtime_io *ios, **frames;
	bool is_loaded, another;
	struct origins origins;		/* of what is compiled */
};

static inline struct vm *lua_vm_of(struct engine_vm *vm)
{
	return (struct vm *)vm;
}

/*
 * lua_load.c.  Each returns 0, or -errno with the reason in run->error if there is more to say
 * than the number.
 */
int lua_vm_make_arena(struct vm *vm, const struct cosy_file *file, size_t source_len);
int lua_vm_place_compound(struct vm *vm, const struct cosy_file *file);
void lua_vm_place_call(struct vm *vm, const struct engine_image *source);
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
