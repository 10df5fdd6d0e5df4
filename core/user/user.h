/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The user backend: the module's core, in the process.
 *
 *   script.c      the requests of the uapi header
 *   fd.c          scripts by descriptor, and closed descriptors
 *   limits.c      the process's share
 *   engine.c      engines by number
 *   fork.c        the state of a child of fork(2)
 *   arena.c       arenas of images, and their guards
 *
 * and what the core offers engines (core/run.h, usermem.h, fs/, net/):
 *
 *   run.c         runs, and what they hold
 *   syscalls.c    their system calls
 *   time.c        their time
 *   clock.c       interrupts runs that are over their time limit
 *   usermem.c     the script's access to the process's memory
 *   files.c, readdirplus.c, mmsg.c, frames.c
 *
 * The rest of the core - program.c, request.c, and the engines - is the module's.
 */
#ifndef LIB_USER_H
#define LIB_USER_H

#include <linux/syscript.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "program.h"
#include "run.h"
#include "ticket.h"

/*
 * The defaults of the module's parameters. A process's scripts count here wherever they run: an
 * administrator may allow a user more in the kernel than by default.
 */
#define USER_SCRIPTS_MAX	1024
#define USER_MEMORY_MAX		(16UL << 20)	/* bytes, one script */
#define USER_MEMORY_ALL_MAX	(256 * SYSCRIPT_MEMORY_DEFAULT)
#define USER_TIME_MAX		10000000000UL	/* ns */

#define PAGE_SIZE		4096UL

#define COPY_PAGES	16

/* Pages that this run has found mapped; see usermem.c. */
struct copy_page {
	unsigned long page;
	bool writable;
};

/**
 * struct run_priv - a run, as the user backend's core sees it
 * @home:     the stack that the run came from, or NULL: still on it
 * @start:    run.time at the beginning of the run
 * @entered:  when it last entered script code; 0 during a system call
 * @left:     when it last left script code, or began
 * @cpu:      the last reading of the thread's CPU clock in this run, 0 before that
 * @cpu_time: run.time as of that reading
 * @cpu_start: that clock at @start; 0 if it was not read
 * @is_short: the last run was short
 * @clock:    the clock thread's entry for it
 * @kernel_id: id of the script in the kernel that this program only hosts, or 0
 * @kernel_runs: that script ran when its counters were last read
 * @wall:     when the run began
 * @waited:   ns since @wall that it waited in system calls
 *
 * The running thread writes the times, the clock thread reads them without a lock: the clock
 * thread only asks the running thread to check, which decides.
 */
struct run_priv {
	void *home;
	unsigned long start, entered, left;
	unsigned long cpu, cpu_time, cpu_start;
	bool is_short;
	struct clock_entry *clock;
	unsigned long wall, waited;
	unsigned long long kernel_id;
	bool kernel_runs;
	struct copy_page pages[COPY_PAGES];
	char *buffer;
	struct frames_port *ports;	/* of frames */
	struct output *output;		/* @run.output, or run_output()'s own; NULL until used */
	struct run run;			/* last: its output is not zeroed */
};

static inline struct run_priv *run_priv(struct run *run)
{
	return (struct run_priv *)((char *)run - offsetof(struct run_priv, run));
}

/*
 * The output of a run whose run->output is not allocated, because its engine does not print.
 * Allocated by the first call; NULL: out of memory.
 */
struct output *run_output(struct run *run);

/* The most calls of one script in the kernel at once, abandoned ones included. */
#define TURN_SLOTS	8

struct script {
	struct script *next;		/* fd.c: first, because it never changes */
	struct ticket_lock turn;	/* guards the program */
	unsigned long slots[TURN_SLOTS];	/* each a call's note, or 0: turn.h */
	struct program *program;
	struct script *base;		/* the script that it extends, held; or NULL */
	bool is_watched;		/* by the clock thread: clock_put() */

	unsigned int refs;		/* fd.c from here */
	bool is_taken, is_listed, is_over, is_pinned;
	int fd, hidden;			/* the program's descriptor; the hidden read end */
	dev_t dev;
	ino_t ino;
	unsigned long owner;
	unsigned long long id;
};

