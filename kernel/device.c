// SPDX-License-Identifier: GPL-2.0
/*
 * The requests of uapi/syscript.h, on /dev/syscript and on script fds: what
 * passes between user memory and script.c, and nothing else.
 *
 * There is no compat_ioctl on purpose.  A 32-bit task's system calls have other
 * numbers and other structures than the ones that scripts make, so it gets
 * ENOTTY; libsyscript runs its scripts in user space.
 */
#include <linux/anon_inodes.h>
#include <linux/ctype.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "device.h"
#include "script.h"

/* The sizes that the first version of each structure had. */
#define DEVICE_REGISTER_SIZE_1	88
#define DEVICE_CALL_SIZE_1	144
#define DEVICE_TEXT_SIZE_1	16
#define DEVICE_INFO_SIZE_1	184

static_assert(sizeof(struct syscript_register) >= DEVICE_REGISTER_SIZE_1);
static_assert(sizeof(struct syscript_call) >= DEVICE_CALL_SIZE_1);
static_assert(sizeof(struct syscript_text) >= DEVICE_TEXT_SIZE_1);
static_assert(sizeof(struct syscript_info) >= DEVICE_INFO_SIZE_1);

/* The same request, whatever the size of its structure? */
#define DEVICE_SAME(cmd, request) \
	(((cmd) & ~IOCSIZE_MASK) == ((request) & ~IOCSIZE_MASK))

/* Of a structure of any published size: 0, -EINVAL, -E2BIG or -EFAULT. */
static int device_copy_in(void *to, size_t size, size_t size_1,
			  const void __user *from, unsigned int cmd)
{
	if (_IOC_SIZE(cmd) < size_1)
		return -EINVAL;
	return copy_struct_from_user(to, size, from, _IOC_SIZE(cmd));
}

/* What the caller's structure has more was zero and stays so. */
static int device_copy_out(void __user *to, unsigned int cmd, const void *from,
			   size_t size)
{
	size = min_t(size_t, size, _IOC_SIZE(cmd));
	return copy_to_user(to, from, size) ? -EFAULT : 0;
}

static long device_call_any_size(struct script *script,
				 struct syscript_call __user *user,
				 unsigned int cmd)
{
	struct syscript_call call;
	size_t results;
	int err;

	err = device_copy_in(&call, sizeof(call), DEVICE_CALL_SIZE_1, user, cmd);
	if (err)
		return err;
	if (call.flags || call.reserved || call.nargs > SYSCRIPT_ARGS_MAX)
		return -EINVAL;
	err = script_call(script, &call);
	if (err)
		return err;

	results = min_t(size_t, call.nresults, SYSCRIPT_RESULTS_MAX);
	if (put_user(call.nresults, &user->nresults) ||
	    copy_to_user(user->results, call.results,
			 results * sizeof(call.results[0])))
		return -EFAULT;
	return 0;
}

/*
 * Straight loads and stores instead of copies: an empty call costs little more
 * than an empty ioctl, and each copy_*_user() would be a good part of that.
 * No indexing: a bounds check would be a call, which must not happen there.
 */
static int device_call_in(struct syscript_call *call,
			  const struct syscript_call __user *user)
{
	const __s64 __user *from = user->args;
	__s64 *to = call->args, *end;

	if (!user_access_begin(user, sizeof(*user)))
		return -EFAULT;
	unsafe_get_user(call->flags, &user->flags, fault);
	unsafe_get_user(call->nargs, &user->nargs, fault);
	unsafe_get_user(call->nresults, &user->nresults, fault);
	unsafe_get_user(call->reserved, &user->reserved, fault);
	if (call->nargs > SYSCRIPT_ARGS_MAX)
		goto bad;
	for (end = to + call->nargs; to < end; to++, from++)
		unsafe_get_user(*to, from, fault);
	user_access_end();
	return call->flags || call->reserved ? -EINVAL : 0;
bad:
	user_access_end();
	return -EINVAL;
fault:
	user_access_end();
	return -EFAULT;
}

