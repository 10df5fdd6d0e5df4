// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Compiles patterns (see pattern.h). Lua's own matcher interprets the pattern for each character
 * of a text. Here each item becomes straight-line code, with its class as comparisons.
 *
 * An item that may match in several ways, such as "x*", first tries one. If a later item fails,
 * control backtracks to the last such item with an untried way, whose state is in the frame. A
 * pattern is one sequence, so that item is known at compile time. Usually there is no state: if
 * no character of "x*" can begin the rest, as in "%d+:", then the rest also fails with fewer
 * characters.
 *
 * r1 is the current position in the text, r2 its end, r3 its beginning.
 */
#include "pattern.h"

#define TEXT_MOST	128
#define ITEMS_MOST	64
#define RANGES_MOST	8
#define SLOTS_MOST	24

/* A set of characters, as bits. */
struct set {
	u64 w[4];
};

enum item_kind { ITEM_CHAR, ITEM_OPEN, ITEM_CLOSE, ITEM_POSITION, ITEM_END };

/**
 * struct item - an item of a pattern
 * @repeat: of ITEM_CHAR: 0, or '?', '*', '+', '-'
 * @n:      number of its capture
 */
struct item {
	enum item_kind kind;
	char repeat;
	u8 n;
	struct set set;
};

/**
 * struct pattern - a parsed pattern
 * @open: captures without an end so far, @nopen of them
 */
struct pattern {
	struct item items[ITEMS_MOST];
	u32 n;
	struct pattern_form form;
	u8 open[FOUND_CAPTURES];
	u32 nopen;
};

/* -- Sets --------------------------------------------------------------------------------- */

static bool has(const struct set *set, u32 c)
{
	return set->w[c >> 6] >> (c & 63) & 1;
}

static void add_range(struct set *set, u32 from, u32 to)
{
	u32 i;

	for (i = 0; i < 4 && from <= to; i++) {
		u32 first = i * 64, last = first + 63;

		if (to < first || from > last)
			continue;
		set->w[i] |= ~0ULL << (from > first ? from - first : 0) &
			     ~0ULL >> (to < last ? last - to : 0);
	}
}

static struct set inverse(struct set set)
{
	u32 i;

	for (i = 0; i < 4; i++)
		set.w[i] = ~set.w[i];
	return set;
}

static bool is_full(const struct set *set)
{
	return (set->w[0] & set->w[1] & set->w[2] & set->w[3]) == ~0ULL;
}

static bool are_disjoint(const struct set *a, const struct set *b)
{
	u32 i;

	for (i = 0; i < 4; i++)
		if (a->w[i] & b->w[i])
			return false;
	return true;
}

/*
 * The characters of a class in the "C" locale, as pairs of first and last; NULL: the letter is
 * not a class.
 */
static const char *class_ranges(char letter)
{
	switch (letter) {
	case 'a': return "AZaz";
	case 'c': return "\1\37\177\177";	/* and '\0' */
	case 'd': return "09";
	case 'g': return "!~";
	case 'l': return "az";
	case 'p': return "!/:@[`{~";
	case 's': return "\t\r  ";
	case 'u': return "AZ";
	case 'w': return "09AZaz";
	case 'x': return "09AFaf";
	case 'z': return "";
	default: return NULL;
	}
}

/* Adds the characters of "%@c". */
static void add_class(struct set *set, u8 c)
{
	bool upper = c >= 'A' && c <= 'Z';
	const char *ranges = class_ranges(upper ? c + 'a' - 'A' : c);
	struct set found = { 0 };
	u32 i;

	if (!ranges)
		return add_range(set, c, c);
	for (; *ranges; ranges += 2)
		add_range(&found, (u8)ranges[0], (u8)ranges[1]);
	if ((c | 0x20) == 'c' || (c | 0x20) == 'z')
		add_range(&found, 0, 0);
	if (upper)
		found = inverse(found);
	for (i = 0; i < 4; i++)
		set->w[i] |= found.w[i];
}

/* -- Parsing ------------------------------------------------------------------------------ */

