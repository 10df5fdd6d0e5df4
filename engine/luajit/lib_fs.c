/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * fs: batches of files and of directory entries. A function does for each what the plain system
 * call does, without a system call each, and without resolving a directory's path for each of its
 * entries.
 *
 * Functions return errors as -errno. LuaJIT does not record them, because one call does the work
 * of many.
 */
#define lib_fs_c
#define LUA_LIB

#include <errno.h>

#include "lua.h"
#include "lauxlib.h"
#include "lualib.h"

#include "lj_obj.h"
#include "lj_gc.h"
#include "lj_err.h"
#include "lj_str.h"
#include "lj_tab.h"
#include "lj_lib.h"

#include "lib.h"
#include "fs/files.h"
#include "fs/readdirplus.h"
#include "../../include/uapi/syscript_files.h"

/* <linux/stat.h> and <fcntl.h> conflict with other headers in one of the two builds. */
enum {
#define CONSTANT(name, value)	C_##name = (value),
#include "constants.inc"
};

enum {
#define SYSCALL(name, kinds, flags)	CALL_##name,
#include "syscalls.def"
};

#include "fs/columns.h"

static LJ_AINLINE long call3(lua_State *L, int index, long a, long b, long c)
{
  return run_thunks[index](G2RUN(G(L)), a, b, c, 0, 0, 0);
}

static int optbool(lua_State *L, int narg)
{
  TValue *o = L->base + narg-1;
  return o < L->top && tvistruecond(o);
}

/* -- Directories ----------------------------------------------------------- */

/* Reads the next batch.  Does not return in a script that has to end. */
static long readbatch(lua_State *L, struct readdirplus *dir)
{
  return vm_called(L, readdirplus(G2RUN(G(L)), dir));
}

/* Gets the attributes of "." or "..", by name. */
static int statdot(lua_State *L, const struct readdirplus *dir,
		   struct syscript_dirent *entry)
{
  struct run *run = G2RUN(G(L));
  unsigned long scratch = vm_scratch(L);
  unsigned long at = scratch + SCRATCH_SIZE - VM_SCRATCH_STRINGS;
  struct syscript_file file = { at + sizeof(file), at + sizeof(file) + 8, 0, 0 };
  struct files_request files = { FILES_STAT, dir->fd, at, 1, C_AT_SYMLINK_NOFOLLOW, 0,
			    dir->mask };
  long ret;
  if (!scratch || usermem_copy_out(run, at, &file, sizeof(file)) ||
      usermem_copy_out(run, file.path, entry->name, entry->namelen + 1u))
    return -ENOMEM;
  ret = vm_called(L, files_batch(run, &files));
  if (ret < 0 || usermem_copy_in(run, &file, at, sizeof(file)))
    return ret < 0 ? (int)ret : -EFAULT;
  if (file.result < 0)
    return (int)file.result;
  return usermem_copy_in(run, &entry->stat, file.data, sizeof(entry->stat));
}

static void statdots(lua_State *L, const struct readdirplus *dir)
{
  char *p = dir->records, *end = p + dir->used;
  while (p < end) {
    struct syscript_dirent *entry = (struct syscript_dirent *)(void *)p;
    if (entry->name[0] == '.' && (entry->namelen == 1 ||
	(entry->namelen == 2 && entry->name[1] == '.')))
      entry->error = statdot(L, dir, entry);
    p += entry->reclen;
  }
}

#define LJLIB_MODULE_fs

