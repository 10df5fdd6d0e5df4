// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript doctor */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <syscript.h>
#include <unistd.h>

#include "cli.h"

#define DEVICE	"/dev/syscript"
#define MODULE	"/sys/module/syscript"
#define GROUP	"syscript"

/* What was found; texts are "" where there is nothing to tell. */
struct findings {
	struct utsname kernel;
	bool loaded, enabled, installed;
	char version[64];
	bool device, device_open;
	unsigned int mode;
	char owner[64], group[64];
	bool group_exists, group_member;
	bool seccomp, traced;
	int kernel_err, user_err;
	const char *environment;
};

/* What is missing, and the command that mends it. */
struct remedy {
	char what[256], command[256];
};

static bool read_line(const char *path, char *buf, size_t size)
{
	FILE *file = fopen(path, "re");
	bool ok;

	*buf = '\0';
	if (!file)
		return false;
	ok = fgets(buf, size, file);
	buf[strcspn(buf, "\n")] = '\0';
	fclose(file);
	return ok;
}

/* The value of "KEY:\tVALUE" in /proc/self/status. */
static int read_status(const char *key)
{
	FILE *file = fopen("/proc/self/status", "re");
	size_t len = strlen(key);
	char line[128];
	int value = 0;

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, key, len) && line[len] == ':')
			value = atoi(line + len + 1);
	}
	fclose(file);
	return value;
}

/* Does depmod know the module for this kernel? */
static bool module_installed(const char *release)
{
	char path[256], line[4096];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", release);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = strstr(line, "/syscript.ko");
	fclose(file);
	return found;
}

static void look_at_module(struct findings *f)
{
	char enabled[8];

	f->loaded = !access(MODULE, F_OK);
	read_line(MODULE "/version", f->version, sizeof(f->version));
	f->enabled = read_line(MODULE "/parameters/enabled", enabled, sizeof(enabled)) &&
		     enabled[0] == 'Y';
	f->installed = module_installed(f->kernel.release);
}

static bool in_group(gid_t gid)
{
	int n = getgroups(0, NULL);
	gid_t *groups = calloc(n > 0 ? n : 1, sizeof(*groups));
	bool found = getegid() == gid;

	n = groups ? getgroups(n, groups) : 0;
	for (int i = 0; i < n; i++)
		found = found || groups[i] == gid;
	free(groups);
	return found;
}

static void look_at_device(struct findings *f)
{
	struct group *group;
	struct passwd *owner;
	struct stat st;

	group = getgrnam(GROUP);
	f->group_exists = group;
	f->group_member = group && in_group(group->gr_gid);

	f->device = !stat(DEVICE, &st) && S_ISCHR(st.st_mode);
	if (!f->device)
		return;
	f->device_open = !access(DEVICE, R_OK | W_OK);
	f->mode = st.st_mode & 07777;
	owner = getpwuid(st.st_uid);
	snprintf(f->owner, sizeof(f->owner), "%s", owner ? owner->pw_name : "?");
	group = getgrgid(st.st_gid);
	if (group)
		snprintf(f->group, sizeof(f->group), "%s", group->gr_name);
	else
		snprintf(f->group, sizeof(f->group), "%u", st.st_gid);
}

static void look(struct findings *f)
{
	memset(f, 0, sizeof(*f));
	uname(&f->kernel);
	look_at_module(f);
	look_at_device(f);
	f->seccomp = read_status("Seccomp") > 0;
	f->traced = read_status("TracerPid") > 0;
	f->kernel_err = syscript_probe(SYSCRIPT_BACKEND_KERNEL);
	f->user_err = syscript_probe(SYSCRIPT_BACKEND_USER);
	f->environment = getenv("SYSCRIPT_BACKEND") ?: "";
}

/* The backend of a program that leaves the choice to the library, or why none. */
static const char *backend(const struct findings *f)
{
	int auto_err = syscript_probe(SYSCRIPT_BACKEND_AUTO);

	if (auto_err)
		return "none";
	if (!strcmp(f->environment, "user") || f->kernel_err)
		return "user";
	return "kernel";
}

static void mend_module(const struct findings *f, struct remedy *r)
{
	snprintf(r->what, sizeof(r->what), "the module is not loaded%s",
		 f->installed ? "" : ", nor installed for this kernel");
	snprintf(r->command, sizeof(r->command), "%s",
		 f->installed ? "sudo modprobe syscript" :
		 "sudo dkms autoinstall && sudo modprobe syscript");
}

static void mend_device(const struct findings *f, struct remedy *r)
{
	struct passwd *user = getpwuid(getuid());

	if (!f->device) {
		snprintf(r->what, sizeof(r->what),
			 "the module is loaded, but there is no " DEVICE);
		snprintf(r->command, sizeof(r->command),
			 "sudo udevadm trigger --name-match=syscript");
	} else if (!f->group_exists || strcmp(f->group, GROUP)) {
		snprintf(r->what, sizeof(r->what),
			 DEVICE " does not belong to a group " GROUP);
		snprintf(r->command, sizeof(r->command),
			 "%ssudo chgrp " GROUP " " DEVICE " && sudo chmod 0660 " DEVICE,
			 f->group_exists ? "" : "sudo groupadd --system " GROUP " && ");
	} else {
		snprintf(r->what, sizeof(r->what), "you may not open " DEVICE "%s",
			 f->group_member ? " in spite of your group" : ": you are not in its group");
		if (f->group_member)
			snprintf(r->command, sizeof(r->command), "sudo chmod 0660 " DEVICE);
		else
			snprintf(r->command, sizeof(r->command),
				 "sudo usermod -aG " GROUP " %s    # then log in again",
				 user ? user->pw_name : "USER");
	}
}

