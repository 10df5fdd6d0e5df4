// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Compiles calls, methods and fields for programs (see aot/aot_priv.h). */
#include <stddef.h>
#include <string.h>

#include <linux/syscript_cpufreq.h>
#include <linux/syscript_netfilter.h>

#include "aot_priv.h"

#define DATA	((int32_t)offsetof(struct syscript_packet, data))

static const uint8_t sizes[] = { [1] = INSN_B, [2] = INSN_H, [4] = INSN_W, [8] = INSN_DW };

/* -- Fields ------------------------------------------------------------------------- */

#define FIELD(name, view, field) \
	{ name, offsetof(struct view, field), sizeof(((struct view *)0)->field) }
#define PACKET(name, field)	FIELD(name, syscript_packet, field)
#define CPUS(field)		FIELD(#field, syscript_cpufreq, field)

/* The fields of each view; the last entry has no name. */
static const struct field {
	const char *name;
	uint16_t at;
	uint8_t size;
} packet_fields[] = {
	PACKET("len", len), PACKET("have", have), PACKET("mark", mark), PACKET("indev", in),
	PACKET("outdev", out), PACKET("protocol", protocol), PACKET("family", family),
	PACKET("hook", hook), PACKET("transport", transport), PACKET("l4", l4),
	PACKET("ms", now), PACKET("state", state), { 0 },
}, cpus_fields[] = {
	CPUS(cpu), CPUS(frequency), CPUS(load), CPUS(min), CPUS(max), { 0 },
};

/* Marks the field as read: fields that are not read need not be filled in. */
static void load_view(struct function *f, uint8_t reg, uint32_t at, uint8_t size)
{
	uint32_t bit = at / 4;

	f->b->out->sees |= (size == 8 ? 3ULL : 1ULL) << (bit < 62 ? bit : 62);
	emit_load(f->e, sizes[size], reg, REG_VIEW, at);
}

static void compile_view_field(struct function *f, uint32_t to, const char *name)
{
	bool packet = f->b->subsystem->view == VIEW_PACKET;
	const struct field *field = packet ? packet_fields : cpus_fields;

	while (field->name && strcmp(field->name, name))
		field++;
	if (!field->name)
		return refuse(f, "%s no field '%s'", packet ? "a packet has" : "the CPUs have",
			      name);
	load_view(f, 1, field->at, field->size);
	if (field->size == 8) {
		emit_alu_imm(f->e, INSN_DIV, 1, 1000000);
		return put(f, to, 1, a_number(44, false));
	}
	put(f, to, 1, a_number(field->size * 8, false));
}

/* Loads the entry in R(@reg), which may be nil, into @in. */
static bool get_entry(struct function *f, uint8_t in, uint32_t reg)
{
	struct known k = known_of(f, reg);

	get(f, in, reg);
	if (k.nil) {
		load_nil(f, 0);
		emit_branch(f->e, INSN_JEQ, in, 0, fails(f, IMAGE_NIL));
	}
	return k.kind == K_ENTRY;
}

static int entry_field(struct function *f, struct known entry, struct known name)
{
	int index = name.kind == K_STATIC ? field_index(f->b, entry.value, name.value) : -1;
	char text[64];

	if (index < 0)
		refuse(f, "an entry of this table has no field '%s'",
		       text_of(f->b, name.value, text, sizeof(text)));
	return index < 0 ? 0 : index * 8;
}

static void compile_static_field(struct function *f, uint32_t to, struct value table,
				 uint32_t rk)
{
	struct known key = known_of(f, rk), found;
	char text[64];

	if (table.tag != TAG_TABLE)
		return refuse(f, "indexes a value that is not a table");
	if (runtime_word(&f->b->runtime, table.bits + TABLE_METATABLE, 8))
		return refuse(f, "a table with a metatable");
	if (key.kind == K_NUMBER) {
		/* Nil cannot be a key, so nothing is looked up. */
		get(f, 1, rk);
		return compile_lookup(f, table, to);
	}
	if (key.kind != K_STATIC || key.value.tag != TAG_STRING)
		return refuse(f, "a key that is neither a number nor known at load");
	text_of(f->b, key.value, text, sizeof(text));
	found = known_value(runtime_field(&f->b->runtime, table.bits, text));
	if (found.kind == K_NUMBER) {
		emit_constant(f->e, 1, found.value.bits);
		return put(f, to, 1, found);
	}
	if (found.kind == K_BOOLEAN) {
		emit_constant(f->e, 1, runtime_field(&f->b->runtime, table.bits, text).bits & 1);
		return put(f, to, 1, found);
	}
	if (found.kind == K_NIL) {
		load_nil(f, 1);
		return put(f, to, 1, found);
	}
	put_nothing(f, to, found);
}

