// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript net: a network namespace with a device for net.frames(). */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "netns.h"

#define DEVICE		"frames0"	/* inside, in all of them: how they are known, too */
#define NAMES		"/run/netns"
#define NAME_LEN	15		/* maximum length of a device's name */
#define PORTS		8
#define SOCKET_FD	3

/* The namespace of a veth pair's other end, and that end's address. */
#define CLIENT		"client0"
#define CLIENT_ADDRESS	"10.87.0.1/24"
#define FRAMES_ADDRESS	"10.87.0.2"
#define FRAMES_MAC	"02:00:0a:57:00:02"

/**
 * struct setup - the options of the command line
 * @name:    name of the namespace; NULL: an unnamed one for the command
 * @macvlan: device below a macvlan; NULL: a veth pair
 * @address: the stack's address in the namespace, with a prefix length; NULL: no stack
 * @outside: address of the veth's end outside the namespace, or NULL
 * @ports:   UDP ports that the stack does not see, if it has an @address
 * @socket:  the command gets a packet socket
 * @command: NULL: none
 */
struct setup {
	const char *name, *macvlan, *address, *outside;
	unsigned int ports[PORTS], nports;
	bool socket;
	char **command;
};

/* -- The command line ---------------------------------------------------------- */

static const char help[] =
	"Usage: syscript net setup [OPTION...] [NAME] [-- COMMAND [ARGUMENT...]]\n"
	"       syscript net show [--json]\n"
	"       syscript net undo NAME\n"
	"Makes a network namespace with a device, " DEVICE ", whose frames a script answers\n"
	"(net.frames, see syscript(7)).  Without NAME it needs no root, and ends with the\n"
	"command or shell that runs in it; there " CLIENT ", " CLIENT_ADDRESS ", is the other\n"
	"end of a pair, and reaches " FRAMES_ADDRESS ".\n\n"
	"      --macvlan DEVICE   as root: on that device, in place of a veth pair whose\n"
	"                         other end, NAME, stays here\n"
	"      --address A/LEN    the stack's address on " DEVICE ": it answers ARP, pings and all\n"
	"                         ports except --port; without, it sees nothing\n"
	"      --outside A/LEN    the address of the pair's other end\n"
	"      --port N           UDP port that the stack does not see; up to 8\n"
	"      --socket           descriptor 3 of the command is a packet socket on " DEVICE "\n"
	"      --print            print the commands of ip(8) and tc(8), run none\n"
	"      --json             of show: print JSON\n"
	"      --help             print this\n";

static int usage(const char *text)
{
	return complain_usage("net", "%s", text);
}

/* Is it a valid name of a device, and no option of ip(8)? */
static bool is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-.";
	size_t len = strspn(name, letters);

	return len && len <= NAME_LEN && !name[len] && name[0] != '-' && name[0] != '.';
}

/* Is it an IPv4 or IPv6 address with a prefix length? */
static bool is_address(const char *text)
{
	char address[INET6_ADDRSTRLEN + 1] = "", *slash, *end;
	struct in6_addr binary;
	unsigned long len;

	if (strlen(text) >= sizeof(address) + 4 || !(slash = strchr(text, '/')) ||
	    slash - text >= (int)sizeof(address))
		return false;
	memcpy(address, text, slash - text);
	len = strtoul(slash + 1, &end, 10);
	if (end == slash + 1 || *end || slash[1] == '-')
		return false;
	if (inet_pton(AF_INET, address, &binary) == 1)
		return len <= 32;
	return inet_pton(AF_INET6, address, &binary) == 1 && len <= 128;
}

static int add_port(struct setup *setup, const char *text)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	if (end == text || *end || !port || port > 65535)
		return usage("a port is a number from 1 to 65535");
	if (setup->nports == PORTS)
		return usage("up to 8 ports");
	setup->ports[setup->nports++] = port;
	return 0;
}

static int parse_option(struct setup *setup, int option)
{
	switch (option) {
	case 'm':
		setup->macvlan = optarg;
		return is_name(optarg) ? 0 : usage("--macvlan takes the name of a device");
	case 'a':
		setup->address = optarg;
		return is_address(optarg) ? 0 : usage("an address is like 10.0.0.2/24");
	case 'o':
		setup->outside = optarg;
		return is_address(optarg) ? 0 : usage("an address is like 10.0.0.1/24");
	case 'p':
		return add_port(setup, optarg);
	case 's':
		setup->socket = true;
		return 0;
	case 'n':
		netns_print = true;
		return 0;
	case 'h':
		fputs(help, stdout);
		return -1;
	}
	return usage("unknown or incomplete option");
}

