// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * String functions for compiled code, without the cost of calling C functions from Lua: compiled
 * code has checked which function is called, and its arguments' types.  @ra is the stack slot of
 * the called function, which the arguments follow, and where results go.
 */

/* A buffer in which strings are built, with room behind it for the rest of a word. */
#define ROOM	2048
static char room[ROOM + sizeof(long)];

/* The last match of a compiled pattern: see layout.h. */
static HOT struct {
	const char *start;
	struct {
		const char *at;
		long len;
	} captures[FOUND_CAPTURES];
} found;

_Static_assert(sizeof(found) == FOUND_CAPTURE + FOUND_CAPTURES * FOUND_CAPTURE_SIZE, "found");

static inline void put_word(char *to, unsigned long word)
{
	memcpy(to, &word, sizeof(word));
}

/* To the buffer, by words: what follows the text is read, too, and what follows it is overwritten. */
static inline char *copy_text(char *to, const char *text, unsigned long n)
{
	unsigned long i = 0;

	do
		put_word(to + i, text_word(text + i));
	while ((i += sizeof(long)) < n);
	return to + n;
}

/* After new strings: luaC_checkGC() for a frame whose end is not in L->top. */
static inline void check_collector(lua_State *L)
{
	if (G(L)->totalbytes < G(L)->GCthreshold)
		return;
	L->top = L->ci->top;
	luaC_step(L);
}

static inline void put_text(lua_State *L, StkId to, const char *at, long len)
{
	setsvalue2s(L, to, luaS_newlstr(L, at, len));
}

static inline void put_capture(lua_State *L, StkId to, unsigned int i, unsigned long what)
{
	if (FOUND_IS_POSITION(what, i))
		setnvalue(to, found.captures[i].len)
	else
		put_text(L, to, found.captures[i].at, found.captures[i].len);
}

/* Sets the @wanted results beyond the first @n to nil; returns @n. */
static unsigned int put_nils(StkId to, unsigned int n, unsigned int wanted)
{
	unsigned int i;

	if (wanted != FOUND_ALL)
		for (i = n; i < wanted; i++)
			setnilvalue(to + i);
	return n;
}

/* No match: one nil. */
static unsigned int put_nil(StkId to, unsigned int wanted)
{
	setnilvalue(to);
	return put_nils(to, 1, wanted);
}

/*
 * Stores the captures, or the whole match, which ends at @end, as @wanted results; returns their
 * number.
 */
static unsigned int put_captures(lua_State *L, StkId to, const char *end, unsigned long what,
				 unsigned int wanted)
{
	unsigned int n = FOUND_COUNT(what), i = n < wanted ? n : wanted;

	if (!n) {
		if (wanted)
			put_text(L, to, found.start, end - found.start);
		return put_nils(to, 1, wanted);
	}
	if (i) {
		put_capture(L, to, 0, what);
		/* The second may replace the string that all are parts of: it comes last. */
		while (--i)
			put_capture(L, to + i, i, what);
	}
	return put_nils(to, n, wanted);
}

/* Ends a call with @n results from @ra on; the collector may move the stack. */
static void end_results(lua_State *L, StkId ra, unsigned int n, unsigned long what)
{
	ptrdiff_t at = savestack(L, ra);

	check_collector(L);
	if (FOUND_WANTED(what) == FOUND_ALL)
		L->top = restorestack(L, at) + n;
}

/* The results of string.match(). */
static long compiled_captures(lua_State *L, StkId ra, const char *end, unsigned long what)
{
	unsigned int wanted = FOUND_WANTED(what);

	end_results(L, ra, end ? put_captures(L, ra, end, what, wanted) : put_nil(ra, wanted),
		    what);
	return 0;
}

/* The results of string.find(): positions and captures. */
static unsigned int put_found(lua_State *L, StkId ra, const char *end, unsigned long what)
{
	const char *text = svalue(ra + 1);
	unsigned int wanted = FOUND_WANTED(what), n = 2;

	if (FOUND_COUNT(what) && wanted > 2)
		n += put_captures(L, ra + 2, end, what, wanted == FOUND_ALL ? wanted : wanted - 2);
	if (wanted)
		setnvalue(ra, found.start - text + 1);
	if (wanted > 1)
		setnvalue(ra + 1, end - text);
	return put_nils(ra, n, wanted);
}