void compile_field(struct function *f, uint32_t i)
{
	struct known object = known_of(f, b_of(i)), key = known_of(f, c_of(i));
	char text[64];
	int at;

	switch (object.kind) {
	case K_VIEW:
		text_of(f->b, key.value, text, sizeof(text));
		return compile_view_field(f, a_of(i), text);
	case K_ENTRY:
		at = entry_field(f, object, key);
		get_entry(f, 1, b_of(i));
		emit_load(f->e, INSN_DW, 1, 1, at);
		return put(f, a_of(i), 1, a_number(NUMBER_BITS, true));
	case K_STATIC:
		return compile_static_field(f, a_of(i), object.value, c_of(i));
	case K_NIL:
		return refuse(f, "indexes nil");
	default:
		return refuse(f, "indexes a table that is not known at load");
	}
}

void compile_set_field(struct function *f, uint32_t i)
{
	struct known object = known_of(f, a_of(i));
	int at;

	if (object.kind == K_VIEW)
		return refuse(f, f->b->subsystem->view == VIEW_PACKET ?
			      "a packet's fields cannot be set: packet:put_u4() and so on store bytes, packet:set_mark() a mark" :
			      "fields of CPUs cannot be set: run() returns the frequency");
	if (object.kind == K_STATIC && object.value.tag == TAG_TABLE &&
	    known_of(f, b_of(i)).kind == K_NUMBER && !is_program_table(f->b, object.value)) {
		if (runtime_word(&f->b->runtime, object.value.bits + TABLE_METATABLE, 8))
			return refuse(f, "a table with a metatable");
		return compile_array_store(f, object.value, b_of(i), c_of(i));
	}
	if (object.kind != K_ENTRY)
		return refuse(f, "sets a field of a value that is neither an array nor an entry of a program.table");
	at = entry_field(f, object, known_of(f, b_of(i)));
	if (!get_number(f, 1, c_of(i)))
		return;
	get_entry(f, 2, a_of(i));
	emit_store(f->e, INSN_DW, 2, at, 1);
}

/* -- The packet's bytes ---------------------------------------------------------------- */

static void emit_swap(struct function *f, uint8_t reg, uint8_t size)
{
	if (size > 1)
		emit_insn(f->e, INSN_ALU64 | INSN_END, reg, 0, 0, size * 8);
}

static void spare_address(struct function *f, uint8_t reg)
{
	emit_mov(f->e, reg, INSN_R10);
	emit_alu_imm(f->e, INSN_ADD, reg, spare(f));
}

/* Reads bytes of the packet beyond those that were copied for the program. */
static void emit_far(struct function *f, const struct late *late)
{
	uint32_t none = emit_label(f->e);

	if (late->far)
		emit_constant(f->e, 1, late->value);
	spare_address(f, 2);
	emit_constant(f->e, 3, late->size);
	emit_function(f, "packet_load");
	emit_branch_imm(f->e, INSN_JNE, 0, 0, none);
	emit_load(f->e, sizes[late->size], 1, INSN_R10, spare(f));
	emit_swap(f, 1, late->size);
	emit_jump(f->e, late->back);
	emit_land(f->e, none);
	load_nil(f, 1);
	emit_jump(f->e, late->back);
}

