// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A program uses the library to load packet filters, without root, into a network namespace of its
 * own: an object compiled by clang, and Lua.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <syscript_programs.h>

#include "abi.h"

#define NOBODY		65534
#define PORT		4000
#define A_SECOND	10		/* examples/netfilter/limit.c */
#define OBJECT		"build/tests/programs/limit.o"

static char error[1024];

static void enter_namespace(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd;

	if (!getuid())
		CHECK_EQ(setgid(NOBODY) ?: setuid(NOBODY), 0);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		SKIP("no user namespaces here");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK_EQ(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
	close(fd);
}

/* Returns how many of @n datagrams to @port arrive. */
static int arrive(int port, int n)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), got = 0;
	char byte;

	CHECK_EQ(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	for (int i = 0; i < n; i++)
		CHECK_EQ(sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)), 1);
	while (recv(fd, &byte, 1, MSG_DONTWAIT) == 1)
		got++;
	close(fd);
	return got;
}

static size_t read_object(char *object, size_t size)
{
	int fd = open(OBJECT, O_RDONLY);
	ssize_t len = read(fd, object, size);

	CHECK(len > 0 && (size_t)len < size);
	close(fd);
	return len > 0 ? len : 0;
}

static int load(const char *name, const char *source,
		const struct syscript_load_options *options)
{
	return syscript_load(name, source, strlen(source), options, error, sizeof(error));
}

static void test_object(void)
{
	static char object[1 << 20];
	size_t len = read_object(object, sizeof(object));
	struct syscript_load_options options = { .size = sizeof(options), .where = "inet input" };
	struct syscript_program program = { 0 };
	int got;

	CHECK_EQ(syscript_load("limit", object, len, &options, error, sizeof(error)), 0);
	got = arrive(PORT, 30);
	CHECK(got >= A_SECOND && got <= 2 * A_SECOND);	/* in one second, or two */
	CHECK_EQ(arrive(PORT + 1, 30), 30);
	CHECK_EQ(syscript_next_program(&program), 0);
	CHECK(!strcmp(program.name, "limit") && !strcmp(program.where, "inet input"));
	CHECK(program.calls >= 60 && !program.errors);
	CHECK_EQ(syscript_next_program(&program), -ENOENT);
	options.flags = SYSCRIPT_LOAD_NEW;
	CHECK_EQ(syscript_load("limit", object, len, &options, error, sizeof(error)), -EEXIST);
	CHECK_EQ(syscript_unload("limit"), 0);
	CHECK_EQ(syscript_unload("limit"), -ENOENT);
	CHECK_EQ(arrive(PORT, 30), 30);
	/* Truncated anywhere, it is refused with a reason, or loaded. */
	for (size_t n = 1; n < len; n += 61) {
		int err = syscript_load("cut", object, n, NULL, error, sizeof(error));

		CHECK(err ? strlen(error) > 0 : !syscript_unload("cut"));
	}
}

static void test_lua(void)
{
	struct syscript_load_options options = {
		.size = sizeof(options), .source = "drop.lua", .where = "inet input",
	};

	CHECK_EQ(load("drop", "function run(packet)\n"
			      "  if packet.transport == 17 and packet:u2(packet.l4 + 2) == 4000 then\n"
			      "    return DROP\n"
			      "  end\n"
			      "  return ACCEPT\n"
			      "end\n", &options), 0);
	CHECK_EQ(arrive(PORT, 5), 0);
	CHECK_EQ(arrive(PORT + 1, 5), 5);
	CHECK_EQ(syscript_unload("drop"), 0);
	CHECK_EQ(load("drop", "function run(packet)\n  return nothing.at_all\nend\n", &options),
		 -ENOEXEC);
	CHECK(!strncmp(error, "drop.lua:2: ", 12));
}

/* A process calls a program by its name. */
static void test_process(void)
{
	struct syscript_load_options options = { .size = sizeof(options), .subsystem = "process" };
	int64_t result = 0;

	CHECK_EQ(load("sum", "function run(a, b) return a + b end", &options), 0);
	CHECK_EQ(syscript_invoke("sum", 2, (const int64_t[]){ 20, 22 }, NULL, 0, &result, error,
				 sizeof(error)), 0);
	CHECK_EQ(result, 42);
	CHECK_EQ(syscript_invoke("none", 0, NULL, NULL, 0, &result, NULL, 0), -ENOENT);
	CHECK_EQ(syscript_unload("sum"), 0);
}

static void test_refusals(void)
{
	struct syscript_load_options options = { .size = sizeof(options) };
	struct { struct syscript_load_options options; long newer; } longer = {
		.options = { .size = sizeof(longer) }, .newer = 1,
	};
	const char *pass = "function run(packet) return ACCEPT end";

	options.where = "inet nowhere";
	CHECK_EQ(load("bad", pass, &options), -EINVAL);
	CHECK(!strncmp(error, "cannot load bad: ", 17));
	options = (struct syscript_load_options){ .size = sizeof(options), .subsystem = "none" };
	CHECK(load("bad", pass, &options) < 0 && strlen(error));
	options = (struct syscript_load_options){ .size = sizeof(options), .flags = 1 << 30 };
	CHECK_EQ(load("bad", pass, &options), -EINVAL);
	CHECK_EQ(load("bad", pass, &longer.options), -E2BIG);
	options = (struct syscript_load_options){ .size = 1 };
	CHECK_EQ(load("bad", pass, &options), -EINVAL);
	CHECK_EQ(load("a name that is longer than names of programs can be, by some letters", pass,
		      NULL), -EINVAL);
	CHECK(strstr(error, "the name is longer than"));
	CHECK_EQ(syscript_load("bad", "\177ELF", 4, NULL, error, sizeof(error)), -EINVAL);
	CHECK(!strcmp(error, "bad: not an object of clang -target bpf"));
}

int main(void)
{
	enter_namespace();
	test_object();
	test_lua();
	test_process();
	test_refusals();
	return abi_verdict();
}
