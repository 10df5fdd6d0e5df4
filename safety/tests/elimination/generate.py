# SPDX-License-Identifier: GPL-2.0
"""Random programs in kernel C that KGCC's elimination of checks must handle correctly.

A program is a function of numbers and pointers, with loops of all kinds of bounds and counter
types, casts, aggregates, clones, calls that free, and early exits. It may contain errors: checks
must report them however many checks are eliminated.
"""

from __future__ import annotations

import random
from collections.abc import Callable

ELEMENTS = ("u8", "u16", "u32", "u64")
COUNTERS = ("u8", "u16", "u32", "int", "long", "u64")
SMALL = (0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 7, 9)

HEADER = """\
#include "runtime.h"
#define noinline __attribute__((noinline))
#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#define PTR_ALIGN(p, a) ((typeof(p))(((u64)(p) + (a) - 1) & ~((u64)(a) - 1)))
#define max_pointer(p, q) ((p) > (q) ? (p) : (q))
static u8 bytes[17];
static u32 words[9];
static struct item items[3];
static struct { u16 head; u64 values[5]; } nested[2];
static u32 scalar;
static volatile u64 sink;
void *memset(void *p, int value, u64 length);
void *memcpy(void *to, const void *from, u64 length);
int memcmp(const void *p, const void *q, u64 length);

static noinline u64 helper_read(const u32 *p, long at)
{
	return READ_ONCE(p[at]);
}

static noinline void helper_drop(void *p, long really)
{
	if (really == 3)
		kfree(p);
}

static noinline void helper_keep(u32 *p)
{
	p[0]++;
}

static u64 helper_sum(const u8 *p, long n)
{
	u64 sum = 0;

	for (long i = 0; i < n; i++)
		sum += p[i];
	return sum;
}

/* What a caller has on its stack stays, what is on the heap may not. */
static noinline u64 helper_around(u32 *p, void *q, long at, long really)
{
	u64 sum = p[0];

	helper_drop(q, really);
	return sum + p[at] + p[1];
}

static inline u8 helper_way(const u8 *p, long n)
{
	if (n >= 4)
		return p[3] + p[7];
	return p[0] + p[3];
}
"""

RESET = """
void reset_variables(void)
{
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	for (unsigned int i = 0; i < 9; i++)
		words[i] = i;
	for (unsigned int i = 0; i < 3; i++)
		items[i] = (struct item) { .a = i, .b = 2 * i, .d = i };
	for (unsigned int i = 0; i < 10; i++)
		nested[i / 5].values[i % 5] = i;
	scalar = 3;
}
"""


