// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Integers of 64 bits, as LuaJIT's cdata of int64_t and uint64_t: literals, and what system calls
 * and memory have where a Lua number, which holds integers up to 2^53, cannot hold the value.
 * They wrap around, and uint64_t wins where both meet; numbers are converted. Each is an object:
 * as keys of tables two that are equal differ.
 */

/* The metatable of each kind. */
static HOT Table *int64_metatables[3];

static inline int int64_is(const Table *metatable)
{
	return metatable == int64_metatables[INT64_SIGNED]   ? INT64_SIGNED :
	       metatable == int64_metatables[INT64_UNSIGNED] ? INT64_UNSIGNED :
							       0;
}

static inline int int64_kind(const TValue *o)
{
	return ttisuserdata(o) ? int64_is(uvalue(o)->metatable) : 0;
}

static inline unsigned long *int64_bits(const TValue *o)
{
	return (unsigned long *)(rawuvalue(o) + 1);
}

/* Not in the list of objects that may have finalizers. */
static void int64_set(lua_State *L, TValue *o, unsigned long bits, int kind)
{
	Udata *u = luaM_malloc(L, sizeof(*u) + sizeof(bits));

	luaC_link(L, obj2gco(u), LUA_TUSERDATA);
	u->uv.len = sizeof(bits);
	u->uv.metatable = int64_metatables[kind];
	u->uv.env = hvalue(gt(L));
	setuvalue(L, o, u);
	*int64_bits(o) = bits;
}

/* -- Operators ------------------------------------------------------------------------- */

/* As x86's instructions convert: what is out of range becomes -2^63. */
static unsigned long int64_of_number(long n, int kind)
{
	long v = num_to_long(n);

	if (v == LONG_MIN && kind == INT64_UNSIGNED)
		v = num_to_long(num_sub(n, num_scale(1, 64)));
	return v;
}

static bool int64_operand(const TValue *o, int kind, unsigned long *bits)
{
	if (ttisnumber(o))
		*bits = int64_of_number(nvalue(o), kind);
	else if (int64_kind(o))
		*bits = *int64_bits(o);
	else
		return false;
	return true;
}

/* The kind of the result, or 0 if there is none. */
static int int64_operands(const TValue *b, const TValue *c, unsigned long *x, unsigned long *y)
{
	int kind_b = int64_kind(b), kind_c = int64_kind(c);
	int kind = kind_b > kind_c ? kind_b : kind_c;

	return kind && int64_operand(b, kind, x) && int64_operand(c, kind, y) ? kind : 0;
}

static const char *int64_name(const TValue *o)
{
	static const char *const names[] = { NULL, "int64_t", "uint64_t" };
	int kind = int64_kind(o);

	return kind ? names[kind] : o == luaO_nilobject ? "nil" : luaT_typenames[ttype(o)];
}

static unsigned long int64_divided(unsigned long x, unsigned long y, int kind)
{
	if (!y)
		return 1UL << 63;
	if (kind == INT64_UNSIGNED)
		return x / y;
	return y == ~0UL ? -x : (unsigned long)((long)x / (long)y);
}

static unsigned long int64_rest(unsigned long x, unsigned long y, int kind)
{
	if (!y)
		return 1UL << 63;
	if (kind == INT64_UNSIGNED)
		return x % y;
	return y == ~0UL ? 0 : (unsigned long)((long)x % (long)y);
}

static unsigned long int64_power(unsigned long x, unsigned long n, int kind)
{
	unsigned long power = 1;

	if (kind == INT64_SIGNED && (long)n < 0) {
		if (!x)
			return LONG_MAX;
		return x == 1 ? 1 : x != ~0UL ? 0 : n & 1 ? ~0UL : 1;
	}
	for (; n; n >>= 1, x *= x)
		if (n & 1)
			power *= x;
	return power;
}

/* R(ra) = the result; 0 if this is left to metamethods, of which the first operand's comes first. */
static int int64_arith(lua_State *L, StkId ra, const TValue *rb, const TValue *rc, TMS op)
{
	unsigned long x, y;
	int kind;

	if (!int64_kind(rb) && (!int64_kind(rc) || !ttisnil(luaT_gettmbyobj(L, rb, op))))
		return 0;
	kind = int64_operands(rb, rc, &x, &y);
	if (!kind)
		luaG_runerror(L, "attempt to perform arithmetic on '%s' and '%s'", int64_name(rb),
			      int64_name(rc));
	switch (op) {
	case TM_ADD: x += y; break;
	case TM_SUB: x -= y; break;
	case TM_MUL: x *= y; break;
	case TM_DIV: x = int64_divided(x, y, kind); break;
	case TM_MOD: x = int64_rest(x, y, kind); break;
	case TM_POW: x = int64_power(x, y, kind); break;
	default: x = -x;
	}
	int64_set(L, ra, x, kind);
	luaC_checkGC(L);
	return 1;
}

/* Is @l less than @r?  -1 if neither is such an integer. */
static int int64_order(lua_State *L, const TValue *l, const TValue *r, int or_equal)
{
	unsigned long x, y;
	int kind;

	if (!int64_kind(l) && !int64_kind(r))
		return -1;
	kind = int64_operands(l, r, &x, &y);
	if (!kind)
		luaG_runerror(L, "attempt to compare '%s' with '%s'", int64_name(l), int64_name(r));
	if (x == y)
		return or_equal;
	return kind == INT64_UNSIGNED ? x < y : (long)x < (long)y;
}

