// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The commands that doctor advises, in the order in which they must be run. */
#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syscript.h>
#include <unistd.h>

#include "probes.h"

struct list {
	struct remedy *r;
	size_t n;
};

static void need(struct list *list, const char *what, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void need(struct list *list, const char *what, const char *format, ...)
{
	struct remedy *r = &list->r[list->n];
	va_list args;

	if (list->n == REMEDIES_MAX)
		return;
	list->n++;
	snprintf(r->what, sizeof(r->what), "%s", what);
	va_start(args, format);
	vsnprintf(r->command, sizeof(r->command), format, args);
	va_end(args);
}

static bool has(const char *command)
{
	char path[64];

	snprintf(path, sizeof(path), "/usr/bin/%s", command);
	return !access(path, X_OK);
}

/* Installs all packages at once, by the distribution's names for them. */
static void need_packages(struct list *list, const struct findings *f)
{
	const char *what = f->headers ? "dkms, which builds the module, is not installed" :
		f->dkms ? "the headers of this kernel are not installed" :
		"dkms, which builds the module, and the headers of this kernel are not installed";
	const char *install = "# install what your distribution has in place of";
	const char *headers = " linux-headers-";

	if (has("apt-get")) {
		install = "sudo apt-get install";
	} else if (has("dnf")) {
		install = "sudo dnf install";
		headers = " kernel-devel-";
	}
	need(list, what, "%s%s%s%s", install, f->dkms ? "" : " dkms",
	     f->headers ? "" : headers, f->headers ? "" : f->kernel.release);
}

/* DKMS builds the module; it needs its source, a compiler, and the headers. */
static void need_module(struct list *list, const struct findings *f)
{
	if (!f->dkms || !f->headers)
		need_packages(list, f);
	if (!f->source)
		need(list, "the module's source is not in /usr/src",
		     "sudo make install    # in the source tree; or install the package syscript-dkms");
	need(list, f->built ? "the module is not built for this kernel" :
	     "the module is not built", "sudo dkms install syscript/%s -k %s",
	     syscript_version(), f->kernel.release);
}

/* If the administrator has restricted the device to a group. */
static void need_group(struct list *list, const struct findings *f)
{
	struct passwd *user = getpwuid(getuid());

	if (f->in_group_file)
		need(list, "you are in the group " GROUP " from your next login on",
		     "newgrp " GROUP "    # or log in again");
	else
		need(list, "you are not in the group " GROUP,
		     "sudo usermod -aG " GROUP " %s    # then log in again",
		     user ? user->pw_name : "\"$USER\"");
}

/* The kernel's own message is only "Key was rejected by service". */
static void need_signature(struct list *list, const struct findings *f)
{
	if (!f->is_signed)
		need(list, "this kernel loads signed modules only (secure boot), and the module is not signed",
		     "sudo apt-get install openssl mokutil && sudo dkms install --force syscript/%s -k %s    # signs it",
		     syscript_version(), f->kernel.release);
	need(list, "this kernel loads signed modules only (secure boot): it has to know DKMS's key",
	     "sudo mokutil --import /var/lib/dkms/mok.pub    # then reboot, choose \"Enroll MOK\"; Ubuntu: /var/lib/shim-signed/mok/MOK.der");
}

static void need_device(struct list *list, const struct findings *f)
{
	if (!f->loaded)
		need(list, "the module is not loaded", "sudo modprobe syscript");
	else if (!f->device)
		need(list, "the module is loaded, but there is no " DEVICE,
		     "sudo udevadm trigger --name-match=syscript");
	else if (!f->device_open && !strcmp(f->group, GROUP) && (f->mode & 0060) == 0060 &&
		 !f->member)
		need_group(list, f);
	else if (!f->device_open)
		need(list, DEVICE " is not open to you",
		     "sudo syscript allow --all    # or --user NAME, --group NAME");
}

static void need_in_unit(struct list *list, const struct findings *f)
{
	if (!f->device || f->denied)
		need(list, f->device ? "this unit may not use " DEVICE :
		     "this unit has no " DEVICE " (PrivateDevices=)",
		     "sudo systemctl edit UNIT    # [Service] PrivateDevices=no DevicePolicy=closed DeviceAllow=/dev/syscript rw (each in a line)");
	if (!f->device || (!f->device_open && !f->denied))
		need(list, "this unit is not in the group " GROUP,
		     "sudo systemctl edit UNIT    # [Service] SupplementaryGroups=" GROUP);
}

static void need_in_container(struct list *list, const struct findings *f)
{
	if (!f->device || f->denied)
		need(list, f->device ? "this container may not use " DEVICE :
		     "this container has no " DEVICE,
		     "podman run --device " DEVICE " ...    # docker: the same; bwrap: --dev-bind "
		     DEVICE " " DEVICE);
	if (!f->device || (!f->device_open && !f->denied))
		need(list, "no process of this container is in the host's group " GROUP,
		     "podman run --group-add keep-groups ...    # docker: --group-add GID, the group's number");
}

static void need_unwatched(struct list *list, const struct findings *f)
{
	if (f->seccomp)
		need(list, "a seccomp filter that this kernel cannot ask from a script watches this process (strict mode, or several threads on a kernel without ftrace): its scripts run in user space",
		     "syscript doctor    # outside of the sandbox");
	else if (f->traced)
		need(list, "a tracer (ptrace) watches this process: its scripts run in user space, where the tracer sees their calls",
		     "syscript doctor    # without the tracer");
	else
		need(list, "system call user dispatch, or audit rules that this kernel cannot record from a script, watch this process: its scripts run in user space, where each call is seen",
		     "export SYSCRIPT_BACKEND=user    # this is how it should be; says so, and changes nothing");
}

/* The build that this command is of has an image, but the library trusts installed ones only. */
static void need_lua(struct list *list)
{
	static const char image[] = "lua-runtime/lua.image";
	char path[192];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - sizeof(image));
	char *name;

	path[len > 0 ? len : 0] = '\0';
	name = strrchr(path, '/');
	if (name)
		memcpy(name + 1, image, sizeof(image));
	if (name && !access(path, R_OK))
		need(list, "the confined engine's Lua is built, but not installed",
		     "export SYSCRIPT_LUA_IMAGE=%s", path);
	else
		need(list, "the confined engine's Lua is not installed",
		     "sudo make install    # in the source tree; or install the library's package");
}

