// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements aot/aot.h. The script runs once, in this process, on the confined engine's Lua. Then
 * run() and the functions that it calls, with their upvalues and tables, are read and compiled.
 *
 * If compiled code turns out to change a variable that was assumed constant, compilation starts
 * again.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lua_host.h"
#include "user/user.h"
#include "aot_priv.h"

#define ROUNDS		64	/* each round may find one more variable that changes */
#define VIEW_ROOM	512	/* room for the view, on each CPU's stack */
#define NATIVE		1024
#define FACTS_MAX	(1U << 20)
#define MEMORY		(16UL << 20)
#define TIME		5000000000UL

static const struct subsystem subsystems[] = {
	{ "netfilter", VIEW_PACKET }, { "cpufreq", VIEW_CPUS }, { "process", VIEW_NUMBERS },
};

/* Additions to Lua's library, on the script's first line, so that line numbers do not change. */
static const char prelude[] =
	"DROP,ACCEPT,REJECT,QUEUE,DEFAULT=0,1,2,3,0 "
	"UNTRACKED,NEW,ESTABLISHED,RELATED=0,1,2,3 program={table=function(t) "
	"local n,a,k=t.entries or 1024,t.age or 0,t.keys or 1 "
	"local p=8 while p<n do p=p*2 end "
	"if p~=n or n>1048576 then error('entries: a power of 2 from 8 to 1048576',2) end "
	"if k<1 or k>8 or k%1~=0 then error('keys: 1 to 8 numbers',2) end "
	"if a<0 or a>4294967295 or a%1~=0 then error('age: in ms',2) end "
	"if #t>32 then error('at most 32 fields',2) end "
	"for i=1,#t do if type(t[i])~='string' then error('fields are names',2) end end "
	"if t.name~=nil then program.check(t,32) end "
	"t.entries,t.age,t.keys,t.kind=n,a,k,'program.table' return t end,"
	"check=function(t,most) if #t>most then error('at most '..most..' fields',3) end "
	"for i=1,#t do if type(t[i])~='string' then error('fields are names',3) end end "
	"if type(t.name)~='string' or not t.name:find'^[!-~]+$' or #t.name>31 "
	"then error('name: 1 to 31 letters, digits or signs',3) end end,"
	"events=function(t) program.check(t,8) "
	"if #t<1 then error('at least 1 field',2) end "
	"local n=t.records or 1024 local p=8 while p<n do p=p*2 end "
	"if p~=n or n>65536 then error('records: a power of 2 from 8 to 65536',2) end "
	"t.records,t.kind=n,'program.events' return t end} ";

/* -- Refusals ----------------------------------------------------------------------------- */

void refuse(struct function *f, const char *why, ...)
{
	struct builder *b = f->b;
	char text[1024];
	va_list args;

	/* A value that has only been nil so far may get another type later. */
	f->failed = true;
	if (!f->sure || b->refused)
		return;
	b->refused = true;
	va_start(args, why);
	vsnprintf(text, sizeof(text), why, args);
	va_end(args);
	snprintf(b->out->error, sizeof(b->out->error), "%s:%d: %s", b->name, f->line[f->pc],
		 text);
}

/* -- Functions of the subsystem ----------------------------------------------------------- */

uint32_t function_number(struct builder *b, const char *name)
{
	struct aot *out = b->out;
	uint32_t n = 0;
	size_t len = strlen(name) + 1;

	for (char *at = out->functions; at < out->functions + out->functions_len;
	     at += strlen(at) + 1, n++)
		if (!strcmp(at, name))
			return n;
	if (len <= sizeof(out->functions) - out->functions_len) {
		memcpy(out->functions + out->functions_len, name, len);
		out->functions_len += len;
	}
	return n;
}

void emit_function(struct function *f, const char *name)
{
	uint32_t number = function_number(f->b, name);

	emit_insn(f->e, INSN_JMP | INSN_CALL, 0, 0, 0, IMAGE_FUNCTION + number);
}

/* -- One function --------------------------------------------------------------------------- */

static void free_function(struct function *f)
{
	free(f->line);
	free(f->known);
	free(f->now);
	free(f->queued);
	free(f->labels);
	free(f);
}

static struct function *make_function(struct builder *b, struct instance *in, struct emit *e)
{
	struct function *f = calloc(1, sizeof(*f));
	const struct proto *p = in->p;