/* fs.readdirplus(fd, addr, size [, mask [, dots]]) -> n, bytes, end */
LJLIB_CF(fs_readdirplus)
{
  struct readdirplus dir = { 0 };
  unsigned long addr, size, used = 0;
  long n = 0, ret = 0;
  dir.fd = (int)vm_checkint(L, 1);
  addr = (unsigned long)vm_checkint(L, 2);
  size = (unsigned long)vm_checkint(L, 3);
  dir.mask = (unsigned int)vm_optint(L, 4, C_STATX_ALL);
  dir.flags = optbool(L, 5) ? SYSCRIPT_DOTS : 0;
  dir.max = ~0u;
  if ((long)size < 0)
    lj_err_arg(L, 3, LJ_ERR_NUMRNG);
  do {
    dir.room = size - used;
    ret = readbatch(L, &dir);
    if (ret < 0)
      break;
    if (dir.flags && dir.mask)
      statdots(L, &dir);
    if (usermem_copy_out(G2RUN(G(L)), addr + used, dir.records, dir.used)) {
      ret = -EFAULT;
      /* Entries that cannot be read again would be lost, so the error is reported. */
      if (call3(L, CALL_lseek, dir.fd, dir.start, 0) < 0)
	n = 0;
      dir.end = 0;
      break;
    }
    used += dir.used;
    n += dir.n;
  } while (!dir.end && dir.n);
  /* Entries before an error are valid; the next call gets the error again. */
  setnumV(L->top, (double)(n ? n : ret));
  setnumV(L->top+1, (double)used);
  setboolV(L->top+2, dir.end);
  L->top += 3;
  return 3;
}

/* fs.stat_entries(fd, addr, size, names, bytes [, mask]) -> n, bytes, taken */
LJLIB_CF(fs_stat_entries)
{
  struct readdirplus dir = { 0 };
  unsigned long addr;
  long ret;
  dir.fd = (int)vm_checkint(L, 1);
  addr = (unsigned long)vm_checkint(L, 2);
  dir.room = (unsigned long)vm_checkint(L, 3);
  dir.names = (unsigned long)vm_checkint(L, 4);
  dir.names_len = (unsigned long)vm_checkint(L, 5);
  dir.mask = (unsigned int)vm_optint(L, 6, C_STATX_ALL);
  dir.max = ~0u;
  if ((long)dir.room < 0)
    lj_err_arg(L, 3, LJ_ERR_NUMRNG);
  if ((long)dir.names_len < 0)
    lj_err_arg(L, 5, LJ_ERR_NUMRNG);
  ret = dir.names ? readbatch(L, &dir) : -EFAULT;
  if (ret >= 0 && usermem_copy_out(G2RUN(G(L)), addr, dir.records, dir.used))
    ret = -EFAULT;
  setnumV(L->top, (double)(ret < 0 ? ret : (long)dir.n));
  setnumV(L->top+1, ret < 0 ? 0.0 : (double)dir.used);
  setnumV(L->top+2, ret < 0 ? 0.0 : (double)dir.taken);
  L->top += 3;
  return 3;
}

enum {
#define FIELD_ENUM(name, mask, value)	FIELD_##name,
  COLUMNS(FIELD_ENUM)
  FIELD__MAX
};

static const struct { const char *name; unsigned int mask; } fields[] = {
#define FIELD_ROW(name, mask, value)	{ #name, mask },
  COLUMNS(FIELD_ROW)
};

/* Fills a column with one field of all entries of a batch. */
static void column(const struct readdirplus *dir, int field, TValue *to)
{
  const char *p = dir->records, *end = p + dir->used;
#define FIELD_CASE(name, mask, value) \
  case FIELD_##name: \
    for (; p < end; p += column_entry(p)->reclen) { \
      const struct syscript_dirent *entry = column_entry(p); \
      setnumV(to++, (double)(value)); \
    } \
    break;
  switch (field) {
  COLUMNS(FIELD_CASE)
  }
}

/* Fills a column with names; with directories' names only, false for the others. */
static void namecolumn(lua_State *L, const struct readdirplus *dir, GCtab *t,
		       int dirsonly)
{
  const char *p = dir->records, *end = p + dir->used;
  TValue *to = arrayslot(t, 1);
  for (; p < end; p += column_entry(p)->reclen, to++) {
    const struct syscript_dirent *entry = column_entry(p);
    if (dirsonly && !column_isdir(entry))
      setboolV(to, 0);
    else
      setstrV(L, to, lj_str_new(L, entry->name, entry->namelen));
  }
  lj_gc_anybarriert(L, t);
}