/* script.c: the requests of the uapi header */
int user_register(struct syscript_register *reg);
/* Copies the image, followed by a zero byte, for free(): 0, -EFAULT or -ENOMEM. */
int user_copy_image(char **image, const struct syscript_register *reg);
int user_call(struct script *script, struct syscript_call *call);
/* The script's part of ending a run with @err, which it returns. */
int user_failed(struct script *script, int err);
int user_text(struct script *script, struct syscript_text *text);
/* Sets the text that the next user_text() of @fd returns. */
void user_tell(int fd, const char *text);
int user_info(struct script *script, struct syscript_info *info);
int user_next(struct syscript_info *info);
/* Whether it runs there, and this process only hosts it. */
bool user_is_in_kernel(const struct script *script);

/* All engines, then NULL: engines.c */
extern const struct engine_ops *const user_engines[];

/* fork.c: in a child of fork(2), with all signals blocked and no lock held */
void user_fork_child(void);
/* engines.c: for state that all VMs of an engine share */
void user_engines_fork_child(void);

/*
 * lint.c: returns the number of findings, or -errno; @text: as many findings as fit, or the error
 */
int user_lint(const struct syscript_register *reg, char *text, size_t size);

/*
 * syscalls.c: a call of a run by number, which may be missing in syscalls.def: the result or
 * -errno; its time does not count for the run
 */
long run_plain_syscall(struct run *run, long nr, const long *args);

/* time.c */

/* Begins a run, which enters script code; ends it. */
void run_begin_time(struct run *run);
void run_end_time(struct run *run);
/* Before and after system calls, whose time is not the script's. Both read the clock. */
unsigned long run_leave(struct run *run);
void run_enter(struct run *run);
void run_check_wall(struct run_priv *own, unsigned long now);
/* For the clock thread, at each tick: must the run call run_poll()? */
bool run_is_overdue(struct run_priv *own);

/* usermem.c: after what may have unmapped pages or made them read-only */
void usermem_forget(struct run *run);
/* Outside a run. */
bool usermem_is_readable(unsigned long addr, unsigned long n);

/* frames.c: at the end of a run, and of a program. */
void frames_end_run(struct frames_port *ports, bool may_keep);
void frames_release(struct frames_port *ports);

/* limits.c: a child of fork() begins with an account of its own */
void limits_fork_child(void);

/*
 * fd.c.  A script lives while a descriptor of its pipe is open or something
 * holds a reference.  get: NULL if @fd is no script of this backend.
 */
int user_fd_publish(struct script *script, char *error);
struct script *user_fd_find(int fd);

/*
 * The script that was last found at @fd, with a reference, or NULL: for calls that make the
 * kernel check the descriptor.
 */
struct script *user_fd_quick(int fd);

/* Returns a zeroed script, or NULL; freed by user_fd_free(). */
struct script *user_fd_alloc(void);
void user_fd_free(struct script *script);

extern unsigned int user_fd_count;

static inline struct script *user_fd_get(int fd)
{
	/* Calls by the kernel backend pass here, too: usually there is no script to look up. */
	return __atomic_load_n(&user_fd_count, __ATOMIC_RELAXED) ? user_fd_find(fd) : NULL;
}

struct script *user_fd_next(unsigned long long after);
void user_fd_put(struct script *script);
bool user_fd_foreign(const struct script *script);
/* By a caller with a reference: keeps the script's memory after its death, until it is closed. */
void user_fd_pin(struct script *script);
void user_fd_dead(struct script *script);
void user_fd_renumber(struct script *script, int fd);
/* Frees scripts that the program has closed. Not during a call, which may be a signal handler's. */
void user_fd_sweep(void);
void user_fd_fork_child(void);
/* Destroys a script without references. */
void user_destroy(struct script *script);

/*
 * clock.c, for engines with interrupt(). The clock thread exists from the first clock_get() (0 or
 * -EAGAIN) to the last clock_put().
 */
int clock_get(void);
void clock_put(void);
/* Once for each run_priv; false if out of memory. */
bool clock_add(struct run_priv *own);
void clock_del(struct run_priv *own);
/* Around a run, in any context.  After clock_leave() no thread looks at @own. */
void clock_enter(struct run_priv *own);
void clock_leave(struct run_priv *own);
void clock_fork_child(void);

#endif /* LIB_USER_H */
