// SPDX-License-Identifier: GPL-2.0
/*
 * The pattern of CVE-2016-2384 (snd-usbmidi): a registered object frees its private data at
 * teardown. The error path after the registration frees the data as well.
 */
#include <linux/module.h>
#include <linux/slab.h>

static bool fixed;
module_param(fixed, bool, 0444);

struct midi {
	int endpoints;
	char name[56];
};

struct device {
	void *private;
	void (*private_free)(struct device *device);
};

static void midi_free(struct device *device)
{
	kfree(device->private);
}

static int endpoints_create(struct midi *midi)
{
	/* A device without endpoints. */
	return midi->endpoints ? 0 : -ENODEV;
}

static int midi_create(struct device *device)
{
	struct midi *midi = kzalloc(sizeof(*midi), GFP_KERNEL);
	int err;

	if (!midi)
		return -ENOMEM;
	device->private = midi;
	device->private_free = midi_free;
	err = endpoints_create(midi);
	if (err && !fixed)
		kfree(midi);
	return err;
}

static int __init trigger(void)
{
	struct device device = {};

	/* The probe fails, and the card is freed with everything registered. */
	if (midi_create(&device) && device.private_free)
		device.private_free(&device);
	return 0;
}

static void __exit finish(void)
{
}

module_init(trigger);
module_exit(finish);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("The pattern of CVE-2016-2384");
