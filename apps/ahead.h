/* SPDX-License-Identifier: GPL-3.0-or-later OR MIT */
/*
 * For programs that get attributes of many files: libsyscript's functions, loaded once a program
 * has seen many files, if scripts run in the kernel. Otherwise nothing changes.
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
# include <fcntl.h>
# include <stdbool.h>
# include <stddef.h>
# include <stdio.h>
# include <stdlib.h>
# include <string.h>
# include <sys/stat.h>
# include <sys/vfs.h>
# include <syscript.h>
# include <syscript_files.h>
# include <unistd.h>

/* Bytes of a directory's entries; descriptors that must be free for the library and, now and then,
   for the program.  */
enum { AHEAD_ROOM = 1 << 16, AHEAD_SPARE = 32 };

/* Instructions to load the library and run its first batch (bench/everyone.py), and instructions
   that each file in a batch saves. The library is loaded if the files known to come pay for it; or
   after so many files (of AHEAD_FILE instructions each, defined by the program) that loading costs
   at most 3 % of their total, whatever comes then.  */
enum { AHEAD_COST = 800000, AHEAD_SAVED = 900, AHEAD_KNOWN = AHEAD_COST / AHEAD_SAVED };
# define AHEAD_AFTER ((size_t) (AHEAD_COST / 3 * 100 / (AHEAD_FILE)))

# define AHEAD_LIBRARY "libsyscript.so.0"
/* Where the library is installed; set by apps/build.mk.  */
# ifndef AHEAD_LIBDIR
#  define AHEAD_LIBDIR "/usr/local/lib"
# endif

/* The kernel's STATX_BASIC_STATS, and those of them that a file system must know. Where it keeps
   no access times (erofs), STATX_ATIME is missing, and the time is the one that stat() gives.  */
enum { AHEAD_MASK = 0x7ff, AHEAD_NEEDED = AHEAD_MASK & ~0x20 };

/* SYSCRIPT_AHEAD=always in the environment, for tests: also with few files, and if scripts run in
   the process.  */
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

/* Does reading ahead pay on the file system of directory FD? Only where the kernel uses names that
   it knows without checking them again, as file systems do that no other machine or program
   changes. Elsewhere a batch saves little beside the check, and may ask a server more than the
   program does. On FUSE it pays for a program that makes several calls for each file (SEVERAL). The
   list has the file systems that were measured (apps/tests/filesystems.py).  */
static inline bool
ahead_pays_on (int fd, bool several)
{
  struct statfs fs;
  if (ahead_always ())
    return true;
  int saved_errno = errno;
  int status = fd == AT_FDCWD ? statfs (".", &fs) : fstatfs (fd, &fs);
  errno = saved_errno;
  if (status != 0)
    return false;
  switch ((unsigned long) fs.f_type & 0xffffffff)
    {
    case 0x01021994:  /* tmpfs */
    case 0xef53:      /* ext2, ext3, ext4 */
    case 0x58465342:  /* XFS */
    case 0x9123683e:  /* Btrfs */
    case 0xf2f52010:  /* F2FS */
    case 0x794c7630:  /* overlayfs */
    case 0x73717368:  /* SquashFS */
    case 0xe0f5e1e2:  /* EROFS */
      return true;
    case 0x65735546:  /* FUSE, virtiofs */
      return several;
    default:
      return false;
    }
}

/* The library, once it is in use; and whether it must not be used any more.  */
static void *ahead_loaded;
static bool ahead_over;

/* The library in DIR, an absolute name of LEN bytes, if it belongs to the user or root and no
   other user may write it: by now the current directory may belong to any user. The file that was
   checked is the one loaded.  */
static inline void *
ahead_load_from (char const *dir, size_t len)
{
  char path[4096];
  struct stat st;
  void *library = NULL;
  if (len == 0 || dir[0] != '/' || len + sizeof "/" AHEAD_LIBRARY > sizeof path)
    return NULL;
  memcpy (path, dir, len);
  memcpy (path + len, "/" AHEAD_LIBRARY, sizeof "/" AHEAD_LIBRARY);
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return NULL;
  if (fstat (fd, &st) == 0 && S_ISREG (st.st_mode) && !(st.st_mode & (S_IWGRP | S_IWOTH))
      && (st.st_uid == 0 || st.st_uid == geteuid ()))
    {
      snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
      library = dlopen (path, RTLD_NOW | RTLD_LOCAL);
    }
  close (fd);
  return library;
}

/* Searches like the loader, except in directories relative to the current one.  */
static inline void *
ahead_load_library (void)
{
  char const *dir = secure_getenv ("LD_LIBRARY_PATH");
  void *library = NULL;
  while (dir && *dir && !library)
    {
      size_t len = strcspn (dir, ":;");
      library = ahead_load_from (dir, len);
      dir += len + (dir[len] != '\0');
    }
  return library ? library : ahead_load_from (AHEAD_LIBDIR, sizeof AHEAD_LIBDIR - 1);
}

/* The library, if scripts run in the kernel here; or NULL.  */
static inline void *
ahead_library (void)
{
  enum syscript_backend backend = (ahead_always () ? SYSCRIPT_BACKEND_AUTO
                                   : SYSCRIPT_BACKEND_KERNEL);
  int saved_errno = errno;
  void *library = ahead_load_library ();
  if (library)
    {
      int (*probe) (enum syscript_backend)
        = (int (*) (enum syscript_backend)) dlsym (library, "syscript_probe");
      if (!probe || probe (backend) != 0)
        library = NULL;
    }
  ahead_loaded = library;
  errno = saved_errno;
  return library;
}

/* Frees the library's descriptors for the program when few are left.  */
static inline void
ahead_end (void)
{
  void (*release) (void) = NULL;
  int saved_errno = errno;
  if (ahead_loaded)
    release = (void (*) (void)) dlsym (ahead_loaded, "syscript_release");
  if (release)
    release ();
  ahead_over = true;
  errno = saved_errno;
}

/* After a failed call: should it be repeated, with more descriptors free?  */
static inline bool
ahead_makes_room (void)
{
  if ((errno != EMFILE && errno != ENFILE) || ahead_over || !ahead_loaded)
    return false;
  ahead_end ();
  return true;
}

/* May the library be used, if FD was the lowest free descriptor?  */
static inline bool
ahead_may_use (int fd)
{
  static long most;
  if (most == 0)
    most = sysconf (_SC_OPEN_MAX);
  if (!ahead_over && most > 0 && fd >= most - AHEAD_SPARE)
    ahead_end ();
  return !ahead_over;
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

/* The entry that readdir() returns. The name may be longer than d_name: some file systems have
   names of 255 characters (vfat), or 1,024 bytes (FUSE); but it fitted into AHEAD_ROOM.  */
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

#else

# define ahead_makes_room() false

#endif /* AHEAD_HERE */
#endif /* AHEAD_H */