/* The columns that fs.entries() fills, by their tables. */
struct columns {
  GCtab *of[FIELD__MAX], *names, *dirs;
  unsigned int mask;
};

/* The address of a column's table, or NULL if there is no such column. */
static GCtab **columnof(struct columns *c, const char *name)
{
  int i;
  for (i = 0; i < FIELD__MAX; i++)
    if (!strcmp(name, fields[i].name)) {
      c->mask |= fields[i].mask;
      return &c->of[i];
    }
  if (!strcmp(name, "name"))
    return &c->names;
  return strcmp(name, "dirname") ? NULL : &c->dirs;
}

static LJ_NOINLINE void badcolumn(lua_State *L, cTValue *key)
{
  if (!key || !tvisstr(key))
    luaL_error(L, "columns are named: { name = {}, size = {} }");
  luaL_error(L, "a directory entry has no column '%s'", strVdata(key));
}

/* Scripts ask for few columns, so each name is compared with all fields. */
static void getcolumns(lua_State *L, GCtab *t, struct columns *c)
{
  Node *node = noderef(t->node), *end = node + t->hmask;
  GCtab **to;
  MSize i;
  memset(c, 0, sizeof(*c));
  for (i = 0; i < t->asize; i++)
    if (!tvisnil(arrayslot(t, i)))
      badcolumn(L, NULL);
  for (; node <= end; node++) {
    if (tvisnil(&node->val))
      continue;
    to = tvisstr(&node->key) ? columnof(c, strVdata(&node->key)) : NULL;
    if (!to)
      badcolumn(L, &node->key);
    if (!tvistab(&node->val))
      luaL_error(L, "column '%s' is not a table", strVdata(&node->key));
    *to = tabV(&node->val);
  }
}

/* Room for elements [1..n] of a table's array. */
static TValue *roomfor(lua_State *L, GCtab *t, unsigned int n)
{
  if (t->asize <= n)
    lj_tab_reasize(L, t, n);
  return arrayslot(t, 1);
}

static void fillcolumns(lua_State *L, const struct readdirplus *dir,
			const struct columns *c)
{
  int i;
  for (i = 0; i < FIELD__MAX; i++)
    if (c->of[i])
      column(dir, i, roomfor(L, c->of[i], dir->n));
  if (c->names) {
    roomfor(L, c->names, dir->n);
    namecolumn(L, dir, c->names, 0);
  }
  if (c->dirs) {
    roomfor(L, c->dirs, dir->n);
    namecolumn(L, dir, c->dirs, 1);
  }
}

/* fs.entries(fd, columns [, max]) -> n, end */
LJLIB_CF(fs_entries)
{
  struct readdirplus dir = { 0 };
  struct columns columns;
  long ret, max;
  getcolumns(L, lj_lib_checktab(L, 2), &columns);
  dir.fd = (int)vm_checkint(L, 1);
  max = vm_optint(L, 3, READDIRPLUS_ROOM);
  if (max < 1)
    lj_err_arg(L, 3, LJ_ERR_NUMRNG);
  dir.max = max > READDIRPLUS_ROOM ? READDIRPLUS_ROOM : (unsigned int)max;
  dir.room = READDIRPLUS_ROOM;
  dir.mask = columns.mask;
  ret = readbatch(L, &dir);
  if (ret >= 0) {
    fillcolumns(L, &dir, &columns);
    ret = dir.n;
  }
  setnumV(L->top, (double)ret);
  setboolV(L->top+1, dir.end);
  L->top += 2;
  lj_gc_check(L);
  return 2;
}

/*
** Positions are strings: file systems use all of their 63 bits, which is more
** than a number has.
*/