static void compile_read(struct function *f, uint32_t to, uint32_t at, uint8_t size)
{
	struct known offset = known_of(f, at);
	uint32_t back = emit_label(f->e);
	struct late *late;

	if (!get_number(f, 1, at))
		return;
	late = later(f, emit_far);
	late->back = back;
	late->size = size;
	late->far = offset.fixed && !offset.nil;
	late->value = offset.value.bits;
	load_view(f, 2, offsetof(struct syscript_packet, have), 4);
	if (late->far && !offset.below && late->value < 1024) {
		emit_branch_imm(f->e, INSN_JLT, 2, late->value + size, late->label);
		emit_load(f->e, sizes[size], 1, REG_VIEW, DATA + late->value);
	} else {
		late->far = false;
		emit_mov(f->e, 3, 1);
		emit_alu_imm(f->e, INSN_ADD, 3, size);
		if (offset.below)
			emit_branch(f->e, INSN_JGT, 1, 2, late->label);
		emit_branch(f->e, INSN_JGT, 3, 2, late->label);
		emit_alu(f->e, INSN_ADD, 1, REG_VIEW);
		emit_load(f->e, sizes[size], 1, 1, DATA);
	}
	emit_swap(f, 1, size);
	emit_land(f->e, back);
	put(f, to, 1, (struct known){ .kind = K_NUMBER, .nil = true, .bits = size * 8 });
}

static void put_done(struct function *f, uint32_t to)
{
	uint32_t fine = emit_label(f->e);

	emit_constant(f->e, 1, 1);
	emit_branch_imm(f->e, INSN_JEQ, 0, 0, fine);
	emit_constant(f->e, 1, 0);
	emit_land(f->e, fine);
	put(f, to, 1, (struct known){ .kind = K_BOOLEAN });
}

static void compile_write(struct function *f, uint32_t to, uint32_t at, uint8_t size)
{
	if (!get_number(f, 1, at + 1))
		return;
	emit_swap(f, 1, size);
	emit_store(f->e, sizes[size], INSN_R10, spare(f), 1);
	if (!get_number(f, 1, at))
		return;
	spare_address(f, 2);
	emit_constant(f->e, 3, size);
	emit_function(f, "packet_store");
	put_done(f, to);
}

static void compile_told(struct function *f, uint32_t to, uint32_t at, const char *function)
{
	if (!get_number(f, 1, at))
		return;
	emit_function(f, function);
	put_done(f, to);
}

/* Arguments: the numbers of an address, of IPv4 or IPv6, and a port. */
static void compile_translate(struct function *f, uint32_t to, uint32_t at, uint32_t nargs)
{
	uint32_t words = nargs - 1, k;

	for (k = 0; k < words; k++) {
		if (!get_number(f, 1, at + k))
			return;
		emit_swap(f, 1, 4);
		emit_store(f->e, sizes[4], INSN_R10, spare(f) + 4 * k, 1);
	}
	if (!get_number(f, 3, at + words))
		return;
	emit_mov(f->e, 4, 3);
	spare_address(f, 1);
	emit_constant(f->e, 2, 4 * words);
	emit_function(f, "packet_translate");
	put_done(f, to);
}

static bool takes(struct function *f, uint32_t nargs, uint32_t wanted, const char *name)
{
	if (nargs != wanted)
		refuse(f, "%s takes %u argument%s", name, wanted, wanted == 1 ? "" : "s");
	return nargs == wanted;
}

/* Arguments begin at register @at. */
static void call_packet(struct function *f, uint32_t to, const char *name, uint32_t at,
			uint32_t nargs)
{
	bool writes = !strncmp(name, "put_", 4);
	const char *kind = name + (writes ? 4 : 0);

	if (kind[0] == 'u' && strchr("124", kind[1]) && kind[1] && !kind[2]) {
		if (!takes(f, nargs, 1 + writes, name))
			return;
		if (writes)
			return compile_write(f, to, at, kind[1] - '0');
		return compile_read(f, to, at, kind[1] - '0');
	}
	if (!strcmp(name, "set_mark") || !strcmp(name, "set_queue")) {
		if (takes(f, nargs, 1, name))
			compile_told(f, to, at, name[4] == 'm' ? "packet_mark" : "packet_queue");
		return;
	}
	if (!strcmp(name, "translate")) {
		if (nargs == 5 || takes(f, nargs, 2, name))
			compile_translate(f, to, at, nargs);
		return;
	}
	refuse(f, "a packet has no method '%s'", name);
}

/* -- CPUs -------------------------------------------------------------------------------- */

/* R(@to) becomes r0, or nil if r0 is @none. */
static void put_unless(struct function *f, uint32_t to, int64_t none)
{
	uint32_t fine = emit_label(f->e);

	emit_mov(f->e, 1, 0);
	emit_branch_imm(f->e, INSN_JNE, 1, none, fine);
	load_nil(f, 1);
	emit_land(f->e, fine);
	put(f, to, 1, (struct known){ .kind = K_NUMBER, .nil = true, .below = true, .bits = 32 });
}

