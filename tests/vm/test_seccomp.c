// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Seccomp filters see the calls of scripts: each action has the same effect as outside, and an
 * action that needs the processor's own system call entry ends the run before the call.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "abi.h"
#include "pass_fd.h"
#include "uapi/syscript_files.h"
#include "../../include/uapi/syscript_image.h"

#define FIELD(name)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))

#define GETPPID		"function run() return syscall.getppid() end"
#define DUP_OF		"function run(fd) return syscall.dup(fd) end"
/* dup(i) for each unopened i from @from to @to, until the error is not EBADF. */
#define DUPS		"function run(from, to) local r for i = from, to do "		\
			"r = syscall.dup(i) syscall.fadvise64(-1, i, 12, 13) "		\
			"if r ~= -errno.EBADF then return i end end return 0 end"
#define LAST		2000

/* In place of flags: as a compound, whose engine is preemptible. */
#define COMPOUND	(~0u)
#define ARENA		(1ul << IMAGE_ARENA_SHIFT_MIN)
#define SET(reg, imm)	{ INSN_ALU64 | INSN_MOV, reg, 0, 0, imm }
#define COPY(reg, from)	{ INSN_ALU64 | INSN_MOV | INSN_X, reg, from, 0, 0 }
#define SYSTEM_CALL(nr)	{ INSN_JMP | INSN_CALL, 0, 0, 0, IMAGE_SYSCALL + nr }
#define RETURN		{ INSN_JMP | INSN_EXIT, 0, 0, 0, 0 }

static const struct {
	struct image_header header;
	struct image_func func;
	struct image_insn insns[18];
} compound = {
	.header = {
		.magic = IMAGE_MAGIC, .version = IMAGE_VERSION, .machine = IMAGE_MACHINE,
		.ninsns = 18, .nfuncs = 1,
		.arena_shift = IMAGE_ARENA_SHIFT_MIN,
	},
	.insns = {
		COPY(6, 1), COPY(7, 2),
		/* 2: */
		{ INSN_JMP | INSN_JSGT | INSN_X, 6, 7, 11, 0 },
		COPY(1, 6), SYSTEM_CALL(SYS_dup), COPY(8, 0),
		SET(1, -1), COPY(2, 6), SET(3, 12), SET(4, 13), SYSTEM_CALL(SYS_fadvise64),
		{ INSN_JMP | INSN_JNE, 8, 0, 4, -EBADF },
		{ INSN_ALU64 | INSN_ADD, 6, 0, 0, 1 },
		{ INSN_JMP | INSN_JA, 0, 0, -12, 0 },
		/* 14: */
		SET(0, 0), RETURN,
		/* 16: */
		COPY(0, 6), RETURN,
	},
};