	if (!f)
		return NULL;
	*f = (struct function){ .b = b, .instance = in, .p = p, .e = e };
	f->line = calloc(p->ncode, sizeof(*f->line));
	f->known = calloc((size_t)p->ncode * p->nregs, sizeof(*f->known));
	f->now = calloc(REGISTERS, sizeof(*f->now));
	f->queued = calloc(p->ncode + 2, sizeof(*f->queued));
	f->labels = calloc(p->ncode + 2, sizeof(*f->labels));
	if (!f->line || !f->known || !f->now || !f->queued || !f->labels) {
		free_function(f);
		return NULL;
	}
	runtime_read(&b->runtime, runtime_word(&b->runtime, p->address + PROTO_LINEINFO, 8),
		     f->line, p->ncode * sizeof(*f->line));
	return f;
}

static void make_labels(struct function *f)
{
	f->e->nlabels = f->e->njumps = 0;
	for (uint32_t pc = 0; pc < f->p->ncode + 2; pc++)
		f->labels[pc] = emit_label(f->e);
}

/* Lua reads unwritten registers as nil: initialises those that may be read unwritten. */
static void clear_registers(struct function *f)
{
	for (uint32_t r = f->instance->nargs; r < f->p->nregs; r++) {
		bool wanted = false;

		for (uint32_t pc = 0; pc < f->p->ncode && !wanted; pc++) {
			struct known k = f->known[pc * f->p->nregs + r];

			wanted = k.nil && k.kind != K_NIL;
		}
		if (!wanted)
			continue;
		load_nil(f, 0);
		put(f, r, 0, f->now[r]);
	}
}

/* Arguments are numbers of any size, or absent. */
static void enter_process(struct function *f)
{
	const int32_t first = 8;	/* syscript_arguments.args */

	for (uint32_t n = 0; n < f->instance->nargs; n++) {
		uint32_t none = emit_label(f->e), done = emit_label(f->e);

		emit_load(f->e, INSN_W, 2, REG_VIEW, 0);
		emit_branch_imm(f->e, INSN_JLE, 2, n, none);
		emit_load(f->e, INSN_DW, 1, REG_VIEW, first + 8 * n);
		check_range(f, 1, a_number(64, true));
		emit_jump(f->e, done);
		emit_land(f->e, none);
		load_nil(f, 1);
		emit_land(f->e, done);
		put(f, n, 1, f->now[n]);
	}
}

static void enter(struct function *f)
{
	memcpy(f->now, f->known, f->p->nregs * sizeof(*f->now));
	f->pc = 0;
	emit_mov(f->e, REG_VIEW, 1);
	if (f->instance != f->b->instances[0]) {
		for (uint32_t n = 0; n < f->instance->nargs; n++)
			if (f->instance->args[n].kind <= K_NIL)
				put(f, n, 2 + n, f->now[n]);
	} else if (f->b->subsystem->view == VIEW_NUMBERS) {
		enter_process(f);
	}
	clear_registers(f);
}

static bool add_lines(struct function *f)
{
	struct aot *out = f->b->out;
	uint16_t *more = realloc(out->lines, (f->e->n + 1) * sizeof(*more));
	int32_t line = f->line[f->pc];

	if (!more)
		return false;
	out->lines = more;
	for (; out->nlines < f->e->n; out->nlines++)
		more[out->nlines] = line < 0 || line > UINT16_MAX ? 0 : line;
	return true;
}

/* The final pass, when all facts are known. */
static bool write_function(struct function *f)
{
	make_labels(f);
	f->sure = true;
	enter(f);
	for (f->pc = 0; f->pc < f->p->ncode && !f->b->refused; f->pc++) {
		if (f->known[f->pc * f->p->nregs].kind == K_NONE)
			continue;
		memcpy(f->now, &f->known[f->pc * f->p->nregs], f->p->nregs * sizeof(*f->now));
		emit_land(f->e, f->labels[f->pc]);
		compile_one(f);
		if (!add_lines(f))
			return false;
	}
	for (uint32_t n = 0; n < f->nlate && !f->b->refused; n++) {
		f->pc = f->late[n].pc;
		emit_land(f->e, f->late[n].label);
		f->late[n].emit(f, &f->late[n]);
		if (!add_lines(f))
			return false;
	}
	if (!f->b->refused)
		tidy(f, f->instance->start);
	emit_resolve(f->e);
	return !f->b->refused;
}

static bool write_instance(struct builder *b, struct instance *in)
{
	struct function *f = make_function(b, in, &b->scratch);
	bool done = f;

	in->start = b->e.n;
	if (f) {
		make_labels(f);
		if (flow(f)) {
			f->e = &b->e;
			f->nlate = 0;
			done = write_function(f);
		}
		free_function(f);
	}
	return done;
}

