// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * syscript disasm: shows the compounds that cosy-cc put into a program or object, as instructions
 * of the confined engine next to their source and machine code.
 *
 * The machine code is generated here as in the kernel, except for addresses and for keys, which the
 * kernel chooses at random.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../engine/confined/validate_image.h"
#include "../engine/confined/jit.h"
#include "../engine/confined/machine.h"
#include "../engine/confined/print.h"
#include "../lib/compound.h"
#include "cli.h"

/* Assumed addresses of data and code in the listing. */
#define DATA_AT		0x1000
#define ARENA_SHIFT	20
#define CODE_AT		(16UL << 20)	/* after confined_enter */
#define THUNKS_AT	(256UL << 20)
#define THUNK_SIZE	16
#define THUNKS		512

extern const u8 confined_poll[], confined_throw[], confined_abort[], confined_thunk[],
	confined_beyond[], confined_fault_stack[];

static const struct stub {
	const u8 *address;
	const char *name;
} stubs[] = {
	{ confined_poll, "poll" }, { confined_throw, "throw" }, { confined_abort, "abort" },
	{ confined_thunk, "system_call" }, { confined_fault_stack, "fault_stack" },
	{ confined_beyond, "fault_function" },
};

/* The state while a compound is printed. */
struct listing {
	const struct cosy_file *file;
	struct image_header *image;	/* the image after relocation */
	struct checked checked;
	struct jit jit;
	FILE *machine;			/* objdump(1)'s output for it */
	uint32_t pc, func, line;
	char next[256];			/* the next line of @machine */
	unsigned long next_at;
	bool more;
};

static const char *string(const struct listing *l, uint32_t at)
{
	return at < l->file->strings.n ? (const char *)file_part(l->file, l->file->strings) + at : "?";
}

static bool place_image(struct listing *l)
{
	l->image = file_place_image(l->file, DATA_AT);
	if (!l->image)
		return false;
	l->image->arena_shift = ARENA_SHIFT;
	l->image->stack_end = (1 << ARENA_SHIFT) - 16;
	l->image->stack_size = 1 << (ARENA_SHIFT - 1);
	return true;
}

/* -- Machine code ---------------------------------------------------------------------- */

static unsigned long code_at(void)
{
	return ((unsigned long)confined_enter & -0x1000UL) + CODE_AT;
}

static struct jit_thunk find_thunk(u32 nr)
{
	return (struct jit_thunk){ code_at() + THUNKS_AT + nr * THUNK_SIZE,
				  print_syscall_args(nr) };
}

/* Makes objdump(1) disassemble the file @fd, which it inherits. */
static FILE *objdump(int fd)
{
	char command[160];

	snprintf(command, sizeof(command),
		 "objdump -D -b binary -m i386:x86-64 -M intel --no-show-raw-insn -w "
		 "--adjust-vma=0x%lx /proc/self/fd/%d", code_at(), fd);
	return popen(command, "r");
}

static int generate(struct listing *l)
{
	struct jit *jit = &l->jit;
	int fd = memfd_create("code", 0);

	*jit = (struct jit){ .checked = &l->checked, .thunk = find_thunk };
	if (fd < 0 || jit_measure(jit))
		return -1;
	jit->code = calloc(1, jit->size);
	jit->exec = code_at();
	if (!jit->code || jit_generate(jit) ||
	    write(fd, jit->code, jit->size) != (ssize_t)jit->size)
		return -1;
	l->machine = objdump(fd);
	close(fd);
	return l->machine ? 0 : -1;
}

/* Replaces the address in "call 0x7f12..." by a name. */
static void name_target(struct listing *l, char *text, size_t len)
{
	char *at = strstr(text, " 0x"), name[PRINT_LEN] = "";
	unsigned long target;

	if (!at || (text[0] != 'j' && strncmp(text, "call", 4)))
		return;
	target = strtoul(at, NULL, 16) - code_at();
	if (target < l->jit.size)
		snprintf(name, sizeof(name), "%lx", target);
	else if (target - THUNKS_AT < THUNKS * THUNK_SIZE)
		print_syscall((target - THUNKS_AT) / THUNK_SIZE, name);
	for (size_t i = 0; i < sizeof(stubs) / sizeof(stubs[0]); i++)
		if (target == (unsigned long)stubs[i].address - code_at())
			snprintf(name, sizeof(name), "%s", stubs[i].name);
	if (name[0])
		snprintf(at + 1, len - (at + 1 - text), "%s", name);
}

/* Reads the next line of machine code into l->next. */
static void read_line(struct listing *l)
{
	char line[256], *text;

	l->more = false;
	while (!l->more && fgets(line, sizeof(line), l->machine)) {
		text = strstr(line, ":\t");
		if (!text)
			continue;
		l->next_at = strtoul(line, NULL, 16) - code_at();
		snprintf(l->next, sizeof(l->next), "%.*s", (int)strcspn(text + 2, "\n"), text + 2);
		name_target(l, l->next, sizeof(l->next));
		l->more = true;
	}
}

