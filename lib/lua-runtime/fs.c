// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * fs: batches of files and of directory entries, as for LuaJIT (engine/luajit/lib_fs.c).
 * The engine's batches do the work (IMAGE_CALL_BATCH); records come to memory of the
 * arena, where they are only read.
 */
#include "../../include/uapi/syscript_files.h"
#include "../../kernel/fs/readdirplus.h"
#include "../../kernel/syscalls_nr.h"

/* The headers of C and of the kernel do not go together. */
enum {
#define CONSTANT(name, value)	C_##name = (value),
#include "constants.inc"
};

#include "../../kernel/fs/columns.h"

static long opt_long(lua_State *L, int i, long otherwise)
{
	return lua_isnoneornil(L, i) ? otherwise : check_long(L, i);
}

/* -- Directories --------------------------------------------------------------------- */

/* Room for the records of a batch, which are of use until the next one. */
static char *records;

static char *records_room(lua_State *L)
{
	if (!records)
		records = runtime_alloc(NULL, NULL, 0, READDIRPLUS_ROOM);
	if (!records)
		luaD_throw(L, LUA_ERRMEM);
	return records;
}

static long read_entries(struct image_batch_entries *dir)
{
	return runtime_batch(IMAGE_BATCH_ENTRIES, dir);
}

static void go_back(const struct image_batch_entries *dir)
{
	const long args[6] = { dir->fd, dir->start, C_SEEK_SET };

	runtime_syscall(__NR_lseek, args);
}

static bool is_dot(const struct syscript_dirent *entry)
{
	return entry->name[0] == '.' &&
	       (entry->namelen == 1 || (entry->namelen == 2 && entry->name[1] == '.'));
}

/* Attributes of "." or "..": as of any file, by its name. */
static int stat_dot(const struct image_batch_entries *dir, struct syscript_dirent *entry)
{
	struct syscript_file file = { (unsigned long)entry->name, (unsigned long)&entry->stat };
	struct image_batch_files files = {
		.files = (unsigned long)&file, .n = 1, .dirfd = dir->fd,
		.flags = C_AT_SYMLINK_NOFOLLOW, .mask = dir->mask,
	};
	long ret = runtime_batch(IMAGE_BATCH_STAT, &files);

	return ret < 0 ? ret : file.result;
}

static long stat_dots(const struct image_batch_entries *dir, unsigned long to)
{
	char *p = (char *)dir->to, *end = p + dir->used;
	struct image_batch_copy copy = { dir->to, to, dir->used };

	for (; p < end; p += column_entry(p)->reclen) {
		struct syscript_dirent *entry = (struct syscript_dirent *)p;

		if (is_dot(entry))
			entry->error = stat_dot(dir, entry);
	}
	return runtime_batch(IMAGE_BATCH_COPY_OUT, &copy);
}

/* The next batch, with its records at @to. */
static long entries_to(lua_State *L, struct image_batch_entries *dir, unsigned long to)
{
	bool dots = dir->flags && dir->mask;
	long ret;

	dir->to = dots ? (unsigned long)records_room(L) : to;
	dir->start = 0;
	ret = read_entries(dir);
	if (!ret && dots)
		ret = stat_dots(dir, to);
	return ret;
}

static int push_entries(lua_State *L, long n, unsigned long bytes)
{
	push_long(L, n);
	push_long(L, (long)bytes);
	return 2;
}

/* fs.readdirplus(fd, addr, size [, mask [, dots]]) -> n, bytes, end */
static int fs_readdirplus(lua_State *L)
{
	struct image_batch_entries dir = {
		.fd = (int)check_long(L, 1),
		.mask = (unsigned int)opt_long(L, 4, C_STATX_ALL),
		.flags = lua_toboolean(L, 5) ? SYSCRIPT_DOTS : 0, .max = ~0U,
	};
	unsigned long address = check_long(L, 2), used = 0;
	long size = check_long(L, 3), n = 0, ret;

	luaL_argcheck(L, size >= 0, 3, "number out of range");
	do {
		dir.n = dir.end = 0;
		dir.room = size - used;
		ret = entries_to(L, &dir, address + used);
		if (ret < 0)
			break;
		used += dir.used;
		n += dir.n;
	} while (!dir.end && dir.n);
	if (ret == -EFAULT && dir.n) {
		go_back(&dir);
		dir.end = 0;
	}
	/* Entries before an error are valid; the next call gets the error again. */
	push_entries(L, n ? n : ret, used);
	lua_pushboolean(L, dir.end);
	return 3;
}

