// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The library's functions for messages: what test_lib_net.c does not cover of recv_batch and
 * send_batch - waiting, many messages, control data, invalid arguments - and exchange and echo.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syscript_sockets.h>
#include <time.h>

#include "lib_test.h"

#define MANY	200
#define LARGEST	65507		/* bytes in a UDP message */

static struct sockaddr_in here, there;
static int in, out;

/* Messages, each with a buffer and room for an address. */
struct batch {
	struct mmsghdr msgs[MANY];
	struct iovec iov[MANY];
	struct sockaddr_storage names[MANY];
	char data[MANY][64];
};

static void batch_init(struct batch *batch, const struct sockaddr_in *to, size_t len)
{
	memset(batch, 0, sizeof(*batch));
	for (int i = 0; i < MANY; i++) {
		memset(batch->data[i], 'a' + i % 26, len);
		batch->iov[i] = (struct iovec){ batch->data[i], len };
		batch->msgs[i].msg_hdr = (struct msghdr){
			.msg_name = &batch->names[i], .msg_namelen = sizeof(batch->names[i]),
			.msg_iov = &batch->iov[i], .msg_iovlen = 1,
		};
		if (to) {
			memcpy(&batch->names[i], to, sizeof(*to));
			batch->msgs[i].msg_hdr.msg_namelen = sizeof(*to);
		}
	}
}

static void post(const char *text)
{
	CHECK_EQ(sendto(out, text, strlen(text), 0, (struct sockaddr *)&here, sizeof(here)),
		 strlen(text));
	settle();
}

/* Receives what is queued at @sock; returns the number of messages. */
static int drain(int sock)
{
	char text[64];
	int n = 0;

	settle();
	while (recv(sock, text, sizeof(text), MSG_DONTWAIT) >= 0)
		n++;
	return n;
}

static long ms_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *post_late(void *text)
{
	usleep(30000);
	post(text);
	return NULL;
}

static void nothing(int signal)
{
	(void)signal;
}

/*
 * Signals with a handler, each 30 ms: on a busy machine the first may come before the call that it
 * is to interrupt.
 */
static void alarms(bool on)
{
	const struct timeval soon = { .tv_usec = on ? 30000 : 0 };
	const struct itimerval timer = { soon, soon };
	const struct sigaction action = { .sa_handler = nothing };

	CHECK(!sigaction(SIGALRM, &action, NULL));
	CHECK(!setitimer(ITIMER_REAL, &timer, NULL));
}

/* -- recv_batch, send_batch ------------------------------------------------ */

static void test_recv_waits(void)
{
	static struct batch batch;
	pthread_t thread;
	long start;

	batch_init(&batch, NULL, 64);
	start = ms_now();
	CHECK_EQ(syscript_recv_batch(in, batch.msgs, 4, 0, 20), -EAGAIN);
	CHECK(ms_now() - start >= 19);
	CHECK(!pthread_create(&thread, NULL, post_late, "late"));
	CHECK_EQ(syscript_recv_batch(in, batch.msgs, 4, 0, -1), 1);
	CHECK(!pthread_join(thread, NULL));
	CHECK_EQ(batch.msgs[0].msg_len, 4);
	alarms(true);
	CHECK_EQ(syscript_recv_batch(in, batch.msgs, 4, 0, -1), -EINTR);
	alarms(false);
	/* Queued messages are returned without waiting, and no flag waits for more. */
	post("one");
	post("two");
	CHECK_EQ(syscript_recv_batch(in, batch.msgs, 4, MSG_WAITFORONE, -1), 2);
}

/* A message that is received into memory that is not there is lost; the next one is not. */
static void test_lost(void)
{
	static struct batch batch;

	batch_init(&batch, NULL, 64);
	batch.iov[0].iov_base = (void *)16;
	post("lost");
	post("kept");
	CHECK_EQ(syscript_recv_batch(in, batch.msgs, 2, 0, 0), -EFAULT);
	CHECK_EQ(drain(in), 1);
}

static void test_many(void)
{
	static struct batch batch;
	int n;

	batch_init(&batch, &here, 8);
	n = or_error(sendmmsg(out, batch.msgs, MANY, MSG_DONTWAIT));
	CHECK_EQ(drain(in), n);
	CHECK_EQ(syscript_send_batch(out, batch.msgs, MANY, MSG_DONTWAIT), n);
	settle();
	batch_init(&batch, NULL, 64);
	CHECK_EQ(syscript_recv_batch(in, batch.msgs, MANY, 0, 0), n);
	for (int i = 0; i < n; i++) {
		CHECK_EQ(batch.msgs[i].msg_len, 8);
		CHECK_EQ(batch.data[i][7], 'a' + i % 26);
	}
	/* The 100th message is refused, as are flags that net.send() does not support. */
	batch_init(&batch, &here, 8);
	batch.names[100].ss_family = AF_APPLETALK;
	CHECK_EQ(syscript_send_batch(out, batch.msgs, MANY, 0), 100);
	CHECK_EQ(syscript_send_batch(out, batch.msgs, 70, MSG_EOR), 70);
	CHECK_EQ(drain(in), 170);
}

