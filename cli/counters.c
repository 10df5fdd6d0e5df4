// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "counters.h"

#define COUNTER(key, head, width, metric, help, unit) \
	{ #key, head, width, metric, help, unit, offsetof(struct syscript_info, key) }

const struct counter counters[] = {
	COUNTER(calls, "CALLS", 10, "calls_total", "Calls of run().", 1),
	COUNTER(errors, "ERRORS", 8, "errors_total", "Calls that ended in an error of the script.", 1),
	COUNTER(kills, "KILLS", 6, "kills_total", "Calls that ended at a limit or by a fatal signal.", 1),
	COUNTER(run_time, "RUN-NS", 14, "run_seconds_total", "Time spent in script code.", 1e-9),
	COUNTER(syscalls, "SYSCALLS", 12, "syscalls_total", "System calls made by the script.", 1),
	COUNTER(memory, "MEMORY", 10, "memory_bytes", "Memory that the script holds.", 1),
	COUNTER(memory_peak, "PEAK", 10, "memory_peak_bytes", "Most memory that it has held.", 1),
	COUNTER(memory_limit, "LIMIT", 10, "memory_limit_bytes", "Memory that it may hold.", 1),
	COUNTER(time_limit, "LIMIT-NS", 12, "time_limit_seconds", "Time in script code that a call may take.", 1e-9),
	COUNTER(wall_limit, "", 0, "wall_limit_seconds",
		"Elapsed time that a call may take, without waits; the largest number: no limit.", 1e-9),
	COUNTER(grace, "", 0, "grace_seconds", "Time that a call may continue with a signal pending.",
		1e-9),
	COUNTER(preempt_max, "PREEMPT-NS", 11, "preempt_max_seconds",
		"Longest stretch without preemption that a tick saw.", 1e-9),
};

const size_t counters_count = sizeof(counters) / sizeof(counters[0]);

unsigned long long counter_value(const struct counter *counter,
				 const struct syscript_info *info)
{
	__u64 v;

	memcpy(&v, (const char *)info + counter->offset, sizeof(v));
	return v;
}

int engine_counters(const struct syscript_info *info)
{
	int n = 0;

	while (n < SYSCRIPT_COUNTERS_MAX && info->counters[n].name[0])
		n++;
	return n;
}

const char *state_name(unsigned int state)
{
	static const char *const states[] = {
		[SYSCRIPT_STATE_READY] = "ready",
		[SYSCRIPT_STATE_RUNNING] = "running",
		[SYSCRIPT_STATE_DEAD] = "dead",
	};

	return state < sizeof(states) / sizeof(states[0]) ? states[state] : "unknown";
}

int read_scripts(struct syscript_info **scripts, size_t *n)
{
	struct syscript_info info = { 0 }, *more;
	int err;

	*scripts = NULL;
	*n = 0;
	err = syscript_probe(SYSCRIPT_BACKEND_KERNEL);
	/* Scripts may be visible even if this process may not create any. */
	if (err && err != -EOPNOTSUPP && err != -ESHUTDOWN && err != -EDQUOT)
		return complain("only scripts in the kernel are listed: %s; 'syscript doctor' tells more",
				syscript_strerror(err));
	while (!(err = syscript_next(&info))) {
		more = realloc(*scripts, (*n + 1) * sizeof(info));
		if (!more)
			return complain("no memory for the list");
		*scripts = more;
		more[(*n)++] = info;
	}
	return err == -ENOENT ? 0 : complain("%s", syscript_strerror(err));
}
