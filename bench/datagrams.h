/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Datagrams over the loopback device of a network of one's own. */
#ifndef DATAGRAMS_H
#define DATAGRAMS_H

/* A network without anything of anyone else's. */
void datagrams_network(void);

/* A shell's command: its exit status; what it prints is not ours. */
int datagrams_run(const char *command);

/* Sockets to and of @port of 127.0.0.1. */
int datagrams_sender(int port);
int datagrams_receiver(int port);

#endif
