/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Programs that the machine's events call: threads, files, timers.  All of them belong to
 * the machine, so loading one needs CAP_SYS_ADMIN in the initial user namespace.
 *
 * The first function of a program is called for each event, with the address of one of
 * the structures below.
 */
#ifndef _UAPI_SYSCRIPT_EVENTS_H
#define _UAPI_SYSCRIPT_EVENTS_H

#include <linux/types.h>

/*
 * --for threads --at WHEN: fork, when a process or thread has been created; exec, when a
 * process has loaded a new program, before it runs; exit.
 */
#define SYSCRIPT_THREAD_GOES_ON	0
/* exec: the process is killed before the program runs; otherwise as GOES_ON. */
#define SYSCRIPT_THREAD_KILL	1

/**
 * struct syscript_thread - a thread of any process
 * @pid:     its number
 * @process: its process's, and of a fork the new one's
 * @parent:  the process's parent's
 * @uid, @gid: effective
 * @now:     ns, since some time; as precise as the kernel's tick
 * @name:    as in /proc/PID/comm
 *
 * Numbers are those of the initial namespaces.
 */
struct syscript_thread {
	__u32 pid, process, parent;
	__u32 uid, gid;
	__u32 zero;
	__u64 now;
	char  name[16];
};

/*
 * --for files --at PATH: what happens to a file, or to a directory and the files in it.
 * Programs return 0.
 */
#define SYSCRIPT_FILE_READ	0x00000001	/* as inotify(7) has them */
#define SYSCRIPT_FILE_WRITTEN	0x00000002
#define SYSCRIPT_FILE_CHANGED	0x00000004	/* attributes */
#define SYSCRIPT_FILE_CLOSED	0x00000008	/* after it could be written; else: */
#define SYSCRIPT_FILE_LEFT	0x00000010
#define SYSCRIPT_FILE_OPENED	0x00000020
#define SYSCRIPT_FILE_MOVED_OUT	0x00000040
#define SYSCRIPT_FILE_MOVED_IN	0x00000080
#define SYSCRIPT_FILE_MADE	0x00000100
#define SYSCRIPT_FILE_DELETED	0x00000200
#define SYSCRIPT_FILE_IS_DIR	0x40000000

/**
 * struct syscript_file - an event of a file
 * @mask:    SYSCRIPT_FILE_*
 * @process, @uid: whose
 * @cookie:  the same of a file moved out and in
 * @inode:   its number, if the event has the file
 * @name:    in the directory, as far as there is room; "" of the file or directory itself
 */
struct syscript_file {
	__u32 mask;
	__u32 process, uid;
	__u32 cookie;
	__u64 inode;
	char  name[64];
};

/*
 * --for timer --at MS: every MS milliseconds, from 10 to 3,600,000.  A program returns the
 * milliseconds until its next call, or 0: no change.
 */

/**
 * struct syscript_timer - a time that has come
 * @number: how many came before it
 * @now:    ns, since some time; as precise as the kernel's tick
 */
struct syscript_timer {
	__u64 number;
	__u64 now;
};

#endif /* _UAPI_SYSCRIPT_EVENTS_H */
