// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What was fetched and when it may be used.  A thread has one window: attributes of
 * some files of one directory, in its order.  An answer is good if
 *
 *   - it is of this epoch: the process has done nothing since that could have
 *     changed it or told it of a change;
 *   - this thread has asked the kernel for nothing since that is newer: its own epoch;
 *   - it is not older than AGE;
 *   - it is the first, or the second right after it;
 *   - the file is none that the process has open or mapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <syscript.h>
#include <syscript_files.h>
#include <unistd.h>

#include "device.h"
#include "speedup.h"
#include "sys.h"

#define AGE		16		/* ms; the clock may be 4 ms late */
#define YOUNG		8000000UL	/* cycles that are less than AGE on any processor */
#define RECORDS		32768		/* bytes: what one call of the script returns */
#define PREFIX_SIZE	256		/* bytes of a directory's path, with the slash */
/* Entries that a program may pass over. */
#define NEAR		32
/* Files fetched at once: fewer than LEAST are not worth it. */
#define LEAST		3U
#define FEW		4U
#define FIRST		16U
#define MOST		160U
/* After so many fetches in a row that were not worth it, it is over. */
#define FAILURES	8

struct window {
	const struct syscript_dirent *next, *end;
	const struct syscript_dirent *last;	/* that was given */
	const struct syscript_dirent *again;	/* may be given once more, or NULL */
	int dirfd;
	size_t prefix_len;
	unsigned long epoch, seen;	/* epoch 0: there is none */
	unsigned long since, cycles;
	unsigned long listing;		/* its number */
	size_t from;			/* where its names are there */
	unsigned int n, used;
	char prefix[PREFIX_SIZE];	/* empty, or with a slash at the end */
	char records[RECORDS] __attribute__((aligned(16)));
};

struct thread {
	pid_t pid;
	bool busy;
	int handlers;
	unsigned long seen;		/* grows with what the kernel tells */
	unsigned long asked, answered, fetched;
	/* What was learned: files to fetch at once; whether directories are gone into. */
	unsigned int most, failures, rest;
	bool descends, proven;
	unsigned long asked_epoch, asked_seen;	/* when it last asked for one that is listed */
	struct listing listings[LISTINGS];
	struct own_files own;
	struct window window;
};

static const char script[] =
	"local stat_entries, openat, close = fs.stat_entries, syscall.openat, syscall.close\n"
	"local DIR = const.O_PATH + const.O_DIRECTORY + const.O_CLOEXEC\n"
	"local MASK = const.STATX_BASIC_STATS\n"
	"function run(dirfd, path, buf, size, names, bytes)\n"
	"  if path == 0 then return stat_entries(dirfd, buf, size, names, bytes, MASK) end\n"
	"  local dir = openat(dirfd, path, DIR)\n"
	"  if dir < 0 then return dir end\n"
	"  local n, used, taken = stat_entries(dir, buf, size, names, bytes, MASK)\n"
	"  close(dir)\n"
	"  return n, used, taken\n"
	"end\n";

static __thread struct thread *self __attribute__((tls_model("initial-exec")));
static __thread bool is_making __attribute__((tls_model("initial-exec")));
static pthread_key_t thread_key;
static bool active, is_user;
static unsigned long age = AGE * 1000000UL;
static atomic_bool stopped, unavailable;
static atomic_ulong epoch = 1;
static atomic_uint threads;
static atomic_int script_fd = -1;
static pthread_mutex_t script_lock = PTHREAD_MUTEX_INITIALIZER;
/* Descriptors that some window has come from. */
static atomic_bool is_base[FDS];
static atomic_ulong asked_count, answered_count, fetched_count;

/* -- The process ------------------------------------------------------------------ */

bool speedup_active(void)
{
	return active && !atomic_load_explicit(&stopped, memory_order_relaxed);
}

void speedup_stop(void)
{
	atomic_store(&stopped, true);
	atomic_fetch_add(&epoch, 1);
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
	atomic_fetch_add(&epoch, 1);
}

static void add_counts(const struct thread *t)
{
	atomic_fetch_add(&asked_count, t->asked);
	atomic_fetch_add(&answered_count, t->answered);
	atomic_fetch_add(&fetched_count, t->fetched);
}

static void free_thread(void *arg)
{
	struct thread *t = arg;

	self = NULL;
	is_making = true;
	add_counts(t);
	listing_free(t->listings);
	munmap(t, sizeof(*t));
	atomic_fetch_sub(&threads, 1);
}

