// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The functions of changes.def: libc's own, and what follows from them. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include "speedup.h"
#include "sys.h"

/* A handler may be what calls it: errno has to stay as libc leaves it. */
static void then_drop(const int *unused)
{
	(void)unused;
	speedup_drop();
}

static void then_saw(const int *unused)
{
	(void)unused;
	speedup_saw();
}

#define AFTERWARDS(what) int afterwards __attribute__((cleanup(what), unused)) = 0

#define PASSES_ON(type, name, parameters, arguments, then)	\
PUBLIC type name parameters				\
{							\
	static type (*next) parameters;			\
	AFTERWARDS(then);				\
							\
	NEXT(next, #name);				\
	return next arguments;				\
}
#define CHANGES(type, name, parameters, arguments)		\
	PASSES_ON(type, name, parameters, arguments, then_drop)
#define LEARNS CHANGES
#define SEES(type, name, parameters, arguments)		\
	PASSES_ON(type, name, parameters, arguments, then_saw)
#define STOPS(type, name, parameters, arguments)	\
PUBLIC type name parameters				\
{							\
	static type (*next) parameters;			\
							\
	NEXT(next, #name);				\
	speedup_stop();					\
	return next arguments;				\
}
#include "changes.def"

/* -- Reading ------------------------------------------------------------------------ */

#undef getc
#undef getchar
#undef fread_unlocked

#define READS CHANGES
READS(ssize_t, read, (int d, void *b, size_t n), (d, b, n))
READS(ssize_t, pread, (int d, void *b, size_t n, off_t o), (d, b, n, o))
READS(ssize_t, pread64, (int d, void *b, size_t n, off64_t o), (d, b, n, o))
READS(ssize_t, preadv, (int d, const struct iovec *v, int n, off_t o), (d, v, n, o))
READS(ssize_t, preadv64, (int d, const struct iovec *v, int n, off64_t o), (d, v, n, o))
READS(ssize_t, readv, (int d, const struct iovec *v, int n), (d, v, n))
READS(ssize_t, __read_chk, (int d, void *b, size_t n, size_t s), (d, b, n, s))
READS(char *, fgets, (char *restrict s, int n, FILE *restrict f), (s, n, f))
READS(char *, fgets_unlocked, (char *restrict s, int n, FILE *restrict f), (s, n, f))
READS(char *, __fgets_chk, (char *s, size_t z, int n, FILE *f), (s, z, n, f))
READS(char *, __fgets_unlocked_chk, (char *s, size_t z, int n, FILE *f), (s, z, n, f))
READS(size_t, fread, (void *restrict b, size_t s, size_t n, FILE *restrict f), (b, s, n, f))
READS(size_t, fread_unlocked, (void *restrict b, size_t s, size_t n, FILE *restrict f), (b, s, n, f))
READS(size_t, __fread_chk, (void *b, size_t z, size_t s, size_t n, FILE *f), (b, z, s, n, f))
READS(size_t, __fread_unlocked_chk, (void *b, size_t z, size_t s, size_t n, FILE *f), (b, z, s, n, f))
READS(ssize_t, getline, (char **restrict l, size_t *restrict n, FILE *restrict f), (l, n, f))
READS(ssize_t, getdelim, (char **restrict l, size_t *restrict n, int d, FILE *restrict f), (l, n, d, f))
READS(ssize_t, __getdelim, (char **restrict l, size_t *restrict n, int d, FILE *restrict f), (l, n, d, f))
READS(int, fgetc, (FILE *f), (f))
READS(int, getc, (FILE *f), (f))
READS(int, getchar, (void), ())
READS(int, __uflow, (FILE *f), (f))
READS(int, __isoc99_vfscanf, (FILE *restrict f, const char *restrict m, va_list a), (f, m, a))

#define SCANS(name, parameters, last, file, with)	\
PUBLIC int name parameters				\
{							\
	va_list args;					\
	int ret;					\
							\
	va_start(args, last);				\
	ret = with(file, last, args);			\
	va_end(args);					\
	return ret;					\
}

int __isoc99_scanf(const char *restrict m, ...);
int __isoc99_fscanf(FILE *restrict f, const char *restrict m, ...);
SCANS(__isoc99_scanf, (const char *restrict m, ...), m, stdin, __isoc99_vfscanf)
SCANS(__isoc99_fscanf, (FILE *restrict f, const char *restrict m, ...), m, f, __isoc99_vfscanf)

/* Of a stream in memory there is none, which is no error of the caller's. */
static int number_of(FILE *f)
{
	int saved = errno, fd = fileno(f);

	errno = saved;
	return fd;
}

/* -- Opening and closing ------------------------------------------------------------ */

#define NEEDS_MODE(flags) ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE)

#define OPENS(name, parameters, first, flags)		\
PUBLIC int name parameters				\
{							\
	static int (*next) parameters;			\
	mode_t mode = 0;				\
	va_list args;					\
	int fd;						\
							\
	NEXT(next, #name);				\
	if (NEEDS_MODE(flags)) {			\
		va_start(args, flags);			\
		mode = va_arg(args, mode_t);		\
		va_end(args);				\
	}						\
	fd = next first;				\
	own_files_opened(fd, flags);			\
	speedup_drop();					\
	return fd;					\
}

OPENS(open, (const char *p, int f, ...), (p, f, mode), f)
OPENS(open64, (const char *p, int f, ...), (p, f, mode), f)
OPENS(openat, (int d, const char *p, int f, ...), (d, p, f, mode), f)
OPENS(openat64, (int d, const char *p, int f, ...), (d, p, f, mode), f)

#define MAKES_FD(name, parameters, arguments, flags)	\
int name parameters;					\
PUBLIC int name parameters				\
{							\
	static int (*next) parameters;			\
	int fd;						\
							\
	NEXT(next, #name);				\
	fd = next arguments;				\
	own_files_opened(fd, flags);			\
	speedup_drop();					\
	return fd;					\
}

MAKES_FD(creat, (const char *p, mode_t m), (p, m), O_WRONLY)
MAKES_FD(creat64, (const char *p, mode_t m), (p, m), O_WRONLY)
MAKES_FD(__open_2, (const char *p, int f), (p, f), f)
MAKES_FD(__open64_2, (const char *p, int f), (p, f), f)
MAKES_FD(__openat_2, (int d, const char *p, int f), (d, p, f), f)
MAKES_FD(__openat64_2, (int d, const char *p, int f), (d, p, f), f)
MAKES_FD(mkstemp, (char *t), (t), O_RDWR)
MAKES_FD(mkstemp64, (char *t), (t), O_RDWR)
MAKES_FD(mkostemp, (char *t, int f), (t, f), O_RDWR)
MAKES_FD(mkostemp64, (char *t, int f), (t, f), O_RDWR)
MAKES_FD(mkstemps, (char *t, int n), (t, n), O_RDWR)
MAKES_FD(mkstemps64, (char *t, int n), (t, n), O_RDWR)
MAKES_FD(mkostemps, (char *t, int n, int f), (t, n, f), O_RDWR)
MAKES_FD(mkostemps64, (char *t, int n, int f), (t, n, f), O_RDWR)

static void stream_opened(FILE *f)
{
	if (f)
		own_files_opened(number_of(f), 0);
	speedup_drop();
}

#define OPENS_STREAM(name, parameters, arguments)	\
PUBLIC FILE *name parameters				\
{							\
	static FILE *(*next) parameters;		\
	FILE *f;					\
							\
	NEXT(next, #name);				\
	f = next arguments;				\
	stream_opened(f);				\
	return f;					\
}

OPENS_STREAM(fopen, (const char *restrict p, const char *restrict m), (p, m))
OPENS_STREAM(fopen64, (const char *restrict p, const char *restrict m), (p, m))

#define REOPENS_STREAM(name)								\
PUBLIC FILE *name(const char *restrict p, const char *restrict m, FILE *restrict f)	\
{											\
	static FILE *(*next)(const char *restrict, const char *restrict, FILE *restrict);	\
											\
	NEXT(next, #name);								\
	speedup_closing(number_of(f));							\
	f = next(p, m, f);								\
	stream_opened(f);								\
	return f;									\
}

REOPENS_STREAM(freopen)
REOPENS_STREAM(freopen64)

#define CLOSES(name, parameters, arguments, fd)		\
PUBLIC int name parameters				\
{							\
	static int (*next) parameters;			\
							\
	NEXT(next, #name);				\
	speedup_closing(fd);				\
	return next arguments;				\
}

CLOSES(close, (int d), (d), d)
CLOSES(fclose, (FILE *f), (f), number_of(f))

/* A copy of a descriptor is one more by which a file can be changed. */
#define COPIES(name, parameters, arguments, becomes)	\
PUBLIC int name parameters				\
{							\
	static int (*next) parameters;			\
	int fd;						\
							\
	NEXT(next, #name);				\
	speedup_closing(becomes);			\
	fd = next arguments;				\
	own_files_copied(d, fd);			\
	return fd;					\
}

COPIES(dup, (int d), (d), -1)
COPIES(dup2, (int d, int e), (d, e), e)
COPIES(dup3, (int d, int e, int f), (d, e, f), e)

/* Not by libc's function: what allocates memory may call this before there is one. */
static void *map(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	long ret;

	if (fd >= 0 && flags & MAP_SHARED)
		own_files_mapped(fd);
	ret = sys_call(mmap, at, n, prot, flags, fd, offset);
	if (ret < 0 && ret >= -4095) {
		errno = -ret;
		return MAP_FAILED;
	}
	return (void *)ret;
}

PUBLIC void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	return map(at, n, prot, flags, fd, offset);
}

PUBLIC void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t offset)
{
	return map(at, n, prot, flags, fd, offset);
}

static void close_all(unsigned int first, unsigned int last)
{
	for (unsigned int fd = first; fd <= last && fd < 1024; fd++)
		speedup_closing(fd);
}

PUBLIC int close_range(unsigned int first, unsigned int last, int flags)
{
	static int (*next)(unsigned int, unsigned int, int);

	NEXT(next, "close_range");
	close_all(first, last);
	return next(first, last, flags);
}

PUBLIC void closefrom(int first)
{
	static void (*next)(int);

	NEXT(next, "closefrom");
	close_all(first < 0 ? 0 : first, ~0U);
	next(first);
}

/* -- Those that can do anything ------------------------------------------------------- */

/* An argument more than was passed is some register, which is not read. */
#define ANYTHING(type, name, parameters, last, arguments)	\
PUBLIC type name parameters					\
{								\
	static type (*next) parameters;				\
	AFTERWARDS(then_drop);					\
	va_list args;						\
	void *arg;						\
								\
	NEXT(next, #name);					\
	va_start(args, last);					\
	arg = va_arg(args, void *);				\
	va_end(args);						\
	return next arguments;					\
}

ANYTHING(int, ioctl, (int d, unsigned long request, ...), request, (d, request, arg))

/* Locks tell of others; copies of a descriptor do not. */
static bool is_harmless(int command)
{
	return command == F_DUPFD || command == F_DUPFD_CLOEXEC || command == F_GETFD ||
		command == F_SETFD || command == F_GETFL;
}

#define CONTROLS(name)							\
PUBLIC int name(int d, int command, ...)				\
{									\
	static int (*next)(int, int, ...);				\
	va_list args;							\
	void *arg;							\
	int ret;							\
									\
	NEXT(next, #name);						\
	va_start(args, command);					\
	arg = va_arg(args, void *);					\
	va_end(args);							\
	ret = next(d, command, arg);					\
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)		\
		own_files_copied(d, ret);				\
	if (!is_harmless(command))					\
		speedup_drop();						\
	return ret;							\
}

CONTROLS(fcntl)
CONTROLS(fcntl64)

PUBLIC int prctl(int option, ...)
{
	static int (*next)(int, ...);
	unsigned long arg[4];
	va_list args;

	NEXT(next, "prctl");
	va_start(args, option);
	for (int i = 0; i < 4; i++)
		arg[i] = va_arg(args, unsigned long);
	va_end(args);
	/* A filter may kill for what this library does. */
	if (option == PR_SET_SECCOMP)
		speedup_stop();
	return next(option, arg[0], arg[1], arg[2], arg[3]);
}

PUBLIC long syscall(long number, ...)
{
	unsigned long arg[6];
	va_list args;
	long ret;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, unsigned long);
	va_end(args);
	/* With descriptors and namespaces it may do what cannot be followed. */
	switch (number) {
	case SYS_seccomp: case SYS_unshare: case SYS_setns: case SYS_chroot:
	case SYS_pivot_root: case SYS_clone: case SYS_clone3: case SYS_io_uring_setup:
	case SYS_open: case SYS_openat: case SYS_openat2: case SYS_creat:
	case SYS_close: case SYS_close_range: case SYS_dup2: case SYS_dup3:
		speedup_stop();
	}
	ret = sys_call6(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	speedup_drop();
	if (ret < 0 && ret >= -4095) {
		errno = -ret;
		return -1;
	}
	return ret;
}
