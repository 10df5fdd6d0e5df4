// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The library fs for the confined engine, with the same interface as for LuaJIT
 * (engine/luajit/lib_fs.c): batches of files and of directory entries, which the engine makes
 * (IMAGE_CALL_BATCH).  Records are written to the arena, where scripts only read them.
 */
#include "../../include/uapi/syscript_files.h"
#include "../../core/fs/readdirplus.h"
#include "../../core/syscalls_nr.h"

/* Headers of the C library and of the kernel cannot both be included. */
enum {
#define CONSTANT(name, value)	C_##name = (value),
#include "constants.inc"
};

#include "../../core/fs/columns.h"

static long opt_long(lua_State *L, int i, long otherwise)
{
	return lua_isnoneornil(L, i) ? otherwise : check_long(L, i);
}

/* -- Directories --------------------------------------------------------------------- */

/* A buffer for the records of a batch, valid until the next batch. */
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

static long go_back(const struct image_batch_entries *dir)
{
	const long args[6] = { dir->fd, dir->start, C_SEEK_SET };

	return runtime_syscall(__NR_lseek, args);
}

static bool is_dot(const struct syscript_dirent *entry)
{
	return entry->name[0] == '.' &&
	       (entry->namelen == 1 || (entry->namelen == 2 && entry->name[1] == '.'));
}

/* Gets the attributes of "." or "..", by name. */
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

/* Reads the next batch, with its records at @to. */
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
		.flags = lua_toboolean(L, 5) ? SYSCRIPT_DOTS : 0, .max = ~0U,
	};
	unsigned long address, used = 0;
	long size, n = 0, ret;

	dir.fd = (int)check_long(L, 1);
	address = check_long(L, 2);
	size = check_long(L, 3);
	dir.mask = (unsigned int)opt_long(L, 4, C_STATX_ALL);
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
		/* Entries that cannot be read again would be lost, so the error is reported. */
		if (go_back(&dir) < 0)
			n = 0;
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
	struct image_batch_entries dir = { .max = ~0U };
	long ret;

	dir.fd = (int)check_long(L, 1);
	dir.to = check_long(L, 2);
	dir.room = check_long(L, 3);
	dir.names = check_long(L, 4);
	dir.names_len = check_long(L, 5);
	dir.mask = (unsigned int)opt_long(L, 6, C_STATX_ALL);
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

enum { COLUMN_NAMES = COLUMN__MAX, COLUMN_DIRS, COLUMNS_N };

/* The columns that fs.entries() fills: numbers, those with a bit in @have, and two of strings. */
struct columns {
	Table *of[COLUMNS_N];
	unsigned int mask, have;
};

/*
 * Column names by hash of their addresses: the strings are never freed, so no others get their
 * addresses.
 */
static HOT struct {
	const TString *name;
	int column;
} columns_known[64];

static int find_column(const char *name)
{
	int i;

	if (!strcmp(name, "name"))
		return COLUMN_NAMES;
	if (!strcmp(name, "dirname"))
		return COLUMN_DIRS;
	for (i = 0; i < COLUMN__MAX; i++)
		if (!strcmp(name, column_table[i].name))
			return i;
	return -1;
}

/* The column's number, or -1 if there is none. */
static int column_of(TString *name)
{
	unsigned int at = name->tsv.hash % 64;
	int column;

	if (columns_known[at].name == name)
		return columns_known[at].column;
	column = find_column(getstr(name));
	if (column >= 0) {
		luaS_fix(name);
		columns_known[at].name = name;
		columns_known[at].column = column;
	}
	return column;
}

static void add_column(lua_State *L, struct columns *columns, const TValue *key,
		       const TValue *value)
{
	int column;

	if (!ttisstring(key))
		luaL_error(L, "columns are named: { name = {}, size = {} }");
	column = column_of(rawtsvalue(key));
	if (column < 0)
		luaL_error(L, "a directory entry has no column '%s'", svalue(key));
	if (!ttistable(value))
		luaL_error(L, "column '%s' is not a table", svalue(key));
	columns->of[column] = hvalue(value);
	if (column < COLUMN__MAX) {
		columns->mask |= column_table[column].mask;
		columns->have |= 1U << column;
	}
}

