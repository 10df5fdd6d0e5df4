# SPDX-License-Identifier: GPL-2.0
"""KGCC looks up the object of a base pointer once: later checks compare with the result.

Bit operations are checked like other accesses, although they are assembly.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from in_compiler import compiled

SOURCE = """
struct item { int key, flag; long value; struct item *next; };
void kfree(const void *object);
void *kmalloc_large(unsigned long size, unsigned int flags);
long other(long value);
unsigned long strlen(const char *s);

long once(struct item *p, long n) { return p->key + (n > 3 ? p->value : 0); }
long freed(struct item *p, long n)
{
	long sum = p->key;

	kfree(p);
	return n ? sum + p->flag : sum;
}
long freed_on_a_path(struct item *p, long n)
{
	long sum = p->key;

	if (n)
		kfree(p);
	return sum + p->flag;
}
long freed_loaded(struct item **at, long n)
{
	struct item *p = *at;
	long sum = p->key;

	if (n)
		kfree(p);
	return sum + p->flag;
}
long kept(struct item *p, const char *s)
{
	long sum = p->key;

	return strlen(s) ? sum + p->value : sum;
}
long loop(char *p, long n)
{
	for (long i = 0; i < n; i++)
		if (p[i] == 3)
			return i;
	return 0;
}
long loop_that_frees(char *p, long n)
{
	for (long i = 0; i < n; i++)
		if (p[i] == 3)
			n = other(i);
	return 0;
}
long before(struct item *p, long n) { return p->key + (n ? p[-1].value : 0); }
/* As the kernel's: seen as a call, and then as assembly. */
static inline __attribute__((always_inline)) void arch_set_bit(long n, volatile long *p)
{
	asm volatile("lock orb %b1, %0" : "+m" (*((volatile char *)p + (n >> 3)))
	: "iq" (1 << (n & 7)) : "memory");
}
void bits(struct item *p)
{
	arch_set_bit(3, &p->value);
	p->flag = 1;
	arch_set_bit(9, &p->value);
}
struct holder { int *at[4]; };
long again(struct holder *h, char *q)
{
	long sum = h->at[1][0];

	q[1] = 3;
	return sum + h->at[1][5];
}
long again_freed(struct holder *h, char *q)
{
	long sum = h->at[1][0];

	kfree(q);
	return sum + h->at[1][5];
}
/* The first pointer is used after the second one was loaded: each has its own. */
long crossed(struct holder *h, char *q)
{
	int *a = h->at[1], *b;
	long sum = a[0];

	q[1] = 3;
	b = h->at[1];
	sum += b[0];
	q[2] = sum;
	sum += a[sum ? 5 : 6];
	return sum + b[7];
}
long in_rounds(struct holder *h, char *q, long n)
{
	for (long i = 0; i < n; i++)
		q[i] = h->at[1][7];
	return 0;
}
long another(struct holder *h, long n)
{
	for (; n; n--)
		h = *(struct holder **)h->at[3];
	return (long)h;
}
long of_items(struct item *p, int n)
{
	long sum = 0;

	for (struct item *last = p + n; p < last && sum < 9; p++)
		sum += p->flag;
	return sum;
}
long anywhere(char *p, long at, long n)
{
	return p[0] + (n ? *(int *)(p + at) : 0);
}
int length(char *p, long n)
{
	p[0] = 1;
	if (n > 8)
		__builtin_memset(p, 0, n);
	return 0;
}
"""
FIELD, ROOM = (False, "field"), (False, "field_room")
# For each function: whether each check compares, and the slow path that it calls.
CHECKS = {
    "once": [ROOM, (True, "field_room")],
    "freed": [ROOM, (True, "field_room")],
    "freed_loaded": [FIELD, ROOM, (True, "field_room")],
    "freed_on_a_path": [ROOM, (True, "field_room")],
    "kept": [ROOM, FIELD, (True, "field_room")],
    "loop": [(True, "range_room")],
    "loop_that_frees": [(True, "range_room")],
    "again": [FIELD, FIELD, ROOM, (True, "field_room")],
    "again_freed": [ROOM, FIELD, FIELD, (True, "field_room")],
    "crossed": [FIELD, FIELD, FIELD, ROOM, (True, "range_room")],
    "in_rounds": [FIELD, (True, "field_room"), (False, "length")],
    "another": [FIELD, FIELD],
    "bits": [FIELD],
    "of_items": [(True, "range_room")],
    "anywhere": [ROOM, (True, "range_room")],
    "before": [FIELD, (False, "range")],
    "length": [ROOM, (True, "length_room")],
}


@pytest.fixture(scope="module")
def functions(tmp_path_factory) -> dict[str, str]:
    done = compiled(SOURCE, tmp_path_factory.mktemp("rooms"))
    assert done.returncode == 0, done.stderr
    found = re.findall(r"^(\w+):\n(.*?)\.size\s+\1", done.stdout, re.DOTALL | re.MULTILINE)
    return dict(found)


def checks_in(code: str) -> list[tuple[bool, str]]:
    """Whether it compares, the function it calls, and "_room" if it uses the cached bounds."""
    pattern = r"#APP((?:(?!#NO_APP).)*?)call kgcc_(field|range|length)_r\w+\n(\tmovq %r9, )?"
    found = re.findall(pattern, code, re.DOTALL)
    return [("cmpq" in before, name + ("_room" if room else "")) for before, name, room in found]


@pytest.mark.parametrize("name", CHECKS)
def test_checks(name: str, functions: dict[str, str]) -> None:
    assert sorted(checks_in(functions[name])) == sorted(CHECKS[name])


def test_bytes_on_both_sides_of_the_root(functions: dict[str, str]) -> None:
    """Only accesses at or after the base pointer are checked by their last byte alone."""
    last = r"leaq %d\((%%r\w+)\), %%r9\n\tsubq %%r\w+, %%r9\n\tcmpq %%r\w+, %%r9\n\tjb 2f\n"
    end = last.replace("jb 2f", r"ja 3f\n\tcmpq \$4, %%r9\n\tjae 2f")
    assert re.search(last % 7, functions["of_items"])
    assert re.search(end % 4, functions["anywhere"])


def test_room_stays_if_the_pointer_does(functions: dict[str, str]) -> None:
    """A pointer that is reloaded is compared with its earlier value."""
    for name in ("again", "in_rounds"):
        assert re.search(r"cmpq\t%r\w+, %r\w+\n\tcmovne\t", functions[name]), name
    assert "cmov" not in functions["again_freed"] + functions["another"]


def test_nothing_is_known_after_a_free(functions: dict[str, str]) -> None:
    """The cached bounds are reset there: 'xorl %eax, %eax' after the call."""
    after = functions["freed_loaded"].partition("call\tkgcc_kfree")[2]
    room = re.search(r"cmpq \$\d+, %r?(\w\w)", functions["freed_loaded"])
    assert room and re.search(rf"xorl\t%e{room[1]}, %e{room[1]}|\$0, %e{room[1]}", after)


def test_what_callers_have_on_the_stack_is_not_freed(functions: dict[str, str]) -> None:
    """Masking keeps an argument's cached bounds within the current stack."""
    code = functions["freed_on_a_path"]
    mask = re.search(r"xorq %rsp, (%r\w+)\n\tcmpq \$16384, \1\n\tsbbq \1, \1\n", code)
    room = re.search(r"cmpq \$\d+, (%r\w+)\n\tjae 2f", code)
    assert mask and room and f"andq\t{mask[1]}, {room[1]}\n" in code


