// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The servers of text_server.h. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <syscript.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"
#include "source.h"
#include "text_server.h"

/* -- Receiving, and tables by name ----------------------------------------------------------- */

static struct {
	struct mmsghdr hdr[TEXT_BATCH];
	struct iovec iov[TEXT_BATCH];
	struct sockaddr_in name[TEXT_BATCH];
	char data[TEXT_BATCH][TEXT_ROOM];
} in;

static void receive_open(struct text_server *server)
{
	(void)server;
	for (unsigned int i = 0; i < TEXT_BATCH; i++) {
		in.iov[i] = (struct iovec){ in.data[i], TEXT_ROOM };
		in.hdr[i].msg_hdr = (struct msghdr){ .msg_iov = &in.iov[i], .msg_iovlen = 1 };
	}
}

static void receive(const struct text_server *server)
{
	if (recvmmsg(server->sock, in.hdr, TEXT_BATCH, MSG_DONTWAIT, NULL) != TEXT_BATCH)
		measure_die("%s: recvmmsg: %m, or too few messages", server->name);
}

#define SLOTS	1024	/* a power of two */

struct entry {
	char name[64];
	uint32_t len, hash;
	long count, errors;
	const char *value;
	size_t value_len;
};

struct table {
	struct entry entries[SLOTS];
};

static inline uint32_t hash_step(uint32_t hash, char c)
{
	return (hash ^ (unsigned char)c) * 16777619U;
}

#define HASH_BEGIN	2166136261U

/* The entry of a name; creates one if there is none. */
static struct entry *table_entry(struct table *table, const char *name, uint32_t len,
				 uint32_t hash)
{
	for (uint32_t i = hash;; i++) {
		struct entry *entry = &table->entries[i % SLOTS];

		if (entry->len == len && entry->hash == hash && !memcmp(entry->name, name, len))
			return entry;
		if (!entry->len && len < sizeof(entry->name)) {
			memcpy(entry->name, name, len);
			entry->len = len;
			entry->hash = hash;
			return entry;
		}
	}
}

/* Writes a line for each name, and clears the table. */
static void table_flush(struct table *table, int out, bool errors)
{
	static char text[65536];
	char *to = text;

	for (unsigned int i = 0; i < SLOTS; i++) {
		const struct entry *entry = &table->entries[i];

		if (!entry->len)
			continue;
		to += sprintf(to, "%.*s %ld", (int)entry->len, entry->name, entry->count);
		if (errors)
			to += sprintf(to, " %ld", entry->errors);
		*to++ = '\n';
	}
	memset(table, 0, sizeof(*table));
	if (write(out, text, to - text) != to - text)
		measure_die("flush: %m");
}

/* -- statsd ----------------------------------------------------------------------------------- */

static struct table counts, gauges;

/* Takes one line; returns its end. */
static const char *take_metric(const char *p, const char *end)
{
	const char *name = p;
	uint32_t hash = HASH_BEGIN, len;
	struct entry *entry;
	char *after;
	double value;
	bool negative = false;
	long n = 0;

	for (; p < end && *p != ':' && *p != '\n'; p++)
		hash = hash_step(hash, *p);
	len = p - name;
	if (p == end || *p++ != ':')
		goto malformed;
	if (*p == '-') {
		negative = true;
		p++;
	}
	for (; p < end && isdigit(*p); p++)
		n = n * 10 + *p - '0';
	value = negative ? -n : n;
	if (p < end && *p == '.') {
		value += strtod(p, &after);
		p = after;
	}
	if (end - p < 2 || *p++ != '|')
		goto malformed;
	entry = table_entry(*p == 'g' ? &gauges : &counts, name, len, hash);
	if (*p == 'g')
		entry->count = value;
	else if (*p == 'c' && end - p > 3 && p[1] == '|' && p[2] == '@')
		entry->count += value / strtod(p + 3, NULL);
	else if (*p == 'c')
		entry->count += value;
malformed:
	p = memchr(p, '\n', end - p);
	return p ? p + 1 : end;
}

