// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A program's data in the arena, and constants of Lua that are known at compile time (see
 * aot/aot_priv.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/syscript_table.h>

#include "aot_priv.h"

#define DATA_START	256	/* 0 is no valid address */
#define DATA_MAX	(1U << 20)
#define ZEROS_MAX	(256U << 20)	/* the most bytes of tables */
#define PAIRS_MAX	4096
#define SCATTERED_MAX	1024	/* the most keys that are found by binary search */
#define FEW		4	/* the most keys that are compared one by one */

/* -- Texts and names ------------------------------------------------------------------- */

const char *text_of(const struct builder *b, struct value string, char *text, size_t size)
{
	runtime_text(&b->runtime, string, text, size);
	return text;
}

bool text_is(const struct builder *b, struct value string, const char *text)
{
	char is[64];

	return string.tag == TAG_STRING && !strcmp(text_of(b, string, is, sizeof(is)), text);
}

struct value global_of(const struct builder *b, const char *name)
{
	struct value globals = runtime_value(&b->runtime, b->runtime.state + STATE_GLOBALS);

	return runtime_field(&b->runtime, globals.bits, name);
}

/* -- Data in the arena ------------------------------------------------------------------------ */

static uint32_t find_place(const struct builder *b, uint64_t id)
{
	for (uint32_t n = 0; n < b->nplaced; n++)
		if (b->placed[n].id == id)
			return b->placed[n].at;
	return 0;
}

/* Places @size bytes, a multiple of 8, for @id.  Returns 0 if refused. */
static uint32_t place(struct function *f, uint64_t id, const void *bytes, size_t size)
{
	struct builder *b = f->b;
	uint32_t at = b->end ?: DATA_START;
	char *more;

	if (b->nplaced == sizeof(b->placed) / sizeof(b->placed[0]) || size > DATA_MAX - at) {
		refuse(f, "too much data");
		return 0;
	}
	more = realloc(b->out->data, at + (size + 7) / 8 * 8);
	if (!more) {
		refuse(f, "no memory");
		return 0;
	}
	if (!b->end)
		memset(more, 0, DATA_START);
	memset(more + at, 0, (size + 7) / 8 * 8);
	memcpy(more + at, bytes, size);
	b->out->data = more;
	b->end = at + (size + 7) / 8 * 8;
	b->placed[b->nplaced++] = (struct placed){ id, at };
	return at;
}

/* -- Variables that run() changes ------------------------------------------------------------- */

static bool is_changed(const struct builder *b, uint64_t id)
{
	uint32_t n;

	for (n = 0; n < b->nchanged && b->changed[n] != id; n++)
		;
	return n < b->nchanged;
}

/* Notes that a variable or an array changes: code that assumed a constant is wrong. */
static void changes(struct function *f, uint64_t id)
{
	struct builder *b = f->b;

	if (is_changed(b, id))
		return;
	if (b->nchanged == sizeof(b->changed) / sizeof(b->changed[0]))
		return refuse(f, "too many variables that change");
	b->changed[b->nchanged++] = id;
	b->again = true;
}

/* -- Upvalues ------------------------------------------------------------------------------ */

static uint64_t upvalue_id(const struct function *f, uint32_t up)
{
	return runtime_word(&f->b->runtime, f->instance->closure + CLOSURE_UPVALUES + 8 * up, 8);
}

void upvalue_changes(struct function *f, uint32_t up)
{
	changes(f, upvalue_id(f, up));
}

uint32_t upvalue_place(struct function *f, uint32_t up, struct value *v)
{
	const struct runtime *runtime = &f->b->runtime;
	uint64_t id = upvalue_id(f, up);
	uint32_t at;

	*v = runtime_value(runtime, runtime_word(runtime, id + UPVAL_V, 8));
	if (!is_changed(f->b, id))
		return 0;
	if (v->tag == TAG_BOOLEAN)
		v->bits &= 1;
	else if (v->tag != TAG_NUMBER || known_value(*v).kind != K_NUMBER) {
		refuse(f, "a variable that changes has to begin as an integer or a boolean");
		return 0;
	}
	at = find_place(f->b, id);
	return at ?: place(f, id, &v->bits, 8);
}

