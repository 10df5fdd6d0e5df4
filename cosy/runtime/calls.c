// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * System calls under the names that the C library has for them: -1 and errno, or
 * the result. Only the sizes of arguments matter, so the C library's headers are not included:
 * variadic functions have all their arguments here, and the plugin passes 0 for missing ones.
 */
#define __COSY_RUNTIME__
#include "../../core/syscalls_nr.h"
#include "runtime.h"

/* What the plugin knows of the machine's system calls; not part of compounds. */
const struct {
	unsigned int nr, args;
	const char *wrong;
} __cosy_calls[] = {
#define SYSCALL(name, kinds, flags)	{ __NR_##name, sizeof(kinds) - 1, "" },
#define SYSCALL_EXCLUDED(name, reason)	{ __NR_##name, 0, #name "(2) in a segment: " reason },
#include "../../core/syscalls.def"
};

int *__errno_location(void)
{
	return &piece()->errno_value;
}

static inline __attribute__((always_inline)) long result(long ret)
{
	if ((unsigned long)ret <= -4096UL)
		return ret;
	piece()->errno_value = -ret;
	return -1;
}

/* Types of arguments by size: int and unsigned int; long and size_t; pointers. */
typedef int I;
typedef unsigned int U;
typedef long L;
typedef void *P;

#define RAW(nr, a, b, c, d, e, f) \
	__cosy_syscall(nr, (L)(a), (L)(b), (L)(c), (L)(d), (L)(e), (L)(f))
#define CALL(nr, ...) result(RAW(nr, __VA_ARGS__))

#define CALL0(type, name, nr) \
	type name(void) { return (type)CALL(nr, 0, 0, 0, 0, 0, 0); }
#define CALL1(type, name, nr, A) \
	type name(A a) { return (type)CALL(nr, a, 0, 0, 0, 0, 0); }
#define CALL2(type, name, nr, A, B) \
	type name(A a, B b) { return (type)CALL(nr, a, b, 0, 0, 0, 0); }
#define CALL3(type, name, nr, A, B, C) \
	type name(A a, B b, C c) { return (type)CALL(nr, a, b, c, 0, 0, 0); }
#define CALL4(type, name, nr, A, B, C, D) \
	type name(A a, B b, C c, D d) { return (type)CALL(nr, a, b, c, d, 0, 0); }
#define CALL5(type, name, nr, A, B, C, D, E) \
	type name(A a, B b, C c, D d, E e) { return (type)CALL(nr, a, b, c, d, e, 0); }
#define CALL6(type, name, nr, A, B, C, D, E, F) \
	type name(A a, B b, C c, D d, E e, F f) { return (type)CALL(nr, a, b, c, d, e, f); }

#ifdef __x86_64__
CALL3(I, getdents, __NR_getdents, I, P, L)
CALL5(I, select, __NR_select, I, P, P, P, P)
CALL1(L, time, __NR_time, P)
#endif

/* Files */
CALL3(L, read, __NR_read, I, P, L)
CALL3(L, write, __NR_write, I, P, L)
CALL3(I, open, __NR_open, P, I, U)
CALL3(I, open64, __NR_open, P, I, U)
CALL4(I, openat, __NR_openat, I, P, I, U)
CALL4(I, openat64, __NR_openat, I, P, I, U)
CALL2(I, creat, __NR_creat, P, U)
CALL1(I, close, __NR_close, I)
CALL3(L, lseek, __NR_lseek, I, L, I)
CALL3(L, lseek64, __NR_lseek, I, L, I)
CALL4(L, pread, __NR_pread64, I, P, L, L)
CALL4(L, pread64, __NR_pread64, I, P, L, L)
CALL4(L, pwrite, __NR_pwrite64, I, P, L, L)
CALL4(L, pwrite64, __NR_pwrite64, I, P, L, L)
CALL3(L, readv, __NR_readv, I, P, I)
CALL3(L, writev, __NR_writev, I, P, I)
CALL4(L, preadv, __NR_preadv, I, P, I, L)
CALL4(L, preadv64, __NR_preadv, I, P, I, L)
CALL4(L, pwritev, __NR_pwritev, I, P, I, L)
CALL4(L, pwritev64, __NR_pwritev, I, P, I, L)
CALL2(I, truncate, __NR_truncate, P, L)
CALL2(I, truncate64, __NR_truncate, P, L)
CALL2(I, ftruncate, __NR_ftruncate, I, L)
CALL2(I, ftruncate64, __NR_ftruncate, I, L)
CALL1(I, fsync, __NR_fsync, I)
CALL1(I, fdatasync, __NR_fdatasync, I)
CALL4(I, fallocate, __NR_fallocate, I, I, L, L)
CALL4(I, fallocate64, __NR_fallocate, I, I, L, L)
CALL4(I, sync_file_range, __NR_sync_file_range, I, L, L, U)
CALL4(L, readahead, __NR_readahead, I, L, L, L)
CALL2(I, flock, __NR_flock, I, I)
CALL3(I, fcntl, __NR_fcntl, I, I, L)
CALL3(I, fcntl64, __NR_fcntl, I, I, L)
CALL3(I, ioctl, __NR_ioctl, I, L, L)
CALL1(I, dup, __NR_dup, I)
CALL2(I, dup2, __NR_dup2, I, I)
CALL3(I, dup3, __NR_dup3, I, I, I)
CALL1(I, pipe, __NR_pipe, P)
CALL2(I, pipe2, __NR_pipe2, P, I)
CALL4(L, sendfile, __NR_sendfile, I, I, P, L)
CALL4(L, sendfile64, __NR_sendfile, I, I, P, L)
CALL6(L, splice, __NR_splice, I, P, I, P, L, U)
CALL4(L, tee, __NR_tee, I, I, L, U)
CALL4(L, vmsplice, __NR_vmsplice, I, P, L, U)
CALL6(L, copy_file_range, __NR_copy_file_range, I, P, I, P, L, U)

