// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hostile use of /dev/syscript-luajit by an ordinary user: processes with racing threads that pass
 * malformed structures to the device and to script fds, while other threads close, duplicate, pass
 * and unmap the same objects, fork, exit and are killed.
 *
 *   abi [--seconds N] [--seed N]
 *
 * Exit status 0 if the module still serves a correct caller and has freed everything, else 1 with
 * the fault. vm/guest checks the kernel's log.
 */
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../vm/abi.h"

#define PAGE		4096UL
#define THREADS		4
#define WORKERS		3	/* processes at a time */
#define FDS		8	/* shared by the threads of a process */
#define AREAS		8	/* pages that are mapped and unmapped */
#define GUARD		16	/* unmapped pages next to them */
#define STUCK		20	/* s until a killed process must be gone */

struct random {
	uint64_t state;
};

/*
 * Shared by all processes: counts successful calls, because a run that only met refusals is not a
 * success.
 */
static struct tally {
	unsigned long registered, called, refused, workers, killed;
} *tally;

static int fds[FDS];
static char *areas;
static pid_t mother;

static uint64_t rnd(struct random *r)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return r->state * 0x2545f4914f6cdd1dULL >> 11;
}

static uint64_t below(struct random *r, uint64_t n)
{
	return rnd(r) % n;
}

static bool chance(struct random *r, unsigned int percent)
{
	return below(r, 100) < percent;
}

#define PICK(r, array) ((array)[below(r, sizeof(array) / sizeof((array)[0]))])

/* Boundary values. */
static uint64_t odd_number(struct random *r)
{
	static const uint64_t edges[] = {
		0, 1, 2, 7, 8, 9, 31, 32, 63, 64, 255, 4095, 4096, 65535, 65536, 1 << 20,
		(1 << 20) + 1, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 32, 1ULL << 47,
		1ULL << 53, (1ULL << 53) + 1, -(1ULL << 53), -(1ULL << 53) - 1, 1ULL << 63,
		~0ULL, ~0ULL - 7, 0x8000000000000000, 0xffffffff81000000, 0xffff888000000000,
	};
	uint64_t v = PICK(r, edges);

	if (chance(r, 20))
		v = rnd(r) >> below(r, 64);
	if (chance(r, 20))
		v += below(r, 17) - 8;
	return v;
}

/* An address in memory: valid, about to be unmapped, across its end, or wild. */
static uint64_t odd_address(struct random *r)
{
	uint64_t at = (uintptr_t)areas + below(r, AREAS) * PAGE;

	switch (below(r, 6)) {
	case 0:
		return odd_number(r);
	case 1:
		return at + PAGE - below(r, 64);
	default:
		return at + below(r, PAGE / 2);
	}
}

/* Copies to an area that may be unmapped, through the kernel: -EFAULT instead of a signal. */
static bool put(uint64_t to, const void *from, size_t len)
{
	static __thread int pipes[2] = { -1, -1 };
	bool done;

	if (pipes[0] < 0 && pipe2(pipes, O_CLOEXEC | O_NONBLOCK))
		return false;
	if (write(pipes[1], from, len) != (ssize_t)len)
		return false;
	done = read(pipes[0], (void *)to, len) == (ssize_t)len;
	if (!done) {
		close(pipes[0]);
		close(pipes[1]);
		pipes[0] = -1;
	}
	return done;
}

static const char *const sources[] = {
	ABI_ADD,
	ABI_LOOP,
	"function run() return 1, 2, 3, 4, 5, 6, 7, 8, 9 end",
	"function run(a) return a end",
	"function run() local t = {} while true do t[#t + 1] = {} end end",
	"function run() local s = 'x' while true do s = s .. s end end",
	"function run() error('text') end",
	"function run() error({}) end",
	"function run() return 0 / 0 end",
	"function run() print(('x'):rep(20000)) end",
	"function run() while true do pcall(error, 'x') end end",
	"function run() local s = 0 for i = 1, 5000 do s = s + i % 3 end return s end",
	"function run() for i = 1, 50 do syscall.getppid() end end",
	"function run() return syscall.poll(0, 0, 5) end",
	"function run() while true do syscall.sched_yield() end end",
	"function run(a, b) return util.peek(a, 'i8') + util.peek(b, 'u1') end",
	"function run(a, b) util.poke(a, 'i8', b) util.fill(b, 1, 5000) end",
	"function run(a, b) return #util.str_in(a, b % 9000) end",
	"function run(a, b) return #util.copyin(a, b % 3000, 'u2') end",
	"function run(a) util.copyout({ 1, 2, 3, 4 }, a, 4) end",
	"function run(a, b) return syscall.close(a % 40), syscall.dup2(b % 40, a % 40) end",
	"function run(a, b) return syscall.ioctl(a % 40, 0xc090ca42, b) end",
	"function run(a) return syscall.munmap(a - a % 4096, 4096) end",
	"function run() return syscall.open('/dev/syscript-luajit', 2, 0) end",
	"function run() local c = coroutine.wrap(function() coroutine.yield(1) end) return c() end",
	"function run() return select('#', unpack({}, 1, 5000)) end",
	"function run() return ('a'):rep(200):match(('.-'):rep(10) .. 'b') end",
	"local function f() return 1 + f() end function run() return f() end",
	"while true do end function run() end",
	"local t = {} for i = 1, 1e9 do t[i] = {} end function run() end",
	"function run() loadstring(('('):rep(5000)) end",
	"function run(",
	"run = 5",
	"\033LJ\002",
	"",
};