/* -- Hash tables ------------------------------------------------------------------------------ */

bool is_program_table(const struct builder *b, struct value table)
{
	return table.tag == TAG_TABLE &&
	       text_is(b, runtime_field(&b->runtime, table.bits, "kind"), "program.table");
}

static struct value element(const struct builder *b, struct value table, uint32_t n)
{
	uint64_t array = runtime_word(&b->runtime, table.bits + TABLE_ARRAY, 8);

	if (n >= runtime_word(&b->runtime, table.bits + TABLE_SIZEARRAY, 4))
		return (struct value){ .tag = TAG_NIL };
	return runtime_value(&b->runtime, array + n * VALUE_SIZE);
}

int field_index(const struct builder *b, struct value table, struct value name)
{
	char text[64];

	text_of(b, name, text, sizeof(text));
	for (uint32_t n = 0; element(b, table, n).tag == TAG_STRING; n++)
		if (text_is(b, element(b, table, n), text))
			return n;
	return -1;
}

static int64_t setting(const struct builder *b, struct value table, const char *name)
{
	struct value v = runtime_field(&b->runtime, table.bits, name);

	return v.tag == TAG_NUMBER ? (int64_t)v.bits : -1;
}

/* The settings of a program.table. False: refused. */
static bool get_settings(struct function *f, struct value table, struct syscript_table *is)
{
	const struct builder *b = f->b;
	int64_t entries = setting(b, table, "entries"), age = setting(b, table, "age");
	int64_t keys = setting(b, table, "keys");
	uint32_t nfields = 0;

	while (element(b, table, nfields).tag == TAG_STRING)
		nfields++;
	/* program.table() has checked these, but other code may have changed them. */
	if (entries < 8 || entries > 1 << 20 || entries & (entries - 1) || age < 0 ||
	    age > UINT32_MAX || keys < 1 || keys > KEYS_MAX || nfields > 32) {
		refuse(f, "an invalid program.table");
		return false;
	}
	*is = (struct syscript_table){
		.entries = entries, .age = age, .key_size = keys * 8, .value_size = nfields * 8,
	};
	return true;
}

static uint64_t table_bytes(const struct syscript_table *is)
{
	return (uint64_t)is->entries * (8 + is->key_size + is->value_size);
}

static bool fits_in_arena(struct function *f, uint64_t bytes)
{
	bool fits = bytes <= ZEROS_MAX - f->b->zeros;

	if (!fits)
		refuse(f, "tables of more than %u MiB", ZEROS_MAX >> 20);
	return fits;
}

/* -- Tables that programs share ----------------------------------------------------------- */

/* The names of a table's fields, with blanks between them. False: they do not fit. */
static bool name_fields(const struct builder *b, struct value table, char *fields, size_t size)
{
	char text[64];
	size_t len = 0;

	*fields = '\0';
	for (uint32_t n = 0; element(b, table, n).tag == TAG_STRING && len < size; n++)
		len += snprintf(fields + len, size - len, "%s%s", n ? " " : "",
				text_of(b, element(b, table, n), text, sizeof(text)));
	return len < size;
}

static bool add_shared(struct function *f, struct value table, const char *name,
		       const struct syscript_state *is)
{
	struct builder *b = f->b;
	struct syscript_state *state = &b->out->states[b->out->nstates];

	for (uint32_t n = 0; n < b->out->nstates; n++)
		if (!strcmp(b->out->states[n].name, name)) {
			refuse(f, "two tables or rings with the name '%s'", name);
			return false;
		}
	if (b->out->nstates == SYSCRIPT_STATES_MAX) {
		refuse(f, "more than %d tables and rings with names", SYSCRIPT_STATES_MAX);
		return false;
	}
	*state = *is;
	strcpy(state->name, name);
	if (!name_fields(b, table, state->fields, sizeof(state->fields))) {
		refuse(f, "names of fields of more than %zu bytes", sizeof(state->fields) - 1);
		return false;
	}
	b->shared[b->out->nstates++] = table.bits;
	return true;
}