static void step_statsd(struct text_server *server)
{
	receive(server);
	for (unsigned int i = 0; i < TEXT_BATCH; i++) {
		const char *p = in.data[i], *end = p + in.hdr[i].msg_len;

		while (p < end)
			p = take_metric(p, end);
	}
}

static void flush_statsd(struct text_server *server)
{
	table_flush(&counts, server->out, false);
	table_flush(&gauges, server->out, false);
}

/* -- syslog ----------------------------------------------------------------------------------- */

static struct table messages;

/* Skips non-blank characters, then blanks. */
static const char *next_word(const char *p, const char *end)
{
	while (p < end && *p != ' ')
		p++;
	while (p < end && *p == ' ')
		p++;
	return p;
}

static void take_message(const char *p, const char *end)
{
	uint32_t hash = HASH_BEGIN;
	struct entry *entry;
	unsigned int priority = 0;
	const char *from;

	if (p == end || *p++ != '<')
		return;
	for (; p < end && isdigit(*p); p++)
		priority = priority * 10 + *p - '0';
	if (p == end || *p++ != '>')
		return;
	/* The month, the day, the time. */
	from = next_word(next_word(next_word(p, end), end), end);
	for (p = from; p < end && *p != ' '; p++)
		hash = hash_step(hash, *p);
	if (p < end)
		hash = hash_step(hash, *p++);
	for (; p < end && *p != '[' && *p != ':' && *p != ' '; p++)
		hash = hash_step(hash, *p);
	if (p == end)
		return;
	entry = table_entry(&messages, from, p - from, hash);
	entry->count++;
	entry->errors += priority % 8 < 4;
}

static void step_syslog(struct text_server *server)
{
	receive(server);
	for (unsigned int i = 0; i < TEXT_BATCH; i++)
		take_message(in.data[i], in.data[i] + in.hdr[i].msg_len);
}

static void flush_syslog(struct text_server *server)
{
	table_flush(&messages, server->out, true);
}

/* -- DNS: queries whose answers are kept ------------------------------------------------------- */

#define DNS_HEADER	12
#define DNS_FLAGS	2
#define DNS_KEPT	512

static struct {
	struct mmsghdr hdr[TEXT_BATCH];
	struct iovec iov[TEXT_BATCH];
} out;
/* By question in lower case; and by query from its flags on, as spelt. */
static struct table answers, spelt;

/* The question in lower case, with its hash; its length, or 0 if malformed. */
static uint32_t take_question(const char *text, uint32_t len, char *key, uint32_t *hash)
{
	uint32_t at = DNS_HEADER, label, i, n = 0;

	*hash = HASH_BEGIN;
	if (len < DNS_HEADER + 5 || text[4] || text[5] != 1)
		return 0;
	while ((label = (unsigned char)text[at])) {
		if (label > 63 || at + label + 5 >= len || n + label + 6 > DNS_KEPT)
			return 0;
		for (i = 0; i <= label; i++, at++, n++) {
			key[n] = tolower(text[at]);
			*hash = hash_step(*hash, key[n]);
		}
	}
	for (i = 0; i < 5; i++, at++, n++) {
		key[n] = text[at];
		*hash = hash_step(*hash, key[n]);
	}
	return n;
}

void text_dns_keep(const char *answer, size_t len)
{
	char key[DNS_KEPT];
	uint32_t hash, n = take_question(answer, len, key, &hash);
	struct entry *entry = table_entry(&answers, key, n, hash);

	entry->value = memcpy(malloc(len), answer, len);
	entry->value_len = len;
}

static void open_dns(struct text_server *server)
{
	receive_open(server);
	for (unsigned int i = 0; i < TEXT_BATCH; i++) {
		in.hdr[i].msg_hdr.msg_name = &in.name[i];
		out.hdr[i].msg_hdr.msg_iov = &out.iov[i];
		out.hdr[i].msg_hdr.msg_iovlen = 1;
	}
}

