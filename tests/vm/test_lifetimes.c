// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Every way in which the last descriptor of a script can be dropped, in every state of the script.
 *
 * Each cell of the matrix takes three processes. The *owner*, with one thread unless the cell says
 * otherwise, registers the script and calls it; the script closes the descriptor that it runs from.
 * The *holder* has the last copy, and drops it in the cell's way. Then the *coordinator*, main(),
 * fills the module's memory with its own scripts, and lets the owner's run continue: in freed
 * memory, if its lifetime is wrong.
 */
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "abi.h"
#include "pass_fd.h"

#define PAGE	4096
#define RESULT	4242

/* State of the script between losing its last descriptor and its end. */
enum state { IDLE, RUNNING, BLOCKED, FAULTING, OUTSTAYING, KILLED, STATES };

static const char *const states[STATES] = {
	"idle", "running", "blocked", "in a page fault", "over its limit", "killed",
};

/* Memory that the owner and the holder share. */
struct cell {
	enum state state;
	int fd;			/* the script's */
	int lost[2];		/* the script writes when it has closed its own copy */
	int dropped[2];		/* at its end when the holder has dropped the last copy */
	int ready[2];		/* the holder writes when it has its copy */
	int go[2];		/* the coordinator writes when the run may go on */
	int socks[2];
	int fault;		/* userfaultfd, or -1 */
	char *page;		/* the script's buffer, then the page that faults */
};

/* How the holder drops its copy; it runs this, then exits. */
struct way {
	const char *name;
	void (*drop)(struct cell *cell, pid_t owner);
	int flags;		/* of clone(2) */
	bool passed;		/* passed by SCM_RIGHTS, not inherited */
	bool fetched;		/* pidfd_getfd(2) */
};

static const char source[] =
	"local live = {}\n"
	"for i = 1, 500 do live[i] = { i, 'item ' .. i } end\n"
	"local function check()\n"
	"  for i = 1, 500 do\n"
	"    assert(live[i][1] == i and live[i][2] == 'item ' .. i, 'memory of others')\n"
	"  end\n"
	"end\n"
	"function run(fd, lost, go, page, state)\n"
	"  assert(syscall.close(fd) == 0)\n"
	"  syscall.write(lost, page, 1)\n"
	"  if state == 1 then\n"
	"    repeat check() until syscall.read(go, page, 1) == 1\n"
	"  elseif state == 2 then\n"
	"    assert(syscall.poll(page + 16, 1, -1) == 1)\n"
	"  elseif state == 3 then\n"
	"    assert(util.peek(page + 4096, 'u1') == 7)\n"
	"  else\n"
	"    while true do check() end\n"
	"  end\n"
	"  check()\n"
	"  return 4242\n"
	"end\n";

static void must(bool so, const char *what)
{
	if (so)
		return;
	perror(what);
	exit(1);
}

/* -- the ways ---------------------------------------------------------------- */

static void drop_close(struct cell *cell, pid_t owner)
{
	(void)owner;
	syscall(SYS_close, cell->fd);
}

static void drop_exit(struct cell *cell, pid_t owner)
{
	(void)cell;
	(void)owner;
	syscall(SYS_exit_group, 0);
}

static void drop_exec(struct cell *cell, pid_t owner)
{
	(void)owner;
	(void)cell;
	execl("/bin/true", "true", NULL);
}

static void drop_dup_over(struct cell *cell, pid_t owner)
{
	(void)owner;
	syscall(SYS_dup2, cell->socks[1], cell->fd);
}

static void drop_received(struct cell *cell, pid_t owner)
{
	(void)owner;
	close(pass_fd_receive(cell->socks[1]));
}

/* The descriptor is never received: it is closed with the socket that contains it. */
static void drop_in_flight(struct cell *cell, pid_t owner)
{
	(void)owner;
	syscall(SYS_close, cell->socks[1]);
}

static void drop_fetched(struct cell *cell, pid_t owner)
{
	(void)owner;
	syscall(SYS_close, cell->fd);
}

static const struct way ways[] = {
	{ .name = "closed by a forked child", .drop = drop_close },
	{ .name = "left by a forked child's exit", .drop = drop_exit },
	{ .name = "closed by a forked child's exec", .drop = drop_exec },
	{ .name = "replaced by a forked child's dup2", .drop = drop_dup_over },
	{ .name = "closed by a process that shares the memory", .drop = drop_close, .flags = CLONE_VM },
	{ .name = "left by the exit of one that shares the memory", .drop = drop_exit, .flags = CLONE_VM },
	{ .name = "received and closed", .drop = drop_received, .passed = true },
	{ .name = "closed in flight", .drop = drop_in_flight, .passed = true },
	{ .name = "fetched by pidfd_getfd and closed", .drop = drop_fetched, .fetched = true },
};