static void get_columns(lua_State *L, const Table *t, struct columns *columns)
{
	TValue number;
	int i;

	columns->of[COLUMN_NAMES] = columns->of[COLUMN_DIRS] = NULL;
	columns->mask = columns->have = 0;
	setnvalue(&number, 1);
	for (i = 0; i < t->sizearray; i++)
		if (!ttisnil(&t->array[i]))
			add_column(L, columns, &number, &t->array[i]);
	for (i = 0; i < sizenode(t); i++)
		if (!ttisnil(gval(gnode(t, i))))
			add_column(L, columns, key2tval(gnode(t, i)), gval(gnode(t, i)));
}

/* Room for elements [1..n] of a table's array. */
static TValue *room_for(lua_State *L, Table *t, unsigned int n)
{
	if ((unsigned int)t->sizearray < n)
		luaH_resizearray(L, t, (int)n);
	return t->array;
}

static inline void set_number(TValue *to, lua_Number n, int tag)
{
	to->value.n = n;
	to->tt = tag;
}

/* In a register, because the compiler would load a constant for each store. */
static inline int number_tag(void)
{
	volatile int tag = LUA_TNUMBER;

	return tag;
}

/* Fills a column with one field of all entries of a batch. */
static void fill_numbers(const struct image_batch_entries *dir, int column, TValue *to)
{
	const char *p = (const char *)dir->to, *end = p + dir->used;
	int tag = number_tag();

	switch (column) {
#define COLUMN_CASE(name, mask, value)						\
	case COLUMN_##name:							\
		for (; p < end; p += column_entry(p)->reclen, to++) {		\
			const struct syscript_dirent *entry = column_entry(p);	\
			long v = (long)(value);						\
											\
			set_number(to, num_is_int(v) ? v : num_of_long(v), tag);	\
		}								\
		break;
	COLUMNS(COLUMN_CASE)
	}
}

static void set_name(lua_State *L, Table *t, TValue *to, const struct syscript_dirent *entry)
{
	setsvalue(L, to, luaS_newlstr(L, entry->name, entry->namelen));
	luaC_barriert(L, t, to);
}

static void fill_names(lua_State *L, const struct image_batch_entries *dir, Table *t)
{
	const char *p = (const char *)dir->to, *end = p + dir->used;
	TValue *to = room_for(L, t, dir->n);

	for (; p < end; p += column_entry(p)->reclen, to++)
		set_name(L, t, to, column_entry(p));
}

/* Fills a column with names for directories, false for other entries. */
static void fill_dirs(lua_State *L, const struct image_batch_entries *dir, Table *t)
{
	const char *p = (const char *)dir->to, *end = p + dir->used;
	TValue *to = room_for(L, t, dir->n);

	for (; p < end; p += column_entry(p)->reclen, to++) {
		setbvalue(to, 0);
		if (column_isdir(column_entry(p)))
			set_name(L, t, to, column_entry(p));
	}
}

#define WALKED	(1U << COLUMN_error | 1U << COLUMN_type)

/* Fills the two columns that walks read, in one pass. */
static void fill_walked(lua_State *L, const struct image_batch_entries *dir, Table *errors,
			Table *types, Table *dirs)
{
	const char *p = (const char *)dir->to, *end = p + dir->used;
	TValue *error = room_for(L, errors, dir->n), *type = room_for(L, types, dir->n);
	TValue *to = room_for(L, dirs, dir->n);
	int tag = number_tag();

	while (p < end) {
		const struct syscript_dirent *entry = column_entry(p);
		int is = column_type(entry);

		p += entry->reclen;
		set_number(error++, entry->error, tag);
		set_number(type++, is, tag);
		setbvalue(to, 0);
		if (is == C_DT_DIR || is == C_DT_UNKNOWN)
			set_name(L, dirs, to, entry);
		to++;
	}
}

