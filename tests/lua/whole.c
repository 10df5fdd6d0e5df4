// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Lua as programs for subsystems: results, failures and their lines, and refused code; and the
 * example packet filters, in C as well. Images are checked as the kernel checks them, and
 * interpreted, with the fuel that the kernel gives them.
 */
#define machine_call test_call
#define machine_poll test_poll
#include "../../engine/confined/interpret.c"
#undef machine_call
#undef machine_poll

#include <linux/syscript_cpufreq.h>
#include <linux/syscript_netfilter.h>
#include <linux/syscript_process.h>

#include "../../lib/programs/object.h"
#include "../../lib/lua/aot/aot.h"
#include "../unit/lib_test.h"

#define CPUS	2
#define FUEL	8192
#define COST_FUNCTION	32	/* at least percpu_ctx.c's cost of table and packet helpers */

static struct aot whole;
static struct checked checked;
static char *arena;
static const u8 *packet;
static size_t packet_len;
static u8 stored[256];
static s64 mark, temperature, loads[2];
static struct {
	u8 address[16];
	u64 len, first, last;
} translated;

static u64 place_of(u64 address)
{
	return address & ((1UL << checked.image->arena_shift) - 1);
}

static const char *name_of(u32 number)
{
	const char *name = whole.functions;

	while (number--)
		name += strlen(name) + 1;
	return name;
}

/* A table of four entries, looked up by the whole key, never expiring. */
static u64 table(const char *name, const u64 *args)
{
	u32 key_size = *(u32 *)(arena + place_of(args[0]) + 4);
	u32 value_size = *(u32 *)(arena + place_of(args[0]) + 8);
	u64 sets = *(u64 *)(arena + place_of(args[0]) + 16);
	const char *key = arena + place_of(args[1]);
	static u64 used[256];
	u64 size = 8 + key_size + value_size;

	for (int n = 0; n < 4; n++) {
		char *at = arena + place_of(sets + n * size);

		if (*(u64 *)at && !memcmp(at + 8, key, key_size)) {
			if (!strcmp(name, "table_delete")) {
				memset(at, 0, size);
				return 1;
			}
			return sets + n * size + 8 + key_size;
		}
		if (!*(u64 *)at && !strcmp(name, "table_add")) {
			*(u64 *)at = 1;
			memcpy(at + 8, key, key_size);
			return sets + n * size + 8 + key_size;
		}
	}
	(void)used;
	return 0;
}

u64 test_call(const u64 *args, struct machine *machine, u32 call)
{
	const char *name = name_of(call - IMAGE_FUNCTION);

	machine->fuel -= COST_FUNCTION;
	if (machine->fuel < 0) {
		machine->end = MACHINE_STOP;
		return 0;
	}
	if (!strcmp(name, "packet_load")) {
		machine->fuel -= args[2];
		if (args[0] > packet_len || args[2] > packet_len - args[0])
			return -1;
		memcpy(arena + place_of(args[1]), packet + args[0], args[2]);
		return 0;
	}
	if (!strcmp(name, "packet_store")) {
		if (args[0] > packet_len || args[2] > packet_len - args[0])
			return -1;
		memcpy(stored + args[0], arena + place_of(args[1]), args[2]);
		return 0;
	}
	if (!strcmp(name, "packet_translate")) {
		CHECK(args[1] <= sizeof(translated.address));
		memcpy(translated.address, arena + place_of(args[0]), args[1]);
		memcpy(&translated.len, args + 1, sizeof(u64) * 3);
		return args[3] < 60000 ? 0 : -1;
	}
	if (!strcmp(name, "packet_mark")) {
		mark = args[0];
		return 0;
	}
	if (!strcmp(name, "zone_temperature"))
		return temperature;
	if (!strcmp(name, "cpu_load"))
		return args[0] < 2 ? loads[args[0]] : -1;
	CHECK(!strncmp(name, "table_", 6));
	return table(name, args);
}

void test_poll(struct machine *machine)
{
	machine->end = MACHINE_STOP;
}

static void unload(void)
{
	if (arena)
		image_release(&checked);
	free(arena);
	aot_free(&whole);
	arena = NULL;
}

/* Checks @whole and gives it memory. */
static void begin(const char *source)
{
	char error[256];

	if (image_check(whole.image, whole.image_len, CONTEXT_ATOMIC, NULL, &checked, error,
			sizeof(error))) {
		fprintf(stderr, "%s\n%s\n", source, error);
		exit(1);
	}
	CHECK_EQ(whole.memory, 1UL << checked.image->arena_shift);
	arena = calloc(1, whole.memory + 2 * IMAGE_GUARD);
	memcpy(arena, whole.data, whole.data_len);
}

static int load_lua(const char *source, const char *subsystem)
{
	int err;

	unload();
	err = aot_compile(&whole, "t", source, strlen(source), subsystem, CPUS);
	if (!err)
		begin(source);
	return err;
}

