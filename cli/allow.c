// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * syscript allow: chooses who may run scripts in the kernel, on the confined engine.
 * A udev rule makes the choice permanent. The node gets its owner, group and mode at once, as udev
 * would set them later, so that no user must log in again or reload the module.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "probes.h"

#define RULES	"/etc/udev/rules.d"
#define RULE	RULES "/61-syscript.rules"
#define MARK	"# Written by 'syscript allow"

static const char help[] =
	"Usage: syscript allow --all | --group NAME | --user NAME | --none\n"
	"Says who may have scripts in the kernel, confined: all users (as after the\n"
	"installation), the members of a group, one user, or only root.  Writes a rule for\n"
	"udev, " RULE ", and applies it at once.\n"
	"Without an option prints who may now.\n\n"
	"      --all         every user\n"
	"      --group NAME  the members of a group\n"
	"      --user NAME   one user\n"
	"      --none        root only\n"
	"      --help        print this\n\n"
	"LuaJIT in the kernel, " LUAJIT_DEVICE ", is for the group " GROUP " in any case.\n";

/**
 * struct allowed - who may open the device
 * @option: the option on the command line
 * @name:   name of the user or group, otherwise ""
 */
struct allowed {
	const char *option, *name;
	uid_t uid;
	gid_t gid;
	unsigned int mode;
};

static int parse_name(struct allowed *a, bool is_group)
{
	struct passwd *user = is_group ? NULL : getpwnam(a->name);
	struct group *group = is_group ? getgrnam(a->name) : NULL;

	if (!user && !group)
		return complain("no %s '%s': see 'getent %s'", is_group ? "group" : "user",
				a->name, is_group ? "group" : "passwd");
	/* A control character could end the rule's comment. */
	for (const char *p = a->name; *p; p++)
		if (*p < ' ')
			return complain("no such name");
	a->uid = user ? user->pw_uid : 0;
	a->gid = group ? group->gr_gid : 0;
	a->mode = is_group ? 0660 : 0600;
	return 0;
}

static int parse_option(struct allowed *a, int option)
{
	if (a->option)
		return complain_usage("allow", "one of --all, --group, --user, --none");
	a->name = optarg ?: "";
	switch (option) {
	case 'a':
		a->option = "--all";
		a->mode = 0666;
		return 0;
	case 'n':
		a->option = "--none";
		a->mode = 0600;
		return 0;
	}
	a->option = option == 'g' ? "--group" : "--user";
	return parse_name(a, option == 'g');
}

/* Returns -1 after --help. */
static int parse(struct allowed *a, int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' }, { "group", required_argument, NULL, 'g' },
		{ "user", required_argument, NULL, 'u' }, { "none", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	int option, status = 0;

	opterr = 0;
	while (!status && (option = getopt_long(argc, argv, "+:", options, NULL)) >= 0) {
		if (option == 'h') {
			fputs(help, stdout);
			return -1;
		}
		if (option == '?' || option == ':')
			return complain_usage("allow", option == ':' ? "'%s' needs a name" :
					      "unknown option '%s'", argv[optind - 1]);
		status = parse_option(a, option);
	}
	if (!status && optind < argc)
		return complain_usage("allow", "unexpected argument '%s'", argv[optind]);
	return status;
}

/* Does the rule belong to an administrator?  Then it must not be replaced. */
static bool is_anothers_rule(void)
{
	FILE *file = fopen(RULE, "re");
	char line[256] = "";
	bool ours;

	if (!file)
		return false;
	ours = fgets(line, sizeof(line), file) && !strncmp(line, MARK, strlen(MARK));
	fclose(file);
	return !ours;
}

/* Writes numeric ids, because udev may not know names yet when the machine starts. */
static int write_rule(const struct allowed *a)
{
	static const char temporary[] = RULE ".new";
	FILE *file;
	bool failed;

	mkdir("/etc/udev", 0755);
	mkdir(RULES, 0755);
	file = fopen(temporary, "we");
	if (!file)
		return complain("cannot write %s: %m", temporary);
	fprintf(file, MARK " %s%s%s'.\n", a->option, *a->name ? " " : "", a->name);
	fprintf(file, "KERNEL==\"syscript\", SUBSYSTEM==\"misc\", OWNER=\"%u\", GROUP=\"%u\", "
		"MODE=\"%04o\", OPTIONS+=\"static_node=syscript\"\n", a->uid, a->gid, a->mode);
	fchmod(fileno(file), 0644);
	failed = fflush(file) || fsync(fileno(file));
	if (fclose(file) || failed || rename(temporary, RULE))
		return complain("cannot write " RULE ": %m");
	return 0;
}

/* Applies the rule to the existing node; udev applies it to nodes created later. */
static int apply(const struct allowed *a)
{
	if (!access("/run/udev/control", F_OK) && system("udevadm control --reload"))
		fprintf(stderr, "syscript: udev does not know the rule yet: udevadm control --reload\n");
	/* Meanwhile only root may open the device. */
	if (chmod(DEVICE, 0600)) {
		if (errno != ENOENT)
			return complain("cannot change " DEVICE ": %m");
		printf("There is no " DEVICE " now: this takes effect with 'modprobe syscript'.\n");
		return 0;
	}
	if (chown(DEVICE, a->uid, a->gid) || chmod(DEVICE, a->mode))
		return complain("cannot change " DEVICE ": %m");
	return 0;
}

static void explain(const struct allowed *a)
{
	if (!strcmp(a->option, "--none")) {
		printf("Only root may have scripts in the kernel now; others' run in user space.\n"
		       "Those that are registered go on: end their processes, or switch all off with\n"
		       "  echo N >" PARAMETERS "enabled\n");
		return;
	}
	if (*a->name)
		printf("%s '%s' may have scripts in the kernel now, confined.\n",
		       !strcmp(a->option, "--group") ? "Members of" : "User", a->name);
	else
		printf("All users may have scripts in the kernel now, confined.\n");
	printf("A script can do what its process can, by its own system calls, which filters,\n"
	       "security modules and tracers see.  Its machine code is verified before it runs; its\n"
	       "time and memory, and each user's share, are limited.  This opens no other user's\n"
	       "data, and does not open LuaJIT in the kernel, which is for the group " GROUP ".\n");
	if (!strcmp(a->option, "--group"))
		printf("Membership counts from a user's next login on ('newgrp %s' until then).\n",
		       a->name);
}

static int show(void)
{
	struct passwd *user;
	struct group *group;
	struct stat st;

	if (stat(DEVICE, &st))
		return complain("there is no " DEVICE ": see 'syscript doctor'");
	user = getpwuid(st.st_uid);
	group = getgrgid(st.st_gid);
	if (st.st_mode & 0006)
		printf("all users\n");
	else if (st.st_mode & 0060 && st.st_gid)
		printf("group %s\n", group ? group->gr_name : "of an unknown name");
	else
		printf("user %s\n", user ? user->pw_name : "of an unknown name");
	return 0;
}

int cmd_allow(int argc, char **argv)
{
	struct allowed allowed = { 0 };
	int status = parse(&allowed, argc, argv);

	if (status)
		return status < 0 ? 0 : status;
	if (!allowed.option)
		return show();
	if (geteuid())
		return complain("only root can change this: sudo syscript allow %s%s%s", allowed.option,
				*allowed.name ? " " : "", allowed.name);
	if (is_anothers_rule())
		return complain(RULE " was not written by this command: change or remove it");
	status = write_rule(&allowed) ?: apply(&allowed);
	if (!status)
		explain(&allowed);
	return status;
}