static int register_compound(void)
{
	char *place = mmap(NULL, 2 * ARENA, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct syscript_register reg = {
		.image = (uintptr_t)&compound,
		.image_len = sizeof(compound),
		.time_limit = ABI_PATIENCE,
		.name = "test",
		.engine = SYSCRIPT_ENGINE_CONFINED,
		.shared = ((uintptr_t)place + ARENA - 1) & -ARENA,
		.shared_len = ARENA,
	};

	return abi_register_struct(&reg);
}

static int register_dups(unsigned int flags)
{
	return flags == COMPOUND ? register_compound() :
				   abi_register_limits(DUPS, flags, 0, ABI_PATIENCE);
}

/* -1 and errno, or seccomp(2)'s result. */
static int filter(unsigned int flags, struct sock_filter *code, unsigned short len)
{
	struct sock_fprog program = { len, code };

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static int filter_call(unsigned int flags, unsigned int nr, unsigned int action)
{
	struct sock_filter code[] = {
		FIELD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		FIELD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return filter(flags, code, sizeof(code) / sizeof(code[0]));
}

/* The wait status of a child that calls fn() and exits with its verdict. */
static int in_child(void (*fn)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		struct { unsigned long soft, hard; } none = { 0, 0 };

		syscall(SYS_prlimit64, 0, 4 /* RLIMIT_CORE */, &none, NULL);
		abi_failures = 0;
		fn();
		exit(!!abi_failures);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

#define CHECK_DIES_OF(fn, signal) do { \
		int status_ = in_child(fn); \
		CHECK(WIFSIGNALED(status_)); \
		CHECK_EQ(WTERMSIG(status_), signal); \
	} while (0)

static void test_allow(void)
{
	int64_t result = -1;
	int fd = abi_must_register(GETPPID), later;

	CHECK_EQ(filter_call(0, SYS_getppid, SECCOMP_RET_ALLOW), 0);
	CHECK_EQ(abi_call(fd, 0, 0, &result), 0);
	CHECK_EQ(result, getppid());
	later = abi_must_register(GETPPID);
	CHECK_EQ(abi_call(later, 0, 0, &result), 0);
	CHECK_EQ(result, getppid());
}

static void test_errno(void)
{
	int fd = abi_must_register(GETPPID);
	int64_t result = 0;

	CHECK_EQ(filter_call(0, SYS_getppid, SECCOMP_RET_ERRNO | EDOM), 0);
	CHECK_EQ(abi_call(fd, 0, 0, &result), 0);
	CHECK_EQ(result, -EDOM);
	CHECK_EQ(abi_call(fd, 0, 0, &result), 0);
	CHECK_EQ(result, -EDOM);
}

/* With errno 0 the call returns 0, which getppid() does not, and is not made. */
static void test_no_errno(void)
{
	int fd = abi_must_register(GETPPID);
	int64_t result = -1;

	CHECK_EQ(filter_call(0, SYS_getppid, SECCOMP_RET_ERRNO), 0);
	CHECK_EQ(abi_call(fd, 0, 0, &result), 0);
	CHECK_EQ(result, 0);
}

/* @action for dup(2) of descriptor @of. */
static int filter_dup(unsigned int of, unsigned int action)
{
	struct sock_filter code[] = {
		FIELD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_dup, 0, 3),
		FIELD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, of, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return filter(0, code, sizeof(code) / sizeof(code[0]));
}

/* A call that sleeps, and its argument: descriptor 7 is refused. */
static void test_argument(void)
{
	int fd = abi_must_register(DUP_OF);
	int64_t result = 0;

	CHECK_EQ(dup2(1, 7), 7);
	CHECK_EQ(dup2(1, 8), 8);
	CHECK_EQ(filter_dup(7, SECCOMP_RET_ERRNO | EXDEV), 0);
	CHECK_EQ(abi_call(fd, 7, 0, &result), 0);
	CHECK_EQ(result, -EXDEV);
	CHECK_EQ(abi_call(fd, 8, 0, &result), 0);
	CHECK(result > 2);
}

static void kill_process(void)
{
	int fd = abi_must_register(GETPPID);

	filter_call(0, SYS_getppid, SECCOMP_RET_KILL_PROCESS);
	abi_call(fd, 0, 0, NULL);
	exit(0);
}

static void kill_only_thread(void)
{
	int fd = abi_must_register(GETPPID);

	filter_call(0, SYS_getppid, SECCOMP_RET_KILL_THREAD);
	abi_call(fd, 0, 0, NULL);
	exit(0);
}

/* Only where ftrace can defer do_exit(): not on the debug kernel. */
static bool has_threads(void)
{
	const char *kernel = getenv("SYSCRIPT_GUEST");

	return !kernel || strcmp(kernel, "debug");
}

static int shared_fd;

static void *killed_thread(void *arg)
{
	filter_dup(1900, SECCOMP_RET_KILL_THREAD);
	abi_call(shared_fd, 1000, 2000, NULL);
	__atomic_fetch_add((int *)arg, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Other threads continue; whatever the run held is free. */
static void test_kill_thread(void)
{
	int survived = 0, other = abi_must_register(ABI_ADD), before;
	int64_t result = 0;

	if (!has_threads())
		return;
	before = abi_count(getpid());
	for (int i = 0; i < 50; i++) {
		pthread_t thread;

		shared_fd = abi_register_limits(DUPS, i % 2 ? SYSCRIPT_NOJIT : 0, 0,
						ABI_PATIENCE);
		CHECK(shared_fd >= 0);
		CHECK_EQ(pthread_create(&thread, NULL, killed_thread, &survived), 0);
		/* It ends without the C library: the kernel clears its ID. */
		CHECK_EQ(pthread_join(thread, NULL), 0);
		CHECK_EQ(abi_call(shared_fd, 0, 0, &result), -ENOTRECOVERABLE);
		close(shared_fd);
	}
	CHECK_EQ(survived, 0);
	CHECK_EQ(abi_call(other, 1, 2, &result), 0);
	CHECK_EQ(result, 3);
	CHECK_EQ(abi_count(getpid()), before);
}

static volatile sig_atomic_t handled;

static void on_sigsys(int sig)
{
	(void)sig;
	handled++;
}

/* A handler of SIGSYS expects the registers of a plain call, so it must see nothing of a script. */
static void test_trap(void)
{
	int fd = abi_must_register("function run(out) util.poke(out, \"u4\", 1) "
				   "syscall.getppid() util.poke(out, \"u4\", 2) end");
	unsigned int out = 0;

	signal(SIGSYS, on_sigsys);
	CHECK_EQ(filter_call(0, SYS_getppid, SECCOMP_RET_TRAP), 0);
	CHECK_EQ(abi_call(fd, (intptr_t)&out, 0, NULL), -EOPNOTSUPP);
	CHECK_EQ(out, 1);
	CHECK_EQ(handled, 0);
	/* Outside it does. */
	syscall(SYS_getppid);
	CHECK_EQ(handled, 1);
	CHECK_EQ(abi_call(fd, (intptr_t)&out, 0, NULL), -EOPNOTSUPP);
	CHECK_EQ(handled, 1);
}

static void trap_without_handler(void)
{
	int fd = abi_must_register(GETPPID);

	filter_call(0, SYS_getppid, SECCOMP_RET_TRAP);
	abi_call(fd, 0, 0, NULL);
	exit(0);
}

static void trap_blocked(void)
{
	int fd = abi_must_register(GETPPID);
	sigset_t set;

	signal(SIGSYS, on_sigsys);
	sigemptyset(&set);
	sigaddset(&set, SIGSYS);
	sigprocmask(SIG_BLOCK, &set, NULL);
	filter_call(0, SYS_getppid, SECCOMP_RET_TRAP);
	abi_call(fd, 0, 0, NULL);
	exit(0);
}

/* -- The process's registers --------------------------------------------------- */

/* Calls script @fd; lseek(2) preserves registers, whatever the script's calls do. */
static long call_registers(int fd, struct syscript_call *call)
{
	register long rdi asm("rdi") = fd, rsi asm("rsi") = -(long)call;
	register long rdx asm("rdx") = SYSCRIPT_SEEK_CALL;
	register long r10 asm("r10") = 0x1010, r8 asm("r8") = 0x808, r9 asm("r9") = 0x909;
	long ret;

	asm volatile("syscall" : "=a" (ret), "+r" (rdi), "+r" (rsi), "+r" (rdx), "+r" (r10),
		     "+r" (r8), "+r" (r9) : "a" ((long)SYS_lseek) : "rcx", "r11", "memory");
	CHECK_EQ(rdi, fd);
	CHECK_EQ(rsi, -(long)call);
	CHECK_EQ(rdx, SYSCRIPT_SEEK_CALL);
	CHECK_EQ(r10, 0x1010);
	CHECK_EQ(r8, 0x808);
	CHECK_EQ(r9, 0x909);
	return ret;
}

static const struct end {
	unsigned int flags, action;
	long want;
	int result;
} ends[] = {
	{ 0, SECCOMP_RET_ALLOW, SYSCRIPT_SEEK_CALLED, 0 },
	{ SYSCRIPT_NOJIT, SECCOMP_RET_ALLOW, SYSCRIPT_SEEK_CALLED, 0 },
	{ 0, SECCOMP_RET_LOG, SYSCRIPT_SEEK_CALLED, 0 },
	{ 0, SECCOMP_RET_ERRNO | EXDEV, SYSCRIPT_SEEK_CALLED, LAST - 500 },
	{ SYSCRIPT_NOJIT, SECCOMP_RET_ERRNO | EXDEV, SYSCRIPT_SEEK_CALLED, LAST - 500 },
	{ 0, SECCOMP_RET_TRACE, SYSCRIPT_SEEK_CALLED, LAST - 500 },
	{ COMPOUND, SECCOMP_RET_ALLOW, SYSCRIPT_SEEK_CALLED, 0 },
	{ COMPOUND, SECCOMP_RET_ERRNO | EXDEV, SYSCRIPT_SEEK_CALLED, LAST - 500 },
	{ 0, SECCOMP_RET_TRAP, -EOPNOTSUPP, 0 },
	{ SYSCRIPT_NOJIT, SECCOMP_RET_TRAP, -EOPNOTSUPP, 0 },
	{ COMPOUND, SECCOMP_RET_TRAP, -EOPNOTSUPP, 0 },
};

static const struct end *end;

static void test_registers(void)
{
	struct syscript_call call = { .nargs = 2, .args = { 1000, LAST } };
	int fd = register_dups(end->flags);

	CHECK(fd >= 0);
	signal(SIGSYS, on_sigsys);
	CHECK_EQ(call_registers(fd, &call), SYSCRIPT_SEEK_CALLED);
	CHECK_EQ(call.results[0], 0);
	CHECK_EQ(filter_dup(LAST - 500, end->action), 0);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(call_registers(fd, &call), end->want);
		CHECK_EQ(call.results[0], end->result);
	}
	CHECK_EQ(handled, 0);
}

static void test_trace_without_tracer(void)
{
	int fd = abi_must_register(GETPPID);
	int64_t result = 0;

	CHECK_EQ(filter_call(0, SYS_getppid, SECCOMP_RET_TRACE), 0);
	CHECK_EQ(abi_call(fd, 0, 0, &result), 0);
	CHECK_EQ(result, -ENOSYS);
}

/* A tracer of seccomp events never sees a call in the middle of another. */
static void test_trace(void)
{
	int status = -1, seen = 0;
	pid_t pid = fork();

	if (!pid) {
		int own = abi_must_register(GETPPID);

		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		CHECK_EQ(filter_call(0, SYS_getppid, SECCOMP_RET_TRACE), 0);
		CHECK_EQ(abi_call(own, 0, 0, NULL), -EOPNOTSUPP);
		CHECK_EQ(abi_register(GETPPID), -EOPNOTSUPP);
		exit(!!abi_failures);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESECCOMP);
	do {
		seen += status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8);
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	} while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	CHECK_EQ(status, 0);
	CHECK_EQ(seen, 0);
}

/* -- A tracer that comes while filters are asked ------------------------------ */

#define LONG_FILTERS	7
#define TRACERS		60
/* Some signals arrive when no gate checks, but the slow path does. */
#define ENOUGH		5

/* Slow filters, the last with @action for call @nr. */
static void filter_slowly(unsigned int nr, unsigned int action)
{
	static struct sock_filter code[4000];
	int n = sizeof(code) / sizeof(code[0]);

	for (int i = 0; i < n; i++)
		code[i] = (struct sock_filter)FIELD(nr);
	code[n - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	for (int i = 0; i < LONG_FILTERS; i++)
		CHECK_EQ(filter(0, code, n), 0);
	CHECK_EQ(filter_call(0, nr, action), 0);
}

#define DIVIDE(call)	"local third = {} for i = 1, 9 do third[i] = i / 3 end "	\
			"function run(n, file) for i = 0, n do " call			\
			" local k = i % 9 + 1 if k / 3 ~= third[k] then return 1 end "	\
			"end return 0 end"

/* The calls that gates check, and those of a batch. */
static const struct dividing {
	unsigned int nr;
	const char *source;
} dividing[] = {
	{ SYS_getppid, DIVIDE("syscall.getppid()") },
	{ SYS_statx, DIVIDE("fs.stat_files(const.AT_FDCWD, file, 1)") },
};

/* Whatever happens to its registers, a script's divisions are right. */
static void divide(int ready, const struct dividing *how)
{
	struct syscript_file file = { .path = (uintptr_t)"/" };
	int fd = abi_must_register(how->source);
	int64_t result = 0;

	filter_slowly(how->nr, SECCOMP_RET_TRACE);
	CHECK_EQ(write(ready, "", 1), 1);
	for (;;)
		if (abi_call(fd, 1000000, (intptr_t)&file, &result) || result)
			_exit(result ? 1 : 0);
}

static bool is_filters_stop(int status)
{
	return status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8);
}

/*
 * The tracer checks and overwrites XMM0 to XMM7. It sets an MXCSR with every exception unmasked;
 * and with rounding up, because emulated CPUs raise no such exceptions.
 */
static void tamper(pid_t pid)
{
	struct user_fpregs_struct regs;

	CHECK_EQ(ptrace(PTRACE_GETFPREGS, pid, NULL, &regs), 0);
	for (int i = 0; i < 8 * 4; i++)
		CHECK_EQ(regs.xmm_space[i], 0);
	regs.mxcsr = 2 << 13;
	CHECK_EQ(ptrace(PTRACE_SETFPREGS, pid, NULL, &regs), 0);
}

/* True if the stop came in the middle of a run. */
static bool trace_suddenly(const struct dividing *how, unsigned int delay)
{
	bool inside = false;
	int status = -1, ready[2];
	pid_t pid;
	char c;

	CHECK_EQ(pipe(ready), 0);
	pid = fork();
	if (!pid)
		divide(ready[1], how);
	CHECK_EQ(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	abi_sleep(0.005 + delay * 1e-6);
	CHECK_EQ(ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESECCOMP), 0);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (is_filters_stop(status)) {
			inside = true;
			tamper(pid);
		}
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	}
	CHECK_EQ(status, 0);
	return inside;
}

static void test_sudden_tracer(void)
{
	for (size_t i = 0; i < sizeof(dividing) / sizeof(dividing[0]); i++) {
		int inside = 0;

		for (int j = 0; j < TRACERS && inside < ENOUGH; j++)
			inside += trace_suddenly(&dividing[i], rand() % 1000);
		CHECK(inside > 0);
	}
}

/* A tracer that changed the call and detached: the changed call is not made. */
static void dup_until_refused(int ready, unsigned int flags)
{
	double end = abi_seconds() + 20;
	int fd = register_dups(flags), err;

	filter_slowly(SYS_getppid, SECCOMP_RET_ALLOW);
	CHECK_EQ(filter_dup(1000, SECCOMP_RET_TRACE), 0);
	CHECK_EQ(write(ready, "", 1), 1);
	do
		err = abi_call(fd, 1000, 1000, NULL);
	while (!err && abi_seconds() < end);
	_exit(err == -EOPNOTSUPP ? 0 : 1);
}

static bool change_suddenly(unsigned int flags, unsigned int delay)
{
	struct user_regs_struct regs;
	int status = -1, ready[2];
	bool inside = false;
	pid_t pid;
	char c;

	CHECK_EQ(pipe(ready), 0);
	pid = fork();
	if (!pid)
		dup_until_refused(ready[1], flags);
	CHECK_EQ(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	abi_sleep(0.005 + delay * 1e-6);
	CHECK_EQ(ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESECCOMP), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (is_filters_stop(status)) {
		inside = true;
		CHECK_EQ(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
		CHECK_EQ(regs.orig_rax, SYS_dup);
		CHECK_EQ(regs.rdi, 1000);
		regs.rdi = 1;
		CHECK_EQ(ptrace(PTRACE_SETREGS, pid, NULL, &regs), 0);
		CHECK_EQ(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
	}
	CHECK_EQ(status, 0);
	return inside;
}

static void change_suddenly_in(unsigned int flags)
{
	int inside = 0;

	for (int i = 0; i < TRACERS && inside < ENOUGH; i++)
		inside += change_suddenly(flags, rand() % 1000);
	CHECK(inside > 0);
}

static void test_sudden_change(void)
{
	change_suddenly_in(0);
	change_suddenly_in(COMPOUND);
}

static void test_log(void)
{
	int fd = abi_must_register(GETPPID);
	int64_t result = 0;

	CHECK_EQ(filter_call(0, SYS_getppid, SECCOMP_RET_LOG), 0);
	CHECK_EQ(abi_call(fd, 0, 0, &result), 0);
	CHECK_EQ(result, getppid());
}

static void strict(void)
{
	int fd = abi_must_register(GETPPID);
	struct syscript_call call = { .nargs = 0 };

	syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	ioctl(fd, SYSCRIPT_IOC_CALL, &call);
	syscall(SYS_exit, 0);
}

/* -- A supervisor ------------------------------------------------------------ */

struct supervised {
	int listener;
	pid_t expect_pid;
	unsigned int seen;
};

/*
 * Refuses dup(5), answers dup(6) with 4711 and dup(7) with a value beyond int, lets dup(1)
 * continue.
 */
static void *supervise(void *arg)
{
	struct supervised *s = arg;

	for (;;) {
		struct pollfd poll_fd = { s->listener, POLLIN, 0 };
		struct seccomp_notif req = { 0 };
		struct seccomp_notif_resp resp = { 0 };

		if (poll(&poll_fd, 1, -1) != 1 || !(poll_fd.revents & POLLIN))
			return NULL;
		if (ioctl(s->listener, SECCOMP_IOCTL_NOTIF_RECV, &req))
			return NULL;
		CHECK_EQ(req.data.nr, SYS_dup);
		CHECK_EQ(req.data.arch, AUDIT_ARCH_X86_64);
		/* Unused arguments of dup(2) are 0, not left over from another call. */
		for (int i = 1; i < 6; i++)
			CHECK_EQ(req.data.args[i], 0);
		s->seen++;
		resp.id = req.id;
		if (req.data.args[0] == 5)
			resp.error = -EXDEV;
		else if (req.data.args[0] == 6)
			resp.val = 4711;
		else if (req.data.args[0] == 7)
			resp.val = 1LL << 52 | 42;
		else
			resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		CHECK_EQ(ioctl(s->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp), 0);
	}
}

static void test_supervisor(void)
{
	struct supervised s = { 0 };
	int fd = abi_must_register(DUP_OF);
	int64_t result = 0;
	pthread_t thread;

	if (!has_threads())
		return;
	s.listener = filter_call(SECCOMP_FILTER_FLAG_NEW_LISTENER, SYS_dup,
				 SECCOMP_RET_USER_NOTIF);
	CHECK(s.listener >= 0);
	CHECK_EQ(pthread_create(&thread, NULL, supervise, &s), 0);
	CHECK_EQ(abi_call(fd, 5, 0, &result), 0);
	CHECK_EQ(result, -EXDEV);
	CHECK_EQ(abi_call(fd, 6, 0, &result), 0);
	CHECK_EQ(result, 4711);
	CHECK_EQ(abi_call(fd, 7, 0, &result), 0);
	CHECK_EQ(result, 42);
	CHECK_EQ(abi_call(fd, 1, 0, &result), 0);
	CHECK(result > 2 && result != 4711);
	CHECK_EQ(s.seen, 4);
}

/* -- Events while a supervisor is asked ------------------------------------------ */

struct asked {
	pid_t pid;
	int listener;
	struct seccomp_notif req;
	uint32_t *done;			/* completed calls of the script */
};

/* A process whose script waits for the supervisor's answer to dup(1). */
static struct asked ask_supervisor(unsigned int flags)
{
	struct asked asked = { 0 };
	int socks[2];

	asked.done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, socks), 0);
	asked.pid = fork();
	if (!asked.pid) {
		int fd = abi_register_limits("function run(out, fd) for i = 1, 3 do "
					     "if syscall.dup(fd) < 0 then return i end "
					     "util.poke(out, \"u4\", i) end return 9 end",
					     flags, 0, ABI_PATIENCE);
		struct syscript_call call = { .nargs = 2, .args = { (long)asked.done, 1 } };
		long ret;

		pass_fd_send(socks[1], filter_call(SECCOMP_FILTER_FLAG_NEW_LISTENER, SYS_dup,
						   SECCOMP_RET_USER_NOTIF));
		ret = call_registers(fd, &call);
		_exit(abi_failures ? 100 : ret == SYSCRIPT_SEEK_CALLED ? call.results[0] : -ret);
	}
	asked.listener = pass_fd_receive(socks[0]);
	close(socks[0]);
	close(socks[1]);
	CHECK_EQ(ioctl(asked.listener, SECCOMP_IOCTL_NOTIF_RECV, &asked.req), 0);
	CHECK_EQ(asked.req.data.nr, SYS_dup);
	CHECK_EQ(asked.req.data.args[0], 1);
	return asked;
}

static void let_go_on(struct asked *asked)
{
	struct seccomp_notif_resp resp = {
		.id = asked->req.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE,
	};

	CHECK_EQ(ioctl(asked->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp), 0);
}

static void let_next_go_on(struct asked *asked)
{
	memset(&asked->req, 0, sizeof(asked->req));
	CHECK_EQ(ioctl(asked->listener, SECCOMP_IOCTL_NOTIF_RECV, &asked->req), 0);
	let_go_on(asked);
}

static int end_of(struct asked *asked)
{
	int status = -1;

	CHECK_EQ(waitpid(asked->pid, &status, 0), asked->pid);
	CHECK_EQ(abi_count(asked->pid), 0);
	close(asked->listener);
	return status;
}

static const unsigned int *engine_flags;

static void test_kill_while_asked(void)
{
	struct asked asked = ask_supervisor(*engine_flags);

	kill(asked.pid, SIGKILL);
	CHECK_EQ(end_of(&asked), SIGKILL);
	CHECK_EQ(*asked.done, 0);
}

/* A tracer of seccomp events ends the run: before the next call, since this one was allowed. */
static void test_trace_while_asked(void)
{
	struct asked asked = ask_supervisor(*engine_flags);

	CHECK_EQ(ptrace(PTRACE_SEIZE, asked.pid, NULL, PTRACE_O_TRACESECCOMP), 0);
	let_go_on(&asked);
	CHECK_EQ(WEXITSTATUS(end_of(&asked)), EOPNOTSUPP);
	CHECK_EQ(*asked.done, 1);
}

/* A debugger sees every call. */
static void test_debug_while_asked(void)
{
	struct asked asked = ask_supervisor(*engine_flags);

	CHECK_EQ(ptrace(PTRACE_SEIZE, asked.pid, NULL, 0), 0);
	let_go_on(&asked);
	let_next_go_on(&asked);
	let_next_go_on(&asked);
	CHECK_EQ(WEXITSTATUS(end_of(&asked)), 9);
	CHECK_EQ(*asked.done, 3);
}

/* The tracer stops the task after the run, and finds the registers of the script's call. */
static void test_stop_while_asked(void)
{
	struct asked asked = ask_supervisor(*engine_flags);
	struct user_regs_struct regs;
	int status = -1;

	CHECK_EQ(ptrace(PTRACE_SEIZE, asked.pid, NULL, 0), 0);
	CHECK_EQ(ptrace(PTRACE_INTERRUPT, asked.pid, NULL, NULL), 0);
	CHECK_EQ(waitpid(asked.pid, &status, 0), asked.pid);
	CHECK(WIFSTOPPED(status));
	CHECK_EQ(ptrace(PTRACE_GETREGS, asked.pid, NULL, &regs), 0);
	CHECK_EQ(regs.orig_rax, SYS_lseek);
	CHECK_EQ(regs.rdx, SYSCRIPT_SEEK_CALL);
	CHECK_EQ(regs.r10, 0x1010);
	CHECK_EQ(regs.rax, SYSCRIPT_SEEK_CALLED);
	CHECK_EQ(ptrace(PTRACE_CONT, asked.pid, NULL, NULL), 0);
	/* The signal ended the first call: EINTR. */
	CHECK_EQ(WEXITSTATUS(end_of(&asked)), 1);
}

static void (*const while_asked[])(void) = {
	test_kill_while_asked, test_trace_while_asked, test_debug_while_asked,
	test_stop_while_asked,
};

static void test_while_asked(void)
{
	static const unsigned int flags[] = { 0, SYSCRIPT_NOJIT };

	for (size_t i = 0; i < 2 * sizeof(while_asked) / sizeof(while_asked[0]); i++) {
		engine_flags = &flags[i % 2];
		CHECK_EQ(in_child(while_asked[i / 2]), 0);
	}
}

/* -- Another thread installs it in the middle of a run ------------------------ */

static void *install(void *arg)
{
	abi_sleep(0.2);
	CHECK_EQ(filter_call(SECCOMP_FILTER_FLAG_TSYNC, SYS_getppid,
			     SECCOMP_RET_ERRNO | EDOM), 0);
	return arg;
}

static void test_tsync(void)
{
	int fd = abi_must_register("function run(n) for i = 1, n do "
				   "if syscall.getppid() < 0 then return i end "
				   "syscall.poll(0, 0, 1) end return 0 end");
	int64_t result = 0;
	pthread_t thread;

	if (!has_threads())
		return;
	CHECK_EQ(pthread_create(&thread, NULL, install, NULL), 0);
	CHECK_EQ(abi_call(fd, 100000, 0, &result), 0);
	CHECK(result > 1);
	pthread_join(thread, NULL);
}

/* -- Batches, which stand for calls ------------------------------------------- */

static struct {
	char path[64];
	char data[4096];
	struct syscript_file file;
	struct iovec iov;
	struct mmsghdr msg;
	int dir, socks[2], listener;
} b;

/* A listening socket with two pending connections. */
static int listening(void)
{
	const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "\0syscript-accept" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	CHECK_EQ(bind(fd, (const void *)&address, sizeof(address)), 0);
	CHECK_EQ(listen(fd, 2), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(connect(socket(AF_UNIX, SOCK_STREAM, 0), (const void *)&address,
				 sizeof(address)), 0);
	return fd;
}

static void set_up(void)
{
	strcpy(b.path, "/tmp/syscript-seccomp-XXXXXX");
	close(mkstemp(b.path));
	memset(&b.file, 0, sizeof(b.file));
	b.file.path = (uintptr_t)b.path;
	b.file.data = (uintptr_t)b.data;
	b.file.size = 16;
	b.iov = (struct iovec){ b.data, 16 };
	b.msg.msg_hdr = (struct msghdr){ .msg_iov = &b.iov, .msg_iovlen = 1 };
	b.dir = open("/proc/self/fdinfo", O_RDONLY | O_DIRECTORY);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, b.socks), 0);
	CHECK_EQ(write(b.socks[0], "a", 1), 1);
	CHECK_EQ(write(b.socks[0], "a", 1), 1);
	b.listener = listening();
}

#define FILES(call)	"function run(file) local n = " call				\
			" return n == 1 and util.peek(file + 24, \"i8\") or n end"
#define FILE_OF(call)	"local peek = util.peek function run(file) return (" call	\
			"(const.AT_FDCWD, peek(file, \"i8\"), peek(file + 8, \"i8\"), "	\
			"peek(file + 16, \"i8\"))) end"
#define ENTRIES		"local start function run(data, dir) "			\
			"start = start or fs.tell(dir) fs.seek(dir, start) "		\
			"local n = fs.readdirplus(dir, data, 4096, const.STATX_MTIME) "
#define NAMES		"local len function run(data, dir) "				\
			"len = len or syscall.getdents64(dir, data, 1024) "		\
			"local n = fs.stat_entries(dir, data + 1024, 2048, data, len) "
#define COLUMNS		"local start, e = nil, { name = {}, mtime = {}, error = {} } "	\
			"function run(data, dir) start = start or fs.tell(dir) "	\
			"fs.seek(dir, start) local n = fs.entries(dir, e) "
#define MESSAGES	"local m function run(addr, fd) m = m or net.messages(addr, 1) "

/*
 * Whatever a batch does in place of a call is checked as that call: refusing @nr gives EXDEV, as
 * for the call itself.
 */
static const struct batch {
	unsigned int nr;
	const char *source;
	const void *arg;
	const int *fd;
} batches[] = {
	{ SYS_statx, FILES("fs.stat_files(const.AT_FDCWD, file, 1)"), &b.file, NULL },
	{ SYS_openat, FILES("fs.read_files(const.AT_FDCWD, file, 1)"), &b.file, NULL },
	{ SYS_read, FILES("fs.read_files(const.AT_FDCWD, file, 1)"), &b.file, NULL },
	{ SYS_close, FILES("fs.read_files(const.AT_FDCWD, file, 1)"), &b.file, NULL },
	{ SYS_openat, FILE_OF("fs.read_file"), &b.file, NULL },
	{ SYS_read, FILE_OF("fs.read_file"), &b.file, NULL },
	{ SYS_close, FILE_OF("fs.read_file"), &b.file, NULL },
	{ SYS_openat, FILES("fs.write_files(const.AT_FDCWD, file, 1, 0)"), &b.file, NULL },
	{ SYS_write, FILES("fs.write_files(const.AT_FDCWD, file, 1, 0)"), &b.file, NULL },
	{ SYS_openat, FILES("fs.open_files(const.AT_FDCWD, file, 1, 0)"), &b.file, NULL },
	{ SYS_statx, FILES("fs.open_files(const.AT_FDCWD, file, 1, 0)"), &b.file, NULL },
	{ SYS_getdents64, ENTRIES "return n end", b.data, &b.dir },
	{ SYS_statx, ENTRIES "return n > 0 and util.peek(data + 8, \"i4\") end", b.data, &b.dir },
	{ SYS_statx, NAMES "return n > 0 and util.peek(data + 1032, \"i4\") end", b.data, &b.dir },
	{ SYS_getdents64, COLUMNS "return n end", NULL, &b.dir },
	{ SYS_statx, COLUMNS "return n > 0 and e.error[1] end", NULL, &b.dir },
	{ SYS_accept4, "function run(fds, fd) return net.accept(fd, fds, 1) end", b.data, &b.listener },
	{ SYS_recvmmsg, MESSAGES "return net.recv(fd, m, 1) end", &b.msg, &b.socks[1] },
	{ SYS_sendmmsg, MESSAGES "return net.send(fd, addr, 1) end", &b.msg, &b.socks[0] },
};

static const struct batch *batch;

static int64_t run_batch(int fd)
{
	char text[256] = "";
	int64_t result = -1;
	int err = abi_call(fd, (intptr_t)batch->arg, batch->fd ? *batch->fd : 0, &result);

	if (err)
		abi_text(fd, SYSCRIPT_TEXT_ERROR, text, sizeof(text));
	if (err)
		printf("%s: %s\n", batch->source, text);
	CHECK_EQ(err, 0);
	return result;
}

static void test_batch(void)
{
	int fd = abi_must_register(batch->source);
	int64_t result;

	set_up();
	CHECK(run_batch(fd) >= 0);
	CHECK_EQ(filter_call(0, batch->nr, SECCOMP_RET_ERRNO | EXDEV), 0);
	result = run_batch(fd);
	if (result != -EXDEV)
		printf("call %u: %s\n", batch->nr, batch->source);
	CHECK_EQ(result, -EXDEV);
	unlink(b.path);
}

/* A batch whose second call goes to a handler leaks no descriptor. */
static void test_batch_trapped(void)
{
	int fd = abi_must_register(batches[2].source), before;

	set_up();
	signal(SIGSYS, on_sigsys);
	CHECK_EQ(filter_call(0, SYS_read, SECCOMP_RET_TRAP), 0);
	before = dup(1);
	close(before);
	CHECK_EQ(abi_call(fd, (intptr_t)&b.file, 0, NULL), -EOPNOTSUPP);
	CHECK_EQ(dup(1), before);
	CHECK_EQ(handled, 0);
}

static void test_deaths(void)
{
	CHECK_DIES_OF(kill_process, SIGSYS);
	CHECK_DIES_OF(kill_only_thread, SIGSYS);
	CHECK_DIES_OF(trap_without_handler, SIGSYS);
	CHECK_DIES_OF(trap_blocked, SIGSYS);
	CHECK_DIES_OF(strict, SIGKILL);
	test_kill_thread();
}

/* With an argument, as part of another test: threads end in the middle of a call. */
int main(int argc, char **argv)
{
	(void)argv;
	abi_open();
	test_deaths();
	if (argc > 1)
		return abi_verdict();
	CHECK_EQ(in_child(test_allow), 0);
	CHECK_EQ(in_child(test_errno), 0);
	CHECK_EQ(in_child(test_no_errno), 0);
	CHECK_EQ(in_child(test_argument), 0);
	CHECK_EQ(in_child(test_log), 0);
	CHECK_EQ(in_child(test_trap), 0);
	CHECK_EQ(in_child(test_trace_without_tracer), 0);
	CHECK_EQ(in_child(test_trace), 0);
	CHECK_EQ(in_child(test_sudden_tracer), 0);
	CHECK_EQ(in_child(test_sudden_change), 0);
	for (end = ends; end < ends + sizeof(ends) / sizeof(ends[0]); end++)
		CHECK_EQ(in_child(test_registers), 0);
	CHECK_EQ(in_child(test_supervisor), 0);
	test_while_asked();
	CHECK_EQ(in_child(test_tsync), 0);
	for (batch = batches; batch < batches + sizeof(batches) / sizeof(batches[0]); batch++)
		CHECK_EQ(in_child(test_batch), 0);
	CHECK_EQ(in_child(test_batch_trapped), 0);
	return abi_verdict();
}
