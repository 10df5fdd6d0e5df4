// SPDX-License-Identifier: GPL-2.0
/*
 * The pattern of CVE-2019-19525 (atusb): the driver's data is part of the hardware's
 * structure.  When the device is removed, the structure is freed first, and read afterwards.
 */
#include <linux/module.h>
#include <linux/slab.h>

static bool fixed;
module_param(fixed, bool, 0444);

struct usb_device {
	int references;
};

struct driver {
	struct usb_device *usb;
	struct hardware *hardware;
};

struct hardware {
	char name[32];
	struct driver driver;
};

static void usb_put(struct usb_device *usb)
{
	usb->references--;
}

static noinline void disconnect(struct driver *driver)
{
	struct usb_device *usb = driver->usb;

	kfree(driver->hardware);
	usb_put(fixed ? usb : READ_ONCE(driver->usb));
}

static int __init trigger(void)
{
	static struct usb_device usb = { .references = 1 };
	struct hardware *hardware = kzalloc(sizeof(*hardware), GFP_KERNEL);

	if (!hardware)
		return -ENOMEM;
	hardware->driver.usb = &usb;
	hardware->driver.hardware = hardware;
	disconnect(&hardware->driver);
	return 0;
}

static void __exit finish(void)
{
}

module_init(trigger);
module_exit(finish);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("The pattern of CVE-2019-19525");
