// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What was fetched and when it may be used.  A thread has one window: attributes of
 * some files of one directory.  An answer is good if
 *
 *   - it is of this epoch: the process has done nothing since that could have
 *     changed it or told it of a change;
 *   - this thread has asked the kernel for nothing since that is newer: its own epoch;
 *   - it is not older than AGE;
 *   - it was not given before;
 *   - the file is none that the process can write to, or has just opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <syscript.h>
#include <syscript_files.h>
#include <unistd.h>

#include "speedup.h"
#include "sys.h"

#define AGE		20000000UL	/* ns */
#define WINDOW		256		/* files */
#define NAMES_SIZE	8192		/* bytes of a window's names */
#define PREFIX_SIZE	256		/* bytes of a directory's path, with the slash */
#define TABLE		512		/* slots, a power of two above WINDOW */
#define KEYS		8		/* directories that are remembered */
/* So many files one after another of a directory whose names are not known. */
#define STREAK		4
/* A directory that was read whole, for little: so many are not, then. */
#define REST		16
#define FDS		1024
#define WRITTEN		64
#define OPENED		64

/* What names are relative to, and the directory that this is. */
struct key {
	int dirfd;
	char prefix[PREFIX_SIZE];	/* empty, or with a slash at the end */
	bool bound;
	bool known;			/* @dev and @ino have been found */
	bool whole_tried;
	unsigned int streak;
	dev_t dev;
	ino_t ino;
	unsigned long stamp;
};

struct window {
	const struct key *key;		/* NULL: empty */
	bool whole;
	dev_t dev;
	ino_t ino;
	unsigned long epoch, seen, since;
	unsigned int n, used;
	size_t names_used;
	uint16_t by_name[TABLE];	/* entry's number + 1 */
	uint16_t next[WINDOW];
	bool spent[WINDOW];
	const char *name[WINDOW];
	char names[NAMES_SIZE];
	struct syscript_stat stat[WINDOW];
};

struct thread {
	pid_t pid;
	bool busy;
	int handlers;
	unsigned int rest;
	unsigned long seen;		/* grows with what the kernel tells */
	unsigned long stamp;
	struct key keys[KEYS];
	struct window window;
	struct listing listings[LISTINGS];
	char room[32768];
};

struct inode {
	dev_t dev;
	ino_t ino;
};

static __thread struct thread *self __attribute__((tls_model("initial-exec")));
static __thread bool is_making __attribute__((tls_model("initial-exec")));
static pthread_key_t thread_key;
static bool active;
static atomic_bool stopped;
static atomic_ulong epoch = 1;
static atomic_uint threads;
/* Descriptors that are some key. */
static atomic_bool is_key[FDS];
/* Written: for good.  Opened: the last ones. */
static struct inode written[WRITTEN], opened[OPENED];
static atomic_uint written_n, opened_n;
static pthread_mutex_t inodes_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_ulong asked_count, answered_count, fetched_count;

/* -- The process ------------------------------------------------------------------ */

bool speedup_active(void)
{
	return active && !atomic_load_explicit(&stopped, memory_order_relaxed);
}

void speedup_stop(void)
{
	atomic_store(&stopped, true);
}

void speedup_drop(void)
{
	/* What the library itself calls is no doing of the program's. */
	if (!self || !self->busy)
		atomic_fetch_add(&epoch, 1);
}

void speedup_saw(void)
{
	if (self && !self->busy)
		self->seen++;
}

void speedup_handler(int begins)
{
	if (self)
		self->handlers += begins;
	speedup_drop();
}

static void note_written(const struct stat *st)
{
	unsigned int n;

	pthread_mutex_lock(&inodes_lock);
	n = atomic_load(&written_n);
	for (unsigned int i = 0; i < n; i++) {
		if (written[i].ino == st->st_ino && written[i].dev == st->st_dev)
			goto out;
	}
	if (n == WRITTEN) {
		speedup_stop();
		goto out;
	}
	written[n] = (struct inode){ st->st_dev, st->st_ino };
	atomic_store(&written_n, n + 1);
out:
	pthread_mutex_unlock(&inodes_lock);
}

static void note_opened(const struct stat *st)
{
	pthread_mutex_lock(&inodes_lock);
	opened[atomic_fetch_add(&opened_n, 1) % OPENED] =
		(struct inode){ st->st_dev, st->st_ino };
	pthread_mutex_unlock(&inodes_lock);
}

static bool is_among(const struct inode *inodes, unsigned int n, dev_t dev, ino_t ino)
{
	while (n--) {
		if (inodes[n].ino == ino && inodes[n].dev == dev)
			return true;
	}
	return false;
}

