// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Asks a daemon for the same thing over and over, between marks: nginx for a file of 4 KiB, Dovecot
 * to deliver a message of 4 KiB. Prints how many system calls it makes itself meanwhile, which
 * bench/daemons.py subtracts.
 *
 * usage: client nginx|dovecot COUNT
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../vm/profile/mark.h"
#include "measure.h"

#define BODY		4096	/* of a file, and of a message */
#define LINE		64	/* of a message */
#define WARM_UP		50	/* times to ask first: files are looked up, processes started */
#define START_TRIES	600	/* of START_US: until a daemon listens, on a busy machine */
#define START_US	100000

static long calls;

static void send_text(int sock, const char *text, size_t size)
{
	calls++;
	if (send(sock, text, size, 0) != (ssize_t)size)
		measure_die("send: %m");
}

/* Whether @text is one reply in HTTP with a body of BODY bytes. */
static bool is_http(const char *text, int count)
{
	const char *body = strstr(text, "\r\n\r\n");

	(void)count;
	if (body && strncmp(text, "HTTP/1.1 200 ", 13))
		measure_die("nginx: %.*s", (int)strcspn(text, "\r"), text);
	return body && strlen(body) == strlen("\r\n\r\n") + BODY;
}

/* Whether @text is @count replies in LMTP, which may have several lines each. */
static bool is_lmtp(const char *text, int count)
{
	const char *end;

	for (; (end = strchr(text, '\n')); text = end + 1) {
		if (*text != '2' && *text != '3')
			measure_die("dovecot: %.*s", (int)(end - text), text);
		count -= text[strspn(text, "0123456789")] == ' ';
	}
	return !*text && !count;
}

static void receive(int sock, bool (*is_whole)(const char *text, int count), int count)
{
	char text[2 * BODY];
	size_t size = 0;

	do {
		ssize_t got = recv(sock, text + size, sizeof(text) - 1 - size, 0);

		calls++;
		if (got <= 0)
			measure_die("no whole reply: %s", got ? "failed" : "closed");
		size += got;
		text[size] = '\0';
	} while (!is_whole(text, count));
}

/* -- The daemons ------------------------------------------------------------------ */

static void nginx_ask(int sock)
{
	static const char request[] = "GET /file.txt HTTP/1.1\r\nHost: localhost\r\n\r\n";

	send_text(sock, request, strlen(request));
	receive(sock, is_http, 1);
}

static void dovecot_greet(int sock)
{
	static const char hello[] = "LHLO localhost\r\n";

	receive(sock, is_lmtp, 1);
	send_text(sock, hello, strlen(hello));
	receive(sock, is_lmtp, 1);
}

static void dovecot_ask(int sock)
{
	static const char envelope[] = "MAIL FROM:<from@localhost>\r\n"
				       "RCPT TO:<to@localhost>\r\nDATA\r\n";
	static const char head[] = "Subject: a message\r\n\r\n";
	char text[sizeof(head) + BODY + sizeof("\r\n.\r\n")];
	size_t size = sprintf(text, "%s", head);

	for (; size < sizeof(head) + BODY - LINE; size += LINE)
		sprintf(text + size, "%*s\r\n", LINE - 2, "x");
	size += sprintf(text + size, ".\r\n");
	send_text(sock, envelope, strlen(envelope));
	receive(sock, is_lmtp, 3);
	send_text(sock, text, size);
	receive(sock, is_lmtp, 1);
}

static const struct daemon {
	const char *name;
	uint16_t port;
	void (*greet)(int sock);
	void (*ask)(int sock);
} daemons[] = {
	{ "nginx", 8080, NULL, nginx_ask },
	{ "dovecot", 2424, dovecot_greet, dovecot_ask },
};

static const struct daemon *daemon_of(const char *name)
{
	for (size_t i = 0; i < sizeof(daemons) / sizeof(daemons[0]); i++)
		if (!strcmp(name, daemons[i].name))
			return &daemons[i];
	measure_die("usage: client nginx|dovecot COUNT");
}

/* Waits until it listens. */
static int connect_to(const struct daemon *daemon)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(daemon->port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	for (int i = 0; i < START_TRIES; i++) {
		int sock = socket(AF_INET, SOCK_STREAM, 0);

		if (!connect(sock, (struct sockaddr *)&to, sizeof(to)))
			return sock;
		close(sock);
		usleep(START_US);
	}
	measure_die("%s does not listen: %m", daemon->name);
}

int main(int argc, char **argv)
{
	const struct daemon *daemon = daemon_of(argc == 3 ? argv[1] : "");
	long count = atol(argv[2]);
	int sock = connect_to(daemon);

	if (daemon->greet)
		daemon->greet(sock);
	for (long i = 0; i < WARM_UP; i++)
		daemon->ask(sock);
	calls = 0;
	mark_begin();
	for (long i = 0; i < count; i++)
		daemon->ask(sock);
	mark_end();
	printf("%ld\n", calls);
	return 0;
}
