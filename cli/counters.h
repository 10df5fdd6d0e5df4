/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The counters of scripts that list and top show. */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <stddef.h>
#include <syscript.h>

/**
 * struct counter - a field of struct syscript_info
 * @key:    its name in that structure and in JSON
 * @head:   its column's heading; @width: the column's width, 0 if it is not in the table
 * @metric: its name for Prometheus, which ends in _total if it only grows
 * @help:   what it counts
 * @unit:   factor for Prometheus, whose units are s and bytes
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

/* How many of @info->counters, from the first on, the script's engine has. */
int engine_counters(const struct syscript_info *info);

/* "ready", "running", "dead". */
const char *state_name(unsigned int state);

/*
 * Reads all live scripts that are visible: an array for free(), and their number.  Returns 0, or
 * an exit status after an error message.
 */
int read_scripts(struct syscript_info **scripts, size_t *n);

#endif /* COUNTERS_H */