/* Files that others opened for it. */
static void find_inherited(void)
{
	struct stat st;

	for (int fd = 0; fd < FDS; fd++) {
		long flags = sys_call(fcntl, fd, F_GETFL);

		if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && !sys_call(fstat, fd, &st))
			note_written(&st);
	}
}

static void free_thread(void *arg)
{
	struct thread *t = arg;

	self = NULL;
	is_making = true;
	for (int i = 0; i < LISTINGS; i++) {
		if (t->listings[i].names)
			munmap(t->listings[i].names, LISTING_SIZE);
	}
	munmap(t, sizeof(*t));
	atomic_fetch_sub(&threads, 1);
}

static void after_fork(void)
{
	speedup_drop();
	if (self)
		self->pid = sys_call(getpid);
	pthread_mutex_init(&inodes_lock, NULL);
}

__attribute__((constructor)) static void begin(void)
{
	const char *user = getenv("SYSCRIPT_SPEED_UP");

	if (user && !strcmp(user, "off"))
		return;
	if (syscript_probe(SYSCRIPT_BACKEND_KERNEL) && !(user && !strcmp(user, "user")))
		return;
	if (pthread_key_create(&thread_key, free_thread))
		return;
	pthread_atfork(NULL, speedup_drop, after_fork);
	find_inherited();
	active = true;
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("SYSCRIPT_SPEED_UP_STATS");
	char line[128];
	int fd, len;

	if (!path || !active)
		return;
	len = snprintf(line, sizeof(line), "%s: asked %lu, answered %lu, fetched %lu\n",
		       program_invocation_short_name, asked_count, answered_count, fetched_count);
	fd = sys_call(open, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	sys_call(write, fd, line, len < (int)sizeof(line) ? len : (int)sizeof(line) - 1);
	sys_call(close, fd);
}

/* -- The thread ------------------------------------------------------------------- */

/* NULL where there is none to be had, also while it is being made. */
static struct thread *thread_get(void)
{
	struct thread *t;

	if (self || is_making)
		return self;
	is_making = true;
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t != MAP_FAILED) {
		t->pid = sys_call(getpid);
		pthread_setspecific(thread_key, t);
		atomic_fetch_add(&threads, 1);
		self = t;
	}
	is_making = false;
	return self;
}

struct listing *speedup_listings(void)
{
	struct thread *t = speedup_active() ? thread_get() : NULL;

	return t && !t->busy && !t->handlers ? t->listings : NULL;
}

/* -- The window ------------------------------------------------------------------- */

static uint32_t hash_name(const char *name)
{
	uint32_t h = 5381;

	while (*name)
		h = h * 33 + (unsigned char)*name++;
	return (h ^ h >> 9) & (TABLE - 1);
}

static bool window_is_good(const struct thread *t)
{
	const struct window *w = &t->window;

	return w->key && w->epoch == atomic_load(&epoch) && w->seen == t->seen &&
		sys_now(CLOCK_MONOTONIC_COARSE) - w->since <= AGE;
}

/* Learns from what has become of it. */
static void window_empty(struct thread *t)
{
	struct window *w = &t->window;

	if (w->key && w->whole) {
		if (w->used * 2 < w->n)
			t->rest = REST;
	} else if (w->key) {
		struct listing *listing = listing_find(t->listings, w->dev, w->ino);

		if (listing)
			listing_learn(listing, w->n, w->used, WINDOW);
	}
	w->key = NULL;
	w->n = 0;
	w->used = 0;
	w->names_used = 0;
	memset(w->by_name, 0, sizeof(w->by_name));
}

static int window_find(const struct window *w, const char *name)
{
	for (int i = w->by_name[hash_name(name)]; i; i = w->next[i - 1]) {
		if (!strcmp(w->name[i - 1], name))
			return i - 1;
	}
	return -1;
}

/* Room for one more: its number, or -1. */
static int window_reserve(struct window *w, const char *name)
{
	size_t size = strlen(name) + 1;
	int i = w->n;

	if (i == WINDOW || w->names_used + size > NAMES_SIZE)
		return -1;
	w->name[i] = memcpy(w->names + w->names_used, name, size);
	w->names_used += size;
	w->n++;
	return i;
}

/* Entry @i has its attributes, or @error. */
static void window_fill_in(struct window *w, int i, int error)
{
	const struct syscript_stat *st = &w->stat[i];
	unsigned int n = atomic_load(&opened_n);
	uint32_t h = hash_name(w->name[i]);

	w->next[i] = w->by_name[h];
	w->by_name[h] = i + 1;
	w->spent[i] = error || (~st->mask & STATX_BASIC_STATS) ||
		is_among(written, atomic_load(&written_n), st->dev, st->ino) ||
		is_among(opened, n < OPENED ? n : OPENED, st->dev, st->ino);
}