class Program:
    """One function, written statement by statement."""

    def __init__(self, seed: str) -> None:
        self.any = random.Random(seed)
        self.lines: list[str] = []
        self.counters: list[str] = []
        self.names = 0

    def pick(self, *choices: str) -> str:
        return self.any.choice(choices)

    def fresh(self) -> str:
        self.names += 1
        return f"x{self.names}"

    # -- expressions ------------------------------------------------------------------

    def number(self) -> str:
        """A constant, an argument, or a loop's counter."""
        known = ["n", "m", "k", "j", *self.counters, *self.counters]
        return self.any.choice([str(self.any.choice(SMALL)), *known])

    def index(self) -> str:
        way = self.any.randrange(8)
        if way < 4:
            return self.number()
        if way == 4:
            return f"{self.number()} + {self.any.choice(SMALL)}"
        if way == 5:
            return f"{self.number()} - 1"
        if way == 6:
            return f"({self.pick(*COUNTERS)})({self.number()})"
        return f"({self.number()} & {self.pick('3', '7', '15')})"

    def pointer(self) -> str:
        """A pointer to bytes, direct or derived."""
        name = self.pick("p", "q", "r", "s")
        ways = (
            name,
            name,
            f"({name} + {self.index()})",
            f"(u8 *)((u64){name} + {self.index()})",
            f"PTR_ALIGN({name} + {self.number()}, 4)",
            f"max_pointer({name} + {self.number()}, {name})",
            f"({self.number()} > 2 ? {name} : {self.pick('p', 'q', 'r', 's')})",
            f"(u8 *)other_pointer({name})",
            f"(u8 *){self.loaded()}",
            f"((u8 *){self.loaded()} + {self.index()})",
            "(u8 *)words",
            "bytes",
            "(u8 *)&scalar",
            "local",
        )
        return self.any.choice(ways)

    def loaded(self) -> str:
        """A pointer that is reloaded at each use, because stores may change it."""
        return f"e->pointer[{self.pick('0', '1', '2', '(k & 3)')}]"

    def place(self) -> str:
        """An lvalue that can be read and written."""
        element = self.pick(*ELEMENTS)
        member = self.pick("a", "b", "d", f"c[{self.index()}]", f"e[{self.index()}]")
        ways = (
            f"(({element} *){self.pointer()})[{self.index()}]",
            f"(({element} *){self.pointer()})[{self.index()}]",
            f"*({element} *)({self.pointer()} + {self.index()})",
            f"(({element} *){self.loaded()})[{self.index()}]",
            f"((struct item *){self.loaded()})->{member}",
            f"((struct item *){self.pointer()})->{member}",
            f"((struct item *){self.pointer()})[{self.index()}].{member}",
            f"items[{self.index()}].{member}",
            f"nested[{self.index()}].values[{self.index()}]",
            f"bytes[{self.index()}]",
            f"words[{self.index()}]",
            f"local[{self.index()}]",
            f"table[{self.index()}]",
        )
        return self.any.choice(ways)

    def condition(self) -> str:
        relation = self.pick("<", "<=", ">", "==", "!=")
        left = self.pick(self.number(), f"(long){self.place()}")
        return f"{left} {relation} {self.number()}"

    # -- statements --------------------------------------------------------------------

    def add(self, depth: int, text: str) -> None:
        self.lines.append("\t" * depth + text)

    def read(self, depth: int) -> None:
        self.add(depth, f"{self.pick('sum', 'sum', 'm', 'k')} += {self.place()};")

    def write(self, depth: int) -> None:
        self.add(depth, f"{self.place()} = {self.number()};")

    def change(self, depth: int) -> None:
        name = self.pick("p", "q", "r")
        ways = (
            f"{name} += {self.index()};",
            f"{name}++;",
            f"{name} = {self.pick('p', 'q', 'r', 's')};",
            f"{name} = {self.pointer()};",
            f"k = {self.index()};",
            f"{self.loaded()} = {self.pick('p', 'q', 'r', 's')};",
            f"m += {self.any.choice(SMALL)};",
        )
        self.add(depth, self.any.choice(ways))

    def call(self, depth: int) -> None:
        name, other = self.pick("p", "q", "r", "s"), self.number()
        ways = (
            f"sum += other({self.number()});",
            f"sum += helper_read((u32 *){self.pointer()}, {self.index()});",
            f"helper_drop({name}, {self.number()});",
            f"helper_keep((u32 *){name});",
            f"sum += helper_around((u32 *){self.pointer()}, {name}, {self.index()}, {other});",
            f"sum += helper_around((u32 *){name}, {name}, {self.pick('0', '1', 'j')}, {other});",
            f"sum += helper_sum({self.pointer()}, {self.number()});",
            f"sum += helper_way({self.pointer()}, {self.number()});",
            f"__builtin_memset({self.pointer()}, 1, {self.number()});",
            f"__builtin_memcpy({self.pointer()}, {self.pointer()}, {self.number()});",
            f"*(struct item *){self.pointer()} = items[{self.index()}];",
            f"__atomic_fetch_add((u32 *){self.pointer()}, 1, __ATOMIC_RELAXED);",
            f'sum += "letters"[{self.index()}];',
            f"{name} = __kmalloc({self.number()}, 0);" if name != "s" else "sum++;",
        )
        self.add(depth, self.any.choice(ways))

    def free_between(self, depth: int) -> None:
        """Uses the same memory before and after a call that may free it."""
        name = self.pick("p", "q", "r", "s", self.loaded())
        place = f"(({self.pick(*ELEMENTS)} *){name})[{self.pick('0', '1', 'j')}]"
        self.add(depth, f"sum += {place};")
        frees = (
            f"helper_drop({name}, {self.number()});",
            f"if ({self.condition()}) kfree({name});",
            f"drop = helper_drop, drop({name}, {self.number()});",
        )
        self.add(depth, self.any.choice(frees))
        self.add(depth, self.pick(f"sum += {place};", f"{place} = 1;"))

    def reload(self, depth: int) -> None:
        """Loads a pointer again where it may have changed."""
        loaded = self.loaded()
        for _ in range(self.any.randint(2, 3)):
            self.add(depth, f"sum += ((u32 *){loaded})[{self.pick('0', '1', '2', '4', 'j')}];")
            changes = (
                f"if ({self.condition()}) {loaded} = {self.pick('p', 'q', 'r', 's')};",
                f"{loaded} = {self.pick('p', 'q', 'r', 's')}; sum += other(k);",
                f"{loaded} = k > m ? {self.pick('p', 'q', 'r', 's')} : {self.pick('q', 'r')};",
                f"{loaded} += {self.pick('4', '8', 'j', 'k')};",
                f"helper_drop({self.pick('p', 'q')}, {self.number()});",
                f"{self.place()} = {self.number()};",
                f"{self.place()} = {self.number()};",
            )
            self.add(depth, self.any.choice(changes))
        self.add(depth, f"sum += ((u8 *){loaded})[{self.pick('0', '7', '15', '16')}];")

    def leave(self, depth: int) -> None:
        way = self.pick("return sum;", "task_exit();", *(["break;"] if self.counters else []))
        self.add(depth, f"if ({self.condition()})")
        self.add(depth + 1, way)

    def branch(self, depth: int) -> None:
        self.add(depth, f"if ({self.condition()}) {{")
        self.block(depth + 1)
        if self.any.randrange(2):
            self.add(depth, "} else {")
            self.block(depth + 1)
        self.add(depth, "}")

    def loop(self, depth: int) -> None:
        kind, name = self.pick(*COUNTERS), self.fresh()
        bound, step = self.number(), self.pick("1", "1", "1", "2", "3", "4")
        heads = (
            f"for ({kind} {name} = {self.number()}; {name} < {bound}; {name} += {step}) {{",
            f"for ({kind} {name} = 0; {name} < {bound}; {name} += {step}) {{",
            f"for ({kind} {name} = 0; {name} <= {bound}; {name}++) {{",
            f"for ({kind} {name} = 0; {name} != {bound}; {name}++) {{",
            f"for ({kind} {name} = {bound}; {name} > 0; {name} -= {step}) {{",
            f"for ({kind} {name} = {bound}; {name}--;) {{",
            f"for ({kind} {name} = {bound}; {name} >= 0; {name}--) {{",
        )
        self.add(depth, self.any.choice(heads))
        self.counters.append(name)
        self.block(depth + 1)
        self.counters.pop()
        self.add(depth, "}")

    def walk(self, depth: int) -> None:
        """A pointer that walks up to another one."""
        element, name, end = self.pick(*ELEMENTS), self.fresh(), self.fresh()
        base, relation = self.pick("p", "q", "r", "s"), self.pick("<", "!=", "<=")
        self.add(depth, f"for ({element} *{name} = ({element} *){base}, *{end} = {name} + "
                        f"{self.number()}; {name} {relation} {end}; {name}++)")  # fmt: skip
        self.add(depth + 1, self.pick(f"sum += *{name};", f"*{name} = 1;",
                                      f"sum += READ_ONCE(*{name});"))  # fmt: skip

    def block(self, depth: int) -> None:
        nested = [self.branch, self.loop, self.walk] if depth < 4 else []
        for _ in range(self.any.randint(1, 3)):
            ways: list[Callable[[int], None]] = [
                *(self.read, self.read, self.write, self.write, self.change),
                *(self.call, self.leave, self.free_between, self.reload, *nested),
            ]
            self.any.choice(ways)(depth)

    def text(self, name: str) -> str:
        for _ in range(self.any.randint(1, 3)):
            self.block(1)
        head = f"""
static noinline long {name}(struct environment *e)
{{
	long n = e->number[0], m = e->number[1], k = e->number[2], j = e->number[3];
	u8 *p = e->pointer[0], *q = e->pointer[1], *r = e->pointer[2], *s = e->pointer[3];
	u8 local[12] = {{ 1, 2 }};
	u32 table[5] = {{ 3 }};
	void (*volatile drop)(void *, long) = helper_drop;
	u64 sum = 0;
"""
        # Reading after a free is an error that could mask a missed one, so only some programs do
        # it.
        read = self.pick("", "", " + *p + *q + *r")
        tail = f"\tsink = sum + n + m + k + j + local[0] + table[0]{read};\n"
        return "\n".join([head, *self.lines, tail + "\treturn sum;\n}\n"])


def source(seed: int, count: int) -> str:
    """A file of programs; each depends only on its seed and number."""
    texts = [Program(f"{seed}/{i}").text(f"program{i}") for i in range(count)]
    table = "".join(f"\tprogram{i},\n" for i in range(count))
    return (
        HEADER
        + "".join(texts)
        + f"\nlong (*const programs[])(struct environment *) = {{\n{table}}};\n"
        + f"const unsigned int n_programs = {count};\n"
        + RESET
    )
