/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * System call scripting: the interface between user space and syscript.ko.
 *
 * This header is the whole of the interface and its manual.  The kernel
 * module, libsyscript, the command and the tests all include it.
 *
 * Opening /dev/syscript gives the device for all engines; /dev/syscript-confined
 * is for engine 1 alone, and can be open to more people.  Requests of both:
 *
 *   SYSCRIPT_IOC_REGISTER  struct syscript_register   a new script
 *   SYSCRIPT_IOC_NEXT      struct syscript_info       walk the live scripts
 *
 * REGISTER returns a new file descriptor, close-on-exec, that *is* the script.
 * It belongs to the memory map that registered it.  close() frees all that it
 * holds.  Its requests:
 *
 *   SYSCRIPT_IOC_CALL      struct syscript_call       run the script; or, for less,
 *                          lseek(fd, -(address of it), SYSCRIPT_SEEK_CALL), which
 *                          returns SYSCRIPT_SEEK_CALLED in place of 0; an error may
 *                          be that of a seccomp filter for lseek(2), see
 *                          SYSCRIPT_CALL_TELL
 *   SYSCRIPT_IOC_TEXT      struct syscript_text       last error, or output
 *   SYSCRIPT_IOC_INFO      struct syscript_info       counters and limits
 *
 * poll() on a script fd reports POLLERR once the script is dead.
 *
 * A script is an *image* for an *engine*; what an image is, what arguments and
 * results are, and which counters there are besides the general ones, is said
 * for each engine at the end of this header.
 *
 * Growing the interface.  The size of each structure is part of its request
 * number, and the kernel accepts every size that it has ever published: an
 * older, shorter structure is read as if the rest were zero; of a newer,
 * longer one the rest has to be zero (else E2BIG).  Flags and reserved
 * fields that the kernel does not know have to be zero (else EINVAL).
 *
 * Signals.  A run does not return to user mode before its end, so signals, stops
 * and the freezer wait for it.  While one is pending, calls that would block
 * return EINTR and the script can ask for it, so that it can finish what it has
 * begun.  After a grace time the run ends with EINTR at its next system call or
 * safe point; the script stays as it is and may be called again.  A fatal signal
 * ends the run at once.
 *
 * Seccomp.  A thread's filters decide on each system call of a run as if it had
 * been made outside.  They see its number and arguments, x86-64 as architecture, and
 * the instruction pointer of the CALL.  Arguments that it does not take are 0.
 *
 * Errors.  Every request fails with one of these, or with the error of the
 * system call that it stands for:
 *
 *   EFAULT           a structure or a buffer is not (all) readable or writable
 *   EINVAL           an unknown flag, engine or format, a non-zero reserved
 *                    field, a length or limit out of range
 *   E2BIG            a longer structure than this kernel knows, not zero there;
 *                    an image longer than SYSCRIPT_IMAGE_MAX
 *   EACCES           REGISTER: the device is not for that engine
 *   ENOTTY           an unknown request
 *   ENOMEM           the kernel (or the engine) has no memory left; CALL: the
 *                    script is dead
 *   EDQUOT           the user's share of scripts or of script memory is used up
 *   ESHUTDOWN        scripts are switched off (module parameter "enabled")
 *   EPERM            REGISTER: the kernel is locked down for integrity (module
 *                    parameter "despite_lockdown")
 *   EOPNOTSUPP       the calling thread is watched by what a script would pass
 *                    unseen: ptrace system call stops, system call user
 *                    dispatch, seccomp's strict mode; CALL: or a filter's
 *                    answer to a call is for a handler of SIGSYS or a tracer, and
 *                    the call was not made.  libsyscript runs scripts of such
 *                    threads in user space
 *   EXDEV            the script belongs to another memory map (after fork,
 *                    execve or SCM_RIGHTS)
 *   EDEADLK          the request came out of a script's own ioctl(2) or lseek(2)
 *   EINTR            a fatal signal came while another thread had its turn;
 *                    CALL: a signal was pending for longer than the grace time
 *   ENOEXEC          REGISTER: the engine does not accept the image (see the text)
 *   EPROTO           CALL: the script raised an error (see the text)
 *   ERANGE           CALL: an argument or a result is not one that the engine
 *                    can pass (see the text)
 *   ETIME            REGISTER, CALL: over the time limit; the script is dead
 *   ENOBUFS          REGISTER, CALL: over the memory limit; the script is dead
 *   ETIMEDOUT        REGISTER, CALL: over the wall-clock limit; the script lives
 *   ECANCELED        CALL: a fatal signal ended the run; the script is dead
 *   ENOTRECOVERABLE  CALL: the script is dead from an earlier call
 */
