/* SPDX-License-Identifier: GPL-3.0-or-later OR MIT */
/*
 * For programs that look at many files: libsyscript's functions, loaded when a program
 * has seen many files and scripts run in the kernel.  Else nothing changes.
 */
#ifndef AHEAD_H
#define AHEAD_H

#ifdef __has_include
# if __has_include (<syscript_files.h>)
#  define AHEAD_HERE 1
# endif
#endif

#ifdef AHEAD_HERE

# include <dirent.h>
# include <dlfcn.h>
# include <errno.h>
# include <stdbool.h>
# include <stddef.h>
# include <stdlib.h>
# include <string.h>
# include <sys/stat.h>
# include <syscript.h>
# include <syscript_files.h>

/* Files seen before the library is loaded, which takes more than it saves for few; bytes
   of a directory's entries.  */
enum { AHEAD_AFTER = 600, AHEAD_ROOM = 1 << 16 };

/* The kernel's STATX_BASIC_STATS. */
enum { AHEAD_MASK = 0x7ff };

/* SYSCRIPT_AHEAD=always in the environment, for tests: with few files, and where scripts run
   in the process.  */
static inline bool
ahead_always (void)
{
  static int wished = -1;
  if (wished < 0)
    {
      char const *wish = getenv ("SYSCRIPT_AHEAD");
      wished = wish && strcmp (wish, "always") == 0;
    }
  return wished;
}

/* The library, if scripts run in the kernel here; or NULL.  */
static inline void *
ahead_library (void)
{
  enum syscript_backend backend = (ahead_always () ? SYSCRIPT_BACKEND_AUTO
                                   : SYSCRIPT_BACKEND_KERNEL);
  int saved_errno = errno;
  void *library = dlopen ("libsyscript.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library)
    {
      int (*probe) (enum syscript_backend)
        = (int (*) (enum syscript_backend)) dlsym (library, "syscript_probe");
      if (!probe || probe (backend) != 0)
        library = NULL;
    }
  errno = saved_errno;
  return library;
}

static inline void
ahead_to_stat (struct stat *st, struct syscript_stat const *found)
{
  st->st_dev = found->dev;
  st->st_ino = found->ino;
  st->st_mode = found->mode;
  st->st_nlink = found->nlink;
  st->st_uid = found->uid;
  st->st_gid = found->gid;
  st->st_rdev = found->rdev;
  st->st_size = found->size;
  st->st_blksize = found->blksize;
  st->st_blocks = found->blocks;
  st->st_atim.tv_sec = found->atime.tv_sec;
  st->st_atim.tv_nsec = found->atime.tv_nsec;
  st->st_mtim.tv_sec = found->mtime.tv_sec;
  st->st_mtim.tv_nsec = found->mtime.tv_nsec;
  st->st_ctim.tv_sec = found->ctime.tv_sec;
  st->st_ctim.tv_nsec = found->ctime.tv_nsec;
}

/* What readdir() returns.  The name may be longer than d_name: some file systems have names
   of 255 characters (vfat), or 1,024 bytes (FUSE); but it was in a room of AHEAD_ROOM.  */
union ahead_dirent
{
  struct dirent dirent;
  char bytes[offsetof (struct dirent, d_name) + AHEAD_ROOM];
};

static inline struct dirent *
ahead_to_dirent (union ahead_dirent *to, struct syscript_dirent const *found)
{
  to->dirent.d_ino = found->stat.ino;
  to->dirent.d_type = found->type;
  memcpy (to->bytes + offsetof (struct dirent, d_name), found->name, found->namelen + 1);
  return &to->dirent;
}

#endif /* AHEAD_HERE */
#endif /* AHEAD_H */
