/* SPDX-License-Identifier: GPL-2.0 */
/* Data races, and their reports. */
#ifndef RACEWATCH_RACE_H
#define RACEWATCH_RACE_H

#include "access.h"
#include "client.h"

/* Stack entries of the access that did not wait. */
#define RACE_STACK	16

/**
 * struct other - an access that conflicts with one that waits
 * @stack: @depth return addresses, from @access.ip on
 */
struct other {
	struct access access;
	const char *context;
	int pid, cpu;
	char comm[16];
	unsigned long stack[RACE_STACK];
	unsigned int depth;
};

/* Describes @access, which the current context makes. */
void race_describe(struct other *other, const struct access *access);

/*
 * Reports a race of @access, which the current context has let wait, with @other, or if that is
 * NULL with an access that was not seen. @before, @after: the value while it waited.
 */
void race_report(struct client *client, const struct access *access, const struct other *other,
		 u64 before, u64 after);

#endif
