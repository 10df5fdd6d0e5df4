// SPDX-License-Identifier: GPL-2.0
/*
 * Implements codemap.h: writes each program's machine code as lines of /proc/kallsyms, when
 * debugfs is read.
 */
#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "codemap.h"
#include "program.h"
#include "script.h"

static struct dentry *directory;

struct whose {
	struct seq_file *m;
	const struct program *program;
};

/* The name is chosen by the user: it must not pass for another symbol. */
static void codemap_show_name(struct seq_file *m, const struct program *program, int line)
{
	seq_printf(m, "%s:", program->engine->name);
	for (const char *c = program->name; *c; c++)
		seq_putc(m, isascii(*c) && isgraph(*c) ? *c : '_');
	if (line)
		seq_printf(m, ":%d", line);
}

/*
 * A symbol's size reaches to the next one. Of two symbols at one address, perf takes the global
 * one.
 */
static void show_piece(void *arg, unsigned long start, unsigned long end, int line)
{
	const struct whose *whose = arg;

	seq_printf(whose->m, "%lx T ", start);
	codemap_show_name(whose->m, whose->program, line);
	seq_printf(whose->m, "\t[" KBUILD_MODNAME "]\n%lx t free_code\t[" KBUILD_MODNAME "]\n",
		   end);
}

static void show_program(struct program *program, void *m)
{
	struct whose whose = { m, program };

	program_code(program, show_piece, &whose);
}

/* The output is bounded: all machine code lies in an area of fixed size. */
static int codemap_show(struct seq_file *m, void *unused)
{
	return script_each(show_program, m);
}

/* Kernel addresses need CAP_SYSLOG, as in /proc/kallsyms where kptr_restrict is 1. */
static int codemap_open(struct inode *inode, struct file *file)
{
	return capable(CAP_SYSLOG) ? single_open(file, codemap_show, NULL) : -EPERM;
}

static const struct file_operations symbols_fops = {
	.owner = THIS_MODULE,
	.open = codemap_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

void codemap_init(void)
{
	directory = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("symbols", 0400, directory, NULL, &symbols_fops);
}

void codemap_exit(void)
{
	debugfs_remove_recursive(directory);
}