static long compiled_found(lua_State *L, StkId ra, const char *end, unsigned long what)
{
	end_results(L, ra, end ? put_found(L, ra, end, what) : put_nil(ra, FOUND_WANTED(what)),
		    what);
	return 0;
}

/* The next iteration of a loop over string.gmatch(). */
static long compiled_gmatched(lua_State *L, StkId ra, const char *end, unsigned long what)
{
	CClosure *cl = &clvalue(ra)->c;
	long next = end - svalue(&cl->upvalue[0]) + (end == found.start);

	setnvalue(&cl->upvalue[2], next);
	put_captures(L, ra + 3, end, what, FOUND_WANTED(what));
	setobjs2s(L, ra + 2, ra + 3);
	check_collector(L);
	return 0;
}

/* string.sub() of a string and two integers; returns 0 if they are large. */
static long compiled_sub(lua_State *L, StkId ra, long from, long to)
{
	long len = tsvalue(ra + 1)->len;

	if (from != (int)from || to != (int)to)
		return 0;
	if (from < 0)
		from += len + 1;
	if (to < 0)
		to += len + 1;
	if (from < 1)
		from = 1;
	if (to > len)
		to = len;
	if (from > to)
		put_text(L, ra, "", 0);
	else
		put_text(L, ra, svalue(ra + 1) + from - 1, to - from + 1);
	check_collector(L);
	return 1;
}

/* The value of a hexadecimal digit; 16 for other characters. */
static inline unsigned int digit_value(unsigned char c)
{
	return c - '0' <= 9U ? c - '0' : (c | 0x20) - 'a' <= 5U ? (c | 0x20) - 'a' + 10U : 16U;
}

/* The number that a few digits in base 10 or 16 stand for; -1 for other text. */
static inline long read_digits(const unsigned char *s, unsigned long n, long base)
{
	unsigned long i;
	long v = 0;

	if (n - 1 >= (base == 10 ? 15 : 12))
		return -1;
	for (i = 0; i < n; i++) {
		unsigned int digit = base == 10 ? s[i] - '0' : digit_value(s[i]);

		if (digit >= base)
			return -1;
		v = v * base + digit;
	}
	return v;
}

/* tonumber() of a number, or of a few digits in base 10 or 16; otherwise returns 0. */
static long compiled_tonumber(lua_State *L, StkId ra, long nargs)
{
	const unsigned char *s;
	bool is_hex = nargs > 1;
	long v;

	if (is_hex && (!ttisnumber(ra + 2) || nvalue(ra + 2) != 16))
		return 0;
	if (!is_hex && ttisnumber(ra + 1)) {
		setobjs2s(L, ra, ra + 1);
		return 1;
	}
	if (!ttisstring(ra + 1))
		return 0;
	s = (const unsigned char *)svalue(ra + 1);
	v = is_hex ? read_digits(s, tsvalue(ra + 1)->len, 16) :
		     read_digits(s, tsvalue(ra + 1)->len, 10);
	if (v < 0)
		return 0;
	setnvalue(ra, v);
	return 1;
}

/* string.char() of integers; returns 0 if an argument is not an integer. */
static long compiled_chars(lua_State *L, StkId ra, long nargs)
{
	long i;

	for (i = 0; i < nargs; i++) {
		const TValue *o = ra + 1 + i;

		if (!ttisnumber(o) || (unsigned long)nvalue(o) > 255)
			return 0;
		room[i] = (char)nvalue(o);
	}
	put_text(L, ra, room, nargs);
	check_collector(L);
	return 1;
}

/* table.insert() at the end of a table; returns 0 if the argument is not a table. */
static long compiled_inserted(lua_State *L, StkId ra)
{
	Table *t;

	if (!ttistable(ra + 1))
		return 0;
	t = hvalue(ra + 1);
	setobj2t(L, luaH_setnum(L, t, luaH_getn(t) + 1), ra + 2);
	luaC_barriert(L, t, ra + 2);
	check_collector(L);
	return 1;
}

/* string.byte() of a string and two positions; returns 0 if they are outside of it. */
static long compiled_bytes(lua_State *L, StkId ra, long from, long to, unsigned long wanted)
{
	const unsigned char *s = (const unsigned char *)svalue(ra + 1);
	unsigned long n, i;

	if (from < 1 || to < from || to > (long)tsvalue(ra + 1)->len)
		return 0;
	s += from - 1;
	n = to - from + 1;
	for (i = 0; i < n && i < wanted; i++)
		setnvalue(ra + i, s[i]);
	put_nils(ra, i, wanted);
	return 1;
}

