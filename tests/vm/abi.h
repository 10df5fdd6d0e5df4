/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The bare interface of uapi/syscript.h, for tests that must not use libsyscript. All functions
 * return the kernel's result, or -errno.
 *
 * A test is a program whose main() calls its parts and returns abi_verdict(): exit status 0 passed,
 * 1 failed (each failure is printed), 77 skipped.
 */
#ifndef TESTS_ABI_H
#define TESTS_ABI_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "uapi/syscript.h"

static int abi_failures;
static int abi_device = -1;

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			printf("%s:%d: not so: %s\n", __FILE__, __LINE__, \
			       #condition); \
			__atomic_fetch_add(&abi_failures, 1, __ATOMIC_RELAXED); \
		} \
	} while (0)

/* Both values are printed when they differ. */
#define CHECK_EQ(got, want) \
	do { \
		long long got_ = (got), want_ = (want); \
		if (got_ != want_) { \
			printf("%s:%d: %s is %lld, should be %lld\n", __FILE__, \
			       __LINE__, #got, got_, want_); \
			__atomic_fetch_add(&abi_failures, 1, __ATOMIC_RELAXED); \
		} \
	} while (0)

/*
 * A time limit, in ns, for scripts that do not test limits: an emulated CPU may stand still for
 * longer than the default.
 */
#define ABI_PATIENCE	10000000000ULL

#define SKIP(reason) \
	do { \
		printf("skipped: %s\n", reason); \
		exit(77); \
	} while (0)

static inline int abi_verdict(void)
{
	if (!abi_failures)
		return 0;
	printf("%d checks failed\n", abi_failures);
	return 1;
}

static inline void abi_open(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	abi_device = open("/dev/syscript-luajit", O_RDWR | O_CLOEXEC);
	if (abi_device < 0 && errno == ENOENT)
		SKIP("no /dev/syscript-luajit: load the module first");
	if (abi_device < 0) {
		perror("/dev/syscript-luajit");
		exit(1);
	}
}

static inline long abi_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = ioctl(fd, request, arg);

	return ret < 0 ? -errno : ret;
}

/* The request's number for a structure of another size. */
static inline unsigned long abi_sized(unsigned long request, size_t size)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), size);
}

static inline struct syscript_register abi_source(const char *source)
{
	return (struct syscript_register){
		.image = (uintptr_t)source,
		.image_len = strlen(source),
		.time_limit = ABI_PATIENCE,
		.name = "test",
	};
}

static inline int abi_register_struct(struct syscript_register *reg)
{
	return abi_ioctl(abi_device, SYSCRIPT_IOC_REGISTER, reg);
}

/* @time in ns, @memory in bytes, 0 for the defaults. */
static inline int abi_register_limits(const char *source, unsigned int flags,
				      uint64_t memory, uint64_t time)
{
	struct syscript_register reg = abi_source(source);

	reg.flags = flags;
	reg.memory_limit = memory;
	reg.time_limit = time;
	return abi_register_struct(&reg);
}

static inline int abi_register(const char *source)
{
	return abi_register_limits(source, 0, 0, ABI_PATIENCE);
}

/* For tests that cannot continue without the script. */
static inline int abi_must_register(const char *source)
{
	int fd = abi_register(source);

	if (fd < 0) {
		printf("cannot register \"%s\": %s\n", source, strerror(-fd));
		exit(1);
	}
	return fd;
}

/* A way to call a script: 0, or -errno. */
typedef long abi_way(int fd, struct syscript_call *call);

static inline long abi_call_ioctl(int fd, struct syscript_call *call)
{
	return abi_ioctl(fd, SYSCRIPT_IOC_CALL, call);
}

static inline long abi_call_seek(int fd, struct syscript_call *call)
{
	off_t ret = lseek(fd, -(off_t)call, SYSCRIPT_SEEK_CALL);

	if (ret < 0)
		return -errno;
	return ret == SYSCRIPT_SEEK_CALLED ? 0 : ret;
}

/* run(a, b): 0 with the first result in @result, or -errno. */
static inline int abi_call(int fd, int64_t a, int64_t b, int64_t *result)
{
	struct syscript_call call = { .nargs = 2, .args = { a, b } };
	int err = abi_call_seek(fd, &call);

	if (!err && result)
		*result = call.nresults ? call.results[0] : 0;
	return err;
}

/* Length of the text, or -errno; @buf always becomes a terminated string. */
static inline int abi_text(int fd, unsigned int which, char *buf, size_t size)
{
	struct syscript_text text = {
		.which = which, .len = size - 1, .buffer = (uintptr_t)buf,
	};
	int err;

	memset(buf, 0, size);
	err = abi_ioctl(fd, SYSCRIPT_IOC_TEXT, &text);
	return err ? err : (int)text.len;
}

static inline int abi_info(int fd, struct syscript_info *info)
{
	memset(info, 0, sizeof(*info));
	return abi_ioctl(fd, SYSCRIPT_IOC_INFO, info);
}

/* The first script with an id above @id that this task may see. */
static inline int abi_next(uint64_t id, struct syscript_info *info)
{
	memset(info, 0, sizeof(*info));
	info->id = id;
	return abi_ioctl(abi_device, SYSCRIPT_IOC_NEXT, info);
}

/* The number of scripts of process @pid in the list. */
static inline int abi_count(pid_t pid)
{
	struct syscript_info info;
	uint64_t id = 0;
	int n = 0, err;

	while (!(err = abi_next(id, &info))) {
		CHECK(info.id > id);
		n += info.pid == pid;
		id = info.id;
	}
	CHECK_EQ(err, -ENOENT);
	return n;
}

static inline void abi_parameter_path(char *path, size_t size, const char *name)
{
	snprintf(path, size, "/sys/module/%s/parameters/%s",
		 strcmp(name, "jit") ? "syscript" : "syscript_luajit", name);
}

/* A module parameter's value, or -1. */
static inline long long abi_parameter(const char *name)
{
	char path[128];
	long long value = -1;
	FILE *f;

	abi_parameter_path(path, sizeof(path), name);
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fscanf(f, "%lld", &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

/* 0 or -errno. */
static inline int abi_set_parameter(const char *name, const char *value)
{
	char path[128];
	int fd, err = 0;

	abi_parameter_path(path, sizeof(path), name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static inline double abi_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static inline void abi_sleep(double seconds)
{
	struct timespec t = { seconds, (seconds - (long)seconds) * 1e9 };

	nanosleep(&t, NULL);
}

#define ABI_ADD		"function run(a, b) return a + b end"
#define ABI_LOOP	"function run() while true do end end"
/* Sleeps @a ms in a system call: time that no limit counts. */
#define ABI_SLEEP	"function run(ms) return syscall.poll(0, 0, ms) end"

#endif /* TESTS_ABI_H */
