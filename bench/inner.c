// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Measures system calls inside a script of either engine or a compound, and outside: those of
 * inner.def, and calling an empty script compared with an ioctl(2) that does nothing.
 *
 * usage: inner ROUNDS [only PROBE...]
 *        inner PROBE WAY COUNT
 *
 * INNER_THREADS=N in the environment: with this many other, sleeping threads.
 *
 * Writes JSON: in each round every probe once in every variant, in ns per step; or makes COUNT
 * steps of one variant, between marks for `make profile-icount`.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "../vm/profile/mark.h"
#include "inner_compound.h"
#include "measure.h"
#include "order.h"
#include "source.h"

#define SAMPLE_NS	4000000ULL	/* at least */
#define TIME_LIMIT	10000000000ULL
#define WARM_UP		1000		/* steps until everything is compiled */
/*
 * An empty run() cannot be compiled, and LuaJIT tries again after twice as many calls each time:
 * after these calls, rarely enough.
 */
#define WARM_UP_EMPTY	40000
#define CPU		1
/* Time after which deferred work is done: releases after an RCU grace period. */
#define SETTLE_US	60000
#define PAGE		4096
#define SOME		128		/* bytes to send */
#define FILES		16		/* in the directory */
#define POLLED		64
#define HOLES		32

/* Arguments of a probe's calls, and their last result. */
struct values {
	long a, b, c, d, p, q;
	long expected;
};

enum way { OUTSIDE, JIT, INTERP, CONFINED, COMPOUND, WAYS };

/* LuaJIT in the kernel, and cosy-cc for programs, are for x86-64. */
static bool has_way(enum way way)
{
#ifdef __x86_64__
	return way < WAYS;
#else
	return way == OUTSIDE || way == CONFINED;
#endif
}

static const char *const way_names[WAYS] = {
	"outside", "inside_jit", "inside_interp", "inside_confined", "inside_compound",
};

struct probe {
	const char *name;
	void (*prepare)(struct values *v);
	long (*outside)(const struct values *v, uint64_t count);
	const char *locals, *body;	/* parts of the Lua loop; NULL: an empty script */
	struct values v;
	uint64_t count;			/* steps in a sample */
	bool excluded;
};

/* -- Files and buffers of the calls ------------------------------------------ */

static char buffer[PAGE];

static long check(const char *what, long ret)
{
	if (ret < 0)
		measure_die("%s: %m", what);
	return ret;
}

/* A file of one page, in a private directory. */
static void prepare_file(struct values *v)
{
	v->a = check("file", open("file", O_RDWR | O_CREAT, 0600));
	check("file", pwrite(v->a, buffer, PAGE, 0));
	v->p = (long)buffer;
}

static void prepare_file_byte(struct values *v)
{
	prepare_file(v);
	v->expected = 1;
}

static void prepare_file_page(struct values *v)
{
	prepare_file(v);
	v->expected = PAGE;
}

static void prepare_file_flags(struct values *v)
{
	prepare_file(v);
	v->expected = check("fcntl", fcntl(v->a, F_GETFL));
}

static void prepare_path(struct values *v)
{
	prepare_file(v);
	v->q = (long)"file";
}

static void prepare_path_page(struct values *v)
{
	prepare_path(v);
	v->expected = PAGE;
}

static void prepare_link(struct values *v)
{
	check("link", symlink("file", "link"));
	v->p = (long)buffer;
	v->q = (long)"link";
	v->expected = strlen("file");
}

static void prepare_directory(struct values *v)
{
	char name[] = "file00";

	check("directory", mkdir("directory", 0700));
	v->a = check("directory", open("directory", O_RDONLY | O_DIRECTORY));
	for (int i = 0; i < FILES; i++) {
		name[strlen("file0")] = 'a' + i;
		close(check(name, openat(v->a, name, O_WRONLY | O_CREAT, 0600)));
	}
	v->p = (long)buffer;
	v->expected = check("getdents64", syscall(SYS_getdents64, v->a, buffer, PAGE));
}

static void prepare_getppid(struct values *v)
{
	v->expected = getppid();
}

static void prepare_device(struct values *v, const char *path, long expected)
{
	v->a = check(path, open(path, O_RDWR));
	v->p = (long)buffer;
	v->expected = expected;
}

static void prepare_null(struct values *v)
{
	prepare_device(v, "/dev/null", 1);
}

static void prepare_zero(struct values *v)
{
	prepare_device(v, "/dev/zero", 1);
}

static void prepare_pipe(struct values *v)
{
	int ends[2];

	check("pipe", pipe(ends));
	v->a = ends[0];
	v->b = ends[1];
	v->p = (long)buffer;
	v->expected = SOME;
}

