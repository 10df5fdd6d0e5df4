// SPDX-License-Identifier: GPL-2.0
/*
 * racewatch.ko: data races of instrumented modules, on kernels without KCSAN, by its method.
 * Loading, unloading, and files in debugfs.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "client.h"
#include "files.h"
#include "report.h"
#include "watch.h"

#define RACEWATCH_VERSION	"0.1.0"

static char *settings;
module_param(settings, charp, 0444);
MODULE_PARM_DESC(settings, "settings of modules, as in debugfs, lines by semicolon");

static struct dentry *top;

SAFETY_FILE(status, watch_show);
SAFETY_SETTINGS(&client_registry);

static int __init racewatch_init(void)
{
	int err;

	report_init();
	err = client_init();
	if (err)
		goto exit_report;
	err = registry_set_parameter(&client_registry, settings);
	if (err)
		goto exit_client;
	top = debugfs_create_dir("racewatch", NULL);
	debugfs_create_file("settings", 0600, top, NULL, &settings_fops);
	debugfs_create_file("status", 0400, top, NULL, &status_fops);
	pr_info("version " RACEWATCH_VERSION " loaded\n");
	return 0;

exit_client:
	client_exit();
exit_report:
	report_exit();
	return err;
}

static void __exit racewatch_exit(void)
{
	debugfs_remove(top);
	client_exit();
	report_exit();
}

module_init(racewatch_init);
module_exit(racewatch_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("The syscript authors");
MODULE_DESCRIPTION("Data races of instrumented modules");
MODULE_VERSION(RACEWATCH_VERSION);
