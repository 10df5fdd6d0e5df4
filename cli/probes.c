// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syscript.h>
#include <unistd.h>

#include "probes.h"

#define MODULE	"/sys/module/syscript"

static bool exists(const char *format, const char *what)
{
	char path[512];

	snprintf(path, sizeof(path), format, what);
	return !access(path, F_OK);
}

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

/* Reads the value of "KEY:\tVALUE" in /proc/self/status. */
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

/* Finds the path of the module that depmod knows for this kernel, "" if there is none. */
static void find_installed(const char *release, char *path, size_t size)
{
	char index[256], line[4096];
	FILE *file;

	*path = '\0';
	snprintf(index, sizeof(index), "/lib/modules/%s/modules.dep", release);
	file = fopen(index, "re");
	if (!file)
		return;
	while (!*path && fgets(line, sizeof(line), file)) {
		if (!strstr(line, "/syscript.ko"))
			continue;
		line[strcspn(line, ":")] = '\0';
		snprintf(path, size, "/lib/modules/%s/%s", release, line);
	}
	fclose(file);
}

/* Secure boot locks the kernel down, and a kernel may ask for signatures by itself. */
static bool wants_signatures(void)
{
	char text[64];

	if (read_line("/sys/module/module/parameters/sig_enforce", text, sizeof(text)) &&
	    text[0] == 'Y')
		return true;
	return read_line("/sys/kernel/security/lockdown", text, sizeof(text)) &&
	       !strstr(text, "[none]");
}

/* A compressed module counts as signed: only an uncompressed one shows its signature. */
static bool has_signature(const char *path)
{
	static const char mark[] = "~Module signature appended~\n";
	size_t len = strlen(path);
	char end[sizeof(mark)] = "";
	FILE *file;

	if (len < 3 || strcmp(path + len - 3, ".ko"))
		return true;
	file = fopen(path, "re");
	if (!file)
		return true;
	if (!fseek(file, -(long)(sizeof(mark) - 1), SEEK_END) &&
	    fread(end, 1, sizeof(mark) - 1, file) != sizeof(mark) - 1)
		end[0] = '\0';
	fclose(file);
	return !strcmp(end, mark);
}

/* Is @release newer than the tested series? "6.12.5-amd64" belongs to "6.12". */
static bool newer_than_tested(const char *release)
{
	int major, minor, tested_major, tested_minor;

	if (sscanf(release, "%d.%d", &major, &minor) != 2 ||
	    sscanf(NEWEST_TESTED, "%d.%d", &tested_major, &tested_minor) != 2)
		return false;
	return major > tested_major || (major == tested_major && minor > tested_minor);
}

/* Has a directory no entries, or may it not be read? */
static bool is_hidden(const char *path)
{
	DIR *dir = opendir(path);
	int entries = 0;

	if (!dir)
		return true;
	while (entries < 3 && readdir(dir))
		entries++;
	closedir(dir);
	return entries < 3;	/* . and .. */
}

