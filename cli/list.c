// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript list */
#include <errno.h>
#include <string.h>
#include <syscript.h>

#include "cli.h"

static const char *const states[] = {
	[SYSCRIPT_STATE_READY] = "ready",
	[SYSCRIPT_STATE_RUNNING] = "running",
	[SYSCRIPT_STATE_DEAD] = "dead",
};

static const char *state_name(unsigned int state)
{
	return state < sizeof(states) / sizeof(states[0]) ? states[state] : "unknown";
}

/* The counters that both forms show: what JSON calls them, and the column. */
static const struct column {
	const char *key, *head;
	int width;
	size_t offset;
} columns[] = {
#define COLUMN(key, head, width) { #key, head, width, offsetof(struct syscript_info, key) }
	COLUMN(calls, "CALLS", 10),
	COLUMN(errors, "ERRORS", 8),
	COLUMN(kills, "KILLS", 6),
	COLUMN(run_time, "RUN-NS", 14),
	COLUMN(syscalls, "SYSCALLS", 12),
	COLUMN(memory, "MEMORY", 10),
	COLUMN(memory_peak, "PEAK", 10),
	COLUMN(memory_limit, "LIMIT", 10),
	COLUMN(time_limit, "LIMIT-NS", 12),
	COLUMN(mcode, "MCODE", 8),
	COLUMN(traces, "TRACES", 7),
	COLUMN(preempt_max, "PREEMPT-NS", 11),
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static unsigned long long value(const struct column *column, const struct syscript_info *info)
{
	__u64 v;

	memcpy(&v, (const char *)info + column->offset, sizeof(v));
	return v;
}

static void print_head(void)
{
	printf("%6s %7s %7s %-8s", "ID", "PID", "UID", "STATE");
	for (size_t i = 0; i < COLUMNS; i++)
		printf(" %*s", columns[i].width, columns[i].head);
	printf(" NAME\n");
}

static void print_line(const struct syscript_info *info)
{
	printf("%6llu %7d %7u %-8s", (unsigned long long)info->id, info->pid, info->uid,
	       state_name(info->state));
	for (size_t i = 0; i < COLUMNS; i++)
		printf(" %*llu", columns[i].width, value(&columns[i], info));
	printf(" %s\n", info->name);
}

static void print_json(const struct syscript_info *info, bool first)
{
	printf("%s\n  {\"id\": %llu, \"pid\": %d, \"uid\": %u, \"state\": \"%s\", \"flags\": %u",
	       first ? "" : ",", (unsigned long long)info->id, info->pid, info->uid,
	       state_name(info->state), info->flags);
	for (size_t i = 0; i < COLUMNS; i++)
		printf(", \"%s\": %llu", columns[i].key, value(&columns[i], info));
	printf(", \"name\": ");
	json_string(stdout, info->name);
	putchar('}');
}

static const char help[] =
	"Usage: syscript list [--json]\n"
	"Lists your live scripts in the kernel (root: all) and their counters.\n";

int cmd_list(int argc, char **argv)
{
	struct syscript_info info = { 0 };
	bool json = false, first = true;
	int err;

	err = parse_json(argc, argv, help, &json);
	if (err)
		return err < 0 ? 0 : err;
	err = syscript_probe(SYSCRIPT_BACKEND_KERNEL);
	/* Those that may be seen, even if this process may make none. */
	if (err && err != -EOPNOTSUPP && err != -ESHUTDOWN && err != -EDQUOT)
		return complain("no scripts to list, %s; 'syscript doctor' tells more",
				syscript_strerror(err));
	if (json)
		putchar('[');
	else
		print_head();
	while (!(err = syscript_next(&info))) {
		if (json)
			print_json(&info, first);
		else
			print_line(&info);
		first = false;
	}
	if (json)
		puts(first ? "]" : "\n]");
	return err == -ENOENT ? 0 : complain("%s", syscript_strerror(err));
}
