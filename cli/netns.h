/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Network namespaces, and the commands of iproute2 that devices are made with. */
#ifndef NETNS_H
#define NETNS_H

#include <stdbool.h>

/*
 * Runs ip(8) or tc(8), whose words are separated by single blanks; @netns_print says
 * that they are printed instead.  Returns false if it did not succeed; it has said why.
 */
bool netns_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern bool netns_print;

/* The same without a word from it, for questions. */
bool netns_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * A namespace of this process's own, and of an ordinary user's own user namespace.
 * Returns 0 or EXIT_USAGE after a complaint.
 */
int netns_unshare(void);

/* This process enters namespace @name of ip-netns(8): likewise. */
int netns_enter(const char *name);

/*
 * A packet socket that is bound to @device of this process's namespace, as descriptor
 * @fd, which execve(2) keeps.  0, or EXIT_USAGE after a complaint.
 */
int netns_packet_socket(const char *device, int fd);

#endif /* NETNS_H */
