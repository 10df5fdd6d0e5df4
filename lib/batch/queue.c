// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * syscript_queue_*(): passing a request to a serving thread, and its result back, has to cost
 * less than the call that it replaces.  So each thread stays in the kernel, in a call of
 * queue.lua, which is appended to the program's script, and has a ring in memory that the script
 * and the library share.
 *
 * A ring is an array of slots.  The library fills in a slot and advances ring.tail; the script
 * writes the result into the slot and advances ring.done; the library takes the result, which
 * frees the slot (server.reaped).  All three count up and never wrap.  Each word has a single
 * writer: submitters are serialised by a ticket lock (queue.submits), and so are reapers
 * (queue.reaps).
 *
 * Memory ordering.  Scripts have no atomic operations.  On x86 they need none to publish: loads
 * are not reordered with loads, nor stores with stores, and aligned accesses of 8 bytes are not
 * torn (ARCH_KEEPS_ORDER; there are no queues on other processors).  So a slot is written before
 * the tail that announces it, and a result before done.  But a later load may overtake an earlier
 * store, which matters where each side writes a word and then reads the other side's word, before
 * it sleeps:
 *
 * * The thread sleeps:  the script stores asleep, and futex(2) compares tail, after a full
 *   barrier of its own (hb_waiters_inc()).  The submitter stores tail, has a full barrier, and
 *   reads asleep.  So either the submitter sees that it has to wake the thread, or futex(2) sees
 *   the new tail.
 * * The reaper sleeps: it stores want, the number of completions that may pass without a
 *   notification, and reads done again.  The script stores done and then reads want, without a
 *   barrier.  Between the reaper's two steps it calls membarrier(2), which is a barrier for all
 *   running threads of the process.  Where membarrier(2) is refused, the script writes to the
 *   eventfd each time (queue.always).
 *
 * The script notifies when done passes want, so once for each store of want, and not for
 * completions that a late reaper has seen.  Only a reaper that has found nothing empties the
 * eventfd, before it stores want and reads done again: until then the eventfd is readable, or
 * about to be.
 *
 * Memory.  On the confined engine the ring is a buffer in the script's arena, where access costs
 * a few instructions; the library keeps it after the script's death (lua_host_pin()).  For LuaJIT
 * it is the library's own.  The library trusts nothing that the script can write: neither
 * ring.done nor ring.tail.
 *
 * The threads are in queue_thread.c.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "../backend_select.h"
#include "../lua_host.h"
#include "user/tools.h"
#include "user/user.h"
#include "queue.h"

#define TIME_LIMIT	100000000UL	/* ns for a request: the default of a call */
#define CHECK		16		/* requests between checks of the clock */
#define MEMORY_ALL	(8U << 20)	/* for all threads by default: half of a user's share */
#define MEMORY_ONE	(1U << 20)	/* the most for each thread */
/* The system calls that serving itself makes. */
#define OWN_CALLS	"futex,write,clock_gettime,util"

static unsigned int forks;	/* number of forks between the first process and this one */

void queue_fork_child(void)
{
	forks++;
}

static bool is_foreign(const struct syscript_queue *queue)
{
	return queue->forks != forks;
}

/* -- Open and close ----------------------------------------------------------------- */

static uint64_t id_of(int fd)
{
	struct syscript_info info;

	return syscript_info(fd, &info) ? 0 : info.id;
}

/*
 * Puts the ring into the script's memory, if the script has an arena, otherwise into the
 * library's.  A script that this thread may not call in the kernel moves to user space in its
 * first call.
 */