/* Has the table a name?  It then is in the arena's last pages, where the kernel places it. */
static bool table_name(const struct builder *b, struct value table, char *name, size_t size)
{
	struct value v = runtime_field(&b->runtime, table.bits, "name");

	if (v.tag != TAG_STRING)
		return false;
	text_of(b, v, name, size);
	return true;
}

/* The number of a table or ring among the program's states, or else of the next one. */
static bool find_shared(const struct builder *b, struct value table, uint32_t *number)
{
	for (*number = 0; *number < b->out->nstates; ++*number)
		if (b->shared[*number] == table.bits)
			return true;
	return false;
}

static bool shared_place(struct function *f, struct value table, const char *name,
			 struct table_ref *ref)
{
	struct syscript_state state;
	struct syscript_table is;

	if (!get_settings(f, table, &is))
		return false;
	ref->shared = true;
	ref->keys = is.key_size / 8;
	if (find_shared(f->b, table, &ref->at))
		return true;
	state = (struct syscript_state){
		.kind = SYSCRIPT_STATE_TABLE, .entries = is.entries, .age = is.age,
		.key_size = is.key_size, .value_size = is.value_size,
	};
	return fits_in_arena(f, table_bytes(&is)) && add_shared(f, table, name, &state);
}

bool is_program_events(const struct builder *b, struct value events)
{
	return events.tag == TAG_TABLE &&
	       text_is(b, runtime_field(&b->runtime, events.bits, "kind"), "program.events");
}

bool events_place(struct function *f, struct value events, uint32_t *number, uint32_t *values)
{
	struct syscript_state state = { .kind = SYSCRIPT_STATE_RING };
	int64_t records = setting(f->b, events, "records");
	char name[SYSCRIPT_NAME_LEN];

	for (*values = 0; element(f->b, events, *values).tag == TAG_STRING; )
		++*values;
	if (find_shared(f->b, events, number))
		return true;
	if (!table_name(f->b, events, name, sizeof(name)) || records < 1 ||
	    records > SYSCRIPT_RING_RECORDS_MAX || *values > SYSCRIPT_RING_VALUES_MAX) {
		refuse(f, "an invalid program.events");
		return false;
	}
	state.entries = records;
	state.value_size = *values * 8;
	return add_shared(f, events, name, &state);
}

bool table_place(struct function *f, struct value table, struct table_ref *ref)
{
	struct builder *b = f->b;
	struct syscript_table is;
	char name[SYSCRIPT_NAME_LEN];

	if (table_name(b, table, name, sizeof(name)))
		return shared_place(f, table, name, ref);
	if (!get_settings(f, table, &is))
		return false;
	*ref = (struct table_ref){ find_place(b, table.bits), is.key_size / 8, false };
	if (ref->at)
		return true;
	if (!fits_in_arena(f, table_bytes(&is)))
		return false;
	/* Offset from the beginning of the zeroed data, which aot/driver.c adds. */
	is.sets = (void *)(uintptr_t)b->zeros;
	b->zeros += table_bytes(&is);
	b->zeros = (b->zeros + 63) / 64 * 64;
	ref->at = place(f, table.bits, &is, sizeof(is));
	return ref->at;
}

/* -- Constant tables, and arrays ------------------------------------------------------------- */

struct pair {
	int64_t key, value;
};

struct pairs {
	struct pair pair[PAIRS_MAX];
	uint32_t n;
	uint8_t kind;		/* number of values */
	bool mixed, many;
};

static void add_pair(struct pairs *pairs, int64_t key, struct value v)
{
	struct known k = known_value(v);

	if (v.tag == TAG_NIL)
		return;
	pairs->mixed |= (k.kind != K_NUMBER && k.kind != K_BOOLEAN) ||
			(pairs->n && k.kind != pairs->kind);
	pairs->many |= pairs->n == PAIRS_MAX;
	if (pairs->mixed || pairs->many)
		return;
	pairs->kind = k.kind;
	pairs->pair[pairs->n++] = (struct pair){
		key, k.kind == K_BOOLEAN ? v.bits & 1 : v.bits,
	};
}