/* The answer to a query in its spelling; NULL if there is none. */
static const struct entry *find_answer(const char *text, uint32_t len)
{
	char key[DNS_KEPT], *value;
	uint32_t hash = HASH_BEGIN, n;
	struct entry *entry;
	const struct entry *kept;

	if (len <= DNS_FLAGS || len - DNS_FLAGS >= sizeof(entry->name))
		return NULL;
	for (n = DNS_FLAGS; n < len; n++)
		hash = hash_step(hash, text[n]);
	entry = table_entry(&spelt, text + DNS_FLAGS, len - DNS_FLAGS, hash);
	if (entry->value)
		return entry;
	n = take_question(text, len, key, &hash);
	if (!n || text[DNS_FLAGS] < 0)
		return NULL;
	kept = table_entry(&answers, key, n, hash);
	if (!kept->value)
		return NULL;
	value = memcpy(malloc(kept->value_len), kept->value, kept->value_len);
	memcpy(value + DNS_HEADER, text + DNS_HEADER, n);
	entry->value = value;
	entry->value_len = kept->value_len;
	return entry;
}

/* Turns query @i into its answer, as message @n. */
static bool answer_query(unsigned int i, unsigned int n)
{
	char *text = in.data[i];
	const struct entry *entry = find_answer(text, in.hdr[i].msg_len);

	if (!entry)
		return false;
	memcpy(text + DNS_FLAGS, entry->value + DNS_FLAGS, entry->value_len - DNS_FLAGS);
	out.iov[n] = (struct iovec){ text, entry->value_len };
	out.hdr[n].msg_hdr.msg_name = &in.name[i];
	out.hdr[n].msg_hdr.msg_namelen = in.hdr[i].msg_hdr.msg_namelen;
	return true;
}

static void step_dns(struct text_server *server)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < TEXT_BATCH; i++)
		in.hdr[i].msg_hdr.msg_namelen = sizeof(in.name[i]);
	receive(server);
	for (unsigned int i = 0; i < TEXT_BATCH; i++)
		n += answer_query(i, n);
	if (sendmmsg(server->sock, out.hdr, n, MSG_DONTWAIT) != TEXT_BATCH)
		measure_die("%s: sendmmsg: %m, or too few replies", server->name);
}

/* -- HTTP -------------------------------------------------------------------------------------- */

#define PAGE(body_len, body) \
	"HTTP/1.1 200 OK\r\nContent-Length: " body_len "\r\n\r\n" body

static const struct {
	const char *path, *response;
} pages[] = {
	{ "/", PAGE("9", "syscript\n") },
	{ "/health", PAGE("3", "ok\n") },
};

static bool is_word(const char *p, const char *end, const char *word)
{
	return (size_t)(end - p) == strlen(word) && !strncasecmp(p, word, end - p);
}

struct head {
	bool host, keep;
	size_t length;
};

/* A header, from its name to the next one; NULL: not a header. */
static const char *take_header(struct head *head, const char *p, const char *end)
{
	const char *colon, *value, *stop;

	for (colon = p; colon < end && (isalnum(*colon) || *colon == '-');)
		colon++;
	if (colon == p || colon == end || *colon != ':')
		return NULL;
	for (value = colon + 1; value < end && (*value == ' ' || *value == '\t');)
		value++;
	stop = memchr(value, '\r', end - value);
	if (!stop || stop + 1 == end || stop[1] != '\n')
		return NULL;
	if (is_word(p, colon, "host"))
		head->host = true;
	else if (is_word(p, colon, "connection"))
		head->keep = !is_word(value, stop, "close");
	else if (is_word(p, colon, "content-length"))
		head->length = strtoul(value, NULL, 10);
	return stop + 2;
}

