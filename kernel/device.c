// SPDX-License-Identifier: GPL-2.0
/*
 * The requests of uapi/syscript.h, on devices and on script fds: copies structures between user
 * memory and script.c, and nothing else.
 *
 * There is no compat_ioctl on purpose.  A 32-bit task's system calls differ in numbers and
 * structures from the calls that scripts make, so it gets ENOTTY, and libsyscript runs its
 * scripts in user space.
 */
#include <linux/anon_inodes.h>
#include <linux/compat.h>
#include <linux/export.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "device.h"
#include "engine.h"
#include "idle.h"
#include "prog_registry.h"
#include "prog_ring.h"
#include "subsys_registry.h"
#include "request.h"
#include "run.h"
#include "script.h"
#include "shared.h"
#include "uapi/syscript.h"

/* The size of each structure's first version. */
#define DEVICE_REGISTER_SIZE_1	136
#define DEVICE_CALL_SIZE_1	144
#define DEVICE_TEXT_SIZE_1	16
#define DEVICE_INFO_SIZE_1	400
#define DEVICE_LOAD_SIZE_1	240
#define DEVICE_UNLOAD_SIZE_1	56
#define DEVICE_PROGRAM_SIZE_1	384
#define DEVICE_INVOKE_SIZE_1	144
#define DEVICE_EVENTS_SIZE_1	312

static_assert(sizeof(struct syscript_register) >= DEVICE_REGISTER_SIZE_1);
static_assert(sizeof(struct syscript_call) >= DEVICE_CALL_SIZE_1);
static_assert(sizeof(struct syscript_text) >= DEVICE_TEXT_SIZE_1);
static_assert(sizeof(struct syscript_info) >= DEVICE_INFO_SIZE_1);
static_assert(sizeof(struct syscript_load) >= DEVICE_LOAD_SIZE_1);
static_assert(sizeof(struct syscript_unload) >= DEVICE_UNLOAD_SIZE_1);
static_assert(sizeof(struct syscript_program) >= DEVICE_PROGRAM_SIZE_1);
static_assert(sizeof(struct syscript_invoke) >= DEVICE_INVOKE_SIZE_1);
static_assert(sizeof(struct syscript_events) >= DEVICE_EVENTS_SIZE_1);

/* Is it this request, whatever the size of its structure? */
#define DEVICE_SAME(cmd, request) \
	(((cmd) & ~IOCSIZE_MASK) == ((request) & ~IOCSIZE_MASK))

/* Copies in a structure of any published size: 0, -EINVAL, -E2BIG or -EFAULT. */
static int device_copy_in(void *to, size_t size, size_t size_1,
			  const void __user *from, unsigned int cmd)
{
	if (_IOC_SIZE(cmd) < size_1)
		return -EINVAL;
	return copy_struct_from_user(to, size, from, _IOC_SIZE(cmd));
}

/* The rest of the caller's larger structure was zero and stays so. */
static int device_copy_out(void __user *to, unsigned int cmd, const void *from,
			   size_t size)
{
	size = min_t(size_t, size, _IOC_SIZE(cmd));
	return copy_to_user(to, from, size) ? -EFAULT : 0;
}

/* @err is the script's, not a seccomp filter's, so the library must not retry the call. */
static noinline long device_call_tell(struct syscript_call __user *user, u32 flags, int err)
{
	if (flags & SYSCRIPT_CALL_TELL && put_user(SYSCRIPT_CALL_ENDED, &user->state))
		return -EFAULT;
	return err;
}

/*
 * The library identifies a script by its own descriptor's number, which may belong to another
 * file by now.  The file is compared, and not used.
 */
static noinline int device_call_expects_file(const struct syscript_call *call)
{
	struct fd fd = fdget(call->fd);
	const struct inode *inode;
	bool same;

	if (!compat_fd_file(fd))
		return -ESTALE;
	inode = file_inode(compat_fd_file(fd));
	same = inode->i_ino == call->ino && new_encode_dev(inode->i_sb->s_dev) == call->dev;
	fdput(fd);
	return same ? 0 : -ESTALE;
}

/*
 * As above, for callers that pass the script's id: the descriptor may be another script's by now.
 */
