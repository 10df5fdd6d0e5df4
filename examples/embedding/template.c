// SPDX-License-Identifier: GPL-2.0
/*
 * A template for modules. A number written to /sys/module/template/parameters/number is passed to
 * the program loaded with --for template; its return value is in the parameter result. A library,
 * template, has one function: programs call template_times(a, b).
 */
#include <linux/capability.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/syscript_program.h>

static DEFINE_MUTEX(lock);
static struct syscript_hook *hook; /* the only attach point */
static long result;

static int attach(struct syscript_hook *fresh, struct net *net, const char *where, char *error,
		  size_t len)
{
	return cmpxchg(&hook, NULL, fresh) ? -EBUSY : 0;
}

static void detach(struct syscript_hook *gone)
{
	mutex_lock(&lock);
	hook = NULL;
	mutex_unlock(&lock);
}

static const struct syscript_prog_type prog_type = {
	.name = "template", .owner = THIS_MODULE, .view_size = sizeof(s64), .fuel = 4096,
	.low = 0, .high = 1000, .fallback = 7, .attach = attach, .detach = detach,
};

static s64 times(struct syscript_event *event, const s64 *args)
{
	return args[0] * args[1];
}

static const struct syscript_library library = {
	.name = "template", .owner = THIS_MODULE, .contexts = SYSCRIPT_IN_ATOMIC,
	.capability = CAP_SYS_ADMIN,
	.functions = (const struct syscript_function[]){ { "times", times }, {} },
};

static int set(const char *text, const struct kernel_param *param)
{
	struct syscript_event event = { .result = prog_type.fallback };
	s64 number;
	int err = kstrtos64(text, 0, &number);

	mutex_lock(&lock);
	if (!err && hook && syscript_hook_begin(hook, &event)) {
		*(s64 *)syscript_event_view(&event) = number;
		syscript_hook_run(&event);
	}
	result = event.result;
	mutex_unlock(&lock);
	return err;
}
module_param_cb(number, &((const struct kernel_param_ops){ .set = set }), NULL, 0200);
module_param(result, long, 0444);

static int __init template_init(void)
{
	int err = syscript_prog_type_register(&prog_type) ?: syscript_library_register(&library);

	if (err)
		syscript_prog_type_unregister(&prog_type);
	return err;
}
module_init(template_init);

static void __exit template_exit(void)
{
	syscript_library_unregister(&library);
	syscript_prog_type_unregister(&prog_type);
}
module_exit(template_exit);
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(SYSCRIPT_NAMESPACE);
