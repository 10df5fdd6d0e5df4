/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Inside of queues: what is shared, by whom, in which order: queue.c. */
#ifndef LIB_QUEUE_H
#define LIB_QUEUE_H

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run.h"
#include "sys.h"
#include "syscript.h"
#include "syscript_queue.h"
#include "ticket.h"

#define ENTRIES		SYSCRIPT_QUEUE_ENTRIES
#define QUEUE_STOP	UINT64_MAX	/* as ring.tail */

struct slot {
	uint64_t nargs;
	int64_t args[SYSCRIPT_ARGS_MAX];
	int64_t result;
};

/**
 * struct ring - what a thread's script and the library share
 * @tail:   requests submitted, or QUEUE_STOP: the library writes it, and the half that
 *          futexes compare comes first
 * @want:   the library is to be told if @done passes this
 * @one:    what the script writes to the eventfd
 * @news:   counts changes of @want, and QUEUE_STOP: one look instead of two
 * @done:   requests that are complete: written by the server's thread, as is
 * @asleep: 1: the thread waits for @tail to change
 * @clock:  for clock_gettime(2)
 */
struct ring {
	uint64_t tail, want, one, news, unused[4];
	uint64_t done, asleep, clock[2], unused_too[4];
	struct slot slots[ENTRIES];
};

/* queue.lua has these numbers. */
_Static_assert(offsetof(struct ring, tail) == 0 && offsetof(struct ring, want) == 8 &&
	       offsetof(struct ring, one) == 16 && offsetof(struct ring, news) == 24 &&
	       offsetof(struct ring, done) == 64 && offsetof(struct ring, asleep) == 72 &&
	       offsetof(struct ring, clock) == 80 && offsetof(struct ring, slots) == 128 &&
	       offsetof(struct slot, result) == 72 && sizeof(struct slot) == 80 &&
	       ENTRIES == 128, "queue.lua");

/**
 * struct server - a thread, and its script
 * @fd, @id:   the script; its number may become another file's
 * @hosted:    it, with a reference, if the ring is in its memory; or NULL
 * @is_started: there is a thread, not joined yet
 * @is_dead:   its script is: what it has is not served, and it gets no more
 * @life, @link, @robust: the thread's robust futex, see queue_thread.c
 * @tail:      requests submitted
 * @woken:     @tail when the thread was last woken, or seen awake
 * @reaped:    completions that were taken
 * @user_data, @errors: of the request in each slot; a request that the script has served
 *             has none
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
 * @forks:   of the process that opened it: another number in a child
 * @turn, @check: of queue.lua, as is
 * @always:  membarrier(2) is refused
 * @watcher: the thread that looks for killed ones, if @is_watched
 * @closing: 1: it ends
 */
struct syscript_queue {
	struct ticket_lock submits, reaps, texts;
	unsigned int forks;
	int eventfd;
	uint64_t turn;
	unsigned int check, threads, next_submit, next_reap;
	bool always, is_watched;
	pthread_t watcher;
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

/* After a new ring.tail. */
static inline void ring_wake(struct ring *ring)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (read_word(&ring->asleep))
		sys_call(futex, &ring->tail, FUTEX_WAKE_PRIVATE, 1);
}

/* Is the descriptor still the script's?  The program may have closed it, and opened another. */
bool server_has_script(const struct server *server);
/* Was its thread killed? */
bool server_is_gone(const struct server *server);
/* Ends the first request that is not done, number @done, in the thread's place or by itself. */
void server_fail(struct server *server, uint64_t done, int err);
/* Makes the descriptor readable. */
void queue_notify(const struct syscript_queue *queue);

/* The threads of servers, and the one that watches them: 0 or -errno. */
int queue_start(struct syscript_queue *queue);
void queue_stop(struct syscript_queue *queue);

/* In a child of fork(2). */
void queue_fork_child(void);

#endif /* LIB_QUEUE_H */
