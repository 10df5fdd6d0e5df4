/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The state of a machine as doctor sees it, and the commands that fix problems. */
#ifndef PROBES_H
#define PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/utsname.h>

#define DEVICE		"/dev/syscript"
#define LUAJIT_DEVICE	"/dev/syscript-luajit"
#define GROUP		"syscript"
#define PARAMETERS	"/sys/module/syscript/parameters/"

/**
 * struct findings - the state of the machine; unknown texts are ""
 * @modules:       the kernel loads modules
 * @loaded, @version, @enabled: the module that runs, and its switch
 * @hidden:        /sys/module has no entries: a sandbox does not show which modules run
 * @installed:     depmod knows a module for this kernel
 * @built:         DKMS knows the source
 * @source: the source is in DKMS's directory
 * @dkms, @headers: DKMS and the kernel's headers are installed
 * @device, @device_open, @mode, @owner, @group: the device's node
 * @luajit, @luajit_open, @luajit_mode: LuaJIT's, which takes scripts of any engine
 * @group_exists, @member, @in_group_file: LuaJIT's group; whether this process is in
 *                 it, and whether it will be after the next login
 * @at_boot:       the module is loaded when the machine starts
 * @untested:      this kernel is newer than the newest that the module was tested with
 * @signatures:    the kernel loads signed modules only
 * @is_signed:     the installed module has a signature, as far as its file shows
 * @container, @unit: it runs in a container or sandbox, or in a unit of systemd's
 * @denied: a device cgroup denies access to the device
 * @seccomp, @traced: what watches this process
 * @kernel_err, @user_err: what syscript_probe() says of the backends
 * @luajit_err: why LuaJIT in the kernel cannot be used, or 0
 * @interpreted:   the user backend may make no machine code
 */
struct findings {
	struct utsname kernel;
	bool modules, hidden;
	bool loaded, enabled, installed, built, source, dkms, headers;
	char version[64];
	bool device, device_open, luajit, luajit_open;
	unsigned int mode, luajit_mode;
	char owner[64], group[64];
	bool group_exists, member, in_group_file, at_boot;
	bool untested, signatures, is_signed;
	bool container, unit, denied;
	bool seccomp, traced;
	int kernel_err, user_err, luajit_err;
	bool interpreted;
	const char *environment;
	bool environment_err;	/* SYSCRIPT_BACKEND names no backend */
};

/* A missing thing, and the command that fixes it. */
struct remedy {
	char what[256], command[256];
};

#define REMEDIES_MAX	12

void find(struct findings *f);

/* Lists what the kernel backend lacks; returns the number of entries. */
size_t remedies(const struct findings *f, struct remedy *r);

#endif /* PROBES_H */
