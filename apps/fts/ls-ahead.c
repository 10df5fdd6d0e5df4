/* SPDX-License-Identifier: GPL-3.0-or-later OR MIT */
/*
 * For ls: directories are read together with their entries' attributes, and with the information
 * whether these have an access control list or a label, which saves three calls for most files.
 *
 * For an entry with an error, or with such attributes, ls makes its own calls: see ahead-dir.h.
 */

/* Minimum of instructions per entry, depending on what ls prints: six calls or one.  */
#define AHEAD_FILE (format == long_format ? 18000 : 5000)

#include "ahead.h"

#ifndef AHEAD_HERE

# define ahead_lacks_acl() false
# define ahead_lacks_label() false

#else

# ifndef SYSCRIPT_NO_ACL
#  error "libsyscript's headers are too old"
# endif

/* Does ls get attributes of all files, without following links?  */
static bool
ahead_wanted (void)
{
  return (format_needs_stat && dereference != DEREF_ALWAYS && time_type != time_btime
          && !is_smack_enabled ());
}

static unsigned int
ahead_mask (void)
{
  return AHEAD_MASK | (format == long_format ? SYSCRIPT_NO_ACL | SYSCRIPT_NO_LABEL : 0);
}

#endif

#include "ahead-dir.h"

#ifdef AHEAD_HERE

static bool
ahead_lacks (unsigned int what)
{
  return ahead.entry && ahead.entry->stat.mask & what;
}

static bool
ahead_lacks_acl (void)
{
  return ahead_lacks (SYSCRIPT_NO_ACL);
}

static bool
ahead_lacks_label (void)
{
  return ahead_lacks (SYSCRIPT_NO_LABEL);
}

#endif