static void after_fork(void)
{
	int fd = atomic_exchange(&script_fd, -1);

	speedup_drop();
	if (self)
		self->pid = sys_call(getpid);
	pthread_mutex_init(&script_lock, NULL);
	/* The parent's, of no use here. */
	if (fd >= 0)
		sys_call(close, fd);
}

__attribute__((constructor)) static void begin(void)
{
	const char *user = getenv("SYSCRIPT_SPEED_UP");
	const char *ms = getenv("SYSCRIPT_SPEED_UP_AGE");

	if (user && !strcmp(user, "off"))
		return;
	is_user = user && !strcmp(user, "user");
	if (ms)
		age = strtoul(ms, NULL, 10) * 1000000;
	if (pthread_key_create(&thread_key, free_thread))
		return;
	pthread_atfork(NULL, speedup_drop, after_fork);
	active = true;
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("SYSCRIPT_SPEED_UP_STATS");
	char line[128];
	int fd, len;

	if (!path || !active || unavailable)
		return;
	if (self)
		add_counts(self);
	len = snprintf(line, sizeof(line), "%s: asked %lu, answered %lu, fetched %lu\n",
		       program_invocation_short_name, asked_count, answered_count, fetched_count);
	fd = sys_call(open, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	sys_call(write, fd, line, len < (int)sizeof(line) ? len : (int)sizeof(line) - 1);
	sys_call(close, fd);
}

/* -- The thread ------------------------------------------------------------------- */

static struct thread *thread_make(void)
{
	struct thread *t;

	is_making = true;
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t != MAP_FAILED) {
		t->pid = sys_call(getpid);
		t->most = FIRST;
		pthread_setspecific(thread_key, t);
		atomic_fetch_add(&threads, 1);
		self = t;
	}
	is_making = false;
	return self;
}

/* NULL where there is none to be had, also while it is being made. */
static inline struct thread *thread_get(void)
{
	return self || is_making ? self : thread_make();
}

static bool is_free(const struct thread *t)
{
	return speedup_active() && t && !t->busy && !t->handlers;
}

void speedup_listed(struct chunk *chunk)
{
	struct thread *t = speedup_active() ? thread_get() : NULL;

	if (is_free(t))
		listing_add(t->listings, chunk);
}

/* -- The window ------------------------------------------------------------------- */

static inline bool is_current(const struct thread *t)
{
	return t->window.epoch == atomic_load(&epoch) && t->window.seen == t->seen;
}

__attribute__((noinline)) static bool is_young_by_clock(const struct window *w)
{
	return sys_now(CLOCK_MONOTONIC_COARSE) - w->since <= age;
}

/* Asks the clock only where the processor's, which may be another by now, leaves doubt. */
static inline bool is_young(const struct window *w)
{
	return __builtin_ia32_rdtsc() - w->cycles < YOUNG || is_young_by_clock(w);
}

static const struct syscript_dirent *after(const struct syscript_dirent *entry)
{
	return (const void *)((const char *)entry + entry->reclen);
}

static const struct syscript_dirent *take(struct window *w, const struct syscript_dirent *entry)
{
	w->next = after(entry);
	w->again = entry;
	w->last = entry;
	w->used++;
	return entry;
}

/* It is not the next one. */
__attribute__((noinline))
static const struct syscript_dirent *find_near(struct window *w, const char *name)
{
	const struct syscript_dirent *entry = w->again;

	if (entry && !strcmp(entry->name, name)) {
		w->again = NULL;
		return entry;
	}
	entry = w->next;
	for (int i = 0; i < NEAR && entry < w->end; i++, entry = after(entry)) {
		if (!strcmp(entry->name, name))
			return take(w, entry);
	}
	return NULL;
}

/* The entry that is @path's, near the next one; or NULL. */
static inline const struct syscript_dirent *window_find(struct window *w, int dirfd,
							const char *path)
{
	const struct syscript_dirent *next = w->next;
	const char *name = path + w->prefix_len;

	if (dirfd != w->dirfd || (w->prefix_len && strncmp(path, w->prefix, w->prefix_len)))
		return NULL;
	if (next >= w->end || strcmp(next->name, name))
		return find_near(w, name);
	return take(w, next);
}

static inline const struct syscript_stat *give(struct thread *t,
						const struct syscript_dirent *entry)
{
	const struct syscript_stat *st = &entry->stat;

	if (entry->error || (~st->mask & STATX_BASIC_STATS) || own_files_have(&t->own, st->dev, st->ino))
		return NULL;
	t->answered++;
	return st;
}