static void call_cpus(struct function *f, uint32_t to, const char *name, uint32_t at,
		      uint32_t nargs)
{
	if (!strcmp(name, "load_of")) {
		if (!takes(f, nargs, 1, name) || !get_number(f, 1, at))
			return;
		emit_function(f, "cpu_load");
		return put_unless(f, to, -1);
	}
	if (!strcmp(name, "temperature")) {
		if (!takes(f, nargs, 0, name))
			return;
		emit_function(f, "zone_temperature");
		return put_unless(f, to, SYSCRIPT_CPUFREQ_NO_TEMPERATURE);
	}
	refuse(f, "the CPUs have no method '%s'", name);
}

/* -- Tables ------------------------------------------------------------------------------ */

static void put_entry(struct function *f, uint32_t to, struct value table, bool adds)
{
	uint32_t found = emit_label(f->e);

	emit_mov(f->e, 1, 0);
	if (adds) {
		emit_branch_imm(f->e, INSN_JEQ, 1, 0, fails(f, IMAGE_TABLE));
	} else {
		emit_branch_imm(f->e, INSN_JNE, 1, 0, found);
		load_nil(f, 1);
		emit_land(f->e, found);
	}
	put(f, to, 1, (struct known){ .kind = K_ENTRY, .nil = !adds, .value = table });
}

static void call_table(struct function *f, uint32_t to, struct value table, const char *name,
		       uint32_t first, uint32_t nargs)
{
	static const char *const functions[][2] = {
		{ "table_find", "shared_find" }, { "table_add", "shared_add" },
		{ "table_delete", "shared_delete" },
	};
	struct table_ref ref = { 0 };
	uint32_t n;

	for (n = 0; n < 3 && strcmp(functions[n][0] + 6, name); n++)
		;
	if (n == 3)
		return refuse(f, "a program.table has no method '%s'", name);
	if (!table_place(f, table, &ref) || !takes(f, nargs, ref.keys, name))
		return;
	for (uint32_t k = 0; k < ref.keys; k++) {
		if (!get_number(f, 1, first + k))
			return;
		emit_store(f->e, INSN_DW, INSN_R10, spare(f) + 8 * k, 1);
	}
	if (ref.shared)
		emit_constant(f->e, 1, ref.at);
	else
		emit_address(f->e, 1, ref.at);
	spare_address(f, 2);
	emit_function(f, functions[n][ref.shared]);
	if (n < 2)
		return put_entry(f, to, table, n);
	emit_mov(f->e, 1, 0);
	put(f, to, 1, (struct known){ .kind = K_BOOLEAN });
}

/* events:put(number, ...): true, or false if the record was dropped. */
static void call_events(struct function *f, uint32_t to, struct value events, const char *name,
			uint32_t first, uint32_t nargs)
{
	uint32_t number, values;

	if (strcmp(name, "put"))
		return refuse(f, "program.events has no method '%s'", name);
	if (!events_place(f, events, &number, &values) || !takes(f, nargs, values, name))
		return;
	for (uint32_t n = 0; n < values; n++) {
		if (!get_number(f, 1, first + n))
			return;
		emit_store(f->e, INSN_DW, INSN_R10, spare(f) + 8 * n, 1);
	}
	emit_constant(f->e, 1, number);
	spare_address(f, 2);
	emit_function(f, "ring_put");
	put_done(f, to);
}

/* entry:add("field", number), atomically. */
static void call_entry(struct function *f, uint32_t to, const char *name, uint32_t object,
		       uint32_t nargs)
{
	int at;

	if (strcmp(name, "add"))
		return refuse(f, "an entry has no method '%s'", name);
	if (!takes(f, nargs, 2, name))
		return;
	at = entry_field(f, known_of(f, object), known_of(f, object + 1));
	if (!get_number(f, 1, object + 2))
		return;
	get_entry(f, 2, object);
	emit_mov(f->e, 3, 1);
	emit_insn(f->e, INSN_STX | INSN_ATOMIC | INSN_DW, 2, 3, at, INSN_ADD | INSN_FETCH);
	emit_alu(f->e, INSN_ADD, 1, 3);
	put(f, to, 1, a_number(NUMBER_BITS, true));
}

