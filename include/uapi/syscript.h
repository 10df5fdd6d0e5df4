/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * System call scripting: the interface between user space and syscript.ko.
 *
 * This header is the whole of the interface and its manual.  The kernel
 * module, libsyscript, the command and the tests all include it.
 *
 * Opening /dev/syscript gives the device.  Its requests:
 *
 *   SYSCRIPT_IOC_REGISTER  struct syscript_register   a new script
 *   SYSCRIPT_IOC_NEXT      struct syscript_info       walk the live scripts
 *
 * REGISTER returns a new file descriptor, close-on-exec, that *is* the script.
 * It belongs to the memory map that registered it.  close() gives everything
 * back.  Its requests:
 *
 *   SYSCRIPT_IOC_CALL      struct syscript_call       run the script's run()
 *   SYSCRIPT_IOC_TEXT      struct syscript_text       last error, or output
 *   SYSCRIPT_IOC_INFO      struct syscript_info       counters and limits
 *
 * poll() on a script fd reports POLLERR once the script is dead.
 *
 * Growing the interface.  The size of each structure is part of its request
 * number, and the kernel accepts every size that it has ever published: an
 * older, shorter structure is read as if the rest were zero; of a newer,
 * longer one the rest has to be zero (else E2BIG).  Flags and reserved
 * fields that the kernel does not know have to be zero (else EINVAL).
 *
 * Errors.  Every request fails with one of these, or with the error of the
 * system call that it stands for:
 *
 *   EFAULT           a structure or a buffer is not (all) readable or writable
 *   EINVAL           an unknown flag, a non-zero reserved field, a length or
 *                    limit out of range
 *   E2BIG            a longer structure than this kernel knows, not zero there;
 *                    a source longer than SYSCRIPT_SOURCE_MAX
 *   ENOTTY           an unknown request
 *   ENOMEM           the kernel has no memory (or no arena page) left
 *   EDQUOT           the user's share of scripts or of script memory is used up
 *   ESHUTDOWN        scripts are switched off (module parameter "enabled")
 *   EOPNOTSUPP       the calling thread is watched: a seccomp filter, ptrace
 *                    system call stops, audit rules or system call user
 *                    dispatch.  Scripts would pass the watcher unseen, so the
 *                    kernel refuses; libsyscript runs the script in user space
 *   EXDEV            the script belongs to another memory map (after fork,
 *                    execve or SCM_RIGHTS)
 *   EDEADLK          the request came out of a script's own ioctl(2)
 *   EINTR            a fatal signal came while another thread had its turn
 *   ENOEXEC          REGISTER: the source does not compile, its top level
 *                    raised an error, or it leaves no function named run
 *   EPROTO           CALL: the script raised an error (see the text)
 *   ERANGE           CALL: an argument is beyond +-2^53, or run() returned
 *                    something that is no integer within it
 *   ETIME            REGISTER, CALL: over the time limit; the script is dead
 *   ENOBUFS          REGISTER, CALL: over the memory limit; the script is dead
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
#define SYSCRIPT_SOURCE_MAX	(1 << 20)	/* bytes */

/* Integers that pass between C and Lua unharmed: -2^53 .. 2^53. */
#define SYSCRIPT_INT_MAX	(1LL << 53)

/* The limits that stand where a registration asks for 0. */
#define SYSCRIPT_TIME_DEFAULT	100000000ULL	/* ns */
#define SYSCRIPT_MEMORY_DEFAULT	(1ULL << 20)	/* bytes */
#define SYSCRIPT_MEMORY_MIN	(64ULL << 10)	/* bytes */