static int make_ring(struct server *server)
{
	struct script *hosted = lua_host_pin(server->fd);
	const int64_t args[] = { 0, hosted ? sizeof(struct ring) : 0 };
	int64_t at = 0;
	int ret = syscript_call(server->fd, 2, args, 1, &at);

	server->hosted = hosted;
	/* Anything else comes from a script that has replaced our function. */
	if (ret < 0 || (hosted && !at))
		return ret < 0 ? ret : -EPROTO;
	server->id = id_of(server->fd);
	server->ring = hosted ? (void *)(intptr_t)at :
		mmap(NULL, sizeof(struct ring), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (server->ring == MAP_FAILED) {
		server->ring = NULL;
		return -ENOMEM;
	}
	server->ring->one = 1;
	return 0;
}

static void close_server(struct server *server)
{
	if (server->ring && !server->hosted)
		munmap(server->ring, sizeof(struct ring));
	if (server->hosted)
		user_fd_put(server->hosted);
	if (server_has_script(server))
		syscript_close(server->fd);
}

static int open_server(struct server *server, const char *text, size_t len,
		       const struct syscript_options *options, char *error, size_t error_len)
{
	int err;

	server->fd = syscript_register(text, len, options, error, error_len);
	if (server->fd < 0)
		return server->fd;
	server->id = id_of(server->fd);
	err = make_ring(server);
	if (err && error_len)
		syscript_error(server->fd, error, error_len);
	return err;
}

/*
 * A request within its limit must not be ended because of other requests' time: the call's limit
 * allows for a whole turn, and for the requests between two checks of the clock.
 */
static void set_time_limit(struct syscript_queue *queue, struct syscript_options *options,
			   uint64_t limit, unsigned int check)
{
	queue->check = check;
	if (check > 1) {
		queue->turn = limit;
		options->time_limit_ns = limit * (check + 1);
	} else {
		queue->turn = limit / CHECK;
		options->time_limit_ns = limit;
	}
}

static void set_defaults(struct syscript_options *options, unsigned int threads)
{
	if (!options->wall_limit_ns)
		options->wall_limit_ns = SYSCRIPT_NO_LIMIT;
	if (!options->memory_limit && MEMORY_ALL / threads < MEMORY_ONE)
		options->memory_limit = MEMORY_ALL / threads;
	if (!options->time_limit_ns)
		options->time_limit_ns = TIME_LIMIT;
}

static int open_servers(struct syscript_queue *queue, const char *text, size_t len,
			struct syscript_options *options, char *error, size_t error_len)
{
	uint64_t limit;
	int err = 0;

	set_defaults(options, queue->threads);
	limit = options->time_limit_ns;
	set_time_limit(queue, options, limit, limit <= USER_TIME_MAX / (CHECK + 1) ? CHECK : 1);
	for (unsigned int i = 0; i < queue->threads && !err; i++) {
		err = open_server(&queue->servers[i], text, len, options, error, error_len);
		/* The module's limit may be lower: try smaller turns. */
		if (err != -EINVAL || queue->check == 1 || queue->servers[i].fd >= 0)
			continue;
		set_time_limit(queue, options, limit, 1);
		err = open_server(&queue->servers[i], text, len, options, error, error_len);
	}
	return err;
}

static struct syscript_queue *alloc_queue(unsigned int threads)
{
	struct syscript_queue *queue;

	queue = calloc(1, sizeof(*queue) + threads * sizeof(queue->servers[0]));
	if (!queue)
		return NULL;
	queue->forks = forks;
	queue->threads = threads;
	for (unsigned int i = 0; i < threads; i++) {
		queue->servers[i].queue = queue;
		queue->servers[i].fd = -1;
	}
	queue->always = sys_call(membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) < 0;
	queue->eventfd = sys_above_standard(sys_call(eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK));
	return queue;
}

/* The program must be Lua and have a run() to call: not checked only, not a base. */
static int check_options(const struct syscript_options *options)
{
	const uint32_t others = SYSCRIPT_CHECK | SYSCRIPT_BASE | SYSCRIPT_EXTENDS;

	return options->flags & others || options->shared || options->format ||
	       (options->engine && options->engine != SYSCRIPT_LUA_ON_LUAJIT &&
		options->engine != SYSCRIPT_LUA_ON_CONFINED) ? -EINVAL : 0;
}

/* Joins the program's text, a line end in case the text ends in a comment, and ours. */
static int join_texts(char **text, const char *source, size_t len)
{
	static const char own[] =
#include "queue.inc"
	;
	const size_t own_len = sizeof(own) - 1;

	*text = malloc(len + 1 + own_len + 1);
	if (!*text)
		return -ENOMEM;
	memcpy(*text, source, len);
	(*text)[len] = '\n';
	memcpy(*text + len + 1, own, own_len + 1);
	return len + 1 + own_len;
}

static int open_queue(struct syscript_queue *queue, const char *source, size_t len,
		      struct syscript_options *options, char *error, size_t error_len)
{
	char *text = NULL, *only = NULL;
	int ret = queue->eventfd < 0 ? queue->eventfd : join_texts(&text, source, len);

	if (ret >= 0 && options->only && asprintf(&only, "%s,%s", options->only, OWN_CALLS) < 0)
		ret = -ENOMEM;
	if (ret >= 0) {
		options->only = only;
		ret = open_servers(queue, text, ret, options, error, error_len) ?:
			queue_start(queue);
	}
	free(only);
	free(text);
	return ret;
}

int syscript_queue_open(struct syscript_queue **queue, const char *source, size_t len,
			const struct syscript_options *options, unsigned int threads,
			char *error, size_t error_len)
{
	struct syscript_options checked;
	struct syscript_queue *new;
	int err = options_copy(&checked, options) ?: check_options(&checked);

	if (error && error_len)
		*error = '\0';
	if (err || threads > SYSCRIPT_QUEUE_THREADS_MAX || (!error && error_len))
		return err ?: -EINVAL;
	if (!ARCH_KEEPS_ORDER) {
		snprintf(error, error_len, "no queues on this processor, which reorders stores");
		return -EOPNOTSUPP;
	}
	checked.size = sizeof(checked);
	new = alloc_queue(threads ?: 1);
	if (!new)
		return -ENOMEM;
	err = open_queue(new, source, len, &checked, error, error_len);
	if (err < 0) {
		if (error_len && !*error)
			snprintf(error, error_len, "%s", syscript_strerror(err));
		syscript_queue_close(new);
	} else {
		*queue = new;
	}
	return err;
}

void syscript_queue_close(struct syscript_queue *queue)
{
	if (!queue)
		return;
	if (!is_foreign(queue))
		queue_stop(queue);
	for (unsigned int i = 0; i < queue->threads; i++)
		close_server(&queue->servers[i]);
	if (queue->eventfd >= 0)
		sys_call(close, queue->eventfd);
	free(queue);
}

int syscript_queue_fd(const struct syscript_queue *queue)
{
	return is_foreign(queue) ? -EXDEV : queue->eventfd;
}

int syscript_queue_error(struct syscript_queue *queue, char *buf, size_t len)
{
	int err = is_foreign(queue) ? -EXDEV : ticket_take(&queue->texts);

	if (err)
		return err;
	err = strlen(queue->text);
	if (len)
		snprintf(buf, len, "%s", queue->text);
	ticket_give(&queue->texts);
	return err;
}

/* -- Submitting --------------------------------------------------------------------- */

static bool serves(const struct server *server)
{
	return !server_is_gone(server) && !__atomic_load_n(&server->is_dead, __ATOMIC_ACQUIRE);
}

static bool any_serves(const struct syscript_queue *queue)
{
	unsigned int i = 0;

	while (i < queue->threads && !serves(&queue->servers[i]))
		i++;
	return i < queue->threads;
}

/* The server with the fewest unfinished requests among those with room, or NULL. */
static struct server *choose_server(struct syscript_queue *queue)
{
	uint64_t fewest = UINT64_MAX, waiting;
	struct server *server, *best = NULL;

	for (unsigned int i = 0; i < queue->threads && fewest; i++) {
		server = &queue->servers[queue->next_submit];
		queue->next_submit = (queue->next_submit + 1) % queue->threads;
		if (!serves(server) ||
		    server->tail - read_word(&server->reaped) >= ENTRIES)
			continue;
		waiting = server->tail - read_word(&server->ring->done);
		if (waiting < fewest) {
			fewest = waiting;
			best = server;
		}
	}
	return best;
}

static void put_request(struct server *server, const struct syscript_request *request)
{
	unsigned int i = server->tail % ENTRIES;
	struct slot *slot = &server->ring->slots[i];

	slot->nargs = request->nargs;
	slot->result = 0;
	for (unsigned int arg = 0; arg < request->nargs; arg++)
		slot->args[arg] = request->args[arg];
	server->user_data[i] = request->user_data;
	server->errors[i] = 0;
	/* Reapers use this copy, so it is written first. */
	write_word(&server->tail, server->tail + 1);
	write_word(&server->ring->tail, server->tail);
}

static int put_requests(struct syscript_queue *queue, const struct syscript_request *requests,
			unsigned int n)
{
	struct server *server;
	int i;

	for (i = 0; i < (int)n; i++) {
		if (requests[i].nargs > SYSCRIPT_ARGS_MAX || requests[i].reserved)
			return i ?: -EINVAL;
		server = choose_server(queue);
		if (!server)
			return i ?: any_serves(queue) ? -EAGAIN : -ENOTRECOVERABLE;
		put_request(server, &requests[i]);
	}
	return i;
}

int syscript_queue_submit(struct syscript_queue *queue, const struct syscript_request *requests,
			  unsigned int n)
{
	struct server *server = queue->servers;
	int ret = is_foreign(queue) ? -EXDEV : ticket_take(&queue->submits);

	if (ret)
		return ret;
	ret = put_requests(queue, requests, n);
	for (; server < queue->servers + queue->threads; server++) {
		if (server->woken == server->tail)
			continue;
		server->woken = server->tail;
		ring_wake(server->ring);
	}
	ticket_give(&queue->submits);
	return ret;
}

/* -- Reaping ------------------------------------------------------------------------ */

/* ring.done, clamped to possible values, because the script may have written anything there. */
static uint64_t done_of(const struct server *server)
{
	uint64_t done = read_word(&server->ring->done), reaped = server->reaped;

	return done - reaped <= read_word(&server->tail) - reaped ? done : reaped;
}

static unsigned int take_from(struct server *server, struct syscript_completion *completions,
			      unsigned int n)
{
	uint64_t done = done_of(server), reaped = server->reaped;
	unsigned int i, taken = 0;

	for (; reaped != done && taken < n; reaped++, taken++) {
		i = reaped % ENTRIES;
		completions[taken] = (struct syscript_completion){
			.user_data = server->user_data[i],
			.error = server->errors[i],
			.result = server->errors[i] ? 0 : server->ring->slots[i].result,
		};
	}
	write_word(&server->reaped, reaped);
	return taken;
}

static unsigned int take(struct syscript_queue *queue, struct syscript_completion *completions,
			 unsigned int n)
{
	unsigned int taken = 0;

	for (unsigned int i = 0; i < queue->threads && taken < n; i++) {
		taken += take_from(&queue->servers[queue->next_reap], completions + taken,
				   n - taken);
		/* The next call begins with a server that has more completions. */
		if (taken < n)
			queue->next_reap = (queue->next_reap + 1) % queue->threads;
	}
	return taken;
}

/*
 * Requests a notification when @more completions exist, or earlier: at that time at least one
 * thread has completed more than its share.
 */
static void want_more(struct syscript_queue *queue, unsigned int more)
{
	struct server *server = queue->servers;
	bool changed = false;
	uint64_t count, want;

	sys_call(read, queue->eventfd, &count, sizeof(count));
	for (; server < queue->servers + queue->threads; server++) {
		want = server->reaped + (more - 1) / queue->threads;
		if (server->ring->want == want)
			continue;
		write_word(&server->ring->want, want);
		write_word(&server->ring->news, server->ring->news + 1);
		changed = true;
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (changed && !queue->always)
		sys_call(membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

/* Completes the requests of killed threads, including requests submitted to them meanwhile. */
static void bury_threads(struct syscript_queue *queue)
{
	struct server *server = queue->servers;
	uint64_t done;

	for (; server < queue->servers + queue->threads; server++) {
		if (!server_is_gone(server))
			continue;
		for (done = done_of(server); done != read_word(&server->tail); done++)
			server_fail(server, done, -ECANCELED);
	}
}

/*
 * Takes the completions that exist.  If they are fewer than @at_least, requests a notification
 * for the rest.
 */
static unsigned int take_or_want(struct syscript_queue *queue,
				 struct syscript_completion *completions,
				 unsigned int at_least, unsigned int n)
{
	unsigned int taken = take(queue, completions, n), more = 1;

	while (taken < at_least && more) {
		want_more(queue, at_least - taken);
		bury_threads(queue);
		more = take(queue, completions + taken, n - taken);
		taken += more;
		/* No notification may have been sent for the remaining ones. */
		if (more)
			queue_notify(queue);
	}
	return taken;
}

static int reap(struct syscript_queue *queue, struct syscript_completion *completions,
		unsigned int at_least, unsigned int n)
{
	int ret = is_foreign(queue) ? -EXDEV : ticket_take(&queue->reaps);

	if (ret)
		return ret;
	ret = take_or_want(queue, completions, at_least, n);
	ticket_give(&queue->reaps);
	tools_written(completions, ret * sizeof(*completions));
	return ret;
}

int syscript_queue_reap(struct syscript_queue *queue, struct syscript_completion *completions,
			unsigned int n)
{
	return n ? reap(queue, completions, 1, n) : -EINVAL;
}

/* 1 if the queue may be readable, 0 after the timeout, or -EINTR. */
static int poll_queue(const struct syscript_queue *queue, unsigned long until)
{
	struct pollfd poll = { .fd = queue->eventfd, .events = POLLIN };
	unsigned long now = sys_now(CLOCK_MONOTONIC), left = until > now ? until - now : 0;
	const struct timespec time = { left / 1000000000, left % 1000000000 };

	return sys_call(ppoll, &poll, 1, until == ~0UL ? NULL : &time, 0);
}

int syscript_queue_wait(struct syscript_queue *queue, struct syscript_completion *completions,
			unsigned int at_least, unsigned int n, int timeout_ms)
{
	unsigned long until = timeout_ms < 0 ? ~0UL :
		sys_now(CLOCK_MONOTONIC) + timeout_ms * 1000000UL;
	unsigned int taken = 0;
	int ret;

	if (!at_least || at_least > n)
		return -EINVAL;
	for (;;) {
		ret = reap(queue, completions + taken, at_least - taken, n - taken);
		if (ret > 0)
			taken += ret;
		if (ret < 0 || taken >= at_least)
			break;
		ret = poll_queue(queue, until);
		if (ret <= 0)
			break;
	}
	return taken ? (int)taken : ret;
}
