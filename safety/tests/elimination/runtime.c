// SPDX-License-Identifier: GPL-2.0
/*
 * KGCC's runtime as a process, for programs of generate.py: the functions that checks call,
 * objects, and
 * the end of a program at its first violation.
 *
 * Objects are close together, so a pointer that leaves one soon enters the next; freed memory is
 * not reused. Bad accesses do not happen, because each check precedes its access.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "../../../safety/kgcc/site.h"
#include "runtime.h"

#define GAP		8
#define OBJECTS		4096
#define PEERS		1024
#define ARENA		(1 << 20)

struct site {
	long key[2];
	long hi;
	int lo;
	unsigned int flags;
	const char *where;
	const void *parts;
	unsigned int hits, errors;
	unsigned long nparts;
	const char *object;
	const struct variable *unit;
};

struct variable {
	unsigned long start, size;
	const char *name, *where;
};

/* A function's locals, while it runs: see safety/kgcc/plugin/frames.cc. */
struct record {
	struct record *outer;
	long alive;
	const struct {
		unsigned long size;
		const char *name;
	} *locals;
	unsigned long n;
	unsigned long address[];
};

struct object {
	unsigned long start, end;
	bool freed;
};

static struct object objects[OBJECTS];
static unsigned int n_objects;
static struct {
	unsigned long address;
	struct object object;
} peers[PEERS];
static unsigned int n_peers;
static struct record *records;
static char *arena, *next;
static sigjmp_buf start;
static const char *violated;

enum { ENDED, VIOLATED, LEFT, LONG, FAULT };

/* CPU time of a run in microseconds, at most. */
#define LONGEST	5000

/* -- the map -------------------------------------------------------------------------- */

static bool holds(const struct object *object, unsigned long address)
{
	return address >= object->start && address < object->end;
}

static bool find_exact(const struct site *site, unsigned long address, struct object *found)
{
	for (unsigned int i = 0; i < n_objects; i++)
		if (holds(&objects[i], address)) {
			*found = objects[i];
			return true;
		}
	for (struct record *record = records; record; record = record->outer)
		for (unsigned long i = 0; i < record->n; i++) {
			*found = (struct object) { record->address[i],
						   record->address[i] + record->locals[i].size };
			if (holds(found, address))
				return true;
		}
	for (const struct variable *v = site->unit; v && v->start; v++) {
		*found = (struct object) { v->start, v->start + v->size };
		if (holds(found, address))
			return true;
	}
	return false;
}

/* Finds the object that an address lies in, or at the end of. */
static bool find(const struct site *site, unsigned long address, struct object *found)
{
	return find_exact(site, address, found) || find_exact(site, address - 1, found);
}

static void add_peer(unsigned long address, const struct object *object)
{
	for (unsigned int i = 0; i < n_peers; i++)
		if (peers[i].address == address) {
			peers[i].object = *object;
			return;
		}
	if (n_peers < PEERS)
		peers[n_peers++].address = address, peers[n_peers - 1].object = *object;
}

static bool find_peer(unsigned long address, struct object *found)
{
	for (unsigned int i = 0; i < n_peers; i++)
		if (peers[i].address == address) {
			*found = peers[i].object;
			return true;
		}
	return false;
}

/* -- checks ---------------------------------------------------------------------------- */

static void violation(const struct site *site)
{
	violated = site->where;
	siglongjmp(start, VIOLATED);
}

static bool within(const struct object *object, unsigned long address, unsigned long length)
{
	return !object->freed && address >= object->start && address <= object->end &&
	       length <= object->end - address;
}

/* Like kgcc_check() in safety/kgcc/check.c: the object's bytes from the pointer on, or 0. */
__attribute__((used)) unsigned long check(const struct site *site, unsigned long pointer,
					  unsigned long address, unsigned long length)
{
	bool arithmetic = site->flags & KGCC_ARITH, peer;
	struct object object;

	address += site->lo;
	length -= site->lo;
	if (!length && !arithmetic)
		return 0;
	peer = find_peer(pointer, &object);
	if (!peer && !find(site, pointer, &object)) {
		if (!arithmetic)
			violation(site);
		return 0;
	}
	if (within(&object, address, length))
		return peer || pointer > object.end ? 0 : object.end - pointer;
	if (!arithmetic)
		violation(site);
	if (!object.freed)
		add_peer(address, &object);
	return 0;
}

__attribute__((used)) void outside(const struct site *site)
{
	violation(site);
}

__attribute__((used)) void enter(struct record *record)
{
	record->outer = records;
	records = record;
}

__attribute__((used)) void leave(struct record *record)
{
	records = record->outer;
}

/* Like safety/kgcc/enter.S: preserves all registers except r8 to r11. */
#define SAVE	"pushq %rax; pushq %rcx; pushq %rdx; pushq %rsi; pushq %rdi; pushq %rbp;" \
		"movq %rsp, %rbp; andq $-16, %rsp; cld;"