/* The end of the set that begins at @p, after its "]"; NULL: it has no end. */
static const char *end_of_set(const char *p)
{
	p++;
	if (*p == '^')
		p++;
	do {
		if (!*p)
			return NULL;
		if (*p++ == '%' && *p)
			p++;
	} while (*p != ']');
	return p + 1;
}

/* As matchbracketclass(): @last points to the "]". */
static struct set parse_set(const char *p, const char *last)
{
	struct set set = { 0 };
	bool is_inverse = p[1] == '^';

	p += is_inverse;
	while (++p < last) {
		if (*p == '%') {
			add_class(&set, *++p);
		} else if (p[1] == '-' && p + 2 < last) {
			add_range(&set, (u8)p[0], (u8)p[2]);
			p += 2;
		} else {
			add_range(&set, (u8)*p, (u8)*p);
		}
	}
	return is_inverse ? inverse(set) : set;
}

/* Parses the character or set at @p; returns what follows it, or NULL. */
static const char *parse_char(const char *p, struct set *set)
{
	const char *end = p + 1;

	*set = (struct set){ 0 };
	switch (*p) {
	case '.':
		add_range(set, 0, 255);
		return end;
	case '%':
		if (!*end || *end == 'b' || *end == 'f' || (*end >= '0' && *end <= '9'))
			return NULL;
		add_class(set, *end);
		return end + 1;
	case '[':
		end = end_of_set(p);
		if (end)
			*set = parse_set(p, end - 1);
		return end;
	default:
		add_range(set, (u8)*p, (u8)*p);
		return end;
	}
}

static const char *parse_repeat(const char *p, char *repeat)
{
	if (*p != '?' && *p != '*' && *p != '+' && *p != '-')
		return p;
	*repeat = *p;
	return p + 1;
}

/* Parses the beginning or the end of a capture. */
static const char *parse_capture(struct pattern *pattern, const char *p, struct item *item)
{
	if (*p == ')') {
		if (!pattern->nopen)
			return NULL;
		item->kind = ITEM_CLOSE;
		item->n = pattern->open[--pattern->nopen];
		return p + 1;
	}
	if (pattern->form.count == FOUND_CAPTURES)
		return NULL;
	item->n = pattern->form.count++;
	if (p[1] == ')') {
		item->kind = ITEM_POSITION;
		pattern->form.positions |= 1U << item->n;
		return p + 2;
	}
	item->kind = ITEM_OPEN;
	pattern->open[pattern->nopen++] = item->n;
	return p + 1;
}

static const char *parse_item(struct pattern *pattern, const char *p, struct item *item)
{
	if (*p == '(' || *p == ')')
		return parse_capture(pattern, p, item);
	if (*p == '$' && !p[1]) {
		item->kind = ITEM_END;
		return p + 1;
	}
	item->kind = ITEM_CHAR;
	p = parse_char(p, &item->set);
	return p ? parse_repeat(p, &item->repeat) : NULL;
}

static bool parse(const struct runtime *runtime, uint64_t string, enum pattern_kind kind,
		  struct pattern *pattern)
{
	u64 len = runtime_word(runtime, string + STRING_LEN, 8);
	char text[TEXT_MOST + 1];
	const char *p = text;

	*pattern = (struct pattern){ 0 };
	if (len > TEXT_MOST || !runtime_read(runtime, string + STRING_TEXT, text, len) ||
	    memchr(text, 0, len))
		return false;
	text[len] = '\0';
	if (kind == PATTERN && *p == '^') {
		pattern->form.anchored = true;
		p++;
	}
	while (p && *p) {
		if (pattern->n == ITEMS_MOST)
			return false;
		p = parse_item(pattern, p, &pattern->items[pattern->n++]);
	}
	return p && !pattern->nopen;
}

/* -- Code: sets ----------------------------------------------------------------------------- */

struct range {
	u8 from, to;
};

