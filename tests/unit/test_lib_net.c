// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * recvmmsg(2) and sendmmsg(2), net.recv() and net.send(), and the library's functions: the same
 * scene is played with each, and the final state must be the same.
 */
#include <netinet/udp.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <syscript_sockets.h>

#include "lib_test.h"

#define BATCH	16
#define ROOM	64

/* run(what, fd, addr, n, flags, max); what = 0 calls net.messages(). */
static const char source[] =
	"local m\n"
	"function run(what, fd, addr, n, flags, max)\n"
	"  if what == 0 then m = net.messages(addr, n) return 0 end\n"
	"  if what == 1 then return net.recv(fd, m, n, flags) end\n"
	"  if what == 2 then return net.send(fd, addr, n, flags) end\n"
	"  if what == 3 then return net.send(fd, addr, n, flags, m) end\n"
	"  local sum = 0\n"
	"  for i = 1, max do sum = sum + net.send(fd, addr, n, flags)\n"
	"    sum = sum + net.recv(fd, m, n, flags) end\n"
	"  return sum\n"
	"end\n";

enum { IMPORT, RECV, SEND, REPLY, LOOP };

enum way { PLAIN, SCRIPT, LIBRARY, WAYS };
static const char *const ways[] = { "plain", "script", "library" };

static int script;

/* Everything that the calls read and write, so that memcmp() compares two scenes. */
struct scene {
	struct mmsghdr msgs[BATCH];
	struct iovec iov[BATCH][2];
	struct sockaddr_storage names[BATCH];
	char data[BATCH][2][ROOM];
	long results[8];
};

static struct scene *scene;
static struct sockaddr_in here, there;
static int in, out;

static void scene_clear(unsigned int name_room)
{
	char left[ROOM];

	while (recv(in, left, sizeof(left), MSG_DONTWAIT) >= 0)
		continue;
	memset(scene, 0, sizeof(*scene));
	for (int i = 0; i < BATCH; i++) {
		scene->iov[i][0] = (struct iovec){ scene->data[i][0], 8 };
		scene->iov[i][1] = (struct iovec){ scene->data[i][1], ROOM };
		scene->msgs[i].msg_hdr = (struct msghdr){
			.msg_name = name_room ? &scene->names[i] : NULL,
			.msg_namelen = name_room,
			.msg_iov = scene->iov[i], .msg_iovlen = 2,
		};
	}
}

static void scene_address(const struct sockaddr_in *to)
{
	for (int i = 0; i < BATCH; i++) {
		memcpy(&scene->names[i], to, sizeof(*to));
		scene->iov[i][1].iov_len = i;
		memset(scene->data[i], 'a' + i, sizeof(scene->data[i]));
	}
}

static long net(int what, int fd, void *addr, unsigned int n, unsigned int flags)
{
	return lua_syscall(script, 6, what, fd, addr, n, flags, 0);
}

static long recv_batch(enum way way, unsigned int n, unsigned int flags)
{
	if (way == PLAIN)
		return or_error(recvmmsg(in, scene->msgs, n, flags, NULL));
	if (way == LIBRARY)
		return syscript_recv_batch(in, scene->msgs, n, flags, 0);
	CHECK_EQ(net(IMPORT, 0, scene->msgs, n, 0), 0);
	return net(RECV, in, NULL, n, flags);
}

static long send_only(enum way way, int fd, unsigned int n, unsigned int flags)
{
	if (way == PLAIN)
		return or_error(sendmmsg(fd, scene->msgs, n, flags));
	if (way == LIBRARY)
		return syscript_send_batch(fd, scene->msgs, n, flags);
	return net(SEND, fd, scene->msgs, n, flags);
}

static long send_batch(enum way way, int fd, unsigned int n, unsigned int flags)
{
	long ret = send_only(way, fd, n, flags);

	settle();
	return ret;
}

static void post(int n)
{
	char text[128];

	for (int i = 0; i < n; i++) {
		memset(text, 'A' + i, sizeof(text));
		/* The third message is longer than its buffer. */
		CHECK(sendto(out, text, i == 2 ? 100 : i, 0, (struct sockaddr *)&here,
			     sizeof(here)) >= 0);
	}
	settle();
}

static void play_receive(enum way way)
{
	scene_clear(sizeof(struct sockaddr_storage));
	scene->results[0] = recv_batch(way, BATCH, MSG_DONTWAIT);
	post(5);
	scene->results[1] = recv_batch(way, 3, MSG_DONTWAIT);
	scene->results[2] = recv_batch(way, BATCH, MSG_WAITFORONE);
}

/* Room for 5 bytes of the address, then for none. */
static void play_receive_short_names(enum way way)
{
	scene_clear(5);
	post(2);
	scene->results[0] = recv_batch(way, 2, MSG_DONTWAIT);
	scene->msgs[0].msg_hdr.msg_name = NULL;
	post(1);
	scene->results[1] = recv_batch(way, 1, MSG_DONTWAIT);
}