/* Passes rights to @n descriptors in the control data of a message. */
static void give_rights(struct msghdr *hdr, char *room, unsigned int n)
{
	struct cmsghdr *control = (struct cmsghdr *)room;

	hdr->msg_name = NULL;
	hdr->msg_namelen = 0;
	hdr->msg_control = room;
	hdr->msg_controllen = CMSG_SPACE(n * sizeof(int));
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(n * sizeof(int));
	for (unsigned int i = 0; i < n; i++)
		((int *)CMSG_DATA(control))[i] = STDERR_FILENO;
}

static int take_rights(struct msghdr *hdr)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(hdr);
	int n = control ? (control->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

	for (int i = 0; i < n; i++)
		CHECK(!close(((int *)CMSG_DATA(control))[i]));
	return n;
}

static void test_control(void)
{
	static char room[4][512] __attribute__((aligned(8)));
	static struct batch batch;
	int pair[2], sent;

	CHECK(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	for (int large = 0; large < 2; large++) {
		batch_init(&batch, NULL, 8);
		for (int i = 0; i < 4; i++)
			give_rights(&batch.msgs[i].msg_hdr, room[i], i == 2 && large ? 100 : 2);
		/* A message with more than net.send() supports may have to be the first. */
		sent = syscript_send_batch(pair[0], batch.msgs, 4, 0);
		CHECK(sent == 4 || (large && sent == 2));
		CHECK_EQ(syscript_send_batch(pair[0], batch.msgs + sent, 4 - sent, 0), 4 - sent);
		CHECK_EQ(syscript_recv_batch(pair[1], batch.msgs, 4, 0, 0), 4);
		for (int i = 0; i < 4; i++) {
			CHECK(!(batch.msgs[i].msg_hdr.msg_flags & MSG_CTRUNC));
			CHECK_EQ(take_rights(&batch.msgs[i].msg_hdr),
				 i == 2 && large ? 100 : 2);
		}
	}
	close(pair[0]);
	close(pair[1]);
}

/* Unmapped, partly mapped, in the kernel, not a pointer, and just before the end of memory. */
static char *bad_pointers[7];

static void find_bad_pointers(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	CHECK(!mprotect(page + 4096, 4096, PROT_NONE));
	bad_pointers[1] = (char *)16;
	bad_pointers[2] = (char *)-4096;
	bad_pointers[3] = (char *)(1UL << 60);
	bad_pointers[4] = (char *)(1UL << 53) + 8;
	bad_pointers[5] = page + 4096 - 32;
	bad_pointers[6] = page + 4096;
}

/* The same results as the plain calls, for each pair of a bad descriptor and a bad pointer. */
static void test_bad_arguments(void)
{
	const unsigned int counts[] = { 0, 1, 3, 64, 65, 1024, 4096, UINT32_MAX };
	const int fds[] = { in, -1, 999999, INT32_MIN, STDERR_FILENO };

	for (size_t f = 0; f < sizeof(fds) / sizeof(fds[0]); f++) {
		for (size_t i = 0; i < 7 * sizeof(counts) / sizeof(counts[0]); i++) {
			struct mmsghdr *msgs = (void *)bad_pointers[i % 7];
			unsigned int n = counts[i / 7];
			int plain;

			post("first");
			plain = or_error(recvmmsg(fds[f], msgs, n, MSG_DONTWAIT, NULL));
			drain(in);
			post("first");
			CHECK_EQ(syscript_recv_batch(fds[f], msgs, n, 0, 0), plain);
			drain(in);
			plain = or_error(sendmmsg(fds[f], msgs, n, 0));
			CHECK_EQ(syscript_send_batch(fds[f], msgs, n, 0), plain);
		}
	}
	CHECK_EQ(syscript_recv_batch(in, NULL, 1, INT32_MIN, 0),
		 or_error(recvmmsg(in, NULL, 1, INT32_MIN | MSG_DONTWAIT, NULL)));
}

/* Memory that is mapped and unmapped, and a descriptor that is reused for another file. */
struct storm {
	char *page;
	int sock;
	volatile bool over;
};

static void *make_storm(void *arg)
{
	struct storm *storm = arg;

	while (!storm->over) {
		mprotect(storm->page, 4096, PROT_NONE);
		dup2(STDERR_FILENO, storm->sock);
		mprotect(storm->page, 4096, PROT_READ | PROT_WRITE);
		dup2(in, storm->sock);
	}
	return NULL;
}

static bool harmless(int ret)
{
	return ret >= 0 || ret == -EFAULT || ret == -EAGAIN || ret == -EBADF ||
		ret == -ENOTSOCK || ret == -EDESTADDRREQ || ret == -EINVAL;
}

static void test_storm(void)
{
	struct storm storm = { .sock = dup(in) };
	struct mmsghdr *msgs;
	pthread_t thread;

	storm.page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	msgs = (void *)storm.page;
	CHECK(!pthread_create(&thread, NULL, make_storm, &storm));
	for (int i = 0; i < 2000; i++) {
		CHECK(harmless(syscript_recv_batch(storm.sock, msgs, 8, 0, i % 2)));
		CHECK(harmless(syscript_send_batch(storm.sock, msgs, 8, MSG_DONTWAIT)));
		CHECK(harmless(syscript_echo(storm.sock, 2, i % 2)));
	}
	storm.over = true;
	CHECK(!pthread_join(thread, NULL));
	close(storm.sock);
	munmap(storm.page, 4096);
	drain(in);
	post("after the storm");
	CHECK_EQ(drain(in), 1);
}

/* -- exchange -------------------------------------------------------------- */

static void test_exchange_open(void)
{
	static struct batch batch;
	struct syscript_exchange *exchange;

	batch_init(&batch, NULL, 64);
	CHECK_EQ(syscript_exchange_open(&exchange, in, batch.msgs, 0), -EINVAL);
	CHECK_EQ(syscript_exchange_open(&exchange, in, batch.msgs, 65), -EINVAL);
	for (int i = 0; i < 7; i++)
		CHECK_EQ(syscript_exchange_open(&exchange, in, (void *)bad_pointers[i], 4),
			 -EFAULT);
	batch.msgs[2].msg_hdr.msg_iovlen = 9;
	CHECK_EQ(syscript_exchange_open(&exchange, in, batch.msgs, 3), -EINVAL);
	CHECK_EQ(syscript_exchange_open(&exchange, in, batch.msgs, 2), 0);
	syscript_exchange_close(exchange);
	batch.msgs[0].msg_hdr.msg_iov = (void *)bad_pointers[1];
	CHECK_EQ(syscript_exchange_open(&exchange, in, batch.msgs, 2), -EFAULT);
	batch_init(&batch, NULL, 64);
	batch.msgs[1].msg_hdr.msg_control = &batch;
	batch.msgs[1].msg_hdr.msg_controllen = 64;
	CHECK_EQ(syscript_exchange_open(&exchange, in, batch.msgs, 2), -EINVAL);
	syscript_exchange_close(NULL);
}

/* Messages sent and received, in time and too late, and memory that stays untouched. */
static void test_exchange(void)
{
	static struct batch inbox, outbox;
	struct syscript_exchange *exchange;
	pthread_t thread;
	int sent = 7;

	batch_init(&inbox, NULL, 64);
	batch_init(&outbox, &there, 8);
	post("before");
	CHECK_EQ(syscript_exchange_open(&exchange, in, inbox.msgs, 4), 0);
	/* Known by now. */
	inbox.iov[0].iov_base = NULL;
	inbox.msgs[0].msg_hdr.msg_iov = NULL;
	CHECK_EQ(syscript_exchange(exchange, NULL, 0, 0, &sent), 1);
	CHECK_EQ(sent, 0);
	CHECK_EQ(inbox.msgs[0].msg_len, 6);
	CHECK(!memcmp(inbox.data[0], "before", 6));
	CHECK(!memcmp(&inbox.names[0], &there, sizeof(there)));

	CHECK_EQ(syscript_exchange(exchange, outbox.msgs, 3, 0, &sent), 0);
	CHECK_EQ(sent, 3);
	CHECK_EQ(drain(out), 3);
	CHECK(!pthread_create(&thread, NULL, post_late, "late"));
	CHECK_EQ(syscript_exchange(exchange, outbox.msgs, 64, -1, NULL), 1);
	CHECK(!pthread_join(thread, NULL));
	CHECK_EQ(drain(out), 64);
	alarms(true);
	CHECK_EQ(syscript_exchange(exchange, outbox.msgs, 1, -1, &sent), 0);
	alarms(false);
	CHECK_EQ(sent, 1);
	syscript_exchange_close(exchange);
	drain(out);
}

static void test_exchange_errors(void)
{
	static struct batch inbox, outbox;
	struct syscript_exchange *exchange;
	int sock = dup(in), sent;

	batch_init(&inbox, NULL, 64);
	batch_init(&outbox, &there, 8);
	CHECK_EQ(syscript_exchange_open(&exchange, sock, inbox.msgs, 4), 0);
	CHECK_EQ(syscript_exchange(exchange, outbox.msgs, 65, 0, &sent), -EINVAL);
	/* An array at a bad address does not prevent receiving. */
	for (int i = 0; i < 7; i++) {
		int plain = or_error(sendmmsg(in, (void *)bad_pointers[i], 2, 0));

		post("still here");
		CHECK_EQ(syscript_exchange(exchange, (void *)bad_pointers[i], 2, 0, &sent), 1);
		CHECK_EQ(sent, plain);
	}
	outbox.names[2].ss_family = AF_APPLETALK;
	CHECK_EQ(syscript_exchange(exchange, outbox.msgs, 4, 0, &sent), 0);
	CHECK_EQ(sent, 2);
	close(sock);
	CHECK_EQ(syscript_exchange(exchange, outbox.msgs, 2, -1, &sent), -EBADF);
	CHECK_EQ(sent, -EBADF);
	syscript_exchange_close(exchange);
	drain(out);
}

/* In a child, which opens its own, and after a program has closed unknown descriptors. */
static void test_exchange_lost(void)
{
	static struct batch inbox, outbox;
	struct syscript_exchange *exchange, *other;
	int status, sent;
	pid_t child;

	batch_init(&inbox, NULL, 64);
	batch_init(&outbox, &there, 8);
	CHECK_EQ(syscript_exchange_open(&exchange, in, inbox.msgs, 4), 0);
	child = fork();
	if (!child) {
		CHECK_EQ(syscript_exchange(exchange, outbox.msgs, 1, 0, &sent), -EXDEV);
		CHECK_EQ(sent, 0);
		CHECK_EQ(syscript_exchange_open(&other, in, inbox.msgs, 4), 0);
		post("child");
		CHECK_EQ(syscript_exchange(other, outbox.msgs, 1, 0, &sent), 1);
		CHECK_EQ(sent, 1);
		syscript_exchange_close(other);
		syscript_exchange_close(exchange);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(drain(out), 1);
	for (int fd = 3; fd < 100; fd++)
		if (fd != in && fd != out)
			close(fd);
	CHECK_EQ(syscript_exchange(exchange, outbox.msgs, 1, 0, &sent), -EBADF);
	CHECK_EQ(drain(out), 0);
	syscript_exchange_close(exchange);
	CHECK_EQ(syscript_recv_batch(in, inbox.msgs, 1, 0, 0), -EAGAIN);
}

/* -- echo ------------------------------------------------------------------ */

static void test_echo(void)
{
	static char large[LARGEST], answer[LARGEST + 1];
	char text[8];

	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "%d", i * i);
		post(text);
	}
	CHECK_EQ(syscript_echo(in, 15, -1), 15);
	CHECK_EQ(syscript_echo(in, UINT32_MAX, 0), 5);
	CHECK_EQ(syscript_echo(in, 1, 0), 0);
	CHECK_EQ(syscript_echo(in, 0, -1), 0);
	settle();
	for (int i = 0; i < 20; i++) {
		ssize_t len = snprintf(text, sizeof(text), "%d", i * i);

		CHECK_EQ(recv(out, answer, sizeof(answer), MSG_DONTWAIT), len);
		CHECK(!memcmp(answer, text, len));
	}
	/* The shortest message, the longest after it; then the shortest again. */
	for (int i = 0; i < 3; i++) {
		ssize_t len = i % 2 ? LARGEST : 0;

		memset(large, 'a' + i, len);
		CHECK_EQ(sendto(out, large, len, 0, (struct sockaddr *)&here, sizeof(here)), len);
		CHECK_EQ(syscript_echo(in, 1, -1), 1);
		settle();
		CHECK_EQ(recv(out, answer, sizeof(answer), MSG_DONTWAIT), len);
		CHECK(!memcmp(answer, large, len));
	}
}