/* A source, perhaps with a few bytes changed, in valid memory or in an area. */
static void odd_source(struct random *r, struct syscript_register *reg)
{
	static __thread char buf[512];
	uint64_t to = (uintptr_t)areas + below(r, AREAS) * PAGE + PAGE / 2;
	const char *source = PICK(r, sources);
	size_t len = strlen(source);

	memcpy(buf, source, len);
	if (len && chance(r, 15)) {
		for (int n = below(r, 4); n >= 0; n--)
			buf[below(r, len)] = rnd(r);
	}
	if (len && chance(r, 10))
		len = below(r, len) + 1;
	reg->image_len = len;
	reg->image = chance(r, 25) && put(to, buf, len) ? to : (uintptr_t)buf;
}

/* Overwrites parts of a structure. */
static void spoil(struct random *r, void *p, size_t size)
{
	for (int n = below(r, 3); n >= 0; n--) {
		uint64_t v = chance(r, 50) ? odd_number(r) : odd_address(r);
		size_t at = below(r, size / 4) * 4;

		memcpy((char *)p + at, &v, size - at < 8 ? 4 : 8);
	}
}

/* Passes a structure from an area or, sometimes, from an invalid address. */
static long send_struct(struct random *r, int fd, unsigned long request, void *p, size_t size)
{
	uint64_t at = odd_address(r);

	if (chance(r, 80))
		return abi_ioctl(fd, request, p);
	if (chance(r, 30))
		request = abi_sized(request, chance(r, 50) ? odd_number(r) & 0x3fff : size + 8);
	put(at, p, size);
	return abi_ioctl(fd, request, (void *)at);
}

static int any_fd(struct random *r)
{
	return chance(r, 90) ? __atomic_load_n(&fds[below(r, FDS)], __ATOMIC_RELAXED) :
			       (int)below(r, 64);
}

/* Puts @fd in place of another one, which is closed. */
static void keep(struct random *r, int fd)
{
	int old = __atomic_exchange_n(&fds[below(r, FDS)], fd, __ATOMIC_RELAXED);

	if (old > 2)
		close(old);
}