/* -- the holder -------------------------------------------------------------- */

struct holder {
	struct cell *cell;
	const struct way *way;
	pid_t owner;
};

static void holder_fetch(struct holder *holder)
{
	struct cell *cell = holder->cell;
	int pidfd = syscall(SYS_pidfd_open, holder->owner, 0);
	int fd = syscall(SYS_pidfd_getfd, pidfd, cell->fd, 0);

	must(fd >= 0, "pidfd_getfd");
	close(cell->fd);
	cell->fd = fd;
}

/* With CLONE_VM this is the owner's memory: only raw system calls are safe. */
static int holder_main(void *arg)
{
	struct holder *holder = arg;
	struct cell *cell = holder->cell;
	char c;

	syscall(SYS_close, cell->dropped[0]);
	syscall(SYS_close, cell->lost[1]);
	syscall(SYS_close, cell->socks[0]);
	if (holder->way->fetched)
		holder_fetch(holder);
	else if (holder->way->passed)
		syscall(SYS_close, cell->fd);
	syscall(SYS_write, cell->ready[1], "x", 1);
	/* The script, or for an idle one the owner, has closed its own copy. */
	while (syscall(SYS_read, cell->lost[0], &c, 1) != 1)
		;
	holder->way->drop(cell, holder->owner);
	syscall(SYS_exit, 0);
	return 0;
}

static pid_t holder_start(struct holder *holder)
{
	size_t size = 64 << 10;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (holder->way->passed)
		pass_fd_send(holder->cell->socks[0], holder->cell->fd);
	return clone(holder_main, stack + size, holder->way->flags | SIGCHLD, holder);
}

/* -- the owner --------------------------------------------------------------- */

static int owner_register(enum state state)
{
	struct syscript_register reg = abi_source(source);
	int fd;

	if (state == OUTSTAYING)
		reg.time_limit = 200000000;
	fd = abi_register_struct(&reg);
	if (fd < 0) {
		printf("cannot register: %s\n", strerror(-fd));
		exit(1);
	}
	return fd;
}

static void owner_check(struct cell *cell, int err, const struct syscript_call *call)
{
	char c = 'x';

	switch (cell->state) {
	case IDLE:
		break;
	case OUTSTAYING:
		CHECK_EQ(err, -ETIME);
		break;
	case KILLED:
		CHECK(!"the owner outlived its kill");
		break;
	default:
		CHECK_EQ(err, 0);
		CHECK_EQ(call->results[0], RESULT);
	}
	/* Processes that can see the owner's scripts find it usable. */
	must(write(cell->lost[1], &c, 1) == 1, "write");
}

static void owner_main(struct cell *cell, const struct way *way)
{
	struct holder holder = { cell, way, getpid() };
	struct syscript_call call = { .nargs = 5 };
	struct pollfd *readable;
	pid_t child;
	int err = 0;
	char c;

	/* Lets a process that is not an ancestor fetch descriptors, whatever Yama's setting. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	cell->fd = owner_register(cell->state);
	readable = (struct pollfd *)(cell->page + 16);
	*readable = (struct pollfd){ cell->go[0], POLLIN, 0 };
	call.args[0] = cell->fd;
	call.args[1] = cell->lost[1];
	call.args[2] = cell->go[0];
	call.args[3] = (uintptr_t)cell->page;
	call.args[4] = cell->state;

	child = holder_start(&holder);
	must(child > 0, "clone");
	must(read(cell->ready[0], &c, 1) == 1, "read");
	close(cell->dropped[1]);
	close(cell->socks[0]);
	close(cell->socks[1]);
	if (cell->state == IDLE) {
		close(cell->fd);
		must(write(cell->lost[1], "x", 1) == 1, "write");
	} else {
		err = abi_ioctl(cell->fd, SYSCRIPT_IOC_CALL, &call);
	}
	owner_check(cell, err, &call);
	CHECK_EQ(fcntl(call.args[0], F_GETFD), -1);
	while (waitpid(child, NULL, 0) != child)
		;
	/* And the process can continue with other scripts. */
	cell->fd = abi_must_register(ABI_ADD);
	CHECK_EQ(abi_call(cell->fd, 1, 2, NULL), 0);
	exit(!!abi_failures);
}

