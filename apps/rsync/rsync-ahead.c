/* SPDX-License-Identifier: GPL-3.0-or-later OR MIT */
/*
 * For rsync's sender: the directories of its file list are read together with their entries'
 * attributes, which saves an lstat() per file; and with the information which entries have neither
 * an access control list nor extended attributes, which saves the calls of -A and -X.
 *
 * Links are queried as before, and so are entries read more than a second ago, since the receiver
 * may be slow. With --checksum everything is, because a file's contents are read along with its
 * attributes. A daemon never loads a library, because it may have changed its root to a directory
 * that others write to.
 */

/* Minimum of instructions per file of the list. */
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
	if (preserve_acls && !chmod_modes)	/* chmod changes the modes in the list */
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

/* SYSCRIPT_NO_* flags of the last file that entry_stat() was called for. */
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

/* Like readlink_stat(), first for the entry that ahead_readdir() returned last. */
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
