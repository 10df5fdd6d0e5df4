/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Programs that the machine's events call: threads, files, timers.  They belong to the machine,
 * so loading one needs CAP_SYS_ADMIN in the initial user namespace.
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
/* exec: kills the process before the new program runs; otherwise as GOES_ON. */
#define SYSCRIPT_THREAD_KILL	1

/**
 * struct syscript_thread - a thread of any process
 * @pid:     its thread id
 * @process: its process's id; after a fork the new process's
 * @parent:  the id of the process's parent
 * @uid, @gid: effective ids
 * @now:     ns since an unspecified time; as precise as the kernel's tick
 * @name:    as in /proc/PID/comm
 *
 * Ids are those of the initial namespaces.
 */
struct syscript_thread {
	__u32 pid, process, parent;
	__u32 uid, gid;
	__u32 zero;
	__u64 now;
	char  name[16];
};

/*
 * --for files --at PATH: events of a file, or of a directory and the files in it. Programs return
 * 0.
 */
#define SYSCRIPT_FILE_READ	0x00000001	/* inotify(7)'s events */
#define SYSCRIPT_FILE_WRITTEN	0x00000002
#define SYSCRIPT_FILE_CHANGED	0x00000004	/* attributes have changed */
#define SYSCRIPT_FILE_CLOSED	0x00000008	/* closed, was open for writing; else: */
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
 * @process, @uid: the process that caused it, and its user
 * @cookie:  equal for both events of a renamed file
 * @inode:   its number, if the event has the file
 * @name:    in the directory, truncated to fit; "" for the watched file or directory itself
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
 * struct syscript_timer - an expiry of the timer
 * @number: number of earlier expiries
 * @now:    ns since an unspecified time; as precise as the kernel's tick
 */
struct syscript_timer {
	__u64 number;
	__u64 now;
};

#endif /* _UAPI_SYSCRIPT_EVENTS_H */