#ifndef _UAPI_SYSCRIPT_H
#define _UAPI_SYSCRIPT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SYSCRIPT_ABI_VERSION	1

#define SYSCRIPT_ARGS_MAX	8
#define SYSCRIPT_RESULTS_MAX	8
#define SYSCRIPT_NAME_LEN	32		/* with the terminating NUL */
#define SYSCRIPT_IMAGE_MAX	(1 << 20)	/* bytes */

/* The limits that stand where a registration asks for 0. */
#define SYSCRIPT_TIME_DEFAULT	100000000ULL	/* ns */
#define SYSCRIPT_MEMORY_DEFAULT	(1ULL << 20)	/* bytes */
#define SYSCRIPT_MEMORY_MIN	(64ULL << 10)	/* bytes */
#define SYSCRIPT_WALL_DEFAULT	10000000000ULL	/* ns */
#define SYSCRIPT_GRACE_DEFAULT	100000000ULL	/* ns; also the longest */

#define SYSCRIPT_NO_LIMIT	(~0ULL)		/* of wall_limit: the highest allowed */

/* syscript_register.flags */
#define SYSCRIPT_NOJIT		(1 << 0)	/* interpret, never compile */
#define SYSCRIPT_KILL		(1 << 1)	/* over a time or memory limit: SIGKILL
						 * to the caller's process */
#define SYSCRIPT_CHECK		(1 << 2)	/* check the image only: no fd, returns 0 */
#define SYSCRIPT_TRACEBACK	(1 << 3)	/* error texts list the functions that
						 * were active, a line each */
#define SYSCRIPT_FLAGS		(SYSCRIPT_NOJIT | SYSCRIPT_KILL | SYSCRIPT_CHECK | \
				 SYSCRIPT_TRACEBACK)

/**
 * struct syscript_register - a new script
 * @flags:        SYSCRIPT_NOJIT, SYSCRIPT_KILL, SYSCRIPT_CHECK,
 *                SYSCRIPT_TRACEBACK
 * @error_len:    size of the buffer at @error, in bytes
 * @engine:       SYSCRIPT_ENGINE_*
 * @format:       of the image: see the engine
 * @image:        address of the image
 * @image_len:    its length in bytes, 1 .. SYSCRIPT_IMAGE_MAX
 * @memory_limit: bytes the script may hold; 0 = SYSCRIPT_MEMORY_DEFAULT
 * @time_limit:   ns of run time in script code per call (time spent inside
 *                system calls does not count); 0 = SYSCRIPT_TIME_DEFAULT
 * @wall_limit:   ns per call of all but waiting that a signal can end: script
 *                code, work in system calls, waiting for storage; 0 =
 *                SYSCRIPT_WALL_DEFAULT; SYSCRIPT_NO_LIMIT = the highest that the
 *                module allows: an hour, or none, by its parameter max_wall_limit
 * @grace:        ns that a run may go on while a signal is pending, up to
 *                SYSCRIPT_GRACE_DEFAULT, which 0 stands for
 * @error:        where the text of an error goes, NUL-terminated and cut to
 *                @error_len; may be 0 with @error_len 0
 * @shared:       address of memory that the process shares with the script: see
 *                the engine; 0 if there is none
 * @shared_len:   its length in bytes
 * @name:         shows in error texts and lists; NUL-terminated, may be empty
 * @reserved:     zero
 *
 * The wall-clock limit and the grace time are kept with the precision of the
 * kernel's clock tick.
 */