static void find_pairs(const struct builder *b, struct value table, struct pairs *pairs)
{
	const struct runtime *runtime = &b->runtime;
	uint32_t n, size = runtime_word(runtime, table.bits + TABLE_SIZEARRAY, 4);
	uint64_t node = runtime_word(runtime, table.bits + TABLE_NODE, 8);
	uint32_t nodes = 1U << (runtime_word(runtime, table.bits + TABLE_LSIZENODE, 1) & 31);

	*pairs = (struct pairs){ .kind = K_NUMBER };
	for (n = 0; n < size && n <= PAIRS_MAX; n++)
		add_pair(pairs, (int64_t)n + 1, element(b, table, n));
	for (n = 0; n < nodes && n <= PAIRS_MAX; n++, node += NODE_SIZE) {
		struct value key = runtime_value(runtime, node + NODE_KEY);

		if (key.tag == TAG_NUMBER)
			add_pair(pairs, key.bits, runtime_value(runtime, node));
	}
}

/* Are the keys 1, 2, 3 and so on, in this order? */
static bool is_array(const struct pairs *pairs)
{
	uint32_t n = 0;

	while (n < pairs->n && pairs->pair[n].key == (int64_t)n + 1)
		n++;
	return n == pairs->n && n;
}

/*
 * r1 = the address of element r1 of @n elements of @size bytes from @at on; nil if there is none.
 */
static void emit_element(struct function *f, uint32_t at, uint32_t n, uint8_t size)
{
	uint32_t none = emit_label(f->e), done = emit_label(f->e);

	emit_alu_imm(f->e, INSN_SUB, 1, 1);
	emit_branch_imm(f->e, INSN_JGE, 1, n, none);
	if (size == 8)
		emit_alu_imm(f->e, INSN_LSH, 1, 3);
	emit_address(f->e, 2, at);
	emit_alu(f->e, INSN_ADD, 2, 1);
	emit_load(f->e, size == 8 ? INSN_DW : INSN_B, 1, 2, 0);
	emit_jump(f->e, done);
	emit_land(f->e, none);
	load_nil(f, 1);
	emit_land(f->e, done);
}

static uint32_t array_place(struct function *f, struct value table, const struct pairs *pairs)
{
	int64_t values[PAIRS_MAX];
	uint32_t n;

	for (n = 0; n < pairs->n; n++)
		values[n] = pairs->pair[n].value;
	return find_place(f->b, table.bits) ?: place(f, table.bits, values, n * 8);
}

static int compare_keys(const void *a, const void *b)
{
	int64_t one = ((const struct pair *)a)->key, other = ((const struct pair *)b)->key;

	return one < other ? -1 : one > other;
}

/* Sets r1 to the value of key r1, one of a few, and jumps to @done; sets nil if there is none. */
static void emit_chain(struct function *f, const struct pair *pair, uint32_t n, uint32_t done)
{
	uint32_t next;

	for (; n; n--, pair++) {
		next = emit_label(f->e);
		emit_constant(f->e, 2, pair->key);
		emit_branch(f->e, INSN_JNE, 1, 2, next);
		emit_constant(f->e, 1, pair->value);
		emit_jump(f->e, done);
		emit_land(f->e, next);
	}
	load_nil(f, 1);
	emit_jump(f->e, done);
}

/* As above, for many sorted keys: a binary search. */
static void emit_search(struct function *f, const struct pair *pair, uint32_t n, uint32_t done)
{
	uint32_t upper, half = n / 2;

	if (n <= FEW)
		return emit_chain(f, pair, n, done);
	upper = emit_label(f->e);
	emit_constant(f->e, 2, pair[half].key);
	emit_branch(f->e, INSN_JSGE, 1, 2, upper);
	emit_search(f, pair, half, done);
	emit_land(f->e, upper);
	emit_search(f, pair + half, n - half, done);
}

