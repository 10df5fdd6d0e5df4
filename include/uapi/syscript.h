/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * System call scripting: the interface between user space and syscript.ko.
 *
 * This header is the whole interface, and its manual.  The kernel module, libsyscript, the
 * command and the tests all include it.
 *
 * /dev/syscript is the device for engine 1, and may serve all users. /dev/syscript-luajit, of
 * syscript_luajit.ko, accepts any engine, and is for users who are trusted with engine 0.
 * Requests of both devices:
 *
 *   SYSCRIPT_IOC_REGISTER  struct syscript_register   a new script
 *   SYSCRIPT_IOC_NEXT      struct syscript_info       walk the live scripts
 *   SYSCRIPT_IOC_LOAD      struct syscript_load       a program for a subsystem
 *   SYSCRIPT_IOC_UNLOAD    struct syscript_unload     remove it
 *   SYSCRIPT_IOC_PROGRAM   struct syscript_program    walk these programs
 *   SYSCRIPT_IOC_INVOKE    struct syscript_invoke     call a program for processes
 *   SYSCRIPT_IOC_EVENTS    struct syscript_events     open a ring that programs write to
 *
 * REGISTER returns a new file descriptor, close-on-exec, that *is* the script.
 * It belongs to the memory map that registered it.  close() frees the script.
 * Its requests:
 *
 *   SYSCRIPT_IOC_CALL      struct syscript_call       run the script; or, cheaper, lseek(fd,
 *                          -(address of the structure), SYSCRIPT_SEEK_CALL), which returns
 *                          SYSCRIPT_SEEK_CALLED in place of 0. An error may be a seccomp filter's
 *                          for lseek(2): see SYSCRIPT_CALL_TELL
 *   SYSCRIPT_IOC_TEXT      struct syscript_text       last error, or output
 *   SYSCRIPT_IOC_INFO      struct syscript_info       counters and limits
 *
 * poll() on a script fd reports POLLERR once the script is dead.
 *
 * A script is an *image* for an *engine*.  The end of this header describes for
 * each engine its images, arguments and results, and its own counters.
 *
 * Growing the interface.  The size of each structure is part of its request number, and the
 * kernel accepts every size that it has ever published: an older, shorter structure is read as if
 * the rest were zero; in a newer, longer structure the rest must be zero (otherwise E2BIG). Flags
 * and reserved fields that the kernel does not know must be zero (otherwise EINVAL).
 *
 * Signals.  A run does not return to user mode before its end, so signals, stops and the freezer
 * wait for it.  While a signal is pending, calls that would block return EINTR, and the script
 * can test for it, so that it can finish its current work.  After a grace time the run ends with
 * EINTR at its next system call or safe point; the script is unchanged and may be called again.
 * A fatal signal ends the run at once.
 *
 * Seccomp.  A thread's filters decide on each system call of a run as if the thread had made it
 * itself.  They see its number and arguments, x86-64 as the architecture, and the instruction
 * pointer of the CALL. Arguments that the call does not take are 0.
 *
 * Errors.  Every request fails with one of these, or with a general error of ioctl(2) or of a
 * new descriptor (EBADF, EMFILE):
 *
 *   EFAULT           a structure or a buffer is not (all) readable or writable
 *   EINVAL           an unknown flag, engine or format, a non-zero reserved
 *                    field, a length or limit out of range
 *   E2BIG            a structure longer than this kernel knows, with a non-zero
 *                    rest; an image longer than SYSCRIPT_IMAGE_MAX
 *   EACCES           REGISTER: the device does not accept that engine
 *   ENOTTY           an unknown request
 *   ENOKEY           REGISTER: the machine has no base with that digest
 *   ENOMEM           the kernel (or the engine) is out of memory; CALL: the script is dead
 *   EDQUOT           the user's share of scripts or of script memory is used up
 *   ESHUTDOWN        scripts are switched off (module parameter "enabled")
 *   EPERM            REGISTER: the kernel is locked down (integrity; module
 *                    parameter "despite_lockdown"), or the caller may not make a base
 *                    of the machine
 *   EOPNOTSUPP       the calling thread is watched in a way that a script would bypass: ptrace
 *                    system call stops, system call user dispatch, seccomp's strict mode; CALL:
 *                    or a filter's verdict on a call needs a SIGSYS handler or a tracer, and the
 *                    call was not made.  libsyscript runs scripts of such threads in user space
 *   ESTALE           CALL: with SYSCRIPT_CALL_EXPECT: @fd is another file; no script was
 *                    run
 *   EXDEV            the script belongs to another memory map (after fork,
 *                    execve or SCM_RIGHTS)
 *   EDEADLK          the request was made by a script's own ioctl(2) or lseek(2)
 *   EINTR            a fatal signal arrived while the caller waited for another thread's call;
 *                    CALL: a signal was pending for longer than the grace time
 *   ENOEXEC          REGISTER: the engine does not accept the image (see the text)
 *   EPROTO           CALL: the script raised an error (see the text)
 *   ERANGE           CALL: the engine cannot pass an argument or a result (see the text)
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