static bool key_is(const struct key *key, int dirfd, const char *path, size_t len)
{
	return key->bound && key->dirfd == dirfd && !memcmp(key->prefix, path, len) &&
		!key->prefix[len];
}

/* The key that this is; if there is none, the one longest not used becomes it. */
static struct key *key_get(struct thread *t, int dirfd, const char *path, size_t len)
{
	struct key *oldest = t->keys, *key;

	for (key = t->keys; key < t->keys + KEYS; key++) {
		if (key_is(key, dirfd, path, len)) {
			key->stamp = ++t->stamp;
			return key;
		}
		if (key->stamp < oldest->stamp)
			oldest = key;
	}
	if (t->window.key == oldest)
		window_empty(t);
	memset(oldest, 0, sizeof(*oldest));
	oldest->bound = true;
	oldest->dirfd = dirfd;
	memcpy(oldest->prefix, path, len);
	oldest->stamp = ++t->stamp;
	return oldest;
}

/* -- Fetching --------------------------------------------------------------------- */

/* Which directory it is, for listing_find(). */
static bool key_find(struct key *key)
{
	struct stat st;
	long err = *key->prefix || key->dirfd == AT_FDCWD ?
		sys_call(newfstatat, key->dirfd, *key->prefix ? key->prefix : ".", &st, 0) :
		sys_call(fstat, key->dirfd, &st);

	if (err)
		return false;
	key->dev = st.st_dev;
	key->ino = st.st_ino;
	return key->known = true;
}

/* As many of the names from @next on as are wanted. */
static unsigned int gather(struct window *w, const char *next, const char *end,
			   unsigned int wanted)
{
	for (; next < end && w->n < wanted; next += strlen(next) + 1) {
		if (window_reserve(w, next) < 0)
			break;
	}
	return w->n;
}

/* The path of entry @i: in @room if it has a prefix.  NULL without room. */
static const char *path_of(const struct window *w, const struct key *key, int i, char **room,
			   const char *end)
{
	size_t prefix = strlen(key->prefix), size = strlen(w->name[i]) + 1;
	char *path = *room;

	if (!prefix)
		return w->name[i];
	if (prefix + size > (size_t)(end - path))
		return NULL;
	memcpy(path, key->prefix, prefix);
	memcpy(path + prefix, w->name[i], size);
	*room += prefix + size;
	return path;
}

static bool ask_for_all(struct thread *t, const struct key *key)
{
	struct syscript_file files[WINDOW];
	struct window *w = &t->window;
	char *room = t->room;

	for (unsigned int i = 0; i < w->n; i++) {
		const char *path = path_of(w, key, i, &room, t->room + sizeof(t->room));

		if (!path) {
			w->n = i;
			break;
		}
		files[i] = (struct syscript_file){
			.path = (uintptr_t)path, .data = (uintptr_t)&w->stat[i],
		};
	}
	if (syscript_stat_many(key->dirfd, files, w->n, STATX_BASIC_STATS, AT_SYMLINK_NOFOLLOW))
		return false;
	for (unsigned int i = 0; i < w->n; i++)
		window_fill_in(w, i, files[i].result);
	return true;
}

static bool fetch_listed(struct thread *t, struct key *key, struct listing *listing,
			 const char *name)
{
	const char *next = listing_seek(listing, name);

	/* Perhaps it is another directory's by now. */
	if (!next)
		key->known = false;
	/* Two are no better than the calls themselves. */
	if (!next || gather(&t->window, next, listing->names + listing->used, listing->appetite) < 3)
		return false;
	return ask_for_all(t, key);
}

/* Of a directory that the program has not read: it asks for names that it knows. */
static bool fetch_whole(struct thread *t, struct key *key)
{
	struct window *w = &t->window;
	ssize_t used;
	int fd;

	key->whole_tried = true;
	if (t->rest) {
		t->rest--;
		return false;
	}
	if (!*key->prefix && key->dirfd != AT_FDCWD)
		return false;
	used = syscript_opendirplus(key->dirfd, *key->prefix ? key->prefix : ".", t->room,
				    sizeof(t->room), STATX_BASIC_STATS, 0, &fd);
	if (fd >= 0)
		sys_call(close, fd);
	for (ssize_t at = 0; at < used;) {
		struct syscript_dirent *entry = (void *)(t->room + at);
		int i = window_reserve(w, entry->name);

		if (i < 0)
			break;
		w->stat[i] = entry->stat;
		window_fill_in(w, i, entry->error);
		at += entry->reclen;
	}
	return w->n > 0;
}

