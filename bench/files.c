// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The library's functions for files and directories, compared with plain calls in good C and with
 * ls, du and find.
 *
 * usage: files ROUNDS DIRECTORY... [PROBE]
 *
 * Creates its files in each DIRECTORY, which is empty at first, unless they exist. Writes JSON: for
 * each DIRECTORY, in each round, every probe's ns of elapsed and of CPU time for one run, and its
 * number of runs. With FILES_ONLY=script in the environment, only the library's probes run.
 *
 * With the start of probes' names it runs only those, each between marks of vm/profile.
 */
#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <syscript.h>
#include <syscript_files.h>

#include "../vm/profile/mark.h"
#include "measure.h"
#include "uring.h"

#define CPU		1
#define FILES		100		/* per call of a batch function */
#define FILE_SIZE	1024
#define ROOM		4096
#define WIDTH		20		/* the tree: WIDTH * WIDTH directories */
#define LEAVES		50		/* files in each */
#define BUFFER		(256 << 10)
#define WARM_UP		2
#define DU_COLUMNS	"columns = { 'blocks' } sum = function(e, i) return e.blocks[i] end"

static char base[4096];			/* the DIRECTORY */
static char *paths[FILES];
static char rooms[FILES][ROOM];
static struct stat stats[FILES];
static struct syscript_stat sc_stats[FILES];
static struct syscript_file files[FILES];
static struct uring_read reads[FILES];
static char raw[32768], *buffer;
static int dir;				/* directory of the files, for relative names */
static int64_t seen;			/* a probe's checksum, to be compared */

static void check(long ret, const char *what)
{
	if (ret < 0)
		measure_die("%s: %s", what, syscript_strerror(ret));
}

/* -- Directories ----------------------------------------------------------- */

static const char *numbered(int n)
{
	static char name[sizeof(base) + 16];

	snprintf(name, sizeof(name), "%s/n%d", base, n);
	return name;
}

static int is_dot(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static void dir_plain(int n)
{
	int fd = open(numbered(n), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	long len;

	while ((len = syscall(SYS_getdents64, fd, raw, sizeof(raw))) > 0) {
		for (char *p = raw; p < raw + len;) {
			struct dirent64 *d = (void *)p;

			p += d->d_reclen;
			if (is_dot(d->d_name))
				continue;
			if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW))
				measure_die("%s: %m", d->d_name);
			seen += st.st_size;
		}
	}
	close(fd);
}

static void add_sizes(ssize_t len)
{
	check(len, "syscript_readdirplus");
	for (char *p = buffer; p < buffer + len;) {
		struct syscript_dirent *d = (void *)p;

		p += d->reclen;
		check(d->error, d->name);
		seen += d->stat.size;
	}
}

static void dir_script(int n)
{
	int fd, end = 0;

	add_sizes(syscript_opendirplus(AT_FDCWD, numbered(n), buffer, BUFFER,
				       STATX_BASIC_STATS, 0, &fd));
	if (fd < 0)
		return;
	while (!end)
		add_sizes(syscript_readdirplus(fd, buffer, BUFFER, STATX_BASIC_STATS, 0, &end));
	close(fd);
}

/* -- Trees ----------------------------------------------------------------- */

static char *tree(void)
{
	static char name[sizeof(base) + 8];

	snprintf(name, sizeof(name), "%s/tree", base);
	return name;
}

static int add_blocks(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)path, (void)type;
	if (at->level)
		seen += st->st_blocks;
	return 0;
}

static void walk_nftw(int n)
{
	(void)n;
	if (nftw(tree(), add_blocks, 20, FTW_PHYS))
		measure_die("nftw: %m");
}

static void walk_fts(int n)
{
	char *const tops[] = { tree(), NULL };
	FTS *fts = fts_open(tops, FTS_PHYSICAL, NULL);
	FTSENT *entry;

	(void)n;
	while ((entry = fts_read(fts)))
		if (entry->fts_info != FTS_DP && entry->fts_level > 0)
			seen += entry->fts_statp->st_blocks;
	fts_close(fts);
}

static void add_sums(struct syscript_walk *walk)
{
	struct syscript_walk_sums sums;

	check(syscript_walk_next(walk, NULL, 0, &sums), "syscript_walk_next");
	seen += sums.sum;
}