/* Is no other column stored in the same table?  The last one would win. */
static bool are_apart(const struct columns *columns)
{
	const Table *errors = columns->of[COLUMN_error], *types = columns->of[COLUMN_type];
	const Table *names = columns->of[COLUMN_NAMES], *dirs = columns->of[COLUMN_DIRS];
	unsigned int have = columns->have & ~WALKED;
	int i;

	for (i = 0; have >> i; i++)
		if (have >> i & 1 && (columns->of[i] == errors || columns->of[i] == types ||
				      columns->of[i] == dirs))
			return false;
	return dirs && dirs != names && names != errors && names != types;
}

static void fill_columns(lua_State *L, const struct image_batch_entries *dir,
			 const struct columns *columns)
{
	bool walked = (columns->have & WALKED) == WALKED && are_apart(columns);
	unsigned int have = columns->have & ~(walked ? WALKED : 0);
	int i;

	for (i = 0; have >> i; i++)
		if (have >> i & 1)
			fill_numbers(dir, i, room_for(L, columns->of[i], dir->n));
	if (columns->of[COLUMN_NAMES])
		fill_names(L, dir, columns->of[COLUMN_NAMES]);
	if (walked)
		fill_walked(L, dir, columns->of[COLUMN_error], columns->of[COLUMN_type],
			    columns->of[COLUMN_DIRS]);
	else if (columns->of[COLUMN_DIRS])
		fill_dirs(L, dir, columns->of[COLUMN_DIRS]);
}

/* fs.entries(fd, columns [, max]) -> n, end */
static int fs_entries(lua_State *L)
{
	struct image_batch_entries dir = { .room = READDIRPLUS_ROOM };
	struct columns columns;
	long ret, max;

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 3);
	get_columns(L, hvalue(L->base + 1), &columns);
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

/* Positions are strings, because file systems use all 63 bits. */

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

/* (dirfd, files, n, ...) -> number of files done */
static int do_files(lua_State *L, enum image_batch batch, long flags, long mode, long mask)
{
	long n = check_long(L, 3);
	struct image_batch_files files = {
		.n = (unsigned int)n, .flags = (int)flags, .mode = (unsigned int)mode,
		.mask = (unsigned int)mask,
	};

	files.dirfd = (int)check_long(L, 1);
	files.files = check_long(L, 2);
	luaL_argcheck(L, n >= 0 && n <= INT_MAX, 3, "number out of range");
	push_long(L, runtime_batch(batch, &files));
	return 1;
}

/* fs.stat_files(dirfd, files, n [, mask [, flags]]) -> n */
static int fs_stat_files(lua_State *L)
{
	long flags = opt_long(L, 5, 0), mask = opt_long(L, 4, C_STATX_ALL);

	luaL_argcheck(L, !(flags & ~(long)C_AT_SYMLINK_NOFOLLOW), 5, "number out of range");
	return do_files(L, IMAGE_BATCH_STAT, flags, 0, mask);
}

/* fs.read_files(dirfd, files, n [, flags]) -> n */
static int fs_read_files(lua_State *L)
{
	return do_files(L, IMAGE_BATCH_READ, opt_long(L, 4, 0), 0, 0);
}

/* fs.read_file(dirfd, path, addr, size [, flags]) -> n, total */
static int fs_read_file(lua_State *L)
{
	struct image_batch_file file;
	long n;

	file.dirfd = (int)check_long(L, 1);
	file.path = check_long(L, 2);
	file.addr = check_long(L, 3);
	file.size = check_long(L, 4);
	file.flags = (int)opt_long(L, 5, 0);
	n = runtime_batch(IMAGE_BATCH_READ_FILE, &file);
	push_long(L, n);
	if (n < 0)
		return 1;
	push_long(L, (long)file.total);
	return 2;
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
	{ "read_file", fs_read_file }, { "write_files", fs_write_files },
	{ "open_files", fs_open_files },
	{ NULL, NULL },
};