static void prepare_splice(struct values *v)
{
	prepare_pipe(v);
	v->c = check("/dev/null", open("/dev/null", O_WRONLY));
}

static void prepare_sendfile(struct values *v)
{
	prepare_file(v);
	v->b = v->a;
	v->a = check("/dev/null", open("/dev/null", O_WRONLY));
	v->expected = PAGE;
}

/* Watches an eventfd that never becomes readable. */
static void prepare_epoll(struct values *v)
{
	struct epoll_event event = { .events = EPOLLIN };

	v->a = check("epoll", epoll_create1(0));
	check("epoll", epoll_ctl(v->a, EPOLL_CTL_ADD, check("eventfd", eventfd(0, 0)), &event));
	v->p = (long)buffer;
}

static void prepare_poll(struct values *v)
{
	static const struct timespec no_time;
	static struct pollfd fds[POLLED];

	for (int i = 0; i < POLLED; i++) {
		fds[i].fd = check("eventfd", eventfd(0, 0));
		fds[i].events = POLLIN;
	}
	v->p = (long)fds;
	v->q = (long)&no_time;
}

/*
 * Mappings go to the highest hole, and merge with adjacent ones of their kind. Scripts' own
 * mappings must not change that: the holes above others are filled, and below these are some of a
 * page each.
 */
static void prepare_holes(struct values *v)
{
	char *end = NULL;

	(void)v;
	for (int i = 0; i < 4 * HOLES; i++) {
		end = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (end == MAP_FAILED)
			measure_die("mmap: %m");
	}
	for (int i = 1; i < 2 * HOLES; i += 2)
		check("munmap", munmap(end + i * PAGE, PAGE));
}

static void prepare_timerfd(struct values *v)
{
	v->a = check("timerfd", timerfd_create(CLOCK_MONOTONIC, 0));
	v->p = (long)buffer;
}

static void prepare_eventfd(struct values *v)
{
	static uint64_t value = 1;

	v->a = check("eventfd", eventfd(0, 0));
	v->p = (long)&value;
	v->expected = sizeof(value);
}

