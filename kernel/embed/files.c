// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that are called for inotify(7)'s events of files, by <linux/syscript_program.h> and
 * nothing else.  A mark holds the inode until its file system is unmounted, and is freed after
 * the last event that uses it.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fsnotify_backend.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/syscript_program.h>
#include <linux/uidgid.h>

#include "events.h"
#include "uapi/syscript_events.h"

#define FUEL	8192	/* 0.4 ms at most */
#define EVENTS	(FS_ACCESS | FS_MODIFY | FS_ATTRIB | FS_CLOSE_WRITE | FS_CLOSE_NOWRITE | \
		 FS_OPEN | FS_MOVE | FS_CREATE | FS_DELETE)

static_assert(SYSCRIPT_FILE_READ == FS_ACCESS && SYSCRIPT_FILE_DELETED == FS_DELETE &&
	      SYSCRIPT_FILE_IS_DIR == FS_ISDIR);

struct watch {
	struct fsnotify_mark mark;
	struct syscript_hook *hook;
};

static struct fsnotify_group *group;	/* the group of all marks */

static void show_file(struct syscript_file *to, u32 mask, const struct inode *inode,
		      const struct qstr *name, u32 cookie)
{
	memset(to, 0, sizeof(*to));
	to->mask = mask & (EVENTS | FS_ISDIR);
	to->process = current->tgid;
	to->uid = from_kuid(&init_user_ns, current_euid());
	to->cookie = cookie;
	to->inode = inode ? inode->i_ino : 0;
	if (name)
		memcpy(to->name, name->name, min_t(u32, name->len, sizeof(to->name) - 1));
}

/* Called in process context, in an SRCU section that freeing the mark waits for. */
static int watch_on_event(struct fsnotify_mark *mark, u32 mask, struct inode *inode,
			  struct inode *dir, const struct qstr *name, u32 cookie)
{
	const struct watch *watch = container_of(mark, struct watch, mark);
	struct syscript_event event;

	if ((mask & EVENTS) && syscript_hook_begin(watch->hook, &event)) {
		show_file(syscript_event_view(&event), mask, inode, name, cookie);
		syscript_hook_run(&event);
	}
	return 0;
}

static void free_watch(struct fsnotify_mark *mark)
{
	kfree(container_of(mark, struct watch, mark));
}

static const struct fsnotify_ops ops = {
	.handle_inode_event = watch_on_event,
	.free_mark = free_watch,
};

static int watch_add(struct watch *watch, const char *where)
{
	struct inode *inode;
	struct path path;
	int err = kern_path(where, LOOKUP_FOLLOW, &path);

	if (err)
		return err;
	inode = d_inode(path.dentry);
	watch->mark.mask = EVENTS | (S_ISDIR(inode->i_mode) ? FS_EVENT_ON_CHILD : 0);
	err = fsnotify_add_inode_mark(&watch->mark, inode, 0);
	path_put(&path);
	return err;
}

static int watch_attach(struct syscript_hook *hook, struct net *net, const char *where,
			char *error, size_t len)
{
	struct watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL_ACCOUNT);
	int err;

	if (!watch)
		return -ENOMEM;
	watch->hook = hook;
	fsnotify_init_mark(&watch->mark, group);
	err = *where == '/' ? watch_add(watch, where) : -EINVAL;
	if (!err) {
		syscript_hook_set_private(hook, watch);
		return 0;
	}
	/* The marked object is gone, or never existed: the mark is freed later. */
	fsnotify_put_mark(&watch->mark);
	scnprintf(error, len, "cannot watch file '%s': give its whole path", where);
	return err;
}

static void watch_detach(struct syscript_hook *hook)
{
	struct watch *watch = syscript_hook_private(hook);

	syscript_hook_set_private(hook, NULL);
	if (!watch)
		return;
	fsnotify_destroy_mark(&watch->mark, group);
	fsnotify_put_mark(&watch->mark);
	/* No event uses the mark any more. */
	fsnotify_wait_marks_destroyed();
}

/* The file was deleted and closed, or its file system unmounted. */
static bool watch_gone(const struct syscript_hook *hook)
{
	const struct watch *watch = syscript_hook_private(hook);

	return !watch || !(READ_ONCE(watch->mark.flags) & FSNOTIFY_MARK_FLAG_ATTACHED);
}

static const struct syscript_prog_type prog_type = {
	.name = "files", .owner = THIS_MODULE,
	.view_size = sizeof(struct syscript_file), .fuel = FUEL,
	.attach = watch_attach, .detach = watch_detach, .gone = watch_gone,
};

int embed_files_init(void)
{
	int err;

	/* A file may have several programs. */
	group = fsnotify_alloc_group(&ops, FSNOTIFY_GROUP_DUPS);
	if (IS_ERR(group))
		return PTR_ERR(group);
	err = syscript_prog_type_register(&prog_type);
	if (err)
		fsnotify_put_group(group);
	return err;
}

void embed_files_exit(void)
{
	syscript_prog_type_unregister(&prog_type);
	fsnotify_wait_marks_destroyed();
	fsnotify_put_group(group);
}