static int parse_rest(struct setup *setup, int argc, char **argv)
{
	if (optind < argc && strcmp(argv[optind - 1], "--")) {
		setup->name = argv[optind++];
		if (!is_name(setup->name))
			return usage("a name has up to 15 letters, digits, '_', '-' and '.'");
		if (optind < argc && strcmp(argv[optind++], "--"))
			return usage("a command comes after '--'");
	}
	setup->command = optind < argc ? argv + optind : NULL;
	if (!setup->name && (setup->macvlan || setup->address || setup->outside))
		return usage("--macvlan, --address and --outside need a NAME");
	if (setup->macvlan && setup->outside)
		return usage("--outside is for a pair: a macvlan has no other end");
	if (setup->socket && setup->name && !setup->command)
		return usage("--socket needs a command");
	if (setup->nports && !setup->address)
		return usage("--port needs --address: without it the stack sees nothing");
	return 0;
}

static int parse(struct setup *setup, int argc, char **argv)
{
	static const struct option options[] = {
		{ "macvlan", required_argument, NULL, 'm' },
		{ "address", required_argument, NULL, 'a' },
		{ "outside", required_argument, NULL, 'o' },
		{ "port", required_argument, NULL, 'p' },
		{ "socket", no_argument, NULL, 's' },
		{ "print", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int option, err;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		err = parse_option(setup, option);
		if (err)
			return err;
	}
	return parse_rest(setup, argc, argv);
}

/* -- Setting up ---------------------------------------------------------------- */

#define ADD_FILTER	"filter add dev " DEVICE " parent ffff: protocol"

/* Drops frames before the stack; it has no address here, so this only saves it work. */
static void keep_all_from_stack(const char *in)
{
	if (!netns_run("tc %sqdisc add dev " DEVICE " ingress", in) ||
	    !netns_run("tc %s" ADD_FILTER " all u32 match u32 0 0 action drop", in))
		complain("without this filter the stack looks at each frame, too: it works, but costs "
			 "more");
}

/* Keeps the script's ports from the stack; packet sockets see frames before the filter. */
static bool keep_ports_from_stack(const struct setup *setup)
{
	const char *name = setup->name;

	if (!setup->nports)
		return true;
	if (!netns_run("tc -n %s qdisc add dev " DEVICE " ingress", name))
		return false;
	for (unsigned int i = 0; i < setup->nports; i++) {
		/*
		 * Fragments and packets with options go to the stack: net.frames() does not parse
		 * them.
		 */
		if (!netns_run("tc -n %s " ADD_FILTER " ip prio 1 u32 match u8 0x45 0xff at 0 match "
			       "ip protocol 17 0xff match u16 0 0x3fff at 6 match ip dport %u 0xffff "
			       "action drop", name, setup->ports[i]) ||
		    !netns_run("tc -n %s " ADD_FILTER " ipv6 prio 2 u32 match ip6 protocol 17 0xff "
			       "match ip6 dport %u 0xffff action drop", name, setup->ports[i]))
			return false;
	}
	return true;
}

static bool make_device(const struct setup *setup)
{
	if (setup->macvlan)
		return netns_run("ip link add link %s name " DEVICE " netns %s type macvlan mode bridge",
				 setup->macvlan, setup->name);
	return netns_run("ip link add name %s type veth peer name " DEVICE " netns %s",
			 setup->name, setup->name) &&
		(!setup->outside || netns_run("ip address add %s dev %s", setup->outside,
					      setup->name)) &&
		netns_run("ip link set %s up", setup->name);
}

static bool fill_named(const struct setup *setup)
{
	char in[32];

	if (!make_device(setup) || !netns_run("ip -n %s link set lo up", setup->name))
		return false;
	if (setup->address) {
		if (!netns_run("ip -n %s address add %s dev " DEVICE, setup->name,
			       setup->address) || !keep_ports_from_stack(setup))
			return false;
	} else {
		snprintf(in, sizeof(in), "-n %s ", setup->name);
		keep_all_from_stack(in);
	}
	return netns_run("ip -n %s link set " DEVICE " up", setup->name);
}

static int setup_named(const struct setup *setup)
{
	if (geteuid() && !netns_print)
		return complain("a namespace with a NAME needs root");
	if (!netns_run("ip netns add %s", setup->name))
		return complain("cannot make %s: see 'ip netns' and 'syscript net show'",
				setup->name);
	if (fill_named(setup))
		return 0;
	netns_ask("ip link del %s", setup->name);
	netns_run("ip netns del %s", setup->name);
	return complain("%s is removed again", setup->name);
}

static bool fill_own(void)
{
	return netns_run("ip link add name " CLIENT " type veth peer name " DEVICE " address "
			 FRAMES_MAC) &&
		netns_run("ip address add " CLIENT_ADDRESS " dev " CLIENT) &&
		netns_run("ip link set lo up") &&
		netns_run("ip link set " CLIENT " up") && netns_run("ip link set " DEVICE " up") &&
		netns_run("ip neigh add " FRAMES_ADDRESS " lladdr " FRAMES_MAC " dev " CLIENT);
}

static int setup_own(void)
{
	int err = netns_print ? 0 : netns_unshare();

	if (err)
		return err;
	if (!fill_own())
		return complain("the namespace is removed again");
	keep_all_from_stack("");
	return 0;
}

static int start(const struct setup *setup)
{
	char *shell[] = { getenv("SHELL") ?: "/bin/sh", NULL };
	char **command = setup->command ? setup->command : shell;
	int err = setup->name ? netns_enter(setup->name) : 0;

	if (!err && setup->socket)
		err = netns_packet_socket(DEVICE, SOCKET_FD);
	if (err)
		return err;
	execvp(command[0], command);
	complain("%s: %s", command[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

static int setup(int argc, char **argv)
{
	struct setup setup = { };
	int err = parse(&setup, argc, argv);

	if (err)
		return err < 0 ? 0 : err;
	err = setup.name ? setup_named(&setup) : setup_own();
	if (err || netns_print)
		return err;
	if (setup.command || !setup.name)
		return start(&setup);
	printf("%s has " DEVICE " now.\n"
	       "  ip netns exec %s COMMAND    runs a command there\n"
	       "  syscript net undo %s        removes it\n", setup.name, setup.name, setup.name);
	return 0;
}

/* -- Showing and undoing ------------------------------------------------------- */

static bool is_ours(const char *name)
{
	return is_name(name) && netns_ask("ip -n %s link show dev " DEVICE, name);
}

static void show_one(const char *name, bool json, bool first)
{
	const char *as = json ? "-j" : "-c=never";

	if (!json) {
		printf("%s%s:\n", first ? "" : "\n", name);
		netns_run("ip %s -br -n %s address show dev " DEVICE, as, name);
		netns_run("tc -s -n %s filter show dev " DEVICE " parent ffff:", name);
		return;
	}
	printf("%s\n{\"name\": ", first ? "" : ",");
	json_string(stdout, name);
	fputs(", \"device\": ", stdout);
	netns_run("ip -j -d -n %s address show dev " DEVICE, name);
	fputs(", \"filters\": ", stdout);
	netns_run("tc -j -s -n %s filter show dev " DEVICE " parent ffff:", name);
	fputs("}", stdout);
}

static int show_namespace(int argc, char **argv)
{
	bool json = false, first = true;
	struct dirent *entry;
	DIR *dir;
	int err;

	argv[0] = "net";
	err = parse_json(argc, argv, help, &json);
	if (err)
		return err < 0 ? 0 : err;
	if (geteuid())
		return complain("only root can look into other namespaces");
	if (json)
		fputs("[", stdout);
	dir = opendir(NAMES);
	while (dir && (entry = readdir(dir))) {
		if (!is_ours(entry->d_name))
			continue;
		show_one(entry->d_name, json, first);
		first = false;
	}
	if (dir)
		closedir(dir);
	if (json)
		puts("]");
	else if (first)
		puts("There are none; 'syscript net setup NAME' makes one.");
	return 0;
}

static int undo(int argc, char **argv)
{
	if (argc != 2)
		return usage("the name of a namespace is missing");
	if (geteuid())
		return complain("removing a namespace needs root");
	if (!is_ours(argv[1]))
		return complain("no namespace '%s': 'syscript net show' lists them", argv[1]);
	/* Processes still running in the namespace keep it, but lose the device. */
	if (!netns_run("ip -n %s link del " DEVICE, argv[1]) ||
	    !netns_run("ip netns del %s", argv[1]))
		return complain("%s is still there: see 'ip netns pids %s'", argv[1], argv[1]);
	return 0;
}

int cmd_net(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} commands[] = { { "setup", setup }, { "show", show_namespace }, { "undo", undo } };

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return fputs(help, stdout), 0;
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	}
	return usage("setup, show or undo expected");
}
