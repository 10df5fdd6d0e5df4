/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Servers that parse text, each as a C program with recvmmsg(2), sendmmsg(2) and epoll(7), and as a
 * script of examples/text: the gain if all of a program's work is a script, not just its system
 * calls.
 */
#ifndef TEXT_SERVER_H
#define TEXT_SERVER_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_BATCH	16	/* messages in a step */
#define TEXT_NAMES	200	/* different names in datagrams */
#define TEXT_ROOM	8192

/**
 * struct text_server
 * @script: its path; NULL: a C program
 * @open:   prepares it; the sockets are open
 * @step:   processes TEXT_BATCH messages
 * @flush:  writes the sums to @out and resets them; NULL: it has none
 * @sock:   source of messages: a datagram socket, or an epoll instance
 * @out:    a pipe; for a forwarder, the socket to its upstream server
 * @fd:     descriptor of the script
 */
struct text_server {
	const char *name, *script;
	void (*open)(struct text_server *server);
	void (*step)(struct text_server *server);
	void (*flush)(struct text_server *server);
	int sock, out, fd;
};

/* For each kind of server the script, followed by the C program. */
extern struct text_server text_servers[];
extern const unsigned int text_server_count;

/* Makes the C program for DNS cache an answer. */
void text_dns_keep(const char *answer, size_t len);

#endif