/* It ends at the timeout, with or without messages; or at a signal. */
static void test_echo_ends(void)
{
	pthread_t thread;
	long start = ms_now();

	CHECK_EQ(syscript_echo(in, 1, 20), 0);
	CHECK(ms_now() - start >= 19);
	CHECK(!pthread_create(&thread, NULL, post_late, "late"));
	start = ms_now();
	CHECK_EQ(syscript_echo(in, 5, 300), 1);
	CHECK(ms_now() - start >= 299);
	CHECK(!pthread_join(thread, NULL));
	alarms(true);
	CHECK_EQ(syscript_echo(in, 5, -1), -EINTR);
	post("first");
	CHECK_EQ(syscript_echo(in, 5, -1), 1);
	alarms(false);
	CHECK_EQ(drain(out), 2);
}

/* Messages sent to oneself return for ever: only the budget ends that. */
static void test_echo_budget(void)
{
	int answered;

	CHECK_EQ(sendto(in, "round", 5, 0, (struct sockaddr *)&here, sizeof(here)), 5);
	CHECK_EQ(syscript_echo(in, 1000, -1), 1000);
	answered = syscript_echo(in, UINT32_MAX, 1);
	CHECK(answered > 0 && answered < 4096);
	CHECK_EQ(syscript_echo(in, UINT32_MAX, -1), 4096);
	CHECK_EQ(drain(in), 1);
}