/* The limits for a value of 0 in a registration. */
#define SYSCRIPT_TIME_DEFAULT	100000000ULL	/* ns */
#define SYSCRIPT_TIME_REGISTER	1000000000ULL	/* ns: for REGISTER, or a higher time_limit */
#define SYSCRIPT_MEMORY_DEFAULT	(1ULL << 20)	/* bytes */
#define SYSCRIPT_MEMORY_MIN	(64ULL << 10)	/* bytes */
#define SYSCRIPT_WALL_DEFAULT	10000000000ULL	/* ns */
#define SYSCRIPT_GRACE_DEFAULT	100000000ULL	/* ns; also the longest */

#define SYSCRIPT_NO_LIMIT	(~0ULL)		/* of wall_limit: the highest value allowed */

/* syscript_register.flags */
#define SYSCRIPT_NOJIT		(1 << 0)	/* interpret, never compile */
#define SYSCRIPT_KILL		(1 << 1)	/* over a time or memory limit: SIGKILL
						 * to the caller's process */
#define SYSCRIPT_CHECK		(1 << 2)	/* check the image only: no fd, returns 0 */
#define SYSCRIPT_TRACEBACK	(1 << 3)	/* error texts list the active
						 * functions, one a line */
#define SYSCRIPT_BASE		(1 << 4)	/* only to be extended by others: no calls */
#define SYSCRIPT_EXTENDS	(1 << 5)	/* extends the script @base */
#define SYSCRIPT_ONLY		(1 << 6)	/* may use only the calls and libraries in
						 * @calls and @libraries */
#define SYSCRIPT_SHARED		(1 << 7)	/* the base is the machine's */
#define SYSCRIPT_FLAGS		(SYSCRIPT_NOJIT | SYSCRIPT_KILL | SYSCRIPT_CHECK | \
				 SYSCRIPT_TRACEBACK | SYSCRIPT_BASE | SYSCRIPT_EXTENDS | \
				 SYSCRIPT_ONLY | SYSCRIPT_SHARED)

#define SYSCRIPT_DIGEST_LEN	32		/* bytes: SHA-256 of a base's image */
#define SYSCRIPT_SHARED_MAX	3		/* the most bases of the machine at once */

/* syscript_register.libraries: libraries that reach beyond a script's memory */
#define SYSCRIPT_LIBRARY_UTIL	(1 << 0)	/* the memory of the process, sockets' queues */
#define SYSCRIPT_LIBRARY_FS	(1 << 1)
#define SYSCRIPT_LIBRARY_NET	(1 << 2)
#define SYSCRIPT_LIBRARIES	(SYSCRIPT_LIBRARY_UTIL | SYSCRIPT_LIBRARY_FS | \
				 SYSCRIPT_LIBRARY_NET)

#define SYSCRIPT_CALLS_WORDS	8		/* of 64 system calls each */