/* fs.tell(fd) -> position or -errno */
LJLIB_CF(fs_tell)
{
  long pos = call3(L, CALL_lseek, vm_checkint(L, 1), 0, 1);
  if (pos < 0)
    setnumV(L->top++, (double)pos);
  else
    lua_pushlstring(L, (const char *)&pos, sizeof(pos));
  return 1;
}

/* fs.seek(fd, position) -> 0 or -errno */
LJLIB_CF(fs_seek)
{
  long fd = vm_checkint(L, 1), pos;
  GCstr *s = lj_lib_checkstr(L, 2);
  if (s->len != sizeof(pos))
    lj_err_arg(L, 2, LJ_ERR_INVFMT);
  memcpy(&pos, strdata(s), sizeof(pos));
  pos = call3(L, CALL_lseek, fd, pos, 0);
  setnumV(L->top++, pos < 0 ? (double)pos : 0);
  return 1;
}

/* -- Files ----------------------------------------------------------------- */

/* (dirfd, files, n, flags, mode, mask) -> number of files done */
static int dofiles(lua_State *L, enum files_op op, const long *opt)
{
  struct files_request files;
  long n = vm_checkint(L, 3);
  files.op = op;
  files.dirfd = (int)vm_checkint(L, 1);
  files.addr = (unsigned long)vm_checkint(L, 2);
  if (n < 0 || n > 0x7fffffff)
    lj_err_arg(L, 3, LJ_ERR_NUMRNG);
  files.n = (unsigned int)n;
  files.flags = (int)opt[0];
  files.mode = (unsigned int)opt[1];
  files.mask = (unsigned int)opt[2];
  setnumV(L->top++, (double)vm_called(L, files_batch(G2RUN(G(L)), &files)));
  return 1;
}

/* fs.stat_files(dirfd, files, n [, mask [, flags]]) -> n */
LJLIB_CF(fs_stat_files)
{
  long opt[3] = { vm_optint(L, 5, 0), 0, vm_optint(L, 4, C_STATX_ALL) };
  if (opt[0] & ~(long)C_AT_SYMLINK_NOFOLLOW)
    lj_err_arg(L, 5, LJ_ERR_NUMRNG);
  return dofiles(L, FILES_STAT, opt);
}

/* fs.read_files(dirfd, files, n [, flags]) -> n */
LJLIB_CF(fs_read_files)
{
  long opt[3] = { vm_optint(L, 4, 0), 0, 0 };
  return dofiles(L, FILES_READ, opt);
}

/* fs.read_file(dirfd, path, addr, size [, flags]) -> n, total */
LJLIB_CF(fs_read_file)
{
  struct files_reading file;
  long n;
  file.dirfd = (int)vm_checkint(L, 1);
  file.path = (unsigned long)vm_checkint(L, 2);
  file.addr = (unsigned long)vm_checkint(L, 3);
  file.size = (unsigned long)vm_checkint(L, 4);
  file.flags = (int)vm_optint(L, 5, 0);
  n = vm_called(L, files_read(G2RUN(G(L)), &file));
  setnumV(L->top++, (double)n);
  if (n < 0)
    return 1;
  setnumV(L->top++, (double)file.total);
  return 2;
}

/* fs.write_files(dirfd, files, n, flags [, mode]) -> n */
LJLIB_CF(fs_write_files)
{
  long opt[3] = { vm_checkint(L, 4), vm_optint(L, 5, 0666), 0 };
  return dofiles(L, FILES_WRITE, opt);
}

/* fs.open_files(dirfd, files, n, flags [, mode [, mask]]) -> n */
LJLIB_CF(fs_open_files)
{
  long opt[3] = { vm_checkint(L, 4), vm_optint(L, 5, 0666), vm_optint(L, 6, C_STATX_ALL) };
  return dofiles(L, FILES_OPEN, opt);
}

#include "lj_libdef.h"

void vm_open_fs(lua_State *L)
{
  LJ_LIB_REG(L, "fs", fs);
  L->top--;
}