static int unix_socket(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_DGRAM, 0);

	/* An abstract name. */
	strcpy(address.sun_path + 1, name);
	CHECK(!bind(sock, (struct sockaddr *)&address, sizeof(address)));
	return sock;
}

/*
 * Fills the queue of a socket that is never read. Its length is a setting of the machine, so one
 * sender's buffer may not suffice.
 */
static int fill(int deaf)
{
	struct sockaddr_un name;
	socklen_t len = sizeof(name);
	int sock, sent, all = 0;

	CHECK(!getsockname(deaf, (struct sockaddr *)&name, &len));
	do {
		sock = socket(AF_UNIX, SOCK_DGRAM, 0);
		sent = 0;
		while (sendto(sock, "d", 1, MSG_DONTWAIT, (struct sockaddr *)&name, len) == 1)
			sent++;
		close(sock);
		all += sent;
	} while (sent);
	return all;
}

/* Unreachable peers, and peers that do not read replies, delay no others. */
static void test_echo_drops(void)
{
	struct sockaddr_un name;
	socklen_t len = sizeof(name);
	int server = unix_socket("syscript-test-server"), no_peer, deaf, friend;
	int queued;

	CHECK(!getsockname(server, (struct sockaddr *)&name, &len));
	no_peer = socket(AF_UNIX, SOCK_DGRAM, 0);
	deaf = unix_socket("syscript-test-deaf");
	friend = unix_socket("syscript-test-friend");
	queued = fill(deaf);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(sendto(no_peer, "a", 1, 0, (struct sockaddr *)&name, len), 1);
		CHECK_EQ(sendto(deaf, "b", 1, 0, (struct sockaddr *)&name, len), 1);
		CHECK_EQ(sendto(friend, "c", 1, 0, (struct sockaddr *)&name, len), 1);
		CHECK_EQ(syscript_echo(server, 3, 0), 1);
		CHECK_EQ(drain(friend), 1);
	}
	CHECK_EQ(drain(deaf), queued);
	close(server);
	close(no_peer);
	close(deaf);
	close(friend);
}

