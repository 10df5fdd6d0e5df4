// SPDX-License-Identifier: GPL-2.0
/* evmon.ko: events of instrumented modules.  Loading and unloading. */
#include <linux/init.h>
#include <linux/module.h>

#include "batch.h"
#include "dispatch.h"
#include "source_loc.h"
#include "dedup.h"
#include "view.h"

#define EVMON_VERSION	"0.1.0"

static int __init evmon_init(void)
{
	int err;

	err = place_init();
	if (err)
		return err;
	err = seen_init();
	if (err)
		goto exit_place;
	err = batch_init();
	if (err)
		goto exit_seen;
	err = dispatch_init();
	if (err)
		goto exit_batch;
	view_init();
	return 0;

exit_batch:
	batch_exit();
exit_seen:
	seen_exit();
exit_place:
	place_exit();
	return err;
}

/* Monitors and instrumented modules use this module's symbols: by now none is loaded. */
static void __exit evmon_exit(void)
{
	view_exit();
	dispatch_exit();
	batch_exit();
	seen_exit();
	place_exit();
}

module_init(evmon_init);
module_exit(evmon_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("The syscript authors");
MODULE_DESCRIPTION("Events of instrumented modules, for monitors and rings");
MODULE_VERSION(EVMON_VERSION);
