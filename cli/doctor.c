// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript doctor */
#include <string.h>
#include <syscript.h>

#include "cli.h"
#include "probes.h"

/* The backend that the library would choose, or the reason why there is none. */
static const char *backend(const struct findings *f)
{
	if (!strcmp(f->environment, "kernel"))
		return f->kernel_err ? "none" : "kernel";
	if (!strcmp(f->environment, "user"))
		return f->user_err ? "none" : "user";
	if (f->environment_err || syscript_probe(SYSCRIPT_BACKEND_AUTO))
		return "none";
	return f->kernel_err ? "user" : "kernel";
}

/* The engine that the library would use in the kernel. */
static const char *engine(const struct findings *f)
{
	return f->kernel_err ? "none" : f->luajit_err ? "confined" : "luajit";
}

static const char interpreted[] =
	"works, but interprets: this process may not make memory executable (MemoryDenyWriteExecute=, PR_SET_MDWE, SELinux)";

static const char *yes(bool b)
{
	return b ? "yes" : "no";
}

/* Prints the answer that most users want, and the first thing to do if it is no. */
static void print_answer(const struct findings *f, const struct remedy *r, size_t n)
{
	printf("scripts run in the kernel for you: ");
	if (!strcmp(backend(f), "kernel"))
		printf("yes, %s\n", f->luajit_err ? "confined" : "on LuaJIT or confined");
	else if (n)
		printf("no: %s\n      %s\n", r[0].what, r[0].command);
	else
		printf("no: SYSCRIPT_BACKEND=%s\n", f->environment);
}

static void print_remedies(const struct remedy *r, size_t n)
{
	if (n)
		printf("\nWhat is missing for scripts to run in the kernel, and what fixes it:\n");
	for (size_t i = 0; i < n; i++)
		printf("%2zu. %s\n      %s\n", i + 1, r[i].what, r[i].command);
}

static void print_text(const struct findings *f)
{
	printf("kernel     %s %s %s\n", f->kernel.sysname, f->kernel.release, f->kernel.machine);
	if (f->untested)
		printf("           newer than Linux " NEWEST_TESTED ", the newest that this version was tested with:\n"
		       "           if the module does not build or load, install a newer version\n");
	printf("module     loaded: %s", yes(f->loaded));
	if (f->loaded)
		printf(" (version %s), scripts switched on: %s",
		       *f->version ? f->version : "unknown", yes(f->enabled));
	printf("\ndevice     " DEVICE ": ");
	if (f->device)
		printf("mode %04o, owner %s, group %s, open to you: %s\n", f->mode, f->owner,
		       f->group, yes(f->device_open));
	else
		printf("missing\n");
	printf("luajit     " LUAJIT_DEVICE ": ");
	if (f->luajit)
		printf("mode %04o, open to you: %s (LuaJIT in the kernel, for users who are trusted)\n",
		       f->luajit_mode, yes(f->luajit_open));
	else
		printf("missing: an option, syscript_luajit.ko\n");
	printf("group      " GROUP ": %s\n", !f->group_exists ? "missing" :
	       f->member ? "you are in it" : "you are not in it");
	printf("watched    seccomp: %s, traced: %s\n", yes(f->seccomp), yes(f->traced));
	printf("kernel backend  %s\n", f->kernel_err ? syscript_strerror(f->kernel_err) : "works");
	printf("its engine      %s\n", engine(f));
	printf("user backend    %s\n", f->user_err ? syscript_strerror(f->user_err) :
	       f->interpreted ? interpreted : "works");
	printf("SYSCRIPT_BACKEND%s%s: scripts run in the backend: %s\n",
	       *f->environment ? "=" : " is not set", f->environment, backend(f));
}

static const char *json_bool(bool b)
{
	return b ? "true" : "false";
}

static void json_field(const char *key, const char *text)
{
	printf(", \"%s\": ", key);
	json_string(stdout, text);
}

static void json_remedies(const struct remedy *r, size_t n)
{
	printf(",\n \"missing\": [");
	for (size_t i = 0; i < n; i++) {
		printf("%s\n  {\"what\": ", i ? "," : "");
		json_string(stdout, r[i].what);
		json_field("command", r[i].command);
		putchar('}');
	}
	puts("]}");
}

static void print_json(const struct findings *f)
{
	printf("{\"version\": \"%s\"", syscript_version());
	json_field("kernel", f->kernel.release);
	json_field("machine", f->kernel.machine);
	json_field("newest_tested", NEWEST_TESTED);
	printf(",\n \"module\": {\"loaded\": %s, \"installed\": %s, \"enabled\": %s",
	       json_bool(f->loaded), json_bool(f->installed), json_bool(f->enabled));
	printf(", \"must_be_signed\": %s, \"signed\": %s", json_bool(f->signatures),
	       json_bool(f->installed && f->is_signed));
	json_field("version", f->version);
	printf("},\n \"device\": {\"present\": %s, \"usable\": %s, \"mode\": \"%04o\"",
	       json_bool(f->device), json_bool(f->device_open), f->mode);
	json_field("owner", f->owner);
	json_field("group", f->group);
	printf("},\n \"luajit_device\": {\"present\": %s, \"usable\": %s, \"mode\": \"%04o\"",
	       json_bool(f->luajit), json_bool(f->luajit_open), f->luajit_mode);
	printf("},\n \"group\": {\"exists\": %s, \"member\": %s}",
	       json_bool(f->group_exists), json_bool(f->member));
	printf(",\n \"watched\": {\"seccomp\": %s, \"traced\": %s}",
	       json_bool(f->seccomp), json_bool(f->traced));
	printf(",\n \"backends\": {\"kernel\": %d, \"user\": %d}", f->kernel_err, f->user_err);
	json_field("engine", engine(f));
	json_field("environment", f->environment);
	json_field("backend", backend(f));
	printf(", \"interpreted\": %s", json_bool(f->interpreted));
}

static const char help[] =
	"Usage: syscript doctor [--json]\n"
	"Shows whether scripts run in the kernel here, and what to do if not.\n"
	"Exit status: 0 if they do, 1 if something is missing.\n";

int cmd_doctor(int argc, char **argv)
{
	struct remedy missing[REMEDIES_MAX];
	struct findings findings;
	bool json = false;
	int status;
	size_t n;

	status = parse_json(argc, argv, help, &json);
	if (status)
		return status < 0 ? 0 : status;
	find(&findings);
	n = remedies(&findings, missing);
	if (json) {
		print_json(&findings);
		json_remedies(missing, n);
	} else {
		print_answer(&findings, missing, n);
		print_text(&findings);
		print_remedies(missing, n);
	}
	return n ? EXIT_SCRIPT : 0;
}
