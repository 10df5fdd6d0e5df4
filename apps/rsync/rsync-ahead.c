/* SPDX-License-Identifier: GPL-3.0-or-later OR MIT */
/*
 * For rsync's sender: the directories of its file list are read with the attributes of
 * their entries, which saves an lstat() for each file; and with which of them have neither
 * an access control list nor extended attributes, which saves the calls of -A and -X.
 *
 * Links are looked at as before, as is what was read more than a second ago: the receiver
 * may be slow.  So is everything with --checksum, where a file's contents are read next to
 * its attributes.  A daemon never loads a library, because it may have changed its root to
 * a directory that others write to.
 */

/* Instructions of a file of the list, at the least. */
#define AHEAD_FILE 20000

#include "ahead.h"

#ifdef AHEAD_HERE

static bool ahead_wanted(void)
{
	return am_sender && !am_daemon && !copy_links && am_root >= 0 && !always_checksum;
}

static unsigned int ahead_mask(void)
{
	unsigned int missing = 0;

#ifdef SUPPORT_ACLS
	if (preserve_acls && !chmod_modes)	/* which changes what the list is made of */
		missing |= SYSCRIPT_NO_ACL;
#endif
#ifdef SUPPORT_XATTRS
	if (preserve_xattrs)
		missing |= SYSCRIPT_NO_XATTR;
#endif
	return AHEAD_MASK | missing;
}

#endif

#include "ahead-dir.h"

#ifdef AHEAD_HERE

static bool ahead_is_recent(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (now.tv_sec - ahead.read_at.tv_sec) * 1000000000LL
	     + now.tv_nsec - ahead.read_at.tv_nsec < 1000000000;
}

/* SYSCRIPT_NO_*, of the file that entry_stat() was last asked for. */
static unsigned int entry_missing;

int entry_lacks_acl(void)
{
	return !!(entry_missing & SYSCRIPT_NO_ACL);
}

int entry_lacks_xattrs(void)
{
	return !!(entry_missing & SYSCRIPT_NO_XATTR);
}

static void forget_entry(void)
{
	ahead.entry = NULL;
	entry_missing = 0;
}

/* As readlink_stat(), first of all for the entry that ahead_readdir() returned last. */
static int entry_stat(const char *path, STRUCT_STAT *stp, char *linkbuf)
{
	bool known = ahead.entry && ahead_is_recent() && ahead_knows(stp);
	unsigned int missing = known ? ahead.entry->stat.mask : 0;

	forget_entry();
	if (!known || S_ISLNK(stp->st_mode))
		return readlink_stat(path, stp, linkbuf);
	entry_missing = missing;
	return 0;
}

#else

int entry_lacks_acl(void)
{
	return 0;
}

int entry_lacks_xattrs(void)
{
	return 0;
}

#define forget_entry() ((void)0)
#define entry_stat(path, stp, linkbuf) readlink_stat(path, stp, linkbuf)

#endif