static inline int device_call_expects(const struct script *script,
				      const struct syscript_call *call)
{
	if (call->fd != SYSCRIPT_EXPECT_SCRIPT)
		return device_call_expects_file(call);
	return script_is(script, call->ino) ? 0 : -ESTALE;
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
	err = request_check_call(&call);
	if (!err && call.flags & SYSCRIPT_CALL_EXPECT)
		err = device_call_expects(script, &call);
	if (err)
		return err;
	err = script_call(script, &call);
	if (err)
		return device_call_tell(user, call.flags, err);
	if (call.flags & SYSCRIPT_CALL_QUIET)
		return 0;

	results = min_t(size_t, call.nresults, SYSCRIPT_RESULTS_MAX);
	if (put_user(call.nresults, &user->nresults) ||
	    copy_to_user(user->results, call.results,
			 results * sizeof(call.results[0])))
		return -EFAULT;
	return 0;
}

/*
 * Plain loads and stores: an empty call costs little more than an empty ioctl, and a
 * copy_*_user() would be a good part of that. No indexing, because a bounds check may be a
 * function call, which is not allowed within user_access_begin(). Compounds have two arguments;
 * without the loop they cost a third.
 */
static __always_inline int device_call_in(struct syscript_call *call,
					  const struct syscript_call __user *user)
{
	const __s64 __user *from = user->args;
	__s64 *to = call->args, *end;

	if (!user_access_begin(user, sizeof(*user)))
		return -EFAULT;
	unsafe_get_user(call->flags, &user->flags, fault);
	unsafe_get_user(call->nargs, &user->nargs, fault);
	unsafe_get_user(call->nresults, &user->nresults, fault);
	unsafe_get_user(call->state, &user->state, fault);
	if (likely(call->nargs == 2)) {
		unsafe_get_user(call->args[0], &user->args[0], fault);
		unsafe_get_user(call->args[1], &user->args[1], fault);
	} else if (call->nargs <= SYSCRIPT_ARGS_MAX) {
		for (end = to + call->nargs; to < end; to++, from++)
			unsafe_get_user(*to, from, fault);
	} else {
		goto bad;
	}
	if (call->flags & SYSCRIPT_CALL_EXPECT) {
		unsafe_get_user(call->fd, &user->fd, fault);
		unsafe_get_user(call->dev, &user->dev, fault);
		unsafe_get_user(call->ino, &user->ino, fault);
	}
	user_access_end();
	return (call->flags & ~SYSCRIPT_CALL_FLAGS) | call->state ? -EINVAL : 0;
bad:
	user_access_end();
	return -EINVAL;
fault:
	user_access_end();
	return -EFAULT;
}