static void count(unsigned long *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void do_register(struct random *r)
{
	struct syscript_register reg = {
		.flags = below(r, 4) == 0 ? SYSCRIPT_NOJIT : 0,
		.memory_limit = (64 + below(r, 400)) << 10,
		.time_limit = 1000000 + below(r, 20000000),
		.error = chance(r, 50) ? odd_address(r) : 0,
		.name = "fuzz",
	};
	int fd;

	odd_source(r, &reg);
	reg.error_len = reg.error ? below(r, 600) : 0;
	if (chance(r, 3))
		reg.flags |= SYSCRIPT_KILL;
	if (chance(r, 10))
		reg.flags |= SYSCRIPT_CHECK;
	if (chance(r, 20))
		spoil(r, &reg, sizeof(reg));
	fd = send_struct(r, abi_device, SYSCRIPT_IOC_REGISTER, &reg, sizeof(reg));
	if (fd > 0) {
		count(&tally->registered);
		keep(r, fd);
	} else if (fd < 0) {
		count(&tally->refused);
	}
	/* A script or another thread may have replaced the descriptor. */
	if (fd == -EBADF || fd == -ENOTTY)
		abi_device = open("/dev/syscript-luajit", O_RDWR | O_CLOEXEC);
}

/* A call by lseek(2), mostly correct. */
static long seek_call(struct random *r, void *call)
{
	long at = chance(r, 80) ? (long)call : (long)odd_address(r);

	if (chance(r, 5))
		return lseek(any_fd(r), odd_number(r), below(r, 6));
	return lseek(any_fd(r), -at, SYSCRIPT_SEEK_CALL) != SYSCRIPT_SEEK_CALLED;
}

static void do_call(struct random *r)
{
	struct syscript_call call = { .nargs = below(r, 9) };
	long err;

	for (int i = 0; i < SYSCRIPT_ARGS_MAX; i++)
		call.args[i] = chance(r, 50) ? odd_address(r) : odd_number(r);
	if (chance(r, 40))
		call.args[0] = call.args[1] = below(r, 64);
	if (chance(r, 15))
		spoil(r, &call, sizeof(call));
	err = chance(r, 50) ? seek_call(r, &call) :
	      send_struct(r, any_fd(r), SYSCRIPT_IOC_CALL, &call, sizeof(call));
	count(err ? &tally->refused : &tally->called);
}

static void do_text(struct random *r)
{
	struct syscript_text text = {
		.which = below(r, 2),
		.len = below(r, 20000),
		.buffer = odd_address(r),
	};

	if (chance(r, 20))
		spoil(r, &text, sizeof(text));
	send_struct(r, any_fd(r), SYSCRIPT_IOC_TEXT, &text, sizeof(text));
}

static void do_info(struct random *r)
{
	struct syscript_info info = { .id = chance(r, 50) ? 0 : odd_number(r) };

	if (chance(r, 20))
		spoil(r, &info, sizeof(info));
	if (chance(r, 50))
		send_struct(r, any_fd(r), SYSCRIPT_IOC_INFO, &info, sizeof(info));
	else
		send_struct(r, abi_device, SYSCRIPT_IOC_NEXT, &info, sizeof(info));
}

/* An ioctl of any number and size, on the device or a script. */
static void do_ioctl(struct random *r)
{
	unsigned long request = _IOC(below(r, 4), chance(r, 80) ? SYSCRIPT_IOC_MAGIC : rnd(r) & 255,
				     chance(r, 80) ? 0x40 + below(r, 6) : rnd(r) & 255,
				     below(r, 600));

	ioctl(chance(r, 50) ? abi_device : any_fd(r), request, odd_address(r));
}

/* Any system call on any fd, scripts' or not. */
static void do_file(struct random *r)
{
	int fd = any_fd(r), ep;
	struct epoll_event ev = { .events = EPOLLIN | EPOLLERR };
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct stat st;
	char buf[16];
	void *p;

	switch (below(r, 10)) {
	case 0:
		keep(r, fcntl(fd, F_DUPFD_CLOEXEC, 3));
		break;
	case 1:
		keep(r, -1);
		break;
	case 2:
		poll(&pfd, 1, below(r, 3));
		break;
	case 3:
		if (read(fd, buf, sizeof(buf)) + write(fd, buf, sizeof(buf)) > 0)
			lseek(fd, 0, SEEK_SET);
		break;
	case 4:
		p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p != MAP_FAILED)
			munmap(p, PAGE);
		break;
	case 5:
		fstat(fd, &st);
		break;
	case 6:
		ep = epoll_create1(EPOLL_CLOEXEC);
		epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
		epoll_wait(ep, &ev, 1, 1);
		close(ep);
		break;
	case 7:
		fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC);
		fcntl(fd, F_SETOWN, getpid());
		break;
	case 8:
		keep(r, open("/dev/syscript-luajit", O_RDWR | O_CLOEXEC));
		break;
	case 9:
		if (ftruncate(fd, 0) == 0 || fsync(fd) == 0)
			break;
	}
}

