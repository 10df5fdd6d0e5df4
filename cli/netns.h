/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Network namespaces, and iproute2's commands that configure their devices. */
#ifndef NETNS_H
#define NETNS_H

#include <stdbool.h>

/*
 * Runs ip(8) or tc(8), whose words are separated by single blanks; if @netns_print is set, only
 * prints them. Returns false on failure, after an error message.
 */
bool netns_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern bool netns_print;

/* Like netns_run(), silently. */
bool netns_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Creates a namespace for this process, for ordinary users in a new user namespace.  Returns 0 or
 * EXIT_USAGE after a complaint.
 */
int netns_unshare(void);

/* Enters namespace @name of ip-netns(8); returns as netns_unshare(). */
int netns_enter(const char *name);

/*
 * Opens a packet socket bound to @device of this process's namespace, as descriptor @fd, which
 * stays open across execve(2).  0, or EXIT_USAGE after a complaint.
 */
int netns_packet_socket(const char *device, int fd);

#endif /* NETNS_H */
