/* SPDX-License-Identifier: GPL-3.0-or-later OR MIT */
/*
 * For gnulib's fts.c: a directory is read with its entries' attributes, and where they
 * were not, or may have changed since, many files are looked up at once: each with one
 * mode switch (libsyscript).
 *
 * A program sees what it saw before, but for attributes that are changed between
 * reading a directory and coming to the file, as in a walk with a comparison function.
 * So a program asks for it (FTS_AHEAD), if it looks at every file, and what it does to one
 * changes nothing that it asks of the next.  With FTS_NOSTAT it gets attributes where they
 * are there.  After a second in other directories, attributes are looked up
 * anew.  Those of directories are never used: fts_read() compares them with
 * what it finds inside; nor those of files with several names, which may change under
 * another.  What fails is looked at again when its turn comes, and gives its error then.
 *
 * Without the library, or the module, nothing changes; nor in a walk of few files, for
 * which loading the library would take more than it saves.
 */
/* Instructions of an entry's share of getdents64(), and of fstatat().  */
#define AHEAD_FILE 4000

#include "ahead.h"

#ifndef AHEAD_HERE

static unsigned short int
stat_ahead (FTS *sp, FTSENT *p)
{
  return (p->fts_statp->st_size == FTS_STAT_REQUIRED
          ? fts_stat (sp, p, false) : FTS_NSOK);
}

static void
free_ahead (FTS *sp)
{
  (void) sp;
}

/* An entry of a directory: what of struct dirent fts_build() wants, and no more.  */
# define ahead_readdir(sp, dir, names_only) readdir ((dir)->fts_dirp)
# define ahead_begin(sp) ((void) 0)
# define ahead_age(sp) ((void) 0)
# define ahead_more(sp) false
# define ahead_known(sp, p) ((void) 0)
# define alloc_entry(sp, size) malloc (size)
# define free_entry(sp, p) free (p)

#else

# include <stdint.h>
# include <time.h>

/* Files of a batch.  */
enum { AHEAD_MOST = 256 };

/* Nanoseconds after which attributes are looked up anew.  */
enum { AHEAD_AGE = 1000000000 };

/* Bytes of an entry that is used again, which has a name of less than 32.  */
enum { AHEAD_ENTRY = FLEXSIZEOF (FTSENT, fts_name, 32) };

/* FTSENT.fts_known: the turn in which its attributes were read, or 0, or this.  */
enum { SEVERAL_NAMES = -1 };

typedef int stat_many_fn (int, struct syscript_file *, size_t, unsigned int, int);
typedef ssize_t readdirplus_fn (int, void *, size_t, unsigned int, unsigned int, int *);

/* The library's functions.  */
static stat_many_fn *stat_many;
static readdirplus_fn *readdirplus;

/* ENTRY of a directory is returned as DIRENT.  Attributes are of TURN, which BEGAN then.
   SPARE entries of AHEAD_ENTRY bytes are linked by fts_link.  */
struct ahead
{
  struct syscript_file file[AHEAD_MOST];
  struct syscript_stat stat[AHEAD_MOST];
  FTSENT *of_file[AHEAD_MOST];
  uint64_t room[AHEAD_ROOM / sizeof (uint64_t)];
  size_t at, end;
  struct syscript_dirent const *entry;
  union ahead_dirent dirent;
  int turn;
  struct timespec began;
  FTSENT *spare;
};

/* Do scripts run in the kernel here?  */
static bool
find_library (void)
{
  void *library = ahead_library ();
  if (library)
    {
      stat_many = (stat_many_fn *) dlsym (library, "syscript_stat_many");
      readdirplus = (readdirplus_fn *) dlsym (library, "syscript_readdirplus");
    }
  return stat_many && readdirplus;
}

static bool many_follow (FTS *, FTSENT const *);

/* Does looking ahead pay in this walk, which has come to P or, with NULL, to a directory?  */
static bool
pays_ahead (FTS *sp, FTSENT const *p)
{
  return (ISSET (FTS_AHEAD) && !ahead_over
          && (sp->fts_ahead || sp->fts_entries >= AHEAD_AFTER || (p && many_follow (sp, p))
              || ahead_always ()));
}

/* Loads the library, at first.  Returns false if it cannot be used; nor is it after it has
   failed.  */
static bool
looks_ahead (FTS *sp)
{
  if (!sp->fts_ahead)
    {
      bool able = (ISSET (FTS_CWDFD) && ISSET (FTS_PHYSICAL)
                   && !ISSET (FTS_NOCHDIR) && !ISSET (FTS_SEEDOT)
                   && find_library ());
      sp->fts_ahead = able ? malloc (sizeof *sp->fts_ahead) : NULL;
      if (!sp->fts_ahead)
        {
          CLR (FTS_AHEAD);
          return false;
        }
      sp->fts_ahead->at = sp->fts_ahead->end = 0;
      sp->fts_ahead->entry = NULL;
      sp->fts_ahead->turn = 1;
      sp->fts_ahead->spare = NULL;
      clock_gettime (CLOCK_MONOTONIC_COARSE, &sp->fts_ahead->began);
    }
  return true;
}