/* Loads like `syscript load`: Lua source, or an object compiled from C. */
static void load_program(const char *path, const char *subsystem)
{
	static char file[1 << 20];
	FILE *opened = fopen(path, "r");
	size_t len = opened ? fread(file, 1, sizeof(file), opened) : 0;
	struct object object;
	char error[2048];

	unload();
	if (opened)
		fclose(opened);
	if (object_read(&object, path, file, len, subsystem, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		exit(1);
	}
	whole = (struct aot){
		.image = object.image, .image_len = object.image_len, .data = object.data,
		.data_len = object.data_len, .lines = object.lines, .nlines = object.nlines,
		.functions_len = object.functions_len, .copies = object.copies,
		.sees = object.sees, .memory = object.memory,
	};
	CHECK(object.functions_len <= sizeof(whole.functions));
	memcpy(whole.functions, object.functions, object.functions_len);
	begin(path);
}

/* 0 and the result; or the line that failed, with the reason in @reason. */
static u32 enter(const void *view, size_t size, s64 *result, u64 *reason)
{
	struct machine machine;

	machine_init(&machine, checked.image);
	machine.frame = checked.image->stack_end - 512;
	machine.base = (uintptr_t)arena;
	machine.user = IMAGE_ATOMIC_USER;
	machine.fuel = FUEL;
	machine.args[0] = machine.user + machine.frame;
	memcpy(arena + machine.frame, view, size);
	machine_interpret(&checked, NULL, &machine);
	*result = machine.value;
	*reason = machine.end == MACHINE_ABORT ? machine.value : 100 + machine.end;
	if (machine.end == MACHINE_DONE)
		return 0;
	if (!whole.nlines)
		return machine.pc + 1;
	CHECK(machine.pc < whole.nlines);
	return whole.lines[machine.pc];
}

/* -- Numbers --------------------------------------------------------------------------- */

struct sum {
	const char *body;	/* body of run(a, b, c), on the second line */
	s64 args[3], result;
	u64 reason;		/* or why it fails, */
	u32 line;		/* line of the failure, if not the second */
};

enum { NIL_ = 1, ZERO, RANGE, ERROR };
#define BIG	(1LL << 53)

static const struct sum sums[] = {
	{ "return a + b * c", { 2, 3, 4 }, 14, 0, 0 },
	{ "return a - b", { 2, 3 }, -1, 0, 0 },
	{ "return -a", { 7 }, -7, 0, 0 },
	{ "return a % b", { -7, 3 }, 2, 0, 0 }, { "return a % b", { 7, -3 }, -2, 0, 0 },
	{ "return a % 8", { -1 }, 7, 0, 0 }, { "return a % -5", { 11 }, -4, 0, 0 },
	{ "return math.floor(a / b)", { -7, 2 }, -4, 0, 0 },
	{ "return math.floor(a / b)", { 7, -2 }, -4, 0, 0 },
	{ "return math.floor(a / b)", { 6, -2 }, -3, 0, 0 },
	{ "return math.floor(a / 4)", { -5 }, -2, 0, 0 },
	{ "return math.floor(a / b)", { BIG - 1, 3 }, 3002399751580330, 0, 0 },
	{ "return a / b == 2 and 1 or 0", { 4, 2 }, 0, 0, 0 },	/* refused, see below */
	{ "return a % b", { 1, 0, 0 }, 0, ZERO, 0 }, { "return math.floor(a / b)", { 1, 0, 0 }, 0, ZERO, 0 },
	{ "return a + b", { BIG - 1, 1 }, 0, RANGE, 0 },
	{ "return a + b", { BIG - 2, 1 }, BIG - 1, 0, 0 },
	{ "return a * b", { 1LL << 40, 1LL << 40 }, 0, RANGE, 0 },
	{ "return a * b", { -3, 1 << 30 }, -3LL * (1 << 30), 0, 0 },
	{ "return a", { BIG * 2 }, 0, RANGE, 0 },
	{ "return math.max(a, b, 3) - math.min(a, b)", { 1, 9 }, 8, 0, 0 },
	{ "return bit.band(a, 0xff)", { 0x1234 }, 0x34, 0, 0 },
	{ "return bit.bor(a, b)", { 1LL << 31, 1 }, (s64)(s32)0x80000001, 0, 0 },
	{ "return bit.rshift(a, 28)", { -1 }, 15, 0, 0 },
	{ "return bit.lshift(a, 31)", { 1 }, -(1LL << 31), 0, 0 },
	{ "return bit.bxor(a, b)", { 6, 3 }, 5, 0, 0 },
	{ "if a < b then return 1 elseif a == b then return 2 end return 3", { 1, 2 }, 1, 0, 0 },
	{ "if a < b then return 1 elseif a == b then return 2 end return 3", { 2, 2 }, 2, 0, 0 },
	{ "if a < b then return 1 elseif a == b then return 2 end return 3", { 3, 2 }, 3, 0, 0 },
	{ "return a <= b and not (a == b)", { 1, 2 }, 1, 0, 0 },
	{ "local x = a > 1 and b or c return x", { 2, 5, 6 }, 5, 0, 0 },
	{ "local x = a > 1 and b or c return x", { 1, 5, 6 }, 6, 0, 0 },
	{ "local s = 0 for i = 1, a do s = s + i * i end return s", { 10 }, 385, 0, 0 },
	{ "local s = 0 for i = a, 1, -2 do s = s * 10 + i end return s", { 7 }, 7531, 0, 0 },
	{ "local s = 0 for i = 1, 0 do s = 1 end return s", { 0 }, 0, 0, 0 },
	{ "while a > 100 do a = a - 7 if a % 5 == 0 then break end end return a", { 120 }, 99, 0, 0 },
	{ "local n = 0 repeat n = n + 1 a = math.floor(a / 2) until a == 0 return n", { 1000 }, 10, 0, 0 },
	{ "local x if a > 1 then x = b end if x then return x + 1 end return -1", { 2, 5 }, 6, 0, 0 },
	{ "local x if a > 1 then x = b end if x then return x + 1 end return -1", { 1, 5 }, -1, 0, 0 },
	{ "local x if a > 1 then x = b end return x + 1", { 1, 5 }, 0, NIL_, 0 },
	{ "local x if a > 1 then x = true end return x == nil", { 1 }, 1, 0, 0 },
	{ "local x if a > 1 then x = true end return not x", { 2 }, 0, 0, 0 },
	{ "local x = 1 if a > 1 then x = later(b) end return x or 9", { 2, 0 }, 9, 0, 0 },
	{ "local x = 1 if a > 1 then x = later(b) end return x or 9", { 1, 0 }, 1, 0, 0 },
	{ "return", { 1 }, 0, NIL_, 0 },
	{ "error('no') return 1", { 1 }, 0, ERROR, 0 },
	{ "return twice(a) + twice(twice(b))", { 1, 2 }, 10, 0, 0 },
	{ "return later(a) or 99", { 0 }, 99, 0, 0 }, { "return later(a) or 99", { 4 }, 4, 0, 0 },
	{ "return twice(later(a))", { 0 }, 0, NIL_, 1 },
	{ "return ports[a] and 1 or 0", { 443 }, 1, 0, 0 },
	{ "return ports[a] and 1 or 0", { 444 }, 0, 0, 0 },
	{ "return list[a] or -1", { 6 }, 60, 0, 0 }, { "return list[a] or -1", { 7 }, -1, 0, 0 },
	{ "return list[a] or -1", { 0 }, -1, 0, 0 }, { "return list[a] or -1", { -1 }, -1, 0, 0 },
	{ "return #list + limits.low + #word", { 0 }, 6 + 5 + 4, 0, 0 },
	{ "return (word:byte(a) or 0) * 2", { 3 }, 2 * 'r', 0, 0 },
	{ "return (word:byte(a) or 0) * 2", { 5 }, 0, 0, 0 },
	{ "return constant * a", { 3 }, 126, 0, 0 },
	{ "return several(a, 1, true)", { 3 }, 4, 0, 0 }, { "return several(a)", { 3 }, 3, 0, 0 },
	{ "while true do end", { 0 }, 0, 100 + MACHINE_STOP, 0 },
	{ "return h(a)", { 5 }, 15, 0, 0 },
};

static const char before[] =
	"local constant, word, list = 42, 'word', { 10, 20, 30, 40, 50, 60 } "
	"local ports, limits = { [22] = true, [443] = true }, { low = 5 } "
	"local function twice(x) return x + x end "
	"local function later(x) if x > 0 then return x end end "
	"local function several(x, y, z) if z then return x + y end return x end "
	"local function g(x, y, z, w) local s = 0 for i = 1, x do s = s + y end return s + z + w end "
	"local function h(x) local p, q, r = x, x, x return g(x, 1, p, q) - r + x end "
	"function run(a, b, c)\n";

static void check_sum(const struct sum *sum)
{
	struct syscript_arguments view = { .nargs = 3 };
	char source[4096];
	s64 result;
	u64 reason;
	u32 line;

	snprintf(source, sizeof(source), "%s%s\nend", before, sum->body);
	if (load_lua(source, "process")) {
		fprintf(stderr, "%s: %s\n", sum->body, whole.error);
		exit(1);
	}
	memcpy(view.args, sum->args, sizeof(sum->args));
	line = enter(&view, sizeof(view), &result, &reason);
	if (sum->reason ? line != (sum->line ?: 2) || reason != sum->reason :
			  line || result != sum->result) {
		fprintf(stderr, "%s: line %u, reason %llu, result %lld, not %lld\n", sum->body,
			line, (unsigned long long)reason, (long long)result,
			(long long)sum->result);
		exit(1);
	}
}

static void test_sums(void)
{
	for (size_t n = 0; n < sizeof(sums) / sizeof(sums[0]); n++)
		if (!strstr(sums[n].body, "a / b == 2"))
			check_sum(&sums[n]);
}

/* -- State kept from call to call ------------------------------------------------------- */

static s64 invoke(s64 a, s64 b)
{
	struct syscript_arguments view = { .nargs = 2, .args = { a, b } };
	s64 result;
	u64 reason;

	CHECK_EQ(enter(&view, sizeof(view), &result, &reason), 0);
	return result;
}

/* 100 times the reason, plus the line. */
static u64 fails_at(s64 a, s64 b)
{
	struct syscript_arguments view = { .nargs = 2, .args = { a, b } };
	s64 result;
	u64 reason;
	u32 line = enter(&view, sizeof(view), &result, &reason);

	return line + 100 * reason;
}

static void test_variables(void)
{
	CHECK(!load_lua("local n, on = 5, false\n"
		    "local function more(x) n = n + x end\n"
		    "function run(a) more(a) if on then n = n + 100 end on = a == 2 return n end",
		    "process"));
	CHECK_EQ(invoke(1, 0), 6);
	CHECK_EQ(invoke(2, 0), 8);
	CHECK_EQ(invoke(1, 0), 109);
	CHECK_EQ(invoke(1, 0), 110);
	CHECK(!load_lua("local t, on = { 1, 2, 3, 4 }, { true, false }\n"
		    "local function of(n) return t[n] end\n"
		    "function run(a, b) if a == 0 then return #t end local was = of(a) or -7\n"
		    "if b > 0 then t[a] = was + b on[1] = not on[1] end\n"
		    "return on[1] and was or -was end", "process"));
	CHECK_EQ(invoke(2, 0), 2);
	CHECK_EQ(invoke(2, 5), -2);
	CHECK_EQ(invoke(2, 1), 7);
	CHECK_EQ(invoke(2, 0), 8);
	CHECK_EQ(invoke(4, 0), 4);
	CHECK_EQ(invoke(5, 0), -7);
	CHECK_EQ(invoke(0, 0), 4);
	for (s64 n = -1; n <= 5; n += 6)
		CHECK_EQ(fails_at(n, 1), 4 + 100 * IMAGE_INDEX);
	CHECK(!load_lua("local n = 5 function run(a) local m = n n = a return m end", "process"));
	CHECK_EQ(invoke(7, 0), 5);
	CHECK_EQ(invoke(8, 0), 7);
}

/* Constants by scattered keys, some far apart, some negative: compiled as a binary search. */
static void test_scattered(void)
{
	CHECK(!load_lua("local t = {} for n = -511, 512 do t[n * n * n] = n end\n"
			"function run(a) return t[a] or 9999 end", "process"));
	for (s64 n = -511; n <= 512; n++) {
		CHECK_EQ(invoke(n * n * n, 0), n);
		CHECK_EQ(invoke(n * n * n + 3, 0), 9999);
	}
	CHECK_EQ(invoke(-BIG + 1, 0), 9999);
	CHECK_EQ(invoke(BIG - 1, 0), 9999);
	CHECK(load_lua("local t = {} for n = 1, 1025 do t[n * 7] = n end\n"
		       "function run(a) return t[a] or 0 end", "process"));
	CHECK(strstr(whole.error, "more than 1024 scattered numbers"));
}

static void test_tables(void)
{
	CHECK(!load_lua("local t = program.table{ 'first', 'second', keys = 2, entries = 8, age = 5 }\n"
		    "function run(a, b)\n"
		    "  if a == 0 then return t:delete(b, 1) end\n"
		    "  if a == 1 then local e = t:find(b, 1) return e and e.second or -1 end\n"
		    "  local e = t:add(b, 1)\n"
		    "  e.first = e.first + 1\n"
		    "  return e:add('second', a) * 100 + e.first\n"
		    "end", "process"));
	CHECK_EQ(invoke(1, 7), -1);
	CHECK_EQ(invoke(5, 7), 501);
	CHECK_EQ(invoke(5, 7), 1002);
	CHECK_EQ(invoke(3, 8), 301);
	CHECK_EQ(invoke(1, 7), 10);
	CHECK_EQ(invoke(0, 7), 1);
	CHECK_EQ(invoke(0, 7), 0);
	CHECK_EQ(invoke(1, 7), -1);
	CHECK_EQ(invoke(1, 8), 3);
}

/* -- Packets ------------------------------------------------------------------------------- */

/* Metadata of the next packet. */
static struct syscript_packet next = {
	.protocol = 0x800, .transport = 17, .l4 = 20, .now = 7000000123, .mark = 3, .in = 1,
	.family = 2, .hook = 1,
};

static s64 filter(const u8 *bytes, size_t len, size_t have, u32 *line)
{
	struct {
		struct syscript_packet p;
		u8 data[256];
	} view = { .p = next };
	s64 result;
	u64 reason;

	view.p.len = len;
	view.p.have = have;
	/* Stale bytes of an earlier packet. */
	memset(view.data, 0xee, sizeof(view.data));
	memcpy(view.data, bytes, have);
	packet = bytes;
	packet_len = len;
	*line = enter(&view, sizeof(view), &result, &reason);
	return result;
}

static const u8 bytes[100] = {
	[12] = 10, [15] = 9, [20] = 0x30, 0x39, 0x0f, 0xa0, [80] = 0x12, 0x34, 0x56, 0x78,
};

static s64 filtered(const char *body)
{
	char source[2048];
	u32 line;
	s64 result;

	snprintf(source, sizeof(source), "function run(p)\n%s\nend", body);
	if (load_lua(source, "netfilter")) {
		fprintf(stderr, "%s: %s\n", body, whole.error);
		exit(1);
	}
	CHECK_EQ(whole.copies, 64);
	result = filter(bytes, 100, 64, &line);
	return line ? -(s64)line : result;
}

static void test_packets(void)
{
	CHECK_EQ(filtered("return p.len + p.have + p.mark + p.indev + p.outdev"), 168);
	CHECK_EQ(filtered("return p.protocol + p.family + p.hook + p.transport"), 0x800 + 20);
	CHECK_EQ(filtered("return p.ms"), 7000);
	CHECK_EQ(filtered("return p:u2(p.l4 + 2)"), 4000);
	CHECK_EQ(filtered("return p:u2(22) == 4000 and DROP or ACCEPT"), 0);
	CHECK_EQ(filtered("return p:u4(12)"), 0x0a000009);
	CHECK_EQ(filtered("return p:u1(12)"), 10);
	CHECK_EQ(filtered("return p:u4(80)"), 0x12345678);
	CHECK_EQ(filtered("local n = 78 return p:u2(n + 2)"), 0x1234);
	CHECK_EQ(filtered("return p:u2(62) == 0 and p:u2(63) == 0"), 1);
	CHECK_EQ(filtered("return p:u1(99) == 0 and p:u1(100) == nil and p:u2(99) == nil"), 1);
	CHECK_EQ(filtered("local n = p.l4 - 21 return p:u1(n) == nil and p:u4(n) == nil"), 1);
	CHECK_EQ(filtered("local n = p.l4 + 79 return p:u1(n) == 0 and p:u2(n) == nil"), 1);
	CHECK_EQ(filtered("return p:u1(5000) or 77"), 77);
	CHECK_EQ(filtered("\n\nreturn p:u1(5000) + 1"), -4);
	CHECK_EQ(filtered("return p:put_u2(90, 0x1ff01) and p:put_u4(0, -2)"), 1);
	CHECK_EQ(stored[90] << 8 | stored[91], 0xff01);
	CHECK_EQ(stored[0] << 8 | stored[3], 0xfffe);
	CHECK_EQ(filtered("return p:put_u2(99, 1)"), 0);
	CHECK_EQ(filtered("return p:put_u1(3, 258)"), 1);
	CHECK_EQ(stored[3], 2);
	CHECK_EQ(filtered("return p:set_mark(p.mark + 39)"), 1);
	CHECK_EQ(mark, 42);
	CHECK_EQ(filtered("return p:translate(0x0a000001, p.mark + 77)"), 1);
	CHECK(translated.len == 4 && !memcmp(translated.address, "\n\0\0\1", 4));
	CHECK(translated.first == 80 && translated.last == 80);
	CHECK_EQ(filtered("return p:translate(0xfd090000, 0, 0, p.mark, 0)"), 1);
	CHECK(translated.len == 16 && !translated.last);
	CHECK(!memcmp(translated.address, "\xfd\t\0\0\0\0\0\0\0\0\0\0\0\0\0\3", 16));
	CHECK_EQ(filtered("return p:translate(1, 60000)"), 0);
}

/* -- Refused programs ------------------------------------------------------------------------- */

static const struct {
	const char *source, *subsystem, *error;
} refusals[] = {
	{ "function run(p)\n  local t = {}\n return 1 end", "netfilter", "t:2: makes a table" },
	{ "function run(p)\n return 'a' .. p.len end", "netfilter", "t:2: makes a string" },
	{ "function run(p)\n\n return p.length end", "netfilter", "t:3: a packet has no field 'length'" },
	{ "function run(p) return p:u3(1) end", "netfilter", "t:1: a packet has no method 'u3'" },
	{ "function run(p) return p:translate(1) end", "netfilter", "t:1: translate takes 2 arguments" },
	{ "function run(p) return p.len / 2 end", "netfilter", "t:1: run() returns a value that is not a number" },
	{ "function run(p) return p.len / 2 + 1 end", "netfilter", "only math.floor(a / b)" },
	{ "function run(p) return p.len ^ 2 end", "netfilter", "t:1: a power" },
	{ "function run(p) count = 1 return 1 end", "netfilter", "t:1: sets a global" },
	{ "function run(p) return string.rep('a', 2) end", "netfilter", "library" },
	{ "function run(p) return syscall.getpid() end", "netfilter", "t:1: " },
	{ "local function f(x) return f2(x) end function run(p) return f(1) end", "netfilter",
	  "calls nil" },
	{ "local f function f(x) if x > 0 then return f(x - 1) end return 1 end\n"
	  "function run(p) return f(p.len) end", "netfilter", "t:1: a function that calls itself" },
	{ "function run(p) for k in pairs({}) do end return 1 end", "netfilter", "t:1: " },
	{ "function run(p) return 1, 2 end", "netfilter", "more than one result" },
	{ "function run(p, q) return 1 end", "netfilter", "run() takes the packet" },
	{ "function run(...) return 1 end", "netfilter", "run() takes the packet" },
	{ "function run(a, b, c, d, e) return 1 end", "process", "up to 4 numbers" },
	{ "local n\nfunction run(a) n = a return 1 end", "process",
	  "t:2: a variable that changes has to begin as an integer" },
	{ "function run(a) local x = a if a > 1 then x = 'y' end return x end", "process",
	  "several kinds" },
	{ "function run(a) return 1.5 * a end", "process", "an integer within" },
	{ "function run(a) return function() end end", "process", "t:1: makes a function" },
	{ "function run(a) return a + end", "process", "t:1: " },
	{ "x = nil + 1", "process", "t:1: attempt to perform arithmetic" },
	{ "x = 1", "process", "run" },
	{ "local t = program.table{ entries = 9 }", "process", "power of 2" },
	{ "local t = program.table{ 'a' } function run(a) return t:find(a).b end", "process",
	  "no field 'b'" },
	{ "local t = program.table{ 'a' } function run(a) return t:find(a, 1) end", "process",
	  "find takes 1 argument" },
	{ "local t = program.table{ 'a', keys = 8, entries = 1048576 }\n"
	  "local u = program.table{ 'a', keys = 8, entries = 1048576 }\n"
	  "local v = program.table{ 'a', keys = 8, entries = 1048576 }\n"
	  "local w = program.table{ 'a', keys = 8, entries = 1048576 }\n"
	  "function run(a) return t:add(a, a, a, a, a, a, a, a).a +\n"
	  "u:add(a, a, a, a, a, a, a, a).a + v:add(a, a, a, a, a, a, a, a).a +\n"
	  "w:add(a, a, a, a, a, a, a, a).a end", "process", "more than 256 MiB" },
	{ "local t = { [1] = 'x' } function run(a) return t[a] end", "process", "not all integers" },
	{ "local t = { [7] = 1 } function run(a) t[a] = 1 return 1 end", "process", "not an array" },
	{ "local t = {} function run(a) t[a] = 1 return 1 end", "process", "not an array" },
	{ "local t = { 1 } function run(a) t[a] = true return 1 end", "process", "a number is needed" },
	{ "local t = { true } function run(a) t[a] = 1 return 1 end", "process", "booleans only" },
	{ "local t = { 1 } function run(a) t.x = a return 1 end", "process", "neither an array" },
	{ "function run(c) return c.len end", "cpufreq", "the CPUs have no field 'len'" },
	{ "function run(c) return c:u1(1) end", "cpufreq", "the CPUs have no method 'u1'" },
	{ "function run(c) c.max = 1 return 1 end", "cpufreq", "run() returns the frequency" },
	{ "function run(c, d) return 1 end", "cpufreq", "run() takes the CPUs" },
	{ "function run(a) return 1 end", "nothing", "cannot be in Lua" },
	{ "function run(a) return a == 5LL end", "process", ":1: an integer of 64 bits" },
	{ "local k = 5ULL function run(a)\nreturn a * k end", "process", ":2: " },
	{ "function run(a)\nreturn 5LL end", "process", ":2: " },
	{ "local t = { [3] = 5LL }\nfunction run(a)\nreturn t[a] == 5 end", "process", ":3: " },
};

static void test_refusals(void)
{
	for (size_t n = 0; n < sizeof(refusals) / sizeof(refusals[0]); n++) {
		CHECK(load_lua(refusals[n].source, refusals[n].subsystem) < 0);
		if (strstr(whole.error, refusals[n].error))
			continue;
		fprintf(stderr, "%s: '%s', not '%s'\n", refusals[n].source, whole.error,
			refusals[n].error);
		exit(1);
	}
}

/* -- Examples ------------------------------------------------------------------------------------ */

static void load_example(const char *name, bool in_c)
{
	char path[128];

	snprintf(path, sizeof(path), in_c ? "build/tests/programs/%s.o" :
		 "examples/netfilter/%s.lua", name);
	load_program(path, "netfilter");
}

/* It does not fail. */
static s64 verdict(const u8 *p, size_t len)
{
	size_t have = len < whole.copies ? len : whole.copies;
	u32 line;
	s64 result = filter(p, len, have, &line);

	CHECK_EQ(line, 0);
	return result;
}

/* The verdict on a packet of @len zeros, with only these fields set. */
static s64 verdict_of(u8 transport, u16 l4, size_t len)
{
	static const u8 zeros[512];
	const struct syscript_packet before = next;
	s64 result;

	next.transport = transport;
	next.l4 = l4;
	result = verdict(zeros, len);
	next = before;
	return result;
}

enum { TCP = 6, UDP = 17, UNKNOWN = 255 };

static void test_limits_of_senders(bool in_c)
{
	u8 udp[100] = { [12] = 10, [15] = 1, [21] = 4, [22] = 0x0f, 0xa0 };
	u8 udp6[100] = { [8] = 0xfd, [15] = 1, [23] = 1, [42] = 0x0f, 0xa0 };
	const struct syscript_packet before = next;
	u32 n;

	load_example("sources", in_c);
	for (n = 0; n < 12; n++)
		CHECK_EQ(verdict(udp, 100), n < 10 ? SYSCRIPT_ACCEPT : SYSCRIPT_DROP);
	udp[15] = 2;
	CHECK_EQ(verdict(udp, 100), SYSCRIPT_ACCEPT);
	next.protocol = 0x86dd;
	next.l4 = 40;
	/* All addresses of a network. */
	for (n = 0; n < 12; n++, udp6[23]++)
		CHECK_EQ(verdict(udp6, 100), n < 10 ? SYSCRIPT_ACCEPT : SYSCRIPT_DROP);
	udp6[15] = 2;
	CHECK_EQ(verdict(udp6, 100), SYSCRIPT_ACCEPT);
	/* The same port, behind an extension header; the table is full with the first three. */
	udp6[15] = 1;
	memcpy(udp6 + 56, udp6 + 40, 4);
	next.l4 = 56;
	CHECK_EQ(verdict(udp6, 100), SYSCRIPT_DROP);
	next = before;
}

/* Filters that match a protocol pass no packet whose protocol is unknown. */
static void test_unknown(bool in_c)
{
	static const struct {
		const char *name;
		u8 transport;
		s64 refusal;
	} filters[] = {
		{ "limit", UDP, SYSCRIPT_DROP }, { "sources", UDP, SYSCRIPT_DROP },
		{ "knock", UDP, SYSCRIPT_DROP }, { "knock", TCP, SYSCRIPT_DROP },
		{ "syn", TCP, SYSCRIPT_DROP }, { "dns", UDP, SYSCRIPT_REJECT },
		{ "dns", TCP, SYSCRIPT_REJECT },
	};
	u8 to_the_service[60] = { [12] = 10, [15] = 7, [16] = 10, [19] = 9 };
	u32 n;

	for (n = 0; n < sizeof(filters) / sizeof(filters[0]); n++) {
		load_example(filters[n].name, in_c);
		CHECK_EQ(verdict_of(UNKNOWN, 20, 100), filters[n].refusal);
		CHECK_EQ(verdict_of(UNKNOWN, 0, 100), filters[n].refusal);
		/* Truncated before its ports, or flags. */
		CHECK_EQ(verdict_of(filters[n].transport, 97, 100), filters[n].refusal);
		CHECK_EQ(verdict_of(filters[n].transport, 4000, 100), filters[n].refusal);
		CHECK_EQ(verdict_of(1, 20, 100), SYSCRIPT_ACCEPT);
	}
	load_example("balance", in_c);
	next.transport = UNKNOWN;
	CHECK_EQ(verdict(to_the_service, sizeof(to_the_service)), SYSCRIPT_DROP);
	to_the_service[19] = 8;
	CHECK_EQ(verdict(to_the_service, sizeof(to_the_service)), SYSCRIPT_ACCEPT);
	to_the_service[15] = 3;
	CHECK_EQ(verdict(to_the_service, sizeof(to_the_service)), SYSCRIPT_DROP);
	next.transport = UDP;
}

static void test_balance(bool in_c)
{
	u8 udp[100] = { [12] = 10, [15] = 1, [16] = 10, [19] = 9, [21] = 4, [22] = 0x0f, 0xa0 };

	load_example("balance", in_c);
	CHECK_EQ(verdict(udp, 100), SYSCRIPT_ACCEPT);
	CHECK_EQ(stored[16] << 24 | stored[19], 10 << 24 | 2);
	load_example("sample", in_c);
	CHECK_EQ(verdict(udp, 100), SYSCRIPT_ACCEPT);
}

/* -- Questions for names ------------------------------------------------------------------------- */

#define QUESTION	(next.l4 + 8 + 12)

/* A datagram to port 53 with one question for @name, which may have zeros in it. */
static size_t put_question(u8 *to, const u8 *name, size_t len)
{
	memset(to, 0, QUESTION);
	to[next.l4 + 3] = 53;
	to[next.l4 + 13] = 1;
	memcpy(to + QUESTION, name, len);
	memset(to + QUESTION + len, 1, 4);
	return QUESTION + len + 4;
}

static s64 asked(const u8 *name, size_t len)
{
	u8 question[1024];	/* @l4 is 300 at most */

	return verdict(question, put_question(question, name, len));
}

/* Fills @left bytes without leaving a single one, which cannot be a label. */
static u8 label_size(size_t left, size_t size)
{
	if (left <= size + 1)
		return left - 1;
	return left == size + 2 ? size - 1 : size;
}

/* Labels of @size bytes before @end, @len bytes in all; returns their number, including @end's. */
static u32 put_name(u8 *name, size_t len, size_t size, const char *end, size_t end_len)
{
	size_t at = 0, left;
	u32 labels = 2;		/* of @end */

	while ((left = len - end_len - at)) {
		name[at] = label_size(left, size);
		memset(name + at + 1, 'a' + at % 26, name[at]);
		at += name[at] + 1;
		labels++;
	}
	memcpy(name + at, end, end_len);
	return labels;
}

/* dns.lua */
#define LUA_LABELS	36
#define LUA_HEADERS	60
#define REFUSED	"\7eXample\3NET"	/* and 0 */
#define OTHER	"\7example\3nex"
#define BELOW	"\7example\3net\3org"

static void test_names(bool in_c)
{
	static const size_t sizes[] = { 1, 2, 3, 7, 30, 63 };
	u8 name[600];
	size_t len, n;
	bool at_all = in_c || next.l4 <= LUA_HEADERS, known;
	u32 labels;

	load_example("dns", in_c);
	for (n = 0; n < sizeof(sizes) / sizeof(sizes[0]); n++) {
		for (len = sizeof(REFUSED); len <= 255; len++) {
			if (len - sizeof(REFUSED) == 1 || (sizes[n] == 1 && len % 2 == 0))
				continue;
			put_name(name, len, sizes[n], REFUSED, sizeof(REFUSED));
			CHECK_EQ(asked(name, len), SYSCRIPT_REJECT);
			labels = put_name(name, len, sizes[n], OTHER, sizeof(OTHER));
			known = at_all && (in_c || labels <= LUA_LABELS);
			CHECK_EQ(asked(name, len), known ? SYSCRIPT_ACCEPT : SYSCRIPT_REJECT);
		}
		/* An invalid name, whose end may be anywhere. */
		put_name(name, 501, sizes[n], OTHER, sizeof(OTHER));
		CHECK_EQ(asked(name, 501), SYSCRIPT_REJECT);
	}
	if (!at_all)
		return;
	CHECK_EQ(asked((u8 *)BELOW, sizeof(BELOW)), SYSCRIPT_ACCEPT);
	CHECK_EQ(asked((u8 *)"\12notexample\3net", 16), SYSCRIPT_ACCEPT);
	/* A byte 7 in a label, which no host name contains. */
	CHECK_EQ(asked((u8 *)"\11x\7example\3net", 15), SYSCRIPT_REJECT);
	CHECK_EQ(asked((u8 *)"\3net", 5), SYSCRIPT_ACCEPT);
	CHECK_EQ(asked((u8 *)"", 1), SYSCRIPT_ACCEPT);
}

/* Questions that cannot be decided are refused. */
static void test_odd_questions(bool in_c)
{
	u8 question[1024];
	size_t len, cut;

	load_example("dns", in_c);
	CHECK_EQ(asked((u8 *)"\3www\300\14", 6), SYSCRIPT_REJECT);	/* points back */
	CHECK_EQ(asked((u8 *)"\100www", 5), SYSCRIPT_REJECT);
	len = put_question(question, (u8 *)OTHER, sizeof(OTHER));
	CHECK_EQ(verdict(question, len), SYSCRIPT_ACCEPT);
	for (cut = 22; cut < len - 4; cut++)
		CHECK_EQ(verdict(question, cut), SYSCRIPT_REJECT);
	for (u16 count = 0; count < 3; count++) {
		question[33] = count;
		CHECK_EQ(verdict(question, len), count == 1 ? SYSCRIPT_ACCEPT : SYSCRIPT_REJECT);
	}
	question[32] = question[33] = 1;
	CHECK_EQ(verdict(question, len), SYSCRIPT_REJECT);
	question[32] = 0;
	next.transport = TCP;
	CHECK_EQ(verdict(question, len), SYSCRIPT_REJECT);
	question[23] = 54;
	CHECK_EQ(verdict(question, len), SYSCRIPT_ACCEPT);
	next.transport = UDP;
	CHECK_EQ(verdict(question, len), SYSCRIPT_ACCEPT);
}

static void test_examples(void)
{
	for (int in_c = 0; in_c < 2; in_c++) {
		test_limits_of_senders(in_c);
		test_unknown(in_c);
		test_balance(in_c);
		test_names(in_c);
		/* The same behind an IPv6 header, and behind extension headers. */
		next.l4 = 40;
		test_names(in_c);
		next.l4 = LUA_HEADERS;
		test_names(in_c);
		next.l4 = 300;
		test_names(in_c);
		next.l4 = 20;
		test_odd_questions(in_c);
	}
}

/* -- CPUs ------------------------------------------------------------------------------------- */

static s64 govern(u32 load)
{
	struct syscript_cpufreq cpus = {
		.cpu = 1, .frequency = 2000, .load = load, .min = 800, .max = 2400,
	};
	s64 result;
	u64 reason;

	CHECK_EQ(enter(&cpus, sizeof(cpus), &result, &reason), 0);
	return result;
}

static void test_cpus(void)
{
	CHECK(!load_lua("function run(c) return c.cpu + c.frequency + c.load + c.min + c.max end",
			"cpufreq"));
	CHECK_EQ(whole.copies, 0);
	CHECK_EQ(govern(7), 1 + 2000 + 7 + 800 + 2400);
	load_program("examples/cpufreq/throttle.lua", "cpufreq");
	temperature = 75000;
	CHECK(govern(50) == 2000 && govern(10) == 1000 && govern(90) == 2400);
	temperature = 80000;
	CHECK_EQ(govern(90), 800);
	temperature = 70000;
	CHECK_EQ(govern(90), 800);
	temperature = 69999;
	CHECK_EQ(govern(90), 2400);
	CHECK(!load_lua("function run(c) return (c:temperature() or DEFAULT) * 1000 + "
			"(c:load_of(c.load) or 7) end", "cpufreq"));
	loads[1] = 33;
	temperature = -5;
	CHECK_EQ(govern(1), -5000 + 33);
	temperature = SYSCRIPT_CPUFREQ_NO_TEMPERATURE;
	CHECK_EQ(govern(2), 7);
}

/* Runs programs from standard input, each after a line with four arguments, up to a line ".". */
static void run_given(void)
{
	static char source[1 << 16], line[4096];
	struct syscript_arguments view = { .nargs = 3 };
	long long args[3];
	size_t len = 0;
	s64 result;
	u64 reason;
	u32 at;

	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "-- %lld %lld %lld", &args[0], &args[1], &args[2]) == 3) {
			for (int n = 0; n < 3; n++)
				view.args[n] = args[n];
			len = 0;
		} else if (strcmp(line, ".\n")) {
			len += snprintf(source + len, sizeof(source) - len, "%s", line);
			continue;
		} else if (load_lua(source, "process")) {
			printf("refused %s\n", whole.error);
		} else {
			at = enter(&view, sizeof(view), &result, &reason);
			if (at)
				printf("failed %u %llu\n", at, (unsigned long long)reason);
			else
				printf("%lld\n", (long long)result);
		}
	}
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		run_given();
		unload();
		return 0;
	}
	test_examples();
	test_sums();
	test_variables();
	test_tables();
	test_scattered();
	test_packets();
	test_cpus();
	test_refusals();
	unload();
	return 0;
}