/* Fewer, then none for a while, then never. */
static void not_worth_it(struct thread *t)
{
	if (t->most == FEW)
		t->rest = 1U << ++t->failures;
	if (t->failures == FAILURES)
		speedup_stop();
	t->most = FEW;
	t->proven = false;
}

/* Learns from what has become of it. */
static void window_end(struct thread *t)
{
	struct window *w = &t->window;

	if (!w->n)
		return;
	if (w->used * 2 >= w->n) {
		t->failures = 0;
		t->proven = true;
		if (w->next >= w->end)
			t->most = t->most * 2 < MOST ? t->most * 2 : MOST;
	} else if (w->used && S_ISDIR(w->last->stat.mode) && !t->descends) {
		t->descends = true;
	} else {
		not_worth_it(t);
	}
	if (w->used && w->next < w->end)
		listing_go_on(t->listings, w->listing, w->from, w->last->name);
	w->n = 0;
	w->used = 0;
	w->epoch = 0;
	w->again = NULL;
}

/* -- Fetching --------------------------------------------------------------------- */

/* The script has descriptors: none where the program may want the number. */
static bool has_standard_streams(void)
{
	return sys_call(fcntl, 0, F_GETFD) >= 0 && sys_call(fcntl, 1, F_GETFD) >= 0 &&
		sys_call(fcntl, 2, F_GETFD) >= 0;
}

/* Elsewhere than in the kernel, which is of use to tests only: by the library. */
static int (*user_register)(const void *, size_t, const struct syscript_options *, char *, size_t);
static int (*user_call)(int, unsigned int, const int64_t *, unsigned int, int64_t *);

static int register_user(void)
{
	const struct syscript_options options = {
		.size = sizeof(options),
		.backend = SYSCRIPT_BACKEND_USER,
		.wall_limit_ns = SYSCRIPT_NO_LIMIT,
	};
	void *library = dlopen("libsyscript.so.0", RTLD_NOW);

	if (!library)
		return -ENOENT;
	*(void **)&user_register = dlsym(library, "syscript_register");
	*(void **)&user_call = dlsym(library, "syscript_call");
	return user_register(script, sizeof(script) - 1, &options, NULL, 0);
}

static int register_kernel(void)
{
	struct syscript_register reg = {
		.image = (uintptr_t)script,
		.image_len = sizeof(script) - 1,
		.name = "speed-up",
		.memory_limit = 256 << 10,
		.time_limit = 1000000000,
		.wall_limit = SYSCRIPT_NO_LIMIT,
	};

	return device_register(&reg);
}

static void script_register(void)
{
	int fd = is_user ? register_user() : register_kernel();

	if (fd < 0 || fd >= FDS) {
		atomic_store(&unavailable, fd < 0);
		speedup_stop();
	}
	atomic_store(&script_fd, fd);
}

static int script_call(int fd, const int64_t args[6], int64_t results[3])
{
	struct syscript_call call;
	int err;

	if (user_call)
		return user_call(fd, 6, args, 3, results);
	call.flags = 0;
	call.nargs = 6;
	call.nresults = 0;
	call.reserved = 0;
	memcpy(call.args, args, 6 * sizeof(*args));
	err = device_call(fd, &call);
	memcpy(results, call.results, 3 * sizeof(*results));
	return err;
}

/* The script, which is registered if it is not; or -1. */
static int script_get(void)
{
	sigset_t all, old;

	if (atomic_load(&script_fd) >= 0)
		return atomic_load(&script_fd);
	/* No handler jumps out of this and leaves it locked. */
	sigfillset(&all);
	sys_call(rt_sigprocmask, SIG_BLOCK, &all, &old, 8);
	pthread_mutex_lock(&script_lock);
	if (atomic_load(&script_fd) < 0 && has_standard_streams())
		script_register();
	pthread_mutex_unlock(&script_lock);
	sys_call(rt_sigprocmask, SIG_SETMASK, &old, NULL, 8);
	return atomic_load(&script_fd);
}

/* Fills the window from @names.  Returns how many bytes of these are done, or -errno. */
static int64_t ask(struct window *w, const char *names, size_t bytes)
{
	const char *path = w->prefix_len ? w->prefix : w->dirfd == AT_FDCWD ? "." : NULL;
	const int64_t args[] = {
		w->dirfd, (intptr_t)path, (intptr_t)w->records, RECORDS, (intptr_t)names, bytes,
	};
	int64_t results[3] = { 0 };
	int fd = script_get();
	int ret = fd < 0 ? fd : script_call(fd, args, results);

	/* A limit, a watcher, another's by now: it would be the same the next time. */
	if (fd >= 0 && ret < 0 && ret != -EINTR)
		speedup_stop();
	if (ret < 0 || results[0] <= 0)
		return -1;
	w->n = results[0];
	w->next = (const void *)w->records;
	w->end = (const void *)(w->records + results[1]);
	return results[2];
}

