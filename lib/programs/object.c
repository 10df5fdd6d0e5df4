// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A linker for one object file: resolves addresses of variables and numbers of functions, and
 * writes an image of the confined engine.
 *
 * The function that is not static is the program. Data are at the beginning of the arena,
 * followed by a stack for each CPU. The object is not trusted: the kernel's checker validates its
 * instructions, and this file everything else.
 */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/uapi/syscript_image.h"
#include "../lua/aot/aot.h"
#include "object.h"
#include "view_fields.h"

#define DATA_START	256		/* offset of the first variable: 0 is no address */
#define FRAME		512		/* bytes of stack of a function that uses r10, as in BPF */
#define STACK		(4 * FRAME)	/* bytes of stack for a CPU, besides its view */
#define VIEW		512
#define NATIVE		512
#define FUNCS_MAX	256
#define SECTIONS_MAX	256
#define COPIES		64
#define DATA_MAX	(1UL << 28)	/* bytes */

enum { R_64_64 = 1, R_64_ABS64 = 2, R_64_32 = 10 };

struct reader {
	const char *name, *file;
	size_t len;
	char *error;
	size_t error_len;
	const Elf64_Ehdr *header;
	const Elf64_Shdr *sections;
	const Elf64_Sym *symbols;
	size_t nsymbols;
	const char *strings;
	size_t strings_len;
	unsigned int text;		/* the section that defines it */
	uint64_t places[SECTIONS_MAX];	/* offset of data sections in the arena, or 0 */
	uint64_t end;			/* bytes of all data */
	struct image_insn *insns;
	uint32_t ninsns;
	struct image_func funcs[FUNCS_MAX];
	uint32_t nfuncs, entry;		/* its first instruction */
	struct object *object;
};

static bool is_in(const struct reader *r, uint64_t at, uint64_t len)
{
	return at <= r->len && len <= r->len - at;
}

/* Writes the reason @why to the error text, and returns -EINVAL. */
static int refuse(const struct reader *r, const char *why)
{
	snprintf(r->error, r->error_len, "%s: %s", r->name, why);
	return -EINVAL;
}

static const char *name_of(const struct reader *r, const Elf64_Sym *symbol)
{
	return symbol->st_name < r->strings_len ? r->strings + symbol->st_name : "";
}

static const Elf64_Sym *symbol_of(const struct reader *r, uint64_t info)
{
	return ELF64_R_SYM(info) < r->nsymbols ? &r->symbols[ELF64_R_SYM(info)] : NULL;
}

/* -- Sections ---------------------------------------------------------------------- */

static int read_symbols(struct reader *r, const Elf64_Shdr *section)
{
	const Elf64_Shdr *strings;

	if (section->sh_link >= r->header->e_shnum || section->sh_offset % 8)
		return refuse(r, "a malformed object file");
	strings = &r->sections[section->sh_link];
	if (!is_in(r, strings->sh_offset, strings->sh_size))
		return refuse(r, "a malformed object file");
	r->symbols = (const void *)(r->file + section->sh_offset);
	r->nsymbols = section->sh_size / sizeof(Elf64_Sym);
	r->strings = r->file + strings->sh_offset;
	r->strings_len = strings->sh_size;
	return r->strings_len && !r->strings[r->strings_len - 1] ? 0 :
	       refuse(r, "a malformed object file");
}

static int place_section(struct reader *r, unsigned int i)
{
	const Elf64_Shdr *section = &r->sections[i];
	uint64_t align = section->sh_addralign ?: 1;

	if (section->sh_flags & SHF_EXECINSTR) {
		if (r->text)
			return refuse(r, "code in two sections: one is enough");
		r->text = i;
		return 0;
	}
	if (align & (align - 1) || align > 4096)
		return refuse(r, "a malformed object file");
	r->end = (r->end + align - 1) & -align;
	r->places[i] = r->end;
	if (section->sh_size > DATA_MAX || r->end + section->sh_size > DATA_MAX)
		return refuse(r, "more than 256 MiB of data");
	r->end += section->sh_size;
	return 0;
}