static void play_receive_peek(enum way way)
{
	scene_clear(sizeof(struct sockaddr_storage));
	post(3);
	scene->results[0] = recv_batch(way, 1, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC);
	scene->results[1] = recv_batch(way, BATCH, MSG_DONTWAIT | MSG_TRUNC);
}

/* A buffer at a bad address ends the batch; earlier messages count. */
static void play_receive_fault(enum way way)
{
	scene_clear(sizeof(struct sockaddr_storage));
	scene->iov[2][0].iov_base = (void *)8;
	post(4);
	scene->results[0] = recv_batch(way, BATCH, MSG_DONTWAIT);
	/* The error is pending in the socket. */
	scene->results[1] = recv_batch(way, BATCH, MSG_DONTWAIT);
	scene->results[2] = recv_batch(way, 1, MSG_DONTWAIT);
	scene->iov[0][0].iov_base = (void *)-4096;
	post(1);
	scene->results[3] = recv_batch(way, BATCH, MSG_DONTWAIT);
}

static void play_refused(enum way way)
{
	struct sockaddr_in no_peer;
	int fd = udp_socket(&no_peer);

	close(fd);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(!connect(fd, (struct sockaddr *)&no_peer, sizeof(no_peer)));
	scene_clear(0);
	scene->results[0] = send_batch(way, fd, 1, 0);
	scene->results[1] = send_batch(way, fd, 3, 0);
	close(fd);
}

static void play_send(enum way way)
{
	char got[256];

	scene_clear(sizeof(struct sockaddr_in));
	scene_address(&here);
	scene->results[0] = send_batch(way, out, BATCH, 0);
	for (int i = 0; i < BATCH; i++)
		scene->results[1] = scene->results[1] * 31 + recv(in, got, sizeof(got), MSG_DONTWAIT) +
			got[0];
	/* The fourth has an invalid address: three are sent. */
	scene->names[3].ss_family = AF_UNIX;
	scene->results[2] = send_batch(way, out, BATCH, MSG_NOSIGNAL);
	for (int i = 0; i < 3; i++)
		scene->results[3] += recv(in, got, sizeof(got), MSG_DONTWAIT);
	CHECK_EQ(recv(in, got, sizeof(got), MSG_DONTWAIT), -1);
	scene->msgs[0].msg_hdr.msg_name = (void *)16;
	scene->results[4] = send_batch(way, out, 1, 0);
	scene->msgs[0].msg_hdr.msg_name = &scene->names[0];
	scene->msgs[0].msg_hdr.msg_namelen = -1;
	scene->results[5] = send_batch(way, out, 1, 0);
	scene->msgs[0].msg_hdr.msg_namelen = 2;
	scene->results[6] = send_batch(way, out, 1, 0);
	scene->msgs[0].msg_hdr.msg_iovlen = 2000;
	scene->msgs[0].msg_hdr.msg_namelen = sizeof(here);
	scene->results[7] = send_batch(way, out, 1, 0);
}

/* One send, three datagrams: control data is honoured. */
static void play_send_control(enum way way)
{
	union {
		char room[CMSG_SPACE(sizeof(uint16_t))];
		struct cmsghdr header;
	} control = { .header = {
		.cmsg_level = SOL_UDP, .cmsg_type = UDP_SEGMENT,
		.cmsg_len = CMSG_LEN(sizeof(uint16_t)),
	} };
	uint16_t size = 20;
	char got[256];

	scene_clear(sizeof(struct sockaddr_in));
	scene_address(&here);
	scene->iov[0][1].iov_len = 42;
	memcpy(CMSG_DATA(&control.header), &size, sizeof(size));
	scene->msgs[0].msg_hdr.msg_control = &control;
	scene->msgs[0].msg_hdr.msg_controllen = sizeof(control);
	scene->results[0] = send_batch(way, out, 1, 0);
	for (int i = 1; i < 5; i++)
		scene->results[i] = recv(in, got, sizeof(got), MSG_DONTWAIT);
	scene->msgs[0].msg_hdr.msg_control = NULL;
}