/**
 * struct syscript_register - a new script
 * @flags:        SYSCRIPT_NOJIT, SYSCRIPT_KILL, SYSCRIPT_CHECK, SYSCRIPT_TRACEBACK,
 *                SYSCRIPT_ONLY, SYSCRIPT_BASE, SYSCRIPT_EXTENDS, SYSCRIPT_SHARED: the last three
 *                for engines whose images may extend others. SYSCRIPT_BASE with SYSCRIPT_SHARED
 *                (CAP_SYS_ADMIN) makes not a script, but a base of the machine, for all users and
 *                charged to none; returns 0, also if the machine already has it
 * @error_len:    size of the buffer at @error, in bytes
 * @engine:       SYSCRIPT_ENGINE_*
 * @format:       of the image: see the engine
 * @image:        address of the image
 * @image_len:    its length in bytes, 1 .. SYSCRIPT_IMAGE_MAX
 * @memory_limit: bytes the script may allocate; 0 = SYSCRIPT_MEMORY_DEFAULT
 * @time_limit:   ns of run time in script code per call (time spent inside system calls does not
 *                count); 0 = SYSCRIPT_TIME_DEFAULT. REGISTER itself may take the larger of this
 *                and SYSCRIPT_TIME_REGISTER, but not more than the module allows
 * @wall_limit:   elapsed ns per call, without waits that a signal can end: script code, work in
 *                system calls, waiting for storage; 0 = SYSCRIPT_WALL_DEFAULT; SYSCRIPT_NO_LIMIT
 *                = the highest value that the module allows (parameter max_wall_limit: an hour,
 *                or no limit)
 * @grace:        ns that a run may continue while a signal is pending, up to
 *                SYSCRIPT_GRACE_DEFAULT, which is also the value for 0
 * @error:        buffer for the text of an error, NUL-terminated and cut to
 *                @error_len; may be 0 with @error_len 0
 * @shared:       address of memory that the process shares with the script: see
 *                the engine; 0 if there is none
 * @shared_len:   its length in bytes
 * @name:         shows in error texts and lists; NUL-terminated, may be empty
 * @base:         with SYSCRIPT_EXTENDS the fd of a script of this process, of the same engine and
 *                with SYSCRIPT_BASE. That script lives, and is charged, while one of the two is
 *                open: its fd may be closed. With SYSCRIPT_EXTENDS and SYSCRIPT_SHARED the
 *                address of the digest (SYSCRIPT_DIGEST_LEN bytes) of a base of the machine.
 *                Otherwise zero
 * @reserved:     zero
 * @calls:        with SYSCRIPT_ONLY bit n % 64 of word n / 64 for each system call n of x86-64
 *                that the script may make. Otherwise zero
 * @libraries:    with SYSCRIPT_ONLY SYSCRIPT_LIBRARY_*; each library may make the calls that its
 *                functions replace. Otherwise zero. A base may not have more rights than a script
 *                that extends it
 * @reserved2:    zero
 *
 * The wall-clock limit and the grace time have the precision of the
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
	__u64 base;
	__u64 reserved;
	__u64 calls[SYSCRIPT_CALLS_WORDS];
	__u32 libraries;
	__u32 reserved2;
};

/* syscript_call.flags */
#define SYSCRIPT_CALL_TELL	(1 << 0)	/* set @state on errors */
#define SYSCRIPT_CALL_EXPECT	(1 << 1)	/* @fd must be the expected file */
#define SYSCRIPT_CALL_QUIET	(1 << 2)	/* no results are returned */
#define SYSCRIPT_CALL_FLAGS	(SYSCRIPT_CALL_TELL | SYSCRIPT_CALL_EXPECT | \
				 SYSCRIPT_CALL_QUIET)

#define SYSCRIPT_EXPECT_SCRIPT	-1		/* as syscript_call.fd: see there */

/* syscript_call.state */
#define SYSCRIPT_CALL_ENDED	1	/* the script's own error: do not retry the call */

/**
 * struct syscript_call - one call
 * @flags:    SYSCRIPT_CALL_*
 * @nargs:    number of @args that are passed, 0 .. SYSCRIPT_ARGS_MAX
 * @nresults: out: number of results that the script returned; results past SYSCRIPT_RESULTS_MAX
 *            are dropped. With SYSCRIPT_CALL_QUIET this and @results are not written
 * @state:    in: zero; out, with SYSCRIPT_CALL_TELL and an error:
 *            SYSCRIPT_CALL_ENDED if the error is the script's, and
 *            still zero if no script was run
 * @args:     integers; user addresses are integers
 * @results:  out: the first @nresults, or as many as fit; the rest are unchanged
 * @fd:       with SYSCRIPT_CALL_EXPECT a descriptor of the caller, which must be of the file with
 *            inode @ino on device @dev, as by fstat(2); otherwise ESTALE. Or
 *            SYSCRIPT_EXPECT_SCRIPT: the script called must have id @ino; otherwise ESTALE.
 *            Without SYSCRIPT_CALL_EXPECT these are ignored
 * @reserved: zero
 */
