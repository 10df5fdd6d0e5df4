// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The files that the process itself may change, or read, by what it has open or
 * mapped: nothing is answered for these, so it does not matter what is written,
 * mapped or buffered.
 *
 * Which files they are is found out before a fetch only.  Until then an opening is
 * a number, and before the first fetch not even that.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "speedup.h"
#include "sys.h"

#define MAPPED	64

/* By descriptor, 0: it is not open, or was not noted. */
static atomic_ulong opening[FDS];
static atomic_ulong openings;
static atomic_int highest = -1;
static atomic_bool has_begun;
static struct own_file mapped[MAPPED];
static atomic_uint mapped_n;

static void note(int fd)
{
	int known = atomic_load(&highest);

	if (fd >= FDS) {
		speedup_stop();
		return;
	}
	atomic_store(&opening[fd], atomic_fetch_add(&openings, 1) + 1);
	while (known < fd && !atomic_compare_exchange_weak(&highest, &known, fd))
		;
}

void own_files_opened(int fd, int flags)
{
	if (fd >= 0 && !(flags & (O_DIRECTORY | O_PATH)) && atomic_load(&has_begun))
		note(fd);
}

void own_files_copied(int from, int to)
{
	if (from >= 0 && from < FDS && atomic_load(&opening[from]) && to >= 0)
		note(to);
}

void own_files_closing(int fd)
{
	atomic_store(&opening[fd], 0);
}

void own_files_mapped(int fd)
{
	struct stat st;
	unsigned int n;

	if (!speedup_active() || (sys_call(fcntl, fd, F_GETFL) & O_ACCMODE) != O_RDWR ||
	    sys_call(fstat, fd, &st) || !S_ISREG(st.st_mode))
		return;
	n = atomic_fetch_add(&mapped_n, 1);
	if (n < MAPPED)
		mapped[n] = (struct own_file){ st.st_dev, st.st_ino };
	else
		speedup_stop();
}

/* What was opened before the first fetch, by the process or for it. */
static void note_all(void)
{
	_Alignas(struct dirent64) char room[2048];
	int dir = sys_call(open, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long n;

	if (dir < 0)
		speedup_stop();
	while ((n = sys_call(getdents64, dir, room, sizeof(room))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(room + at);
			int fd = atoi(entry->d_name);

			if (*entry->d_name != '.' && fd != dir)
				note(fd);
			at += entry->d_reclen;
		}
	}
	sys_call(close, dir);
}

static void look_at(struct own_opening *seen, int fd, unsigned long number)
{
	struct stat st;

	seen->is_file = !sys_call(fstat, fd, &st) && S_ISREG(st.st_mode);
	seen->file = (struct own_file){ st.st_dev, st.st_ino };
	seen->number = number;
}

bool own_files_look(struct own_files *files)
{
	files->n = 0;
	if (!atomic_exchange(&has_begun, true))
		note_all();
	for (int fd = 0; fd <= atomic_load(&highest); fd++) {
		unsigned long number = atomic_load(&opening[fd]);
		struct own_opening *seen = &files->seen[fd];

		if (!number)
			continue;
		if (seen->number != number)
			look_at(seen, fd, number);
		if (seen->is_file && files->n == OWN_FILES)
			return false;
		if (seen->is_file)
			files->list[files->n++] = seen->file;
	}
	for (unsigned int i = atomic_load(&mapped_n); i--;) {
		if (files->n == OWN_FILES)
			return false;
		files->list[files->n++] = mapped[i];
	}
	return speedup_active();
}
