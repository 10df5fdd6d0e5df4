// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The libraries syscall, errno, const, util and bit for the confined engine, with the same
 * interface as for LuaJIT (engine/luajit/lib_*.c).
 */
#include "layout.h"
#include "../../core/bytes.h"

#define ARRAY_SIZE(a)	((int)(sizeof(a) / sizeof((a)[0])))

/* -- Names: in the library's tables ------------------------------------------------ */

/* (table, name) -> the value on top, which is also stored in the table. */
static int remember(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_pushvalue(L, 2);
	lua_pushvalue(L, -2);
	lua_rawset(L, 1);
	return 1;
}

static int no_constant(lua_State *L)
{
	return luaL_error(L, "no constant '%s'", lua_tostring(L, 2));
}

static bool copy_pieces(long op, unsigned long address, const void *p, long n);

/* Copies to @to @n bytes at @at, of a table of the library, in the process or in the arena. */
static void read_cold(lua_State *L, unsigned long at, void *to, long n)
{
	if (at - runtime->arena < runtime->arena_size)
		memcpy(to, (const void *)at, n);
	else if (!copy_pieces(IMAGE_BATCH_COPY_IN, at, to, n))
		luaL_error(L, "the library's tables cannot be read");
}

/* Finds @name in @table, whose elements have @size bytes, and copies its element to @element. */
static bool find_cold(lua_State *L, int table, const char *name, void *element, long size)
{
	unsigned long elements = runtime->tables[table].elements;
	long low = 0, high = runtime->tables[table].n;

	while (low < high) {
		long middle = (low + high) / 2;
		int order;

		read_cold(L, elements + middle * size, element, size);
		order = strcmp(name, element);
		if (!order)
			return true;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

static int const_index(lua_State *L)
{
	struct runtime_constant c;

	if (!find_cold(L, RUNTIME_CONSTANTS, luaL_checkstring(L, 2), &c, sizeof(c)))
		return no_constant(L);
	push_long(L, c.value);
	return remember(L);
}

/* How many errnos are copied at once. */
#define ERRNOS_AT_ONCE	8

/* Pushes the name of errno @value, one of @n at @errnos. */
static bool push_errno(lua_State *L, const struct runtime_constant *errnos, long n, long value)
{
	/* Prefer EOPNOTSUPP to ENOTSUP, as strace(1) does. */
	for (; n--; errnos++)
		if (errnos->value == value && strcmp(errnos->name, "ENOTSUP")) {
			lua_pushstring(L, errnos->name);
			return true;
		}
	return false;
}

/* errno.name(n) -> "ENOENT" for 2 and -2, nil for other numbers */
static int errno_name(lua_State *L)
{
	const struct runtime_table *table = &runtime->tables[RUNTIME_ERRNOS];
	long value = check_long(L, 1), left = table->n, n;
	struct runtime_constant errnos[ERRNOS_AT_ONCE];
	unsigned long at = table->elements;

	for (; left > 0; left -= n, at += n * sizeof(*errnos)) {
		n = left < ERRNOS_AT_ONCE ? left : ERRNOS_AT_ONCE;
		read_cold(L, at, errnos, n * sizeof(*errnos));
		if (push_errno(L, errnos, n, value < 0 ? -value : value))
			return 1;
	}
	lua_pushnil(L);
	return 1;
}

static int errno_index(lua_State *L)
{
	struct runtime_constant c;

	if (strcmp(luaL_checkstring(L, 2), "name")) {
		if (!find_cold(L, RUNTIME_ERRNOS, lua_tostring(L, 2), &c, sizeof(c)))
			return no_constant(L);
		push_long(L, c.value);
		return remember(L);
	}
	lua_pushcfunction(L, errno_name);
	return remember(L);
}

/* -- System calls ----------------------------------------------------------------- */

#define KIND(c)		((c) | 0x20)
#define IS_OPTIONAL(c)	(!((c) & 0x20))

struct call {
	const char *name, *kinds;	/* of arguments */
	long nr;
};

/* The system call of the function that runs. */
static struct call call_of(lua_State *L)
{
	return (struct call){
		lua_tostring(L, lua_upvalueindex(1)), lua_tostring(L, lua_upvalueindex(2)),
		curr_func(L)->c.id - ID_SYSCALL,
	};
}

static int bad_count(lua_State *L, const struct call *call, int n)
{
	const char *name = call->name, *kinds = call->kinds;
	int most = (int)strlen(kinds), least = 0;

	while (least < most && !IS_OPTIONAL(kinds[least]))
		least++;
	if (least < most)
		return luaL_error(L, "%s takes %d to %d arguments, got %d", name, least, most, n);
	return luaL_error(L, "%s takes %d argument%s, got %d", name, most, most == 1 ? "" : "s", n);
}

/* Copies the string into garbage-collected memory, because the kernel may write there. */
static long string_argument(lua_State *L, int i)
{
	size_t len;
	const char *s = lua_tolstring(L, i, &len);

	return (long)memcpy(lua_newuserdata(L, len + 1), s, len + 1);
}

/* luaL_argerror() does not know the name of a function that pcall() calls. */
static int bad_argument(lua_State *L, const struct call *call, int i, const char *what)
{
	return luaL_error(L, "bad argument #%d to '%s' (%s)", i, call->name, what);
}

/* A view's memory begins at its address 0. */
static long view_argument(lua_State *L, const struct call *call, int i)
{
	long address;

	lua_rawgeti(L, i, 0);
	if (!to_long(L, -1, &address)) {
		if (lua_type(L, -1) != LUA_TNUMBER)
			bad_argument(L, call, i, "a table that is not a view of memory");
		no_integer(L, lua_tonumber(L, -1));
	}
	lua_pop(L, 1);
	return address;
}

static long argument(lua_State *L, const struct call *call, int i)
{
	char kind = KIND(call->kinds[i - 1]);
	int type = lua_type(L, i);
	long v;

	if (to_long(L, i, &v))
		return v;

	if (type == LUA_TSTRING && kind == 's')
		return string_argument(L, i);
	if (type == LUA_TTABLE && (kind == 's' || kind == 'p'))
		return view_argument(L, call, i);
	if (type != LUA_TNUMBER)
		bad_argument(L, call, i, lua_pushfstring(L, "number expected, got %s",
							 lua_typename(L, type)));
	return no_integer(L, lua_tonumber(L, i));
}

/* The value of an omitted argument, after @n given ones. */
static long omitted(lua_State *L, const struct call *call, int i, int n)
{
	char kind = call->kinds[i];

	if (KIND(kind) == 'l' && i == n && lua_type(L, i) == LUA_TSTRING)
		return (long)lua_objlen(L, i);
	if (kind == 'l' && i == n)
		luaL_error(L, "%s lacks argument #%d, a length: only that of a string may be omitted",
			   call->name, n + 1);
	if (!IS_OPTIONAL(kind))
		bad_count(L, call, n);
	return 0;
}

static int syscall_call(lua_State *L)
{
	const struct call call = call_of(L);
	int i, n = lua_gettop(L);
	long args[6] = { 0 };

	for (i = 0; call.kinds[i]; i++)
		args[i] = i < n ? argument(L, &call, i + 1) : omitted(L, &call, i, n);
	if (i < n)
		bad_count(L, &call, n);
	push_long(L, runtime_syscall(call.nr, args));
	return 1;
}

static bool may_call(const struct runtime_call *call, uint64_t nr)
{
	return !call->only || (nr / 64 < SYSCRIPT_CALLS_WORDS && call->calls[nr / 64] >> nr % 64 & 1);
}

static int push_syscall(lua_State *L, const struct runtime_syscall *call)
{
	lua_pushvalue(L, 2);
	lua_pushstring(L, call->kinds);
	lua_pushcclosure(L, syscall_call, 2);
	clvalue(L->top - 1)->c.id = ID_SYSCALL + call->nr;
	return remember(L);
}

static int syscall_index(lua_State *L)
{
	const char *name = luaL_checkstring(L, 2);
	struct runtime_syscall call;
	struct runtime_excluded excluded;

	if (find_cold(L, RUNTIME_SYSCALLS, name, &call, sizeof(call))) {
		if (!may_call(runtime, call.nr))
			return luaL_error(L, "this script may not call '%s': it is not among its rights",
					  name);
		return push_syscall(L, &call);
	}
	if (find_cold(L, RUNTIME_EXCLUDED, name, &excluded, sizeof(excluded)))
		return luaL_error(L, "scripts cannot call '%s': %s", name, excluded.reason);
	return luaL_error(L, "no system call '%s'", name);
}

/* The stack after the arguments: tostring(), the current argument's number and its text. */
static int print_on(lua_State *L, int failed)
{
	int n = lua_gettop(L) - 3, i = (int)lua_tointeger(L, n + 2);
	const char *text;
	size_t len;

	(void)failed;
	for (;;) {
		text = lua_tolstring(L, -1, &len);
		if (!text)
			return luaL_error(L, "'tostring' must return a string to 'print'");
		runtime_print(text, len);
		runtime_print(i < n ? "\t" : "\n", 1);
		if (++i > n)
			return 0;
		lua_settop(L, n + 1);
		lua_pushinteger(L, i);
		lua_pushvalue(L, n + 1);
		lua_pushvalue(L, i);
		lua_call(L, 1, 1);
	}
}

static int print(lua_State *L)
{
	int n = lua_gettop(L);

	if (!n) {
		runtime_print("\n", 1);
		return 0;
	}
	lua_getglobal(L, "tostring");
	lua_pushinteger(L, 1);
	lua_pushvalue(L, n + 1);
	lua_pushvalue(L, 1);
	lua_call(L, 1, 1);
	return print_on(L, 0);
}

/* -- Memory ------------------------------------------------------------------------- */

/* "i4", "u1", "b2" and the like: the memory layout of a scalar. */
struct kind {
	unsigned int size;
	bool is_signed, is_big;
};

/* Does a kind have this name, of two characters? */
static inline bool find_kind(const char *s, struct kind *kind)
{
	*kind = (struct kind){ s[1] - '0', s[0] == 'i', s[0] == 'b' };
	return (kind->size == 8 || kind->size == 4 || kind->size == 2 ||
		(kind->size == 1 && !kind->is_big)) &&
	       (s[0] == 'u' || kind->is_signed || kind->is_big);
}

static struct kind check_kind(lua_State *L, int i)
{
	const char *s = luaL_optstring(L, i, "i4");
	struct kind kind;

	if (strlen(s) != 2 || !find_kind(s, &kind))
		luaL_error(L, "bad kind '%s': one of i1 i2 i4 i8 u1 u2 u4 u8 b2 b4 b8 expected", s);
	return kind;
}

/* Copies @n bytes between @p and an address of the process by the engine's copy @op. */
static bool copy_pieces(long op, unsigned long address, const void *p, long n)
{
	struct image_batch_copy copy = { (unsigned long)p, address };

	for (; n; n -= copy.n, copy.here += copy.n, copy.there += copy.n) {
		copy.n = n < IMAGE_COPY_MAX ? n : IMAGE_COPY_MAX;
		if (runtime_batch_alike(op, &copy))
			return false;
	}
	return true;
}

/* As above, for memory that is the program's. */
static void move(lua_State *L, long op, unsigned long address, const void *p, long n)
{
	runtime_depends(RUNTIME_ON_PROCESS);
	if (!copy_pieces(op, address, p, n))
		luaL_error(L, "bad address %p", address);
}

/* Is it all in the arena, where it is read and written directly? */
static bool is_own(unsigned long address, unsigned long n)
{
	if (!runtime_in_arena(address, n))
		return false;
	runtime_depends(RUNTIME_ON_ADDRESSES);
	return true;
}

/* Large ranges are filled and compared in pieces. */
#define PIECE	4096L

static long piece_of(long n)
{
	return n < PIECE ? n : PIECE;
}

/* The memory at the address, or a copy of it, which is pushed. */
static const char *read_memory(lua_State *L, unsigned long address, long n)
{
	char *copy;

	if (is_own(address, n))
		return (const char *)address;
	copy = lua_newuserdata(L, n);
	move(L, IMAGE_BATCH_COPY_IN, address, copy, n);
	return copy;
}

/* As above, with the copy in @room. */
static const char *memory_piece(lua_State *L, unsigned long address, char *room, long n)
{
	if (is_own(address, n))
		return (const char *)address;
	move(L, IMAGE_BATCH_COPY_IN, address, room, n);
	return room;
}

static void write_memory(lua_State *L, unsigned long address, const char *p, long n)
{
	if (is_own(address, n))
		memcpy((void *)address, p, n);
	else
		move(L, IMAGE_BATCH_COPY_OUT, address, p, n);
}

static long check_count(lua_State *L, int i)
{
	long n = check_long(L, i);

	luaL_argcheck(L, n >= 0 && n <= 1L << 30, i, "number out of range");
	return n;
}

static long load(const char *p, struct kind kind)
{
	unsigned int shift = 64 - 8 * kind.size;
	unsigned long v = 0;

	memcpy(&v, p, kind.size);
	if (kind.is_big)
		return (long)__builtin_bswap64(v << shift);
	return kind.is_signed ? (long)(v << shift) >> shift : (long)v;
}

static void store(char *p, long v, struct kind kind)
{
	if (kind.is_big)
		v = (long)__builtin_bswap64((unsigned long)v << (64 - 8 * kind.size));
	memcpy(p, &v, kind.size);
}

/* Either interpretation of the bits is accepted, as in C: -1 is all ones. */
static bool fits(long v, struct kind kind)
{
	unsigned int bits = 8 * kind.size;

	return bits == 64 || (unsigned long)v + (1UL << (bits - 1)) < 3UL << (bits - 1);
}

static void push_scalar(lua_State *L, const char *p, struct kind kind)
{
	if (kind.is_signed)
		push_long(L, load(p, kind));
	else
		push_ulong(L, (unsigned long)load(p, kind));
}

/* util.peek(addr [, kind]) -> value */
static int util_peek(lua_State *L)
{
	unsigned long address = check_long(L, 1);
	struct kind kind = check_kind(L, 2);

	push_scalar(L, read_memory(L, address, kind.size), kind);
	return 1;
}

/* Does the value at @i, the integer @v, fit?  Integers of 64 bits fit no shorter kind. */
static bool fits_at(lua_State *L, int i, long v, struct kind kind)
{
	return fits(v, kind) && (kind.size == sizeof(v) || !int64_kind(index2adr(L, i)));
}

/* util.poke(addr, kind, value) */

static int util_poke(lua_State *L)
{
	long v, address = check_long(L, 1);
	struct kind kind = check_kind(L, 2);
	char bytes[8];

	if (!to_long(L, 3, &v) && !num_is_integer(luaL_checknumber(L, 3), &v))
		luaL_argerror(L, 3, "number out of range");
	luaL_argcheck(L, fits_at(L, 3, v, kind), 3, "number out of range");
	store(bytes, v, kind);
	write_memory(L, address, bytes, kind.size);
	return 0;
}

/* util.copyin(addr, n [, kind [, table]]) -> table */
static int util_copyin(lua_State *L)
{
	unsigned long address = check_long(L, 1);
	long i, n = check_count(L, 2);
	struct kind kind = check_kind(L, 3);
	const char *p;

	lua_settop(L, 4);
	if (!lua_isnil(L, 4))
		luaL_checktype(L, 4, LUA_TTABLE);
	p = read_memory(L, address, n * kind.size);
	if (lua_isnil(L, 4))
		lua_createtable(L, (int)n, 0);
	else
		lua_pushvalue(L, 4);
	for (i = 0; i < n; i++, p += kind.size) {
		push_scalar(L, p, kind);
		lua_rawseti(L, -2, (int)i + 1);
	}
	return 1;
}

/* util.copyout(table, addr, n [, kind]) */
static int util_copyout(lua_State *L)
{
	long i, v, n, address;
	struct kind kind;
	char *from, *p;

	luaL_checktype(L, 1, LUA_TTABLE);
	address = check_long(L, 2);
	n = check_count(L, 3);
	kind = check_kind(L, 4);
	from = p = lua_newuserdata(L, n * kind.size);
	for (i = 1; i <= n; i++, p += kind.size) {
		lua_rawgeti(L, 1, (int)i);
		if (!to_long(L, -1, &v) || !fits_at(L, -1, v, kind))
			luaL_error(L, "element %d is not an integer that fits", i);
		store(p, v, kind);
		lua_pop(L, 1);
	}
	write_memory(L, address, from, n * kind.size);
	return 0;
}

/* util.str_in(addr, n) -> string of n bytes */
static int util_str_in(lua_State *L)
{
	unsigned long address = check_long(L, 1);
	long n = check_count(L, 2);

	lua_pushlstring(L, read_memory(L, address, n), n);
	return 1;
}

/* util.str_out(s, addr [, n]): at most n bytes, never a NUL; -> bytes */
static int util_str_out(lua_State *L)
{
	size_t len;
	const char *s = luaL_checklstring(L, 1, &len);
	unsigned long address = check_long(L, 2);

	if (!lua_isnoneornil(L, 3) && check_count(L, 3) < (long)len)
		len = check_count(L, 3);
	write_memory(L, address, s, len);
	lua_pushinteger(L, len);
	return 1;
}

/* util.fill(addr, byte, n) */
static int util_fill(lua_State *L)
{
	unsigned long address = check_long(L, 1);
	long byte = check_long(L, 2), n, some;
	char bytes[PIECE];

	luaL_argcheck(L, byte >= 0 && byte <= 255, 2, "number out of range");
	n = check_count(L, 3);
	if (is_own(address, n)) {
		memset((void *)address, (int)byte, n);
		return 0;
	}
	memset(bytes, (int)byte, sizeof(bytes));
	for (; n; n -= some, address += some) {
		some = piece_of(n);
		write_memory(L, address, bytes, some);
	}
	return 0;
}

/* util.compare(a, b, n) -> -1, 0, 1 */
static int util_compare(lua_State *L)
{
	unsigned long a = check_long(L, 1), b = check_long(L, 2);
	long n = check_count(L, 3), some;
	char pieces[2][PIECE];
	int order = 0;

	for (; n && !order; n -= some, a += some, b += some) {
		some = piece_of(n);
		order = memcmp(memory_piece(L, a, pieces[0], some),
			       memory_piece(L, b, pieces[1], some), some);
	}

	lua_pushinteger(L, order < 0 ? -1 : order > 0);
	return 1;
}

/*
 * Larger buffers than these, one or all together, are not in the arena, which is pinned and small,
 * but in memory of the process that lives as long as the script, as with LuaJIT.
 */
#define LARGE		(16L << 10)
#define LARGE_IN_ARENA	(48L << 10)

static long large_buffer(lua_State *L, long n)
{
	static unsigned long used;
	long left = runtime->large_size - used;

	n = (n + 15) & ~15L;
	runtime_depends(RUNTIME_ON_PROCESS);
	if (!runtime->large)
		return luaL_error(L, "no memory for the script's buffer");
	if (n > left)
		return luaL_error(L, "no room: the script's buffer has %d bytes left", left);
	used += n;
	return (long)runtime->large + used - n;
}

static long small_buffer(lua_State *L, long n)
{
	void *p = runtime_alloc(NULL, NULL, 0, n ? n : 1);

	runtime_depends(RUNTIME_ON_ADDRESSES);
	if (!p) {
		lua_gc(L, LUA_GCCOLLECT, 0);
		p = runtime_alloc(NULL, NULL, 0, n ? n : 1);
	}
	if (!p)
		return luaL_error(L, "not enough memory");
	return (long)memset(p, 0, n);
}

/* In the arena if there is room for such buffers, as compiled code reads and writes it directly. */
static long middle_buffer(lua_State *L, long n)
{
	static long used;
	void *p = n <= LARGE_IN_ARENA - used ? runtime_alloc(NULL, NULL, 0, n) : NULL;

	if (!p)
		return large_buffer(L, n);
	runtime_depends(RUNTIME_ON_ADDRESSES);
	used += n;
	return (long)memset(p, 0, n);
}

/* util.buffer(n) -> address of n zero bytes that live as long as the script */
static int util_buffer(lua_State *L)
{
	long n = check_long(L, 1);

	luaL_argcheck(L, n >= 0 && n <= 1L << 20, 1, "number out of range");
	push_long(L, n < LARGE ? small_buffer(L, n) : middle_buffer(L, n));
	return 1;
}

/*
 * How many of @n bytes to look at next: all that are in the arena, else those of a page, so that
 * memory after the result need not be readable.
 */
static long next_piece(unsigned long address, long n)
{
	long left = PIECE - (long)(address & (PIECE - 1));

	return n < left || runtime_in_arena(address, n) ? n : left;
}

/* Of memory that is looked at in pieces: there is no need for a bound. */
static long check_length(lua_State *L, int i)
{
	long n = check_long(L, i);

	luaL_argcheck(L, n >= 0, i, "number out of range");
	return n;
}

/* The set in argument @i: a string of its members, or a number, which is its only one. */
static void check_set(lua_State *L, int i, struct bytes_set *set)
{
	char byte;
	size_t n = 1;
	const char *members = &byte;

	if (lua_type(L, i) == LUA_TNUMBER) {
		long v = check_long(L, i);

		luaL_argcheck(L, v >= 0 && v <= 255, i, "number out of range");
		byte = (char)v;
	} else {
		members = luaL_checklstring(L, i, &n);
	}
	luaL_argcheck(L, n <= BYTES_SET_MOST, i, "more than 256 bytes");
	bytes_set(set, members, n);
}

/* util.find(addr, n, set) -> offset of the first byte in the set, or nil */
static int util_find(lua_State *L)
{
	unsigned long address = check_long(L, 1);
	long n = check_length(L, 2), i, some, found;
	struct bytes_set set;
	char room[PIECE];

	check_set(L, 3, &set);
	for (i = 0; i < n; i += some) {
		luai_threadyield(L);
		some = next_piece(address + i, n - i);
		found = bytes_find(&set, memory_piece(L, address + i, room, some), some);
		if (found == some)
			continue;
		lua_pushinteger(L, i + found);
		return 1;
	}
	lua_pushnil(L);
	return 1;
}

/* util.number(addr, n) -> decimal integer, and the bytes that it takes; or nil */
static int util_number(lua_State *L)
{
	unsigned long address = check_long(L, 1);
	long n = check_length(L, 2), i, some;
	struct bytes_number number = { 0 };
	char room[PIECE];

	for (i = 0; i < n; i += some) {
		luai_threadyield(L);
		some = next_piece(address + i, n - i);
		if (!bytes_number(&number, memory_piece(L, address + i, room, some), some))
			break;
	}
	if (!bytes_is_number(&number)) {
		lua_pushnil(L);
		return 1;
	}
	push_long(L, bytes_number_value(&number));
	lua_pushinteger(L, number.n);
	return 2;
}

/* Made when a script first asks for a checksum; in its memory from then on. */
static const struct bytes_crc *crc_tables(lua_State *L)
{
	static struct bytes_crc *tables;
	struct bytes_crc *made = tables;

	if (made)
		return made;
	made = (struct bytes_crc *)small_buffer(L, sizeof(*made));
	bytes_crc_init(made);
	tables = made;
	return made;
}

/* util.crc32(addr, n [, crc]) -> the checksum, which goes on from an earlier one */
static int util_crc32(lua_State *L)
{
	unsigned long address = check_long(L, 1);
	long n = check_length(L, 2), crc = opt_long(L, 3, 0), some;
	const struct bytes_crc *tables;
	char room[PIECE];

	luaL_argcheck(L, crc == (unsigned int)crc, 3, "number out of range");
	tables = crc_tables(L);
	for (; n; n -= some, address += some) {
		luai_threadyield(L);
		some = next_piece(address, n);
		crc = bytes_crc32(tables, (unsigned int)crc, memory_piece(L, address, room, some),
				  some);
	}
	lua_pushinteger(L, crc);
	return 1;
}

/* util.pending() -> does a signal wait for the end of this call? */
static int util_pending(lua_State *L)
{
	lua_pushboolean(L, runtime_batch(IMAGE_BATCH_PENDING, NULL) == 1);
	return 1;
}

static const char *util_source(lua_State *L, const char *part, size_t *size)
{
	bool is_struct = part[0] == 's';
	char *text;

	*size = is_struct ? runtime->struct_len : runtime->types_len;
	text = lua_newuserdata(L, *size);
	read_cold(L, is_struct ? runtime->struct_text : runtime->types_text, text, *size);
	return text;
}

#include "../../engine/luajit/util_parts.h"

/* -- Bits ------------------------------------------------------------------------------ */

/*
 * As in LuaJIT: numbers are taken modulo 2^32 and results are signed, unless there is an integer
 * of 64 bits among the arguments, whose kind they then have.
 */
static unsigned long bits_of(lua_State *L, int i, int *kind)
{
	const TValue *o = index2adr(L, i);

	if (ttisnumber(o))
		return num_to_bits(nvalue(o));
	if (!int64_kind(o))
		return num_to_bits(luaL_checknumber(L, i));
	if (int64_kind(o) > *kind)
		*kind = int64_kind(o);
	return *int64_bits(o);
}

/* The lower 32 bits. */
static unsigned int bits(lua_State *L, int i)
{
	int kind = 0;

	return (unsigned int)bits_of(L, i, &kind);
}

static int push_bits(lua_State *L, unsigned long v, int kind)
{
	if (kind)
		push_int64(L, v, kind);
	else
		lua_pushinteger(L, (int)v);
	return 1;
}

/* Argument @i in 64 bits. */
static unsigned long wide_bits(lua_State *L, int i, int kind)
{
	const TValue *o = index2adr(L, i);

	return int64_kind(o) ? *int64_bits(o) : int64_of_number(luaL_checknumber(L, i), kind);
}

#define BIT_FOLD(name, op) \
	static int bit_##name(lua_State *L) \
	{ \
		int i, kind = 0; \
		unsigned long v = bits_of(L, 1, &kind); \
		for (i = 2; i <= lua_gettop(L); i++) \
			v op bits_of(L, i, &kind); \
		if (kind) \
			v = wide_bits(L, 1, kind); \
		for (i = 2; kind && i <= lua_gettop(L); i++) \
			v op wide_bits(L, i, kind); \
		return push_bits(L, v, kind); \
	}
#define BIT_SHIFT(name, expression, wide) \
	static int bit_##name(lua_State *L) \
	{ \
		int kind = 0; \
		unsigned long x = bits_of(L, 1, &kind); \
		unsigned int v = (unsigned int)x, n = bits(L, 2); \
		if (kind) { \
			n &= 63; \
			return push_bits(L, wide, kind); \
		} \
		n &= 31; \
		return push_bits(L, expression, 0); \
	}
BIT_FOLD(band, &=)
BIT_FOLD(bor, |=)
BIT_FOLD(bxor, ^=)
BIT_SHIFT(lshift, v << n, x << n)
BIT_SHIFT(rshift, v >> n, x >> n)
BIT_SHIFT(arshift, (unsigned int)((int)v >> n), (unsigned long)((long)x >> n))
BIT_SHIFT(rol, v << n | v >> (-n & 31), x << n | x >> (-n & 63))
BIT_SHIFT(ror, v >> n | v << (-n & 31), x >> n | x << (-n & 63))

static int bit_tobit(lua_State *L)
{
	return push_bits(L, bits(L, 1), 0);
}

static int bit_bnot(lua_State *L)
{
	int kind = 0;
	unsigned long v = ~bits_of(L, 1, &kind);

	return push_bits(L, v, kind);
}

static int bit_bswap(lua_State *L)
{
	int kind = 0;
	unsigned long v = bits_of(L, 1, &kind);

	return push_bits(L, kind ? __builtin_bswap64(v) : __builtin_bswap32((unsigned int)v), kind);
}

/* bit.tohex(v [, digits]): capitals where digits < 0; at most 254 */
static int bit_tohex(lua_State *L)
{
	int kind = 0;
	unsigned long v = bits_of(L, 1, &kind);
	long i;
	long n = lua_isnone(L, 2) ? (kind ? 16 : 8) : (int)bits(L, 2), digits = n < 0 ? -n : n;
	char text[254];

	if (digits > (long)sizeof(text))
		digits = sizeof(text);
	memset(text, '0', sizeof(text));
	for (i = digits; i > 0 && v; v >>= 4)
		text[--i] = (n < 0 ? "0123456789ABCDEF" : "0123456789abcdef")[v & 15];
	lua_pushlstring(L, text, digits);
	return 1;
}

/* -- Tables ---------------------------------------------------------------------------- */

/* Must elements be moved from the last to the first, so as not to overwrite unread ones? */
static bool moves_down(lua_State *L)
{
	long at = lua_tonumber(L, 4);

	return num_lt(lua_tonumber(L, 2), at) && num_le(at, lua_tonumber(L, 3)) &&
	       lua_rawequal(L, 1, 5);
}

/*
 * The stack after the arguments: the destination index; then the source index and the element, if
 * __index() has returned, or the element alone, if __newindex() has.
 */
static int move_on(lua_State *L, int failed)
{
	long first = lua_tonumber(L, 2), last = lua_tonumber(L, 3);
	long by = num_sub(lua_tonumber(L, 4), first), i = num_sub(lua_tonumber(L, 6), by);
	long step = moves_down(L) ? -1 : 1;

	(void)failed;
	if (lua_gettop(L) == 8) {
		lua_remove(L, 7);
		lua_settable(L, 5);
	}
	for (i = num_add(i, step); num_le(first, i) && num_le(i, last); i = num_add(i, step)) {
		luai_threadyield(L);
		lua_settop(L, 5);
		lua_pushnumber(L, num_add(i, by));
		lua_pushnumber(L, i);
		lua_gettable(L, 1);
		lua_settable(L, 5);
	}
	lua_settop(L, 5);
	return 1;
}

/* table.move(from, first, last, at [, to]): the indexes may be any numbers, as in a loop in Lua */
static int table_move(lua_State *L)
{
	long first, last, at;

	luaL_checktype(L, 1, LUA_TTABLE);
	first = luaL_checknumber(L, 2);
	last = luaL_checknumber(L, 3);
	at = luaL_checknumber(L, 4);
	if (lua_isnoneornil(L, 5)) {
		lua_settop(L, 4);
		lua_pushvalue(L, 1);
	}
	luaL_checktype(L, 5, LUA_TTABLE);
	lua_settop(L, 5);
	first = moves_down(L) ? num_add(last, 1) : num_sub(first, 1);
	lua_pushnumber(L, num_add(first, num_sub(at, lua_tonumber(L, 2))));
	lua_pushnil(L);
	return move_on(L, 0);
}

#include "frames.c"

/* -- All of them --------------------------------------------------------------------------- */

static const luaL_Reg no_functions[] = { { NULL, NULL } };

static const luaL_Reg util_functions[] = {
	{ "peek", util_peek }, { "poke", util_poke }, { "copyin", util_copyin },
	{ "copyout", util_copyout }, { "str_in", util_str_in }, { "str_out", util_str_out },
	{ "fill", util_fill }, { "compare", util_compare }, { "buffer", util_buffer },
	{ "pending", util_pending }, { "find", util_find }, { "number", util_number },
	{ "crc32", util_crc32 },
	{ NULL, NULL },
};

static const luaL_Reg table_functions[] = {
	{ "move", table_move },
	{ NULL, NULL },
};

static const luaL_Reg bit_functions[] = {
	{ "tobit", bit_tobit }, { "band", bit_band }, { "bor", bit_bor }, { "bxor", bit_bxor },
	{ "bnot", bit_bnot }, { "bswap", bit_bswap }, { "lshift", bit_lshift },
	{ "rshift", bit_rshift }, { "arshift", bit_arshift }, { "rol", bit_rol },
	{ "ror", bit_ror }, { "tohex", bit_tohex },
	{ NULL, NULL },
};

static const char *luai_name(lua_State *L)
{
	static const luaL_Reg others[] = {
		{ "print", print }, { "pairs", luaB_pairs }, { "ipairs", luaB_ipairs },
		{ NULL, NULL },
	};
	static const luaL_Reg *const libraries[] = {
		base_funcs, co_funcs, tab_funcs, strlib, table_functions, others,
		bit_functions, math_functions, random_functions, util_functions,
		net_functions, fs_functions, frame_functions, port_functions,
	};
	lua_CFunction f = curr_func(L)->c.f;
	const luaL_Reg *reg;
	size_t i;

	for (i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		for (reg = libraries[i]; reg->name; reg++)
			if (reg->func == f)
				return reg->name;
	return "?";
}

/* Creates a global table whose other fields @index computes on first access. */
static void lazy_table(lua_State *L, const char *name, const luaL_Reg *functions,
		       lua_CFunction index)
{
	luaL_register(L, name, functions);
	lua_createtable(L, 0, 1);
	lua_pushcfunction(L, index);
	lua_setfield(L, -2, "__index");
	lua_setmetatable(L, -2);
}

/* (table, name) raises an error; upvalue: the library */
static int refused_index(lua_State *L)
{
	return luaL_error(L, "this script may not use '%s': it is not among its rights",
			  lua_tostring(L, lua_upvalueindex(1)));
}

/* Replaces libraries that the script may not use by tables that refuse every access. */
static void limit_libraries(lua_State *L, const struct runtime_call *call)
{
	static const struct { const char *name; uint64_t library; } libraries[] = {
		{ "util", SYSCRIPT_LIBRARY_UTIL }, { "fs", SYSCRIPT_LIBRARY_FS },
		{ "net", SYSCRIPT_LIBRARY_NET },
	};
	size_t i;

	for (i = 0; call->only && i < ARRAY_SIZE(libraries); i++) {
		if (call->libraries & libraries[i].library)
			continue;
		lua_createtable(L, 0, 0);
		lua_createtable(L, 0, 1);
		lua_pushstring(L, libraries[i].name);
		lua_pushcclosure(L, refused_index, 1);
		lua_setfield(L, -2, "__index");
		lua_setmetatable(L, -2);
		lua_setglobal(L, libraries[i].name);
	}
}

/*
 * lib_quick.c: add compiled code's variants of functions in the table on the stack's top, and of
 * Lua's own.
 */
static void set_quick_util(lua_State *L);
static void set_quick_lua(lua_State *L);

static void open_libraries(lua_State *L)
{
	luaopen_base(L);
	luaopen_table(L);
	luaL_register(L, "table", table_functions);
	luaopen_string(L);
	lua_pushcfunction(L, print);
	lua_setglobal(L, "print");
	luaL_register(L, "bit", bit_functions);
	open_math(L);
	set_quick_lua(L);
	open_int64(L);
	lazy_table(L, "util", util_functions, util_index);
	set_quick_util(L);
	lazy_table(L, "syscall", no_functions, syscall_index);
	lazy_table(L, "errno", no_functions, errno_index);
	lazy_table(L, "const", no_functions, const_index);
	open_net(L);
	luaL_register(L, "fs", fs_functions);
	open_frames(L);
}