static int read_sections(struct reader *r)
{
	int status = 0;

	r->end = DATA_START;
	for (unsigned int i = 1; !status && i < r->header->e_shnum; i++) {
		const Elf64_Shdr *section = &r->sections[i];

		if (section->sh_type != SHT_NOBITS &&
		    !is_in(r, section->sh_offset, section->sh_size))
			return refuse(r, "a malformed object file");
		if (section->sh_type == SHT_SYMTAB)
			status = read_symbols(r, section);
		else if (section->sh_flags & SHF_ALLOC && section->sh_size)
			status = place_section(r, i);
	}
	if (!status && (!r->text || !r->symbols))
		return refuse(r, "there is no code");
	return status;
}

static int copy_sections(struct reader *r)
{
	const Elf64_Shdr *text = &r->sections[r->text];

	r->ninsns = text->sh_size / sizeof(struct image_insn);
	r->insns = malloc(text->sh_size);
	r->object->data = calloc(1, r->end);
	r->object->data_len = r->end;
	if (!r->insns || !r->object->data)
		return -ENOMEM;
	memcpy(r->insns, r->file + text->sh_offset, text->sh_size);
	for (unsigned int i = 1; i < r->header->e_shnum; i++)
		if (r->places[i] && r->sections[i].sh_type != SHT_NOBITS)
			memcpy(r->object->data + r->places[i],
			       r->file + r->sections[i].sh_offset, r->sections[i].sh_size);
	return 0;
}

/* -- Functions --------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct image_func *one = a, *other = b;

	return one->start < other->start ? -1 : one->start > other->start;
}

static bool uses_frame(const struct reader *r, uint32_t from, uint32_t to)
{
	for (; from < to && from < r->ninsns; from++)
		if (r->insns[from].src == INSN_R10 || r->insns[from].dst == INSN_R10)
			return true;
	return false;
}

static int find_functions(struct reader *r)
{
	unsigned int programs = 0;

	for (size_t i = 0; i < r->nsymbols; i++) {
		const Elf64_Sym *symbol = &r->symbols[i];
		uint32_t start = symbol->st_value / sizeof(struct image_insn);

		if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx != r->text)
			continue;
		if (r->nfuncs == FUNCS_MAX)
			return refuse(r, "too many functions");
		r->funcs[r->nfuncs++].start = start;
		if (ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL && !programs++)
			r->entry = start;
	}
	if (programs != 1)
		return refuse(r, "one function is the program: make the others static");
	qsort(r->funcs, r->nfuncs, sizeof(r->funcs[0]), by_start);
	for (uint32_t i = 0; i < r->nfuncs; i++) {
		uint32_t end = i + 1 < r->nfuncs ? r->funcs[i + 1].start : r->ninsns;

		r->funcs[i].frame = uses_frame(r, r->funcs[i].start, end) ? FRAME : 0;
	}
	return 0;
}

/* -- Relocations ------------------------------------------------------------------- */

/* The number of an external function, or -1. */
static int number_of(struct object *object, const char *name)
{
	size_t len = strlen(name) + 1;
	int n = 0;

	for (char *at = object->functions; at < object->functions + object->functions_len;
	     at += strlen(at) + 1, n++)
		if (!strcmp(at, name))
			return n;
	if (len > sizeof(object->functions) - object->functions_len ||
	    n == SYSCRIPT_FUNCTIONS_MAX)
		return -1;
	memcpy(object->functions + object->functions_len, name, len);
	object->functions_len += len;
	return n;
}

static int relocate_call(struct reader *r, const Elf64_Sym *symbol, uint32_t at)
{
	struct image_insn *insn = &r->insns[at];
	int number;

	if (symbol->st_shndx == r->text) {
		int64_t target = symbol->st_value / sizeof(*insn);

		if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
			target += insn->imm + 1;
		insn->imm = target - at - 1;
		return 0;
	}
	number = number_of(r->object, name_of(r, symbol));
	if (symbol->st_shndx != SHN_UNDEF || number < 0)
		return refuse(r, "calls a symbol that is not a function");
	insn->src = 0;
	insn->imm = IMAGE_FUNCTION + number;
	return 0;
}

