/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Structures of queues, which queue.c and queue_thread.c share. queue.c describes which thread
 * writes what, and in which order.
 */
#ifndef LIB_QUEUE_H
#define LIB_QUEUE_H

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run.h"
#include "user/sys.h"
#include "syscript.h"
#include "syscript_queue.h"
#include "user/ticket.h"

#define ENTRIES		SYSCRIPT_QUEUE_ENTRIES
#define QUEUE_STOP	UINT64_MAX	/* a value of ring.tail: the thread has to return */

struct slot {
	uint64_t nargs;
	int64_t args[SYSCRIPT_ARGS_MAX];
	int64_t result;
};

/**
 * struct ring - memory shared by a thread's script and the library
 * @tail:   number of requests submitted, or QUEUE_STOP.  Written by the library; futexes compare
 *          its lower half, which comes first
 * @want:   the script notifies the library when @done passes this
 * @one:    the 1 that the script writes to the eventfd
 * @news:   counts changes of @want, and QUEUE_STOP, so that the script reads one word instead of
 *          two; it reads the lower half, whose type the compiler knows
 * @done:   number of requests completed; written by the server's thread, as is
 * @asleep: 1: the thread waits for @tail to change
 * @clock:  for clock_gettime(2)
 */
struct ring {
	uint64_t tail, want, one, news, unused[4];
	uint64_t done, asleep, clock[2], unused_too[4];
	struct slot slots[ENTRIES];
};

/* queue.lua uses the same offsets. */
_Static_assert(offsetof(struct ring, tail) == 0 && offsetof(struct ring, want) == 8 &&
	       offsetof(struct ring, one) == 16 && offsetof(struct ring, news) == 24 &&
	       offsetof(struct ring, done) == 64 && offsetof(struct ring, asleep) == 72 &&
	       offsetof(struct ring, clock) == 80 && offsetof(struct ring, slots) == 128 &&
	       offsetof(struct slot, result) == 72 && sizeof(struct slot) == 80 &&
	       ENTRIES == 128, "queue.lua");

/**
 * struct server - a thread, and its script
 * @fd, @id: the script; the program may close @fd, which then may be another file
 * @hosted: the script, with a reference, if the ring is in its memory; otherwise NULL
 * @is_started: the thread exists and was not joined yet
 * @is_dead: its script is dead: its requests are not served, and it gets no more
 * @life, @link, @robust: the thread's robust futex, see queue_thread.c
 * @tail: number of requests submitted
 * @woken:     @tail when the thread was last woken, or seen awake
 * @reaped: number of completions taken
 * @user_data, @errors: of the request in each slot; no error if the script has served it
 */
struct server {
	struct syscript_queue *queue;
	pthread_t thread;
	int fd;
	uint64_t id;
	struct script *hosted;
	struct ring *ring;
	bool is_started, is_dead;
	uint32_t life;
	struct robust_list link;
	struct robust_list_head robust;
	uint64_t tail, woken, reaped;
	uint64_t user_data[ENTRIES];
	int errors[ENTRIES];
};

/**
 * struct syscript_queue - a queue
 * @submits: guards server.tail and woken, and @next_submit
 * @reaps:   guards server.reaped, and @next_reap
 * @texts:   guards @text
 * @forks: value of forks in the process that opened the queue; a child's differs
 * @turn, @check: parameters of queue.lua, as is
 * @always:  membarrier(2) is refused
 * @observer: the thread that waits for killed threads, if @is_watched
 * @closing: 1 when the queue is being closed
 */
struct syscript_queue {
	struct ticket_lock submits, reaps, texts;
	unsigned int forks;
	int eventfd;
	uint64_t turn;
	unsigned int check, threads, next_submit, next_reap;
	bool always, is_watched;
	pthread_t observer;
	uint32_t closing;
	char text[RUN_ERROR_LEN];
	struct server servers[];
};

static inline uint64_t read_word(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void write_word(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Was the server's thread killed? */
static inline bool server_is_gone(const struct server *server)
{
	return __atomic_load_n(&server->life, __ATOMIC_ACQUIRE) & FUTEX_OWNER_DIED;
}

/* Wakes the thread, if it sleeps, after a change of ring.tail. */
static inline void ring_wake(struct ring *ring)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (read_word(&ring->asleep))
		sys_call(futex, &ring->tail, FUTEX_WAKE_PRIVATE, 1);
}

/* Is the descriptor still the script's?  The program may have closed it and reused its number. */
bool server_has_script(const struct server *server);
/* Ends the first unfinished request, number @done, with @err. */
void server_fail(struct server *server, uint64_t done, int err);
/* Makes the queue's descriptor readable. */
void queue_notify(const struct syscript_queue *queue);

/* Starts the servers' threads, and the thread that watches them: 0 or -errno. */
int queue_start(struct syscript_queue *queue);
void queue_stop(struct syscript_queue *queue);

/* For a child of fork(2). */
void queue_fork_child(void);

#endif /* LIB_QUEUE_H */