#define EACH(byte)	(0x0101010101010101UL * (byte))

/* The position of @what in @s, which has @n bytes, or NULL.  Reads 7 bytes after these, too. */
static const char *find_text(const char *s, unsigned long n, const char *what, unsigned long len)
{
	unsigned long each = EACH(*(const unsigned char *)what), marks;
	const char *last = s + n - len;

	for (; s <= last; s++) {
		marks = bytes_equal(text_word(s), each);
		if (!marks) {
			s += BYTES_WORD - 1;
			continue;
		}
		s += bytes_unmarked(marks);
		if (s <= last && (len == 1 || !memcmp(s, what, len)))
			return s;
	}
	return NULL;
}

/* string.find() with four arguments, the last of which is true; returns 0 for other calls. */
static long compiled_found_plain(lua_State *L, StkId ra, unsigned long from, unsigned long wanted)
{
	const char *s, *at;
	unsigned long len, n;

	(void)L;
	if (!ttisstring(ra + 2) || l_isfalse(ra + 4))
		return 0;
	s = svalue(ra + 1);
	n = tsvalue(ra + 1)->len;
	len = tsvalue(ra + 2)->len;
	if (from - 1 > n || !len)
		return 0;
	from--;
	at = len <= n - from ? find_text(s + from, n - from, svalue(ra + 2), len) : NULL;
	if (!at) {
		put_nil(ra, wanted);
		return 1;
	}
	setnvalue(ra, at - s + 1);
	if (wanted > 1)
		setnvalue(ra + 1, at - s + len);
	put_nils(ra, 2, wanted);
	return 1;
}

/* tostring() of a string or a number; otherwise returns 0. */
static long compiled_tostring(lua_State *L, StkId ra)
{
	if (!ttisstring(ra + 1) && !ttisnumber(ra + 1))
		return 0;
	setobjs2s(L, ra, ra + 1);
	luaV_tostring(L, ra);
	check_collector(L);
	return 1;
}

/*
 * Converts the case of the letters among eight characters; @first is the first of the 26 letters
 * to convert. Two sums of each character's low seven bits are compared: one reaches the eighth
 * bit from the first letter on, the other only after the last letter.
 */
static inline unsigned long change_case(unsigned long word, unsigned char first)
{
	unsigned long low = word & EACH(0x7f);
	unsigned long from = low + EACH(0x80 - first), after = low + EACH(0x80 - 26 - first);

	return word ^ ((from & ~after & ~word & EACH(0x80)) >> 2);
}

/* Converts the case of a short text: @first is the first of the 26 letters to convert. */
static long put_cased(lua_State *L, StkId ra, const char *s, unsigned long n, unsigned char first)
{
	unsigned long i;

	if (n > ROOM)
		return 0;
	for (i = 0; n >= 8 && i < n - 8; i += 8)
		put_word(room + i, change_case(text_word(s + i), first));
	if (n >= 8)
		put_word(room + n - 8, change_case(text_word(s + n - 8), first));
	for (; n < 8 && i < n; i++)
		room[i] = (char)change_case((unsigned char)s[i], first);
	put_text(L, ra, room, n);
	check_collector(L);
	return 1;
}

static inline long convert_string(lua_State *L, StkId ra, unsigned char first)
{
	return ttisstring(ra + 1) ?
	       put_cased(L, ra, svalue(ra + 1), tsvalue(ra + 1)->len, first) : 0;
}

static long compiled_lowered(lua_State *L, StkId ra)
{
	return convert_string(L, ra, 'A');
}

static long compiled_uppered(lua_State *L, StkId ra)
{
	return convert_string(L, ra, 'a');
}

/* Copies text from outside of the arena to the buffer; NULL if it is long, or not in memory. */
static __attribute__((noinline)) const char *copy_in(unsigned long address, unsigned long n)
{
	struct image_batch_copy copy = { (unsigned long)room, address, .n = n };

	return n <= ROOM && !runtime_batch(IMAGE_BATCH_COPY_IN, &copy) ? room : NULL;
}

static inline const char *text_at(unsigned long address, unsigned long n)
{
	return runtime_in_arena(address, n) ? (const char *)address : copy_in(address, n);
}

/* util.str_in(); returns 0 if the bytes are not in memory, or too many outside of the arena. */
static long compiled_str_in(lua_State *L, StkId ra, unsigned long address, unsigned long n)
{
	const char *text = text_at(address, n);

	if (!text)
		return 0;
	put_text(L, ra, text, n);
	check_collector(L);
	return 1;
}

