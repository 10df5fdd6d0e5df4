// SPDX-License-Identifier: GPL-2.0
/*
 * Fake hardware for guests, which have none: CPUs whose frequency is just a number, and a thermal
 * zone, `fakefreq`, whose temperature is a module parameter.
 */
#include <linux/cpufreq.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/thermal.h>
#include <linux/version.h>

static int temperature = 40000;
module_param(temperature, int, 0644);

static struct cpufreq_frequency_table table[] = {
	{ .frequency = 800000 }, { .frequency = 1600000 }, { .frequency = 2400000 },
	{ .frequency = CPUFREQ_TABLE_END },
};
static unsigned int frequency[NR_CPUS];

static int fake_init(struct cpufreq_policy *policy)
{
	policy->freq_table = table;
	policy->cpuinfo.transition_latency = 1000;
	frequency[policy->cpu] = table[0].frequency;
	return 0;
}

static int fake_target(struct cpufreq_policy *policy, unsigned int index)
{
	frequency[policy->cpu] = policy->cur = table[index].frequency;
	return 0;
}

static unsigned int fake_get(unsigned int cpu)
{
	return frequency[cpu];
}

static struct cpufreq_driver driver = {
	.name = "fakefreq",
	/*
	 * It tells nobody of changes: the emulated TSC does not claim to be constant, and a kernel of
	 * several CPUs would distrust it, which makes the clocks of CPUs part by minutes.
	 */
	.flags = CPUFREQ_ASYNC_NOTIFICATION,
	.verify = cpufreq_generic_frequency_table_verify,
	.init = fake_init,
	.target_index = fake_target,
	.get = fake_get,
};

static int get_temp(struct thermal_zone_device *zone, int *now)
{
	*now = temperature;
	return 0;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
static const struct thermal_zone_device_ops ops = { .get_temp = get_temp };
#else
static struct thermal_zone_device_ops ops = { .get_temp = get_temp };
#define thermal_tripless_zone_device_register(type, data, ops, params) \
	thermal_zone_device_register(type, 0, 0, data, ops, params, 0, 0)
#endif

static struct thermal_zone_device *zone;

static int __init fakefreq_init(void)
{
	int err;

	zone = thermal_tripless_zone_device_register("fakefreq", NULL, &ops, NULL);
	if (IS_ERR(zone))
		return PTR_ERR(zone);
	err = cpufreq_register_driver(&driver);
	if (err)
		thermal_zone_device_unregister(zone);
	return err;
}
module_init(fakefreq_init);

static void __exit fakefreq_exit(void)
{
	cpufreq_unregister_driver(&driver);
	thermal_zone_device_unregister(zone);
}
module_exit(fakefreq_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("CPU frequencies and a temperature for tests");