static int refuse_variable(const struct reader *r, const Elf64_Sym *symbol)
{
	char why[256];

	snprintf(why, sizeof(why), "%s is not a variable of this object", name_of(r, symbol));
	return refuse(r, why);
}

static int address_of(struct reader *r, const Elf64_Sym *symbol, uint64_t addend, uint64_t *at)
{
	unsigned int section = symbol->st_shndx;

	if (section >= r->header->e_shnum || !r->places[section])
		return refuse_variable(r, symbol);
	*at = r->places[section] + symbol->st_value + addend;
	return 0;
}

static int relocate_text(struct reader *r, const Elf64_Rel *rel)
{
	const Elf64_Sym *symbol = symbol_of(r, rel->r_info);
	uint32_t at = rel->r_offset / sizeof(struct image_insn);
	uint64_t address = 0;
	int status;

	if (!symbol || rel->r_offset / sizeof(struct image_insn) + 1 >= r->ninsns)
		return refuse(r, "a malformed object file");
	if (ELF64_R_TYPE(rel->r_info) == R_64_32)
		return relocate_call(r, symbol, at);
	if (ELF64_R_TYPE(rel->r_info) != R_64_64)
		return refuse(r, "an unknown relocation");
	status = address_of(r, symbol, (uint32_t)r->insns[at].imm, &address);
	r->insns[at].src = INSN_ARENA;
	r->insns[at].imm = address;
	r->insns[at + 1].imm = 0;
	return status;
}

static int relocate_data(struct reader *r, uint64_t place, const Elf64_Rel *rel)
{
	const Elf64_Sym *symbol = symbol_of(r, rel->r_info);
	uint64_t at = place + rel->r_offset, value;
	int status;

	if (!symbol || at < place || at > r->end - sizeof(value) ||
	    ELF64_R_TYPE(rel->r_info) != R_64_ABS64)
		return refuse(r, "an unknown relocation");
	memcpy(&value, r->object->data + at, sizeof(value));
	status = address_of(r, symbol, value, &value);
	value += IMAGE_ATOMIC_USER;
	memcpy(r->object->data + at, &value, sizeof(value));
	return status;
}

static int relocate(struct reader *r)
{
	int status = 0;

	for (unsigned int i = 1; i < r->header->e_shnum; i++) {
		const Elf64_Shdr *section = &r->sections[i];
		const Elf64_Rel *rel = (const void *)(r->file + section->sh_offset);

		if (section->sh_type != SHT_REL || section->sh_info >= r->header->e_shnum)
			continue;
		if (section->sh_offset % 8)
			return refuse(r, "a malformed object file");
		for (size_t n = section->sh_size / sizeof(*rel); !status && n; n--, rel++)
			if (section->sh_info == r->text)
				status = relocate_text(r, rel);
			else if (r->places[section->sh_info])
				status = relocate_data(r, r->places[section->sh_info], rel);
	}
	return status;
}

/* -- The image --------------------------------------------------------------------- */

static unsigned int possible_cpus(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "r");
	unsigned int first, last = 0;
	int n = file ? fscanf(file, "%u-%u", &first, &last) : 0;

	if (file)
		fclose(file);
	return n == 2 ? last + 1 : 1;
}

static void find_copies(struct reader *r)
{
	for (size_t i = 0; i < r->nsymbols; i++) {
		const Elf64_Sym *symbol = &r->symbols[i];
		uint64_t at;

		if (strcmp(name_of(r, symbol), "syscript_copies") ||
		    address_of(r, symbol, 0, &at) || at > r->end - sizeof(uint32_t))
			continue;
		memcpy(&r->object->copies, r->object->data + at, sizeof(uint32_t));
	}
}

