/* SPDX-License-Identifier: GPL-2.0 */
/* For examples/embedding/template.c: twice the number, by its library. */
long template_times(long a, long b);

long call(const long *number)
{
	return template_times(*number, 2);
}
