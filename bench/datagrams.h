/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Datagrams over the loopback device of a private network namespace. */
#ifndef DATAGRAMS_H
#define DATAGRAMS_H

/* Enters a new, empty network namespace. */
void datagrams_network(void);

/* Runs a shell command silently; returns its exit status. */
int datagrams_run(const char *command);

/* Sockets that send to @port of 127.0.0.1, or receive there. */
int datagrams_sender(int port);
int datagrams_receiver(int port);

#endif