/* Adds a first function that calls the program, if the program is not the first function. */
static int pack(struct reader *r)
{
	const struct image_insn stub[] = {
		{ .code = INSN_JMP | INSN_CALL, .src = INSN_LOCAL, .imm = r->entry + 1 },
		{ .code = INSN_JMP | INSN_EXIT },
	};
	uint32_t more = r->entry ? 2 : 0, stack = STACK + VIEW;
	struct image_header header = {
		.magic = IMAGE_MAGIC, .version = IMAGE_VERSION, .machine = IMAGE_MACHINE,
		.ninsns = r->ninsns + more,
		.nfuncs = r->nfuncs + !!more, .stack_size = stack, .native_size = NATIVE,
		.arena_shift = IMAGE_ARENA_SHIFT_MIN,
	};
	size_t funcs = header.nfuncs * sizeof(struct image_func);
	struct image_func *func;
	char *at;

	header.stack_end = (r->end + 15) / 16 * 16 + possible_cpus() * stack;
	while (1UL << header.arena_shift <= header.stack_end)
		header.arena_shift++;
	r->object->memory = 1UL << header.arena_shift;
	r->object->image_len = sizeof(header) + funcs + header.ninsns * sizeof(stub[0]);
	r->object->image = at = calloc(1, r->object->image_len);
	if (!at)
		return -ENOMEM;
	memcpy(at, &header, sizeof(header));
	func = (void *)(at + sizeof(header));
	if (more)
		*func++ = (struct image_func){ 0 };
	for (uint32_t i = 0; i < r->nfuncs; i++)
		func[i] = (struct image_func){ r->funcs[i].start + more, r->funcs[i].frame };
	at += sizeof(header) + funcs;
	memcpy(at, stub, more * sizeof(stub[0]));
	memcpy(at + more * sizeof(stub[0]), r->insns, r->ninsns * sizeof(stub[0]));
	r->object->sees = view_fields(r->object->image, r->object->image_len);
	return 0;
}

static int read_all(struct reader *r)
{
	r->header = (const void *)r->file;
	if (r->len < sizeof(*r->header) || memcmp(r->file, ELFMAG, SELFMAG) ||
	    r->header->e_machine != EM_BPF || r->header->e_shnum > SECTIONS_MAX ||
	    r->header->e_shentsize != sizeof(Elf64_Shdr) || r->header->e_shoff % 8 ||
	    !is_in(r, r->header->e_shoff, r->header->e_shnum * sizeof(Elf64_Shdr)))
		return refuse(r, "not an object of clang -target bpf");
	r->sections = (const void *)(r->file + r->header->e_shoff);
	return read_sections(r) ?: copy_sections(r) ?: find_functions(r) ?: relocate(r);
}

/* Reads an aligned copy of the file. */
static int read_object(struct reader *r, const char *file)
{
	char *copy = malloc(r->len);
	int err;

	if (!copy)
		return -ENOMEM;
	r->file = memcpy(copy, file, r->len);
	err = read_all(r);
	if (!err) {
		find_copies(r);
		err = pack(r);
	}
	free(copy);
	return err;
}

/* -- Lua ----------------------------------------------------------------------------- */

static int read_lua(struct reader *r, const char *source, const char *subsystem)
{
	struct object *object = r->object;
	struct aot whole;
	int err;

	err = aot_compile(&whole, r->name, source, r->len, subsystem, possible_cpus());
	if (err) {
		snprintf(r->error, r->error_len, "%s", whole.error);
		return err;
	}
	*object = (struct object){
		.image = whole.image, .image_len = whole.image_len,
		.data = whole.data, .data_len = whole.data_len,
		.functions_len = whole.functions_len, .copies = whole.copies,
		.sees = whole.sees, .memory = whole.memory, .nstates = whole.nstates,
		.lines = whole.lines, .nlines = whole.nlines,
	};
	memcpy(object->functions, whole.functions, whole.functions_len);
	memcpy(object->states, whole.states, sizeof(object->states));
	return 0;
}

int object_read(struct object *object, const char *name, const char *file, size_t len,
		const char *subsystem, char *error, size_t error_len)
{
	struct reader r = {
		.name = name, .len = len, .object = object, .error = error,
		.error_len = error_len,
	};
	int err;

	*object = (struct object){ .copies = strcmp(subsystem, "netfilter") ? 0 : COPIES };
	/* The first bytes of an object cannot begin a text. */
	if (!len || file[0] != ELFMAG0)
		return read_lua(&r, file, subsystem);
	err = read_object(&r, file);
	free(r.insns);
	if (err)
		object_free(object);
	return err;
}

void object_free(struct object *object)
{
	free(object->image);
	free(object->data);
	free(object->lines);
}