static void mend_watched(const struct findings *f, struct remedy *r)
{
	const char *by = f->seccomp ? "a seccomp filter" : f->traced ? "a tracer (ptrace)" :
		"the kernel's audit or system call user dispatch";

	snprintf(r->what, sizeof(r->what),
		 "this process is watched by %s, so its scripts run in user space", by);
	snprintf(r->command, sizeof(r->command), "%s",
		 f->seccomp || f->traced ? "syscript doctor    # outside of the sandbox or tracer" :
		 "sudo auditctl -D    # drops all audit rules");
}

/* What keeps the kernel backend from being used.  False if nothing does. */
static bool mend(const struct findings *f, struct remedy *r)
{
	if (!f->kernel_err)
		return false;
	if (strcmp(f->kernel.machine, "x86_64")) {
		snprintf(r->what, sizeof(r->what), "the module is for x86-64 only");
		snprintf(r->command, sizeof(r->command), "export SYSCRIPT_BACKEND=user");
	} else if (!f->loaded && !f->device) {
		mend_module(f, r);
	} else if (!f->device || !f->device_open) {
		mend_device(f, r);
	} else if (f->kernel_err == -ESHUTDOWN) {
		snprintf(r->what, sizeof(r->what), "scripts are switched off");
		snprintf(r->command, sizeof(r->command),
			 "echo Y | sudo tee " MODULE "/parameters/enabled");
	} else if (f->kernel_err == -EOPNOTSUPP) {
		mend_watched(f, r);
	} else if (f->kernel_err == -EDQUOT) {
		snprintf(r->what, sizeof(r->what), "your share of scripts is used up");
		snprintf(r->command, sizeof(r->command),
			 "syscript list    # then end what holds them");
	} else {
		snprintf(r->what, sizeof(r->what), "the kernel backend refuses: %s",
			 syscript_strerror(f->kernel_err));
		snprintf(r->command, sizeof(r->command), "sudo dmesg | grep syscript");
	}
	return true;
}

static const char *yes(bool b)
{
	return b ? "yes" : "no";
}

static void print_text(const struct findings *f, const struct remedy *r)
{
	printf("kernel     %s %s %s\n", f->kernel.sysname, f->kernel.release, f->kernel.machine);
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
	printf("group      " GROUP ": %s\n", !f->group_exists ? "missing" :
	       f->group_member ? "you are in it" : "you are not in it");
	printf("watched    seccomp: %s, traced: %s\n", yes(f->seccomp), yes(f->traced));
	printf("kernel backend  %s\n", f->kernel_err ? syscript_strerror(f->kernel_err) : "works");
	printf("user backend    %s\n", f->user_err ? syscript_strerror(f->user_err) : "works");
	printf("SYSCRIPT_BACKEND=%s: scripts run in the backend: %s\n", f->environment, backend(f));
	if (*r->what)
		printf("\nmissing: %s\n  mend:  %s\n", r->what, r->command);
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

static void print_json(const struct findings *f, const struct remedy *r)
{
	printf("{\"version\": \"%s\"", syscript_version());
	json_field("kernel", f->kernel.release);
	json_field("machine", f->kernel.machine);
	printf(",\n \"module\": {\"loaded\": %s, \"installed\": %s, \"enabled\": %s",
	       json_bool(f->loaded), json_bool(f->installed), json_bool(f->enabled));
	json_field("version", f->version);
	printf("},\n \"device\": {\"present\": %s, \"usable\": %s, \"mode\": \"%04o\"",
	       json_bool(f->device), json_bool(f->device_open), f->mode);
	json_field("owner", f->owner);
	json_field("group", f->group);
	printf("},\n \"group\": {\"exists\": %s, \"member\": %s}",
	       json_bool(f->group_exists), json_bool(f->group_member));
	printf(",\n \"watched\": {\"seccomp\": %s, \"traced\": %s}",
	       json_bool(f->seccomp), json_bool(f->traced));
	printf(",\n \"backends\": {\"kernel\": %d, \"user\": %d}", f->kernel_err, f->user_err);
	json_field("environment", f->environment);
	json_field("backend", backend(f));
	printf(",\n \"missing\": [");
	if (*r->what) {
		printf("{\"what\": ");
		json_string(stdout, r->what);
		json_field("command", r->command);
		putchar('}');
	}
	puts("]}");
}

static const char help[] =
	"Usage: syscript doctor [--json]\n"
	"Tells whether scripts run in the kernel here, and what to do if not.\n"
	"Exit status: 0 if they do, 1 if something is missing.\n";

int cmd_doctor(int argc, char **argv)
{
	struct remedy remedy = { "", "" };
	struct findings findings;
	bool json = false;
	int status;

	status = parse_json(argc, argv, help, &json);
	if (status)
		return status < 0 ? 0 : status;
	look(&findings);
	status = mend(&findings, &remedy) ? EXIT_SCRIPT : 0;
	if (json)
		print_json(&findings, &remedy);
	else
		print_text(&findings, &remedy);
	return status;
}