/* All parts are present, but scripts still do not run. */
static void need_more(struct list *list, const struct findings *f)
{
	char what[256];

	switch (f->kernel_err) {
	case -ESHUTDOWN:
		need(list, "scripts are switched off",
		     "echo Y | sudo tee " PARAMETERS "enabled");
		break;
	case -EOPNOTSUPP:
		need_unwatched(list, f);
		break;
	case -EDQUOT:
		need(list, "your share of scripts is used up",
		     "syscript list    # then end what holds them");
		break;
	default:
		snprintf(what, sizeof(what), "the kernel backend refuses: %s",
			 syscript_strerror(f->kernel_err));
		need(list, what, "sudo dmesg | grep syscript");
		break;
	}
}

static void need_on_host(struct list *list, const struct findings *f)
{
	/* Without modules nothing else helps. */
	if (!f->modules) {
		need(list, "this kernel loads no modules: it takes another kernel, or a guest",
		     "vm/guest -m -- build/syscript doctor    # in the source tree: in a guest");
		return;
	}
	if (!f->loaded && !f->installed)
		need_module(list, f);
	if (!f->loaded && f->signatures)
		need_signature(list, f);
	need_device(list, f);
	if (!f->at_boot && list->n)
		need(list, "the module is not loaded when the machine starts",
		     "echo syscript | sudo tee /etc/modules-load.d/syscript.conf");
}

size_t remedies(const struct findings *f, struct remedy *r)
{
	struct list list = { .r = r };

	if (f->environment_err)
		need(&list, "SYSCRIPT_BACKEND is not auto, kernel or user: no script runs",
		     "unset SYSCRIPT_BACKEND");
	if (!f->kernel_err)
		return list.n;
	if (strcmp(f->kernel.machine, "x86_64")) {
		need(&list, "the module is for x86-64 only", "export SYSCRIPT_BACKEND=user");
		return list.n;
	}
	if (f->hidden && !f->device)
		need(&list, "this sandbox has no " DEVICE " and hides /sys/module: whether the module is loaded can only be seen outside",
		     "syscript doctor    # outside of the sandbox; firejail: without --private-dev");
	else if (f->loaded && f->container)
		need_in_container(&list, f);
	else if (f->loaded && f->unit)
		need_in_unit(&list, f);
	else
		need_on_host(&list, f);
	/* Where no module can be loaded, Lua for its engine helps no more. */
	if (f->kernel_err == -ENOSYS && (f->modules || f->device))
		need_lua(&list);
	else if (list.n == f->environment_err)
		need_more(&list, f);
	return list.n;
}
