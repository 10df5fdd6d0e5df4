/* SPDX-License-Identifier: GPL-2.0 */
/* Instrumented modules, by name, with the settings of each. */
#ifndef RACEWATCH_CLIENT_H
#define RACEWATCH_CLIENT_H

#include "registry.h"

/**
 * struct settings - of a module
 * @off:       none of its accesses waits
 * @sample:    one access in this many waits
 * @delay:     microseconds that it waits, at most; a quarter of it in interrupts
 * @unchanged: report also writes that left the value as it was
 * @every:     report each race, not just the first of two places
 */
struct settings {
	unsigned int off, sample, delay, unchanged, every;
};

struct client {
	struct entry entry;
	struct settings settings;
};

/* The client that the code at @ip belongs to. Any context. */
struct client *client_of(unsigned long ip);

/* All clients and their settings. */
extern struct registry client_registry;

int client_init(void);
void client_exit(void);

#endif
