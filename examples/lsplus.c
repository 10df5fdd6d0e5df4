// SPDX-License-Identifier: MIT
/*
 * A directory's entries with type, permissions, owner, size and time, unsorted:
 * syscript_readdirplus().
 *
 * usage: lsplus [DIRECTORY]
 */
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <syscript.h>
#include <syscript_files.h>
#include <time.h>
#include <unistd.h>

#define WANTED	(STATX_BASIC_STATS & ~(STATX_BLOCKS | STATX_ATIME | STATX_CTIME))

static void print_entry(const struct syscript_dirent *entry)
{
	static const char types[] = "?pc?d?b?-?l?s???", letters[] = "rwxrwxrwx";
	const struct syscript_stat *st = &entry->stat;
	time_t when = st->mtime.tv_sec;
	char mode[11] = "", date[32];

	if (entry->error) {
		printf("?????????? %s: %s\n", entry->name, strerror(-entry->error));
		return;
	}
	mode[0] = types[st->mode >> 12 & 15];
	for (int i = 0; i < 9; i++)
		mode[i + 1] = st->mode & 0400 >> i ? letters[i] : '-';
	strftime(date, sizeof(date), "%F %H:%M", localtime(&when));
	printf("%s %2u %5u %5u %10llu %s %s\n", mode, st->nlink, st->uid, st->gid,
	       (unsigned long long)st->size, date, entry->name);
}

int main(int argc, char **argv)
{
	static char buf[1 << 18] __attribute__((aligned(8)));
	const char *path = argc > 1 ? argv[1] : ".";
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), end = 0;

	if (fd < 0) {
		fprintf(stderr, "lsplus: %s: %m\n", path);
		return 1;
	}
	while (!end) {
		struct syscript_dirent *entry = (void *)buf;
		ssize_t len = syscript_readdirplus(fd, buf, sizeof(buf), WANTED, 0, &end);

		if (len < 0) {
			fprintf(stderr, "lsplus: %s: %s\n", path, syscript_strerror(len));
			return 1;
		}
		for (; (char *)entry < buf + len; entry = syscript_next_dirent(entry))
			print_entry(entry);
	}
	close(fd);
	return 0;
}
