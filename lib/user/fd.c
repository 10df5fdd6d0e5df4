// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Script fds of the user backend.  Such an fd is the write end of a pipe whose
 * read end stays here, hidden: the inode says which script it is, duplicates
 * included; when the last write end is closed the read end hangs up; when the
 * script dies the read end is closed, and poll() on the fd reports POLLERR.
 *
 * A script is used while it is in the list or a call holds a reference; the
 * list is one of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "sys.h"
#include "user.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct script *scripts;
unsigned int user_fd_count;
static unsigned int last_id;

/*
 * Which memory map a script belongs to.  The page reads as zeros in a child of
 * fork(), but not in one of vfork(), which may use its parent's scripts.
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
	/* A program that closes all it does not know may have closed this. */
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

static void fork_prepare(void)
{
	pthread_mutex_lock(&lock);
	clock_fork_prepare();
}

static void fork_parent(void)
{
	clock_fork_parent();
	pthread_mutex_unlock(&lock);
}

/* A thread that is not there may have held its lock. */
static void drop_copy(struct program *program)
{
	platform_lock_init(&program->vm_lock);
	program_die(program);
}

/*
 * Scripts stay known here, to be answered with -EXDEV, but the copies of their
 * memory go; save that of a run whose signal handler forked: it goes on.
 */
static void fork_child(void)
{
	clock_fork_child();
	limits_fork_child();
	for (struct script *s = scripts; s; s = s->next) {
		fd_close_hidden(s);
		if (!s->turn.held || !pthread_equal(s->turn.holder, pthread_self()))
			drop_copy(s->program);
	}
	pthread_mutex_unlock(&lock);
}

static void once(void)
{
	long p = sys_call(mmap, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p < 0 && p > -(long)PAGE_SIZE)
		return;
	if (sys_call(madvise, p, PAGE_SIZE, MADV_WIPEONFORK) < 0) {
		sys_call(munmap, p, PAGE_SIZE);
		return;
	}
	if (pthread_atfork(fork_prepare, fork_parent, fork_child))
		sys_call(munmap, p, PAGE_SIZE);
	else
		owner_page = (unsigned long *)p;
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
	err = sys_call(fstat, ends[0], &st);
	if (err) {
		sys_call(close, ends[0]);
		sys_call(close, ends[1]);
		return err;
	}
	script->hidden = ends[0];
	script->fd = ends[1];
	script->dev = st.st_dev;
	script->ino = st.st_ino;
	return 0;
}

/* Gives @script an fd and an id.  Returns the fd or -errno. */
int user_fd_publish(struct script *script)
{
	static pthread_once_t initialised = PTHREAD_ONCE_INIT;
	int err;

	pthread_once(&initialised, once);
	if (!owner_page)
		return -ENOMEM;
	err = pipe_open(script);
	if (err)
		return err;

	pthread_mutex_lock(&lock);
	if (!*owner_page)
		*owner_page = ++last_owner;
	script->owner = *owner_page;
	/* Apart from the kernel's ids, which count from 1. */
	script->id = 1ULL << 63 | (unsigned long long)sys_call(getpid) << 32 | ++last_id;
	script->refs = 1;
	script->next = scripts;
	scripts = script;
	__atomic_add_fetch(&user_fd_count, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	return script->fd;
}

struct script *user_fd_find(int fd)
{
	struct script *script;
	struct stat st;

	if (sys_call(fstat, fd, &st) < 0 || !S_ISFIFO(st.st_mode))
		return NULL;

	pthread_mutex_lock(&lock);
	for (script = scripts; script; script = script->next) {
		if (script->ino == st.st_ino && script->dev == st.st_dev) {
			script->refs++;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return script;
}

/* The script with the next higher id than @after, or NULL. */
struct script *user_fd_next(unsigned long long after)
{
	struct script *script, *next = NULL;

	user_fd_sweep();
	pthread_mutex_lock(&lock);
	for (script = scripts; script; script = script->next) {
		if (script->id > after && (!next || script->id < next->id) &&
		    !user_fd_foreign(script))
			next = script;
	}
	if (next)
		next->refs++;
	pthread_mutex_unlock(&lock);
	return next;
}

void user_fd_put(struct script *script)
{
	unsigned int refs;

	pthread_mutex_lock(&lock);
	refs = --script->refs;
	pthread_mutex_unlock(&lock);
	if (!refs) {
		fd_close_hidden(script);
		user_destroy(script);
	}
}

/* The program knows @script by another number now. */
void user_fd_renumber(struct script *script, int fd)
{
	pthread_mutex_lock(&lock);
	script->fd = fd;
	pthread_mutex_unlock(&lock);
}

/* Tells who polls the fd; closed ones are found by their number from here on. */
void user_fd_dead(struct script *script)
{
	pthread_mutex_lock(&lock);
	fd_close_hidden(script);
	pthread_mutex_unlock(&lock);
}

static struct script *take_closed(void)
{
	struct script **link, *script;

	pthread_mutex_lock(&lock);
	for (link = &scripts; (script = *link); link = &script->next) {
		if (fd_closed(script)) {
			*link = script->next;
			__atomic_sub_fetch(&user_fd_count, 1, __ATOMIC_RELAXED);
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return script;
}

/* Frees the scripts that the program has closed. */
void user_fd_sweep(void)
{
	struct script *script;

	while ((script = take_closed()))
		user_fd_put(script);
}
