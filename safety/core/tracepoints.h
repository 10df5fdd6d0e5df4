/* SPDX-License-Identifier: GPL-2.0 */
/* Probes of tracepoints that the kernel has but does not export: found by name. */
#ifndef SAFETY_TRACEPOINTS_H
#define SAFETY_TRACEPOINTS_H

#include <linux/string.h>
#include <linux/tracepoint.h>

struct tracepoint_probe {
	const char *name;
	void *probe;
	struct tracepoint *tracepoint;
};

static void tracepoint_probe_find(struct tracepoint *tracepoint, void *data)
{
	struct tracepoint_probe *probe = data;

	if (!strcmp(tracepoint->name, probe->name))
		probe->tracepoint = tracepoint;
}

/* On return no probe is under way. */
static void tracepoint_probes_off(struct tracepoint_probe *probes, unsigned int count)
{
	while (count--)
		tracepoint_probe_unregister(probes[count].tracepoint, probes[count].probe,
					    NULL);
	tracepoint_synchronize_unregister();
}

/* Registers all probes or none. */
static int tracepoint_probes_on(struct tracepoint_probe *probes, unsigned int count)
{
	unsigned int i;
	int err;

	for (i = 0; i < count; i++) {
		for_each_kernel_tracepoint(tracepoint_probe_find, &probes[i]);
		err = probes[i].tracepoint ?
		      tracepoint_probe_register(probes[i].tracepoint, probes[i].probe, NULL) :
		      -ENOENT;
		if (err) {
			tracepoint_probes_off(probes, i);
			return err;
		}
	}
	return 0;
}

#endif /* SAFETY_TRACEPOINTS_H */