/* -- the coordinator --------------------------------------------------------- */

/* Takes the pages that have just been freed, if any, and overwrites them. */
static void churn(void)
{
	int fds[8];

	for (int i = 0; i < 8; i++)
		fds[i] = abi_must_register("local t = {} for i = 1, 8000 do t[i] = 0.5 end "
					   "function run() return #t end");
	for (int i = 0; i < 8; i++)
		close(fds[i]);
}

static void fault_open(struct cell *cell)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = {
		.range = { (uintptr_t)cell->page + PAGE, PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	cell->fault = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (cell->fault < 0)
		return;
	must(!ioctl(cell->fault, UFFDIO_API, &api), "UFFDIO_API");
	must(!ioctl(cell->fault, UFFDIO_REGISTER, &area), "UFFDIO_REGISTER");
}

static void fault_resolve(struct cell *cell)
{
	static char page[PAGE] __attribute__((aligned(PAGE)));
	struct uffdio_copy copy = {
		.dst = (uintptr_t)cell->page + PAGE, .src = (uintptr_t)page, .len = PAGE,
	};

	memset(page, 7, sizeof(page));
	must(!ioctl(cell->fault, UFFDIO_COPY, &copy), "UFFDIO_COPY");
}

/* The owner must create it, since it is tied to its own memory. */
static void owner_fault(struct cell *cell, int sock)
{
	if (cell->state != FAULTING)
		return;
	fault_open(cell);
	if (cell->fault >= 0)
		pass_fd_send(sock, cell->fault);
	else
		must(write(sock, "-", 1) == 1, "write");
	close(cell->fault);
}

static void cell_open(struct cell *cell, enum state state)
{
	*cell = (struct cell){ .state = state, .fd = -1, .fault = -1 };
	must(!pipe2(cell->lost, O_CLOEXEC) && !pipe2(cell->dropped, O_CLOEXEC) &&
	     !pipe2(cell->ready, O_CLOEXEC) &&
	     !pipe2(cell->go, O_CLOEXEC | (state == RUNNING ? O_NONBLOCK : 0)) &&
	     !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, cell->socks), "pipes");
	cell->page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(cell->page != MAP_FAILED, "mmap");
	memset(cell->page, 0, PAGE);
}

static void cell_close(struct cell *cell)
{
	close(cell->lost[0]);
	close(cell->lost[1]);
	close(cell->dropped[0]);
	close(cell->ready[0]);
	close(cell->ready[1]);
	close(cell->go[0]);
	close(cell->go[1]);
	munmap(cell->page, 2 * PAGE);
}

static void run_cell(const struct way *way, enum state state)
{
	int status = -1, failures = abi_failures, fault[2];
	struct cell cell;
	pid_t owner;
	char c;

	cell_open(&cell, state);
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, fault), "socketpair");
	owner = fork();
	if (!owner) {
		close(fault[0]);
		owner_fault(&cell, fault[1]);
		close(fault[1]);
		owner_main(&cell, way);
	}
	close(fault[1]);
	close(cell.dropped[1]);
	close(cell.socks[0]);
	close(cell.socks[1]);
	if (state == FAULTING)
		cell.fault = pass_fd_receive(fault[0]);
	close(fault[0]);

	CHECK_EQ(read(cell.dropped[0], &c, 1), 0);
	/* An exit closes this pipe first, then the script's descriptor. */
	abi_sleep(0.02);
	churn();
	if (state == KILLED)
		kill(owner, SIGKILL);
	else if (cell.fault >= 0)
		fault_resolve(&cell);
	else
		CHECK_EQ(write(cell.go[1], "x", 1), 1);
	CHECK_EQ(waitpid(owner, &status, 0), owner);
	CHECK_EQ(status, state == KILLED ? SIGKILL : 0);
	CHECK_EQ(abi_count(owner), 0);
	close(cell.fault);
	cell_close(&cell);
	if (abi_failures != failures)
		printf("... %s, %s\n", states[state], way->name);
}

int main(void)
{
	bool faults;
	int fd;

	abi_open();
	/* Kernel faults need vm.unprivileged_userfaultfd or root. */
	fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	faults = fd >= 0;
	close(fd);
	CHECK(faults);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		for (enum state state = IDLE; state < STATES; state++)
			if (state != FAULTING || faults)
				run_cell(&ways[i], state);
	return abi_verdict();
}
