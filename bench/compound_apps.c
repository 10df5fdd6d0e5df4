// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The loops of compound_apps.h. APPS names the table: app_plain or app_compound. */
#include <cosy.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compound_apps.h"

/* -- Pairs of calls ---------------------------------------------------------- */

COSY_FUNCTION static long loop_open_read_close(struct app *shared, long count)
{
	struct app *app = COSY_SHARED(shared);
	long sum = 0;

	while (count--) {
		int fd = open(app->file, O_RDONLY);

		if (fd < 0)
			return -errno;
		sum += read(fd, app->buffer, APP_PAGE);
		close(fd);
	}
	return sum;
}

COSY_FUNCTION static long loop_open_fstat(struct app *shared, long count)
{
	struct app *app = COSY_SHARED(shared);
	struct stat st;
	long sum = 0;

	while (count--) {
		int fd = open(app->file, O_RDONLY);

		if (fd < 0 || fstat(fd, &st))
			return -errno;
		sum += st.st_size;
		close(fd);
	}
	return sum;
}

COSY_FUNCTION static long loop_lseek_read(struct app *shared, long count)
{
	struct app *app = COSY_SHARED(shared);
	long sum = 0;

	while (count--) {
		if (lseek(app->from, count % 64 * DB_RECORD, SEEK_SET) < 0)
			return -errno;
		sum += read(app->from, app->buffer, DB_RECORD);
	}
	return sum;
}

COSY_FUNCTION static long loop_stat(struct app *shared, long count)
{
	struct app *app = COSY_SHARED(shared);
	struct stat st;
	long sum = 0;

	while (count--) {
		if (stat(app->file, &st))
			return -errno;
		sum += st.st_size;
	}
	return sum;
}

/* -- A database: records by number, in no order, some of which are changed ----- */

struct record {
	uint64_t key;
	uint64_t changes;
	char value[DB_RECORD - 16];
};

static uint64_t next(struct app *app)
{
	app->seed = app->seed * 6364136223846793005UL + 1442695040888963407UL;
	return app->seed >> 33;
}

static int has_value(const struct record *record, const char *value)
{
	return !strncmp(record->value, value, sizeof(record->value));
}

COSY_FUNCTION static long loop_database(struct app *shared, long count)
{
	struct app *app = COSY_SHARED(shared);
	struct record *record = (void *)app->buffer;
	long changed = 0;

	while (count--) {
		uint64_t key = next(app) % DB_RECORDS;

		if (lseek(app->database, key * DB_RECORD, SEEK_SET) < 0 ||
		    read(app->database, record, DB_RECORD) != DB_RECORD)
			return -errno;
		if (record->key != key)
			return -EILSEQ;
		if (!has_value(record, app->pattern))
			continue;
		record->changes++;
		changed++;
		if (lseek(app->database, key * DB_RECORD, SEEK_SET) < 0 ||
		    write(app->database, record, DB_RECORD) != DB_RECORD)
			return -errno;
	}
	return changed;
}

/* Reads the same records repeatedly, in order, and changes none. */
COSY_FUNCTION static long loop_database_sequential(struct app *shared, long count)
{
	struct app *app = COSY_SHARED(shared);
	struct record *record = (void *)app->buffer;
	uint64_t key = 0;
	long found = 0;

	while (count--) {
		if (!key && lseek(app->database, 0, SEEK_SET) < 0)
			return -errno;
		if (read(app->database, record, DB_RECORD) != DB_RECORD)
			return -errno;
		if (record->key != key)
			return -EILSEQ;
		found += has_value(record, app->pattern);
		key = (key + 1) % DB_RECORDS;
	}
	return found;
}

/* -- SQLite: the calls of a SELECT by key, a run for each as its page is only known then -- */

#define LOCK_BYTE	0x40000000	/* pending; readers lock the range after the next */
#define LOCK_RANGE	510

static int lock_range(int fd, int type, off_t start, off_t len)
{
	struct flock lock = { .l_type = type, .l_start = start, .l_len = len };

	return fcntl(fd, F_SETLK, &lock);
}

