// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The math library: LuaJIT's functions, with its results. */

static int math_abs(lua_State *L)
{
	lua_pushnumber(L, num_of_bits(num_bits(luaL_checknumber(L, 1)) & ~MINUS));
	return 1;
}

#define MATH_UNARY(name) \
	static int math_##name(lua_State *L) \
	{ \
		lua_pushnumber(L, num_##name(luaL_checknumber(L, 1))); \
		return 1; \
	}
#define MATH_BINARY(name) \
	static int math_##name(lua_State *L) \
	{ \
		long a = luaL_checknumber(L, 1); \
		lua_pushnumber(L, num_##name(a, luaL_checknumber(L, 2))); \
		return 1; \
	}

MATH_UNARY(floor)
MATH_UNARY(ceil)
MATH_UNARY(sqrt)
MATH_UNARY(exp)
MATH_UNARY(log10)
MATH_UNARY(sin)
MATH_UNARY(cos)
MATH_UNARY(tan)
MATH_UNARY(asin)
MATH_UNARY(acos)
MATH_UNARY(atan)
MATH_UNARY(sinh)
MATH_UNARY(cosh)
MATH_UNARY(tanh)
MATH_BINARY(atan2)
MATH_BINARY(fmod)
MATH_BINARY(pow)

static int math_log(lua_State *L)
{
	long a = luaL_checknumber(L, 1);

	if (lua_gettop(L) < 2)
		a = num_log(a);
	else
		a = num_mul(num_log2(a), num_div(1, num_log2(luaL_checknumber(L, 2))));
	lua_pushnumber(L, a);
	return 1;
}

/*
 * By one multiplication, as LuaJIT: other ways round differently. An integer of 64 bits is
 * multiplied by one.
 */
static int math_scaled(lua_State *L, long by)
{
	const TValue *o = index2adr(L, 1);
	int kind = int64_kind(o);

	if (kind)
		push_int64(L, *int64_bits(o) * int64_of_number(by, kind), kind);
	else
		lua_pushnumber(L, num_mul(luaL_checknumber(L, 1), by));
	return 1;
}

static int math_deg(lua_State *L)
{
	return math_scaled(L, num_of_bits(0x404ca5dc1a63c1f8UL));
}

static int math_rad(lua_State *L)
{
	return math_scaled(L, num_of_bits(0x3f91df46a2529d39UL));
}

/* The exponent is truncated to an integer; a NaN exponent gives NaN, and -0 counts as 0. */
static int math_ldexp(lua_State *L)
{
	long a = luaL_checknumber(L, 1), b = luaL_checknumber(L, 2);

	if (num_lt(9999, b))
		b = 9999;
	if (num_lt(b, -9999))
		b = -9999;
	a = num_add(num_scale(a, num_to_int(b)), 0);
	lua_pushnumber(L, b == NUM_NAN ? b : a);
	return 1;
}

static int math_frexp(lua_State *L)
{
	long a = luaL_checknumber(L, 1);
	unsigned long bits = num_bits(a);
	int exponent = 0;

	if (bits << 1 && EXPONENT(bits) != 0x7ff) {
		if (!EXPONENT(bits)) {
			bits = num_bits(num_scale(a, 54));
			exponent = -54;
		}
		exponent += EXPONENT(bits) - 1022;
		bits = (bits & ~(0x7ffUL << 52)) | 1022UL << 52;
	}
	lua_pushnumber(L, num_of_bits(bits));
	lua_pushinteger(L, exponent);
	return 2;
}

/* Both parts have the number's sign. */
static int math_modf(lua_State *L)
{
	long a = luaL_checknumber(L, 1), whole = num_trunc(a);
	unsigned long sign = num_bits(a) & MINUS, rest = num_bits(num_sub(a, whole)) & ~MINUS;

	if ((num_bits(a) & ~MINUS) == num_bits(NUM_INFINITY))
		rest = 0;
	lua_pushnumber(L, whole);
	lua_pushnumber(L, num_of_bits(rest | sign));
	return 2;
}

/* A NaN, which is unordered, is replaced by the next argument. */
static int extreme(lua_State *L, bool largest)
{
	long best = luaL_checknumber(L, 1), n;
	int i;

	for (i = 2; i <= lua_gettop(L); i++) {
		n = luaL_checknumber(L, i);
		if (!(largest ? num_lt(n, best) : num_lt(best, n)))
			best = n;
	}
	lua_pushnumber(L, best);
	return 1;
}

static int math_max(lua_State *L)
{
	return extreme(L, true);
}

static int math_min(lua_State *L)
{
	return extreme(L, false);
}

/* -- Random numbers: LuaJIT's generator (lj_prng.c, MIT), Tausworthe's with 223 bits --- */

struct generator {
	unsigned long u[4];
};

static unsigned long generator_step(struct generator *g)
{
	static const unsigned char k[] = { 63, 58, 55, 47 }, q[] = { 31, 19, 24, 21 },
				   s[] = { 18, 28, 7, 8 };
	unsigned long r = 0, z;
	int i;

	for (i = 0; i < 4; i++) {
		z = g->u[i];
		z = (((z << q[i]) ^ z) >> (k[i] - s[i])) ^ ((z & (~0UL << (64 - k[i]))) << s[i]);
		r ^= z;
		g->u[i] = z;
	}
	return r;
}

static void generator_seed(struct generator *g, long n)
{
	static const unsigned char least[] = { 1, 6, 9, 17 };
	const long pi = num_of_bits(0x400921fb54442d18UL), e = num_of_bits(0x4005bf0a8b145769UL);
	int i;

	for (i = 0; i < 4; i++) {
		n = num_add(num_mul(n, pi), e);
		g->u[i] = num_bits(n);
		if (g->u[i] < 1UL << least[i])
			g->u[i] += 1UL << least[i];
	}
	for (i = 0; i < 10; i++)
		generator_step(g);
}

static int math_random(lua_State *L)
{
	struct generator *g = lua_touserdata(L, lua_upvalueindex(1));
	unsigned long bits = FRACTION(generator_step(g)) | 1023UL << 52;
	long d = num_sub(num_of_bits(bits), 1), first = 1, last;
	int n = lua_gettop(L);

	if (n > 0) {
		last = luaL_checknumber(L, 1);
		if (n > 1) {
			first = last;
			last = luaL_checknumber(L, 2);
			last = num_add(num_sub(last, first), 1);
		}
		d = num_add(num_floor(num_mul(d, last)), first);
	}
	lua_pushnumber(L, d);
	return 1;
}

static int math_randomseed(lua_State *L)
{
	struct generator *g = lua_touserdata(L, lua_upvalueindex(1));
	long args[6] = { (long)g->u, sizeof(g->u), 0 };

	if (lua_gettop(L)) {
		generator_seed(g, luaL_checknumber(L, 1));
	} else {
		runtime_syscall(__NR_getrandom, args);
		g->u[0] |= 1UL << 1;
		g->u[1] |= 1UL << 6;
		g->u[2] |= 1UL << 9;
		g->u[3] |= 1UL << 17;
	}
	return 0;
}

/* -- The library ------------------------------------------------------------------------ */

static const luaL_Reg math_functions[] = {
	{ "abs", math_abs }, { "floor", math_floor }, { "ceil", math_ceil },
	{ "sqrt", math_sqrt }, { "frexp", math_frexp }, { "modf", math_modf },
	{ "deg", math_deg }, { "rad", math_rad }, { "pow", math_pow }, { "fmod", math_fmod },
	{ "ldexp", math_ldexp }, { "log", math_log }, { "log10", math_log10 },
	{ "exp", math_exp }, { "sin", math_sin }, { "cos", math_cos }, { "tan", math_tan },
	{ "asin", math_asin }, { "acos", math_acos }, { "atan", math_atan },
	{ "atan2", math_atan2 }, { "sinh", math_sinh }, { "cosh", math_cosh },
	{ "tanh", math_tanh }, { "min", math_min }, { "max", math_max },
	{ NULL, NULL },
};

static const luaL_Reg random_functions[] = {
	{ "random", math_random }, { "randomseed", math_randomseed }, { NULL, NULL },
};

static void open_math(lua_State *L)
{
	luaL_register(L, "math", math_functions);
	lua_pushnumber(L, num_of_bits(0x400921fb54442d18UL));
	lua_setfield(L, -2, "pi");
	lua_pushnumber(L, NUM_INFINITY);
	lua_setfield(L, -2, "huge");
	generator_seed(lua_newuserdata(L, sizeof(struct generator)), 0);
	luaI_openlib(L, NULL, random_functions, 1);
	lua_pop(L, 1);
}