static void prepare_unix(struct values *v)
{
	int ends[2];

	check("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	v->a = ends[0];
	v->b = ends[1];
	v->p = (long)buffer;
	v->expected = SOME;
}

/* A socket bound to a port of the loopback device. */
static int bound(int type, struct sockaddr_in *name)
{
	socklen_t len = sizeof(*name);
	int sock = check("socket", socket(AF_INET, type, 0));

	memset(name, 0, sizeof(*name));
	name->sin_family = AF_INET;
	name->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check("bind", bind(sock, (struct sockaddr *)name, sizeof(*name)));
	check("getsockname", getsockname(sock, (struct sockaddr *)name, &len));
	return sock;
}

/* Sends to itself. */
static void prepare_udp(struct values *v)
{
	struct sockaddr_in *name = malloc(sizeof(*name));

	if (!name)
		measure_die("no memory");
	v->a = bound(SOCK_DGRAM, name);
	v->p = (long)buffer;
	v->q = (long)name;
	v->expected = SOME;
}

static void prepare_udp_eagain(struct values *v)
{
	prepare_udp(v);
	v->expected = -EAGAIN;
}

static void prepare_getsockname(struct values *v)
{
	static socklen_t len = sizeof(struct sockaddr_in);

	prepare_udp(v);
	v->q = (long)&len;
	v->expected = 0;
}

static void prepare_listener(struct values *v)
{
	struct sockaddr_in name;

	v->a = bound(SOCK_STREAM | SOCK_NONBLOCK, &name);
	check("listen", listen(v->a, 1));
	v->expected = -EAGAIN;
}

static void prepare_tcp(struct values *v)
{
	struct sockaddr_in name;
	int listener = bound(SOCK_STREAM, &name);

	check("listen", listen(listener, 1));
	v->a = check("socket", socket(AF_INET, SOCK_STREAM, 0));
	check("connect", connect(v->a, (struct sockaddr *)&name, sizeof(name)));
	v->b = check("accept", accept(listener, NULL, NULL));
	v->p = (long)buffer;
	v->expected = SOME;
}

/* -- Outside ------------------------------------------------------------------ */

#define CALL(result, name, ...)	result = syscall(SYS_##name, ##__VA_ARGS__)
#define PROBE(name, prepare, calls)						\
	static long outside_##name(const struct values *v, uint64_t count)	\
	{									\
		const long a = v->a, b = v->b, c = v->c, d = v->d, p = v->p, q = v->q; \
		long x = 0, r = 0;						\
										\
		(void)a, (void)b, (void)c, (void)d, (void)p, (void)q, (void)x;	\
		while (count--) {						\
			calls;							\
		}								\
		return r < 0 ? -errno : r;					\
	}
#include "inner.def"

static long outside_empty(const struct values *v, uint64_t count)
{
	long r = 0;

	while (count--)
		r = ioctl(v->a, _IO(0, 0));
	return r < 0 && errno == ENOTTY ? 0 : -EPROTO;
}

/* -- Inside ------------------------------------------------------------------- */

#define TEXT(...)		#__VA_ARGS__
#define EXPANDED(...)		TEXT(__VA_ARGS__)

static struct probe probes[] = {
#define CALL(result, name, ...)	local name = syscall.name
#define PROBE(name, prepare, calls)	\
	{ #name, prepare, outside_##name, EXPANDED(calls), NULL, { 0 }, 0, false },
#include "inner.def"
	{ "empty", NULL, outside_empty, NULL, NULL, { 0 }, 0, false },
};

#define PROBES	(sizeof(probes) / sizeof(probes[0]))

static const char *const bodies[PROBES] = {
#define CALL(result, name, ...)	result = name(__VA_ARGS__)
#define PROBE(name, prepare, calls)	EXPANDED(calls),
#include "inner.def"
};

static int registered(const struct probe *probe, enum way way)
{
	char text[1024] = "function run() end";
	struct source source = { probe->name, text, 0 };

	if (probe->body)
		snprintf(text, sizeof(text),
			 "%s\n"
			 "function run(n, a, b, c, d, p, q)\n"
			 "  local x, r\n"
			 "  for i = 1, n do %s end\n"
			 "  return r\n"
			 "end\n",
			 probe->locals, probe->body);
	source.len = strlen(text);
	setenv("SYSCRIPT_ENGINE", way == CONFINED ? "confined" : "luajit", 1);
	return source_register(&source, SYSCRIPT_BACKEND_KERNEL,
			       way == INTERP ? SYSCRIPT_NOJIT : 0, 0, TIME_LIMIT);
}

static long inside(const struct probe *probe, int fd, uint64_t count)
{
	const struct values *v = &probe->v;
	long r = 0;

	if (probe->body)
		return lua_syscall(fd, 7, count, v->a, v->b, v->c, v->d, v->p, v->q);
	while (count-- && !r)
		r = lua_syscall(fd, 0);
	return r;
}

static long compound(const struct probe *probe, uint64_t count)
{
#ifdef __x86_64__
	const struct values *v = &probe->v;

	return inner_compounds[probe - probes](count, v->a, v->b, v->c, v->d, v->p, v->q);
#else
	measure_die("%s: no compound of %" PRIu64 " steps", probe->name, count);
	return 0;
#endif
}

/* Checks that the compiled variant is compiled, and the other is not. */
static void check_compiled(const struct probe *probe, int fd, enum way way)
{
	struct syscript_info info = { 0 };
	int ret = syscript_info(fd, &info);

	if (ret)
		measure_die("%s: %s", probe->name, syscript_strerror(ret));
	if (probe->body && way != CONFINED && !!info.counters[0].value != (way == JIT))
		measure_die("%s, %s: %" PRIu64 " compiled traces", probe->name, way_names[way],
			    (uint64_t)info.counters[0].value);
}

/* -- Measuring ---------------------------------------------------------------- */

static void check_result(const struct probe *probe, enum way way, long ret)
{
	if (ret != probe->v.expected)
		measure_die("%s, %s: got %ld (%s), not %ld", probe->name, way_names[way], ret,
			    ret < 0 ? syscript_strerror(ret) : "a result", probe->v.expected);
}

static uint64_t timed(const struct probe *probe, enum way way, int fd, uint64_t count)
{
	uint64_t start = measure_now(), took;
	long ret;

	mark_begin();
	if (way == OUTSIDE)
		ret = probe->outside(&probe->v, count);
	else if (way == COMPOUND)
		ret = compound(probe, count);
	else
		ret = inside(probe, fd, count);
	mark_end();
	took = measure_now() - start;
	check_result(probe, way, ret);
	return took;
}

/* Deferred work of the calls before would count. */
static uint64_t timed_alone(const struct probe *probe, enum way way, int fd, uint64_t count)
{
	usleep(SETTLE_US);
	return timed(probe, way, fd, count);
}

static uint64_t sample(const struct probe *probe, enum way way, uint64_t count)
{
	uint64_t took;
	int fd;

	if (way == OUTSIDE)
		return timed_alone(probe, way, -1, count);
	if (way == COMPOUND) {
		check_result(probe, way, compound(probe, WARM_UP));
		return timed_alone(probe, way, -1, count);
	}
	fd = registered(probe, way);
	check_result(probe, way, inside(probe, fd, probe->body ? WARM_UP : WARM_UP_EMPTY));
	check_compiled(probe, fd, way);
	took = timed_alone(probe, way, fd, count);
	syscript_close(fd);
	return took;
}

static uint64_t sample_outside(void *of, uint64_t count)
{
	return timed(of, OUTSIDE, -1, count);
}

static void prepare(struct probe *probe)
{
	probe->body = bodies[probe - probes];
	if (probe->prepare) {
		probe->prepare(&probe->v);
		return;
	}
	probe->v.a = check("/dev/null", open("/dev/null", O_RDWR));
}

static void measure_round(unsigned int round)
{
	const char *separator = "";
	double ns[PROBES][WAYS];

	for (size_t i = 0; i < PROBES * WAYS; i++) {
		size_t at = order_at(i, PROBES * WAYS, round);
		const struct probe *probe = &probes[at / WAYS];

		if (probe->excluded || !has_way(at % WAYS))
			continue;
		ns[at / WAYS][at % WAYS] =
			(double)sample(probe, at % WAYS, probe->count) / probe->count;
	}
	printf("%s\n    {", round ? "," : "");
	for (size_t i = 0; i < PROBES; i++) {
		if (probes[i].excluded)
			continue;
		printf("%s\"%s\": {", separator, probes[i].name);
		separator = ", ";
		for (int way = 0; way < WAYS; way++)
			if (has_way(way))
				printf("%s\"%s\": %.6g", way ? ", " : "", way_names[way],
				       ns[i][way]);
		printf("}");
	}
	printf("}");
}

/* System calls per step; 0 for the empty call. */
static unsigned int calls_of(const struct probe *probe)
{
	unsigned int calls = 0;

	for (const char *p = probe->locals; p && (p = strstr(p, "syscall.")); p++)
		calls++;
	return calls;
}

static void measure(unsigned int rounds)
{
	for (size_t i = 0; i < PROBES; i++) {
		prepare(&probes[i]);
		if (!probes[i].excluded)
			probes[i].count = measure_calibrate(sample_outside, &probes[i], SAMPLE_NS);
	}
	printf("{\n  \"kernel\": \"%s\",\n  \"accel\": \"%s\",\n  \"calls_per_step\": {",
	       measure_kernel(), measure_accel());
	for (size_t i = 0; i < PROBES; i++)
		printf("%s\"%s\": %u", i ? ", " : "", probes[i].name, calls_of(&probes[i]));
	printf("},\n  \"rounds\": [");
	for (unsigned int i = 0; i < rounds; i++)
		measure_round(i);
	printf("\n  ]\n}\n");
}

static size_t find(const char *name)
{
	size_t i = 0;

	while (i < PROBES && strcmp(probes[i].name, name))
		i++;
	return i;
}

static void choose(char **names)
{
	for (size_t i = 0; i < PROBES; i++)
		probes[i].excluded = true;
	for (; *names; names++) {
		if (find(*names) == PROBES)
			measure_die("no probe %s: see inner.def", *names);
		probes[find(*names)].excluded = false;
	}
}

static void profile(const char *name, const char *way_name, uint64_t count)
{
	size_t i = find(name);
	int way = 0;

	while (way < WAYS && strcmp(way_names[way], way_name))
		way++;
	if (i == PROBES || !has_way(way) || !count)
		measure_die("no probe %s, no way %s (outside, inside_jit, inside_interp, inside_confined, inside_compound), or no count",
			    name, way_name);
	prepare(&probes[i]);
	sample(&probes[i], way, count);
}

static void *sleep_on(void *arg)
{
	pause();
	return arg;
}

static void start_threads(const char *count)
{
	pthread_t thread;

	for (int i = count ? atoi(count) : 0; i > 0; i--)
		if (pthread_create(&thread, NULL, sleep_on, NULL))
			measure_die("cannot start a thread");
}

int main(int argc, char **argv)
{
	bool only = argc > 3 && !strcmp(argv[2], "only");
	unsigned int rounds = argc == 2 || only ? strtoul(argv[1], NULL, 10) : 0;

	if (!rounds && argc != 4)
		measure_die("usage: inner ROUNDS [only PROBE...] | inner PROBE WAY COUNT");
	probes[find("orc")].excluded = true;
	if (only)
		choose(argv + 3);
	check("directory", chdir(measure_directory()));
	measure_pin(CPU);
	start_threads(getenv("INNER_THREADS"));
	if (rounds)
		measure(rounds);
	else
		profile(argv[1], argv[2], strtoull(argv[3], NULL, 10));
	return 0;
}