static void find_module(struct findings *f)
{
	char enabled[8], path[4608];

	f->modules = exists("%s", "/proc/modules");
	f->hidden = is_hidden("/sys/module");
	f->loaded = exists("%s", MODULE);
	read_line(MODULE "/version", f->version, sizeof(f->version));
	f->enabled = read_line(PARAMETERS "enabled", enabled, sizeof(enabled)) &&
		     enabled[0] == 'Y';
	find_installed(f->kernel.release, path, sizeof(path));
	f->installed = *path;
	f->is_signed = has_signature(path);
	f->signatures = wants_signatures();
	f->untested = newer_than_tested(f->kernel.release);
	f->built = exists("/var/lib/dkms/syscript/%s", syscript_version());
	f->source = exists("/usr/src/syscript-%s/dkms.conf", syscript_version());
	f->dkms = exists("%s", "/usr/sbin/dkms") || exists("%s", "/usr/bin/dkms");
	f->headers = exists("/lib/modules/%s/build/Makefile", f->kernel.release);
	f->at_boot = exists("%s", "/etc/modules-load.d/syscript.conf") ||
		     exists("%s", "/usr/local/lib/modules-load.d/syscript.conf") ||
		     exists("%s", "/usr/lib/modules-load.d/syscript.conf");
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

static void find_group(struct findings *f)
{
	struct passwd *user = getpwuid(getuid());
	char name[64] = "";
	struct group *group;

	if (user)
		snprintf(name, sizeof(name), "%s", user->pw_name);
	group = getgrnam(GROUP);
	f->group_exists = group;
	f->member = group && in_group(group->gr_gid);
	for (char **member = group ? group->gr_mem : NULL; member && *member; member++)
		f->in_group_file = f->in_group_file || !strcmp(*member, name);
}

/* Is @path a device?  Which mode does it have, and may this process use it? */
static bool find_node(const char *path, struct stat *st, unsigned int *mode, bool *open)
{
	if (stat(path, st) || !S_ISCHR(st->st_mode))
		return false;
	*mode = st->st_mode & 07777;
	*open = !access(path, R_OK | W_OK);
	return true;
}

static void find_device(struct findings *f)
{
	struct group *group;
	struct passwd *owner;
	struct stat st;

	f->luajit = find_node(LUAJIT_DEVICE, &st, &f->luajit_mode, &f->luajit_open);
	f->device = find_node(DEVICE, &st, &f->mode, &f->device_open);
	if (!f->device)
		return;
	owner = getpwuid(st.st_uid);
	snprintf(f->owner, sizeof(f->owner), "%s", owner ? owner->pw_name : "?");
	group = getgrgid(st.st_gid);
	if (group)
		snprintf(f->group, sizeof(f->group), "%s", group->gr_name);
	else
		snprintf(f->group, sizeof(f->group), "%u", st.st_gid);
}

/* User ids are mapped in rootless containers, sandboxes, and some systemd units. */
static bool has_mapped_users(void)
{
	unsigned int inside, outside, count;
	bool mapped = false;
	FILE *file = fopen("/proc/self/uid_map", "re");

	if (!file)
		return false;
	if (fscanf(file, "%u %u %u", &inside, &outside, &count) == 3)
		mapped = inside || outside || count != 4294967295U;
	fclose(file);
	return mapped;
}

static void find_place(struct findings *f)
{
	int fd;

	/* Docker's file may also exist in a virtual machine made from a Docker image. */
	f->unit = getenv("INVOCATION_ID");
	f->container = exists("%s", "/run/.containerenv") || getenv("container") ||
		       (has_mapped_users() && !f->unit) ||
		       (exists("%s", "/.dockerenv") && !f->device);
	if (!f->device)
		return;
	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	f->denied = fd < 0 && errno == EPERM;
	if (fd >= 0)
		close(fd);
}

static int find_luajit(void)
{
	static const char source[] = "function run() end";
	struct syscript_options options = {
		.size = sizeof(options), .name = "doctor", .flags = SYSCRIPT_CHECK,
		.backend = SYSCRIPT_BACKEND_KERNEL, .engine = SYSCRIPT_LUA_ON_LUAJIT,
	};

	return syscript_register(source, sizeof(source) - 1, &options, NULL, 0);
}

/* Is the user backend forbidden to generate machine code? */
static bool is_interpreted(void)
{
	static const char source[] = "function run() end";
	struct syscript_options options = {
		.size = sizeof(options), .name = "doctor", .backend = SYSCRIPT_BACKEND_USER,
	};
	struct syscript_info info = { 0 };
	int fd = syscript_register(source, sizeof(source) - 1, &options, NULL, 0);

	if (fd < 0)
		return false;
	syscript_info(fd, &info);
	syscript_close(fd);
	return info.flags & SYSCRIPT_NOJIT;
}

void find(struct findings *f)
{
	memset(f, 0, sizeof(*f));
	uname(&f->kernel);
	f->environment = getenv("SYSCRIPT_BACKEND") ?: "";
	f->environment_err = *f->environment && strcmp(f->environment, "auto") &&
			     strcmp(f->environment, "kernel") && strcmp(f->environment, "user");
	/* First, because probing may load the module. */
	f->kernel_err = syscript_probe(SYSCRIPT_BACKEND_KERNEL);
	f->luajit_err = f->kernel_err ?: find_luajit();
	f->user_err = syscript_probe(SYSCRIPT_BACKEND_USER);
	f->interpreted = is_interpreted();
	find_module(f);
	find_group(f);
	find_device(f);
	find_place(f);
	f->seccomp = read_status("Seccomp") > 0;
	f->traced = read_status("TracerPid") > 0;
}
