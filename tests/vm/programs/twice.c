/* SPDX-License-Identifier: GPL-2.0 */
/* For examples/embedding/template.c: doubles the number, by its library function. */
long template_times(long a, long b);

long call(const long *number)
{
	return template_times(*number, 2);
}
