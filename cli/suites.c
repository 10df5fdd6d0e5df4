// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript suites: sets of the library's scripts, and the administrator's switches. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "../lib/batch/suites.h"

static const char help[] =
	"Usage: syscript suites [--json]\n"
	"Lists the library's scripts by the kind of machine that they are for, and whether\n"
	"they may run in the kernel.  A file with the suite's name in /etc/syscript/suites.d\n"
	"says 'on' or 'off'; the file 'default' is for suites without one.\n\n"
	"      --json  as an array of objects\n"
	"      --help  print this\n";

static const char *const names[] = {
#define BUILTIN(name)	#name,
#include "../lib/batch/builtin.def"
#undef BUILTIN
};

static void print_scripts(const struct suite *suite, const char *format, const char *between)
{
	const char *before = "";

	for (unsigned int i = 0; i < BUILTINS; i++) {
		if (!(suite->scripts & UINT32_C(1) << i))
			continue;
		fputs(before, stdout);
		printf(format, names[i]);
		before = between;
	}
}

static void print_json(void)
{
	for (unsigned int i = 0; i < suites_count; i++) {
		printf("%s{\"name\": \"%s\", \"on\": %s, \"of\": \"%s\", \"scripts\": [",
		       i ? ",\n " : "[", suites[i].name,
		       suite_is_on(&suites[i]) ? "true" : "false", suites[i].of);
		print_scripts(&suites[i], "\"%s\"", ", ");
		printf("]}");
	}
	printf("]\n");
}

static void print_table(void)
{
	for (unsigned int i = 0; i < suites_count; i++) {
		printf("%-7s %-3s  %s\n             ", suites[i].name,
		       suite_is_on(&suites[i]) ? "on" : "off", suites[i].of);
		print_scripts(&suites[i], "%s", " ");
		printf("\n");
	}
}

int cmd_suites(int argc, char **argv)
{
	bool json = false;
	int status = parse_json(argc, argv, help, &json);

	if (status)
		return status < 0 ? 0 : status;
	if (json)
		print_json();
	else
		print_table();
	return 0;
}