/* -- Instances --------------------------------------------------------------------------------- */

/* Treats numbers of similar size as one case. */
static struct known usual(struct known k)
{
	if (k.kind != K_NUMBER)
		return k;
	k.fixed = false;
	k.value = (struct value){ 0 };
	k.bits = k.bits <= 32 ? 32 : NUMBER_BITS;
	return k;
}

static bool is_instance(const struct instance *in, uint64_t closure, const struct known *args,
			uint32_t nargs)
{
	bool same = in->closure == closure && in->nargs == nargs;

	for (uint32_t n = 0; same && n < nargs; n++)
		same = same_known(&in->args[n], &args[n]);
	return same;
}

static const struct proto *proto_of(const struct builder *b, uint64_t closure)
{
	return runtime_proto(&b->runtime, runtime_word(&b->runtime, closure + CLOSURE_F, 8));
}

static struct instance *add_instance(struct builder *b, uint64_t closure,
				     const struct known *args, uint32_t nargs)
{
	const struct proto *p = proto_of(b, closure);
	struct instance *in = p && b->ninstances < INSTANCES_MAX ? calloc(1, sizeof(*in)) : NULL;

	if (!in)
		return NULL;
	in->closure = closure;
	in->p = p;
	in->nargs = nargs;
	memcpy(in->args, args, nargs * sizeof(*args));
	in->frame = SPARE + 8 * (p->nregs > REGS_HELD ? p->nregs - REGS_HELD : 0);
	b->instances[b->ninstances++] = in;
	return in;
}

/* Compiles the instance only for the type of its result, and discards the code. */
static bool look_at(struct builder *b, struct instance *in)
{
	struct emit scratch = { 0 };
	struct function *f = make_function(b, in, &scratch);

	if (!f)
		return false;
	in->busy = true;
	make_labels(f);
	in->done = flow(f);
	in->busy = false;
	free_function(f);
	emit_free(&scratch);
	return in->done;
}

struct instance *instance_of(struct function *f, uint64_t closure, const struct known *args,
			     uint32_t nargs)
{
	struct builder *b = f->b;
	const struct proto *p = proto_of(b, closure);
	struct known usuals[ARGS_MAX];
	struct instance *in = NULL;
	uint32_t n;

	if (!p || p->is_vararg) {
		refuse(f, "calls a function with any number of arguments, or a very long one");
		return NULL;
	}
	if (nargs > p->nparams)
		nargs = p->nparams;
	for (n = 0; n < nargs; n++)
		usuals[n] = usual(args[n]);
	for (n = 0; n < b->ninstances && !in; n++)
		if (is_instance(b->instances[n], closure, usuals, nargs))
			in = b->instances[n];
	if (!in) {
		in = add_instance(b, closure, usuals, nargs);
		if (in)
			look_at(b, in);
	}
	if (!in)
		refuse(f, "calls functions in too many ways");
	if (in && in->busy) {
		f->sure = true;
		refuse(f, "a function that calls itself");
	}
	return in && !in->busy ? in : NULL;
}

/* -- The program -------------------------------------------------------------- */

static void free_instances(struct builder *b)
{
	while (b->ninstances)
		free(b->instances[--b->ninstances]);
}

static void forget_code(struct builder *b)
{
	b->e.n = b->e.ncalls = b->e.njumps = b->e.nlabels = 0;
	b->out->nlines = 0;
}

static void forget_all(struct builder *b)
{
	free_instances(b);
	forget_code(b);
	b->nplaced = b->end = b->zeros = b->out->nstates = 0;
	b->out->functions_len = 0;
	b->again = false;
}

static int complain_of(struct builder *b, const char *why)
{
	if (!b->out->error[0])
		snprintf(b->out->error, sizeof(b->out->error), "%s: %s", b->name, why);
	return -ENOEXEC;
}

static bool arguments_of_run(struct builder *b, const struct proto *p, struct known *args,
			     uint32_t *nargs)
{
	bool numbers = b->subsystem->view == VIEW_NUMBERS;

	*nargs = p->nparams;
	if (p->is_vararg || *nargs > (numbers ? ARGS_MAX : 1))
		return false;
	for (uint32_t n = 0; n < *nargs; n++)
		args[n] = !numbers ? (struct known){ .kind = K_VIEW } :
			(struct known){ .kind = K_NUMBER, .nil = true, .below = true,
					.bits = NUMBER_BITS };
	return true;
}

