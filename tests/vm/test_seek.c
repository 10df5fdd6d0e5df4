// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * lseek(2) with a negative offset calls a script (SYSCRIPT_SEEK_CALL), so no other operation with a
 * descriptor and an offset may do so: not reading, copying, locking or mapping, not for another
 * process, and not from a kernel thread.
 */
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "abi.h"
#include "pass_fd.h"
#include "ring.h"

/* The script, and the offset that calls it with lseek(2). */
static int script;
static off_t offset;
static struct syscript_call *call;

static unsigned long long calls(void)
{
	struct syscript_info info;

	CHECK_EQ(abi_info(script, &info), 0);
	return info.calls;
}

static void nothing_called(const char *by)
{
	if (calls() || call->nresults) {
		printf("%s has called the script\n", by);
		abi_failures++;
	}
}

/* -- Calls of the process ------------------------------------------------------ */

static void test_calls(void)
{
	int file = memfd_create("file", MFD_CLOEXEC), pipes[2];
	struct iovec iov = { .iov_base = (char [64]){ 0 }, .iov_len = 64 };
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SYSCRIPT_SEEK_CALL,
			      .l_start = offset };
	loff_t from = offset, to = offset;

	CHECK_EQ(pipe(pipes), 0);
	CHECK_EQ(ftruncate(file, 4096), 0);
	CHECK_EQ(pread(script, iov.iov_base, 64, offset), -1);
	CHECK_EQ(pwrite(script, iov.iov_base, 64, offset), -1);
	CHECK_EQ(preadv2(script, &iov, 1, offset, 0), -1);
	CHECK_EQ(preadv2(script, &iov, 1, -1, 0), -1);
	CHECK_EQ(pwritev2(script, &iov, 1, offset, RWF_APPEND), -1);
	CHECK_EQ(read(script, iov.iov_base, 64), -1);
	CHECK_EQ(write(script, iov.iov_base, 64), -1);
	CHECK_EQ(sendfile(pipes[1], script, &from, 64), -1);
	CHECK_EQ(sendfile(script, file, NULL, 64), -1);
	CHECK_EQ(copy_file_range(script, &from, file, NULL, 64, 0), -1);
	CHECK_EQ(copy_file_range(file, NULL, script, &to, 64, 0), -1);
	CHECK_EQ(splice(script, &from, pipes[1], NULL, 64, 0), -1);
	CHECK_EQ(splice(pipes[0], NULL, script, &to, 64, SPLICE_F_NONBLOCK), -1);
	CHECK_EQ(fallocate(script, 0, offset, 64), -1);
	CHECK_EQ(fallocate(script, FALLOC_FL_COLLAPSE_RANGE, 0, 64), -1);
	CHECK_EQ(sync_file_range(script, offset, 64, 0), -1);
	CHECK_EQ(ftruncate(script, 64), -1);
	CHECK_EQ(fcntl(script, F_SETLK, &lock), -1);
	CHECK_EQ(fcntl(script, F_OFD_SETLK, &lock), -1);
	CHECK_EQ(fcntl(script, F_SETLEASE, F_RDLCK), -1);
	CHECK_EQ(syscall(SYS_getdents64, script, iov.iov_base, 64), -1);
	CHECK_EQ(ioctl(file, FICLONE, script), -1);
	CHECK_EQ(ioctl(script, FICLONE, file), -1);
	CHECK_EQ(ioctl(script, FIBMAP, &(int){ 0 }), -1);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, script, 0) == MAP_FAILED);
	CHECK_EQ(syscall(SYS_execveat, script, "", (char *[]){ "x", NULL }, NULL,
			 AT_EMPTY_PATH), -1);
	/* These do nothing, or nothing harmful. */
	posix_fadvise(script, 0, 64, POSIX_FADV_WILLNEED);
	readahead(script, 0, 64);
	fsync(script);
	nothing_called("a call with a descriptor and an offset");
	close(file);
	close(pipes[0]);
	close(pipes[1]);
}

/* Opening it again would create another struct file for the same script. */
static void test_opening(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", script);
	CHECK_EQ(open(path, O_RDWR), -1);
	fd = open(path, O_PATH);
	CHECK(fd >= 0);
	CHECK_EQ(lseek(fd, offset, SYSCRIPT_SEEK_CALL), -1);
	close(fd);
	nothing_called("a descriptor made of its path");
}

/* -- Others -------------------------------------------------------------------- */

static int seek_errno(int fd)
{
	return lseek(fd, offset, SYSCRIPT_SEEK_CALL) < 0 ? errno : 0;
}

static void test_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(seek_errno(script));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), EXDEV);
	nothing_called("a child");
}