/* SQLite takes a shared lock, looks for journals, and asks whether its pages are still valid. */
COSY_FUNCTION static long begin_select(struct app *shared)
{
	struct app *app = COSY_SHARED(shared);
	int fd = app->database;
	struct stat st;

	if (lock_range(fd, F_RDLCK, LOCK_BYTE, 1) ||
	    lock_range(fd, F_RDLCK, LOCK_BYTE + 2, LOCK_RANGE) ||
	    lock_range(fd, F_UNLCK, LOCK_BYTE, 1))
		return -errno;
	if (!stat(app->journal, &st) || !stat(app->wal, &st))
		return -EBUSY;
	if (pread(fd, app->buffer, 16, 24) != 16 || fstat(fd, &st))
		return -errno;
	return st.st_size;
}

static long loop_select(struct app *app, long count)
{
	long sum = 0, size;

	while (count--) {
		size = begin_select(app);
		if (size < 0)
			return size;
		if (pread(app->database, app->buffer, APP_PAGE, 0) != APP_PAGE ||
		    lock_range(app->database, F_UNLCK, 0, 0))
			return -errno;
		sum += size;
	}
	return sum;
}

/* -- A scanner: lines with a word, in one file after another ------------------- */

static long matches(const char *text, long n, const char *pattern, long len)
{
	long found = 0;

	for (const char *p = text; (p = memchr(p, pattern[0], text + n - p)); p++) {
		if (text + n - p < len)
			break;
		if (!memcmp(p, pattern, len))
			found++;
	}
	return found;
}

COSY_FUNCTION static long loop_scan(struct app *shared, long count)
{
	struct app *app = COSY_SHARED(shared);
	long len = strlen(app->pattern), found = 0, n;

	while (count--) {
		int fd = open(app->text, O_RDONLY);

		if (fd < 0)
			return -errno;
		while ((n = read(fd, app->buffer, sizeof(app->buffer))) > 0)
			found += matches(app->buffer, n, app->pattern, len);
		close(fd);
	}
	return found;
}

/* -- cp -------------------------------------------------------------------------- */

COSY_FUNCTION static long loop_copy(struct app *shared, long count)
{
	struct app *app = COSY_SHARED(shared);
	long all = 0, n;

	while (count--) {
		if (lseek(app->from, 0, SEEK_SET) || lseek(app->to, 0, SEEK_SET))
			return -errno;
		while ((n = read(app->from, app->buffer, APP_PAGE)) > 0) {
			if (write(app->to, app->buffer, n) != n)
				return -errno;
			all += n;
		}
	}
	return all;
}

/* -- du ---------------------------------------------------------------------------- */

struct entry {
	uint64_t ino, off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

static long walk(struct app *app, int at, const char *name, int depth);

static int is_dot(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static long visit(struct app *app, int dir, struct entry *entry, int depth)
{
	struct stat st;

	if (is_dot(entry->name))
		return 0;
	if (fstatat(dir, entry->name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (S_ISDIR(st.st_mode) && depth + 1 < APP_DEPTH)
		return st.st_size + walk(app, dir, entry->name, depth + 1);
	return st.st_size;
}

static long walk(struct app *app, int at, const char *name, int depth)
{
	int dir = openat(at, name, O_RDONLY | O_DIRECTORY);
	long sum = 0, n, i;

	if (dir < 0)
		return 0;
	while ((n = getdents64(dir, app->entries[depth], APP_PAGE)) > 0) {
		struct entry *entry;

		for (i = 0; i < n; i += entry->reclen) {
			entry = (void *)(app->entries[depth] + i);
			sum += visit(app, dir, entry, depth);
		}
	}
	close(dir);
	return sum;
}

COSY_FUNCTION static long loop_usage(struct app *shared, long count)
{
	struct app *app = COSY_SHARED(shared);
	long sum = 0;

	while (count--)
		sum += walk(app, AT_FDCWD, app->tree, 0);
	return sum;
}

app_loop *const APPS[] = {
#define APP(name)	loop_##name,
#include "compound_apps.def"
};
