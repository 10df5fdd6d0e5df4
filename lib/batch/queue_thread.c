// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The threads of a queue.  Each stays in a call of its script until the queue is closed.  After
 * an error of the script, or its death, the thread completes requests with that error.
 *
 * A seccomp filter may kill a single thread at any system call.  The process is not notified, and
 * the thread's requests would never complete.  So each thread has a robust futex: however the
 * thread ends, the kernel marks and wakes server.life.  One more thread waits for all of these
 * futexes (futex_waitv(2)), and makes the queue's descriptor readable; the next reaper completes
 * the requests.  Without futex_waitv(2) that thread polls.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "user/lock.h"
#include "user/user.h"
#include "queue.h"

#define STACK_SIZE	(128UL << 10)
#define NAP_NS		1000000L
#define LOOK_NS		100000000L

void queue_notify(const struct syscript_queue *queue)
{
	const uint64_t one = 1;

	sys_call(write, queue->eventfd, &one, sizeof(one));
}

void server_fail(struct server *server, uint64_t done, int err)
{
	struct ring *ring = server->ring;

	server->errors[done % ENTRIES] = err;
	write_word(&ring->done, done + 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (server->queue->always || read_word(&ring->want) == done)
		queue_notify(server->queue);
}

bool server_has_script(const struct server *server)
{
	struct syscript_info info;
	int err = server->fd < 0 ? -EBADF : syscript_info(server->fd, &info);

	return err == -EXDEV || (!err && info.id == server->id);
}

/* Can the server serve no request any more? */
static bool is_dead(const struct server *server)
{
	struct syscript_info info;

	return syscript_info(server->fd, &info) || info.id != server->id ||
	       info.state == SYSCRIPT_STATE_DEAD;
}

static bool is_stopping(const struct server *server)
{
	return read_word(&server->ring->tail) == QUEUE_STOP;
}

/* Waits for a request in place of a script that cannot be called. */
static void wait_for_request(const struct server *server, uint64_t done)
{
	struct ring *ring = server->ring;

	while (read_word(&ring->tail) == done) {
		__atomic_store_n(&ring->asleep, 1, __ATOMIC_SEQ_CST);
		sys_call(futex, &ring->tail, FUTEX_WAIT_PRIVATE, (uint32_t)done, 0);
		write_word(&ring->asleep, 0);
	}
}

static void keep_text(const struct server *server)
{
	struct syscript_queue *queue = server->queue;
	char text[RUN_ERROR_LEN];

	if (syscript_error(server->fd, text, sizeof(text)) <= 0)
		return;
	ticket_take(&queue->texts);
	memcpy(queue->text, text, sizeof(text));
	ticket_give(&queue->texts);
}

/*
 * The script's call has failed, and with it the request being served, the first unfinished one.
 * If there is none, or the script could not be called, the next request tries again.
 */
static void call_failed(struct server *server, int err)
{
	struct ring *ring = server->ring;
	uint64_t done = read_word(&ring->done), tail = read_word(&ring->tail);

	write_word(&ring->asleep, 0);
	keep_text(server);
	if (is_dead(server))
		__atomic_store_n(&server->is_dead, true, __ATOMIC_RELEASE);
	if (tail == done)
		wait_for_request(server, done);
	else if (tail != QUEUE_STOP)
		server_fail(server, done, err);
}

static void nap(void)
{
	const struct timespec time = { 0, NAP_NS };

	sys_call(nanosleep, &time, 0);
}

static void call_script(struct server *server)
{
	const struct syscript_queue *queue = server->queue;
	const int64_t args[] = {
		(intptr_t)server->ring, queue->eventfd,
		queue->turn, queue->check, queue->always,
	};
	int64_t result = 0;
	int ret = -EBADF;

	if (server_has_script(server))
		ret = syscript_call(server->fd, 5, args, 1, &result);
	if (ret < 0)
		call_failed(server, ret);
	/* A seccomp filter refuses futex(2). */
	else if (result < 0 && result != -EINTR)
		nap();
}

/*
 * The program's signals must go to its own threads.  The C library's internal signals stay
 * unblocked: setuid(2) and the like need them in all threads.
 */
static void block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
}