/* -- Methods ------------------------------------------------------------------------------ */

void compile_method(struct function *f, uint32_t i)
{
	uint32_t a = a_of(i);
	struct known object = known_of(f, b_of(i)), name = known_of(f, c_of(i));

	if (object.kind <= K_NIL) {
		get(f, 1, b_of(i));
		put(f, a + 1, 1, object);
	} else {
		put_nothing(f, a + 1, object);
	}
	put_nothing(f, a, (struct known){ .kind = K_METHOD, .value = name.value });
}

static void call_method(struct function *f, uint32_t a, uint32_t nargs)
{
	struct known object = known_of(f, a + 1);
	char name[64];

	text_of(f->b, known_of(f, a).value, name, sizeof(name));
	if (object.kind == K_VIEW && f->b->subsystem->view == VIEW_CPUS)
		return call_cpus(f, a, name, a + 2, nargs - 1);
	if (object.kind == K_VIEW)
		return call_packet(f, a, name, a + 2, nargs - 1);
	if (object.kind == K_ENTRY)
		return call_entry(f, a, name, a + 1, nargs - 1);
	if (object.kind == K_STATIC && is_program_table(f->b, object.value))
		return call_table(f, a, object.value, name, a + 2, nargs - 1);
	if (object.kind == K_STATIC && is_program_events(f->b, object.value))
		return call_events(f, a, object.value, name, a + 2, nargs - 1);
	if (object.kind == K_STATIC && object.value.tag == TAG_STRING && !strcmp(name, "byte")) {
		if (takes(f, nargs, 2, name))
			compile_byte(f, object.value, a + 2, a);
		return;
	}
	refuse(f, "calls method '%s' of a value that is not known to have it", name);
}

/* -- Lua's functions ------------------------------------------------------------------------ */

static void call_floor(struct function *f, uint32_t a)
{
	struct known k = known_of(f, a + 1);

	if (k.kind == K_QUOTIENT)
		k.kind = K_NUMBER;
	else if (!get_number(f, 1, a + 1))
		return;
	k.nil = false;
	get(f, 1, a + 1);
	put(f, a, 1, k);
}

static void call_most(struct function *f, uint32_t a, uint32_t nargs, bool most)
{
	struct known result = known_of(f, a + 1), k;

	if (!nargs || !get_number(f, 1, a + 1))
		return;
	for (uint32_t n = 2; n <= nargs; n++) {
		uint32_t fine = emit_label(f->e);

		k = known_of(f, a + n);
		if (!get_number(f, 2, a + n))
			return;
		emit_branch(f->e, most ? INSN_JSGE : INSN_JSLE, 1, 2, fine);
		emit_mov(f->e, 1, 2);
		emit_land(f->e, fine);
		result.bits = k.bits > result.bits ? k.bits : result.bits;
		result.below |= k.below;
	}
	result.nil = false;
	result.fixed &= nargs == 1;
	put(f, a, 1, result);
}

/* Results are signed 32-bit numbers, as in LuaJIT. */
static void call_bits(struct function *f, uint32_t a, uint32_t nargs, uint8_t op)
{
	struct known b = known_of(f, a + 1), c = known_of(f, a + 2), result = a_number(32, true);

	if (!takes(f, nargs, 2, "a function of bit's") || !get_number(f, 1, a + 1) ||
	    !get_number(f, 2, a + 2))
		return;
	emit_insn(f->e, INSN_ALU | op | INSN_X, 1, 2, 0, 0);
	emit_insn(f->e, INSN_ALU64 | INSN_MOV | INSN_X, 1, 1, 32, 0);
	if (op == INSN_AND && (!b.below || !c.below)) {
		uint8_t most = !b.below && (c.below || b.bits < c.bits) ? b.bits : c.bits;

		if (most < 32)
			result = a_number(most, false);
	}
	put(f, a, 1, result);
}

static void call_error(struct function *f)
{
	emit_jump(f->e, fails(f, IMAGE_ERROR));
}

enum builtin {
	FLOOR, MIN, MAX, BAND, BOR, BXOR, LSHIFT, RSHIFT, ARSHIFT, ERROR, BUILTINS
};

