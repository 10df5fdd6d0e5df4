// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * syscript measure: how much a command gains from its scripts.
 *
 * Runs the command with its scripts in the kernel, alternating with a command that does the same
 * without scripts, or with the same command with its scripts in user space. If the module is not
 * loaded, and this is the source tree, vm/measure does that in a guest.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <syscript.h>

#include "cli.h"
#include "meter.h"

static const char help[] =
	"Usage: syscript measure [OPTION...] [--baseline COMMAND... --] COMMAND...\n"
	"Runs COMMAND with its scripts in the kernel, and compares it with the baseline: another\n"
	"command that does the same without scripts, or else COMMAND with its scripts in user\n"
	"space.  Counts instructions and mode switches.  Where the module is not loaded, both\n"
	"run in a guest, on a copy of this directory (from the source tree only).\n\n"
	"  -r, --rounds N    run each N times, after once to warm up (default 15; 3 with --icount)\n"
	"      --guest       in a guest, although the module is loaded\n"
	"      --here        on this machine, although the module is not loaded\n"
	"      --icount      this machine's clock counts instructions (vm/guest --icount)\n"
	"      --json        as an object\n"
	"      --help        print this\n\n"
	"Instructions need a processor's counters (kernel.perf_event_paranoid up to 1), mode\n"
	"switches need root: sudo runs the commands as the user who calls it.\n";

#define ROUNDS_MAX	1000
/* Instruction counts vary little between rounds; times do. */
#define ROUNDS_COUNTED	3
#define ROUNDS_TIMED	15
/* How likely rounds of equal commands may be to agree as much as those that make a verdict. */
#define BY_CHANCE	0.001
/* A smaller share counts as no difference. */
#define SAME		0.01

struct measurement {
	const char *label;
	struct command command;
	struct cost cost;	/* medians over all rounds */
	double cpu[ROUNDS_MAX], instructions[ROUNDS_MAX];
	char *output;		/* the command's output, for free(), and its length */
	size_t len;
};

