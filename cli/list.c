// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript list */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "counters.h"

/* As "traces=3,mcode=32768". */
static void print_engine_counters(const struct syscript_info *info)
{
	char text[SYSCRIPT_COUNTERS_MAX * 48] = "";
	int len = 0;

	for (int i = 0; i < engine_counters(info); i++)
		len += snprintf(text + len, sizeof(text) - len, "%s%s=%llu", i ? "," : "",
				info->counters[i].name,
				(unsigned long long)info->counters[i].value);
	printf(" %-24s", text);
}

static void print_row(const struct syscript_info *info)
{
	printf("%6llu %7d %7u %-8s %-8s", (unsigned long long)info->id, info->pid, info->uid,
	       state_name(info->state), info->engine_name);
	for (size_t i = 0; i < counters_count; i++)
		if (counters[i].width)
			printf(" %*llu", counters[i].width, counter_value(&counters[i], info));
	print_engine_counters(info);
	printf(" %s\n", info->name);
}

static void print_table(const struct syscript_info *scripts, size_t n)
{
	printf("%6s %7s %7s %-8s %-8s", "ID", "PID", "UID", "STATE", "ENGINE");
	for (size_t i = 0; i < counters_count; i++)
		if (counters[i].width)
			printf(" %*s", counters[i].width, counters[i].head);
	printf(" %-24s NAME\n", "ENGINE'S OWN");
	for (size_t i = 0; i < n; i++)
		print_row(&scripts[i]);
}

static void print_object(const struct syscript_info *info)
{
	printf("\n  {\"id\": %llu, \"pid\": %d, \"uid\": %u, \"state\": \"%s\", \"flags\": %u",
	       (unsigned long long)info->id, info->pid, info->uid, state_name(info->state),
	       info->flags);
	printf(", \"engine\": ");
	json_string(stdout, info->engine_name);
	for (size_t i = 0; i < counters_count; i++)
		printf(", \"%s\": %llu", counters[i].key, counter_value(&counters[i], info));
	printf(", \"counters\": {");
	for (int i = 0; i < engine_counters(info); i++) {
		printf("%s", i ? ", " : "");
		json_string(stdout, info->counters[i].name);
		printf(": %llu", (unsigned long long)info->counters[i].value);
	}
	printf("}, \"name\": ");
	json_string(stdout, info->name);
	putchar('}');
}

static void print_json(const struct syscript_info *scripts, size_t n)
{
	putchar('[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			putchar(',');
		print_object(&scripts[i]);
	}
	puts(n ? "\n]" : "]");
}

/* A name is printable ASCII: only these two characters need an escape in a label's value. */
static void print_label(const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
}

static void print_labels(const struct syscript_info *info)
{
	printf("id=\"%llu\",pid=\"%d\",uid=\"%u\",name=\"", (unsigned long long)info->id,
	       info->pid, info->uid);
	print_label(info->name);
	putchar('"');
}

static void print_sample(const struct counter *counter, const struct syscript_info *info)
{
	unsigned long long value = counter_value(counter, info);

	printf("syscript_%s{", counter->metric);
	print_labels(info);
	if (counter->unit == 1)
		printf("} %llu\n", value);
	else
		printf("} %.9f\n", value * counter->unit);
}

static void print_engine_samples(const struct syscript_info *info)
{
	for (int i = 0; i < engine_counters(info); i++) {
		printf("syscript_engine_counter{");
		print_labels(info);
		printf(",engine=\"%s\",counter=\"%s\"} %llu\n", info->engine_name,
		       info->counters[i].name, (unsigned long long)info->counters[i].value);
	}
}

/* The text format, version 0.0.4: all of a metric, then all of the next. */
static void print_prometheus(const struct syscript_info *scripts, size_t n)
{
	printf("# HELP syscript_scripts Live scripts.\n"
	       "# TYPE syscript_scripts gauge\nsyscript_scripts %zu\n", n);
	for (size_t i = 0; i < counters_count; i++) {
		const struct counter *counter = &counters[i];

		printf("# HELP syscript_%s %s\n# TYPE syscript_%s %s\n", counter->metric,
		       counter->help, counter->metric,
		       strstr(counter->metric, "_total") ? "counter" : "gauge");
		for (size_t k = 0; k < n; k++)
			print_sample(counter, &scripts[k]);
	}
	printf("# HELP syscript_engine_counter What the script's engine counts.\n"
	       "# TYPE syscript_engine_counter untyped\n");
	for (size_t k = 0; k < n; k++)
		print_engine_samples(&scripts[k]);
}

static const char help[] =
	"Usage: syscript list [--json | --prometheus]\n"
	"Lists your live scripts in the kernel (root: all) and their counters.\n\n"
	"      --json        as an array of objects\n"
	"      --prometheus  in Prometheus's text format\n"
	"      --help        print this\n";

int cmd_list(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "prometheus", no_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	void (*print)(const struct syscript_info *, size_t) = print_table;
	struct syscript_info *scripts;
	int option, status;
	size_t n;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h')
			return fputs(help, stdout), 0;
		if (option != 'j' && option != 'p')
			return complain_usage("list", "unknown option");
		print = option == 'j' ? print_json : print_prometheus;
	}
	if (optind < argc)
		return complain_usage("list", "unexpected argument '%s'", argv[optind]);
	status = read_scripts(&scripts, &n);
	if (!status)
		print(scripts, n);
	free(scripts);
	return status;
}
