// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How long a script keeps others from its CPU. A real-time thread on the same CPU repeatedly starts
 * an operation that others wait for; its greatest delay is the script's cost to its neighbours:
 *
 *   thread   it wakes at fixed times
 *   softirq  a receive times out, by a timer of the kernel's wheel
 *   rcu      membarrier(2), which is synchronize_rcu()
 *   signal   a signal for the script's thread: until its handler runs, with a grace
 *            time of 1 ms
 *   freezer  the script's process is frozen, likewise (cgroup.freeze)
 *   hotplug  its CPU goes offline
 *
 * The last row is not a script: it registers images of the confined engine that take long to
 * compile, and are refused for their length.
 *
 * usage: latency SCRIPT...        (as root: real-time priority)
 *
 * Writes JSON: for each script, compiled and interpreted, the longest delay of each kind and the
 * longest stretch without preemption that the engine itself recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../include/uapi/syscript_image.h"
#include "measure.h"
#include "source.h"

#define CPU		1
#define OTHER_CPU	0
#define ONLINE		"/sys/devices/system/cpu/cpu1/online"
#define PERIOD_NS	1700000		/* no multiple of the engine's clock period */
#define RUN_NS		100000000ULL	/* how long to make calls */
#define PROBE_NS	30000000ULL	/* the same under one of the other probes */
#define CALLS_MIN	2
#define MEMORY_LIMIT	(16ULL << 20)
#define TIME_LIMIT	5000000000ULL
#define GRACE		1000000ULL
#define CGROUPS		"/sys/fs/cgroup"
#define CGROUP		CGROUPS "/latency"

