// SPDX-License-Identifier: GPL-2.0
/* Code that cannot be in a segment; each line has cosy-cc's message about it. */
#include <cosy.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct conn {
	int fd;
	char *buf;
	long n;
};

int elsewhere;
static __thread int own;
int unknown(int n);

static int known(struct conn *c)
{
	return c->n;	/* ERROR 'c' may point outside the shared buffer */
}

static double area(double r)
{
	return r * 3;	/* ERROR floating point in a segment */
}

static int sum(int n, ...)
{	/* ERROR sum() has variable arguments */
	va_list args;

	va_start(args, n);	/* ERROR a function with variable arguments */
	n = va_arg(args, int);
	va_end(args);
	return n;
}

void foreign_pointer(struct conn *c)
{
	COSY_START;
	c->n = read(c->fd, c->buf, 10);	/* ERROR 'c' may point outside the shared buffer */
	COSY_END;
}

void foreign_text(char *text)
{
	COSY_START;
	write(1, text, strlen(text));	/* ERROR 'text' may point outside the shared buffer */
	COSY_END;
}

int foreign_in_function(struct conn *c)
{
	int n;

	COSY_START;
	n = known(c);
	COSY_END;
	return n;
}

int from_malloc(void)
{
	int *p = malloc(sizeof(*p));

	COSY_START;
	*p = 5;		/* ERROR 'malloc()' may point outside the shared buffer */
	COSY_END;
	return *p;
}

void no_such_function(void)
{
	COSY_START;
	printf("hello\n");	/* ERROR printf() cannot be called in a segment */
	COSY_END;
}

int no_source(int n)
{
	COSY_START;
	n = unknown(n);	/* ERROR unknown() cannot be called in a segment */
	COSY_END;
	return n;
}

void variable_of_others(void)
{
	COSY_START;
	elsewhere++;	/* ERROR uses the variable elsewhere, which other files can see */
	if (getpid())
		elsewhere = 0;	/* ERROR uses the variable elsewhere, which other files can see */
	COSY_END;
}

void variable_of_thread(void)
{
	COSY_START;
	own++;		/* ERROR own is of one thread */
	COSY_END;
}

void variable_length(int n)
{
	COSY_START;	/* ERROR an array of variable length */
	char b[n];
	read(0, b, n);
	COSY_END;
}

int floating(int n)
{
	COSY_START;
	n = area(n);	/* ERROR floating point in a segment */
	COSY_END;
	return n;
}

int variadic(int n)
{
	COSY_START;
	n = sum(1, n);
	COSY_END;
	return n;
}

int no_end(int n)
{
	COSY_START;	/* ERROR COSY_START without a COSY_END that it could reach */
	if (n)
		return 1;
	return 2;
}

int pointer_to_function(int (*f)(int))
{
	int n;

	COSY_START;
	n = f(1);	/* ERROR 'f' may lead to a function of the program */
	COSY_END;
	return n;
}

int second_entry(int n)
{
	if (n == 5)
		goto in;
	COSY_START;
	n++;
in:	n += getpid();	/* ERROR control can come here, into the middle of a segment */
	COSY_END;
	return n;
}

void assembler(void)
{
	COSY_START;
	asm volatile("nop");	/* ERROR assembler in a segment */
	COSY_END;
}

unsigned long wide_integers(unsigned long a, unsigned long b)
{
	COSY_START;
	a = (unsigned __int128)a * b >> 64;	/* ERROR an integer of more than 64 bits */
	COSY_END;
	return a;
}

int no_memory(void)
{
	char *p;

	COSY_START;
	p = malloc(5);	/* ERROR malloc() cannot be called in a segment */
	COSY_END;
	return p != NULL;
}

double several(double d)
{
	COSY_START;
	d *= 2;			/* ERROR floating point in a segment */
	if (getpid())
		printf("hello\n");	/* ERROR printf() cannot be called in a segment */
	unknown(1);		/* ERROR unknown() cannot be called in a segment */
	own++;			/* ERROR own is of one thread */
	COSY_END;
	return d;
}

void ends(void)
{
	COSY_START;
	exit(unknown(1));	/* ERROR calls exit(), which does not return: leave the segment first */
	COSY_END;
}

void ends_sometimes(int n)
{
	COSY_START;
	for (;;) {
		if (read(0, &n, sizeof(n)) < 0)
			_exit(1);	/* ERROR calls _exit(), which does not return */
		if (n)
			abort();	/* ERROR calls abort(), which does not return */
	}
	COSY_END;
}

int ends_or_not(int n)
{
	COSY_START;
	if (n < getpid())
		exit(1);	/* ERROR calls exit(), which does not return */
	n++;
	COSY_END;
	return n;
}

long excluded_number(void)
{
	long n;

	COSY_START;
	n = syscall(57);	/* ERROR fork(2) in a segment: the child would come out of */
	n += syscall(SYS_exit_group, 0);	/* ERROR exit_group(2) in a segment: would end the process */
	n += syscall(4000);	/* ERROR system call 4000, which does not exist in a segment */
	COSY_END;
	return n;
}

static inline __attribute__((artificial)) int artificial(int n)
{
	return printf("%d\n", n);	/* ERROR printf() cannot be called in a segment */
}

int calls_artificial(int n)
{
	COSY_START;
	n = artificial(n);
	COSY_END;
	return n;
}