static int device_call_out(struct syscript_call __user *user,
			   const struct syscript_call *call, u32 nresults)
{
	size_t results = min_t(size_t, call->nresults, SYSCRIPT_RESULTS_MAX);
	const __s64 *from = call->results, *end = from + results;
	__s64 __user *to = user->results;

	/* Nothing that is not there already? */
	if (!results && !nresults)
		return 0;
	if (!user_access_begin(user, sizeof(*user)))
		return -EFAULT;
	unsafe_put_user(call->nresults, &user->nresults, fault);
	for (; from < end; from++, to++)
		unsafe_put_user(*from, to, fault);
	user_access_end();
	return 0;
fault:
	user_access_end();
	return -EFAULT;
}

static long device_call(struct script *script, struct syscript_call __user *user)
{
	struct syscript_call call;	/* not zeroed: what is read was written */
	u32 nresults;
	int err;

	err = device_call_in(&call, user);
	if (unlikely(err))
		return err;
	nresults = call.nresults;
	err = script_call(script, &call);
	if (unlikely(err))
		return err;
	return device_call_out(user, &call, nresults);
}

static int device_text_error(struct script *script, struct syscript_text *text)
{
	char error[SCRIPT_ERROR_LEN];
	size_t len;
	int err;

	err = script_error(script, error);
	if (err)
		return err;
	len = strlen(error);
	if (text->len && len >= text->len)
		error[text->len - 1] = '\0';
	if (copy_to_user(u64_to_user_ptr(text->buffer), error,
			 min_t(size_t, text->len, len + 1)))
		return -EFAULT;
	text->len = len;
	return 0;
}

static int device_text_output(struct script *script, struct syscript_text *text)
{
	u32 taken, there;
	int err = 0;
	char *buf;

	buf = script_output(script, text->len, &taken, &there);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	if (buf && copy_to_user(u64_to_user_ptr(text->buffer), buf, taken))
		err = -EFAULT;
	kvfree(buf);
	text->len = there;
	return err;
}

static long device_text(struct script *script, struct syscript_text __user *user,
			unsigned int cmd)
{
	struct syscript_text text;
	int err;

	err = device_copy_in(&text, sizeof(text), DEVICE_TEXT_SIZE_1, user, cmd);
	if (err)
		return err;
	switch (text.which) {
	case SYSCRIPT_TEXT_ERROR:
		err = device_text_error(script, &text);
		break;
	case SYSCRIPT_TEXT_OUTPUT:
		err = device_text_output(script, &text);
		break;
	default:
		err = -EINVAL;
	}
	if (err)
		return err;
	return device_copy_out(user, cmd, &text, sizeof(text));
}

/* @script's counters, or those of the script after the id that @user has. */
static long device_info(struct script *script, struct syscript_info __user *user,
			unsigned int cmd)
{
	struct syscript_info info;
	int err;

	err = device_copy_in(&info, sizeof(info), DEVICE_INFO_SIZE_1, user, cmd);
	if (err)
		return err;
	if (memchr_inv(info.reserved, 0, sizeof(info.reserved)))
		return -EINVAL;
	if (script)
		script_info(script, &info);
	else
		err = script_next(info.id, &info);
	if (err)
		return err;
	return device_copy_out(user, cmd, &info, sizeof(info));
}

static long script_file_ioctl(struct file *file, unsigned int cmd,
			      unsigned long arg)
{
	struct script *script = file->private_data;
	void __user *user = (void __user *)arg;
	long ret;

	ret = script_may_use(script);
	if (ret)
		return ret;
	/* A call may end both @file and @script (script_release()). */
	if (likely(cmd == SYSCRIPT_IOC_CALL))
		return device_call(script, user);
	if (DEVICE_SAME(cmd, SYSCRIPT_IOC_CALL))
		return device_call_any_size(script, user, cmd);
	if (DEVICE_SAME(cmd, SYSCRIPT_IOC_TEXT))
		return device_text(script, user, cmd);
	if (DEVICE_SAME(cmd, SYSCRIPT_IOC_INFO))
		return device_info(script, user, cmd);
	return -ENOTTY;
}

static __poll_t script_file_poll(struct file *file,
				 struct poll_table_struct *wait)
{
	return script_poll(file->private_data, file, wait);
}

static int script_file_release(struct inode *inode, struct file *file)
{
	script_release(file->private_data);
	return 0;
}

/* The owner keeps the module for as long as there is a script. */
static const struct file_operations script_file_ops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = script_file_ioctl,
	.poll = script_file_poll,
	.release = script_file_release,
	.llseek = noop_llseek,
};

