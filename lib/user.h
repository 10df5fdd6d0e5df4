/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The user backend: the engine of the kernel module, in the process.
 *
 *   user.c      a script's life: registration, calls, texts, counters
 *   user_vm.c   the engine's place side (port_*() of vm.h) and its stack
 *   user_mmsg.c batches of messages, for it
 *   user_mem.c  where the engine's memory lies
 *   user_fs.c   the same for the library fs
 *   user_copy.c the script's access to the process's memory
 *   user_fd.c   which fd is which script, and which are closed
 *   watchdog.c  ends runs that are over their time
 */
#ifndef LIB_USER_H
#define LIB_USER_H

#include <linux/syscript.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "luajit/vm.h"
#include "turn.h"

/* The defaults of the module's parameters: what registers there does here. */
#define USER_SCRIPTS_MAX	64
#define USER_MEMORY_MAX		(16UL << 20)	/* bytes, one script and all */
#define USER_TIME_MAX		10000000000UL	/* ns */

#define PAGE_SIZE		4096UL

/**
 * struct clock - a run's time; what it has used up is in vm.stats.run_time
 * @start:    run_time at the beginning of the run
 * @entered:  when it came into script code, 0 while it is in a system call
 * @cpu:      the thread's CPU clock
 * @cpu_base: what that stood at when the watchdog first saw the run, less what
 *            was used by then: a run does not pay for the time in which others
 *            had the CPU
 * @cpu_seen: @cpu_base is valid
 *
 * Written by the running thread (@cpu_base and @cpu_seen: the watchdog), read by
 * both without a lock: the watchdog only asks, the running thread decides.
 */
struct clock {
	unsigned long start, entered;
	clockid_t cpu;
	long cpu_base;
	bool cpu_seen;
};

#define COPY_PAGES	16

/* Pages that this run has found to be there; see user_copy.c. */
struct copy_page {
	unsigned long page;
	bool writable;
};

struct region;

struct script {
	struct vm vm;			/* first: port_*() get its address */
	struct turn turn;		/* guards the VM and what follows */
	bool dead;
	struct clock clock;
	struct copy_page pages[COPY_PAGES];
	struct region *regions;		/* all that user_mem.c gave */
	void *home;			/* the stack that the run came from */
	char *batch;			/* user_fs.c, malloc()ed */
	unsigned long calls, errors, kills;
	char name[SYSCRIPT_NAME_LEN];

	struct script *running;		/* watchdog.c */

	struct script *next;		/* user_fd.c from here */
	unsigned int refs;
	int fd, hidden;			/* as given to the program; our end */
	dev_t dev;
	ino_t ino;
	unsigned long owner;
	unsigned long long id;
};

static inline struct script *script_of(struct vm *vm)
{
	return (struct script *)vm;
}

/* user.c: the requests of the uapi header */
int user_register(struct syscript_register *reg);
int user_call(struct script *script, struct syscript_call *call);
int user_text(struct script *script, struct syscript_text *text);
int user_info(struct script *script, struct syscript_info *info);
int user_next(struct syscript_info *info);
void user_destroy(struct script *script);

/*
 * user_vm.c: these run on the VM's stack, under the watchdog, and return what
 * the function of vm.h returns.
 */
int user_vm_open(struct script *script, struct vm_load *load);
int user_vm_run(struct script *script, struct vm_run *run);
bool user_vm_overdue(struct script *script);

/* A system call of the running script: -errno, and the time is not counted. */
long user_vm_syscall(struct vm *vm, long nr, const long *args);
/* Around system calls: their time is not the script's. */
void user_vm_leave(struct script *script);
void user_vm_enter(struct script *script);

/* user_mem.c */
void *user_mem_script(void);		/* zeroed, or NULL */
void user_mem_free_script(struct script *script);
char *user_mem_stack(struct script *script);
void user_mem_release(struct script *script);

/* user_copy.c */
void user_copy_forget(struct script *script);

/*
 * user_fd.c.  A script lives while a descriptor of its pipe is open or somebody
 * holds a reference.  get: NULL if @fd is no script of this backend.
 */
int user_fd_publish(struct script *script);
struct script *user_fd_get(int fd);
struct script *user_fd_next(unsigned long long after);
void user_fd_put(struct script *script);
bool user_fd_foreign(const struct script *script);
void user_fd_dead(struct script *script);
void user_fd_renumber(struct script *script, int fd);
void user_fd_sweep(void);
int user_fd_quota(unsigned long memory, char *error, size_t error_len);

/* watchdog.c */
int watchdog_start(void);
void watchdog_add(struct script *script);
void watchdog_del(struct script *script);
void watchdog_fork_prepare(void);
void watchdog_fork_parent(void);
void watchdog_fork_child(void);

#endif /* LIB_USER_H */