struct syscript_call {
	__u32 flags;
	__u32 nargs;
	__u32 nresults;
	__u32 state;
	__s64 args[SYSCRIPT_ARGS_MAX];
	__s64 results[SYSCRIPT_RESULTS_MAX];
	__s32 fd;
	__u32 reserved;
	__u64 dev;
	__u64 ino;
};

/* syscript_text.which */
#define SYSCRIPT_TEXT_ERROR	0	/* text of the last failed request; stays */
#define SYSCRIPT_TEXT_OUTPUT	1	/* the script's output; reading removes it */

/**
 * struct syscript_text - read a text of the script
 * @which:  SYSCRIPT_TEXT_ERROR or SYSCRIPT_TEXT_OUTPUT
 * @len:    in: size of the buffer; out: bytes that were available. An error text is
 *          NUL-terminated (without counting the NUL) and truncated to fit. Output is neither: the
 *          next read returns the rest
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

/* A counter of the engine. */
#define SYSCRIPT_COUNTERS_MAX	6
struct syscript_counter {
	char  name[24];				/* NUL-terminated; empty: no more counters */
	__u64 value;
};

/**
 * struct syscript_info - a script's limits and counters
 * @id:           IOC_NEXT in: list the first script after this id (start with 0); out: the
 *                script's id, which is never reused. IOC_NEXT fails with ENOENT after the last
 *                script. A caller sees the scripts of its own user id, or with CAP_SYS_PTRACE all
 * @pid:          process that registered it, in the caller's pid namespace
 * @uid:          user to whom it is charged, in the caller's user namespace
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
 * @memory:       bytes allocated now
 * @memory_peak:  most bytes allocated
 * @calls:        calls begun
 * @errors:       calls that ended in an error, or with EINTR or ETIMEDOUT
 * @kills:        calls that ended at a limit or by a fatal signal
 * @run_time:     ns spent in script code, counted by ticks, so accurate on average
 * @syscalls:     system calls made from it
 * @preempt_max:  longest time without preemption that a tick observed, in ns
 * @counters:     the engine's counters
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

/*
 * Programs for subsystems.  LOAD gives a name to a program, which belongs to no process, and
 * which a subsystem of the kernel calls from then on until UNLOAD. Programs of a subsystem with
 * namespaces ("netfilter") belong to the caller's network namespace and end with it; this needs
 * CAP_NET_ADMIN over the namespace. Other programs belong to the machine, and need CAP_SYS_ADMIN.
 * An existing name at the same attach point gets the new program: each call runs either the old
 * or the new one.
 *
 * If a program fails or exceeds its budget, the subsystem uses its default.  A program
 * may call functions of the subsystem by their names, but no system calls.
 *
 * Errors, besides those at the top:
 *
 *   EPERM            the capability is missing
 *   ENOENT           LOAD: no such subsystem; UNLOAD, INVOKE: no such program;
 *                    EVENTS: no such ring; PROGRAM: there are no more
 *   EEXIST           LOAD: the name exists, with SYSCRIPT_LOAD_NEW or at another place; or other
 *                    programs define a state of this name differently
 *   EINVAL           LOAD: the place or a function does not exist (see the text)
 *   EOPNOTSUPP       LOAD: the engine, or this kernel (PREEMPT_RT), runs no such programs;
 *                    INVOKE: the program is not for processes
 *   EPROTO           INVOKE: the program has failed (see the text)
 *   ENOTRECOVERABLE  INVOKE: it has failed too often, and is no longer called
 *
 * INVOKE lets every process that can open the device call programs for "process" in its network
 * namespace. Such a program gets numbers and returns one; it does not have its caller's rights.
 */
#define SYSCRIPT_FUNCTIONS_MAX	64
#define SYSCRIPT_FUNCTION_NAMES_MAX	4096	/* bytes */
#define SYSCRIPT_LINES_MAX	(1 << 17)	/* bytes */
#define SYSCRIPT_WHERE_LEN	64
#define SYSCRIPT_PROGRAM_ERROR_LEN	128
#define SYSCRIPT_ERRORS_DEFAULT	100		/* a second */

#define SYSCRIPT_STATES_MAX	8	/* of a program */
#define SYSCRIPT_STATE_ENTRIES_MAX	(1 << 20)
#define SYSCRIPT_FIELDS_LEN	256

/* syscript_state.kind */
#define SYSCRIPT_STATE_TABLE	1	/* linux/syscript_table.h */
#define SYSCRIPT_STATE_RING	2	/* struct syscript_record */