static noinline int device_call_out(struct syscript_call __user *user,
				    const struct syscript_call *call)
{
	size_t results = min_t(size_t, call->nresults, SYSCRIPT_RESULTS_MAX);
	const __s64 *from = call->results, *end = from + results;
	__s64 __user *to = user->results;

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

static __always_inline long device_call(struct script *script,
					struct syscript_call __user *user)
{
	struct syscript_call call __uninitialized;	/* read back only if written */
	u32 nresults;
	int err;

	err = device_call_in(&call, user);
	if (unlikely(err))
		return script_may_use(script) ?: err;
	if (call.flags & SYSCRIPT_CALL_EXPECT) {
		err = device_call_expects(script, &call);
		if (unlikely(err))
			return err;
	}
	nresults = call.nresults;
	err = script_call(script, &call);
	if (unlikely(err))
		return device_call_tell(user, call.flags, err);
	if (call.flags & SYSCRIPT_CALL_QUIET)
		return 0;
	/* Nothing to copy out if there are no results and the caller expects none. */
	return nresults | call.nresults ? device_call_out(user, &call) : 0;
}

static noinline long device_call_ioctl(struct script *script,
				       struct syscript_call __user *user)
{
	return device_call(script, user);
}

/*
 * SYSCRIPT_SEEK_CALL.  lseek(2) costs a third of an ioctl(2), which asks the
 * security modules; they were asked when the script was registered.
 */
static loff_t script_file_seek(struct file *file, loff_t offset, int whence)
{
	if (unlikely(whence != SYSCRIPT_SEEK_CALL || offset >= 0))
		return noop_llseek(file, offset, whence);
	/* As in the comment at the top, for ioctl(2). */
	if (unlikely(in_compat_syscall()))
		return -ENOTTY;
	return device_call(file->private_data, (void __user *)-offset) ?:
	       SYSCRIPT_SEEK_CALLED;
}

static int device_text_error(struct script *script, struct syscript_text *text)
{
	char *error = kmalloc(RUN_ERROR_LEN, GFP_KERNEL);
	size_t len;
	int err;

	if (!error)
		return -ENOMEM;
	err = script_error(script, error);
	if (err)
		goto free;
	len = strlen(error);
	if (text->len && len >= text->len)
		error[text->len - 1] = '\0';
	if (copy_to_user(u64_to_user_ptr(text->buffer), error,
			 min_t(size_t, text->len, len + 1)))
		err = -EFAULT;
	text->len = len;
free:
	kfree(error);
	return err;
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

/* The counters of @script, or, if that is NULL, of the first script after the id in @user. */
static long device_info(struct script *script, struct syscript_info __user *user,
			unsigned int cmd)
{
	struct syscript_info info;
	int err;

	err = device_copy_in(&info, sizeof(info), DEVICE_INFO_SIZE_1, user, cmd);
	if (err)
		return err;
	err = request_check_info(&info);
	if (err)
		return err;
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

	/* @file may be gone when a call returns (script_call()). */
	if (cmd == SYSCRIPT_IOC_CALL)
		return device_call_ioctl(script, user);
	ret = script_may_use(script);
	if (ret)
		return ret;
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
	script_put(file->private_data);
	return 0;
}

/* Shown in /proc/PID/fdinfo, to processes that may trace this one. */
static void script_file_fdinfo(struct seq_file *m, struct file *file)
{
	struct syscript_info info;
	int i;

	script_info(file->private_data, &info);
	seq_printf(m, "syscript-name:\t%s\n", info.name);
	seq_printf(m, "syscript-id:\t%llu\n", info.id);
	seq_printf(m, "syscript-engine:\t%s\n", info.engine_name);
	seq_printf(m, "syscript-state:\t%u\n", info.state);
	seq_printf(m, "syscript-calls:\t%llu\n", info.calls);
	seq_printf(m, "syscript-errors:\t%llu\n", info.errors);
	seq_printf(m, "syscript-kills:\t%llu\n", info.kills);
	seq_printf(m, "syscript-syscalls:\t%llu\n", info.syscalls);
	seq_printf(m, "syscript-run-time:\t%llu\n", info.run_time);
	seq_printf(m, "syscript-memory:\t%llu\n", info.memory);
	seq_printf(m, "syscript-memory-peak:\t%llu\n", info.memory_peak);
	for (i = 0; i < SYSCRIPT_COUNTERS_MAX && info.counters[i].name[0]; i++)
		seq_printf(m, "syscript-%s:\t%llu\n", info.counters[i].name,
			   info.counters[i].value);
}

/* The owner pins the module while there is a script. */
static const struct file_operations script_file_ops = {
	.owner = THIS_MODULE,
	.show_fdinfo = script_file_fdinfo,
	.unlocked_ioctl = script_file_ioctl,
	.poll = script_file_poll,
	.release = script_file_release,
	.llseek = script_file_seek,
};

static int device_check_engine(const struct file *file, u32 engine, char *error)
{
	const struct miscdevice *misc = file->private_data;
	const struct engine_ops *only = container_of(misc, struct script_device, misc)->only;

	if (!only || only->id == engine)
		return 0;
	scnprintf(error, RUN_ERROR_LEN, "/dev/%s is for engine %s only", misc->name, only->name);
	return -EACCES;
}

/* Copies @len bytes at @from and adds a NUL; user memory is read only once. Free with kvfree(). */
static char *device_copy_text(u64 from, size_t len)
{
	char *text = kvmalloc(len + 1, GFP_KERNEL_ACCOUNT);

	if (!text)
		return ERR_PTR(-ENOMEM);
	text[len] = '\0';
	if (!copy_from_user(text, u64_to_user_ptr(from), len))
		return text;
	kvfree(text);
	return ERR_PTR(-EFAULT);
}

static int device_base_of(struct script **base, struct file *file)
{
	int err = file->f_op == &script_file_ops ? 0 : -EBADF;

	if (!err)
		err = script_may_use(file->private_data);
	if (err)
		return err;
	*base = file->private_data;
	script_get(*base);
	return 0;
}

static int device_get_shared(struct shared **shared, u64 address)
{
	u8 digest[SYSCRIPT_DIGEST_LEN];

	if (copy_from_user(digest, u64_to_user_ptr(address), sizeof(digest)))
		return -EFAULT;
	*shared = shared_get(digest);
	return *shared ? 0 : -ENOKEY;
}

/* Takes a reference to the base, which then outlives its descriptor. */
static int device_get_base(struct script_base *base, const struct syscript_register *reg)
{
	struct file *file;
	int err;

	if (!(reg->flags & SYSCRIPT_EXTENDS))
		return 0;
	if (reg->flags & SYSCRIPT_SHARED)
		return device_get_shared(&base->shared, reg->base);
	file = reg->base <= INT_MAX ? fget(reg->base) : NULL;
	if (!file)
		return -EBADF;
	err = device_base_of(&base->script, file);
	fput(file);
	return err;
}

static int device_load(struct script *script, const struct syscript_register *reg,
		       char *error)
{
	char *image = device_copy_text(reg->image, reg->image_len);
	struct script_base base = { 0 };
	int err;

	if (IS_ERR(image))
		return PTR_ERR(image);
	err = device_get_base(&base, reg);
	if (!err)
		err = script_load(script, reg, image, base, error);
	kvfree(image);
	return err;
}

/* Registers a base of the machine: SYSCRIPT_SHARED. */
static int device_add_shared(struct file *file, const struct syscript_register *reg,
			     char *error)
{
	char *image;
	int err;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	err = device_check_engine(file, reg->engine, error);
	if (err)
		return err;
	image = device_copy_text(reg->image, reg->image_len);
	if (IS_ERR(image))
		return PTR_ERR(image);
	err = shared_add(reg, image, error);
	kvfree(image);
	return err;
}

static struct script *device_create_script(struct file *file,
					   const struct syscript_register *reg,
					   char *error)
{
	int err = device_check_engine(file, reg->engine, error);
	struct script *script;

	if (err)
		return ERR_PTR(err);
	script = script_create(reg, file, error);
	if (IS_ERR(script))
		return script;
	err = device_load(script, reg, error);
	if (!err)
		return script;
	script_put(script);
	return ERR_PTR(err);
}

/*
 * Installs a descriptor for @script, which takes over the reference; on failure @script is
 * destroyed.
 */
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
	idle_watch();
	/* Last: another thread may use or close the fd before this returns. */
	fd_install(fd, file);
	return fd;
destroy:
	script_put(script);
	return fd;
}

/* Copies @error, cut to @room bytes.  Returns @err, or -EFAULT if the copy fails. */
static int device_put_error(u64 to, u32 room, char *error, int err)
{
	size_t len = strlen(error) + 1;

	if (!room)
		return err;
	if (len > room) {
		len = room;
		error[len - 1] = '\0';
	}
	if (copy_to_user(u64_to_user_ptr(to), error, len))
		return -EFAULT;
	return err;
}

/* Returns the request's result; if that is an error, @error may have its text. */
static long device_make(struct file *file, const struct syscript_register *reg, char *error)
{
	struct script *script;

	if (reg->flags & SYSCRIPT_BASE && reg->flags & SYSCRIPT_SHARED)
		return device_add_shared(file, reg, error);
	script = device_create_script(file, reg, error);
	if (IS_ERR(script))
		return PTR_ERR(script);
	if (!(reg->flags & SYSCRIPT_CHECK))
		return device_install(script);
	script_put(script);
	return 0;
}

static long device_make_script(struct file *file, const struct syscript_register *reg)
{
	char *error = kzalloc(RUN_ERROR_LEN, GFP_KERNEL);
	long ret;

	if (!error)
		return -ENOMEM;
	ret = device_make(file, reg, error);
	if (ret < 0)
		ret = device_put_error(reg->error, reg->error_len, error, ret);
	kfree(error);
	return ret;
}

static long device_register_script(struct file *file,
				   struct syscript_register __user *user,
				   unsigned int cmd)
{
	struct syscript_register reg;
	int err;

	err = script_may_create();
	if (err)
		return err;
	err = device_copy_in(&reg, sizeof(reg), DEVICE_REGISTER_SIZE_1, user,
			     cmd);
	if (err)
		return err;
	err = request_check_register(&reg);
	if (err)
		return err;
	return device_make_script(file, &reg);
}

/* -- Programs for subsystems ------------------------------------------------------- */

static int device_load_parts(const struct syscript_prog_type *prog_type,
			     const struct syscript_load *load, char *functions, char *image,
			     char *error)
{
	struct prog_parts parts = { .image = image, .functions = functions };
	char *lines = NULL, *states;
	int err;

	states = device_copy_text(load->states, load->nstates * sizeof(*parts.states));
	if (IS_ERR(states))
		return PTR_ERR(states);
	if (load->lines_len)
		lines = device_copy_text(load->lines, load->lines_len);
	if (IS_ERR(lines)) {
		kvfree(states);
		return PTR_ERR(lines);
	}
	parts.states = (const struct syscript_state *)states;
	parts.lines = (u16 *)lines;
	err = prog_registry_load(prog_type, load, &parts, error);
	kvfree(parts.lines);
	kvfree(states);
	return err;
}

static int device_load_image(const struct syscript_prog_type *prog_type,
			     const struct syscript_load *load, char *functions, char *error)
{
	char *image = device_copy_text(load->image, load->image_len);
	int err;

	if (IS_ERR(image))
		return PTR_ERR(image);
	err = device_load_parts(prog_type, load, functions, image, error);
	kvfree(image);
	return err;
}

static int device_load_for(const struct syscript_prog_type *prog_type,
			   const struct syscript_load *load, char *error)
{
	char *functions = device_copy_text(load->functions, load->functions_len);
	int err;

	if (IS_ERR(functions))
		return PTR_ERR(functions);
	err = device_load_image(prog_type, load, functions, error);
	kvfree(functions);
	return err;
}

static int device_load_checked(struct file *file, const struct syscript_load *load,
			       char *error)
{
	const struct syscript_prog_type *prog_type;
	int err = device_check_engine(file, load->engine, error);

	if (err)
		return err;
	/* Check rights before doing expensive work. */
	prog_type = prog_registry_subsystem(load->subsystem, error);
	if (IS_ERR(prog_type))
		return PTR_ERR(prog_type);
	err = device_load_for(prog_type, load, error);
	subsys_put(prog_type);
	return err;
}

static long device_load_program(struct file *file, struct syscript_load __user *user,
				unsigned int cmd)
{
	struct syscript_load load;
	char *error;
	long err;

	err = prog_registry_may_load() ?:
	      device_copy_in(&load, sizeof(load), DEVICE_LOAD_SIZE_1, user, cmd) ?:
	      request_check_load(&load);
	if (err)
		return err;
	error = kzalloc(RUN_ERROR_LEN, GFP_KERNEL);
	if (!error)
		return -ENOMEM;
	err = device_load_checked(file, &load, error);
	if (err)
		err = device_put_error(load.error, load.error_len, error, err);
	kfree(error);
	return err;
}

static long device_unload_program(struct syscript_unload __user *user, unsigned int cmd)
{
	struct syscript_unload unload;
	int err = device_copy_in(&unload, sizeof(unload), DEVICE_UNLOAD_SIZE_1, user, cmd);

	return err ?: request_check_unload(&unload) ?: prog_registry_unload(&unload);
}

static long device_program(struct syscript_program __user *user, unsigned int cmd)
{
	struct syscript_program program;
	int err = device_copy_in(&program, sizeof(program), DEVICE_PROGRAM_SIZE_1, user, cmd);

	err = err ?: prog_registry_next(&program);
	return err ?: device_copy_out(user, cmd, &program, sizeof(program));
}

static long device_invoke_checked(struct syscript_invoke *invoke)
{
	u8 data[SYSCRIPT_INVOKE_DATA_MAX];
	u32 len = min_t(u32, invoke->data_len, sizeof(data));	/* the flags, as checked above */
	char *error;
	int err;

	if (copy_from_user(data, u64_to_user_ptr(invoke->data), len))
		return -EFAULT;
	error = kzalloc(RUN_ERROR_LEN, GFP_KERNEL);
	if (!error)
		return -ENOMEM;
	err = prog_registry_invoke(invoke, data, error);
	if (err)
		err = device_put_error(invoke->error, invoke->error_len, error, err);
	kfree(error);
	return err;
}

static long device_invoke(struct syscript_invoke __user *user, unsigned int cmd)
{
	struct syscript_invoke invoke;
	long err;

	err = prog_registry_may_load() ?:
	      device_copy_in(&invoke, sizeof(invoke), DEVICE_INVOKE_SIZE_1, user, cmd) ?:
	      request_check_invoke(&invoke) ?: device_invoke_checked(&invoke);
	return err ?: put_user(invoke.result, &user->result);
}

/* The descriptor exists only after its number and the names of fields have arrived. */
static int device_open_ring(struct prog_ring *ring, struct syscript_events __user *user,
			    unsigned int cmd, const struct syscript_events *events)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);
	struct file *file;

	if (fd < 0) {
		prog_ring_put(ring);
		return fd;
	}
	file = prog_ring_open(ring);
	if (IS_ERR(file)) {
		prog_ring_put(ring);
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	if (device_copy_out(user, cmd, events, sizeof(*events))) {
		fput(file);
		put_unused_fd(fd);
		return -EFAULT;
	}
	fd_install(fd, file);
	return fd;
}

