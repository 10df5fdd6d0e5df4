// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements modules.h.
 *
 * A script has no files: what it requires must be in its text before an engine sees it, and errors
 * must still name the file and line where they are. So each module that the texts name, as in
 * require("parse.line"), becomes a string in front of the script's first line, and require() gives
 * it to load() with its path. All engines have load(), and functions that it makes are compiled as
 * the script's own.
 *
 * Names are looked for without parsing: a name in a comment includes its module, too, if there is
 * one. A module that no text names in this way is an error when it is required.
 */
#include <ctype.h>
#include <errno.h>
#include <linux/limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "modules.h"
#include "syscript.h"
#include "user/sys.h"

#define NAME_LEN	128

/*
 * Like Lua 5.1's: a module's value is what its chunk returns, or true, and kept. As one line in
 * front of the script, with the folder and a table of { path, text } by name as arguments.
 */
static const char require_lua[] =
	"require = (function(folder, texts) "
	"local loaded, loading = {}, {} "
	"return function(name) "
	"local value = loaded[name] "
	"if value ~= nil then return value end "
	"local text = texts[name] "
	"if not text then error(\"module '\" .. tostring(name) .. \"' not found: there is no such "
	"file in '\" .. folder .. \"', or no text names it as require(\\\"name\\\")\", 2) end "
	"if loading[name] then error(\"module '\" .. name .. \"' requires itself\", 2) end "
	"loading[name] = true "
	"local chunk, why = load(text[2], text[1]) "
	"if not chunk then error(why, 0) end "
	"value = chunk(name) "
	"if value == nil then value = true end "
	"loaded[name], texts[name] = value, nil "
	"return value end end)";

struct module {
	struct module *next;
	char name[NAME_LEN];
	char *text;
	size_t len;
};

/* -- Names ------------------------------------------------------------------------------ */

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* A name of words between points: none leads out of the folder. */
static bool is_name(const char *name, size_t len)
{
	if (!len || len >= NAME_LEN || name[0] == '.' || name[len - 1] == '.')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_of_name(name[i]) || (name[i] == '.' && name[i - 1] == '.'))
			return false;
	}
	return true;
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && isspace((unsigned char)*p))
		p++;
	return p;
}

/* The length of the name that is required at @p, after "require", and its begin in @name. */
static size_t named_at(const char *p, const char *end, const char **name)
{
	char quote;

	p = skip_blanks(p, end);
	if (p < end && *p == '(')
		p = skip_blanks(p + 1, end);
	if (p == end || (*p != '"' && *p != '\''))
		return 0;
	quote = *p++;
	*name = p;
	while (p < end && is_of_name(*p))
		p++;
	return p < end && *p == quote && is_name(*name, p - *name) ? p - *name : 0;
}

/* -- Files ------------------------------------------------------------------------------ */

static int path_of(char *path, const char *folder, const char *name)
{
	int len = snprintf(path, PATH_MAX, "%s/", folder);

	if (len + strlen(name) + sizeof(".lua") > PATH_MAX)
		return -ENAMETOOLONG;
	for (path += len; *name; name++)
		*path++ = *name == '.' ? '/' : *name;
	strcpy(path, ".lua");
	return 0;
}

static int read_all(struct module *module, int fd)
{
	struct stat st;
	long n = sys_call(fstat, fd, &st);

	if (n < 0)
		return n;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > SYSCRIPT_IMAGE_MAX)
		return -E2BIG;
	module->text = malloc(st.st_size + 1);
	if (!module->text)
		return -ENOMEM;
	while ((off_t)module->len < st.st_size) {
		n = sys_call(read, fd, module->text + module->len, st.st_size - module->len);
		if (n <= 0)
			return n;
		module->len += n;
	}
	return 0;
}

static int read_module(struct module *module, const char *folder)
{
	char path[PATH_MAX];
	int err = path_of(path, folder, module->name), fd;

	if (err)
		return err;
	fd = sys_open_to_read(path);
	if (fd < 0)
		return fd;
	err = read_all(module, fd);
	sys_call(close, fd);
	return err;
}

/* -- The modules that texts name -------------------------------------------------------- */

static void free_modules(struct module *all)
{
	while (all) {
		struct module *next = all->next;

		free(all->text);
		free(all);
		all = next;
	}
}

