/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs for subsystems of the kernel: for modules that call them.  syscript.ko
 * exports what is declared here, GPL, in the namespace SYSCRIPT.
 *
 * A module registers an embedding: what its programs see, what they may return and
 * call, and how they are attached to a place.  A user loads a program for it, by name
 * (`syscript load NAME FILE --for EMBEDDING --at WHERE`); from then on the embedding
 * calls the hook that it was given:
 *
 *	struct syscript_event event;
 *
 *	if (!syscript_hook_begin(hook, &event))
 *		return (the default) event.result;
 *	(fill in event.view)
 *	return syscript_hook_run(&event);
 *
 * If a program fails, exceeds its budget, or is missing at the moment, the default is
 * used: the embedding need not care.
 *
 * A module may also register a library: functions that programs of any subsystem call.
 *
 * syscript_program(9) is the manual, and examples/embedding/template.c a module to begin
 * with.  It is built against this header and the module's Module.symvers.
 */
#ifndef _LINUX_SYSCRIPT_PROGRAM_H
#define _LINUX_SYSCRIPT_PROGRAM_H

#include <linux/types.h>
#include <linux/version.h>

/* For modules: MODULE_IMPORT_NS(SYSCRIPT_NAMESPACE) */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define SYSCRIPT_NAMESPACE	"SYSCRIPT"
#else
#define SYSCRIPT_NAMESPACE	SYSCRIPT
#endif

struct module;
struct net;
struct syscript_hook;

/**
 * struct syscript_event - one call, on the caller's stack
 * @view:   what the program sees: syscript_embedding.view_size bytes and as many after
 *          these as it asked for; writable between begin and run, and invalid
 *          afterwards.  Not zeroed: earlier contents are the program's own
 * @result: the program's, or the default
 * @failed: after run: the program has failed, and this is the default
 * @copies: bytes after view_size that the program wants
 *
 * The fields below are not for embeddings.
 */
struct syscript_event {
	void *view;
	s64 result;
	bool failed;
	u32 copies;

	bool bh;
	struct syscript_hook *hook;
	struct hook_program *program;
	void *seat;
};

/**
 * struct syscript_function - what a program may call
 * @name: by which programs call it
 * @fn:   @args are its five arguments.  It is called with bottom halves off: it does
 *        not sleep, and causes no packet or other event that might call the
 *        same hook on this CPU (such a call gets the default)
 */
struct syscript_function {
	const char *name;
	s64 (*fn)(struct syscript_event *event, const s64 *args);
};

/* Contexts of functions.  Programs for subsystems are called in the second. */
#define SYSCRIPT_IN_PROCESS	(1U << 0)	/* may sleep */
#define SYSCRIPT_IN_ATOMIC	(1U << 1)	/* bottom halves off, in any task's place */

/* syscript_library.capability: any user who may load a program may call them. */
#define SYSCRIPT_NO_CAPABILITY	(-1)

/**
 * struct syscript_library - functions for programs of all subsystems
 * @name:       programs call its functions NAME_FUNCTION
 * @owner:      its module, which cannot be unloaded while programs use its functions
 * @contexts:   where they may be called: SYSCRIPT_IN_*.  If they sleep, no program
 *              for a subsystem that calls one can be loaded
 * @capability: that loading a program which calls one needs, in the initial user
 *              namespace: CAP_*; or SYSCRIPT_NO_CAPABILITY, also for the owners of network
 *              namespaces of their own
 * @functions:  the last with a name of NULL
 */
struct syscript_library {
	const char *name;
	struct module *owner;
	unsigned int contexts;
	int capability;
	const struct syscript_function *functions;
};

/* 0, -EEXIST or -ENOMEM.  As for embeddings: unregister it before the module is unloaded. */
int syscript_library_register(const struct syscript_library *library);
void syscript_library_unregister(const struct syscript_library *library);

/**
 * struct syscript_embedding - a subsystem that calls programs
 * @name:      as in --for
 * @owner:     its module, which cannot be unloaded while it has programs
 * @of_net:    programs belong to a network namespace, and loading them needs
 *             CAP_NET_ADMIN over it; else to the machine, which needs CAP_SYS_ADMIN
 * @view_size: bytes of syscript_event.view, always
 * @copy_max:  bytes after these that a program may ask for
 * @fuel:      of one call (engine/confined/machine.h): a unit is 50 ns at most
 * @errors_max: after this many errors in a second a program is no longer called, unless
 *             the loader gives another number; 0: SYSCRIPT_ERRORS_DEFAULT
 * @low, @high: results beyond are errors
 * @fallback:  the default, unless the loader gives another one
 * @functions: that programs may call besides tables (uapi/syscript_table.h), the last with
 *             a name of NULL; or NULL
 * @attach:    in process context.  @where: text after --at; in @net, or NULL for the
 *             machine.  From now on the embedding calls @hook.  0, or -errno with the
 *             reason in @error.  @net stays until @detach; do not hold it
 * @detach:    after its return no call begins; calls under way may continue until the
 *             next synchronize_net()
 */
struct syscript_embedding {
	const char *name;
	struct module *owner;
	bool of_net;
	u32 view_size, copy_max, fuel, errors_max;
	s64 low, high, fallback;
	const struct syscript_function *functions;
	int (*attach)(struct syscript_hook *hook, struct net *net, const char *where,
		      char *error, size_t len);
	void (*detach)(struct syscript_hook *hook);
};

/*
 * 0, -EEXIST or -ENOMEM.  Before it goes, the module unregisters it: no program is left
 * then.  One that is not registered is left alone.
 */
int syscript_embedding_register(const struct syscript_embedding *embedding);
void syscript_embedding_unregister(const struct syscript_embedding *embedding);

/*
 * Calls of a hook, in any context but that of hard interrupts.  begin() returns false
 * with the default in event->result; else bottom halves are off until run(), which
 * follows at once and returns event->result.
 */
bool syscript_hook_begin(struct syscript_hook *hook, struct syscript_event *event);
s64 syscript_hook_run(struct syscript_event *event);

/* What attach() has set for itself. */
void syscript_hook_set_private(struct syscript_hook *hook, void *private);
void *syscript_hook_private(const struct syscript_hook *hook);

/*
 * For functions: @len bytes of the program's memory at @address, which is an argument,
 * or NULL if it has no such bytes.  Other CPUs may write there at any time.
 */
void *syscript_event_memory(const struct syscript_event *event, s64 address, u32 len);

/* For functions: their work, in the program's fuel, besides the call itself. */
void syscript_event_charge(const struct syscript_event *event, u32 fuel);

#endif /* _LINUX_SYSCRIPT_PROGRAM_H */