static const char *const builtins[BUILTINS][2] = {
	[FLOOR] = { "math", "floor" }, [MIN] = { "math", "min" }, [MAX] = { "math", "max" },
	[BAND] = { "bit", "band" }, [BOR] = { "bit", "bor" }, [BXOR] = { "bit", "bxor" },
	[LSHIFT] = { "bit", "lshift" }, [RSHIFT] = { "bit", "rshift" },
	[ARSHIFT] = { "bit", "arshift" }, [ERROR] = { NULL, "error" },
};

static enum builtin find_builtin(const struct builder *b, struct value function)
{
	enum builtin n;

	for (n = 0; n < BUILTINS; n++) {
		const char *library = builtins[n][0], *name = builtins[n][1];
		struct value v = global_of(b, library ? library : name);

		if (library)
			v = runtime_field(&b->runtime, v.bits, name);
		if (v.tag == TAG_FUNCTION && v.bits == function.bits)
			break;
	}
	return n;
}

static void call_builtin(struct function *f, uint32_t a, uint32_t nargs, struct value function)
{
	static const uint8_t ops[] = {
		[BAND] = INSN_AND, [BOR] = INSN_OR, [BXOR] = INSN_XOR, [LSHIFT] = INSN_LSH,
		[RSHIFT] = INSN_RSH, [ARSHIFT] = INSN_ARSH,
	};
	enum builtin n = find_builtin(f->b, function);

	switch (n) {
	case FLOOR:
		if (takes(f, nargs, 1, "math.floor"))
			call_floor(f, a);
		return;
	case MIN: case MAX:
		return call_most(f, a, nargs, n == MAX);
	case ERROR:
		return call_error(f);
	case BUILTINS:
		return refuse(f, "calls a function of Lua's library that programs do not have: use math.floor, math.min, math.max, bit.* and error");
	default:
		return call_bits(f, a, nargs, ops[n]);
	}
}

/* -- The script's functions ------------------------------------------------------------------ */

static void call_instance(struct function *f, uint32_t a, uint32_t nargs, uint64_t closure)
{
	struct known args[ARGS_MAX];
	struct instance *in;

	if (nargs > ARGS_MAX)
		return refuse(f, "more than %d arguments", ARGS_MAX);
	for (uint32_t n = 0; n < nargs; n++)
		args[n] = known_of(f, a + 1 + n);
	in = instance_of(f, closure, args, nargs);
	if (!in)
		return;
	for (uint32_t n = 0; n < nargs; n++)
		if (args[n].kind <= K_NIL)
			get(f, 2 + n, a + 1 + n);
	emit_mov(f->e, 1, REG_VIEW);
	for (uint32_t n = 0; n < f->b->ninstances; n++)
		if (f->b->instances[n] == in)
			emit_call(f->e, n);
	if (in->result.kind > K_NIL)
		return put_nothing(f, a, in->result);
	put(f, a, 0, in->result);
}

/* The number of arguments: as given, or up to the last result of the previous call. */
static bool count_arguments(struct function *f, uint32_t i, uint32_t *nargs)
{
	uint32_t before = f->pc ? f->p->code[f->pc - 1] : 0;

	*nargs = b_of(i) - 1;
	if (b_of(i))
		return true;
	if (op_of(before) != OP_CALL || c_of(before) || a_of(before) <= a_of(i)) {
		refuse(f, "a number of arguments that is not known at load");
		return false;
	}
	*nargs = a_of(before) - a_of(i);
	return true;
}

void compile_whole_call(struct function *f, uint32_t i)
{
	uint32_t a = a_of(i), nargs, r;
	struct known k = known_of(f, a);

	if (!count_arguments(f, i, &nargs))
		return;
	if (k.kind == K_METHOD)
		call_method(f, a, nargs);
	else if (k.kind != K_STATIC || k.value.tag != TAG_FUNCTION)
		return refuse(f, k.kind == K_NIL ? "calls nil: there is no such function" :
			      "calls a function that is not known at load");
	else if (runtime_word(&f->b->runtime, k.value.bits + CLOSURE_IS_C, 1))
		call_builtin(f, a, nargs, k.value);
	else
		call_instance(f, a, nargs, k.value.bits);
	for (r = a + 1; c_of(i) && r + 1 < a + c_of(i); r++) {
		load_nil(f, 1);
		put(f, r, 1, (struct known){ .kind = K_NIL, .nil = true });
	}
}