/**
 * struct syscript_state - state that programs share by its name
 * @kind:       SYSCRIPT_STATE_*
 * @entries:    a power of 2: entries of a table, 8 .. 2^20; records of a ring, 8 .. 2^16
 * @key_size, @value_size, @age: as in struct syscript_table; of a ring: 0, bytes of a record's
 *              values (8 .. 64, divisible by 8), 0
 * @zero:       zero
 * @name:       NUL-terminated, not empty
 * @fields:     the names of a value's parts, NUL-terminated; may be empty
 *
 * Programs of one network namespace, or of the machine, that name the same state share it. The
 * first one makes it, empty; it ends with the last one, and stays if programs are replaced. All
 * must define it alike: EEXIST. Each of them is charged for all of it, as for its own memory.
 */
struct syscript_state {
	__u32 kind;
	__u32 entries;
	__u32 key_size;
	__u32 value_size;
	__u32 age;
	__u32 zero;
	char  name[SYSCRIPT_NAME_LEN];
	char  fields[SYSCRIPT_FIELDS_LEN];
};

/**
 * struct syscript_events - open a ring for reading
 * @flags:      zero
 * @value_size: out: bytes of a record's values
 * @name:       the ring's name, in the caller's network namespace, otherwise of the machine; the
 *              caller needs the right to load programs there
 * @fields:     out: the values' names, as defined
 * @reserved:   zero
 *
 * EVENTS returns a descriptor (close-on-exec). read(2) returns whole records, as many as are there
 * and fit; EINVAL if none fits. It waits for the first, or gives EAGAIN with O_NONBLOCK, and
 * returns 0 when the last program that names the ring has been unloaded; records that have not
 * been read until then are lost. poll(2): POLLIN, POLLHUP. Several readers share the records: each
 * record is read once. Without a reader records stay, until the ring is full and drops new ones.
 */
struct syscript_events {
	__u32 flags;
	__u32 value_size;
	char  name[SYSCRIPT_NAME_LEN];
	char  fields[SYSCRIPT_FIELDS_LEN];
	__u64 reserved[2];
};

/**
 * struct syscript_record - a record of a ring
 * @number: from 0 on, in the order of their times; numbers that are missing were dropped
 * @time:   ns since an unspecified time; as precise as the kernel's tick
 * @values: what the program has written
 *
 * Programs call ring_put(number, values): the number of the ring among the load's states, and the
 * address of the values. It returns 0, or -1 if the record was dropped.
 */
struct syscript_record {
	__u64 number;
	__u64 time;
	__s64 values[];
};

#define SYSCRIPT_RING_RECORDS_MAX	(1 << 16)
#define SYSCRIPT_RING_VALUES_MAX	8

/* syscript_load.flags */
#define SYSCRIPT_LOAD_NEW	(1 << 0)	/* do not replace a program */
#define SYSCRIPT_LOAD_FALLBACK	(1 << 1)	/* @fallback is set */
#define SYSCRIPT_LOAD_SEES	(1 << 2)	/* @sees is set */
#define SYSCRIPT_LOAD_FLAGS	(SYSCRIPT_LOAD_NEW | SYSCRIPT_LOAD_FALLBACK | \
				 SYSCRIPT_LOAD_SEES)

/**
 * struct syscript_load - a program for a subsystem
 * @flags:         SYSCRIPT_LOAD_*
 * @error_len:     as in struct syscript_register, like @engine, @format, @image, @image_len,
 *                 @memory_limit and @error. The memory limit covers everything that the program
 *                 holds, its memory included
 * @data:          address of the initial contents of its memory; the rest is zero
 * @data_len:      its length in bytes
 * @functions:     address of the names of functions that it calls, in the order of
 *                 their numbers, NUL-terminated
 * @functions_len: their length in bytes, at most SYSCRIPT_FUNCTION_NAMES_MAX
 * @copies:        bytes of the packet or event to show to it: see the subsystem
 * @errors_max:    after this many errors in a second it is no longer called; 0 =
 *                 SYSCRIPT_ERRORS_DEFAULT
 * @fallback:      the default, in place of the subsystem's
 * @name:          its name, NUL-terminated, not empty
 * @subsystem:     "netfilter"
 * @where:         the attach point, in the subsystem's notation
 * @lines:         address of a __u16 for each instruction of the image: its source line or 0, for
 *                 error texts
 * @lines_len:     their length in bytes, or 0
 * @zero2:         zero
 * @sees:          the bytes of the packet or event that the program reads: bit i is for 4 bytes
 *                 from 4 * i on, the last bit for all bytes beyond, too. Other bytes may not be
 *                 filled in, and have values of earlier calls
 * @states:        address of @nstates structures syscript_state, up to SYSCRIPT_STATES_MAX.
 *                 Tables take the last pages of the program's memory, each at least one: neither
 *                 @data nor stacks may reach there
 * @nstates:       their number
 * @zero3:         zero
 */