static bool fetch(struct thread *t, struct key *key, const char *name)
{
	unsigned long at = atomic_load(&epoch);
	struct window *w = &t->window;
	struct listing *listing;
	bool done;

	window_empty(t);
	if (!key->known && !key_find(key))
		return false;
	listing = listing_find(t->listings, key->dev, key->ino);
	if (!listing && (key->whole_tried || ++key->streak < STREAK))
		return false;
	w->since = sys_now(CLOCK_MONOTONIC_COARSE);
	done = listing ? fetch_listed(t, key, listing, name) : fetch_whole(t, key);
	if (!done || at != atomic_load(&epoch)) {
		w->n = 0;
		return false;
	}
	w->key = key;
	w->dev = key->dev;
	w->ino = key->ino;
	w->whole = !listing;
	w->epoch = at;
	w->seen = t->seen;
	if (key->dirfd >= 0)
		atomic_store(&is_key[key->dirfd], true);
	atomic_fetch_add_explicit(&fetched_count, w->n, memory_order_relaxed);
	return true;
}

/*
 * Without signals: a handler that jumps away would leave locks held.  Not where
 * a standard stream is closed, whose number the program wants for its next file;
 * nor in the child of a vfork(), whose memory is its parent's.
 */
static bool fetch_guarded(struct thread *t, struct key *key, const char *name)
{
	sigset_t all, before;
	int saved = errno;
	bool done;

	if (t->pid != sys_call(getpid))
		return false;
	for (int fd = 0; fd < 3; fd++) {
		if (sys_call(fcntl, fd, F_GETFD) < 0)
			return false;
	}
	sigfillset(&all);
	sys_call(rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
	t->busy = true;
	done = fetch(t, key, name);
	t->busy = false;
	sys_call(rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
	errno = saved;
	return done;
}

/* -- Answers ---------------------------------------------------------------------- */

static bool answer(struct window *w, const char *name, struct syscript_stat *stat)
{
	int i = window_find(w, name);

	if (i < 0 || w->spent[i])
		return false;
	*stat = w->stat[i];
	w->spent[i] = true;
	w->used++;
	atomic_fetch_add_explicit(&answered_count, 1, memory_order_relaxed);
	return true;
}

/* A name that is one, in a directory whose path has room. */
static const char *plain_name(const char *path, int *dirfd)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (slash && *path == '/')
		*dirfd = AT_FDCWD;
	if (name - path >= PREFIX_SIZE || (slash && *dirfd != AT_FDCWD))
		return NULL;
	if (*dirfd != AT_FDCWD && (*dirfd < 0 || *dirfd >= FDS))
		return NULL;
	if (!*name || !strcmp(name, ".") || !strcmp(name, "..") || strlen(name) > 255)
		return NULL;
	return name;
}

bool speedup_stat(int dirfd, const char *path, struct syscript_stat *stat)
{
	struct thread *t;
	const char *name;
	struct key *key;

	if (!speedup_active() || !path)
		return false;
	t = thread_get();
	if (!t || t->busy || t->handlers)
		return false;
	atomic_fetch_add_explicit(&asked_count, 1, memory_order_relaxed);
	name = plain_name(path, &dirfd);
	if (!name)
		return false;
	key = key_get(t, dirfd, path, name - path);
	if (t->window.key == key && window_is_good(t)) {
		if (answer(&t->window, name, stat))
			return true;
		/* It was an answer already, or there is none. */
		if (window_find(&t->window, name) >= 0)
			return false;
	}
	return fetch_guarded(t, key, name) && answer(&t->window, name, stat);
}

/* -- Descriptors ------------------------------------------------------------------ */

void speedup_opened(int fd, int flags)
{
	struct stat st;

	if (!speedup_active() || (self && self->busy))
		return;
	if (fd >= 0 && !(flags & O_PATH) && !sys_call(fstat, fd, &st) && S_ISREG(st.st_mode)) {
		note_opened(&st);
		if ((flags & O_ACCMODE) != O_RDONLY)
			note_written(&st);
	}
	speedup_drop();
}

void speedup_closing(int fd)
{
	struct thread *t = self;

	if (fd < 0 || fd >= FDS || (t && t->busy) || !atomic_exchange(&is_key[fd], false))
		return;
	/* It may be another thread's. */
	if (atomic_load(&threads) > (t ? 1 : 0))
		speedup_drop();
	for (int i = 0; t && i < KEYS; i++) {
		if (t->keys[i].bound && t->keys[i].dirfd == fd) {
			if (t->window.key == &t->keys[i])
				window_empty(t);
			t->keys[i].bound = false;
			t->keys[i].stamp = 0;
		}
	}
}