static int device_check_register(const struct syscript_register *reg)
{
	size_t i, len = strnlen(reg->name, sizeof(reg->name));

	if (reg->flags & ~SYSCRIPT_FLAGS || reg->reserved)
		return -EINVAL;
	if (!reg->source_len || (!reg->error && reg->error_len))
		return -EINVAL;
	if (reg->source_len > SYSCRIPT_SOURCE_MAX)
		return -E2BIG;
	if (len == sizeof(reg->name))
		return -EINVAL;
	/* Names are shown in lists and in the log: one line, no escapes. */
	for (i = 0; i < len; i++)
		if (!isascii(reg->name[i]) || !isprint(reg->name[i]))
			return -EINVAL;
	return 0;
}

static char *device_copy_source(const struct syscript_register *reg)
{
	char *source = kvmalloc(reg->source_len + 1, GFP_KERNEL_ACCOUNT);

	if (!source)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(source, u64_to_user_ptr(reg->source),
			   reg->source_len)) {
		kvfree(source);
		return ERR_PTR(-EFAULT);
	}
	source[reg->source_len] = '\0';
	return source;
}

static struct script *device_create_script(struct file *device,
					   const struct syscript_register *reg,
					   char *error)
{
	struct script_source source = {
		.len = reg->source_len,
		.name = reg->name,
		.flags = reg->flags,
		.limits = { reg->memory_limit, reg->time_limit },
		.device = device,
	};
	struct script *script;
	char *text;

	text = device_copy_source(reg);
	if (IS_ERR(text))
		return ERR_CAST(text);
	source.text = text;
	script = script_create(&source, error);
	kvfree(text);
	return script;
}

/* Gives @script an fd: from then on it is the fd's, else it is destroyed. */
static int device_install(struct script *script)
{
	struct file *file;
	int fd;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		goto destroy;
	file = anon_inode_getfile("[syscript]", &script_file_ops, script,
				  O_RDWR | O_CLOEXEC);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		fd = PTR_ERR(file);
		goto destroy;
	}
	script_publish(script);
	/* Last: another thread may use or close the fd before this returns. */
	fd_install(fd, file);
	return fd;
destroy:
	script_release(script);
	return fd;
}

/* Copies @error, cut to fit: @err, or -EFAULT if that is not possible. */
static int device_put_error(const struct syscript_register *reg, char *error,
			    int err)
{
	size_t len = strlen(error) + 1;

	if (!reg->error_len)
		return err;
	if (len > reg->error_len) {
		len = reg->error_len;
		error[len - 1] = '\0';
	}
	if (copy_to_user(u64_to_user_ptr(reg->error), error, len))
		return -EFAULT;
	return err;
}

static long device_register_script(struct file *device,
				   struct syscript_register __user *user,
				   unsigned int cmd)
{
	char error[SCRIPT_ERROR_LEN] = "";
	struct syscript_register reg;
	struct script *script;
	int err;

	err = script_may_create();
	if (err)
		return err;
	err = device_copy_in(&reg, sizeof(reg), DEVICE_REGISTER_SIZE_1, user,
			     cmd);
	if (err)
		return err;
	err = device_check_register(&reg);
	if (err)
		return err;

	script = device_create_script(device, &reg, error);
	if (IS_ERR(script))
		return device_put_error(&reg, error, PTR_ERR(script));
	if (reg.flags & SYSCRIPT_CHECK) {
		script_release(script);
		return 0;
	}
	return device_install(script);
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;

	if (DEVICE_SAME(cmd, SYSCRIPT_IOC_REGISTER))
		return device_register_script(file, user, cmd);
	if (DEVICE_SAME(cmd, SYSCRIPT_IOC_NEXT))
		return device_info(NULL, user, cmd);
	return -ENOTTY;
}

static const struct file_operations device_ops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = device_ioctl,
	.llseek = noop_llseek,
};

static unsigned short mode = 0660;
module_param(mode, ushort, 0444);
MODULE_PARM_DESC(mode, "Mode of /dev/syscript where no udev rule sets it (default: 0660)");

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "syscript",
	.fops = &device_ops,
};

int device_init(void)
{
	if (mode & ~0777)
		return -EINVAL;
	device.mode = mode;
	return misc_register(&device);
}

void device_exit(void)
{
	misc_deregister(&device);
}