static long device_events_checked(struct syscript_events __user *user, unsigned int cmd,
				  struct syscript_events *events)
{
	struct syscript_state def;
	struct prog_ring *ring = prog_registry_ring(events->name, &def);

	if (IS_ERR(ring))
		return PTR_ERR(ring);
	events->value_size = def.value_size;
	memcpy(events->fields, def.fields, sizeof(events->fields));
	return device_open_ring(ring, user, cmd, events);
}

static long device_events(struct syscript_events __user *user, unsigned int cmd)
{
	struct syscript_events events;
	int err = prog_registry_may_load() ?:
		  device_copy_in(&events, sizeof(events), DEVICE_EVENTS_SIZE_1, user, cmd) ?:
		  request_check_events(&events);

	return err ?: device_events_checked(user, cmd, &events);
}

long script_device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;

	if (DEVICE_SAME(cmd, SYSCRIPT_IOC_REGISTER))
		return device_register_script(file, user, cmd);
	if (DEVICE_SAME(cmd, SYSCRIPT_IOC_NEXT))
		return device_info(NULL, user, cmd);
	if (DEVICE_SAME(cmd, SYSCRIPT_IOC_LOAD))
		return device_load_program(file, user, cmd);
	if (DEVICE_SAME(cmd, SYSCRIPT_IOC_UNLOAD))
		return device_unload_program(user, cmd);
	if (DEVICE_SAME(cmd, SYSCRIPT_IOC_PROGRAM))
		return device_program(user, cmd);
	if (DEVICE_SAME(cmd, SYSCRIPT_IOC_INVOKE))
		return device_invoke(user, cmd);
	if (DEVICE_SAME(cmd, SYSCRIPT_IOC_EVENTS))
		return device_events(user, cmd);
	return -ENOTTY;
}
EXPORT_SYMBOL_NS_GPL(script_device_ioctl, COMPAT_NS(SYSCRIPT));