struct syscript_load {
	__u32 flags;
	__u32 error_len;
	__u32 engine;
	__u32 format;
	__u64 image;
	__u64 image_len;
	__u64 memory_limit;
	__u64 data;
	__u64 data_len;
	__u64 functions;
	__u32 functions_len;
	__u32 copies;
	__u32 errors_max;
	__u32 zero;
	__s64 fallback;
	__u64 error;
	char  name[SYSCRIPT_NAME_LEN];
	char  subsystem[SYSCRIPT_NAME_LEN];
	char  where[SYSCRIPT_WHERE_LEN];
	__u64 lines;
	__u32 lines_len;
	__u32 zero2;
	__u64 sees;
	__u64 states;
	__u32 nstates;
	__u32 zero3;
};

/**
 * struct syscript_unload - remove a program
 * @flags:    zero
 * @zero:     zero
 * @name:     its name, in the caller's network namespace, otherwise of the machine
 * @reserved: zero
 */
struct syscript_unload {
	__u32 flags;
	__u32 zero;
	char  name[SYSCRIPT_NAME_LEN];
	__u64 reserved[2];
};

/* syscript_program.state */
#define SYSCRIPT_PROGRAM_CALLED	0
#define SYSCRIPT_PROGRAM_OFF	1	/* after too many errors: the default is used */
#define SYSCRIPT_PROGRAM_GONE	2	/* the attach point is gone: load it again */

/**
 * struct syscript_program - a program's counters
 * @id:        in: list the first program after this id (start with 0); out: the program's id. A
 *             caller sees the programs that they may unload
 * @uid:       user who loaded it, in the caller's user namespace
 * @state:     SYSCRIPT_PROGRAM_*
 * @engine, @format, @name, @subsystem, @where: as loaded
 * @machine:   1: belongs to the machine, 0: to the caller's network namespace
 * @errors_max, @fallback: as loaded
 * @loads:     how often the name was given a program
 * @calls:     calls by the attach point
 * @errors:    errors of the program
 * @defaults:  calls that used the default, errors included
 * @run_time:  ns in the program, estimated by samples
 * @memory:    bytes that the program holds
 * @mcode:     bytes of machine code
 * @error:     the last error's text, or ""
 * @reserved:  zero
 */
struct syscript_program {
	__u64 id;
	__u32 uid;
	__u32 state;
	__u32 engine;
	__u32 format;
	__u32 machine;
	__u32 errors_max;
	__s64 fallback;
	__u64 loads;
	__u64 calls;
	__u64 errors;
	__u64 defaults;
	__u64 run_time;
	__u64 memory;
	__u64 mcode;
	char  name[SYSCRIPT_NAME_LEN];
	char  subsystem[SYSCRIPT_NAME_LEN];
	char  where[SYSCRIPT_WHERE_LEN];
	char  error[SYSCRIPT_PROGRAM_ERROR_LEN];
	__u64 reserved[4];
};

#define SYSCRIPT_INVOKE_ARGS_MAX	8
#define SYSCRIPT_INVOKE_DATA_MAX	256

/**
 * struct syscript_invoke - a call of a program for "process"
 * @flags:     zero
 * @nargs:     arguments, up to SYSCRIPT_INVOKE_ARGS_MAX
 * @error_len: as in struct syscript_register, with @error
 * @data_len:  bytes at @data, up to SYSCRIPT_INVOKE_DATA_MAX
 * @name:      the program's name, in the caller's network namespace
 * @args:      as described in syscript_process.h, like @data
 * @result:    out: the program's result
 * @reserved:  zero
 */
struct syscript_invoke {
	__u32 flags;
	__u32 nargs;
	__u32 error_len;
	__u32 data_len;
	__u64 error;
	char  name[SYSCRIPT_NAME_LEN];
	__s64 args[SYSCRIPT_INVOKE_ARGS_MAX];
	__s64 result;
	__u64 data;
	__u64 reserved;
};