struct syscript_register {
	__u32 flags;
	__u32 error_len;
	__u32 engine;
	__u32 format;
	__u64 image;
	__u64 image_len;
	__u64 memory_limit;
	__u64 time_limit;
	__u64 wall_limit;
	__u64 grace;
	__u64 error;
	__u64 shared;
	__u64 shared_len;
	char  name[SYSCRIPT_NAME_LEN];
	__u64 reserved[2];
};

/* syscript_call.flags */
#define SYSCRIPT_CALL_TELL	(1 << 0)	/* says in @state what an error is of */
#define SYSCRIPT_CALL_FLAGS	SYSCRIPT_CALL_TELL

/* syscript_call.state */
#define SYSCRIPT_CALL_ENDED	1	/* the error is the call's: not to be repeated */

/**
 * struct syscript_call - one call
 * @flags:    SYSCRIPT_CALL_*
 * @nargs:    how many of @args are passed, 0 .. SYSCRIPT_ARGS_MAX
 * @nresults: out: how many results the script returned; those past
 *            SYSCRIPT_RESULTS_MAX are dropped
 * @state:    in: zero; out, where SYSCRIPT_CALL_TELL is set and there is an error:
 *            SYSCRIPT_CALL_ENDED if it is that of a script that was to be run, and
 *            still zero if no script was run
 * @args:     integers; user addresses are integers
 * @results:  out: the first @nresults, or as many as fit; the rest are kept
 *            as they were
 */
struct syscript_call {
	__u32 flags;
	__u32 nargs;
	__u32 nresults;
	__u32 state;
	__s64 args[SYSCRIPT_ARGS_MAX];
	__s64 results[SYSCRIPT_RESULTS_MAX];
};

/* syscript_text.which */
#define SYSCRIPT_TEXT_ERROR	0	/* of the last request that failed; stays */
#define SYSCRIPT_TEXT_OUTPUT	1	/* what the script printed; taken out by reading */

/**
 * struct syscript_text - read a text of the script
 * @which:  SYSCRIPT_TEXT_ERROR or SYSCRIPT_TEXT_OUTPUT
 * @len:    in: size of the buffer; out: bytes there were to read.  An error
 *          text is NUL-terminated (the NUL not counted) and cut to fit;
 *          output is neither, and what did not fit is there for the next read
 * @buffer: address of the buffer
 */
struct syscript_text {
	__u32 which;
	__u32 len;
	__u64 buffer;
};

/* syscript_info.state */
#define SYSCRIPT_STATE_READY	0
#define SYSCRIPT_STATE_RUNNING	1
#define SYSCRIPT_STATE_DEAD	2

/* A counter of the engine's own. */
#define SYSCRIPT_COUNTERS_MAX	6
struct syscript_counter {
	char  name[24];				/* NUL-terminated; empty: no more */
	__u64 value;
};

/**
 * struct syscript_info - a script's limits and counters
 * @id:           IOC_NEXT in: list the first script after this id (start with
 *                0); out: the script's id, never used twice.  IOC_NEXT fails
 *                with ENOENT past the last one.  A caller sees the scripts of
 *                their own user id, one with CAP_SYS_PTRACE sees all
 * @pid:          process that registered it, in the caller's pid namespace
 * @uid:          user it is accounted to, in the caller's user namespace
 * @flags:        as registered
 * @state:        SYSCRIPT_STATE_*
 * @name:         as registered
 * @engine:       as registered
 * @format:       as registered
 * @engine_name:  the engine's name
 * @memory_limit: bytes
 * @time_limit:   ns
 * @wall_limit:   ns
 * @grace:        ns
 * @memory:       bytes held now
 * @memory_peak:  bytes held at most
 * @calls:        calls begun
 * @errors:       calls that ended in an error, or with EINTR or ETIMEDOUT
 * @kills:        calls that ended at a limit or by a fatal signal
 * @run_time:     ns spent in script code, counted by ticks: right on average
 * @syscalls:     system calls made from it
 * @preempt_max:  longest time without preemption that a tick saw, in ns
 * @counters:     the engine's own
 * @reserved:     zero
 */