/* With the memory of another process (vfork) there is no telling what is whose. */
static int64_t ask_guarded(struct thread *t, const char *names, size_t bytes)
{
	int64_t taken = -1;

	/* A handler that jumps out of this leaves it so. */
	t->busy = true;
	if (t->pid == sys_call(getpid) && own_files_look(&t->own))
		taken = ask(&t->window, names, bytes);
	t->busy = false;
	return taken;
}

/* The last name of @path, if it is one to be looked up in what is before it, or NULL. */
static const char *plain_name(int dirfd, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (name - path >= PREFIX_SIZE || (slash && dirfd != AT_FDCWD))
		return NULL;
	if (dirfd != AT_FDCWD && (dirfd < 0 || dirfd >= FDS))
		return NULL;
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return NULL;
	return name;
}

/* Between this call and the last one there was nothing but the kernel's answer. */
static bool is_in_a_row(struct thread *t)
{
	bool is = t->asked_epoch == atomic_load(&epoch) && t->asked_seen + 1 == t->seen;

	t->asked_epoch = atomic_load(&epoch);
	t->asked_seen = t->seen;
	return is;
}

/* From @path's on those that are likely to be next. */
static bool fetch(struct thread *t, int dirfd, const char *path)
{
	unsigned long at = atomic_load(&epoch);
	const char *name = plain_name(dirfd, path);
	struct listing *listing = name ? listing_seek(t->listings, name) : NULL;
	struct window *w = &t->window;
	int64_t taken;
	size_t bytes;

	if (!listing || !(is_in_a_row(t) || t->proven) ||
	    listing_gather(listing, t->most, t->descends, &bytes) < LEAST)
		return false;
	w->listing = listing->number;
	w->from = listing->cursor;
	w->dirfd = dirfd;
	w->prefix_len = name - path;
	memcpy(w->prefix, path, w->prefix_len);
	w->prefix[w->prefix_len] = '\0';
	w->since = sys_now(CLOCK_MONOTONIC_COARSE);
	w->cycles = __builtin_ia32_rdtsc();
	taken = ask_guarded(t, listing->chunk->entries + listing->cursor, bytes);
	if (taken < 0) {
		not_worth_it(t);
		return false;
	}
	listing->cursor += taken;
	w->epoch = at;
	w->seen = t->seen;
	t->fetched += w->n;
	if (dirfd >= 0)
		atomic_store(&is_base[dirfd], true);
	return is_current(t);
}

__attribute__((noinline))
static const struct syscript_stat *stat_fetched(struct thread *t, int dirfd, const char *path)
{
	const struct syscript_dirent *entry;

	if (!is_free(t))
		return NULL;
	t->asked++;
	window_end(t);
	if (t->rest) {
		t->rest--;
		return NULL;
	}
	if (!fetch(t, dirfd, path))
		return NULL;
	entry = window_find(&t->window, dirfd, path);
	return entry ? give(t, entry) : NULL;
}

const struct syscript_stat *speedup_stat(int dirfd, const char *path)
{
	const struct syscript_dirent *entry;
	struct thread *t = self;

	/* Without names of a directory there is nothing to fetch. */
	if (!t || !t->listings->chunk || !path)
		return NULL;
	/* Handlers, and the end of the help, are another epoch. */
	if (!is_current(t))
		return stat_fetched(t, dirfd, path);
	entry = window_find(&t->window, dirfd, path);
	if (!entry || !is_young(&t->window))
		return stat_fetched(t, dirfd, path);
	t->asked++;
	return give(t, entry);
}

/* -- Descriptors ------------------------------------------------------------------ */

void speedup_closing(int fd)
{
	struct thread *t = self;

	if (fd < 0 || fd >= FDS || (t && t->busy))
		return;
	own_files_closing(fd);
	/* By a program that closes what it does not know. */
	if (fd == atomic_load(&script_fd))
		atomic_store(&script_fd, -1);
	if (!atomic_exchange(&is_base[fd], false))
		return;
	/* It may be another thread's. */
	if (atomic_load(&threads) > (t ? 1 : 0))
		speedup_drop();
	if (t && t->window.dirfd == fd)
		window_end(t);
}