static bool is_known(const struct module *all, const char *name, size_t len)
{
	while (all && (strlen(all->name) != len || memcmp(all->name, name, len)))
		all = all->next;
	return all;
}

/* Appends a module to the list that ends at @last, unless it has no file. */
static int append(struct module **last, const char *name, size_t len, const char *folder,
		  char *error, size_t error_len)
{
	struct module *module = calloc(1, sizeof(*module));
	int err;

	if (!module)
		return -ENOMEM;
	memcpy(module->name, name, len);
	err = read_module(module, folder);
	if (!err) {
		*last = module;
		return 0;
	}
	if (err != -ENOENT && err != -ENOTDIR)
		snprintf(error, error_len, "module '%s' of '%s': %s", module->name, folder,
			 err == -E2BIG ? "longer than a script may be" : strerrordesc_np(-err));
	free_modules(module);
	return err == -ENOENT || err == -ENOTDIR ? 0 : err;
}

/* Appends the modules that the text at @p names and that are not yet in the list @all. */
static int collect(struct module **all, const char *p, size_t len, const char *folder,
		   char *error, size_t error_len)
{
	static const char word[] = "require";
	const char *end = p + len, *name;
	struct module **last = all;
	int err = 0;

	while (!err && (p = memmem(p, end - p, word, sizeof(word) - 1))) {
		p += sizeof(word) - 1;
		len = named_at(p, end, &name);
		while (*last)
			last = &(*last)->next;
		if (len && !is_known(*all, name, len))
			err = append(last, name, len, folder, error, error_len);
	}
	return err;
}

static int collect_all(struct module **all, const char *source, size_t len, const char *folder,
		       char *error, size_t error_len)
{
	int err = collect(all, source, len, folder, error, error_len);

	for (struct module *module = *all; module && !err; module = module->next)
		err = collect(all, module->text, module->len, folder, error, error_len);
	return err;
}

/* -- The text --------------------------------------------------------------------------- */

static void put_string(FILE *out, const char *text, size_t len)
{
	putc('"', out);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = text[i];

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < ' ' || c == 127)
			fprintf(out, "\\%03d", c);
		else
			putc(c, out);
	}
	putc('"', out);
}

static void put_module(FILE *out, const struct module *module, const char *folder)
{
	char path[1 + PATH_MAX] = "@";

	/* The file was read by this path. */
	path_of(path + 1, folder, module->name);
	fputs("[", out);
	put_string(out, module->name, strlen(module->name));
	fputs("]={", out);
	put_string(out, path, strlen(path));
	fputs(",", out);
	put_string(out, module->text, module->len);
	fputs("},", out);
}

static void put_modules(FILE *out, const struct module *all, const char *folder)
{
	fputs(require_lua, out);
	fputs("(", out);
	put_string(out, folder, strlen(folder));
	fputs(",{", out);
	for (; all; all = all->next)
		put_module(out, all, folder);
	fputs("}) ", out);
}

/* The length of a first line such as #!/usr/bin/env, which Lua skips. */
static size_t skipped(const char *source, size_t len)
{
	const char *end = len && *source == '#' ? memchr(source, '\n', len) : NULL;

	return end ? end + 1 - source : 0;
}

static int put_all(char **text, size_t *text_len, const char *source, size_t len,
		   const struct module *all, const char *folder)
{
	size_t first = skipped(source, len);
	FILE *out = open_memstream(text, text_len);

	if (!out)
		return -ENOMEM;
	fwrite(source, 1, first, out);
	put_modules(out, all, folder);
	fwrite(source + first, 1, len - first, out);
	if (!fclose(out))
		return 0;
	free(*text);
	*text = NULL;
	return -ENOMEM;
}

int modules_compile_in(char **text, size_t *text_len, const char *source, size_t len,
		       const char *folder, char *error, size_t error_len)
{
	struct module *all = NULL;
	int err = collect_all(&all, source, len, folder, error, error_len) ?:
		  put_all(text, text_len, source, len, all, folder);

	free_modules(all);
	if (err || *text_len <= SYSCRIPT_IMAGE_MAX)
		return err;
	free(*text);
	*text = NULL;
	snprintf(error, error_len, "the script and its modules are %zu bytes, over %d", *text_len,
		 SYSCRIPT_IMAGE_MAX);
	return -E2BIG;
}