/* False: refused. */
static bool get_pairs(struct function *f, struct value table, struct pairs *pairs)
{
	bool written = is_changed(f->b, table.bits);

	find_pairs(f->b, table, pairs);
	if (pairs->mixed || pairs->many)
		refuse(f, "a table whose numbered fields are not all integers, or all booleans");
	else if (!is_array(pairs) && written)
		refuse(f, "run() writes to a table that is not an array: it needs fields 1, 2, 3 and so on before");
	else if (!is_array(pairs) && pairs->n > SCATTERED_MAX)
		refuse(f, "a table with more than %d scattered numbers as keys", SCATTERED_MAX);
	else
		return true;
	return false;
}

void compile_lookup(struct function *f, struct value table, uint32_t to)
{
	static struct pairs pairs;
	struct known result = a_number(NUMBER_BITS, true);
	uint32_t at, done = emit_label(f->e);

	if (!get_pairs(f, table, &pairs))
		return;
	if (is_array(&pairs) && (pairs.n > 4 || is_changed(f->b, table.bits))) {
		at = array_place(f, table, &pairs);
		if (!at)
			return;
		emit_element(f, at, pairs.n, 8);
	} else {
		qsort(pairs.pair, pairs.n, sizeof(*pairs.pair), compare_keys);
		emit_search(f, pairs.pair, pairs.n, done);
		emit_land(f->e, done);
	}
	if (pairs.kind == K_BOOLEAN)
		result = (struct known){ .kind = K_BOOLEAN };
	result.nil = true;
	put(f, to, 1, result);
}

void compile_array_store(struct function *f, struct value table, uint32_t key, uint32_t rk)
{
	static struct pairs pairs;
	struct known value = known_of(f, rk);
	uint32_t at;

	changes(f, table.bits);
	if (!get_pairs(f, table, &pairs))
		return;
	at = array_place(f, table, &pairs);
	if (!at)
		return;
	if (pairs.kind == K_NUMBER) {
		if (!get_number(f, 3, rk))
			return;
	} else if (value.kind != K_BOOLEAN || value.nil) {
		return refuse(f, "the array has booleans only");
	} else {
		get(f, 3, rk);
	}
	if (!get_number(f, 1, key))
		return;
	emit_alu_imm(f->e, INSN_SUB, 1, 1);
	emit_constant(f->e, 2, pairs.n);
	emit_branch(f->e, INSN_JGE, 1, 2, fails(f, IMAGE_INDEX));
	emit_alu_imm(f->e, INSN_LSH, 1, 3);
	emit_address(f->e, 2, at);
	emit_alu(f->e, INSN_ADD, 2, 1);
	emit_store(f->e, INSN_DW, 2, 0, 3);
}

/* -- Strings ------------------------------------------------------------------ */

uint32_t string_place(struct function *f, struct value string, uint32_t *len)
{
	uint32_t at = find_place(f->b, string.bits);
	char bytes[1024];

	*len = runtime_word(&f->b->runtime, string.bits + STRING_LEN, 8);
	if (at)
		return at;
	if (!*len || *len > sizeof(bytes) ||
	    !runtime_read(&f->b->runtime, string.bits + STRING_TEXT, bytes, *len)) {
		refuse(f, "a string that is empty or longer than %zu bytes", sizeof(bytes));
		return 0;
	}
	return place(f, string.bits, bytes, *len);
}

void compile_byte(struct function *f, struct value string, uint32_t index, uint32_t to)
{
	uint32_t len, at = string_place(f, string, &len), fine;

	if (!at || !get_number(f, 1, index))
		return;
	if (known_of(f, index).below) {
		/* The keys are added from the last to the first. */
		fine = emit_label(f->e);
		emit_branch_imm(f->e, INSN_JSGE, 1, 0, fine);
		emit_alu_imm(f->e, INSN_ADD, 1, len + 1);
		emit_land(f->e, fine);
	}
	emit_element(f, at, len, 1);
	put(f, to, 1, (struct known){ .kind = K_NUMBER, .nil = true, .bits = 8 });
}
