/* SPDX-License-Identifier: GPL-3.0-or-later OR MIT */
/*
 * For programs that read directories and get each entry's attributes: directories are read together
 * with the attributes (libsyscript). Included by one file of a program, which first defines whether
 * it wants that, and which attributes it needs:
 *
 *   static bool ahead_wanted (void);
 *   static unsigned int ahead_mask (void);
 *
 * For an entry with an error the program makes its own calls.
 */
#include "ahead.h"

#ifndef AHEAD_HERE

# define ahead_readdir(dirp) readdir (dirp)
# define ahead_knows(st) false

#else

# include <stdint.h>
# include <time.h>
# include <unistd.h>

typedef ssize_t ahead_readdirplus (int, void *, size_t, unsigned int, unsigned int, int *);

/* ENTRY is the current entry, returned as DIRENT, if it has attributes; ROOM was filled at
   READ_AT.  */
static struct
{
  size_t seen;
  bool unable;
  ahead_readdirplus *read;
  DIR *directory;
  uint64_t room[AHEAD_ROOM / sizeof (uint64_t)];
  size_t at, end;
  struct timespec read_at;
  struct syscript_dirent const *entry;
  union ahead_dirent dirent;
} ahead;

/* Decides once, by the file system of FD, for all of the program's directories.  */
static bool
ahead_load (int fd)
{
  if (!ahead.read && !ahead.unable)
    {
      bool several = ahead_mask () & ~AHEAD_MASK;
      void *library = ahead_wanted () && ahead_pays_on (fd, several) ? ahead_library () : NULL;
      if (library)
        ahead.read = (ahead_readdirplus *) dlsym (library, "syscript_readdirplus");
      ahead.unable = !ahead.read;
    }
  return !ahead.unable;
}

/* Reads on from readdir()'s position in DIRP.  */
static bool
ahead_begin (DIR *dirp)
{
  if (ahead.seen < AHEAD_AFTER && !ahead_always ())
    return false;
  if (!ahead_may_use (dirfd (dirp)) || !ahead_load (dirfd (dirp)))
    return false;
  off_t at = telldir (dirp);
  if (lseek (dirfd (dirp), at, SEEK_SET) != at)
    {
      ahead.unable = true;
      return false;
    }
  /* Forgets entries that were read after it.  */
  seekdir (dirp, at);
  ahead.directory = dirp;
  ahead.at = ahead.end = 0;
  return true;
}

/* Returns false if readdir() must continue, which works because the directory's position is the
   descriptor's.  */
static bool
ahead_fill (DIR *dirp)
{
  clock_gettime (CLOCK_MONOTONIC_COARSE, &ahead.read_at);
  ssize_t n = (ahead_over ? -1
               : ahead.read (dirfd (dirp), ahead.room, sizeof ahead.room, ahead_mask (),
                             SYSCRIPT_DOTS, NULL));
  if (n < 0)
    {
      ahead.unable = true;
      ahead.directory = NULL;
      return false;
    }
  ahead.at = 0;
  ahead.end = n;
  return true;
}

/* Like readdir (DIRP), for a directory that is read to its end.  */
static struct dirent *
ahead_readdir (DIR *dirp)
{
  ahead.entry = NULL;
  ahead.seen++;
  if (ahead.unable
      || (ahead.directory != dirp && !ahead_begin (dirp))
      || (ahead.at == ahead.end && !ahead_fill (dirp)))
    {
      /* An errno left by the library is not an error of the directory.  */
      errno = 0;
      return readdir (dirp);
    }
  if (ahead.at == ahead.end)
    {
      ahead.directory = NULL;
      errno = 0;
      return NULL;
    }
  ahead.entry = (void *) ((char *) ahead.room + ahead.at);
  ahead.at += ahead.entry->reclen;
  return ahead_to_dirent (&ahead.dirent, ahead.entry);
}

/* If the entry's attributes are known, stores them in ST.  */
static bool
ahead_knows (struct stat *st)
{
  if (!ahead.entry || ahead.entry->error
      || (ahead.entry->stat.mask & AHEAD_NEEDED) != AHEAD_NEEDED)
    return false;
  ahead_to_stat (st, &ahead.entry->stat);
  return true;
}

#endif