def test_options(tmp_path: Path) -> None:
    done = compiled(SOURCE, tmp_path, "all-checks")
    assert done.returncode == 0 and "call kgcc_field_" in done.stdout
    assert not [check for check in checks_in(done.stdout) if check[1].endswith("_room")]


LOCAL_AT_THE_END = """
extern unsigned int off, sink;
unsigned int other_read(unsigned int *p);

void scalar_local(void)
{
	unsigned int local = 0;

	sink = other_read(&local + off);
}
"""


def test_pointer_is_never_the_stack_pointer(tmp_path: Path) -> None:
    """GCC 14 took it for a local variable at its address; there is no check function for it."""
    done = compiled(LOCAL_AT_THE_END, tmp_path)
    entries = re.findall(r"call\s+kgcc_(?:field|range|length)_(\w+)", done.stdout)
    assert entries and "rsp" not in entries, done.stderr


FAR = """
int offset(char *p, long i)
{
	char *q = p + i;

	return q[5000000000L];
}
int field(char *p) { return p[5000000000L]; }
char *made(char *p) { return p + 5000000000L; }
int compared(char *p, long i)
{
	char *q = p + i;

	return p[0] + (i ? q[5000000000L] : 0);
}
void length(char *p, long n)
{
	p[0] = 1;
	if (n > 8)
		__builtin_memset(p + 5000000000L, 0, n);
}
"""


def test_offsets_beyond_32_bits(tmp_path: Path) -> None:
    """They do not fit into a displacement or a site: they are added to the address."""
    done = compiled(FAR, tmp_path)
    assert done.returncode == 0, done.stderr
    checks = re.findall(r"movabsq \$500000000\d, %r9\n\taddq %r\w+, %r9\n", done.stdout)
    # Two checks that compare with cached bounds compute the address twice.
    assert len(checks) == 7, done.stdout