static int build_once(struct builder *b, uint64_t run)
{
	const struct proto *p = proto_of(b, run);
	struct known args[ARGS_MAX];
	uint32_t nargs;

	forget_all(b);
	if (!p || !arguments_of_run(b, p, args, &nargs))
		return complain_of(b, b->subsystem->view == VIEW_NUMBERS ?
				      "run() takes up to 4 numbers" :
				      b->subsystem->view == VIEW_PACKET ?
				      "run() takes the packet" : "run() takes the CPUs");
	if (!add_instance(b, run, args, nargs) || !look_at(b, b->instances[0]))
		return b->again ? 0 : complain_of(b, "no memory");
	/*
	 * Compiles called functions first, so that errors are reported there; then the final
	 * pass.
	 */
	for (uint32_t n = b->ninstances; n-- && !b->again; )
		if (!write_instance(b, b->instances[n]))
			return complain_of(b, "no memory");
	forget_code(b);
	for (uint32_t n = 0; n < b->ninstances && !b->again; n++)
		if (!write_instance(b, b->instances[n]))
			return complain_of(b, "no memory");
	return b->e.failed || b->scratch.failed ? complain_of(b, "it is too long") : 0;
}

static void set_calls(struct builder *b)
{
	for (uint32_t n = 0; n < b->e.ncalls; n++) {
		const struct call_fixup *call = &b->e.calls[n];

		b->e.insns[call->insn].imm = b->instances[call->number]->start -
					     (call->insn + 1);
	}
}

/* Places sets of tables after the data; they are zero at first. */
static uint32_t place_zeros(struct builder *b)
{
	uint32_t start = ((b->end ?: 256) + 63) / 64 * 64;

	for (uint32_t n = 0; n < b->nplaced; n++) {
		char *at = b->out->data + b->placed[n].at;
		struct value table = { TAG_TABLE, b->placed[n].id };
		uint64_t sets;

		if (!is_program_table(b, table))
			continue;
		memcpy(&sets, at + 16, sizeof(sets));
		sets += IMAGE_ATOMIC_USER + start;
		memcpy(at + 16, &sets, sizeof(sets));
	}
	return start + b->zeros;
}

/* Bytes of the tables that it shares, in whole pages at the end of the arena. */
static uint64_t shared_bytes(const struct aot *out)
{
	uint64_t page = sysconf(_SC_PAGESIZE), bytes = 0;

	for (uint32_t n = 0; n < out->nstates; n++) {
		const struct syscript_state *state = &out->states[n];
		uint64_t entry = 8 + state->key_size + state->value_size;

		if (state->kind == SYSCRIPT_STATE_TABLE)
			bytes += (state->entries * entry + page - 1) / page * page;
	}
	return bytes;
}

/* Bytes of its rings, which are not in the arena. */
static uint64_t ring_bytes(const struct aot *out)
{
	uint64_t bytes = 0;

	for (uint32_t n = 0; n < out->nstates; n++)
		if (out->states[n].kind == SYSCRIPT_STATE_RING)
			bytes += (uint64_t)out->states[n].entries *
				 (sizeof(struct syscript_record) + out->states[n].value_size);
	return bytes;
}

static int pack(struct builder *b, unsigned int cpus)
{
	struct aot *out = b->out;
	uint32_t stack = VIEW_ROOM, end = place_zeros(b);
	struct image_header header = {
		.magic = IMAGE_MAGIC, .version = IMAGE_VERSION, .machine = IMAGE_MACHINE,
		.ninsns = b->e.n,
		.nfuncs = b->ninstances, .native_size = NATIVE,
		.arena_shift = IMAGE_ARENA_SHIFT_MIN,
	};
	struct image_func *func;
	char *at;

	/* There is no recursion, so the sum of all frames is enough. */
	for (uint32_t n = 0; n < b->ninstances; n++)
		stack += b->instances[n]->frame;
	header.stack_size = (stack + 15) / 16 * 16;
	header.stack_end = (end + 15) / 16 * 16 + cpus * header.stack_size;
	while (1UL << header.arena_shift <= header.stack_end + shared_bytes(out))
		header.arena_shift++;
	out->memory = (1UL << header.arena_shift) + ring_bytes(out);
	out->data_len = b->end;
	out->image_len = sizeof(header) + header.nfuncs * sizeof(*func) +
			 header.ninsns * sizeof(struct image_insn);
	out->image = at = malloc(out->image_len);
	if (!at)
		return complain_of(b, "no memory");
	memcpy(at, &header, sizeof(header));
	func = (void *)(at + sizeof(header));
	for (uint32_t n = 0; n < b->ninstances; n++)
		func[n] = (struct image_func){ b->instances[n]->start, b->instances[n]->frame };
	memcpy(func + b->ninstances, b->e.insns, header.ninsns * sizeof(struct image_insn));
	return 0;
}