/* Names and attributes */
CALL2(I, stat, __NR_stat, P, P)
CALL2(I, stat64, __NR_stat, P, P)
CALL2(I, lstat, __NR_lstat, P, P)
CALL2(I, lstat64, __NR_lstat, P, P)
CALL2(I, fstat, __NR_fstat, I, P)
CALL2(I, fstat64, __NR_fstat, I, P)
CALL4(I, fstatat, __NR_newfstatat, I, P, P, I)
CALL4(I, fstatat64, __NR_newfstatat, I, P, P, I)
CALL5(I, statx, __NR_statx, I, P, I, U, P)
CALL2(I, access, __NR_access, P, I)
CALL3(L, getdents64, __NR_getdents64, I, P, L)
CALL3(L, readlink, __NR_readlink, P, P, L)
CALL4(L, readlinkat, __NR_readlinkat, I, P, P, L)
CALL1(I, unlink, __NR_unlink, P)
CALL3(I, unlinkat, __NR_unlinkat, I, P, I)
CALL2(I, rename, __NR_rename, P, P)
CALL4(I, renameat, __NR_renameat, I, P, I, P)
CALL5(I, renameat2, __NR_renameat2, I, P, I, P, U)
CALL2(I, mkdir, __NR_mkdir, P, U)
CALL3(I, mkdirat, __NR_mkdirat, I, P, U)
CALL1(I, rmdir, __NR_rmdir, P)
CALL2(I, link, __NR_link, P, P)
CALL5(I, linkat, __NR_linkat, I, P, I, P, I)
CALL2(I, symlink, __NR_symlink, P, P)
CALL3(I, symlinkat, __NR_symlinkat, P, I, P)
CALL2(I, chmod, __NR_chmod, P, U)
CALL2(I, fchmod, __NR_fchmod, I, U)
CALL3(I, chown, __NR_chown, P, U, U)
CALL3(I, lchown, __NR_lchown, P, U, U)
CALL3(I, fchown, __NR_fchown, I, U, U)
CALL5(I, fchownat, __NR_fchownat, I, P, U, U, I)
CALL4(I, utimensat, __NR_utimensat, I, P, P, I)
CALL1(I, chdir, __NR_chdir, P)
CALL1(I, fchdir, __NR_fchdir, I)
CALL1(U, umask, __NR_umask, U)
CALL2(I, statfs, __NR_statfs, P, P)
CALL2(I, statfs64, __NR_statfs, P, P)
CALL2(I, fstatfs, __NR_fstatfs, I, P)
CALL2(I, fstatfs64, __NR_fstatfs, I, P)