#define SYSCRIPT_IOC_MAGIC	0xCA
#define SYSCRIPT_IOC_REGISTER	_IOWR(SYSCRIPT_IOC_MAGIC, 0x40, struct syscript_register)
#define SYSCRIPT_IOC_NEXT	_IOWR(SYSCRIPT_IOC_MAGIC, 0x41, struct syscript_info)
#define SYSCRIPT_IOC_CALL	_IOWR(SYSCRIPT_IOC_MAGIC, 0x42, struct syscript_call)
#define SYSCRIPT_IOC_TEXT	_IOWR(SYSCRIPT_IOC_MAGIC, 0x43, struct syscript_text)
#define SYSCRIPT_IOC_INFO	_IOWR(SYSCRIPT_IOC_MAGIC, 0x44, struct syscript_info)
#define SYSCRIPT_IOC_LOAD	_IOWR(SYSCRIPT_IOC_MAGIC, 0x45, struct syscript_load)
#define SYSCRIPT_IOC_UNLOAD	_IOWR(SYSCRIPT_IOC_MAGIC, 0x46, struct syscript_unload)
#define SYSCRIPT_IOC_PROGRAM	_IOWR(SYSCRIPT_IOC_MAGIC, 0x47, struct syscript_program)
#define SYSCRIPT_IOC_INVOKE	_IOWR(SYSCRIPT_IOC_MAGIC, 0x48, struct syscript_invoke)
#define SYSCRIPT_IOC_EVENTS	_IOWR(SYSCRIPT_IOC_MAGIC, 0x49, struct syscript_events)

/* The value of lseek(2)'s SEEK_HOLE: a file has no hole before its beginning. */
#define SYSCRIPT_SEEK_CALL	4
/* A position that no other file returns. */
#define SYSCRIPT_SEEK_CALLED	0x5ca11ed

/*
 * Engine 0: LuaJIT.  The image is Lua source text (format 0; no bytecode).  Its top level runs
 * once, at the registration, under its own time limit, and must define a global function named run,
 * which each call runs.  An error at the top level is ENOEXEC.
 *
 * Arguments and results: integers within +-SYSCRIPT_LUA_INT_MAX are numbers, which hold them
 * exactly; larger integers are opaque values. As results nil and false count as 0, true as 1;
 * other values give ERANGE.
 *
 * Counters: traces (compiled so far), mcode (bytes of machine code held now).
 */
#define SYSCRIPT_ENGINE_LUAJIT	0
#define SYSCRIPT_LUA_SOURCE	0		/* format */
#define SYSCRIPT_LUA_INT_MAX	(1LL << 53)

/*
 * Engine 1: confined.  The image consists of BPF instructions (format 0), as
 * linux/syscript_image.h describes; any other image gives ENOEXEC. The shared memory is its
 * arena: memory of the size in the image's header, at a multiple of that size. Later changes of
 * the mapping do not affect the script. It is one of
 *
 *   anonymous and private memory.  Its pages belong to the script until it is closed, and count
 *   as locked (RLIMIT_MEMLOCK), with the rest of huge pages that contain them.
 *
 *   mmap(2) of the device, MAP_SHARED, at offset 0, which makes an arena: EINVAL for other
 *   sizes or addresses, ENOMEM.  It has memory where the process has touched it, where the
 *   image has asked for it (IMAGE_BATCH_USE), and for its stack, charged to the memory
 *   cgroup, and to the user (parameter max_arenas).  The process gets SIGBUS where it
 *   writes and there is no more.  A child of fork(2) finds zeros there, and what it touches
 *   is charged to the same user; with MADV_KEEPONFORK it shares the arena.
 *
 * A call passes up to five integers, and has one result.
 *
 * An image may extend another: a large runtime is checked and compiled once, and each program
 * adds its own functions.  A base (SYSCRIPT_BASE) has no shared memory, and cannot be called
 * (EPROTO). The machine has up to SYSCRIPT_SHARED_MAX bases (SYSCRIPT_SHARED). A further base
 * replaces the oldest that no script extends (EDQUOT: scripts extend all).
 *
 * Counters: mcode (bytes of machine code, shared by all scripts of the image that
 * the user has).
 */
#define SYSCRIPT_ENGINE_CONFINED	1
#define SYSCRIPT_CONFINED_BPF	0		/* format */

#endif /* _UAPI_SYSCRIPT_H */
