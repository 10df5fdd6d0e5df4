/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Servers that parse text, each as a C program with recvmmsg(2), sendmmsg(2) and epoll(7), and
 * as a script of examples/text: what a program gains if all of its work is a script, and not
 * its system calls alone.
 */
#ifndef TEXT_SERVER_H
#define TEXT_SERVER_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_BATCH	16	/* messages in a step */
#define TEXT_NAMES	200	/* that datagrams are about */
#define TEXT_ROOM	8192

/**
 * struct text_server
 * @script: its path; NULL: it is in C
 * @open:   prepares; the sockets are open
 * @step:   takes TEXT_BATCH messages
 * @flush:  writes the sums to @out, and begins anew; NULL: it has none
 * @sock:   where messages come from: a socket of datagrams, or an epoll instance
 * @out:    a pipe; of a forwarder the socket of the server that it asks
 * @fd:     of the script
 */
struct text_server {
	const char *name, *script;
	void (*open)(struct text_server *server);
	void (*step)(struct text_server *server);
	void (*flush)(struct text_server *server);
	int sock, out, fd;
};

/* Of each kind of server the script, and the program in C after it. */
extern struct text_server text_servers[];
extern const unsigned int text_server_count;

/* Has the program in C for DNS keep an answer. */
void text_dns_keep(const char *answer, size_t len);

#endif