/* Finds the ranges of the set's characters; RANGES_MOST + 1: too many. */
static u32 find_ranges(const struct set *set, struct range *ranges)
{
	u32 c, n = 0;

	for (c = 0; c < 256; c++) {
		if (!has(set, c))
			continue;
		if (n && ranges[n - 1].to + 1U == c) {
			ranges[n - 1].to = c;
			continue;
		}
		if (n == RANGES_MOST)
			return RANGES_MOST + 1;
		ranges[n++] = (struct range){ c, c };
	}
	return n;
}

/* Large ranges first, because most characters are in them; equally large ones in reverse order. */
static void sort_ranges(struct range *ranges, u32 n)
{
	u32 i, j;

	for (i = 1; i < n; i++) {
		struct range range = ranges[i];

		for (j = i; j && range.to - range.from >= ranges[j - 1].to - ranges[j - 1].from;
		     j--)
			ranges[j] = ranges[j - 1];
		ranges[j] = range;
	}
}

/* Goes to @label if the character in r0 is in the range (@is_in), or outside of it. */
static void test_range(struct emit *e, struct range range, bool is_in, u32 label)
{
	if (range.from == range.to)
		return emit_branch_imm(e, is_in ? INSN_JEQ : INSN_JNE, 0, range.from, label);
	if (!range.from)
		return emit_branch_imm(e, is_in ? INSN_JLE : INSN_JGT, 0, range.to, label);
	if (range.to == 255)
		return emit_branch_imm(e, is_in ? INSN_JGE : INSN_JLT, 0, range.from, label);
	emit_mov(e, 4, 0);
	emit_alu_imm(e, INSN_SUB, 4, range.from);
	emit_branch_imm(e, is_in ? INSN_JLE : INSN_JGT, 4, range.to - range.from, label);
}

/* Goes to @no unless the character in r0 is in the set. */
static void test_set(struct emit *e, const struct set *set, u32 no)
{
	struct set others = inverse(*set);
	struct range in[RANGES_MOST], out[RANGES_MOST];
	u32 nin = find_ranges(set, in), nout = find_ranges(&others, out), yes, i;

	if (nout < nin) {
		sort_ranges(out, nout);
		for (i = 0; i < nout; i++)
			test_range(e, out[i], true, no);
		return;
	}
	sort_ranges(in, nin);
	yes = emit_label(e);
	for (i = 0; i + 1 < nin; i++)
		test_range(e, in[i], true, yes);
	if (nin)
		test_range(e, in[i], false, no);
	else
		emit_jump(e, no);
	emit_land(e, yes);
}

static bool can_test(const struct set *set)
{
	struct set others = inverse(*set);
	struct range ranges[RANGES_MOST];

	return find_ranges(set, ranges) <= RANGES_MOST ||
	       find_ranges(&others, ranges) <= RANGES_MOST;
}

/* -- Code: items ---------------------------------------------------------------------------- */

/**
 * struct matcher - the code of a pattern
 * @fail:  the label for a failing item
 * @slots: used words of the frame
 */
struct matcher {
	const struct runtime *runtime;
	const struct pattern *p;
	struct emit *e;
	u32 fail, slots;
};

static void load_slot(struct matcher *m, u8 reg, u32 slot)
{
	emit_load(m->e, INSN_DW, reg, INSN_R10, -8 * ((s32)slot + 1));
}

static void store_slot(struct matcher *m, u32 slot, u8 reg)
{
	emit_store(m->e, INSN_DW, INSN_R10, -8 * ((s32)slot + 1), reg);
}

/* Advances r1 by a character of the set; goes to @no if there is none. */
static void take_char(struct matcher *m, const struct set *set, u32 no)
{
	emit_branch(m->e, INSN_JEQ, 1, 2, no);
	emit_load(m->e, INSN_B, 0, 1, 0);
	test_set(m->e, set, no);
	emit_alu_imm(m->e, INSN_ADD, 1, 1);
}

/* -- Code: eight characters at a time --------------------------------------------------------- */

#define EACH(byte)	(0x0101010101010101UL * (byte))
#define TESTS_MOST	3

/*
 * A test for characters that may end a run: those less than @byte, or equal to it. For the eight
 * bytes x of a word, ((x - EACH(@byte)) & ~x) has the highest bit of the lowest such byte set,
 * because only later bytes may borrow. To test for equality, x is XORed with EACH(@byte), and
 * compared with 1.
 */
