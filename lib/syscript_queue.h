/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libsyscript: asynchronous calls of a script.  Link with -lsyscript.
 *
 * Threads of the library serve requests: each thread stays in a call of its own script, takes
 * requests from memory that it shares with the program, and calls run() for each. So a request
 * costs no mode switch while others are waiting, and its caller does not wait for it.
 *
 * The functions return 0, a positive value, or -errno, and do not change errno. Any thread may
 * call them, except in a child of fork(2), where they return -EXDEV. They are not
 * async-signal-safe: in a handler they may return -EDEADLK.
 */
#ifndef _SYSCRIPT_QUEUE_H
#define _SYSCRIPT_QUEUE_H

#include <stddef.h>
#include <stdint.h>
#include <syscript.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Requests that a thread of a queue has room for, not counting reaped ones. */
#define SYSCRIPT_QUEUE_ENTRIES		128
#define SYSCRIPT_QUEUE_THREADS_MAX	64

struct syscript_queue;

/**
 * struct syscript_request - the arguments of run()
 * @user_data: returned with the completion
 * @nargs:     number of @args, at most SYSCRIPT_ARGS_MAX
 * @reserved:  0
 */
struct syscript_request {
	uint64_t user_data;
	uint32_t nargs;
	uint32_t reserved;
	int64_t args[SYSCRIPT_ARGS_MAX];
};

/**
 * struct syscript_completion - the result of run()
 * @user_data: the request's
 * @result:    the first result, 0 if there is none or @error is not 0
 * @error:     0, or -errno as of syscript_call(); -ECANCELED if the thread has ended
 * @reserved:  0
 */
struct syscript_completion {
	uint64_t user_data;
	int64_t result;
	int32_t error;
	uint32_t reserved;
};

/*
 * Registers Lua source once for each of @threads threads (0: one), and starts them. @options and
 * @error are those of syscript_register(); the time limit is for a request. Stores the queue in
 * @queue.  Returns 0 or -errno.
 */
int syscript_queue_open(struct syscript_queue **queue, const char *source, size_t len,
			const struct syscript_options *options, unsigned int threads,
			char *error, size_t error_len);

/*
 * Submits @n requests, in this order, each to the thread that has the fewest. Returns the number
 * submitted: fewer than @n if there is no room for more; -EAGAIN if there is none for the first;
 * -ENOTRECOVERABLE if no thread is left to serve it.
 */
int syscript_queue_submit(struct syscript_queue *queue, const struct syscript_request *requests,
			  unsigned int n);

/*
 * Takes at most @n completions, without waiting. Returns their number; after 0
 * syscript_queue_fd() becomes readable with the next completion.
 */
int syscript_queue_reap(struct syscript_queue *queue, struct syscript_completion *completions,
			unsigned int n);

/*
 * As syscript_queue_reap(), but waits up to @timeout_ms, or with -1 without limit, for @at_least
 * completions; taking many at once costs less. Returns their number: fewer than @at_least after
 * @timeout_ms or a signal handler; -EINTR if there are none after a handler.
 */
int syscript_queue_wait(struct syscript_queue *queue, struct syscript_completion *completions,
			unsigned int at_least, unsigned int n, int timeout_ms);

/*
 * The descriptor of an eventfd(2), for poll(2), epoll(7) and io_uring(7) only: when it is
 * readable, call syscript_queue_reap() repeatedly until it returns 0.
 */
int syscript_queue_fd(const struct syscript_queue *queue);

/*
 * Copies the text of the last error of a request, as syscript_error() does, with its return
 * values.
 */
int syscript_queue_error(struct syscript_queue *queue, char *buf, size_t len);

/*
 * Waits for the requests that are being served, drops all other requests and the completions, and
 * frees the queue. In a child of fork(2) it frees the child's copy.
 */
void syscript_queue_close(struct syscript_queue *queue);

#ifdef __cplusplus
}
#endif

#endif /* _SYSCRIPT_QUEUE_H */
