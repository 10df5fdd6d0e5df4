// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Script fds of the user backend.  Such an fd is the write end of a pipe whose read end stays
 * here, hidden.  The pipe's inode identifies the script, for duplicates of the fd as well. When
 * the last write end is closed, the read end hangs up; when the script dies, the read end is
 * closed, and poll() on the fd reports POLLERR.
 *
 * References: one for the list of scripts, and one for each call.
 *
 * Calls find a script without a lock, because a signal handler may make a call at any time.  So a
 * struct script is never freed, but reused, and stays in the list with the same successor: a
 * lookup that reads a free entry gets no reference, and one that reads an entry of another script
 * sees by its fields that it is not the script it looks for.  Calls free nothing, either, because
 * they may have interrupted malloc(): user_fd_sweep() frees scripts that have ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lock.h"
#include "sys.h"
#include "user/tools.h"
#include "turn.h"
#include "user.h"

static struct script *scripts;		/* only grows; LOCK_FDS guards the rest */
unsigned int user_fd_count;
static unsigned int last_id;

/*
 * Indexed by descriptor: the script that was last found there. For calls that the kernel checks
 * against the script they name.
 */
#define QUICK	1024
static struct script *quick[QUICK];

/*
 * Identifies the memory map that a script belongs to. The page reads as zeros in a child of
 * fork(), by the kernel or else by the fork handler, but not in one of vfork(), which may use its
 * parent's scripts.
 */
static unsigned long *owner_page;
static unsigned long last_owner;

static bool fd_is(int fd, const struct script *script)
{
	struct stat st;

	return sys_call(fstat, fd, &st) == 0 && st.st_dev == script->dev &&
	       st.st_ino == script->ino;
}

static void fd_close_hidden(struct script *script)
{
	/* A program that closes all unknown descriptors may have closed this one. */
	if (script->hidden >= 0 && fd_is(script->hidden, script))
		sys_call(close, script->hidden);
	script->hidden = -1;
}

static bool fd_closed(struct script *script)
{
	struct pollfd poll = { .fd = script->hidden };
	struct timespec now = { 0, 0 };

	if (script->hidden < 0 || !fd_is(script->hidden, script))
		return !fd_is(script->fd, script);
	return sys_call(ppoll, &poll, 1, &now, 0) > 0 && poll.revents & POLLHUP;
}

/* Does a run of this thread use the script, or a script that extends it? */
static bool is_used(const struct script *script)
{
	for (const struct script *s = scripts; s; s = s->next)
		if (s->is_listed && turn_is_used(s) && (s == script || s->base == script))
			return true;
	return false;
}

/*
 * Scripts stay listed in the child, so that calls of them fail with -EXDEV, but the copies of
 * their memory are freed, except for a run whose signal handler forked: that run goes on.
 */
void user_fd_fork_child(void)
{
	if (owner_page)
		*owner_page = 0;
	for (struct script *s = scripts; s; s = s->next) {
		if (!s->is_listed)
			continue;
		fd_close_hidden(s);
		if (!is_used(s))
			program_die(s->program);
	}
	for (struct script *s = scripts; s; s = s->next)
		turn_fork_child(s);
}