/* Passes a script to itself through a socket, or leaves it queued. */
static void do_pass(struct random *r)
{
	union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	struct iovec iov = { .iov_base = "x", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	int pair[2], fd = any_fd(r);

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return;
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	if (sendmsg(pair[0], &msg, 0) == 1 && chance(r, 50)) {
		char byte;

		iov.iov_base = &byte;
		if (recvmsg(pair[1], &msg, 0) == 1 && control.head.cmsg_len == CMSG_LEN(sizeof(int))) {
			memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
			keep(r, fd);
		}
	}
	close(pair[0]);
	close(pair[1]);
}

/* Unmaps, protects, or maps an area. */
static void do_area(struct random *r)
{
	char *at = areas + below(r, AREAS) * PAGE;

	switch (below(r, 4)) {
	case 0:
		munmap(at, PAGE);
		break;
	case 1:
		mprotect(at, PAGE, below(r, 4));
		break;
	default:
		mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
}

/* A child that inherits the scripts, tries one and exits. */
static void do_fork(struct random *r)
{
	struct syscript_call call = { 0 };
	pid_t pid = fork();

	if (pid < 0)
		return;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < FDS; i++)
			abi_ioctl(fds[i], SYSCRIPT_IOC_CALL, &call);
		_exit(0);
	}
	if (chance(r, 50))
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void nothing(int signal)
{
	(void)signal;
}

static void *thread(void *arg)
{
	struct random *r = arg;

	while (true) {
		switch (below(r, 100)) {
		case 0 ... 24:
			do_register(r);
			break;
		case 25 ... 64:
			do_call(r);
			break;
		case 65 ... 69:
			do_text(r);
			break;
		case 70 ... 74:
			do_info(r);
			break;
		case 75 ... 79:
			do_ioctl(r);
			break;
		case 80 ... 87:
			do_file(r);
			break;
		case 88 ... 90:
			do_pass(r);
			break;
		case 91 ... 95:
			do_area(r);
			break;
		case 96:
			do_fork(r);
			break;
		case 97 ... 98:
			kill(getpid(), SIGUSR1);
			break;
		case 99:
			if (chance(r, 3))
				_exit(0);
		}
	}
	return NULL;
}

/* A process that runs until it is killed or kills itself. */
static void worker(uint64_t seed)
{
	struct random r[THREADS];
	pthread_t id;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != mother)
		_exit(0);
	signal(SIGUSR1, nothing);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGIO, SIG_IGN);
	/* Threads and scripts may write to any fd: keep this program's output apart. */
	for (int i = 0; i < 3; i++) {
		close(i);
		open("/dev/null", O_RDWR);
	}
	areas = mmap(NULL, (AREAS + 2 * GUARD) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (areas == MAP_FAILED)
		_exit(1);
	areas += GUARD * PAGE;
	if (mprotect(areas, AREAS * PAGE, PROT_READ | PROT_WRITE))
		_exit(1);
	memset(fds, -1, sizeof(fds));
	for (int i = 0; i < THREADS; i++)
		r[i].state = (seed + i + 1) * 0x9e3779b97f4a7c15ULL | 1;
	for (int i = 1; i < THREADS; i++) {
		if (pthread_create(&id, NULL, thread, &r[i]))
			break;
	}
	thread(&r[0]);
}

static pid_t spawn(uint64_t seed)
{
	pid_t pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (!pid) {
		worker(seed);
		_exit(0);
	}
	count(&tally->workers);
	return pid;
}

/* A killed process must be gone within STUCK seconds, whatever its threads are doing. */
static void reap(pid_t pid)
{
	double end = abi_seconds() + STUCK;

	kill(pid, SIGKILL);
	count(&tally->killed);
	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (abi_seconds() > end) {
			printf("process %d did not die of SIGKILL\n", pid);
			exit(1);
		}
		abi_sleep(0.01);
	}
}

static void fuzz(double seconds, struct random *r)
{
	double end = abi_seconds() + seconds;
	pid_t pids[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		pids[i] = spawn(rnd(r));
	while (abi_seconds() < end) {
		int i = below(r, WORKERS);

		abi_sleep(below(r, 1500) / 1000.0);
		reap(pids[i]);
		pids[i] = spawn(rnd(r));
	}
	for (int i = 0; i < WORKERS; i++)
		reap(pids[i]);
}

/* Nothing is left, and a correct caller is served. */
static void verdict(void)
{
	struct syscript_info info;
	double end = abi_seconds() + STUCK;
	int64_t sum = 0;
	int fd;

	while (abi_next(0, &info) != -ENOENT && abi_seconds() < end)
		abi_sleep(0.05);
	CHECK_EQ(abi_next(0, &info), -ENOENT);
	fd = abi_register(ABI_ADD);
	CHECK(fd >= 0);
	CHECK_EQ(abi_call(fd, 40, 2, &sum), 0);
	CHECK_EQ(sum, 42);
	close(fd);
	printf("%lu processes, %lu killed, %lu scripts registered, %lu calls, %lu refusals\n",
	       tally->workers, tally->killed, tally->registered, tally->called, tally->refused);
	CHECK(tally->registered > 0);
	CHECK(tally->called > 0);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "seed", required_argument, NULL, 'r' },
		{ }
	};
	uint64_t seed = time(NULL);
	double seconds = 30;
	struct random r;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			seconds = atof(optarg);
		else if (option == 'r')
			seed = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	abi_open();
	printf("seed %llu\n", (unsigned long long)seed);
	mother = getpid();
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED)
		return 1;
	r.state = seed * 0x9e3779b97f4a7c15ULL | 1;
	fuzz(seconds, &r);
	verdict();
	return abi_verdict();
}