struct options {
	long rounds;
	bool guest, here, icount, json;
	char **baseline, **command;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts a copy: is_clear() compares the commands round by round. */
static double median(const double *values, long n)
{
	static double sorted[ROUNDS_MAX];

	memcpy(sorted, values, n * sizeof(*values));
	qsort(sorted, n, sizeof(*sorted), compare);
	return sorted[n / 2];
}

/* Reads the command's output. Returns 0 or -errno. */
static int keep_output(struct measurement *m)
{
	struct stat st;

	if (fstat(m->command.output, &st))
		return -errno;
	free(m->output);
	m->len = (size_t)st.st_size;
	m->output = malloc(m->len + 1);
	if (!m->output)
		return -ENOMEM;
	return pread(m->command.output, m->output, m->len, 0) == st.st_size ? 0 : -EIO;
}

/*
 * Runs the command once, with an empty output file.  Returns 0, or an exit status after an error
 * message.
 */
static int run_once(struct measurement *m, bool icount, struct cost *cost)
{
	int status;

	if (ftruncate(m->command.output, 0) || lseek(m->command.output, 0, SEEK_SET))
		return complain("cannot empty a file in memory: %s", strerror(errno));
	status = meter(&m->command, icount, cost);
	if (status < 0)
		return complain("cannot run '%s': %s", m->command.argv[0], strerror(-status));
	if (status == 127)
		return complain("no command '%s'", m->command.argv[0]);
	if (status)
		return complain("'%s' failed with status %d, so it is not measured",
				m->command.argv[0], status);
	return 0;
}

/*
 * Alternates the commands and their order, so that both see the same state of the machine.  The
 * first round warms up.
 */
static int run_rounds(struct measurement *base, struct measurement *with,
		      const struct options *options)
{
	struct measurement *both[] = { base, with };
	struct cost cost;
	int status;

	for (long i = -1; i < options->rounds; i++) {
		for (int turn = 0; turn < 2; turn++) {
			int k = turn ^ (i & 1);

			status = run_once(both[k], options->icount, &cost);
			if (status)
				return status;
			if (i < 0)
				continue;
			both[k]->cpu[i] = cost.cpu;
			both[k]->instructions[i] = cost.instructions;
		}
	}
	return 0;
}

/* Summarises @m's rounds, and runs its command once more to count mode switches. */
static int conclude(struct measurement *m, const struct options *options)
{
	int err = keep_output(m);

	if (err)
		return complain("cannot read the output of '%s': %s", m->command.argv[0],
				strerror(-err));
	m->cost.cpu = median(m->cpu, options->rounds);
	m->cost.instructions = median(m->instructions, options->rounds);
	/* Last, because tracing makes calls slower. */
	count_switches(&m->command, &m->cost);
	return 0;
}

static int open_outputs(struct measurement *base, struct measurement *with)
{
	base->command.output = memfd_create("output", MFD_CLOEXEC);
	with->command.output = memfd_create("output", MFD_CLOEXEC);
	if (base->command.output < 0 || with->command.output < 0)
		return complain("cannot make a file in memory: %s", strerror(errno));
	return 0;
}

static int measure(struct measurement *base, struct measurement *with,
		   const struct options *options)
{
	int status = open_outputs(base, with) ?: run_rounds(base, with, options) ?:
		     conclude(base, options) ?: conclude(with, options);

	close(base->command.output);
	close(with->command.output);
	return status;
}

/* -- Table ----------------------------------------------------------------- */

static void print_number(double value, double unit)
{
	char digits[32], text[48];
	size_t n, at = 0;

	if (value < 0) {
		printf("  %14s", "-");
		return;
	}
	n = (size_t)snprintf(digits, sizeof(digits), "%.0f", value / unit);
	for (size_t i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	printf("  %14s", text);
}

static double ratio(double of, double base)
{
	return of >= 0 && base > 0 ? of / base : UNKNOWN;
}

static void print_ratio(double value)
{
	if (value < 0)
		printf("  %5s", "-");
	else
		printf("  %5.2f", value);
}

static void print_row(const struct measurement *m, const struct measurement *base)
{
	const struct cost *cost = &m->cost, *of = &base->cost;

	printf("%-24.24s", m->label);
	if (of->instructions >= 0)
		print_number(cost->instructions, 1);
	else
		print_number(cost->cpu, 1e3);
	print_ratio(of->instructions >= 0 ? ratio(cost->instructions, of->instructions) :
			ratio(cost->cpu, of->cpu));
	print_number(cost->switches, 1);
	print_ratio(ratio(cost->switches, of->switches));
	putchar('\n');
}

/*
 * Is @with faster in nearly all rounds, or in nearly none?  Otherwise the difference is noise: the
 * sign test, two-sided.  From 11 rounds on, all of them are enough.
 */
static bool is_clear(const struct measurement *with, const struct measurement *base, long rounds)
{
	long less = 0, more = 0, few, n;
	double chance = 0, of_few = 2;

	for (long i = 0; i < rounds; i++) {
		less += with->cpu[i] < base->cpu[i];
		more += with->cpu[i] > base->cpu[i];
	}
	n = less + more;
	few = less < more ? less : more;
	for (long i = 0; i < n; i++)
		of_few /= 2;
	for (long i = 0; i <= few; i++) {
		chance += of_few;
		of_few *= (double)(n - i) / (double)(i + 1);
	}
	return chance < BY_CHANCE;
}

static void print_saving(double share, const char *unit)
{
	if (share < 1 - SAME)
		printf("\nThe scripts save %.0f %% of the %s.\n", 100 * (1 - share), unit);
	else if (share <= 1 + SAME)
		printf("\nThe scripts make no difference in %s.\n", unit);
	else
		printf("\nThe scripts take %.0f %% more %s: not worth it here.\n", 100 * (share - 1),
		       unit);
}

static bool same_output(const struct measurement *a, const struct measurement *b)
{
	return a->len == b->len && !memcmp(a->output, b->output, a->len);
}

static void print_time(const struct measurement *base, const struct measurement *with, long rounds)
{
	if (is_clear(with, base, rounds))
		print_saving(ratio(with->cost.cpu, base->cost.cpu), "processor time");
	else
		puts("\nNo clear difference in processor time: rounds differ by more (--rounds).");
}

/*
 * More instructions for fewer mode switches: the time of a switch decides, which an emulated
 * processor does not have.
 */
static void print_exchange(const struct cost *base, const struct cost *with)
{
	printf("\nThe scripts take %.0f %% more instructions for %.0f %% fewer mode switches: worth it\n"
	       "where a mode switch takes as long as %.0f instructions, or longer.\n",
	       100 * (ratio(with->instructions, base->instructions) - 1),
	       100 * (1 - ratio(with->switches, base->switches)),
	       (with->instructions - base->instructions) / (base->switches - with->switches));
}

/* Explains the ratios and their limits. */
static void print_verdict(const struct measurement *base, const struct measurement *with,
			  const struct options *options)
{
	double share = ratio(with->cost.instructions, base->cost.instructions);
	bool takes_more = share > 1 + SAME;
	bool saves_switches = with->cost.switches >= 0 &&
			      with->cost.switches < base->cost.switches;

	if (base->cost.instructions < 0 || (takes_more && !options->icount))
		print_time(base, with, options->rounds);
	else if (takes_more && saves_switches)
		print_exchange(&base->cost, &with->cost);
	else
		print_saving(share, "instructions");
	if (saves_switches && share >= 0 && !takes_more)
		puts("A mode switch costs a real processor more than its instructions: expect more.");
	if (!with->cost.calls)
		puts("No script was called in the kernel.");
	if (base->cost.instructions < 0)
		puts("Instructions are not known: there are no counters for them here, or\n"
		     "kernel.perf_event_paranoid keeps this user from them.");
	if (base->cost.switches < 0)
		puts("Mode switches are counted for root only: sudo syscript measure ...");
	if (!same_output(base, with))
		puts("The two write different output.");
}

static void print_table(const struct measurement *base, const struct measurement *with,
			const struct options *options)
{
	printf("%-24s  %14s  %5s  %14s  %5s\n", "",
	       base->cost.instructions >= 0 ? "instructions" : "CPU us", "ratio",
	       "mode switches", "ratio");
	print_row(base, base);
	print_row(with, base);
	print_verdict(base, with, options);
}

/* -- JSON -------------------------------------------------------------------- */

static void print_field(const char *name, double value)
{
	printf(", \"%s\": ", name);
	if (value < 0)
		printf("null");
	else
		printf("%.10g", value);
}

static void print_object(const char *name, const struct measurement *m)
{
	printf("\"%s\": {\"command\": [", name);
	for (int i = 0; m->command.argv[i]; i++) {
		printf(i ? ", " : "");
		json_string(stdout, m->command.argv[i]);
	}
	printf("], \"backend\": ");
	json_string(stdout, m->command.backend ?: "auto");
	print_field("instructions", m->cost.instructions);
	print_field("cpu_ns", m->cost.cpu);
	print_field("mode_switches", m->cost.switches);
	print_field("script_calls", m->cost.calls);
	putchar('}');
}

static void print_json(const struct measurement *base, const struct measurement *with)
{
	printf("{");
	print_object("baseline", base);
	printf(",\n ");
	print_object("scripts", with);
	printf(",\n \"ratio\": {\"cpu_ns\": %.4f", ratio(with->cost.cpu, base->cost.cpu));
	print_field("instructions", ratio(with->cost.instructions, base->cost.instructions));
	print_field("mode_switches", ratio(with->cost.switches, base->cost.switches));
	printf("},\n \"same_output\": %s}\n",
	       same_output(base, with) ? "true" : "false");
}

/* -- Command line -------------------------------------------------------------- */

/* The number in the environment variable @name, or 0: ids of the user who called sudo. */
static unsigned int caller(const char *name)
{
	const char *text = getenv(name);

	return text ? (unsigned int)strtoul(text, NULL, 10) : 0;
}

static void set_up(struct measurement *m, const char *label, char **argv, const char *backend)
{
	m->label = label;
	m->command.argv = argv;
	m->command.backend = backend;
	m->command.uid = caller("SUDO_UID");
	m->command.gid = caller("SUDO_GID");
}

static int measure_here(const struct options *options)
{
	struct measurement *base = calloc(2, sizeof(*base)), *with = base + 1;
	const char *kernel = options->here ? NULL : "kernel";
	int status;

	if (!base)
		return complain("no memory");
	if (options->baseline) {
		set_up(base, options->baseline[0], options->baseline, NULL);
		set_up(with, options->command[0], options->command, kernel);
	} else {
		set_up(base, "scripts in user space", options->command, "user");
		set_up(with, "scripts in the kernel", options->command, kernel);
	}
	status = measure(base, with, options);
	if (!status)
		options->json ? print_json(base, with) : print_table(base, with, options);
	free(base->output);
	free(with->output);
	free(base);
	return status;
}

/* In the source tree this program is build/syscript. */
static int measure_in_guest(char **argv, const char *why)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("/../../vm/measure"));