/* string.lower() of what util.str_in() returns, up to ROOM bytes in memory; otherwise 0. */
static long compiled_lowered_in(lua_State *L, StkId ra, unsigned long address, unsigned long n)
{
	const char *text = text_at(address, n);

	return text ? put_cased(L, ra, text, n, 'A') : 0;
}

/* util.str_out() of a string to the arena; otherwise returns 0. */
static long compiled_str_out(lua_State *L, StkId ra, unsigned long address)
{
	unsigned long n;

	if (!ttisstring(ra + 1))
		return 0;
	n = tsvalue(ra + 1)->len;
	if (!runtime_in_arena(address, n))
		return 0;
	memcpy((void *)address, svalue(ra + 1), n);
	setnvalue(ra, n);
	return 1;
}

/*
 * util.find() for one byte, repeated in a word: the position of the first of @n bytes, or at least
 * @n. Reads up to seven bytes after these, too.
 */
static inline unsigned long find_one(const char *p, unsigned long n, unsigned long each)
{
	const char *end = p + n, *at = p;
	unsigned long marks;

	for (; at < end; at += BYTES_WORD) {
		marks = bytes_equal(text_word(at), each);
		if (marks)
			return at - p + bytes_unmarked(marks);
	}
	return n;
}

/* As above, for either of two bytes. */
static inline unsigned long find_two(const char *p, unsigned long n, unsigned long one,
				     unsigned long other)
{
	const char *end = p + n, *at = p;
	unsigned long marks;

	for (; at < end; at += BYTES_WORD) {
		marks = bytes_equal(text_word(at), one) | bytes_equal(text_word(at), other);
		if (marks)
			return at - p + bytes_unmarked(marks);
	}
	return n;
}

/* As above, for three bytes. */
static inline unsigned long find_three(const char *p, unsigned long n, const struct bytes_set *set)
{
	const char *end = p + n, *at = p;
	unsigned long marks;

	for (; at < end; at += BYTES_WORD) {
		marks = bytes_few(set, text_word(at));
		if (marks)
			return at - p + bytes_unmarked(marks);
	}
	return n;
}

static inline long position(unsigned long found, unsigned long n)
{
	return found < n ? (long)found : POSITION_NONE;
}

/* util.find() in the arena for one byte; returns the position, or what layout.h says. */
static long compiled_found_one(lua_State *L, StkId ra, unsigned long address, unsigned long n,
			       unsigned long byte)
{
	(void)L, (void)ra;
	if (!runtime_in_arena(address, n))
		return POSITION_UNUSUAL;
	return position(find_one((const char *)address, n, EACH(byte)), n);
}

/* As above, for two bytes. */
static long compiled_found_two(lua_State *L, StkId ra, unsigned long address, unsigned long n,
			       unsigned long bytes)
{
	(void)L, (void)ra;
	if (!runtime_in_arena(address, n))
		return POSITION_UNUSUAL;
	return position(find_two((const char *)address, n, EACH(bytes & 255), EACH(bytes >> 8)),
			n);
}

/* As above, for three bytes. */
static long compiled_found_three(lua_State *L, StkId ra, unsigned long address, unsigned long n,
			       unsigned long bytes)
{
	struct bytes_set set;

	(void)L, (void)ra;
	if (!runtime_in_arena(address, n))
		return POSITION_UNUSUAL;
	set.few[0] = EACH(bytes & 255);
	set.few[1] = EACH(bytes >> 8 & 255);
	set.few[2] = EACH(bytes >> 16);
	return position(find_three((const char *)address, n, &set), n);
}

/* util.find() in the arena for members in a string. */
static unsigned long find_members(const TString *members, const char *p, unsigned long n)
{
	struct bytes_set set;

	bytes_set(&set, getstr(members), members->tsv.len);
	return bytes_find(&set, p, n);
}

/* util.find() in the arena, for a string of members or one byte; for others POSITION_UNUSUAL. */
static long compiled_find_byte(lua_State *L, StkId ra, unsigned long address, unsigned long n)
{
	const TValue *set = ra + 3;
	const char *p = (const char *)address;
	unsigned long found;

	(void)L;
	if (!runtime_in_arena(address, n))
		return POSITION_UNUSUAL;
	if (ttisstring(set) && tsvalue(set)->len == 1)
		found = find_one(p, n, EACH(*(const unsigned char *)svalue(set)));
	else if (ttisstring(set) && tsvalue(set)->len <= BYTES_SET_MOST)
		found = find_members(rawtsvalue(set), p, n);
	else if (ttisnumber(set) && (unsigned long)nvalue(set) <= 255)
		found = find_one(p, n, EACH(nvalue(set)));
	else
		return POSITION_UNUSUAL;
	return position(found, n);
}

