// SPDX-License-Identifier: GPL-2.0
/*
 * The confined engine in a process, for tests in Python (subject.py): runs images in the
 * interpreter or as machine code, and only records system calls.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "no_locks.h"
#include "../../engine/confined/validate_image.h"
#include "../../engine/confined/machine.h"
#include "../../engine/confined/user/memory.h"
#include "user/arena.h"

#define CALLS_MAX	64

struct call {
	u32 what;
	u64 args[6];
};

struct subject {
	const struct subject *base;	/* the image that it extends, or NULL */
	void *image;
	struct checked checked;
	struct jit jit;
	struct code code;
	char *arena;
	struct machine machine;
	u32 polls;		/* left until the run is stopped */
	const unsigned long *flags;	/* flags that thunk polling, or NULL */
	u32 ncalls;
	struct call calls[CALLS_MAX];
	u64 result;		/* of the next call */
};

static struct subject *running;

void machine_poll(struct machine *machine)
{
	machine->fuel = MACHINE_FUEL;
	if (!running->polls--)
		machine->end = MACHINE_STOP;
}

/* The whole stack is populated already. */
void machine_stack(struct machine *machine, u32 frame)
{
	(void)frame;
	machine->end = MACHINE_STACK;
}

u64 machine_call(const u64 *args, struct machine *machine, u32 what)
{
	struct call *call = &running->calls[running->ncalls++ % CALLS_MAX];

	(void)machine;
	call->what = what;
	memcpy(call->args, args, sizeof(call->args));
	return running->result;
}

bool image_syscall_known(u32 nr, const char **why)
{
	*why = "tests do not know it";
	return nr < 400;
}

#define PUBLIC __attribute__((visibility("default")))

PUBLIC void subject_free(struct subject *m);
PUBLIC void subject_free(struct subject *m)
{
	if (m->code.exec)
		code_free(&m->code);
	if (m->arena)
		arena_unmap(m->arena, m->checked.image->arena_shift);
	image_release(&m->checked);
	free(m->image);
	free(m);
}

/* System call thunks of up to six arguments: code to verify, not to run. */
#define THUNKS		7
static const u32 thunks[THUNKS];

static struct jit_thunk find_thunk(u32 nr)
{
	return (struct jit_thunk){ (unsigned long)&thunks[nr % THUNKS], nr % THUNKS };
}

static int thunk_args(u64 address)
{
	u64 offset = address - (unsigned long)thunks;

	return offset < sizeof(thunks) && !(offset % sizeof(*thunks)) ?
		       (int)(offset / sizeof(*thunks)) : -1;
}