struct word_test {
	bool less;
	u8 byte;
};

/*
 * Finds tests that all characters outside of the set pass; some of the set may pass, too. 0: too
 * many tests would be needed, or characters of the set usually come in short runs.
 */
static u32 find_tests(const struct set *set, struct word_test *tests)
{
	struct set others = inverse(*set);
	struct range ranges[RANGES_MOST];
	u32 nranges = find_ranges(&others, ranges), n = 0, i;

	if (nranges > RANGES_MOST)
		return 0;
	for (i = 0; i < nranges; i++) {
		bool is_blank = ranges[i].to <= ' ' && (i || ranges[i].from < ranges[i].to ||
							(nranges > 1 && ranges[1].to <= ' '));

		if (!is_blank && ranges[i].from < ranges[i].to)
			return 0;
		if (n && is_blank && tests[n - 1].less) {
			tests[n - 1].byte = ranges[i].to + 1;
			continue;
		}
		if (n == TESTS_MOST)
			return 0;
		tests[n++] = (struct word_test){ is_blank, ranges[i].to + is_blank };
	}
	return n;
}

/* May a character of the set pass the tests? */
static bool tests_exceed(const struct set *set, const struct word_test *tests, u32 n)
{
	u32 i, c;

	for (i = 0; i < n; i++)
		for (c = 0; tests[i].less && c < tests[i].byte; c++)
			if (has(set, c))
				return true;
	return false;
}

/* Sets bits in r5 for the eight characters from r1 on that pass the tests; overwrites r0 and r4. */
static void test_word(struct matcher *m, const struct word_test *tests, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		u8 to = i ? 4 : 5;

		emit_load(m->e, INSN_DW, 0, 1, 0);
		if (!tests[i].less) {
			emit_constant(m->e, 4, (s64)EACH(tests[i].byte));
			emit_alu(m->e, INSN_XOR, 0, 4);
		}
		emit_constant(m->e, to, (s64)-EACH(tests[i].less ? tests[i].byte : 1));
		emit_alu(m->e, INSN_ADD, to, 0);
		emit_alu_imm(m->e, INSN_XOR, 0, -1);
		emit_alu(m->e, INSN_AND, to, 0);
		if (i)
			emit_alu(m->e, INSN_OR, 5, 4);
	}
	emit_constant(m->e, 4, (s64)EACH(0x80));
	emit_alu(m->e, INSN_AND, 5, 4);
}

/* Advances r1 to the first of these characters; r5 is not 0. */
static void go_to_first(struct matcher *m)
{
	emit_mov(m->e, 0, 5);
	emit_alu_imm(m->e, INSN_SUB, 0, 1);
	emit_alu_imm(m->e, INSN_XOR, 5, -1);
	emit_alu(m->e, INSN_AND, 0, 5);
	/* r0 has all bits below the lowest bit of r5: seven, plus eight for each byte before. */
	emit_constant(m->e, 4, (s64)EACH(1));
	emit_alu(m->e, INSN_AND, 0, 4);
	emit_alu(m->e, INSN_MUL, 0, 4);
	emit_alu_imm(m->e, INSN_RSH, 0, 56);
	emit_alu_imm(m->e, INSN_SUB, 0, 1);
	emit_alu(m->e, INSN_ADD, 1, 0);
}

/*
 * Takes as many characters as possible, eight at a time, where few characters end a run. May read
 * beyond the text, which is allowed, but ignores what it finds there.
 */