static int build_image(struct builder *b, unsigned int cpus)
{
	struct value run = global_of(b, "run");
	struct value copies = runtime_field(&b->runtime, global_of(b, "program").bits, "copies");
	int err, rounds = 0;

	b->out->copies = copies.tag == TAG_NUMBER ? (uint32_t)copies.bits : 64;
	if (b->subsystem->view == VIEW_NUMBERS)
		b->out->sees = UINT64_MAX;
	if (b->subsystem->view != VIEW_PACKET)
		b->out->copies = 0;
	if (run.tag != TAG_FUNCTION || runtime_word(&b->runtime, run.bits + CLOSURE_IS_C, 1))
		return complain_of(b, "run is not a function of the script");
	do {
		err = build_once(b, run.bits);
	} while (!err && b->again && ++rounds < ROUNDS);
	if (!err && b->again)
		err = complain_of(b, "too many variables that change");
	if (err)
		return err;
	set_calls(b);
	return pack(b, cpus);
}

/* -- The script --------------------------------------------------------------- */

static char *with_prelude(const char *source, size_t len, size_t *size)
{
	char *text = malloc(sizeof(prelude) + len + 1);

	if (!text)
		return NULL;
	/* A first line for the shell becomes a comment that is two bytes longer. */
	*size = sizeof(prelude) - 1;
	memcpy(text, prelude, *size);
	if (len && *source == '#') {
		memcpy(text + *size, "--", 2);
		*size += 2;
		source++;
		len--;
	}
	memcpy(text + *size, source, len);
	*size += len;
	text[*size] = '\0';
	return text;
}

static int run_script_once(struct run *run, const char *name, const char *text, size_t size)
{
	const struct engine_image image = {
		.data = text, .len = size, .format = SYSCRIPT_BACKEND_USER,
	};

	run->name = name;
	run->memory_limit = MEMORY;
	run->time_limit = TIME;
	run->wall_limit = 2 * TIME;
	run->grace = TIME;
	return lua_engine.create(run, &image);
}

static int compile(struct aot *whole, const char *name, struct run *run,
		   const struct subsystem *subsystem, unsigned int cpus)
{
	struct builder *b = calloc(1, sizeof(*b));
	int err = -ENOMEM;

	if (!b)
		return err;
	b->out = whole;
	b->name = name;
	b->subsystem = subsystem;
	if (lua_host_runtime(run->vm, &b->runtime) && runtime_read_protos(&b->runtime))
		err = build_image(b, cpus);
	runtime_free(&b->runtime);
	free_instances(b);
	emit_free(&b->e);
	emit_free(&b->scratch);
	free(b);
	return err;
}

static const struct subsystem *find_subsystem(const char *name)
{
	for (size_t n = 0; n < sizeof(subsystems) / sizeof(subsystems[0]); n++)
		if (!strcmp(subsystems[n].name, name))
			return &subsystems[n];
	return NULL;
}

int aot_compile(struct aot *whole, const char *name, const char *source, size_t len,
		  const char *subsystem, unsigned int cpus)
{
	const struct subsystem *found = find_subsystem(subsystem);
	struct run *run = run_create(&lua_engine);
	size_t size = 0;
	char *text = with_prelude(source, len, &size);
	int err = -ENOMEM;

	*whole = (struct aot){ 0 };
	if (!found) {
		snprintf(whole->error, sizeof(whole->error),
			 "programs for %s cannot be in Lua on the confined engine", subsystem);
		err = -EINVAL;
	} else if (run && text) {
		err = run_script_once(run, name, text, size);
		if (err)
			snprintf(whole->error, sizeof(whole->error), "%s", run->error);
	}
	if (!err) {
		err = compile(whole, name, run, found, cpus);
		lua_engine.destroy(run->vm);
	}
	free(text);
	if (run)
		run_destroy(run);
	if (err)
		aot_free(whole);
	return err;
}

void aot_free(struct aot *whole)
{
	free(whole->image);
	free(whole->data);
	free(whole->lines);
	whole->image = whole->data = NULL;
	whole->lines = NULL;
}
