// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Builds strings from parts for compiled functions: "..", string.format() and gsub().
 *
 * Lua allocates a string for each number among the parts, interprets a pattern again at each
 * character, and grows a buffer on its stack.  Here all parts go to one static buffer.  Results
 * that do not fit in it, and parts that are no strings or numbers, are left to Lua: no state
 * changes before the result is complete.
 */

/* struct join - the buffer is filled up to @to */
struct join {
	char *to;
};

#define JOINED_END	(room + ROOM)
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
	p = put_digits(p, u);
	if (!v)
		*--p = '0';
	if (v < 0)
		*--p = '-';
	return join_text(join, p, digits + sizeof(digits) - p);
}

/* Any number, as tostring() has it. */
static __attribute__((noinline)) bool join_any(struct join *join, long n)
{
	struct format f = { .precision = 14, .conversion = 'g' };

	if (JOINED_END - join->to < ITEM_MAX)
		return false;
	join->to = put_double(join->to, &f, num_bits(n));
	return true;
}

static bool join_value(struct join *join, const TValue *o)
{
	if (ttisstring(o))
		return join_text(join, svalue(o), tsvalue(o)->len);
	if (!ttisnumber(o))
		return false;
	if (num_is_int(nvalue(o)) && join_integer(join, nvalue(o)))
		return true;
	return join_any(join, nvalue(o));
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

static long join_elements(lua_State *L, StkId ra, const TValue *from, const TValue *last,
			  const char *separator, unsigned long separator_len)
{
	struct join join = { room };

	for (; from <= last; from++)
		if (!join_value(&join, from) ||
		    (from < last && !join_text(&join, separator, separator_len)))
			return 0;
	join_end(L, ra, &join);
	check_collector(L);
	return 1;
}

/* -- string.format() --------------------------------------------------------------------------- */

/* Writes a string or an integer, truncated or padded as the format's item says. */
static bool join_padded(struct join *join, const struct format *f, const TValue *o)
{
	char *begin = join->to;
	long fill;

	if (!join_value(join, o))
		return false;
	if (f->precision >= 0 && join->to - begin > f->precision)
		join->to = begin + f->precision;
	fill = f->width - (join->to - begin);
	if (fill <= 0)
		return true;
	if (fill > JOINED_END - join->to)
		return false;
	if (!f->left) {
		memmove(begin + fill, begin, join->to - begin);
		put_many(begin, ' ', fill);
	} else {
		put_many(join->to, ' ', fill);
	}
	join->to += fill;
	return true;
}

static bool join_number(struct join *join, const struct format *f, const TValue *o)
{
	char c;

	if (!ttisnumber(o) || !num_is_int(nvalue(o)) || JOINED_END - join->to < ITEM_MAX)
		return false;
	c = (char)nvalue(o);
	if (f->conversion != 'c')
		join->to = put_integer(join->to, f, nvalue(o));
	else if (nvalue(o) == (int)nvalue(o))
		join->to = put_padded(join->to, f, "", &c, 1, 0);
	else
		return false;
	return true;
}

static bool join_double(struct join *join, struct format *f, const TValue *o)
{
	if (!ttisnumber(o) || JOINED_END - join->to < ITEM_MAX)
		return false;
	join->to = put_double(join->to, f, num_bits(nvalue(o)));
	return true;
}

/*
 * Writes the argument at @o as the format's item at @s says; returns what follows the item, or
 * NULL: Lua has to do it.
 */
static const char *join_item(struct join *join, const char *s, const TValue *o)
{
	struct format f;

	if (s[1] == 'd')
		return ttisnumber(o) && num_is_int(nvalue(o)) && join_integer(join, nvalue(o)) ?
			       s + 2 : NULL;
	if (s[1] == 's')
		return join_value(join, o) ? s + 2 : NULL;
	s = parse_format(&f, s + 1);
	switch (f.conversion) {
	case 'd': case 'i': case 'x': case 'X': case 'c':
		return join_number(join, &f, o) ? s + 1 : NULL;
	case 's':
		return join_padded(join, &f, o) ? s + 1 : NULL;
	case 'e': case 'E': case 'f': case 'g': case 'G':
		return join_double(join, &f, o) ? s + 1 : NULL;
	default:
		return NULL;
	}
}

/* Copies the format's text up to the next item, or its end; NULL: it does not fit. */
static const char *join_plain(struct join *join, const char *s, const char *end)
{
	const char *next;

	for (; s < end; s = next) {
		for (next = s; next < end && *next != '%';)
			next++;
		if (next > s && !join_text(join, s, next - s))
			return NULL;
		if (next == end || next[1] != '%')
			return next;
		if (!join_text(join, "%", 1))
			return NULL;
		next += 2;
	}
	return s;
}

static long compiled_format(lua_State *L, StkId ra, long nargs)
{
	const TValue *arg = ra + 2, *last = ra + nargs;
	struct join join = { room };
	const char *s, *end;

	if (!ttisstring(ra + 1))
		return 0;
	s = svalue(ra + 1);
	end = s + tsvalue(ra + 1)->len;
	while (s && (s = join_plain(&join, s, end)) && s < end)
		s = arg <= last ? join_item(&join, s, arg++) : NULL;
	if (!s)
		return 0;
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
 * The compiled pattern for the string.gsub() that Lua is about to do. It was compiled for the
 * string @text, which another string may have replaced by now.
 */
static struct {
	const char *text;
	unsigned long len;
	unsigned int hash;
	struct gsub_form form;
} known;

/* In lstrlib.c: finds the compiled form of a pattern. */
static struct gsub_form gsub_form(const TValue *pattern)
{
	const char *text = known.text;

	known.text = NULL;
	if (svalue(pattern) != text || tsvalue(pattern)->hash != known.hash ||
	    tsvalue(pattern)->len != known.len)
		return (struct gsub_form){ 0 };
	return known.form;
}

/* In lstrlib.c: the next match from @g->src on, with the text before it in the result. */
static bool gsub_find(MatchState *ms, struct gsub *g)
{
	unsigned int i;

	g->e = ((matcher *)g->form.number)(g->src, ms->src_end, ms->src_init);
	if (!g->e)
		return false;
	luaL_addlstring(&g->b, g->src, found.start - g->src);
	g->src = found.start;
	ms->level = FOUND_COUNT(g->form.what);
	for (i = 0; i < FOUND_COUNT(g->form.what); i++) {
		bool is_position = FOUND_IS_POSITION(g->form.what, i);
		long len = found.captures[i].len;

		ms->capture[i].init = is_position ? ms->src_init + len - 1 : found.captures[i].at;
		ms->capture[i].len = is_position ? CAP_POSITION : len;
	}
	return true;
}

/* Makes all replacements; 0: Lua has to do it. */
static long replace_all(lua_State *L, StkId ra, unsigned long number, unsigned long what)
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

/*
 * string.gsub() with three arguments, and the function of the compiled pattern; 0 is returned
 * if Lua has to do it, as for a replacement that is a function, or a table with a metatable: but
 * it need not look at the pattern.
 */
static long compiled_gsub(lua_State *L, StkId ra, unsigned long number, unsigned long what)
{
	const TString *pattern = rawtsvalue(ra + 2);

	if (replace_all(L, ra, number, what))
		return 1;
	known.text = getstr(pattern);
	known.len = pattern->tsv.len;
	known.hash = pattern->tsv.hash;
	known.form = (struct gsub_form){ number, what };
	return 0;
}