#define INTEGER_DIGITS	15	/* of an integer of INTEGER_BITS */

/* util.number() of what does not begin with a digit: with a sign, or nil. */
static __attribute__((noinline)) long read_signed(StkId ra, const unsigned char *p,
						  unsigned long n, unsigned long wanted)
{
	unsigned long value = 0, i = 1;

	for (; *p == '-' && i < n && p[i] - '0' <= 9U; i++)
		value = value * 10 + (p[i] - '0');
	if (i > INTEGER_DIGITS + 1)
		return 0;
	if (i == 1) {
		put_nil(ra, wanted);
		return 1;
	}
	setnvalue(ra, -(long)value);
	if (wanted > 1)
		setnvalue(ra + 1, i);
	put_nils(ra, 2, wanted);
	return 1;
}

/*
 * util.number() in the arena; returns 0 for memory outside, and more digits. Most numbers have
 * few, so that words would not be faster.
 */
static long compiled_read_number(lua_State *L, StkId ra, unsigned long address, unsigned long n,
				 unsigned long wanted)
{
	const unsigned char *p = (const unsigned char *)address, *end = p + n;
	unsigned long value = 0, digit;

	(void)L;
	if (!runtime_in_arena(address, n))
		return 0;
	while (p < end && (digit = (unsigned long)*p - '0') <= 9) {
		value = value * 10 + digit;
		p++;
	}
	n = p - (const unsigned char *)address;
	if (!n)
		return read_signed(ra, p, end - p, wanted);
	if (n > INTEGER_DIGITS)
		return 0;
	setnvalue(ra, value);
	if (wanted > 1)
		setnvalue(ra + 1, n);
	if (wanted > 2)
		put_nils(ra, 2, wanted);
	return 1;
}

/* The most bytes that table.concat() joins here. */
#define CONCAT_MOST	(64 << 10)

/* A place for a string of @len bytes, with room behind it for the rest of a word. */
static inline char *concat_room(lua_State *L, unsigned long len)
{
	return len <= ROOM ? room : luaZ_openspace(L, &G(L)->buff, len + sizeof(long));
}

/* As below, with numbers among the elements from @from to @last: see join.c. */
static long join_elements(lua_State *L, StkId ra, const TValue *from, const TValue *last,
			  const char *separator, unsigned long separator_len);

/*
 * table.concat() with @nargs arguments, of strings and numbers in the table's array; returns 0 for
 * others, and long results.
 */
static long compiled_concatenated(lua_State *L, StkId ra, long nargs)
{
	const char *separator = "";
	unsigned long separator_len = 0, len = 0;
	long i = 1, last, n;
	char *to, *text;
	Table *t;

	if (!ttistable(ra + 1))
		return 0;
	t = hvalue(ra + 1);
	if (nargs > 1) {
		if (!ttisstring(ra + 2))
			return 0;
		separator = svalue(ra + 2);
		separator_len = tsvalue(ra + 2)->len;
	}
	if (nargs > 2) {
		if (!ttisnumber(ra + 3))
			return 0;
		i = nvalue(ra + 3);
	}
	last = luaH_getn(t);
	if (nargs > 3) {
		if (!ttisnumber(ra + 4))
			return 0;
		last = nvalue(ra + 4);
	}
	if (i < 1 || i != (int)i || last != (int)last || last > t->sizearray)
		return 0;
	for (n = i; n <= last; n++) {
		const TValue *o = &t->array[n - 1];

		if (!ttisstring(o))
			return join_elements(L, ra, &t->array[i - 1], &t->array[last - 1],
					     separator, separator_len);
		len += tsvalue(o)->len + separator_len;
		if (len > CONCAT_MOST)
			return 0;
	}
	text = to = concat_room(L, len);
	for (; i <= last; i++) {
		to = copy_text(to, svalue(&t->array[i - 1]), tsvalue(&t->array[i - 1])->len);
		if (i < last)
			to = copy_text(to, separator, separator_len);
	}
	put_text(L, ra, text, to - text);
	check_collector(L);
	return 1;
}