/* The response to the request in @text. */
static const char *respond(const char *text, const char *end)
{
	const char *path = text + 4, *stop, *p;
	struct head head = { .keep = true };

	if (end - text < 4 || memcmp(text, "GET ", 4))
		return NULL;
	for (stop = path; stop < end && *stop != ' ' && *stop != '?';)
		stop++;
	p = memchr(stop, ' ', end - stop);
	if (!p || end - p < 11 || memcmp(p, " HTTP/1.1\r\n", 11))
		return NULL;
	p += 11;
	while (end - p >= 2 && (p[0] != '\r' || p[1] != '\n')) {
		p = take_header(&head, p, end);
		if (!p)
			return NULL;
	}
	if (!head.host || !head.keep || head.length)
		return NULL;
	for (unsigned int i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		if (is_word(path, stop, pages[i].path))
			return pages[i].response;
	return NULL;
}

static void step_http(struct text_server *server)
{
	struct epoll_event events[TEXT_BATCH];
	const char *response;
	ssize_t n;

	if (epoll_wait(server->sock, events, TEXT_BATCH, 0) != TEXT_BATCH)
		measure_die("%s: epoll_wait: %m, or too few requests", server->name);
	for (unsigned int i = 0; i < TEXT_BATCH; i++) {
		n = recv(events[i].data.fd, in.data[0], TEXT_ROOM, MSG_DONTWAIT);
		response = n > 0 ? respond(in.data[0], in.data[0] + n) : NULL;
		if (!response || send(events[i].data.fd, response, strlen(response),
				      MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			measure_die("%s: a request is not answered: %m", server->name);
	}
}

/* -- Scripts ----------------------------------------------------------------------------------- */

static void open_script(struct text_server *server)
{
	struct source source = source_read(server->script);

	server->fd = source_register(&source, source_backend(), 0, 0, 5000000000ULL);
	free(source.text);
}

static void call_script(struct text_server *server, unsigned int max, int out_fd)
{
	char error[512] = "";
	long n = lua_syscall(server->fd, 4, server->sock, max, 0, out_fd);

	if (n == max)
		return;
	syscript_error(server->fd, error, sizeof(error));
	measure_die("%s gave %ld: %s", server->name, n, error);
}

static void step_receiver(struct text_server *server)
{
	call_script(server, TEXT_BATCH, -1);
}

static void flush_receiver(struct text_server *server)
{
	call_script(server, 0, server->out);
}

/* Its second socket is @out: see text.c. */
static void step_forwarder(struct text_server *server)
{
	long n = lua_syscall(server->fd, 4, server->sock, server->out, TEXT_BATCH, 0);

	if (n < 0)
		measure_die("%s gave %ld", server->name, n);
}

static void step_script_http(struct text_server *server)
{
	long n = lua_syscall(server->fd, 3, server->sock, TEXT_BATCH, 0);

	if (n != TEXT_BATCH)
		measure_die("%s answered %ld", server->name, n);
}

struct text_server text_servers[] = {
	{ .name = "statsd", .script = "examples/text/statsd.lua", .open = open_script,
	  .step = step_receiver, .flush = flush_receiver },
	{ .name = "statsd_mmsg", .open = receive_open, .step = step_statsd,
	  .flush = flush_statsd },
	{ .name = "syslog", .script = "examples/text/syslog.lua", .open = open_script,
	  .step = step_receiver, .flush = flush_receiver },
	{ .name = "syslog_mmsg", .open = receive_open, .step = step_syslog,
	  .flush = flush_syslog },
	{ .name = "dns", .script = "examples/text/dns_forward.lua", .open = open_script,
	  .step = step_forwarder },
	{ .name = "dns_mmsg", .open = open_dns, .step = step_dns },
	{ .name = "http", .script = "examples/text/http_head.lua", .open = open_script,
	  .step = step_script_http },
	{ .name = "http_epoll", .open = receive_open, .step = step_http },
};

const unsigned int text_server_count = sizeof(text_servers) / sizeof(text_servers[0]);