/* -- Reading directories --------------------------------------------------- */

/* Are there entries that were read and not returned?  */
static bool
ahead_more (FTS *sp)
{
  return sp->fts_ahead && sp->fts_ahead->at < sp->fts_ahead->end;
}

/* A directory is opened.  */
static void
ahead_begin (FTS *sp)
{
  if (sp->fts_ahead)
    sp->fts_ahead->at = sp->fts_ahead->end = 0;
}

/* A directory was gone through: what was read before it may be of some time ago.  */
static void
ahead_age (FTS *sp)
{
  struct ahead *ahead = sp->fts_ahead;
  struct timespec now;
  if (!ahead)
    return;
  clock_gettime (CLOCK_MONOTONIC_COARSE, &now);
  if ((now.tv_sec - ahead->began.tv_sec) * 1000000000LL
      + now.tv_nsec - ahead->began.tv_nsec > AHEAD_AGE)
    {
      ahead->began = now;
      ahead->turn++;
    }
}

/* May files in DIR, which is open as FD, be looked at some time before their turn?  Those
   who act on what they see (FTS_AHEAD_OWN) may not do so where others can meanwhile put
   links to something else in the files' place.  */
static bool
may_look (FTS const *sp, FTSENT *dir, int fd)
{
  struct stat st;
  if (!ISSET (FTS_AHEAD_OWN))
    return true;
  if (!(dir->fts_flags & (FTS_OWN | FTS_OTHERS)))
    dir->fts_flags |= (fstat (fd, &st) == 0 && st.st_uid == geteuid ()
                       && !(st.st_mode & (S_IWGRP | S_IWOTH)) ? FTS_OWN : FTS_OTHERS);
  return dir->fts_flags & FTS_OWN;
}

/* The next entries of DIR, with attributes or without.  Returns false if readdir() has
   to go on, which it can: the directory's position is the descriptor's.  */
static bool
read_ahead (FTS *sp, FTSENT *dir, bool names_only)
{
  if (dir->fts_flags & FTS_PLAIN || !ahead_may_use (dirfd (dir->fts_dirp))
      || !pays_ahead (sp, NULL) || !may_look (sp, dir, dirfd (dir->fts_dirp))
      || !looks_ahead (sp))
    return false;
  struct ahead *ahead = sp->fts_ahead;
  ssize_t n = readdirplus (dirfd (dir->fts_dirp), ahead->room, sizeof ahead->room,
                           names_only ? 0 : AHEAD_MASK, 0, NULL);
  if (n < 0)
    {
      CLR (FTS_AHEAD);
      return false;
    }
  ahead->at = 0;
  ahead->end = n;
  return true;
}

/* As readdir (DIR->fts_dirp), but for "." and "..", which may be left out.  At the end
   errno says whether there was an error: what the library left there is none.  */
static struct dirent *
ahead_readdir (FTS *sp, FTSENT *dir, bool names_only)
{
  if (sp->fts_ahead)
    sp->fts_ahead->entry = NULL;
  if (!ahead_more (sp) && !read_ahead (sp, dir, names_only))
    {
      dir->fts_flags |= FTS_PLAIN;
      errno = 0;
      return readdir (dir->fts_dirp);
    }
  struct ahead *ahead = sp->fts_ahead;
  if (ahead->at == ahead->end)
    {
      errno = 0;
      return NULL;
    }
  ahead->entry = (void *) ((char *) ahead->room + ahead->at);
  ahead->at += ahead->entry->reclen;
  return ahead_to_dirent (&ahead->dirent, ahead->entry);
}

static void keep (FTS *, FTSENT *, struct syscript_stat const *);

/* P is the entry that was read last.  */
static void
ahead_known (FTS *sp, FTSENT *p)
{
  struct ahead *ahead = sp->fts_ahead;
  if (ahead && ahead->entry && !ahead->entry->error && p->fts_info == FTS_NSOK)
    keep (sp, p, &ahead->entry->stat);
}

/* -- Looking up files ------------------------------------------------------ */

/* Will the program use P, which is neither a directory nor a file with several names?  */
static bool
is_file_to_stat (FTSENT const *p)
{
  return (p->fts_info == FTS_NSOK && p->fts_known != SEVERAL_NAMES
          && p->fts_statp->st_mode != 0
          && !S_ISDIR (p->fts_statp->st_mode)
          && (p->fts_instr == 0 || p->fts_instr == FTS_NOINSTR));
}