/* fs.stat_entries(fd, addr, size, names, bytes [, mask]) -> n, bytes, taken */
static int fs_stat_entries(lua_State *L)
{
	struct image_batch_entries dir = {
		.fd = (int)check_long(L, 1), .to = check_long(L, 2),
		.room = check_long(L, 3), .names = check_long(L, 4),
		.names_len = check_long(L, 5),
		.mask = (unsigned int)opt_long(L, 6, C_STATX_ALL), .max = ~0U,
	};
	long ret;

	luaL_argcheck(L, (long)dir.room >= 0, 3, "number out of range");
	luaL_argcheck(L, (long)dir.names_len >= 0, 5, "number out of range");
	ret = dir.names ? read_entries(&dir) : -EFAULT;
	push_entries(L, ret < 0 ? ret : (long)dir.n, ret < 0 ? 0 : dir.used);
	push_long(L, ret < 0 ? 0 : (long)dir.taken);
	return 3;
}

/* -- Columns ------------------------------------------------------------------------- */

enum {
#define COLUMN_ENUM(name, mask, value)	COLUMN_##name,
	COLUMNS(COLUMN_ENUM)
	COLUMN__MAX
};

static const struct {
	const char *name;
	unsigned int mask;
} column_table[] = {
#define COLUMN_ROW(name, mask, value)	{ #name, mask },
	COLUMNS(COLUMN_ROW)
};

/* The columns that fs.entries() fills. */
struct columns {
	Table *of[COLUMN__MAX], *names, *dirs;
	unsigned int mask;
};

/* Where the table of a column goes, or NULL if there is no such column. */
static Table **column_of(struct columns *columns, const char *name)
{
	int i;

	for (i = 0; i < COLUMN__MAX; i++)
		if (*name == *column_table[i].name && !strcmp(name, column_table[i].name)) {
			columns->mask |= column_table[i].mask;
			return &columns->of[i];
		}
	if (!strcmp(name, "name"))
		return &columns->names;
	return strcmp(name, "dirname") ? NULL : &columns->dirs;
}

static void get_columns(lua_State *L, int index, struct columns *columns)
{
	Table **to;

	memset(columns, 0, sizeof(*columns));
	for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			luaL_error(L, "columns are named: { name = {}, size = {} }");
		to = column_of(columns, lua_tostring(L, -2));
		if (!to)
			luaL_error(L, "a directory entry has no column '%s'",
				   lua_tostring(L, -2));
		if (!lua_istable(L, -1))
			luaL_error(L, "column '%s' is not a table", lua_tostring(L, -2));
		*to = (Table *)lua_topointer(L, -1);
	}
}

/* A table's [1..n]. */
static TValue *room_for(lua_State *L, Table *t, unsigned int n)
{
	if ((unsigned int)t->sizearray < n)
		luaH_resizearray(L, t, (int)n);
	return t->array;
}

/* One field of all entries of a batch. */
static void fill_numbers(const struct image_batch_entries *dir, int column, TValue *to)
{
	const char *p = (const char *)dir->to, *end = p + dir->used;

	switch (column) {
#define COLUMN_CASE(name, mask, value)						\
	case COLUMN_##name:							\
		for (; p < end; p += column_entry(p)->reclen, to++) {		\
			const struct syscript_dirent *entry = column_entry(p);	\
			long v = (long)(value);						\
											\
			setnvalue(to, num_is_int(v) ? v : num_of_long(v));		\
		}								\
		break;
	COLUMNS(COLUMN_CASE)
	}
}

/* Strings; those of directories only leave false for the others. */
static void fill_names(lua_State *L, const struct image_batch_entries *dir, Table *t,
		       bool dirs_only)
{
	const char *p = (const char *)dir->to, *end = p + dir->used;
	TValue *to = room_for(L, t, dir->n);

	for (; p < end; p += column_entry(p)->reclen, to++) {
		const struct syscript_dirent *entry = column_entry(p);

		if (dirs_only && !column_isdir(entry)) {
			setbvalue(to, 0);
		} else {
			setsvalue(L, to, luaS_newlstr(L, entry->name, entry->namelen));
			luaC_barriert(L, t, to);
		}
	}
}

static void fill_columns(lua_State *L, const struct image_batch_entries *dir,
			 const struct columns *columns)
{
	int i;

	for (i = 0; i < COLUMN__MAX; i++)
		if (columns->of[i])
			fill_numbers(dir, i, room_for(L, columns->of[i], dir->n));
	if (columns->names)
		fill_names(L, dir, columns->names, false);
	if (columns->dirs)
		fill_names(L, dir, columns->dirs, true);
}

