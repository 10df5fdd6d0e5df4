// SPDX-License-Identifier: GPL-2.0
/*
 * The cpufreq governor `syscript`, by <linux/syscript_program.h> and nothing else.  Drivers may
 * sleep, so a work item sets frequencies. cpufreq holds the policy's rwsem while it stops a
 * governor, and stopping waits for the work, so the work never takes the rwsem; the governor's
 * own mutex serialises the work and new limits.
 */
#include <linux/cpufreq.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/syscript_program.h>
#include <linux/thermal.h>
#include <linux/workqueue.h>

#include "cpufreq.h"
#include "uapi/syscript_cpufreq.h"

#define PERIOD		msecs_to_jiffies(50)
#define FUEL		16384	/* 0.8 ms at most */
#define AIM		80	/* percent of load that the default policy aims at */
#define ZONE_LEN	64

struct policy {			/* governor_data of a policy */
	struct delayed_work work;
	struct mutex lock;	/* guards the driver's call */
	struct cpufreq_policy *of;
};

struct seen {			/* a CPU's counters when the policy last sampled them */
	u64 wall, idle;
	u32 load;
};
static DEFINE_PER_CPU(struct seen, seen);

/* The hook of the loaded program, or NULL. */
static struct syscript_hook __rcu *hook;
static char zone[ZONE_LEN];
static int temperature = SYSCRIPT_CPUFREQ_NO_TEMPERATURE;
static DEFINE_MUTEX(lock);	/* guards @hook and @zone; readers use RCU */

/* -- The program's view ------------------------------------------------------------ */

static u32 governor_look_at(unsigned int cpu)
{
	struct seen *last = per_cpu_ptr(&seen, cpu);
	u64 wall, idle = get_cpu_idle_time(cpu, &wall, 0);
	u64 passed = wall - last->wall, idled = idle - last->idle;

	last->wall = wall;
	last->idle = idle;
	if ((s64)passed > 0)	/* wall clock and idle clock may disagree */
		WRITE_ONCE(last->load, 100 - div64_u64(100 * min(idled, passed), passed));
	return READ_ONCE(last->load);
}

static u32 governor_busiest(const struct cpufreq_policy *policy)
{
	unsigned int cpu;
	u32 load = 0;

	for_each_cpu(cpu, policy->cpus)
		load = max(load, governor_look_at(cpu));
	return load;
}

/* Looks the thermal zone up by name each time, as no reference to it is held. */
static void look_at_zone(void)
{
	struct thermal_zone_device *device = ERR_PTR(-ENODEV);
	int now;

	mutex_lock(&lock);
	if (zone[0])
		device = thermal_zone_get_zone_by_name(zone);
	if (IS_ERR(device) || thermal_zone_get_temp(device, &now))
		now = SYSCRIPT_CPUFREQ_NO_TEMPERATURE;
	WRITE_ONCE(temperature, now);
	mutex_unlock(&lock);
}