	if (n < 0)
		return complain("cannot find out where this program is: %s", strerror(errno));
	path[n] = '\0';
	*strrchr(path, '/') = '\0';
	strcat(path, "/../vm/measure");
	if (access(path, X_OK))
		return complain("%s, and only the source tree's build/syscript can measure in a guest: 'syscript doctor' says what is missing here",
				why);
	argv[0] = path;
	execv(path, argv);
	return complain("cannot run %s: %s", path, strerror(errno));
}

/* The words between --baseline and "--" are the baseline's. Returns 0 or EXIT_USAGE. */
static int split_baseline(struct options *options, char **argv)
{
	char **end = argv;

	while (*end && strcmp(*end, "--"))
		end++;
	if (!*end || end == argv)
		return complain_usage("measure", "--baseline takes a command that ends with '--'");
	*end = NULL;
	options->baseline = argv;
	options->command = end + 1;
	return 0;
}

static int parse_rounds(struct options *options, const char *text)
{
	char *end;

	options->rounds = strtol(text, &end, 10);
	if (*end || options->rounds < 1 || options->rounds > ROUNDS_MAX)
		return complain_usage("measure", "invalid number of rounds '%s': 1 to %d", text,
				      ROUNDS_MAX);
	return 0;
}

/* Returns 0, EXIT_USAGE, or -1 after --help. */
static int parse(struct options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "baseline", no_argument, NULL, 'b' }, { "rounds", required_argument, NULL, 'r' },
		{ "guest", no_argument, NULL, 'g' },	{ "here", no_argument, NULL, 'H' },
		{ "icount", no_argument, NULL, 'i' },	{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },	{ 0 },
	};
	int c, status = 0;

	while (!status && (c = getopt_long(argc, argv, "+r:h", longs, NULL)) != -1) {
		switch (c) {
		case 'b':
			return split_baseline(options, argv + optind);
		case 'r':
			status = parse_rounds(options, optarg);
			break;
		case 'g':
			options->guest = true;
			break;
		case 'H':
			options->here = true;
			break;
		case 'i':
			options->icount = true;
			break;
		case 'j':
			options->json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return -1;
		default:
			return complain_usage("measure", "unknown option");
		}
	}
	options->command = argv + optind;
	return status;
}

int cmd_measure(int argc, char **argv)
{
	struct options options = { 0 };
	char **given = calloc(argc + 1, sizeof(*given));
	int status, err;

	if (!given)
		return complain("no memory");
	/* getopt_long() and the end of the baseline modify the array, so a copy is passed on. */
	memcpy(given, argv, argc * sizeof(*given));
	status = parse(&options, argc, argv);
	if (!options.rounds)
		options.rounds = options.icount ? ROUNDS_COUNTED : ROUNDS_TIMED;
	if (!status && !options.command[0])
		status = complain_usage("measure", "no command to measure");
	if (!status) {
		err = syscript_probe(SYSCRIPT_BACKEND_KERNEL);
		if (options.guest || (err && !options.here))
			status = measure_in_guest(given, syscript_strerror(err));
		else
			status = measure_here(&options);
	}
	free(given);
	return status < 0 ? 0 : status;
}