static void sleep_until(uint64_t at)
{
	struct timespec ts = { at / 1000000000, at % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* -- Probes: each returns ns of delay ---------------------------------------- */

static uint64_t probe_thread(void)
{
	static uint64_t next;
	uint64_t now = measure_now();

	/* Skips wake-up times that have passed. */
	if (next <= now)
		next += ((now - next) / PERIOD_NS + 1) * PERIOD_NS;
	sleep_until(next);
	return measure_now() - next;
}

static uint64_t probe_softirq(void)
{
	static const struct timeval wait = { 0, 4000 };
	static int fd = -1;
	uint64_t begin;
	char c;

	if (fd < 0) {
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	}
	begin = measure_now();
	if (recv(fd, &c, 1, 0) >= 0 || errno != EAGAIN)
		measure_die("the receive did not time out");
	return measure_now() - begin - wait.tv_usec * 1000;
}

static uint64_t probe_rcu(void)
{
	uint64_t begin = measure_now();

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		measure_die("membarrier: %m");
	return measure_now() - begin;
}

static pthread_t script_thread;
static atomic_uint_least64_t sent, handled;

static void handle(int sig)
{
	(void)sig;
	handled = measure_now();
}

static uint64_t probe_signal(void)
{
	handled = 0;
	sleep_until(measure_now() + 10 * PERIOD_NS);
	sent = measure_now();
	pthread_kill(script_thread, SIGUSR1);
	while (!handled)
		sleep_until(measure_now() + PERIOD_NS / 4);
	return handled - sent;
}

static const struct probe {
	const char *name;
	uint64_t (*once)(void);
	uint64_t ns;
} probes[] = {
	{ "late", probe_thread, RUN_NS },
	{ "softirq", probe_softirq, PROBE_NS },
	{ "rcu", probe_rcu, PROBE_NS },
	{ "signal", probe_signal, PROBE_NS },
};

/* -- The neighbour ------------------------------------------------------------ */

struct neighbour {
	const struct probe *probe;
	pthread_t thread;
	atomic_bool stop;
	uint64_t latest;		/* ns */
	unsigned int times;
};

static void *bother(void *arg)
{
	struct neighbour *neighbour = arg;

	while (!neighbour->stop) {
		uint64_t late = neighbour->probe->once();

		if (late > neighbour->latest)
			neighbour->latest = late;
		neighbour->times++;
	}
	return NULL;
}

/* The thread inherits the caller's CPU. */
static void start(struct neighbour *neighbour, const struct probe *probe)
{
	const struct sched_param priority = { .sched_priority = 50 };
	pthread_attr_t attr;
	int err;

	*neighbour = (struct neighbour){ .probe = probe };
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &priority);
	err = pthread_create(&neighbour->thread, &attr, bother, neighbour);
	if (err)
		measure_die("no real-time thread: %s (run it as root)", strerror(err));
	pthread_attr_destroy(&attr);
}

/* Its last signal must be handled, outside a call. */
static void stop(struct neighbour *neighbour)
{
	neighbour->stop = true;
	pthread_join(neighbour->thread, NULL);
	if (!neighbour->times)
		measure_die("the real-time thread never came to its end");
	printf(", \"%s\": %" PRIu64, neighbour->probe->name, neighbour->latest);
}

/* -- Scripts ------------------------------------------------------------------ */

#define NO_SCRIPT	(-1)		/* but an image */
#define ARENA		(1UL << IMAGE_ARENA_SHIFT_MIN)	/* an image's shared memory */

static void must_refuse(const struct source *image)
{
	static char room[2 * ARENA];
	const struct syscript_options options = {
		.size = sizeof(options), .backend = SYSCRIPT_BACKEND_KERNEL,
		.engine = SYSCRIPT_ENGINE_CONFINED, .memory_limit = MEMORY_LIMIT,
		.shared = (void *)(((uintptr_t)room + ARENA - 1) & -ARENA),
		.shared_len = ARENA,
	};
	int ret = syscript_register(image->text, image->len, &options, NULL, 0);

	if (ret != -ENOBUFS && ret != -EINTR)
		measure_die("%s: %s", image->name, syscript_strerror(ret));
}

static void must_call(int fd, const struct source *source)
{
	char text[512] = "";
	int ret;

	if (fd == NO_SCRIPT)
		return must_refuse(source);
	ret = syscript_call(fd, 0, NULL, 0, NULL);
	/* A signal ended the call. */
	if (ret >= 0 || ret == -EINTR)
		return;
	syscript_error(fd, text, sizeof(text));
	measure_die("%s: %s: %s", source->name, syscript_strerror(ret), text);
}

static void call(int fd, const struct source *source, uint64_t ns)
{
	uint64_t end = measure_now() + ns;
	unsigned int calls = 0;

	do
		must_call(fd, source);
	while (++calls < CALLS_MIN || measure_now() < end);
}

static int register_source(const struct source *source, uint32_t flags)
{
	const struct syscript_options options = {
		.size = sizeof(options), .name = source->name, .flags = flags,
		.backend = SYSCRIPT_BACKEND_KERNEL, .memory_limit = MEMORY_LIMIT,
		.time_limit_ns = TIME_LIMIT, .grace_ns = GRACE,
		/* An emulated machine is slow, and the real-time thread comes first. */
		.wall_limit_ns = SYSCRIPT_NO_LIMIT,
	};
	char text[512] = "";
	int fd = syscript_register(source->text, source->len, &options, text, sizeof(text));

	if (fd < 0)
		measure_die("%s: %s: %s", source->name, syscript_strerror(fd), text);
	return fd;
}

static void measure_probe(const struct probe *probe, const struct source *source, int fd)
{
	uint64_t end = measure_now() + probe->ns;
	struct neighbour neighbour;

	start(&neighbour, probe);
	if (source)
		call(fd, source, probe->ns);
	else
		while (measure_now() < end)
			;
	stop(&neighbour);
}

/* -- Delays of a script by another process ----------------------------------------- */

#define TIMES		2

static bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) >= 0;

	close(fd);
	return ok;
}

static bool is_frozen(void)
{
	char text[256] = "";
	int fd = open(CGROUP "/cgroup.events", O_RDONLY);
	bool frozen = fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 &&
		      strstr(text, "frozen 1");

	close(fd);
	return frozen;
}

/* Freezes or thaws: ns until it is done, or 0 if unavailable. */

static uint64_t freeze(void)
{
	uint64_t begin = measure_now(), ns;

	if (!write_to(CGROUP "/cgroup.freeze", "1"))
		return 0;
	while (!is_frozen())
		sleep_until(measure_now() + PERIOD_NS / 4);
	ns = measure_now() - begin;
	write_to(CGROUP "/cgroup.freeze", "0");
	return ns;
}

static uint64_t unplug(void)
{
	uint64_t begin, ns;

	measure_pin(OTHER_CPU);
	begin = measure_now();
	if (!write_to(ONLINE, "0"))
		return 0;
	ns = measure_now() - begin;
	write_to(ONLINE, "1");
	return ns;
}

static uint64_t longest_of(uint64_t (*once)(void))
{
	uint64_t longest = 0, ns;

	for (int i = 0; i < TIMES; i++) {
		sleep_until(measure_now() + 10 * PERIOD_NS);
		ns = once();
		if (ns > longest)
			longest = ns;
	}
	return longest;
}