static s64 cpu_load(struct syscript_event *event, const s64 *args)
{
	u64 cpu = args[0];

	if (cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -1;
	return READ_ONCE(per_cpu_ptr(&seen, array_index_nospec(cpu, nr_cpu_ids))->load);
}

static s64 zone_temperature(struct syscript_event *event, const s64 *args)
{
	return READ_ONCE(temperature);
}

static const struct syscript_function functions[] = {
	{ "cpu_load", cpu_load },
	{ "zone_temperature", zone_temperature },
	{ }
};

/* -- The governor ------------------------------------------------------------------ */

/* Asks the program: a frequency in kHz, or SYSCRIPT_CPUFREQ_DEFAULT. */
static u32 governor_ask(const struct cpufreq_policy *policy, u32 load)
{
	struct syscript_event event = { .result = SYSCRIPT_CPUFREQ_DEFAULT };
	struct syscript_hook *place;

	rcu_read_lock();
	place = rcu_dereference(hook);
	if (place && syscript_hook_begin(place, &event)) {
		*(struct syscript_cpufreq *)syscript_event_view(&event) = (struct syscript_cpufreq){
			.cpu = policy->cpu, .frequency = policy->cur, .load = load,
			.min = policy->min, .max = policy->max,
		};
		syscript_hook_run(&event);
	}
	rcu_read_unlock();
	return event.result;
}

static u32 by_load(const struct cpufreq_policy *policy, u32 load)
{
	return min_t(u64, U32_MAX, div_u64((u64)policy->cur * load, AIM));
}

static void governor_work(struct work_struct *work)
{
	struct policy *policy = container_of(to_delayed_work(work), struct policy, work);
	u32 load = governor_busiest(policy->of), frequency;

	look_at_zone();
	frequency = governor_ask(policy->of, load);
	mutex_lock(&policy->lock);
	if (frequency == SYSCRIPT_CPUFREQ_DEFAULT)
		frequency = by_load(policy->of, load);
	__cpufreq_driver_target(policy->of, frequency, CPUFREQ_RELATION_L);
	mutex_unlock(&policy->lock);
	schedule_delayed_work(&policy->work, PERIOD);
}

static int gov_init(struct cpufreq_policy *of)
{
	struct policy *policy = kzalloc(sizeof(*policy), GFP_KERNEL);

	if (!policy)
		return -ENOMEM;
	INIT_DELAYED_WORK(&policy->work, governor_work);
	mutex_init(&policy->lock);
	policy->of = of;
	of->governor_data = policy;
	return 0;
}

static void gov_exit(struct cpufreq_policy *of)
{
	kfree(of->governor_data);
	of->governor_data = NULL;
}

static int gov_start(struct cpufreq_policy *of)
{
	struct policy *policy = of->governor_data;

	governor_busiest(of);
	schedule_delayed_work(&policy->work, PERIOD);
	return 0;
}

static void gov_stop(struct cpufreq_policy *of)
{
	struct policy *policy = of->governor_data;

	cancel_delayed_work_sync(&policy->work);
}

static void gov_limits(struct cpufreq_policy *of)
{
	struct policy *policy = of->governor_data;

	mutex_lock(&policy->lock);
	cpufreq_policy_apply_limits(of);
	mutex_unlock(&policy->lock);
}

static struct cpufreq_governor governor = {
	.name = "syscript", .owner = THIS_MODULE, .flags = CPUFREQ_GOV_DYNAMIC_SWITCHING,
	.init = gov_init, .exit = gov_exit,
	.start = gov_start, .stop = gov_stop, .limits = gov_limits,
};

/* -- The program's place ----------------------------------------------------------- */

static int governor_attach(struct syscript_hook *fresh, struct net *net, const char *where,
			   char *error, size_t len)
{
	int err = 0;

	mutex_lock(&lock);
	if (rcu_access_pointer(hook)) {
		scnprintf(error, len, "cpufreq has a program: unload it");
		err = -EBUSY;
	} else if (*where && IS_ERR(thermal_zone_get_zone_by_name(where))) {
		scnprintf(error, len, "no thermal zone '%s', or several", where);
		err = -EINVAL;
	} else {
		strscpy(zone, where, sizeof(zone));
		rcu_assign_pointer(hook, fresh);
	}
	mutex_unlock(&lock);
	return err;
}

static void governor_detach(struct syscript_hook *gone)
{
	mutex_lock(&lock);
	RCU_INIT_POINTER(hook, NULL);
	zone[0] = '\0';
	mutex_unlock(&lock);
}

static const struct syscript_prog_type prog_type = {
	.name = "cpufreq", .owner = THIS_MODULE,
	.view_size = sizeof(struct syscript_cpufreq), .fuel = FUEL, .functions = functions,
	.low = 0, .high = U32_MAX, .fallback = SYSCRIPT_CPUFREQ_DEFAULT,
	.attach = governor_attach, .detach = governor_detach,
};

int cpufreq_init(void)
{
	int err = cpufreq_register_governor(&governor);

	/* With cpufreq=off the kernel has no governors. */
	if (err)
		return err == -ENODEV ? 0 : err;
	err = syscript_prog_type_register(&prog_type);
	if (err)
		cpufreq_unregister_governor(&governor);
	return err;
}

void cpufreq_exit(void)
{
	syscript_prog_type_unregister(&prog_type);
	cpufreq_unregister_governor(&governor);
}