static void test_passed(void)
{
	int socks[2], status;
	pid_t pid;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, socks), 0);
	pid = fork();
	if (!pid) {
		close(script);
		_exit(seek_errno(pass_fd_receive(socks[1])));
	}
	pass_fd_send(socks[0], script);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), EXDEV);
	nothing_called("who got the descriptor");
	close(socks[0]);
	close(socks[1]);
}

/* A 32-bit system call of the same process, with a structure within its reach. */
static void test_compat(void)
{
	struct syscript_call *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE |
					 MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long ret = 19;	/* lseek */

	CHECK(low != MAP_FAILED);
	*low = *call;
	asm volatile("int $0x80" : "+a" (ret)
		     : "b" (script), "c" (-(int)(uintptr_t)low), "d" (SYSCRIPT_SEEK_CALL)
		     : "memory", "r8", "r9", "r10", "r11");
	CHECK((int)ret == -ENOTTY || (int)ret == -ENOSYS);
	CHECK_EQ(low->nresults, 0);
	nothing_called("a call of a 32-bit process");
	munmap(low, 4096);
}

/* -- The kernel's own threads --------------------------------------------------- */

static void test_aio(void)
{
	static const unsigned char codes[] = {
		IOCB_CMD_PREAD, IOCB_CMD_PWRITE, IOCB_CMD_FSYNC, IOCB_CMD_PREADV,
	};
	aio_context_t context = 0;
	char buf[64] = { 0 };

	if (syscall(SYS_io_setup, 4, &context))
		return;
	for (size_t i = 0; i < sizeof(codes); i++) {
		struct iocb cb = {
			.aio_lio_opcode = codes[i], .aio_fildes = script,
			.aio_buf = (uintptr_t)buf, .aio_nbytes = 64, .aio_offset = offset,
		};
		struct iocb *list = &cb;

		CHECK_EQ(syscall(SYS_io_submit, context, 1, &list), -1);
	}
	syscall(SYS_io_destroy, context);
	nothing_called("io_submit(2)");
}

static void test_uring(void)
{
	/* Operations without effect on such a file may succeed. */
	static const unsigned char codes[] = {
		IORING_OP_READV, IORING_OP_WRITEV, IORING_OP_FSYNC,
		IORING_OP_SYNC_FILE_RANGE, IORING_OP_FALLOCATE, IORING_OP_READ,
		IORING_OP_WRITE, IORING_OP_FADVISE, IORING_OP_SPLICE, IORING_OP_TEE,
		IORING_OP_SEND, IORING_OP_RECV, IORING_OP_SHUTDOWN,
	};
	struct iovec iov = { .iov_base = (char [64]){ 0 }, .iov_len = 64 };
	struct ring ring = { 0 };

	if (!ring_open(&ring))
		return;
	for (size_t i = 0; i < 2 * sizeof(codes); i++) {
		struct io_uring_sqe sqe = {
			.opcode = codes[i / 2], .fd = script, .off = offset,
			.addr = (uintptr_t)&iov, .len = 1,
			/* Also from the ring's own thread, which shares the process's memory. */
			.flags = i & 1 ? IOSQE_ASYNC : 0,
		};

		ring_submit(&ring, sqe);
		/* Some requests wait until the script is readable, which never happens. */
		abi_sleep(0.01);
		ring_drain(&ring);
	}
	nothing_called("io_uring");
	ring_close(&ring);
}

/* Root uses the script as a loop device's file. */
static void test_loop(void)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), loop, n;
	char path[32];

	n = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
	if (n < 0)
		return;
	snprintf(path, sizeof(path), "/dev/loop%d", n);
	loop = open(path, O_RDWR | O_CLOEXEC);
	if (loop >= 0) {
		struct loop_config config = {
			.fd = script, .info = { .lo_offset = offset },
		};

		CHECK_EQ(ioctl(loop, LOOP_CONFIGURE, &config), -1);
		CHECK_EQ(ioctl(loop, LOOP_SET_FD, script), -1);
		close(loop);
	}
	close(control);
	nothing_called("a loop device");
}

int main(void)
{
	struct syscript_call given = { .nargs = 2, .args = { 40, 2 } };

	abi_open();
	call = &given;
	offset = -(off_t)call;
	script = abi_must_register(ABI_ADD);
	test_calls();
	test_opening();
	test_child();
	test_passed();
	test_compat();
	test_aio();
	test_uring();
	test_loop();
	/* After all this it can still be called. */
	CHECK_EQ(lseek(script, offset, SYSCRIPT_SEEK_CALL), SYSCRIPT_SEEK_CALLED);
	CHECK_EQ(calls(), 1);
	close(script);
	return abi_verdict();
}
