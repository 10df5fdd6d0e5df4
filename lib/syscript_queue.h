/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libsyscript: asynchronous calls of a script.  Link with -lsyscript.
 *
 * Threads of the library serve requests: each sits in a call of a script of its own, takes
 * requests from memory that it shares with the program, and calls run() for each.  So a
 * request costs no mode switch while there are more, and its caller does not wait for it.
 *
 * The functions return 0, a positive value, or -errno, and leave errno alone.  Any thread
 * may call them, but none of a child of fork(2): there they return -EXDEV.  They are not
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

/* Requests that a thread of a queue has room for, reaped ones not counted. */
#define SYSCRIPT_QUEUE_ENTRIES		128
#define SYSCRIPT_QUEUE_THREADS_MAX	64

struct syscript_queue;

/**
 * struct syscript_request - what is passed to run()
 * @user_data: comes back with the completion
 * @nargs:     how many of @args, at most SYSCRIPT_ARGS_MAX
 * @reserved:  0
 */
struct syscript_request {
	uint64_t user_data;
	uint32_t nargs;
	uint32_t reserved;
	int64_t args[SYSCRIPT_ARGS_MAX];
};

/**
 * struct syscript_completion - what run() has returned
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
 * Registers Lua source for each of @threads (0: one), and starts the threads.  @options and
 * @error are those of syscript_register(); the time limit is that of a request.  Stores the
 * queue in @queue.  Returns 0 or -errno.
 */
int syscript_queue_open(struct syscript_queue **queue, const char *source, size_t len,
			const struct syscript_options *options, unsigned int threads,
			char *error, size_t error_len);

/*
 * Hands over @n requests, in this order: each to the thread that has the fewest.  Returns
 * how many, fewer if there is no room for more; -EAGAIN if there is none for the first;
 * -ENOTRECOVERABLE if no thread is left that could serve it.
 */
int syscript_queue_submit(struct syscript_queue *queue, const struct syscript_request *requests,
			  unsigned int n);

/*
 * Takes at most @n completions, without waiting.  Returns how many; 0 says that
 * syscript_queue_fd() becomes readable with the next one.
 */
int syscript_queue_reap(struct syscript_queue *queue, struct syscript_completion *completions,
			unsigned int n);

/*
 * The same, but waits up to @timeout_ms for @at_least completions, for ever with -1.  More
 * at once cost less.  Returns how many there are: fewer than @at_least after @timeout_ms or
 * a signal handler, -EINTR after that if there are none.
 */
int syscript_queue_wait(struct syscript_queue *queue, struct syscript_completion *completions,
			unsigned int at_least, unsigned int n, int timeout_ms);

/*
 * The descriptor of an eventfd(2), for poll(2), epoll(7) and io_uring(7) only: readable
 * means that syscript_queue_reap() should be called, again and again until it returns 0.
 */
int syscript_queue_fd(const struct syscript_queue *queue);

/*
 * Copies the text of the last error of a request, as syscript_error() does, with its return
 * values.
 */
int syscript_queue_error(struct syscript_queue *queue, char *buf, size_t len);

/*
 * Waits for the requests that run() has been called for, drops all others and the
 * completions, and frees the queue.  In a child of fork(2) frees the child's copy.
 */
void syscript_queue_close(struct syscript_queue *queue);

#ifdef __cplusplus
}
#endif

#endif /* _SYSCRIPT_QUEUE_H */