/* Replaces the C library's list of robust mutexes, which is empty in this thread. */
static void set_robust(struct server *server)
{
	server->link.next = &server->robust.list;
	server->robust.list.next = &server->link;
	server->robust.futex_offset = offsetof(struct server, life) -
				      offsetof(struct server, link);
	__atomic_store_n(&server->life, sys_call(gettid) | FUTEX_WAITERS, __ATOMIC_SEQ_CST);
	sys_call(set_robust_list, &server->robust, sizeof(server->robust));
	sys_call(futex, &server->life, FUTEX_WAKE, 1);
}

static void *serve(void *arg)
{
	struct server *server = arg;

	block_signals();
	set_robust(server);
	while (!is_stopping(server))
		call_script(server);
	return NULL;
}

/* -- Killed threads ----------------------------------------------------------------- */

static unsigned int count_gone(const struct syscript_queue *queue)
{
	unsigned int i, gone = 0;

	for (i = 0; i < queue->threads; i++)
		gone += server_is_gone(&queue->servers[i]);
	return gone;
}

static struct futex_waitv wait_for(const uint32_t *word, uint32_t flags)
{
	return (struct futex_waitv){
		.val = __atomic_load_n(word, __ATOMIC_ACQUIRE), .uaddr = (uintptr_t)word,
		.flags = FUTEX_32 | flags,
	};
}

/* Waits until a thread begins or ends (@gone threads have ended), or the queue is closed. */
static void wait_for_change(struct syscript_queue *queue, unsigned int gone)
{
	struct futex_waitv waits[SYSCRIPT_QUEUE_THREADS_MAX + 1];
	const struct timespec look = { 0, LOOK_NS };
	unsigned int i, n = 0;
	long ret;

	waits[n++] = wait_for(&queue->closing, FUTEX_PRIVATE_FLAG);
	/* Shared futexes, because the kernel wakes robust futexes as shared ones. */
	for (i = 0; i < queue->threads; i++) {
		waits[n] = wait_for(&queue->servers[i].life, 0);
		n += !(waits[n].val & FUTEX_OWNER_DIED);
	}
	if (waits[0].val || n + gone != queue->threads + 1)
		return;
	ret = sys_call(futex_waitv, waits, n, 0, NULL, CLOCK_MONOTONIC);
	if (ret < 0 && ret != -EAGAIN && ret != -EINTR)
		sys_call(futex, &queue->closing, FUTEX_WAIT_PRIVATE, 0, &look);
}

static void *watch(void *arg)
{
	struct syscript_queue *queue = arg;
	unsigned int gone = 0, told;

	block_signals();
	while (!__atomic_load_n(&queue->closing, __ATOMIC_ACQUIRE)) {
		wait_for_change(queue, gone);
		told = gone;
		gone = count_gone(queue);
		if (gone != told)
			queue_notify(queue);
	}
	return NULL;
}

/* -- Start and stop ----------------------------------------------------------------- */

static int start_thread(pthread_t *thread, void *(*body)(void *), void *arg)
{
	pthread_attr_t attr;
	int err;

	signals_block();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	err = pthread_create(thread, &attr, body, arg);
	pthread_attr_destroy(&attr);
	/* The stack may be too small for the program's thread-local variables. */
	if (err)
		err = pthread_create(thread, NULL, body, arg);
	signals_unblock();
	if (!err)
		pthread_setname_np(*thread, "syscript-queue");
	return -err;
}

int queue_start(struct syscript_queue *queue)
{
	struct server *server = queue->servers;
	int err = 0;

	for (; server < queue->servers + queue->threads && !err; server++) {
		err = start_thread(&server->thread, serve, server);
		server->is_started = !err;
	}
	if (!err)
		err = start_thread(&queue->observer, watch, queue);
	queue->is_watched = !err;
	return err;
}

void queue_stop(struct syscript_queue *queue)
{
	struct server *server;

	__atomic_store_n(&queue->closing, 1, __ATOMIC_SEQ_CST);
	sys_call(futex, &queue->closing, FUTEX_WAKE_PRIVATE, 1);
	if (queue->is_watched)
		pthread_join(queue->observer, NULL);
	/* Stops all threads before joining any: each may be in a long request. */
	for (server = queue->servers; server < queue->servers + queue->threads; server++) {
		if (!server->is_started)
			continue;
		write_word(&server->ring->tail, QUEUE_STOP);
		write_word(&server->ring->news, server->ring->news + 1);
		ring_wake(server->ring);
	}
	for (server = queue->servers; server < queue->servers + queue->threads; server++)
		if (server->is_started)
			pthread_join(server->thread, NULL);
}