/* mmap(2): an arena for programs of the confined engine, which every device serves. */
int script_device_mmap(struct file *file, struct vm_area_struct *vma)
{
	return script_may_create() ?: confined_mmap(vma);
}
EXPORT_SYMBOL_NS_GPL(script_device_mmap, COMPAT_NS(SYSCRIPT));

int script_device_add(struct script_device *node, unsigned short mode)
{
	int err;

	if (mode & ~0777)
		return -EINVAL;
	node->misc.mode = mode;
	err = misc_register(&node->misc);
	if (err != -EBUSY)
		return err;
	node->misc.minor = MISC_DYNAMIC_MINOR;
	return misc_register(&node->misc);
}
EXPORT_SYMBOL_NS_GPL(script_device_add, COMPAT_NS(SYSCRIPT));

void script_device_remove(struct script_device *node)
{
	misc_deregister(&node->misc);
}
EXPORT_SYMBOL_NS_GPL(script_device_remove, COMPAT_NS(SYSCRIPT));

static unsigned short mode = 0660;
module_param(mode, ushort, 0444);
MODULE_PARM_DESC(mode, "Mode of /dev/syscript where no udev rule sets it (default: 0660)");

/*
 * A minor for local use is fixed, so that the node can exist before the module is loaded: opening
 * it loads the module.
 */
#define DEVICE_MINOR	249
MODULE_ALIAS_MISCDEV(DEVICE_MINOR);
MODULE_ALIAS("devname:syscript");

static const struct file_operations device_ops = DEVICE_OPS;

static struct script_device device = {
	.misc = { .minor = DEVICE_MINOR, .name = "syscript", .fops = &device_ops },
	.only = &confined_engine,
};

int device_init(void)
{
	return script_device_add(&device, mode);
}

void device_exit(void)
{
	script_device_remove(&device);
}