static void play_stream(enum way way)
{
	char got[2000];
	int fds[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	scene_clear(0);
	scene_address(&here);
	scene->results[0] = send_batch(way, fds[0], BATCH, 0);
	scene->results[1] = recv(fds[1], got, sizeof(got), 0);
	close(fds[1]);
	scene->results[2] = send_batch(way, fds[0], 1, MSG_NOSIGNAL);
	close(fds[0]);
	scene->results[3] = send_batch(way, fds[0], 1, 0);
	scene->results[4] = send_batch(way, STDERR_FILENO, 1, 0);
	scene->results[5] = send_batch(way, -1, 1, 0);
}

static void compare(const char *name, void (*play)(enum way))
{
	static struct scene plain;

	play(PLAIN);
	plain = *scene;
	for (enum way way = SCRIPT; way < WAYS; way++) {
		play(way);
		for (unsigned int i = 0; i < 8; i++) {
			if (plain.results[i] != scene->results[i])
				fprintf(stderr, "%s, %s: result %u is %ld, not %ld\n", name,
					ways[way], i, scene->results[i], plain.results[i]);
		}
		for (size_t at = 0; at < sizeof(plain); at++) {
			if (((char *)&plain)[at] == ((char *)scene)[at])
				continue;
			fprintf(stderr, "%s, %s: byte %zu (of messages: %zu) differs\n", name,
				ways[way], at, sizeof(plain.msgs));
			exit(1);
		}
	}
}

/* Replies go to the senders of a batch, whatever the array says. */
static void test_reply(void)
{
	char got[ROOM];

	scene_clear(0);
	CHECK_EQ(net(IMPORT, 0, scene->msgs, 4, 0), 0);
	CHECK_EQ(net(REPLY, in, scene->msgs, 2, 0), -EDESTADDRREQ);
	post(2);
	CHECK_EQ(net(RECV, in, NULL, 2, MSG_DONTWAIT), 2);
	scene_address(&here);
	CHECK_EQ(net(REPLY, in, scene->msgs, 2, 0), 2);
	settle();
	CHECK_EQ(recv(out, got, sizeof(got), MSG_DONTWAIT), 8);
	CHECK_EQ(recv(out, got, sizeof(got), MSG_DONTWAIT), 9);
	CHECK_EQ(got[8], 'b');
	CHECK_EQ(recv(in, got, sizeof(got), MSG_DONTWAIT), -1);
}

static void test_bad_calls(void)
{
	char text[256];

	scene_clear(0);
	CHECK_EQ(net(IMPORT, 0, (void *)16, 1, 0), -EPROTO);
	CHECK_EQ(net(IMPORT, 0, scene->msgs, 0, 0), -EPROTO);
	CHECK_EQ(net(IMPORT, 0, scene->msgs, 65, 0), -EPROTO);
	scene->msgs[1].msg_hdr.msg_iovlen = 9;
	CHECK_EQ(net(IMPORT, 0, scene->msgs, BATCH, 0), -EPROTO);
	CHECK(syscript_error(script, text, sizeof(text)) > 0);
	CHECK(strstr(text, "message 2 has more than 8 buffers"));
	scene_clear(0);
	CHECK_EQ(net(IMPORT, 0, scene->msgs, 4, 0), 0);
	CHECK_EQ(net(RECV, in, NULL, 5, 0), -EPROTO);
	CHECK_EQ(net(RECV, in, NULL, 1, MSG_ERRQUEUE), -EINVAL);
	CHECK_EQ(net(SEND, out, scene->msgs, 65, 0), -EPROTO);
	CHECK_EQ(net(SEND, out, scene->msgs, 1, MSG_OOB), -EINVAL);
	CHECK_EQ(net(SEND, out, (void *)16, 1, 0), -EFAULT);
	CHECK_EQ(net(RECV, in, NULL, 0, 0), 0);
	CHECK_EQ(net(SEND, out, NULL, 0, 0), 0);
}

/* Compiled, with several batches in a run. */
static void test_loop(void)
{
	scene_clear(sizeof(struct sockaddr_in));
	scene_address(&here);
	CHECK_EQ(net(IMPORT, 0, scene->msgs, BATCH, 0), 0);
	for (int i = 0; i < BATCH; i++)
		scene->iov[i][1].iov_len = i;
	CHECK_EQ(lua_syscall(script, 6, LOOP, in, scene->msgs, BATCH, 0, 0), 0);
	CHECK(!connect(in, (struct sockaddr *)&here, sizeof(here)));
	CHECK_EQ(lua_syscall(script, 6, LOOP, in, scene->msgs, BATCH, 0, 300),
		 300 * 2 * BATCH);
	CHECK_EQ(scene->msgs[BATCH - 1].msg_len, 8 + BATCH - 1);
}

int main(void)
{
	scene = mmap(NULL, sizeof(*scene), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	CHECK(scene != MAP_FAILED);
	in = udp_socket(&here);
	out = udp_socket(&there);
	script = load(source);
	compare("receive", play_receive);
	compare("receive, short names", play_receive_short_names);
	compare("receive, peek", play_receive_peek);
	compare("receive, fault", play_receive_fault);
	compare("refused", play_refused);
	compare("send", play_send);
	compare("send with control data", play_send_control);
	compare("stream", play_stream);
	test_reply();
	test_bad_calls();
	test_loop();
	return 0;
}