/* Tasks of a CPU that went offline may have been moved anywhere. */
static void stay(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(CPU, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void measure_other(const char *name, uint64_t (*once)(void),
			  const struct source *source, int fd)
{
	const struct sched_param priority = { .sched_priority = 50 };
	uint64_t longest = 0;
	int status, out[2];
	pid_t pid;

	if (pipe(out))
		measure_die("no pipe: %m");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		write_to(CGROUPS "/cgroup.procs", "0");
		sched_setscheduler(0, SCHED_FIFO, &priority);
		longest = longest_of(once);
		_exit(write(out[1], &longest, sizeof(longest)) != sizeof(longest));
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		stay();
		if (source)
			must_call(fd, source);
	}
	if (read(out[0], &longest, sizeof(longest)) == sizeof(longest) && longest)
		printf(", \"%s\": %" PRIu64, name, longest);
	close(out[0]);
	close(out[1]);
}

static void measure_all(const struct source *source, int fd)
{
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		measure_probe(&probes[i], source, fd);
	measure_other("freezer", freeze, source, fd);
	measure_other("hotplug", unplug, source, fd);
	stay();
}

static void measure_script(const struct source *source, uint32_t flags)
{
	struct syscript_info info = { 0 };
	int fd = register_source(source, flags), ret;

	printf(",\n    {\"script\": \"%s\", \"mode\": \"%s\"", source->name,
	       flags & SYSCRIPT_NOJIT ? "interpreted" : "compiled");
	measure_all(source, fd);
	ret = syscript_info(fd, &info);
	if (ret)
		measure_die("%s: %s", source->name, syscript_strerror(ret));
	syscript_close(fd);
	printf(", \"preempt_max\": %llu, \"calls\": %llu, \"traces\": %llu, "
	       "\"memory_peak\": %llu}",
	       (unsigned long long)info.preempt_max, (unsigned long long)info.calls,
	       (unsigned long long)info.counters[0].value,
	       (unsigned long long)info.memory_peak);
}

/* Registers the longest possible image, whose machine code is 9 times as long. */
static void measure_image(void)
{
	const struct image_header header = {
		.magic = IMAGE_MAGIC, .version = IMAGE_VERSION, .machine = IMAGE_MACHINE,
		.flags = IMAGE_CHECKED,
		.ninsns = 131000, .nfuncs = 1, .arena_shift = IMAGE_ARENA_SHIFT_MIN,
	};
	const struct image_insn store = {
		.code = INSN_ST | INSN_MEM | INSN_DW, .dst = 1, .off = 0x300, .imm = 0x7fffffff,
	}, last = { .code = INSN_JMP | INSN_EXIT };
	size_t funcs = sizeof(struct image_func), len = sizeof(header) + funcs;
	struct source image = {
		.name = "image", .len = len + header.ninsns * sizeof(store),
	};
	struct image_insn *insns;

	image.text = calloc(1, image.len);
	memcpy(image.text, &header, sizeof(header));
	insns = (struct image_insn *)(image.text + len);
	for (uint32_t i = 0; i < header.ninsns; i++)
		insns[i] = i + 1 < header.ninsns ? store : last;
	printf(",\n    {\"script\": \"%s\", \"mode\": \"refused\"", image.name);
	measure_all(&image, NO_SCRIPT);
	printf("}");
	free(image.text);
}

/* Without a script: the machine's own delays. */
static void measure_nothing(void)
{
	printf("    {\"script\": \"none\", \"mode\": \"user space\"");
	measure_all(NULL, NO_SCRIPT);
	printf("}");
}

static void prepare(void)
{
	const struct sigaction action = { .sa_handler = handle };

	script_thread = pthread_self();
	sigaction(SIGUSR1, &action, NULL);
	/* Without cgroups, the freezer is omitted. */
	mkdir(CGROUP, 0755);
	write_to(CGROUP "/cgroup.procs", "0");
}

int main(int argc, char **argv)
{
	if (argc < 2)
		measure_die("usage: latency SCRIPT...");
	measure_pin(CPU);
	prepare();
	setlinebuf(stdout);
	printf("{\n  \"kernel\": \"%s\",\n  \"accel\": \"%s\",\n  \"period\": %d,\n  \"scripts\": [\n",
	       measure_kernel(), measure_accel(), PERIOD_NS);
	measure_nothing();
	for (int i = 1; i < argc; i++) {
		struct source source = source_read(argv[i]);

		measure_script(&source, 0);
		measure_script(&source, SYSCRIPT_NOJIT);
		free(source.text);
	}
	measure_image();
	printf("\n  ]\n}\n");
	return 0;
}