static void take_words(struct matcher *m, const struct set *set, const struct word_test *tests,
		       u32 n)
{
	u32 again = emit_label(m->e), found = emit_label(m->e), end = emit_label(m->e);
	u32 done = emit_label(m->e);

	emit_branch(m->e, INSN_JEQ, 1, 2, done);
	emit_land(m->e, again);
	test_word(m, tests, n);
	emit_branch_imm(m->e, INSN_JNE, 5, 0, found);
	emit_alu_imm(m->e, INSN_ADD, 1, 8);
	emit_branch(m->e, INSN_JLT, 1, 2, again);
	emit_land(m->e, end);
	emit_mov(m->e, 1, 2);
	emit_jump(m->e, done);
	emit_land(m->e, found);
	go_to_first(m);
	emit_branch(m->e, INSN_JGE, 1, 2, end);
	if (tests_exceed(set, tests, n)) {
		emit_load(m->e, INSN_B, 0, 1, 0);
		test_set(m->e, set, done);
		emit_alu_imm(m->e, INSN_ADD, 1, 1);
		emit_branch(m->e, INSN_JLT, 1, 2, again);
	}
	emit_land(m->e, done);
}

/* Takes as many characters as possible. */
static void take_all(struct matcher *m, const struct set *set)
{
	struct word_test tests[TESTS_MOST];
	u32 n = find_tests(set, tests), again, done;

	if (is_full(set))
		return emit_mov(m->e, 1, 2);
	if (n)
		return take_words(m, set, tests, n);
	again = emit_label(m->e);
	done = emit_label(m->e);
	emit_land(m->e, again);
	take_char(m, set, done);
	emit_jump(m->e, again);
	emit_land(m->e, done);
}

/*
 * If the items after @i fail after as many characters of its set as possible, do they fail after
 * fewer, too? After fewer, the next character is of the set.
 */
static bool is_decided(const struct pattern *p, u32 i)
{
	const struct set *set = &p->items[i].set;

	for (i++; i < p->n; i++) {
		const struct item *item = &p->items[i];

		if (item->kind == ITEM_END)
			return true;
		if (item->kind != ITEM_CHAR)
			continue;
		if (!are_disjoint(set, &item->set))
			return false;
		if (!item->repeat || item->repeat == '+')
			return true;
	}
	return true;
}

/* If later items fail, gives one character back, unless r1 is at the position in slot @least. */
static void emit_greedy(struct matcher *m, const struct set *set)
{
	u32 least = m->slots++, now = m->slots++, fail = emit_label(m->e), on = emit_label(m->e);

	store_slot(m, least, 1);
	take_all(m, set);
	emit_jump(m->e, on);
	emit_land(m->e, fail);
	load_slot(m, 1, now);
	load_slot(m, 0, least);
	emit_branch(m->e, INSN_JEQ, 1, 0, m->fail);
	emit_alu_imm(m->e, INSN_SUB, 1, 1);
	emit_land(m->e, on);
	store_slot(m, now, 1);
	m->fail = fail;
}

/* Takes no character at first, and one more on each failure. */
static void emit_lazy(struct matcher *m, const struct set *set)
{
	u32 now = m->slots++, fail = emit_label(m->e), on = emit_label(m->e);

	emit_jump(m->e, on);
	emit_land(m->e, fail);
	load_slot(m, 1, now);
	take_char(m, set, m->fail);
	emit_land(m->e, on);
	store_slot(m, now, 1);
	m->fail = fail;
}

/*
 * Takes a character if there is one, with its position in a slot; the slot is 0 without one, or
 * the second time.
 */
static void emit_optional(struct matcher *m, const struct set *set, bool decided)
{
	u32 before, fail, none = emit_label(m->e), on = emit_label(m->e);

	if (decided) {
		take_char(m, set, none);
		return emit_land(m->e, none);
	}
	before = m->slots++;
	fail = emit_label(m->e);
	store_slot(m, before, 1);
	take_char(m, set, none);
	emit_jump(m->e, on);
	emit_land(m->e, fail);
	load_slot(m, 1, before);
	emit_branch_imm(m->e, INSN_JEQ, 1, 0, m->fail);
	emit_land(m->e, none);
	emit_constant(m->e, 0, 0);
	store_slot(m, before, 0);
	emit_land(m->e, on);
	m->fail = fail;
}

static void emit_char(struct matcher *m, u32 i)
{
	const struct item *item = &m->p->items[i];
	bool decided = is_decided(m->p, i);

	if (!item->repeat || item->repeat == '+')
		take_char(m, &item->set, m->fail);
	if (item->repeat == '?')
		emit_optional(m, &item->set, decided);
	else if (item->repeat == '-')
		emit_lazy(m, &item->set);
	else if (item->repeat && decided)
		take_all(m, &item->set);
	else if (item->repeat)
		emit_greedy(m, &item->set);
}

