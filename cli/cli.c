// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <syscript.h>
#include <unistd.h>

#include "cli.h"

int complain(const char *format, ...)
{
	va_list args;

	/* The script's output comes first. */
	fflush(stdout);
	fputs("syscript: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return EXIT_USAGE;
}

int complain_usage(const char *command, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "syscript %s: ", command);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": see 'syscript %s --help'\n", command);
	return EXIT_USAGE;
}

int parse_json(int argc, char **argv, const char *help, bool *json)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	const char *command = argv[0];
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return -1;
		}
		if (option != 'j')
			return complain_usage(command, "unknown option");
		*json = true;
	}
	return optind == argc ? 0 : complain_usage(command, "unexpected argument '%s'", argv[optind]);
}

static char *read_fd(int fd, const char *path, size_t *len)
{
	/* One byte more than a script may have, to see that it is too long. */
	size_t max = SYSCRIPT_IMAGE_MAX + 1;
	char *text = malloc(max + 1);
	ssize_t got;

	*len = 0;
	if (!text) {
		complain("no memory to read %s", path);
		return NULL;
	}
	while (*len < max) {
		got = read(fd, text + *len, max - *len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			complain("cannot read %s: %s", path, strerror(errno));
			free(text);
			return NULL;
		}
		if (!got)
			break;
		*len += got;
	}
	text[*len] = '\0';
	return text;
}

char *read_file(const char *path, size_t *len)
{
	char *text;
	int fd;

	if (!strcmp(path, "-"))
		return read_fd(STDIN_FILENO, "standard input", len);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		complain("cannot open %s: %s", path, strerror(errno));
		return NULL;
	}
	text = read_fd(fd, path, len);
	close(fd);
	return text;
}

void script_name(const char *path, char *name, size_t size)
{
	const char *slash = strrchr(path, '/');

	if (!strcmp(path, "-"))
		path = "stdin";
	snprintf(name, size, "%s", slash ? slash + 1 : path);
	for (; *name; name++) {
		if (*name < ' ' || *name > '~')
			*name = '?';
	}
}

void json_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if ((unsigned char)*text < ' ')
			fprintf(out, "\\u%04x", *text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}
