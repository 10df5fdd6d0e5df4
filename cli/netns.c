// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "netns.h"

#define WORDS_MAX	64
#define LINE_LEN	1024
#define NAMES		"/run/netns/"

extern char **environ;
bool netns_print;

/* -- Commands ------------------------------------------------------------------ */

/* Also finds commands in directories that only root's PATH has. */
static int start(pid_t *pid, const posix_spawn_file_actions_t *actions, char **words)
{
	char path[64];
	int err = posix_spawnp(pid, words[0], actions, NULL, words, environ);

	if (err != ENOENT)
		return err;
	snprintf(path, sizeof(path), "/usr/sbin/%s", words[0]);
	return posix_spawn(pid, path, actions, NULL, words, environ);
}

static bool spawn(char **words, bool quiet)
{
	posix_spawn_file_actions_t actions;
	int err, status;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	for (int fd = 1; quiet && fd <= 2; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
	fflush(stdout);
	err = start(&pid, &actions, words);
	posix_spawn_file_actions_destroy(&actions);
	if (err && !quiet)
		complain("%s: %s: install iproute2", words[0], strerror(err));
	if (err || waitpid(pid, &status, 0) != pid)
		return false;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool run_line(const char *format, va_list args, bool quiet)
{
	char line[LINE_LEN], *words[WORDS_MAX + 1], *rest = line;
	int n = 0;

	if (vsnprintf(line, sizeof(line), format, args) >= (int)sizeof(line))
		return complain("a name is too long"), false;
	if (netns_print && !quiet)
		return puts(line) >= 0;
	while (n < WORDS_MAX && (words[n] = strsep(&rest, " ")))
		n++;
	words[n] = NULL;
	return spawn(words, quiet);
}

bool netns_run(const char *format, ...)
{
	va_list args;
	bool done;

	va_start(args, format);
	done = run_line(format, args, false);
	va_end(args);
	return done;
}

bool netns_ask(const char *format, ...)
{
	va_list args;
	bool done;

	va_start(args, format);
	done = run_line(format, args, true);
	va_end(args);
	return done;
}

/* -- Namespaces ---------------------------------------------------------------- */

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/* Maps the user to root; no other user is mapped. */
static bool map_ids(uid_t uid, gid_t gid)
{
	char users[32], groups[32];

	snprintf(users, sizeof(users), "0 %u 1", uid);
	snprintf(groups, sizeof(groups), "0 %u 1", gid);
	return write_file("/proc/self/setgroups", "deny") &&
		write_file("/proc/self/uid_map", users) && write_file("/proc/self/gid_map", groups);
}

int netns_unshare(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(uid ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET))
		return complain("no network namespace of your own: %s: %s", strerror(errno), uid ?
				"see kernel.unprivileged_userns_clone, or be root" :
				"CAP_SYS_ADMIN is missing");
	if (uid && !map_ids(uid, gid))
		return complain("cannot map your user into a namespace: %s", strerror(errno));
	return 0;
}

int netns_enter(const char *name)
{
	char path[64];
	int fd, err = 0;

	snprintf(path, sizeof(path), NAMES "%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		err = complain("cannot enter %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return err;
}

int netns_packet_socket(const char *device, int fd)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(device),
	};
	int sock = socket(AF_PACKET, SOCK_RAW, 0), one = 1;

	/* Otherwise the kernel would copy each sent frame to the socket. */
	if (sock < 0 || !address.sll_ifindex ||
	    setsockopt(sock, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    bind(sock, (struct sockaddr *)&address, sizeof(address)))
		return complain("no packet socket on %s: %s", device, strerror(errno));
	if (sock != fd && (dup2(sock, fd) != fd || close(sock)))
		return complain("descriptor %d: %s", fd, strerror(errno));
	return 0;
}