static void test_echo_errors(void)
{
	struct sockaddr_in gone;
	int pair[2], sock = udp_socket(&gone);

	CHECK_EQ(syscript_echo(-1, 1, -1), -EBADF);
	CHECK_EQ(syscript_echo(999999, 0, -1), -EBADF);
	CHECK_EQ(syscript_echo(STDERR_FILENO, 1, -1), -ENOTSOCK);
	/* Connected to a port without a socket. */
	close(sock);
	sock = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(!connect(sock, (struct sockaddr *)&gone, sizeof(gone)));
	CHECK_EQ(send(sock, "", 1, 0), 1);
	CHECK_EQ(syscript_echo(sock, 1, 100), -ECONNREFUSED);
	CHECK_EQ(syscript_echo(sock, 1, 0), 0);
	close(sock);
	/* The end of a stream looks like endless empty messages. */
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK_EQ(write(pair[1], "text", 4), 4);
	CHECK_EQ(syscript_echo(pair[0], 1, -1), 1);
	close(pair[1]);
	CHECK(syscript_echo(pair[0], 1000, -1) <= 1000);
	close(pair[0]);
}

int main(void)
{
	in = udp_socket(&here);
	out = udp_socket(&there);
	find_bad_pointers();
	test_recv_waits();
	test_lost();
	test_many();
	test_control();
	test_bad_arguments();
	test_storm();
	test_exchange_open();
	test_exchange();
	test_exchange_errors();
	test_exchange_lost();
	test_echo();
	test_echo_ends();
	test_echo_budget();
	test_echo_drops();
	test_echo_errors();
	return 0;
}