/* Are P's attributes those that were read ahead, and not too long ago?  */
static bool
is_known (FTS const *sp, FTSENT const *p)
{
  return p->fts_known && p->fts_known == sp->fts_ahead->turn;
}

/* The entries from P on, up to the next directory.  Returns how many.  */
static size_t
gather (FTS *sp, FTSENT *p)
{
  struct ahead *ahead = sp->fts_ahead;
  size_t n = 0;
  for (; p && n < AHEAD_MOST && is_file_to_stat (p) && !is_known (sp, p);
       p = p->fts_link)
    {
      ahead->of_file[n] = p;
      ahead->file[n] = (struct syscript_file)
        {
          .path = (uintptr_t) p->fts_name, .data = (uintptr_t) &ahead->stat[n]
        };
      n++;
    }
  return n;
}

/* Takes FOUND as P's attributes, if they may be: see above.  */
static void
keep (FTS *sp, FTSENT *p, struct syscript_stat const *found)
{
  struct stat *st = p->fts_statp;
  if ((found->mask & AHEAD_MASK) != AHEAD_MASK || S_ISDIR (found->mode))
    return;
  if (found->nlink != 1)
    {
      st->st_size = FTS_STAT_REQUIRED;
      p->fts_known = SEVERAL_NAMES;
      return;
    }
  ahead_to_stat (st, found);
  p->fts_known = sp->fts_ahead->turn;
}

/* Are AHEAD_KNOWN files to be looked up from P on?  They are counted once, since files are
   taken in their order.  */
static bool
many_follow (FTS *sp, FTSENT const *p)
{
  size_t n = 0;
  if (sp->fts_counted > 0)
    {
      sp->fts_counted--;
      return false;
    }
  for (; p && n < AHEAD_KNOWN && is_file_to_stat (p); p = p->fts_link)
    n++;
  sp->fts_counted = n > 0 ? n - 1 : 0;
  return n == AHEAD_KNOWN;
}

/* Looks up the attributes of P and of what follows it.  */
static void
look_ahead (FTS *sp, FTSENT *p)
{
  struct ahead *ahead = sp->fts_ahead;
  size_t n = gather (sp, p);
  if (n < 2)
    return;
  if (stat_many (sp->fts_cwd_fd, ahead->file, n, AHEAD_MASK, AT_SYMLINK_NOFOLLOW) != 0)
    {
      CLR (FTS_AHEAD);
      return;
    }
  for (size_t i = 0; i < n; i++)
    if (ahead->file[i].result == 0)
      keep (sp, ahead->of_file[i], &ahead->stat[i]);
}

/* The attributes of P, whose turn has come: what fts_stat (SP, P, false) returns, or
   FTS_NSOK if there are none and FTS_NOSTAT asks for none.  */
static unsigned short int
stat_ahead (FTS *sp, FTSENT *p)
{
  bool required = (p->fts_known ? !ISSET (FTS_NOSTAT)
                   : p->fts_statp->st_size == FTS_STAT_REQUIRED);
  if (!is_known (sp, p) && p->fts_level > FTS_ROOTLEVEL
      && pays_ahead (sp, p) && is_file_to_stat (p)
      && may_look (sp, p->fts_parent, sp->fts_cwd_fd) && looks_ahead (sp))
    look_ahead (sp, p);
  if (!is_known (sp, p))
    return required ? fts_stat (sp, p, false) : FTS_NSOK;
  return (S_ISLNK (p->fts_statp->st_mode) ? FTS_SL
          : S_ISREG (p->fts_statp->st_mode) ? FTS_F : FTS_DEFAULT);
}

/* -- Entries --------------------------------------------------------------- */

/* The entries of a directory are allocated together and freed one by one, which malloc()
   is slow at: so they are used for those of the next.  */
static FTSENT *
alloc_entry (FTS *sp, size_t size)
{
  FTSENT *p = sp->fts_ahead ? sp->fts_ahead->spare : NULL;
  if (size > AHEAD_ENTRY)
    return malloc (size);
  if (!p)
    return malloc (AHEAD_ENTRY);
  sp->fts_ahead->spare = p->fts_link;
  return p;
}

static void
free_entry (FTS *sp, FTSENT *p)
{
  if (sp->fts_ahead && FLEXSIZEOF (FTSENT, fts_name, p->fts_namelen + 1) <= AHEAD_ENTRY)
    {
      p->fts_link = sp->fts_ahead->spare;
      sp->fts_ahead->spare = p;
    }
  else
    free (p);
}

static void
free_ahead (FTS *sp)
{
  FTSENT *p;
  while (sp->fts_ahead && (p = sp->fts_ahead->spare))
    {
      sp->fts_ahead->spare = p->fts_link;
      free (p);
    }
  free (sp->fts_ahead);
}

#endif