/* -- Printing -------------------------------------------------------------------------- */

/* Prints @text on the left, and the machine code before @end on the right. */
static void print_next_to(struct listing *l, const char *text, unsigned long end)
{
	do {
		printf("%-48s", text);
		if (l->more && l->next_at < end) {
			printf("  %5lx  %s", l->next_at, l->next);
			read_line(l);
		}
		printf("\n");
		text = "";
	} while (l->more && l->next_at < end);
}

/* Prints line @number of the file @path, if it still exists. */
static void print_source(const char *path, uint32_t number)
{
	FILE *in = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;
	uint32_t i = 0;

	while (in && i < number && getline(&text, &size, in) > 0)
		i++;
	if (i && i == number)
		printf("%s:%u: %s", path, number, text + strspn(text, " \t"));
	else
		printf("%s:%u\n", path, number);
	free(text);
	if (in)
		fclose(in);
}

static void print_line_of(struct listing *l)
{
	const struct cosy_line *lines = file_part(l->file, l->file->lines);

	while (l->line < l->file->lines.n && lines[l->line].insn <= l->pc) {
		if (lines[l->line].insn == l->pc)
			print_source(string(l, lines[l->line].file), lines[l->line].line);
		l->line++;
	}
}

static unsigned long end_of(const struct listing *l, uint32_t next_pc)
{
	if (l->func < l->image->nfuncs && l->checked.funcs[l->func].start == next_pc)
		return l->jit.offsets[l->image->ninsns + l->func];
	return next_pc < l->image->ninsns ? l->jit.offsets[next_pc] : l->jit.size;
}

static void print_function(struct listing *l)
{
	const uint32_t *names = file_part(l->file, l->file->funcs);
	const char *name = l->func < l->file->funcs.n ? string(l, names[l->func]) : "?";

	printf("\n%s:\n", name);
	print_next_to(l, "", l->jit.offsets[l->pc]);
	l->func++;
}

static void print_all(struct listing *l)
{
	char text[PRINT_LEN + 16], insn[PRINT_LEN];
	uint32_t n;

	read_line(l);
	printf("entry:\n");
	print_next_to(l, "", l->jit.offsets[l->image->ninsns]);
	while (l->pc < l->image->ninsns) {
		if (l->func < l->image->nfuncs && l->checked.funcs[l->func].start == l->pc)
			print_function(l);
		print_line_of(l);
		n = print_insn(&l->checked.insns[l->pc], l->pc, insn);
		snprintf(text, sizeof(text), "%6u  %s", l->pc, insn);
		print_next_to(l, text, end_of(l, l->pc + n));
		l->pc += n;
	}
}

static int list(const struct cosy_file *file, const char *path)
{
	struct listing l = { .file = file };
	char error[256] = "no memory";
	int status = 0;

	if (!place_image(&l) ||
	    image_check(l.image, file->image.n, CONTEXT_PROCESS, NULL, &l.checked, error,
			sizeof(error))) {
		free(l.image);
		return complain("%s: a compound is refused: %s", path, error);
	}
	if (generate(&l))
		status = complain("%s: cannot generate machine code: %s", path, strerror(errno));
	else
		print_all(&l);
	if (l.machine && pclose(l.machine) && !status)
		status = complain("objdump, of binutils, is needed to print machine code");
	free(l.jit.code);
	jit_release(&l.jit);
	image_release(&l.checked);
	free(l.image);
	return status;
}

/* -- The command ------------------------------------------------------------------------ */

/* Lists all compounds in @bytes. */
static int list_all(const char *bytes, size_t size, const char *path)
{
	unsigned int count = 0;
	size_t at;
	int status = 0;

	for (at = 0; at + sizeof(struct cosy_file) <= size && !status; at += 4) {
		const struct cosy_file *file = (const void *)(bytes + at);

		if (!file_is_compound(file, size - at))
			continue;
		if (count++)
			printf("\n");
		status = list(file, path);
	}
	if (!count)
		return complain("%s has no compounds: see cosy-cc(1)", path);
	return status;
}

static int list_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), status;
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st)) {
		status = complain("cannot open %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return status;
	}
	bytes = mmap(NULL, st.st_size ?: 1, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return complain("cannot read %s: %s", path, strerror(errno));
	status = list_all(bytes, st.st_size, path);
	munmap(bytes, st.st_size ?: 1);
	return status;
}

int cmd_disasm(int argc, char **argv)
{
	static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	int option = getopt_long(argc, argv, "h", options, NULL);

	if (option == 'h') {
		printf("Usage: syscript disasm FILE\n"
		       "Prints the compounds of a program or object that cosy-cc has compiled:\n"
		       "their source, the engine's instructions, and the machine code of these.\n");
		return 0;
	}
	if (option != -1)
		return complain_usage("disasm", "unknown option");
	if (argc - optind != 1)
		return complain_usage("disasm", "one FILE is needed");
	return list_file(argv[optind]);
}
