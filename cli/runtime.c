// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * syscript runtime: Lua's runtime for the confined engine, registered with the module as
 * a base of the machine.  Without it the first script of each process registers one.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <syscript.h>

#include "cli.h"
#include "lua_shared_image.h"

static const char help[] =
	"Usage: syscript runtime\n"
	"Registers Lua's runtime for the confined engine with the module, once for all users,\n"
	"so that their scripts need not bring it.  Root runs it when the module has been loaded,\n"
	"and after an upgrade: the udev rule and the packages do.\n\n"
	"      --help  print this\n";

static int register_runtime(void)
{
	char error[RUN_ERROR_LEN] = "";
	int err = shared_image_share(error);

	if (!err)
		return 0;
	if (err == -EPERM && !*error)
		return complain("only root may register the runtime for all users");
	return complain("the runtime cannot be registered: %s",
			*error ? error : syscript_strerror(err));
}

int cmd_runtime(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};

	switch (getopt_long(argc, argv, "h", options, NULL)) {
	case -1:
		break;
	case 'h':
		fputs(help, stdout);
		return 0;
	default:
		return complain_usage("runtime", "unknown option");
	}
	if (optind < argc)
		return complain_usage("runtime", "unexpected argument '%s'", argv[optind]);
	return register_runtime();
}