#define RESTORE	"movq %rbp, %rsp; popq %rbp; popq %rdi; popq %rsi; popq %rdx; popq %rcx; popq %rax; ret;"
#define ENTRY(name, arguments, function) \
	asm(".text; .globl " name "; " name ": " SAVE arguments "call " function ";" \
	    "movq %rax, %r9;" RESTORE)

/* A check function for each register that the pointer may be in. */
#define CHECK(name, arguments) \
	asm(".text; .irp pointer, rax, rbx, rcx, rdx, rsi, rdi, rbp, r12, r13, r14, r15;" \
	    ".globl " name "_\\pointer; " name "_\\pointer: movq %\\pointer, %r10;" SAVE \
	    "movq %r11, %rdi; movq %r10, %rsi;" arguments "call check; movq %rax, %r9;" RESTORE \
	    ".endr")

CHECK("kgcc_field", "movq %r10, %rdx; movq 16(%r11), %rcx;");
CHECK("kgcc_range", "movq %r9, %rdx; movq 16(%r11), %rcx;");
CHECK("kgcc_length", "movq %r9, %rdx; movq %r8, %rcx;");
ENTRY("kgcc_outside", "movq %r11, %rdi;", "outside");
ENTRY("kgcc_enter", "movq $1, 8(%r10); movq %r10, %rdi;", "enter");
ENTRY("kgcc_leave", "movq %r10, %rdi;", "leave");

/* -- what programs call ------------------------------------------------------------------ */

void *kgcc_kmalloc(const char *where, unsigned long size, unsigned int flags, int node)
{
	char *object = next;

	if (n_objects == OBJECTS || next + size + 2 * GAP > arena + ARENA)
		siglongjmp(start, LEFT);
	next += (size + GAP + 7) & ~7ul;
	memset(object, 0, size);
	objects[n_objects++] = (struct object) { (unsigned long)object,
						 (unsigned long)object + size };
	return object;
}

void kgcc_kfree(const char *where, const void *object)
{
	for (unsigned int i = 0; i < n_objects; i++)
		if (objects[i].start == (unsigned long)object)
			objects[i].freed = true;
}

/* External code, unknown when programs are compiled. */
long other(long value)
{
	return value * 3 + 1;
}

void *other_pointer(void *pointer)
{
	return pointer;
}

void task_exit(void)
{
	siglongjmp(start, LEFT);
}

/* -- a program's runs --------------------------------------------------------------------- */

static uint64_t state;

static unsigned int any(unsigned int below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % below;
}

static long any_number(void)
{
	static const long far[] = { 1l << 61, (1l << 61) + 1, 1l << 31, -(1l << 31), 255, 256,
				    -1, 65535, 1l << 32, (1l << 32) + 3, -(1l << 62), 1l << 60 };

	return any(24) ? (long)any(8) - !any(8) : far[any(12)];
}

static struct environment *any_environment(void)
{
	static const unsigned int sizes[] = { 1, 8, 17, 24, 40, 40, 64, 80, 120, 200, 400 };
	struct environment *environment;

	n_objects = n_peers = 0;
	records = NULL;
	next = arena;
	environment = kgcc_kmalloc(NULL, sizeof(*environment), 0, 0);
	for (unsigned int i = 0; i < NUMBERS; i++)
		environment->number[i] = any_number();
	for (unsigned int i = 0; i < POINTERS; i++) {
		unsigned int size = sizes[any(sizeof(sizes) / sizeof(*sizes))];

		environment->pointer[i] = kgcc_kmalloc(NULL, size, 0, 0);
		for (unsigned int j = 0; j < size; j++)
			((uint8_t *)environment->pointer[i])[j] = any(8) ? any(5) : any(256);
	}
	return environment;
}

/* An endless loop, or an access without a check before it. */
static void on_signal(int number)
{
	siglongjmp(start, number == SIGVTALRM ? LONG : FAULT);
}

static int run(long (*program)(struct environment *))
{
	int end = sigsetjmp(start, 1);
	struct environment *environment;

	if (end)
		return end;
	environment = any_environment();
	program(environment);
	return ENDED;
}

static void set_timer(long us)
{
	struct itimerval timer = { .it_value.tv_usec = us };

	setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

int main(int argc, char **argv)
{
	unsigned int runs = argc > 1 ? atoi(argv[1]) : 8;
	char alternative[1 << 16];
	stack_t stack = { .ss_sp = alternative, .ss_size = sizeof(alternative) };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	arena = mmap((void *)0x10000000, ARENA, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	sigaltstack(&stack, NULL);
	sigaction(SIGVTALRM, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	for (unsigned int i = 0; i < n_programs; i++) {
		printf("%u", i);
		for (unsigned int k = 0; k < runs; k++) {
			state = (uint64_t)(i + 1) << 32 | (k + 1) * 2654435761u;
			violated = NULL;
			reset_variables();
			set_timer(LONGEST);
			printf(" %c", "evlt!"[run(programs[i])]);
			set_timer(0);
			if (violated && getenv("PLACES"))
				printf(" (%s)", violated);
		}
		printf("\n");
	}
	return 0;
}
