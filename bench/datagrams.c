// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See datagrams.h. */
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "datagrams.h"
#include "measure.h"

#define COMMAND		512

int datagrams_run(const char *command)
{
	char text[COMMAND];
	int status;

	snprintf(text, sizeof(text), "(%s) >&2", command);
	status = system(text);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* @join is bind(2) or connect(2). */
static int open_socket(int port, int (*join)(int sock, const struct sockaddr *name, socklen_t len))
{
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int sock = socket(AF_INET, SOCK_DGRAM, 0);

	if (sock < 0 || join(sock, (struct sockaddr *)&name, sizeof(name)))
		measure_die("port %d: %m", port);
	return sock;
}

int datagrams_receiver(int port)
{
	return open_socket(port, bind);
}

int datagrams_sender(int port)
{
	return open_socket(port, connect);
}

void datagrams_network(void)
{
	if (unshare(CLONE_NEWNET) || datagrams_run("ip link set lo up"))
		measure_die("no network namespace: %m");
}