/* fs.entries(fd, columns [, max]) -> n, end */
static int fs_entries(lua_State *L)
{
	struct image_batch_entries dir = { .room = READDIRPLUS_ROOM };
	struct columns columns;
	long ret, max;

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 3);
	get_columns(L, 2, &columns);
	dir.fd = (int)check_long(L, 1);
	max = opt_long(L, 3, READDIRPLUS_ROOM);
	luaL_argcheck(L, max >= 1, 3, "number out of range");
	dir.max = max > READDIRPLUS_ROOM ? READDIRPLUS_ROOM : (unsigned int)max;
	dir.mask = columns.mask;
	dir.to = (unsigned long)records_room(L);
	ret = read_entries(&dir);
	if (ret >= 0) {
		fill_columns(L, &dir, &columns);
		ret = dir.n;
	}
	push_long(L, ret);
	lua_pushboolean(L, dir.end);
	luaC_checkGC(L);
	return 2;
}

/* Positions are strings: file systems use all of their 63 bits. */

/* fs.tell(fd) -> position or -errno */
static int fs_tell(lua_State *L)
{
	const long args[6] = { check_long(L, 1), 0, C_SEEK_CUR };
	long pos = runtime_syscall(__NR_lseek, args);

	if (pos < 0)
		push_long(L, pos);
	else
		lua_pushlstring(L, (const char *)&pos, sizeof(pos));
	return 1;
}

/* fs.seek(fd, position) -> 0 or -errno */
static int fs_seek(lua_State *L)
{
	long args[6] = { check_long(L, 1), 0, C_SEEK_SET }, pos;
	size_t len;
	const char *s = luaL_checklstring(L, 2, &len);

	luaL_argcheck(L, len == sizeof(args[1]), 2, "invalid format");
	memcpy(&args[1], s, sizeof(args[1]));
	pos = runtime_syscall(__NR_lseek, args);
	push_long(L, pos < 0 ? pos : 0);
	return 1;
}

/* -- Files --------------------------------------------------------------------------- */

/* (dirfd, files, n, ...) -> how many were done */
static int do_files(lua_State *L, enum image_batch batch, long flags, long mode, long mask)
{
	long n = check_long(L, 3);
	struct image_batch_files files = {
		.files = check_long(L, 2), .dirfd = (int)check_long(L, 1),
		.n = (unsigned int)n, .flags = (int)flags, .mode = (unsigned int)mode,
		.mask = (unsigned int)mask,
	};

	luaL_argcheck(L, n >= 0 && n <= INT_MAX, 3, "number out of range");
	push_long(L, runtime_batch(batch, &files));
	return 1;
}

/* fs.stat_files(dirfd, files, n [, mask [, flags]]) -> n */
static int fs_stat_files(lua_State *L)
{
	long mask = opt_long(L, 4, C_STATX_ALL), flags = opt_long(L, 5, 0);

	luaL_argcheck(L, !(flags & ~(long)C_AT_SYMLINK_NOFOLLOW), 5, "number out of range");
	return do_files(L, IMAGE_BATCH_STAT, flags, 0, mask);
}

/* fs.read_files(dirfd, files, n [, flags]) -> n */
static int fs_read_files(lua_State *L)
{
	return do_files(L, IMAGE_BATCH_READ, opt_long(L, 4, 0), 0, 0);
}

/* fs.write_files(dirfd, files, n, flags [, mode]) -> n */
static int fs_write_files(lua_State *L)
{
	long flags = check_long(L, 4);

	return do_files(L, IMAGE_BATCH_WRITE, flags, opt_long(L, 5, 0666), 0);
}

/* fs.open_files(dirfd, files, n, flags [, mode [, mask]]) -> n */
static int fs_open_files(lua_State *L)
{
	long flags = check_long(L, 4), mode = opt_long(L, 5, 0666);

	return do_files(L, IMAGE_BATCH_OPEN, flags, mode, opt_long(L, 6, C_STATX_ALL));
}

static const luaL_Reg fs_functions[] = {
	{ "readdirplus", fs_readdirplus }, { "stat_entries", fs_stat_entries },
	{ "entries", fs_entries }, { "tell", fs_tell }, { "seek", fs_seek },
	{ "stat_files", fs_stat_files }, { "read_files", fs_read_files },
	{ "write_files", fs_write_files }, { "open_files", fs_open_files },
	{ NULL, NULL },
};
