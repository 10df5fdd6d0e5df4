// SPDX-License-Identifier: GPL-2.0 OR MIT
/* require(): modules of a folder are compiled in, on both engines; errors name their file and line. */
#include <sys/stat.h>

#include "lib_test.h"

static char folder[] = "/tmp/modules-XXXXXX";
static unsigned int engine;

/* Writes a file below the folder. */
static void put(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	CHECK(file);
	CHECK(fputs(text, file) >= 0);
	CHECK(!fclose(file));
}

static struct syscript_options options_of(void)
{
	return (struct syscript_options){
		.size = sizeof(struct syscript_options), .name = "main.lua", .modules = folder,
		.time_limit_ns = 10000000000, .engine = engine,
	};
}

static int load_here(const char *source)
{
	struct syscript_options options = options_of();

	return load_with(source, &options);
}

/* Registering fails with @err, and a message with @text; a @text that begins with / is in @folder. */
static void fails(const char *source, int err, const char *text)
{
	struct syscript_options options = options_of();
	char error[600] = "", expected[300];

	snprintf(expected, sizeof(expected), "%s%s", *text == '/' ? folder : "", text);
	CHECK_EQ(syscript_register(source, strlen(source), &options, error, sizeof(error)), err);
	if (!strstr(error, expected)) {
		fprintf(stderr, "'%s' is not in: %s\n", expected, error);
		exit(1);
	}
}

static void returns(const char *source, long result)
{
	int fd = load_here(source);
	long got = lua_syscall(fd, 0);
	char error[600] = "";

	if (got != result) {
		syscript_error(fd, error, sizeof(error));
		fprintf(stderr, "%s\n%s\n", source, error);
	}
	CHECK_EQ(got, result);
	syscript_close(fd);
}

static void modules(void)
{
	put("add.lua", "local m = {}\nfunction m.add(a, b) return a + b end\nreturn m");
	put("text/words.lua", "local add = require('add').add\n"
	    "local n = select('#', ...)\n"
	    "return function(s) return add(#s, n * 100) end");
	put("nothing.lua", "made = (made or 0) + 1");
	returns("local m = require(\"add\")\nfunction run() return m.add(40, 2) end", 42);
	returns("local words = require 'text.words' function run() return words('abc') end", 103);
	/* A module is loaded once, and is its chunk's value or true. */
	returns("function run() local n = 0 for i = 1, 3 do\n"
		"if require ( \"nothing\" ) == true then n = n + 1 end end return n * 10 + made end", 31);
	returns("#!/usr/bin/env -S syscript run\nlocal m = require('add')\n"
		"function run() return m.add(1, 2) end", 3);
	/* Its name is its argument. */
	put("named.lua", "return ...");
	returns("local name = require('named') function run() return #name end", 5);
}

/* Every byte of a text arrives. */
static void all_bytes(void)
{
	char source[600], *p = source;

	p += sprintf(p, "return \"");
	for (int c = 1; c < 256; c++) {
		if (c == '"' || c == '\\' || c == '\n' || c == '\r')
			*p++ = '\\';
		*p++ = c == '\r' ? 'r' : c;
	}
	strcpy(p, "\"");
	put("bytes.lua", source);
	returns("local s = require('bytes') function run() for i = 1, 255 do\n"
		"if s:byte(i) ~= i then return -i end end return #s end", 255);
}

static void errors(void)
{
	int fd;
	char error[600] = "", expected[100];

	put("broken.lua", "local x = 1\nlocal = 2\n");
	put("late.lua", "local m = {}\n\nfunction m.f() error('too late') end\nreturn m");
	put("one.lua", "return require('two')");
	put("two.lua", "return require('one')");
	fails("require('broken')\nfunction run() end", -ENOEXEC, "/broken.lua:2:");
	fails("\nrequire('missing')\nfunction run() end", -ENOEXEC, "main.lua:2: module 'missing' not found");
	fails("require('one') function run() end", -ENOEXEC, "module 'one' requires itself");
	/* Names that lead out of the folder, or have no word, are no modules. */
	fails("require('../passwd') function run() end", -ENOEXEC, "module '../passwd' not found");
	fails("require('..passwd') function run() end", -ENOEXEC, "module '..passwd' not found");
	fails("require('') function run() end", -ENOEXEC, "module '' not found");
	fails("require('/etc/passwd') function run() end", -ENOEXEC, "not found");
	fails("require() function run() end", -ENOEXEC, "module 'nil' not found");

	/* The script's own lines keep their numbers. */
	fails("local m = require('late')\n\nlocal = 1", -ENOEXEC, "main.lua:3:");
	fd = load_here("local m = require('late')\nfunction run() m.f() end");
	CHECK_EQ(lua_syscall(fd, 0), -EPROTO);
	syscript_error(fd, error, sizeof(error));
	snprintf(expected, sizeof(expected), "%s/late.lua:3: too late", folder);
	CHECK(strstr(error, expected));
	syscript_close(fd);
}

static void other_files(void)
{
	static char big[SYSCRIPT_IMAGE_MAX / 2 + 2];
	char path[256];

	snprintf(path, sizeof(path), "%s/pipe.lua", folder);
	CHECK(!mkfifo(path, 0600));
	fails("require('pipe') function run() end", -EINVAL, "module 'pipe'");
	snprintf(path, sizeof(path), "%s/closed.lua", folder);
	put("closed.lua", "return 1");
	CHECK(!chmod(path, 0));
	if (geteuid())
		fails("require('closed') function run() end", -EACCES, "module 'closed'");
	memset(big, ' ', sizeof(big) - 1);
	put("big.lua", big);
	put("bigger.lua", big);
	fails("require('big') require('bigger') function run() end", -E2BIG, "and its modules are");
}

static void without_a_folder(void)
{
	struct syscript_options options = options_of();
	const char *source = "require('add') function run() end";
	char error[300];

	options.modules = NULL;
	CHECK_EQ(syscript_register(source, strlen(source), &options, error, sizeof(error)), -ENOEXEC);
	CHECK(strstr(error, "require"));
	options = options_of();
	options.modules = "/no/such/folder";
	CHECK_EQ(syscript_register(source, strlen(source), &options, error, sizeof(error)), -ENOEXEC);
	CHECK(strstr(error, "there is no such file in '/no/such/folder'"));
	options.engine = SYSCRIPT_ENGINE_CONFINED;
	CHECK_EQ(syscript_register(source, strlen(source), &options, error, sizeof(error)), -EINVAL);
	CHECK(strstr(error, "modules are for Lua"));
}

int main(void)
{
	static const unsigned int engines[] = { SYSCRIPT_LUA_ON_CONFINED, SYSCRIPT_LUA_ON_LUAJIT };
	char command[64];

	CHECK(mkdtemp(folder));
	snprintf(command, sizeof(command), "%s/text", folder);
	CHECK(!mkdir(command, 0700));
	for (int i = 0; i < 2; i++) {
		engine = engines[i];
		modules();
		all_bytes();
		errors();
		other_files();
		without_a_folder();
		snprintf(command, sizeof(command), "rm -f %s/*.lua", folder);
		CHECK(!system(command));
	}
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK(!system(command));
	return 0;
}