/* Maps an arena at @place; NULL: anywhere. */
static char *map_arena(void *place, u32 shift)
{
	void *arena;

	if (!place)
		return arena_map(shift);
	arena = mmap(place, 1UL << shift, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	return arena == MAP_FAILED ? NULL : arena;
}

/*
 * Loads an image, with its arena at @place (NULL: anywhere). Returns NULL, with the message in
 * @error.
 */
PUBLIC struct subject *subject_load(const void *image, size_t len, const struct subject *base,
				    void *place, u64 key, int with_thunks, char *error,
				    size_t error_len);
struct subject *subject_load(const void *image, size_t len, const struct subject *base,
			     void *place, u64 key, int with_thunks, char *error,
			     size_t error_len)
{
	struct subject *m = calloc(1, sizeof(*m));
	enum context context = with_thunks & 4 ? CONTEXT_ATOMIC : CONTEXT_PROCESS;

	with_thunks &= 3;
	m->base = base;
	m->jit = (struct jit){
		.checked = &m->checked, .base = base ? &base->code.base : NULL, .key = key,
		.thunk = with_thunks ? find_thunk : NULL, .thunk_args = thunk_args,
		.barrier = with_thunks > 1,
	};
	/* Exactly this long, so that memory checkers notice overruns. */
	m->image = malloc(len ?: 1);
	memcpy(m->image, image, len);
	if (image_check(m->image, len, context, base ? base->checked.image : NULL, &m->checked,
			error, error_len)) {
		free(m->image);
		free(m);
		return NULL;
	}
	m->arena = map_arena(place, m->checked.image->arena_shift);
	snprintf(error, error_len, "no memory");
	if (!m->arena || arena_guard(m->arena, 1UL << m->checked.image->arena_shift) ||
	    code_make(&m->code, &m->jit, error, error_len)) {
		subject_free(m);
		return NULL;
	}
	return m;
}

/* Inserts a label in order, replacing one at the same place. */
static void add_label(struct jit *jit, const struct verify_label *label)
{
	u32 i = jit->nlabels;

	while (i && jit->labels[i - 1].at >= label->at)
		i--;
	if (i == jit->nlabels || jit->labels[i].at != label->at)
		memmove(&jit->labels[i + 1], &jit->labels[i],
			(jit->nlabels++ - i) * sizeof(*label));
	jit->labels[i] = *label;
}

/*
 * Verifies @code in place of the generated code, which has the same length, with @n additional
 * @labels: 0, or -errno with the reason in @error.
 */
PUBLIC int subject_verify(struct subject *m, const u8 *code, const struct verify_label *labels,
			  u32 n, char *error, size_t error_len);
int subject_verify(struct subject *m, const u8 *code, const struct verify_label *labels,
		   u32 n, char *error, size_t error_len)
{
	struct jit jit = m->jit;
	int err = jit_measure(&jit);

	if (!err) {
		jit.code = malloc(jit.size);
		err = jit_generate(&jit);
		memcpy(jit.code, code, jit.size);
		jit.labels = realloc(jit.labels, (jit.nlabels + n) * sizeof(*labels));
	}
	while (!err && n--)
		add_label(&jit, labels++);
	err = err ?: jit_verify(&jit, error, error_len);
	free(jit.code);
	jit_release(&jit);
	return err;
}

/* @how: 0 interpreted, 1 machine code. */
PUBLIC struct machine *subject_run(struct subject *m, int how, const u64 *args, u32 polls);
struct machine *subject_run(struct subject *m, int how, const u64 *args, u32 polls)
{
	m->machine.user = (unsigned long)m->arena;
	m->machine.base = (unsigned long)m->arena;
	memcpy(m->machine.args, args, sizeof(m->machine.args));
	machine_init(&m->machine, m->checked.image);
	if (m->base)
		m->machine.beyond = m->code.beyond;
	if (m->flags)
		m->machine.flags = m->flags;
	m->polls = polls;
	m->ncalls = 0;
	m->machine.entry = m->base ? m->base->code.exec : m->code.exec;
	running = m;
	if (how)
		confined_enter(&m->machine);
	else
		machine_interpret(&m->checked, m->base ? &m->base->checked : NULL, &m->machine);
	running = NULL;
	return &m->machine;
}

PUBLIC char *subject_arena(struct subject *m);
char *subject_arena(struct subject *m)
{
	return m->arena;
}

/* The calls of machine_poll() left at the end of the run. */
PUBLIC u32 subject_polls(struct subject *m);
u32 subject_polls(struct subject *m)
{
	return m->polls;
}

/* From now on machine_poll() is called only if bit 0 is set at offset @at in the arena. */
PUBLIC void subject_watch(struct subject *m, u32 at);
void subject_watch(struct subject *m, u32 at)
{
	m->flags = (const unsigned long *)(m->arena + at);
}

PUBLIC const u16 *subject_charges(struct subject *m);
const u16 *subject_charges(struct subject *m)
{
	return m->checked.charges;
}

PUBLIC struct code *subject_code(struct subject *m);
struct code *subject_code(struct subject *m)
{
	return &m->code;
}

PUBLIC struct call *subject_calls(struct subject *m, u32 *n, u64 next_result);
struct call *subject_calls(struct subject *m, u32 *n, u64 next_result)
{
	*n = m->ncalls;
	m->result = next_result;
	return m->calls;
}

PUBLIC void subject_text(struct subject *m, char *text, size_t len);
void subject_text(struct subject *m, char *text, size_t len)
{
	machine_text(&m->machine, text, len);
}

/* The address of an engine stub, for tests that inspect calls of it. */
PUBLIC const void *subject_stub(int which);
const void *subject_stub(int which)
{
	extern const u8 confined_poll[], confined_thunk[], confined_throw[],
		confined_abort[], confined_fault_stack[], confined_fault_function[],
		confined_fault_access[], confined_barrier[], confined_beyond[];
	const void *stubs[] = {
		confined_poll, confined_thunk, confined_throw, confined_abort,
		confined_fault_stack, confined_fault_function, confined_fault_access,
		confined_beyond, confined_barrier, thunks, thunks + 1, thunks + 2, thunks + 3,
		thunks + 4, thunks + 5, thunks + 6,
	};

	return which < (int)(sizeof(stubs) / sizeof(*stubs)) ? stubs[which] : NULL;
}
