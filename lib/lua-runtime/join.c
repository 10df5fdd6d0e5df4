// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Builds strings from parts for compiled functions: "..", string.format() and gsub().
 *
 * Lua allocates a string for each number among the parts, interprets a pattern again at each
 * character, and grows a buffer on its stack.  Here all parts go to one static buffer.  Results
 * that do not fit in it, and parts that are no strings or short integers, are left to Lua: no
 * state changes before the result is complete.
 */

/* struct join - the buffer is filled up to @to */
struct join {
	char *to;
};

#define JOINED_END	(room + sizeof(room))
/* Integers with more digits are printed with an exponent. */
#define DIGITS_MOST	14
#define SHORTER		100000000000000L

static inline bool join_text(struct join *join, const char *text, unsigned long n)
{
	if (n > (unsigned long)(JOINED_END - join->to))
		return false;
	join->to = copy_text(join->to, text, n);
	return true;
}

static bool join_integer(struct join *join, long v)
{
	char digits[DIGITS_MOST + 1], *p = digits + sizeof(digits);
	unsigned long u = v < 0 ? -v : v;

	if (v <= -SHORTER || v >= SHORTER)
		return false;
	do
		*--p = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		*--p = '-';
	return join_text(join, p, digits + sizeof(digits) - p);
}

static bool join_value(struct join *join, const TValue *o)
{
	if (ttisstring(o))
		return join_text(join, svalue(o), tsvalue(o)->len);
	return ttisnumber(o) && num_is_int(nvalue(o)) && join_integer(join, nvalue(o));
}

static inline long join_end(lua_State *L, StkId to, const struct join *join)
{
	put_text(L, to, room, join->to - room);
	return 1;
}

/* Joins the values from @from to @last at @to; returns 0 if Lua has to do it. */
static long join_values(lua_State *L, StkId to, const TValue *from, const TValue *last)
{
	struct join join = { room };

	for (; from <= last; from++)
		if (!join_value(&join, from))
			return 0;
	return join_end(L, to, &join);
}

/* -- string.format() --------------------------------------------------------------------------- */

/* Formats the argument at @o; false if Lua has to do it. */
static bool join_item(struct join *join, const struct format *f, const TValue *o)
{
	switch (f->conversion) {
	case 'd': case 'x': case 'X':
		if (!ttisnumber(o) || !num_is_int(nvalue(o)) || JOINED_END - join->to < ITEM_MAX)
			return false;
		join->to = put_integer(join->to, f, nvalue(o));
		return true;
	case 's':
		return !f->width && f->precision < 0 && join_value(join, o);
	default:
		return false;
	}
}

static long compiled_format(lua_State *L, StkId ra, long nargs)
{
	const TValue *arg = ra + 2, *last = ra + nargs;
	struct join join = { room };
	const char *s, *end;
	struct format f;

	if (!ttisstring(ra + 1))
		return 0;
	s = svalue(ra + 1);
	for (end = s + tsvalue(ra + 1)->len; s < end; s++) {
		if (*s == '%' && s[1] != '%') {
			s = parse_format(&f, s + 1);
			if (arg > last || !join_item(&join, &f, arg++))
				return 0;
			continue;
		}
		s += *s == '%';
		if (!join_text(&join, s, 1))
			return 0;
	}
	join_end(L, ra, &join);
	check_collector(L);
	return 1;
}

/* -- string.gsub() ----------------------------------------------------------------------------- */

typedef const char *matcher(const char *from, const char *end, const char *begin);

/* The text of the last match, which ends at @end, or of a capture; false for a position capture. */
static bool found_text(unsigned long what, const char *end, unsigned int i, const char **text,
		       unsigned long *n)
{
	if (i < FOUND_COUNT(what)) {
		*text = found.captures[i].at;
		*n = found.captures[i].len;
		return !FOUND_IS_POSITION(what, i);
	}
	*text = found.start;
	*n = end - found.start;
	return !i;
}

/* Expands a replacement string: "%1" is a capture, "%0" the match, "%%" a "%". */
static bool join_replaced(struct join *join, const TString *by, unsigned long what, const char *end)
{
	const char *s = getstr(by), *last = s + by->tsv.len, *text;
	unsigned long n;

	for (; s < last; s++) {
		if (*s != '%') {
			if (!join_text(join, s, 1))
				return false;
			continue;
		}
		s++;
		if (!is_digit(*s)) {
			if (*s != '%' || !join_text(join, s, 1))
				return false;
		} else if (*s == '0') {
			if (!join_text(join, found.start, end - found.start))
				return false;
		} else if (!found_text(what, end, *s - '1', &text, &n) || !join_text(join, text, n)) {
			return false;
		}
	}
	return true;
}

/*
 * Looks the first capture up in the replacement table; the match stays if the table has no value.
 */
static bool join_looked_up(lua_State *L, struct join *join, Table *by, unsigned long what,
			   const char *end)
{
	const char *text;
	const TValue *o;
	unsigned long n;

	if (!found_text(what, end, 0, &text, &n))
		return false;
	o = luaH_getstr(by, luaS_newlstr(L, text, n));
	if (l_isfalse(o))
		return join_text(join, found.start, end - found.start);
	return join_value(join, o);
}

static bool join_match(lua_State *L, struct join *join, const TValue *by, unsigned long what,
		       const char *end)
{
	if (ttisstring(by))
		return join_replaced(join, rawtsvalue(by), what, end);
	return join_looked_up(L, join, hvalue(by), what, end);
}

/*
 * string.gsub() with three arguments and a compiled pattern.  Returns 0 if Lua has to do it, for
 * instance if the replacement is a function, or a table with a metatable.
 */
static long compiled_gsub(lua_State *L, StkId ra, unsigned long number, unsigned long what)
{
	const char *begin, *from, *last, *end;
	struct join join = { room };
	const TValue *by = ra + 3;
	long n = 0;

	if (!ttisstring(by) && (!ttistable(by) || hvalue(by)->metatable))
		return 0;
	begin = from = svalue(ra + 1);
	last = begin + tsvalue(ra + 1)->len;
	while (from <= last && (end = ((matcher *)number)(from, last, begin))) {
		n++;
		if (!join_text(&join, from, found.start - from) || !join_match(L, &join, by, what, end))
			return 0;
		from = end;
		if (end == found.start) {
			if (from < last && !join_text(&join, from, 1))
				return 0;
			from++;
		}
		if (FOUND_IS_ANCHORED(what))
			break;
	}
	if (from < last && !join_text(&join, from, last - from))
		return 0;
	join_end(L, ra, &join);
	if (FOUND_WANTED(what) > 1)
		setnvalue(ra + 1, n);
	end_results(L, ra, put_nils(ra, 2, FOUND_WANTED(what)), what);
	return 1;
}