static void walk_script(int n)
{
	int fd = open(tree(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct syscript_walk *walk;

	(void)n;
	check(syscript_walk_open(&walk, fd, DU_COLUMNS, 0, NULL, 0), "syscript_walk_open");
	add_sums(walk);
	syscript_walk_close(walk);
	close(fd);
}

/* Like a program that walks many trees: its functions are compiled already. */
static void walk_again(int n)
{
	int fd = open(tree(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	static struct syscript_walk *walk;

	(void)n;
	if (walk)
		check(syscript_walk_restart(walk, fd), "syscript_walk_restart");
	else
		check(syscript_walk_open(&walk, fd, DU_COLUMNS, 0, NULL, 0), "syscript_walk_open");
	add_sums(walk);
	close(fd);
}

/* -- Files ----------------------------------------------------------------- */

/* A relative name is the part after the last slash. */
static const char *name_of(int i, int relative)
{
	return relative ? strrchr(paths[i], '/') + 1 : paths[i];
}

static void read_plain(int relative)
{
	for (int i = 0; i < FILES; i++) {
		int fd = openat(dir, name_of(i, relative), O_RDONLY | O_CLOEXEC);

		seen += read(fd, rooms[i], ROOM);
		close(fd);
	}
}

static void batch(int relative, const void *data, size_t step, size_t size)
{
	for (int i = 0; i < FILES; i++)
		files[i] = (struct syscript_file){
			(uintptr_t)name_of(i, relative), (uintptr_t)data + i * step, size, 0,
		};
}

static void batch_done(int err, const char *what)
{
	check(err, what);
	for (int i = 0; i < FILES; i++)
		check(files[i].result, what);
}

static void read_script(int relative)
{
	batch(relative, rooms, ROOM, ROOM);
	batch_done(syscript_read_many(dir, files, FILES, 0), "syscript_read_many");
	for (int i = 0; i < FILES; i++)
		seen += files[i].result;
}

static void read_uring(int relative)
{
	for (int i = 0; i < FILES; i++)
		reads[i] = (struct uring_read){ name_of(i, relative), rooms[i], ROOM, 0 };
	uring_read_files(dir, reads, FILES);
	for (int i = 0; i < FILES; i++)
		seen += reads[i].result;
}

/* One after the other: open, read, close. */
static void one_plain(int relative)
{
	for (int i = 0; i < FILES; i++) {
		int fd = openat(dir, name_of(i, relative), O_RDONLY | O_CLOEXEC);
		ssize_t n;

		for (size_t at = 0; (n = read(fd, rooms[i] + at, ROOM - at)) > 0; at += n)
			seen += n;
		close(fd);
	}
}

static void one_script(int relative)
{
	for (int i = 0; i < FILES; i++)
		seen += syscript_open_read_close(dir, name_of(i, relative), rooms[i], ROOM, NULL);
}

static void write_plain(int relative)
{
	for (int i = 0; i < FILES; i++) {
		int fd = openat(dir, name_of(i, relative),
				O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

		seen += write(fd, rooms[0], FILE_SIZE);
		close(fd);
	}
}

static void write_script(int relative)
{
	batch(relative, rooms[0], 0, FILE_SIZE);
	batch_done(syscript_write_many(dir, files, FILES, O_CREAT | O_TRUNC, 0644),
		   "syscript_write_many");
	for (int i = 0; i < FILES; i++)
		seen += files[i].result;
}

static void open_plain(int relative)
{
	for (int i = 0; i < FILES; i++) {
		files[i].result = openat(dir, name_of(i, relative), O_RDONLY | O_CLOEXEC);
		if (fstat(files[i].result, &stats[i]))
			measure_die("%s: %m", paths[i]);
		seen += stats[i].st_size;
	}
}

static void open_script(int relative)
{
	batch(relative, sc_stats, sizeof(*sc_stats), 0);
	batch_done(syscript_open_many(dir, files, FILES, O_RDONLY | O_CLOEXEC, 0,
				      STATX_BASIC_STATS), "syscript_open_many");
	for (int i = 0; i < FILES; i++)
		seen += sc_stats[i].size;
}

/* Not timed: the caller wanted the descriptors. */
static void close_files(void)
{
	for (int i = 0; i < FILES; i++)
		close(files[i].result);
}

static void stat_plain(int relative)
{
	for (int i = 0; i < FILES; i++) {
		if (fstatat(dir, name_of(i, relative), &stats[i], 0))
			measure_die("%s: %m", paths[i]);
		seen += stats[i].st_size;
	}
}

static void stat_script(int relative)
{
	batch(relative, sc_stats, sizeof(*sc_stats), 0);
	batch_done(syscript_stat_many(dir, files, FILES, STATX_BASIC_STATS, 0),
		   "syscript_stat_many");
	for (int i = 0; i < FILES; i++)
		seen += sc_stats[i].size;
}

/* -- Other people's -------------------------------------------------------- */

static void spawn(char *const argv[])
{
	extern char **environ;
	posix_spawn_file_actions_t to_null;
	pid_t pid;
	int status;

	posix_spawn_file_actions_init(&to_null);
	posix_spawn_file_actions_addopen(&to_null, 1, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &to_null, NULL, argv, environ))
		measure_die("%s does not start", argv[0]);
	if (waitpid(pid, &status, 0) != pid || status)
		measure_die("%s failed", argv[0]);
	posix_spawn_file_actions_destroy(&to_null);
}

static void run_ls(int n)
{
	spawn((char *const []){ "ls", "-l", (char *)numbered(n), NULL });
}

static void run_du(int n)
{
	(void)n;
	spawn((char *const []){ "du", "-s", tree(), NULL });
}

static void run_find(int n)
{
	(void)n;
	spawn((char *const []){ "find", tree(), "-size", "+1000000", NULL });
}

/* -- Probes ---------------------------------------------------------------- */

#define PROBE(probe_name, function, argument, count, ...)		\
	{ .name = probe_name, .run = function, .arg = argument, .times = count, __VA_ARGS__ }

static const struct probe {
	const char *name;
	void (*run)(int arg);
	int arg, times;
	void (*after)(void);
	int unlike;			/* its checksum differs from the others' */
	int switches;			/* mode switches, if known */
} probes[] = {
	PROBE("readdirplus.n10 plain", dir_plain, 10, 100),
	PROBE("readdirplus.n10 script", dir_script, 10, 100),
	PROBE("readdirplus.n100 plain", dir_plain, 100, 10),
	PROBE("readdirplus.n100 script", dir_script, 100, 10),
	PROBE("readdirplus.n1000 plain", dir_plain, 1000, 2),
	PROBE("readdirplus.n1000 script", dir_script, 1000, 2),
	PROBE("readdirplus.n10000 plain", dir_plain, 10000, 1),
	PROBE("readdirplus.n10000 script", dir_script, 10000, 1),
	PROBE("readdirplus.n100000 plain", dir_plain, 100000, 1),
	PROBE("readdirplus.n100000 script", dir_script, 100000, 1),
	PROBE("walk nftw", walk_nftw, 0, 1),
	PROBE("walk fts", walk_fts, 0, 1),
	PROBE("walk script", walk_script, 0, 1),
	PROBE("walk again", walk_again, 0, 1),
	PROBE("open_read_close plain", read_plain, 0, 4, .switches = 3 * FILES),
	PROBE("open_read_close script", read_script, 0, 4, .switches = 1),
	PROBE("open_read_close io_uring", read_uring, 0, 4),
	PROBE("open_read_close.at plain", read_plain, 1, 4, .switches = 3 * FILES),
	PROBE("open_read_close.at script", read_script, 1, 4, .switches = 1),
	PROBE("open_read_close.at io_uring", read_uring, 1, 4),
	PROBE("one_file plain", one_plain, 0, 4, .switches = 4 * FILES),
	PROBE("one_file script", one_script, 0, 4, .switches = FILES),
	PROBE("open_write_close plain", write_plain, 0, 2, .switches = 3 * FILES),
	PROBE("open_write_close script", write_script, 0, 2, .switches = 1),
	PROBE("open_write_close.at plain", write_plain, 1, 2, .switches = 3 * FILES),
	PROBE("open_write_close.at script", write_script, 1, 2, .switches = 1),
	PROBE("open_fstat plain", open_plain, 0, 1, .after = close_files, .switches = 2 * FILES),
	PROBE("open_fstat script", open_script, 0, 1, .after = close_files, .switches = 1),
	PROBE("open_fstat.at plain", open_plain, 1, 1, .after = close_files, .switches = 2 * FILES),
	PROBE("open_fstat.at script", open_script, 1, 1, .after = close_files, .switches = 1),
	PROBE("stat_many plain", stat_plain, 0, 6, .switches = FILES),
	PROBE("stat_many script", stat_script, 0, 6, .switches = 1),
	PROBE("stat_many.at plain", stat_plain, 1, 6, .switches = FILES),
	PROBE("stat_many.at script", stat_script, 1, 6, .switches = 1),
	PROBE("ls -l of 1000", run_ls, 1000, 1, .unlike = 1),
	PROBE("du -s of the tree", run_du, 0, 1, .unlike = 1),
	PROBE("find in the tree", run_find, 0, 1, .unlike = 1),
};
#undef PROBE
#define PROBES	(sizeof(probes) / sizeof(*probes))

static int no_uring, only_script;
static const char *only;

static int is_script(const struct probe *probe)
{
	return strstr(probe->name, " script") || probe->run == walk_again;
}

static int begins(const struct probe *probe, const char *text)
{
	return !strncmp(probe->name, text, strlen(text));
}

static int left_out(const struct probe *probe)
{
	return (probe->run == read_uring && no_uring) || (only_script && !is_script(probe)) ||
	       (only && !begins(probe, only));
}

static int starts_a_name(const char *text)
{
	for (size_t i = 0; i < PROBES; i++)
		if (begins(&probes[i], text))
			return 1;
	return 0;
}

/* Whether a probe that runs uses the directory of @n files. */
static int uses_numbered(int n)
{
	for (size_t i = 0; i < PROBES; i++)
		if (!left_out(&probes[i]) && probes[i].arg == n)
			return 1;
	return !only;
}

static int uses_tree(void)
{
	for (size_t i = 0; i < PROBES; i++)
		if (!left_out(&probes[i]) && (strstr(probes[i].name, "walk") || probes[i].unlike))
			return 1;
	return !only;
}

static uint64_t cpu_time(void)
{
	struct rusage children;
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	getrusage(RUSAGE_CHILDREN, &children);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec +
	       (children.ru_utime.tv_sec + children.ru_stime.tv_sec) * 1000000000ULL +
	       (children.ru_utime.tv_usec + children.ru_stime.tv_usec) * 1000ULL;
}

struct sample {
	double ns, cpu;
	int64_t seen;
};

static struct sample measure(const struct probe *probe, int marked)
{
	uint64_t cpu = cpu_time(), start = measure_now();
	struct sample sample;

	seen = 0;
	if (marked)
		mark_begin();
	for (int i = 0; i < probe->times; i++)
		probe->run(probe->arg);
	if (marked)
		mark_end();
	sample.ns = (double)(measure_now() - start) / probe->times;
	sample.cpu = (double)(cpu_time() - cpu) / probe->times;
	sample.seen = seen;
	if (probe->after)
		probe->after();
	return sample;
}

/* All probes of one key must have the same checksum. */
static void compare(const struct sample *samples)
{
	for (size_t i = 1; i < PROBES; i++) {
		size_t key = strcspn(probes[i].name, " ");

		if (probes[i].unlike || left_out(&probes[i]) || left_out(&probes[i - 1]) ||
		    strncmp(probes[i].name, probes[i - 1].name, key + 1))
			continue;
		if (samples[i].seen != samples[i - 1].seen)
			measure_die("%s saw %" PRId64 ", %s %" PRId64, probes[i].name,
				    samples[i].seen, probes[i - 1].name, samples[i - 1].seen);
	}
}

/* The @k-th probe of a round: the order changes. */
static size_t in_order(int round, size_t k)
{
	size_t i = (k + round * 7) % PROBES;

	return round & 1 ? i : PROBES - 1 - i;
}

/* Written in the order in which they ran, which is that of their marks. */
static void one_round(int round, int shown)
{
	struct sample samples[PROBES] = { 0 };
	const char *comma = "";

	for (size_t k = 0; k < PROBES; k++) {
		size_t i = in_order(round, k);

		if (!left_out(&probes[i]))
			samples[i] = measure(&probes[i], only && shown);
	}
	compare(samples);
	if (!shown)
		return;
	printf("%s{", round == WARM_UP ? "" : ",\n");
	for (size_t k = 0; k < PROBES; k++) {
		size_t i = in_order(round, k);

		if (left_out(&probes[i]))
			continue;
		printf("%s\"%s\": [%.0f, %.0f, %d]", comma, probes[i].name, samples[i].ns,
		       samples[i].cpu, probes[i].times);
		comma = ", ";
	}
	printf("}");
}

/* -- The files ------------------------------------------------------------- */

static void make_file(const char *name, size_t size)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);

	if (fd < 0 || write(fd, rooms[0], size) != (ssize_t)size)
		measure_die("%s: %m", name);
	close(fd);
}

static void make_dir(const char *name)
{
	if (mkdir(name, 0755))
		measure_die("%s: %m", name);
}

static void make_numbered(int n)
{
	char name[64];

	if (!uses_numbered(n))
		return;
	snprintf(name, sizeof(name), "n%d", n);
	make_dir(name);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "n%d/file-%d.txt", n, i);
		/* A file that is not empty takes a page of memory. */
		make_file(name, i % 50 ? 0 : 3);
	}
}