static int int64_equals(const TValue *l, const TValue *r)
{
	unsigned long x, y;

	return int64_operands(l, r, &x, &y) && x == y;
}

/* -- Literals -------------------------------------------------------------------------- */

/* The kind that a literal's suffix names, or 0. */
static int int64_suffix(const char *s)
{
	int kind = INT64_SIGNED;

	if ((*s | 32) == 'u') {
		kind = INT64_UNSIGNED;
		s++;
	}
	if ((s[0] | 32) != 'l' || (s[1] | 32) != 'l')
		return 0;
	s += 2;
	if ((*s | 32) == 'u' && kind == INT64_SIGNED) {
		kind = INT64_UNSIGNED;
		s++;
	}
	return *s ? 0 : kind;
}

static int int64_parse(const char *s, long *bits)
{
	unsigned long v = 0;
	int base = 10, digit;
	const char *first;

	if (*s == '0' && ((s[1] | 32) == 'x' || (s[1] | 32) == 'b')) {
		base = (s[1] | 32) == 'x' ? 16 : 2;
		s += 2;
	}
	for (first = s; (digit = digit_of(*s)) < base; s++) {
		if (v > (~0UL - digit) / base)
			return 0;
		v = v * base + digit;
	}
	*bits = (long)v;
	return s > first ? int64_suffix(s) : 0;
}

/* Negates a constant. */
static int int64_negate(TValue *o)
{
	int kind = int64_kind(o);

	if (kind)
		*int64_bits(o) = -*int64_bits(o);
	return kind;
}

/* -- Functions of C ---------------------------------------------------------------------- */

static void push_int64(lua_State *L, unsigned long bits, int kind)
{
	luaC_checkGC(L);
	int64_set(L, L->top, bits, kind);
	api_incr_top(L);
}

static void push_long(lua_State *L, long v)
{
	if (v >= -(1L << 53) && v <= 1L << 53)
		return lua_pushinteger(L, v);
	push_int64(L, v, INT64_SIGNED);
}

static void push_ulong(lua_State *L, unsigned long v)
{
	if (v <= 1UL << 53)
		return lua_pushinteger(L, (long)v);
	push_int64(L, v, INT64_UNSIGNED);
}

/* For tonumber(): pushes the number that is nearest. */
static int int64_tonumber(lua_State *L, int i)
{
	const TValue *o = index2adr(L, i);
	int kind = int64_kind(o);

	if (kind)
		lua_pushnumber(L, kind == INT64_SIGNED ? num_of_long((long)*int64_bits(o)) :
							 num_of_ulong(*int64_bits(o)));
	return kind;
}

/* Is value @i an integer? */
static bool to_long(lua_State *L, int i, long *v)
{
	const TValue *o = index2adr(L, i);

	if (ttisnumber(o)) {
		*v = nvalue(o);
		return num_is_int(*v) || num_is_integer(*v, v);
	}
	if (!int64_kind(o))
		return false;
	*v = (long)*int64_bits(o);
	return true;
}

/* The number for the error message of an argument that is no integer. */
static int no_integer(lua_State *L, long n)
{
	bool beyond = num_lt(num_of_long(1L << 53), n) || num_lt(n, num_of_long(-(1L << 53)));

	lua_pushnumber(L, n);
	return luaL_error(L, beyond ? "%s is beyond the integers that a number holds" :
				      "integer expected, got %s", lua_tostring(L, -1));
}

static long check_long(lua_State *L, int i)
{
	long v, n;

	if (to_long(L, i, &v))
		return v;
	n = luaL_checknumber(L, i);
	if (!num_is_integer(n, &v))
		no_integer(L, n);
	return v;
}

static int int64_tostring(lua_State *L)
{
	const TValue *o = index2adr(L, 1);
	char text[32], *p = text + sizeof(text);
	int kind = int64_kind(o);
	unsigned long v;

	if (!kind)
		return luaL_typerror(L, 1, "cdata");
	v = *int64_bits(o);
	*--p = 'L';
	*--p = 'L';
	if (kind == INT64_UNSIGNED)
		*--p = 'U';
	else if ((long)v < 0)
		v = -v;
	do
		*--p = '0' + v % 10;
	while (v /= 10);
	if (kind == INT64_SIGNED && (long)*int64_bits(o) < 0)
		*--p = '-';
	lua_pushlstring(L, p, text + sizeof(text) - p);
	return 1;
}

static int int64_concat(lua_State *L)
{
	return luaL_error(L, "attempt to concatenate '%s' and '%s'", int64_name(index2adr(L, 1)),
			  int64_name(index2adr(L, 2)));
}

static int int64_len(lua_State *L)
{
	return luaL_error(L, "attempt to get length of '%s'", int64_name(index2adr(L, 1)));
}

static void open_int64(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "__concat", int64_concat }, { "__len", int64_len },
		{ "__tostring", int64_tostring }, { NULL, NULL },
	};
	int kind;

	for (kind = INT64_SIGNED; kind <= INT64_UNSIGNED; kind++) {
		luaL_newmetatable(L, kind == INT64_SIGNED ? "int64_t" : "uint64_t");
		luaL_register(L, NULL, methods);
		lua_pushliteral(L, "ffi");
		lua_setfield(L, -2, "__metatable");
		int64_metatables[kind] = hvalue(L->top - 1);
		lua_pop(L, 1);
	}
}
