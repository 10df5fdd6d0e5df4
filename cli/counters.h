/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The counters of scripts that list and top show. */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <stddef.h>
#include <syscript.h>

/**
 * struct counter - a field of struct syscript_info
 * @key:    its name there, and in JSON
 * @head:   its column's head, and @width the column's; 0: not in the table
 * @metric: its name for Prometheus, which ends in _total if it only grows
 * @help:   what it counts
 * @unit:   what to multiply with for Prometheus, whose units are s and bytes
 */
struct counter {
	const char *key, *head;
	int width;
	const char *metric, *help;
	double unit;
	size_t offset;
};

extern const struct counter counters[];
extern const size_t counters_count;

unsigned long long counter_value(const struct counter *counter,
				 const struct syscript_info *info);

/* How many counters its engine has, the first of @info->counters. */
int engine_counters(const struct syscript_info *info);

/* "ready", "running", "dead". */
const char *state_name(unsigned int state);

/*
 * All live scripts that may be seen, for free(), and how many.  Returns 0 or an
 * exit status after a complaint.
 */
int read_scripts(struct syscript_info **scripts, size_t *n);

#endif /* COUNTERS_H */