static void make_tree(void)
{
	char name[64];

	make_dir("tree");
	for (int i = 0; i < WIDTH * WIDTH; i++) {
		snprintf(name, sizeof(name), "tree/%d", i / WIDTH);
		if (i % WIDTH == 0)
			make_dir(name);
		snprintf(name, sizeof(name), "tree/%d/%d", i / WIDTH, i % WIDTH);
		make_dir(name);
		for (int k = 0; k < LEAVES; k++) {
			snprintf(name, sizeof(name), "tree/%d/%d/file-%d", i / WIDTH, i % WIDTH, k);
			make_file(name, k % 10 ? 0 : k);
		}
	}
}

static void make_directories(void)
{
	make_numbered(10);
	make_numbered(100);
	make_numbered(1000);
	make_numbered(10000);
	make_numbered(100000);
	if (uses_tree())
		make_tree();
	make_dir("files");
}

static void make_files(void)
{
	if (chdir(base))
		measure_die("%s: %m", base);
	if (access("files", F_OK))
		make_directories();
	for (int i = 0; i < FILES; i++) {
		free(paths[i]);
		if (asprintf(&paths[i], "%s/files/file-%d", base, i) < 0)
			measure_die("no memory");
		make_file(paths[i], FILE_SIZE);
	}
	dir = open("files", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void measure_in(const char *path, int rounds)
{
	if (!realpath(path, base))
		measure_die("%s: %m", path);
	make_files();
	printf("\"%s\": [", strrchr(base, '/') + 1);
	for (int round = 0; round < rounds + WARM_UP; round++)
		one_round(round, round >= WARM_UP);
	printf("]");
	close(dir);
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[1]) : 0;

	only = argc > 3 && starts_a_name(argv[argc - 1]) ? argv[argc - 1] : NULL;
	argc -= !!only;
	if (rounds < 1) {
		fprintf(stderr, "usage: files ROUNDS DIRECTORY... [PROBE]\n");
		return 2;
	}
	measure_pin(CPU);
	buffer = malloc(BUFFER);
	memset(buffer, 0, BUFFER);
	only_script = getenv("FILES_ONLY") && !strcmp(getenv("FILES_ONLY"), "script");
	no_uring = !uring_init(FILES);
	printf("{\"kernel\": \"%s\", \"accel\": \"%s\", \"io_uring\": %s, \"switches\": {",
	       measure_kernel(), measure_accel(), no_uring ? "false" : "true");
	for (size_t i = 0, n = 0; i < PROBES; i++)
		if (probes[i].switches)
			printf("%s\"%s\": %d", n++ ? ", " : "", probes[i].name, probes[i].switches);
	printf("}, \"rounds\": {");
	for (int i = 2; i < argc; i++) {
		printf("%s", i > 2 ? "," : "");
		measure_in(argv[i], rounds);
	}
	printf("}}\n");
	return 0;
}