/* Sockets */
CALL3(I, socket, __NR_socket, I, I, I)
CALL4(I, socketpair, __NR_socketpair, I, I, I, P)
CALL3(I, bind, __NR_bind, I, P, U)
CALL2(I, listen, __NR_listen, I, I)
CALL3(I, connect, __NR_connect, I, P, U)
CALL3(I, accept, __NR_accept, I, P, P)
CALL4(I, accept4, __NR_accept4, I, P, P, I)
CALL2(I, shutdown, __NR_shutdown, I, I)
CALL5(I, setsockopt, __NR_setsockopt, I, I, I, P, U)
CALL5(I, getsockopt, __NR_getsockopt, I, I, I, P, P)
CALL3(I, getsockname, __NR_getsockname, I, P, P)
CALL3(I, getpeername, __NR_getpeername, I, P, P)
CALL6(L, sendto, __NR_sendto, I, P, L, I, P, U)
CALL6(L, recvfrom, __NR_recvfrom, I, P, L, I, P, P)
CALL3(L, sendmsg, __NR_sendmsg, I, P, I)
CALL3(L, recvmsg, __NR_recvmsg, I, P, I)
CALL4(I, sendmmsg, __NR_sendmmsg, I, P, U, I)
CALL5(I, recvmmsg, __NR_recvmmsg, I, P, U, I, P)

L send(I fd, P buf, L n, I flags)
{
	return CALL(__NR_sendto, fd, buf, n, flags, 0, 0);
}

L recv(I fd, P buf, L n, I flags)
{
	return CALL(__NR_recvfrom, fd, buf, n, flags, 0, 0);
}

/* Waiting */
CALL3(I, poll, __NR_poll, P, L, I)
CALL1(I, epoll_create, __NR_epoll_create, I)
CALL1(I, epoll_create1, __NR_epoll_create1, I)
CALL4(I, epoll_ctl, __NR_epoll_ctl, I, I, I, P)
CALL4(I, epoll_wait, __NR_epoll_wait, I, P, I, I)
CALL2(I, eventfd, __NR_eventfd2, U, I)
CALL2(I, timerfd_create, __NR_timerfd_create, I, I)
CALL4(I, timerfd_settime, __NR_timerfd_settime, I, I, P, P)
CALL2(I, timerfd_gettime, __NR_timerfd_gettime, I, P)

#define SIGSET_SIZE	8

I ppoll(P fds, L n, P timeout, P mask)
{
	return CALL(__NR_ppoll, fds, n, timeout, mask, SIGSET_SIZE, 0);
}

I epoll_pwait(I fd, P events, I n, I timeout, P mask)
{
	return CALL(__NR_epoll_pwait, fd, events, n, timeout, mask, SIGSET_SIZE);
}

I signalfd(I fd, P mask, I flags)
{
	return CALL(__NR_signalfd4, fd, mask, SIGSET_SIZE, flags, 0, 0);
}

/* Memory */
CALL6(P, mmap, __NR_mmap, P, L, I, I, I, L)
CALL6(P, mmap64, __NR_mmap, P, L, I, I, I, L)
CALL2(I, munmap, __NR_munmap, P, L)
CALL3(I, mprotect, __NR_mprotect, P, L, I)
CALL3(I, madvise, __NR_madvise, P, L, I)
CALL3(I, msync, __NR_msync, P, L, I)
CALL2(I, memfd_create, __NR_memfd_create, P, U)

/* Time, and IDs of users and processes */
CALL2(I, clock_gettime, __NR_clock_gettime, I, P)
CALL2(I, clock_getres, __NR_clock_getres, I, P)
CALL2(I, gettimeofday, __NR_gettimeofday, P, P)
CALL2(I, nanosleep, __NR_nanosleep, P, P)
CALL0(I, sched_yield, __NR_sched_yield)
CALL0(I, getpid, __NR_getpid)
CALL0(I, getppid, __NR_getppid)
CALL0(I, gettid, __NR_gettid)
CALL0(U, getuid, __NR_getuid)
CALL0(U, geteuid, __NR_geteuid)
CALL0(U, getgid, __NR_getgid)
CALL0(U, getegid, __NR_getegid)
CALL2(I, kill, __NR_kill, I, I)
CALL3(I, tgkill, __NR_tgkill, I, I, I)
CALL2(I, getrusage, __NR_getrusage, I, P)
CALL3(L, getrandom, __NR_getrandom, P, L, U)

/* These return the error number itself. */
I posix_fadvise(I fd, L offset, L n, I advice)
{
	return -RAW(__NR_fadvise64, fd, offset, n, advice, 0, 0);
}

I posix_fallocate(I fd, L offset, L n)
{
	return -RAW(__NR_fallocate, fd, 0, offset, n, 0, 0);
}

I clock_nanosleep(I clock, I flags, P want, P rest)
{
	return -RAW(__NR_clock_nanosleep, clock, flags, want, rest, 0, 0);
}

__attribute__((always_inline)) L syscall(L nr, L a, L b, L c, L d, L e, L f)
{
	if (__builtin_constant_p(nr))
		return CALL(nr, a, b, c, d, e, f);
	return result(__cosy_syscall_number(nr, (L[]){ a, b, c, d, e, f }));
}