/* Returns 0, or -errno with the reason in @error. It may fail now, but not when it is needed. */
static int make_owner_page(char *error)
{
	unsigned long *none = NULL;
	long p, err;

	if (__atomic_load_n(&owner_page, __ATOMIC_ACQUIRE))
		return 0;
	p = sys_call(mmap, 0, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (p < 0 && p > -(long)PAGE_SIZE)
		return p;
	err = sys_call(madvise, p, PAGE_SIZE, MADV_WIPEONFORK);
	/*
	 * gVisor refuses it. There a child of a bare clone(2), for which no fork handler runs,
	 * takes its copies of the scripts for its own.
	 */
	if (err == -EINVAL)
		err = 0;
	if (err)
		snprintf(error, RUN_ERROR_LEN, "madvise(MADV_WIPEONFORK) is refused: %s",
			 strerrordesc_np(-err));
	else if (__atomic_compare_exchange_n(&owner_page, &none, (unsigned long *)p, false,
					     __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return 0;
	/* Another thread was faster. */
	sys_call(munmap, p, PAGE_SIZE);
	return err;
}

bool user_fd_foreign(const struct script *script)
{
	return script->owner != *owner_page;
}

static int pipe_open(struct script *script)
{
	struct stat st;
	int ends[2], err;

	err = sys_call(pipe2, ends, O_CLOEXEC | O_NONBLOCK);
	if (err)
		return err;
	ends[0] = sys_above_standard(ends[0]);
	ends[1] = sys_above_standard(ends[1]);
	err = ends[0] < 0 ? ends[0] : ends[1] < 0 ? ends[1] : sys_call(fstat, ends[0], &st);
	if (err) {
		sys_call(close, ends[0]);
		sys_call(close, ends[1]);
		return err;
	}
	/* Nothing is written to the pipe, and a buffer of 16 pages takes 1 KiB of kernel memory. */
	sys_call(fcntl, ends[0], F_SETPIPE_SZ, 4096);
	script->hidden = ends[0];
	script->fd = ends[1];
	script->dev = st.st_dev;
	script->ino = st.st_ino;
	return 0;
}

/* Gives @script an fd and an id.  Returns the fd, or -errno and maybe a text in @error. */
int user_fd_publish(struct script *script, char *error)
{
	int err = make_owner_page(error) ?: pipe_open(script);

	if (err)
		return err;

	lock_take(LOCK_FDS);
	if (!*owner_page)
		*owner_page = ++last_owner;
	script->owner = *owner_page;
	/* Differs from the kernel's ids, which count from 1. */
	script->id = 1ULL << 63 | (unsigned long long)sys_call(getpid) << 32 | ++last_id;
	__atomic_store_n(&script->refs, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&script->is_listed, true, __ATOMIC_RELEASE);
	__atomic_add_fetch(&user_fd_count, 1, __ATOMIC_RELAXED);
	lock_give(LOCK_FDS);
	return script->fd;
}

/* False if the script has no references: then its entry is free, or may become another script's. */
static bool try_get(struct script *script)
{
	unsigned int refs = __atomic_load_n(&script->refs, __ATOMIC_RELAXED);

	do {
		if (!refs)
			return false;
	} while (!__atomic_compare_exchange_n(&script->refs, &refs, refs + 1, true,
					      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	return true;
}

struct script *user_fd_quick(int fd)
{
	struct script *script;

	if ((unsigned int)fd >= QUICK)
		return NULL;
	script = __atomic_load_n(&quick[fd], __ATOMIC_RELAXED);
	/*
	 * The entry may be another script's by now: the kernel checks whether that script is at
	 * @fd.
	 */
	return script && try_get(script) ? script : NULL;
}

struct script *user_fd_alloc(void)
{
	struct script *script;

	lock_take(LOCK_FDS);
	for (script = scripts; script && script->is_taken; script = script->next)
		;
	if (script) {
		memset((char *)script + sizeof(script->next), 0,
		       sizeof(*script) - sizeof(script->next));
	} else {
		script = calloc(1, sizeof(*script));
		if (script) {
			script->next = scripts;
			__atomic_store_n(&scripts, script, __ATOMIC_RELEASE);
		}
	}
	if (script)
		script->is_taken = true;
	lock_give(LOCK_FDS);
	return script;
}

void user_fd_free(struct script *script)
{
	__atomic_store_n(&script->is_taken, false, __ATOMIC_RELEASE);
}

static bool is_at(const struct script *script, const struct stat *st)
{
	return __atomic_load_n(&script->is_listed, __ATOMIC_ACQUIRE) &&
	       script->ino == st->st_ino && script->dev == st->st_dev;
}

struct script *user_fd_find(int fd)
{
	struct script *script = __atomic_load_n(&scripts, __ATOMIC_ACQUIRE);
	struct stat st;

	if (sys_call(fstat, fd, &st) < 0 || !S_ISFIFO(st.st_mode))
		return NULL;
	for (; script; script = script->next) {
		if (!is_at(script, &st) || !try_get(script))
			continue;
		if (is_at(script, &st))
			break;
		user_fd_put(script);
	}
	if (script && fd < QUICK && run_priv(script->program->run)->kernel_id)
		__atomic_store_n(&quick[fd], script, __ATOMIC_RELAXED);
	return script;
}

/* The script with the next higher id than @after, or NULL. */
struct script *user_fd_next(unsigned long long after)
{
	struct script *script, *next = NULL;

	user_fd_sweep();
	lock_take(LOCK_FDS);
	for (script = scripts; script; script = script->next) {
		if (script->is_listed && script->id > after &&
		    (!next || script->id < next->id) && !user_fd_foreign(script))
			next = script;
	}
	if (next)
		__atomic_add_fetch(&next->refs, 1, __ATOMIC_RELAXED);
	lock_give(LOCK_FDS);
	return next;
}

void user_destroy(struct script *script)
{
	struct script *base = script->base;

	tools_acquire(script);
	program_destroy(script->program);
	if (script->is_watched)
		clock_put();
	user_fd_free(script);
	if (base)
		user_fd_put(base);
}

void user_fd_put(struct script *script)
{
	if (!__atomic_sub_fetch(&script->refs, 1, __ATOMIC_ACQ_REL))
		__atomic_store_n(&script->is_over, true, __ATOMIC_RELEASE);
}

/* The program has moved @script to another descriptor. */
void user_fd_renumber(struct script *script, int fd)
{
	lock_take(LOCK_FDS);
	script->fd = fd;
	lock_give(LOCK_FDS);
}

/* Wakes pollers of the fd; from here on the closed fd is recognised by its number. */
void user_fd_dead(struct script *script)
{
	lock_take(LOCK_FDS);
	fd_close_hidden(script);
	lock_give(LOCK_FDS);
}

/* With the lock: removes from the list the scripts whose fds the program has closed. */
static void unlist_closed(void)
{
	for (struct script *s = scripts; s; s = s->next) {
		if (s->is_listed && fd_closed(s)) {
			__atomic_store_n(&s->is_listed, false, __ATOMIC_RELEASE);
			__atomic_sub_fetch(&user_fd_count, 1, __ATOMIC_RELAXED);
			user_fd_put(s);
		}
		if (!s->is_listed && __atomic_load_n(&s->refs, __ATOMIC_ACQUIRE))
			turn_tidy(s, turn_entry ?: __builtin_frame_address(0));
	}
}

void user_fd_pin(struct script *script)
{
	lock_take(LOCK_FDS);
	script->is_pinned = true;
	lock_give(LOCK_FDS);
}

/* With the lock: frees scripts that ended in a call, once no other call is under way. */
static void bury_dead(void)
{
	for (struct script *s = scripts; s; s = s->next) {
		if (!s->is_listed || s->is_pinned || !s->program->corpse)
			continue;
		turn_tidy(s, turn_entry ?: __builtin_frame_address(0));
		if (turn_is_idle(s))
			program_bury(s->program);
	}
}

/* Returns a script that has no references any more, or NULL. */
static struct script *take_over(void)
{
	struct script *s;

	lock_take(LOCK_FDS);
	s = scripts;
	while (s && !__atomic_load_n(&s->is_over, __ATOMIC_ACQUIRE))
		s = s->next;
	if (s)
		s->is_over = false;
	lock_give(LOCK_FDS);
	return s;
}

void user_fd_sweep(void)
{
	struct script *script;

	lock_take(LOCK_FDS);
	unlist_closed();
	bury_dead();
	lock_give(LOCK_FDS);
	while ((script = take_over())) {
		fd_close_hidden(script);
		user_destroy(script);
	}
}