/* syscript_register.flags */
#define SYSCRIPT_NOJIT		(1 << 0)	/* interpret, never compile */
#define SYSCRIPT_KILL		(1 << 1)	/* over a limit: SIGKILL the caller
						 * (the paper's behaviour) */
#define SYSCRIPT_CHECK		(1 << 2)	/* compile only: no fd, returns 0 */
#define SYSCRIPT_FLAGS		(SYSCRIPT_NOJIT | SYSCRIPT_KILL | SYSCRIPT_CHECK)

/**
 * struct syscript_register - a new script
 * @flags:        SYSCRIPT_NOJIT, SYSCRIPT_KILL, SYSCRIPT_CHECK
 * @error_len:    size of the buffer at @error, in bytes
 * @source:       address of the Lua source text (text only, no bytecode)
 * @source_len:   its length in bytes, 1 .. SYSCRIPT_SOURCE_MAX
 * @memory_limit: bytes the script may hold; 0 = SYSCRIPT_MEMORY_DEFAULT
 * @time_limit:   ns of run time in script code per call (time spent inside
 *                system calls does not count); 0 = SYSCRIPT_TIME_DEFAULT
 * @error:        where the text of an error goes, NUL-terminated and cut to
 *                @error_len; may be 0 with @error_len 0
 * @name:         shows in error texts and lists; NUL-terminated, may be empty
 * @reserved:     zero
 *
 * The source's top level runs here, once, under the same limits.  It has to
 * leave a global function named run.
 */
struct syscript_register {
	__u32 flags;
	__u32 error_len;
	__u64 source;
	__u64 source_len;
	__u64 memory_limit;
	__u64 time_limit;
	__u64 error;
	char  name[SYSCRIPT_NAME_LEN];
	__u64 reserved;
};

/**
 * struct syscript_call - one call of run()
 * @flags:    zero
 * @nargs:    how many of @args are passed, 0 .. SYSCRIPT_ARGS_MAX
 * @nresults: out: how many results run() returned; those past
 *            SYSCRIPT_RESULTS_MAX are dropped, nil and false count as 0,
 *            true as 1
 * @reserved: zero
 * @args:     integers within +-SYSCRIPT_INT_MAX; user addresses are integers
 * @results:  out: the first @nresults, or as many as fit; the rest are kept
 *            as they were
 */
struct syscript_call {
	__u32 flags;
	__u32 nargs;
	__u32 nresults;
	__u32 reserved;
	__s64 args[SYSCRIPT_ARGS_MAX];
	__s64 results[SYSCRIPT_RESULTS_MAX];
};

/* syscript_text.which */
#define SYSCRIPT_TEXT_ERROR	0	/* of the last request that failed; stays */
#define SYSCRIPT_TEXT_OUTPUT	1	/* what print() wrote; taken out by reading */

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

/**
 * struct syscript_info - a script's limits and counters
 * @id:           IOC_NEXT in: list the first script after this id (start with
 *                0); out: the script's id, never used twice.  IOC_NEXT fails
 *                with ENOENT past the last one.  A caller sees the scripts of
 *                his own user id, one with CAP_SYS_PTRACE sees all
 * @pid:          process that registered it, in the caller's pid namespace
 * @uid:          user it is accounted to, in the caller's user namespace
 * @flags:        as registered
 * @state:        SYSCRIPT_STATE_*
 * @name:         as registered
 * @memory_limit: bytes
 * @time_limit:   ns
 * @memory:       bytes held now (Lua heap)
 * @memory_peak:  bytes held at most
 * @mcode:        bytes of machine code held now
 * @calls:        calls begun
 * @errors:       calls that ended in an error of the script
 * @kills:        calls that ended at a limit or by a fatal signal
 * @run_time:     ns spent in script code, counted by ticks: right on average
 * @syscalls:     system calls made from it
 * @traces:       traces compiled
 * @preempt_max:  longest stretch without preemption that a tick saw, in ns
 * @reserved:     zero
 */
struct syscript_info {
	__u64 id;
	__s32 pid;
	__u32 uid;
	__u32 flags;
	__u32 state;
	char  name[SYSCRIPT_NAME_LEN];
	__u64 memory_limit;
	__u64 time_limit;
	__u64 memory;
	__u64 memory_peak;
	__u64 mcode;
	__u64 calls;
	__u64 errors;
	__u64 kills;
	__u64 run_time;
	__u64 syscalls;
	__u64 traces;
	__u64 preempt_max;
	__u64 reserved[4];
};

#define SYSCRIPT_IOC_MAGIC	0xCA
#define SYSCRIPT_IOC_REGISTER	_IOWR(SYSCRIPT_IOC_MAGIC, 0x40, struct syscript_register)
#define SYSCRIPT_IOC_NEXT	_IOWR(SYSCRIPT_IOC_MAGIC, 0x41, struct syscript_info)
#define SYSCRIPT_IOC_CALL	_IOWR(SYSCRIPT_IOC_MAGIC, 0x42, struct syscript_call)
#define SYSCRIPT_IOC_TEXT	_IOWR(SYSCRIPT_IOC_MAGIC, 0x43, struct syscript_text)
#define SYSCRIPT_IOC_INFO	_IOWR(SYSCRIPT_IOC_MAGIC, 0x44, struct syscript_info)

#endif /* _UAPI_SYSCRIPT_H */
