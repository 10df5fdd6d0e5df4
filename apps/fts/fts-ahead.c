/* SPDX-License-Identifier: GPL-3.0-or-later OR MIT */
/*
 * For gnulib's fts.c: a directory is read together with its entries' attributes; if they are
 * missing, or may have changed since, many files are looked up at once. Either takes one mode
 * switch (libsyscript).
 *
 * A program sees the same as before, except for attributes that change between reading a directory
 * and reaching the file, as in a walk with a comparison function. So a program must request it
 * (FTS_AHEAD), if it uses every file and its work on one file does not change the attributes of the
 * next. With FTS_NOSTAT it gets attributes if they are available. After a second in other
 * directories, attributes are looked up again. Attributes of directories are never used, because
 * fts_read() compares them with those found inside; nor those of files with several names, which
 * may change through another name. A failed lookup is repeated when the file's turn comes, and
 * reports its error then.
 *
 * Without the library, or the module, nothing changes; nor in a walk of few files, where loading
 * the library would cost more than it saves.
 */
/* Instructions of fstatat(), and of an entry's share of getdents64().  */
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

/* A directory's entry: only the part of struct dirent that fts_build() needs.  */
# define ahead_readdir(sp, dir, names_only) readdir ((dir)->fts_dirp)
# define ahead_begin(sp) ((void) 0)
# define ahead_age(sp) ((void) 0)
# define ahead_built(dir, n) ((void) 0)
# define ahead_more(sp) false
# define ahead_known(sp, p) ((void) 0)
# define alloc_entry(sp, size) malloc (size)
# define free_entry(sp, p) free (p)

#else

# include <stdint.h>
# include <time.h>

/* Files per batch.  */
enum { AHEAD_MOST = 256 };

/* Nanoseconds after which attributes are looked up again.  */
enum { AHEAD_AGE = 1000000000 };

/* Bytes of a reusable entry, whose name is shorter than 32.  */
enum { AHEAD_ENTRY = FLEXSIZEOF (FTSENT, fts_name, 32) };

/* FTSENT.fts_known: the turn in which its attributes were read, 0, or this value.  */
enum { SEVERAL_NAMES = -1 };

typedef int stat_many_fn (int, struct syscript_file *, size_t, unsigned int, int);
typedef ssize_t readdirplus_fn (int, void *, size_t, unsigned int, unsigned int, int *);

/* The library's functions.  */
static stat_many_fn *stat_many;
static readdirplus_fn *readdirplus;

/* The directory's ENTRY is returned as DIRENT. Attributes were read in TURN, which began at BEGAN.
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

/* Does reading ahead pay in this walk, which has reached P or, if NULL, a directory?  */
static bool
pays_ahead (FTS *sp, FTSENT const *p)
{
  return (ISSET (FTS_AHEAD) && !ahead_over
          && (sp->fts_ahead || sp->fts_entries >= AHEAD_AFTER || (p && many_follow (sp, p))
              || ahead_always ()));
}

/* Loads the library at first use. Returns false if it cannot be used, also after a failure.  */
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

/* Are there entries that were read but not yet returned?  */
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

/* A directory was walked: attributes read before it may be old.  */
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

/* Does reading ahead pay in DIR, which is open as FD? Asks once for each device in turn, since
   that may be a server's work.  */
static bool
pays_in (FTSENT const *dir, int fd)
{
  static dev_t asked;
  static bool pays;
  if (asked != dir->fts_statp->st_dev)
    {
      asked = dir->fts_statp->st_dev;
      pays = ahead_pays_on (fd, false);
    }
  return pays;
}

/* May attributes of files in DIR, which is open as FD, be read before their turn? Not for programs
   that act on them (FTS_AHEAD_OWN), if other users can meanwhile replace the files by links.  */
static bool
may_look (FTS const *sp, FTSENT *dir, int fd)
{
  struct stat st;
  if (!pays_in (dir, fd))
    return false;
  if (!ISSET (FTS_AHEAD_OWN))
    return true;
  if (!(dir->fts_flags & (FTS_OWN | FTS_OTHERS)))
    dir->fts_flags |= (fstat (fd, &st) == 0 && st.st_uid == geteuid ()
                       && !(st.st_mode & (S_IWGRP | S_IWOTH)) ? FTS_OWN : FTS_OTHERS);
  return dir->fts_flags & FTS_OWN;
}

/* Reads the next entries of DIR, with attributes or without. Returns false if readdir() must
   continue, which works because the directory's position is the descriptor's.  */
static bool
read_ahead (FTS *sp, FTSENT *dir, bool names_only)
{
  if (!ahead_may_use (dirfd (dir->fts_dirp))
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

/* Like readdir (DIR->fts_dirp), but may skip "." and "..". At the end errno says whether there was
   an error; the library's errno does not count.  */
static struct dirent *
ahead_readdir (FTS *sp, FTSENT *dir, bool names_only)
{
  if (sp->fts_ahead)
    sp->fts_ahead->entry = NULL;
  if (dir->fts_flags & FTS_PLAIN)
    return readdir (dir->fts_dirp);
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

/* P is the entry read last.  */
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

/* Were P's attributes read ahead, and not too long ago?  */
static bool
is_known (FTS const *sp, FTSENT const *p)
{
  return p->fts_known && p->fts_known == sp->fts_ahead->turn;
}

/* The entries from P up to the next directory. Returns their number.  */
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

/* Takes FOUND as P's attributes, if that is allowed: see above. If the file system does not know
   all attributes, it will not know those of the next files either.  */
static void
keep (FTS *sp, FTSENT *p, struct syscript_stat const *found)
{
  struct stat *st = p->fts_statp;
  if ((found->mask & AHEAD_NEEDED) != AHEAD_NEEDED)
    CLR (FTS_AHEAD);
  if (!ISSET (FTS_AHEAD) || S_ISDIR (found->mode))
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

/* N entries of DIR were read.  */
static void
ahead_built (FTSENT *dir, size_t n)
{
  if (n < AHEAD_KNOWN)
    dir->fts_flags |= FTS_FEW;
  else
    dir->fts_flags &= ~FTS_FEW;
}

/* Are there AHEAD_KNOWN files to look up from P on? They are counted once, because files are
   processed in order.  */
static bool
many_follow (FTS *sp, FTSENT const *p)
{
  size_t n = 0;
  if (p->fts_parent->fts_flags & FTS_FEW)
    return false;
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

/* Looks up the attributes of P and of following entries.  */
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

/* The attributes of P, whose turn has come: returns fts_stat (SP, P, false)'s result, or FTS_NSOK
   if they are unknown and FTS_NOSTAT needs none.  */
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

/* A directory's entries are allocated together and freed one by one, which is slow with malloc():
   so they are reused for the next directory.  */
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
