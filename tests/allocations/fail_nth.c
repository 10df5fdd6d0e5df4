// SPDX-License-Identifier: GPL-2.0
/*
 * Fails allocations of one thread, on kernels without fault injection: their allocators still ask
 * should_failslab() and should_fail_alloc_page().  A thread writes "NTH COUNT" to /dev/fail_nth, or
 * "NTH COUNT pages"; its NTH allocation and those that follow, COUNT in all, then fail.  A read
 * ends it, and returns how many failed.  One thread at a time.
 */

#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

static struct task_struct *victim;
static unsigned long first, last, seen, failed;
static bool only_pages;

void just_return(void);
asm(".pushsection .text\n"
    ".type just_return, @function\n"
    "just_return:\n"
    ASM_RET
    ".size just_return, . - just_return\n"
    ".popsection\n");

static bool must_fail(gfp_t gfp)
{
	if (READ_ONCE(victim) != current || !in_task() || gfp & __GFP_NOFAIL)
		return false;
	if (++seen < first || seen > last)
		return false;
	failed++;
	return true;
}
NOKPROBE_SYMBOL(must_fail);

static int instead(struct pt_regs *regs, int result)
{
	regs_set_return_value(regs, result);
	instruction_pointer_set(regs, (unsigned long)just_return);
	return 1;
}
NOKPROBE_SYMBOL(instead);

static int before_slab(struct kprobe *probe, struct pt_regs *regs)
{
	if (only_pages || !must_fail(regs_get_kernel_argument(regs, 1)))
		return 0;
	return instead(regs, -ENOMEM);
}
NOKPROBE_SYMBOL(before_slab);

static int before_pages(struct kprobe *probe, struct pt_regs *regs)
{
	return must_fail(regs_get_kernel_argument(regs, 0)) ? instead(regs, true) : 0;
}
NOKPROBE_SYMBOL(before_pages);

static struct kprobe slab = { .symbol_name = "should_failslab", .pre_handler = before_slab };
static struct kprobe pages = {
	.symbol_name = "should_fail_alloc_page", .pre_handler = before_pages,
};
static struct kprobe *probes[] = { &slab, &pages };

static ssize_t fail_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	unsigned long nth, count;
	char text[64] = "", what[8] = "";

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, len))
		return -EFAULT;
	if (sscanf(text, "%lu %lu %7s", &nth, &count, what) < 2)
		return -EINVAL;
	first = nth;
	last = nth + count - 1;
	only_pages = !strcmp(what, "pages");
	seen = 0;
	failed = 0;
	WRITE_ONCE(victim, current);
	return len;
}

static ssize_t fail_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	char text[24];
	int n;

	WRITE_ONCE(victim, NULL);
	n = scnprintf(text, sizeof(text), "%lu", failed);
	if (len < n)
		return -EINVAL;
	return copy_to_user(buf, text, n) ? -EFAULT : n;
}

static const struct file_operations fail_fops = {
	.owner = THIS_MODULE, .read = fail_read, .write = fail_write,
};
static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR, .name = "fail_nth", .fops = &fail_fops,
};

static int __init fail_nth_init(void)
{
	int err = register_kprobes(probes, ARRAY_SIZE(probes));

	if (err)
		return err;
	err = misc_register(&device);
	if (err)
		unregister_kprobes(probes, ARRAY_SIZE(probes));
	return err;
}

static void __exit fail_nth_exit(void)
{
	misc_deregister(&device);
	unregister_kprobes(probes, ARRAY_SIZE(probes));
}

module_init(fail_nth_init);
module_exit(fail_nth_exit);
MODULE_LICENSE("GPL");