static void emit_capture(struct matcher *m, const struct item *item)
{
	s32 at = FOUND_CAPTURE + item->n * FOUND_CAPTURE_SIZE;

	emit_address(m->e, 4, m->runtime->found - (uintptr_t)m->runtime->arena);
	if (item->kind == ITEM_OPEN)
		return emit_store(m->e, INSN_DW, 4, at, 1);
	emit_mov(m->e, 0, 1);
	if (item->kind == ITEM_POSITION) {
		emit_alu(m->e, INSN_SUB, 0, 3);
		emit_alu_imm(m->e, INSN_ADD, 0, 1);
	} else {
		emit_load(m->e, INSN_DW, 5, 4, at);
		emit_alu(m->e, INSN_SUB, 0, 5);
	}
	emit_store(m->e, INSN_DW, 4, at + FOUND_LEN, 0);
}

static void emit_items(struct matcher *m)
{
	u32 i;

	for (i = 0; i < m->p->n; i++) {
		const struct item *item = &m->p->items[i];

		if (item->kind == ITEM_CHAR)
			emit_char(m, i);
		else if (item->kind == ITEM_END)
			emit_branch(m->e, INSN_JNE, 1, 2, m->fail);
		else
			emit_capture(m, item);
	}
}

/* -- A pattern -------------------------------------------------------------------------------- */

static bool can_compile(const struct pattern *p)
{
	u32 i, slots = 1;

	for (i = 0; i < p->n; i++) {
		if (p->items[i].kind == ITEM_CHAR && !can_test(&p->items[i].set))
			return false;
		slots += p->items[i].repeat ? 2 : 0;
	}
	return slots <= SLOTS_MOST;
}

bool pattern_parse(const struct runtime *runtime, uint64_t string, struct pattern_form *form)
{
	struct pattern pattern;

	if (!parse(runtime, string, PATTERN, &pattern))
		return false;
	*form = pattern.form;
	return true;
}

u32 pattern_number(const struct runtime *runtime, uint64_t string, enum pattern_kind kind,
		   struct pattern_form *form)
{
	struct pattern_use *use = runtime->patterns;
	struct pattern pattern;

	if (!use || !parse(runtime, string, kind, &pattern) || !can_compile(&pattern))
		return 0;
	*form = pattern.form;
	for (; use < runtime->patterns + PATTERNS_MOST; use++) {
		if (!use->string)
			*use = (struct pattern_use){ string, kind, use->number };
		if (use->string == string && use->kind == kind)
			return use->number;
	}
	return 0;
}

void pattern_compile(const struct runtime *runtime, const struct pattern_use *use, struct emit *e,
		     u32 *frame)
{
	struct pattern pattern;
	struct matcher m = { .runtime = runtime, .p = &pattern, .e = e };
	u32 start, again, fail;

	if (!parse(runtime, use->string, use->kind, &pattern)) {
		e->failed = true;
		return;
	}
	start = m.slots++;
	again = emit_label(e);
	fail = m.fail = emit_label(e);
	emit_land(e, again);
	store_slot(&m, start, 1);
	emit_items(&m);
	load_slot(&m, 0, start);
	emit_address(e, 4, runtime->found - (uintptr_t)runtime->arena);
	emit_store(e, INSN_DW, 4, FOUND_START, 0);
	emit_mov(e, 0, 1);
	emit_exit(e);
	emit_land(e, fail);
	if (!pattern.form.anchored) {
		u32 none = emit_label(e);

		load_slot(&m, 1, start);
		emit_branch(e, INSN_JEQ, 1, 2, none);
		emit_alu_imm(e, INSN_ADD, 1, 1);
		emit_jump(e, again);
		emit_land(e, none);
	}
	emit_constant(e, 0, 0);
	emit_exit(e);
	emit_resolve(e);
	*frame = m.slots * 8;
}