struct syscript_info {
	__u64 id;
	__s32 pid;
	__u32 uid;
	__u32 flags;
	__u32 state;
	char  name[SYSCRIPT_NAME_LEN];
	__u32 engine;
	__u32 format;
	char  engine_name[16];
	__u64 memory_limit;
	__u64 time_limit;
	__u64 wall_limit;
	__u64 grace;
	__u64 memory;
	__u64 memory_peak;
	__u64 calls;
	__u64 errors;
	__u64 kills;
	__u64 run_time;
	__u64 syscalls;
	__u64 preempt_max;
	struct syscript_counter counters[SYSCRIPT_COUNTERS_MAX];
	__u64 reserved[4];
};

#define SYSCRIPT_IOC_MAGIC	0xCA
#define SYSCRIPT_IOC_REGISTER	_IOWR(SYSCRIPT_IOC_MAGIC, 0x40, struct syscript_register)
#define SYSCRIPT_IOC_NEXT	_IOWR(SYSCRIPT_IOC_MAGIC, 0x41, struct syscript_info)
#define SYSCRIPT_IOC_CALL	_IOWR(SYSCRIPT_IOC_MAGIC, 0x42, struct syscript_call)
#define SYSCRIPT_IOC_TEXT	_IOWR(SYSCRIPT_IOC_MAGIC, 0x43, struct syscript_text)
#define SYSCRIPT_IOC_INFO	_IOWR(SYSCRIPT_IOC_MAGIC, 0x44, struct syscript_info)

/* lseek(2)'s SEEK_HOLE: a file has no hole before its beginning. */
#define SYSCRIPT_SEEK_CALL	4
/* Where no other file will be. */
#define SYSCRIPT_SEEK_CALLED	0x5ca11ed

/*
 * Engine 0: LuaJIT.  The image is Lua source text (format 0; no bytecode).  Its
 * top level runs at the registration, once, under the same limits, and has to
 * leave a global function named run, which each call runs.  An error at the top
 * level is ENOEXEC.
 *
 * Arguments are integers within +-SYSCRIPT_LUA_INT_MAX, which a Lua number holds
 * exactly.  Results are such integers; nil and false count as 0, true as 1.  All
 * else is ERANGE.
 *
 * Counters: traces (compiled so far), mcode (bytes of machine code held now).
 */
#define SYSCRIPT_ENGINE_LUAJIT	0
#define SYSCRIPT_LUA_SOURCE	0		/* format */
#define SYSCRIPT_LUA_INT_MAX	(1LL << 53)

/*
 * Engine 1: confined.  The image is one of BPF instructions (format 0), which
 * engine/confined/image.h describes; what is not one is ENOEXEC.  The shared
 * memory is its arena: anonymous memory of the size that the image says, at a
 * multiple of that size.  Its pages are the script's until it is closed, and count
 * as locked (RLIMIT_MEMLOCK); what becomes of the mapping does not matter to it.
 *
 * A call passes up to five arguments, any integers, and has one result.
 *
 * Counters: mcode (bytes of machine code, shared by all scripts of the image that
 * the user has).
 */
#define SYSCRIPT_ENGINE_CONFINED	1
#define SYSCRIPT_CONFINED_BPF	0		/* format */

#endif /* _UAPI_SYSCRIPT_H */
