// SPDX-License-Identifier: GPL-2.0
/*
 * IMAGE_CALL_BATCH by images with numbers out of range, whose records are rewritten and unmapped
 * meanwhile, and whose descriptors are closed. Compounds that run natively lack it: COSY_ENGINE
 * must be user or kernel.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <cosy.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../../include/uapi/syscript_image.h"
#include "../../../include/uapi/syscript_image_batch.h"
#include "../../../include/uapi/syscript_files.h"

#define BATCH(op, batch) \
	((long (*)(long, long))IMAGE_CALL_BATCH)(op, (long)(batch))
#define WILD	0xdead000000000000UL
#define ALL	0xfffU

static struct image_batch_files files;
static struct image_batch_file whole;
static struct image_batch_entries entries;
static struct image_batch_import import;
static struct image_batch_messages messages;
static struct image_batch_copy copy;
static struct image_batch_use memory;
static struct image_batch_accept accepts;
static struct mmsghdr hdr[4];
static struct iovec iov[16];
static struct sockaddr_in name[4];
static struct syscript_file file[4];
static char path[16], records[4096], data[4096];
static struct sockaddr_in address;
static int sock, dir, listener, fds[4];

/* -- Set up -------------------------------------------------------------------------- */

static int make_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t len = sizeof(address);

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (void *)&address, len) ||
	    getsockname(fd, (void *)&address, &len) ||
	    connect(fd, (void *)&address, len)) {
		perror("socket");
		exit(1);
	}
	return fd;
}

static int make_listener(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || listen(fd, 4)) {
		perror("listen");
		exit(1);
	}
	return fd;
}

/* Makes a connection wait at the listener. */
static void connect_one(void)
{
	struct sockaddr_in to;
	socklen_t len = sizeof(to);

	if (getsockname(listener, (void *)&to, &len) ||
	    connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&to, len)) {
		perror("connect");
		exit(1);
	}
}

static void reset(void)
{
	strcpy(path, "/proc");
	memset(file, 0, sizeof(file));
	for (int i = 0; i < 4; i++) {
		file[i].path = (unsigned long)path;
		file[i].data = (unsigned long)(records + 512 * i);
		iov[i] = (struct iovec){ data + 64 * i, 64 };
		hdr[i] = (struct mmsghdr){ .msg_hdr = {
			.msg_name = &name[i], .msg_namelen = sizeof(name[i]),
			.msg_iov = &iov[i], .msg_iovlen = 1,
		} };
	}
	files = (struct image_batch_files){ (unsigned long)file, 4, AT_FDCWD, 0, 0, ALL };
	whole = (struct image_batch_file){
		.path = (unsigned long)path, .addr = (unsigned long)records,
		.size = sizeof(records), .dirfd = AT_FDCWD,
	};
	entries = (struct image_batch_entries){
		.fd = dir, .mask = ALL, .max = 3, .to = (unsigned long)records,
		.room = sizeof(records),
	};
	import = (struct image_batch_import){ (unsigned long)hdr, 4, 0 };
	messages = (struct image_batch_messages){ 0, sock, 4, MSG_DONTWAIT, 1 };
	copy = (struct image_batch_copy){ (unsigned long)data, (unsigned long)records, 64 };
	memset(fds, 0, sizeof(fds));
	accepts = (struct image_batch_accept){ (unsigned long)fds, listener, 4, SOCK_CLOEXEC };
}

static long batch(long op, void *at)
{
	long ret;

	COSY_START;
	/* Makes the segment use the variable, so that it is in the arena. */
	data[sizeof(data) - 1] = 1;
	ret = BATCH(op, at);
	COSY_END;
	return ret;
}

static void show(const char *what, long ret)
{
	printf("%s %ld\n", what, ret);
}

/* -- Numbers that are out of range -------------------------------------------------------- */

/* The result of a batch after @statement broke its valid arguments. */
#define TRY(what, statement, op, at) do {	\
	reset();				\
	statement;				\
	show(what, batch(op, at));		\
} while (0)

static void try_files(void)
{
	TRY("files", (void)0, IMAGE_BATCH_STAT, &files);
	show("result", file[3].result);
	TRY("files nowhere", files.files = WILD, IMAGE_BATCH_STAT, &files);
	TRY("files that wrap", files.files = -32UL; files.n = ~0U, IMAGE_BATCH_STAT, &files);
	TRY("a wild path", file[1].path = WILD, IMAGE_BATCH_STAT, &files);
	show("result", file[1].result);
	TRY("data nowhere", file[2].data = -8UL, IMAGE_BATCH_STAT, &files);
	show("result", file[2].result);
	TRY("a length that wraps", file[0].path = (unsigned long)path; strcpy(path, "/etc/passwd");
	    file[0].size = ~0UL; files.n = 1, IMAGE_BATCH_READ, &files);
	show("result", file[0].result == -EFAULT || file[0].result == -EINVAL);
	TRY("records on themselves", file[0].data = (unsigned long)file - 16; files.n = 1,
	    IMAGE_BATCH_STAT, &files);
	TRY("no directory", files.dirfd = 12345; strcpy(path, "x"), IMAGE_BATCH_STAT, &files);
	show("result", file[0].result);
}

static void try_file(void)
{
	TRY("a whole file", strcpy(path, "/dev/null"), IMAGE_BATCH_READ_FILE, &whole);
	show("its size", whole.total);
	TRY("room nowhere", strcpy(path, "/etc/passwd"); whole.addr = WILD,
	    IMAGE_BATCH_READ_FILE, &whole);
	TRY("room that wraps", strcpy(path, "/dev/null"); whole.addr = -8UL; whole.size = 16,
	    IMAGE_BATCH_READ_FILE, &whole);
	TRY("a path nowhere", whole.path = WILD, IMAGE_BATCH_READ_FILE, &whole);
	TRY("all flags", whole.flags = ~0, IMAGE_BATCH_READ_FILE, &whole);
	TRY("no directory", whole.dirfd = 12345; strcpy(path, "x"), IMAGE_BATCH_READ_FILE,
	    &whole);
	TRY("over the request", whole.addr = (unsigned long)&whole; whole.size = sizeof(whole);
	    strcpy(path, "/dev/zero"), IMAGE_BATCH_READ_FILE, &whole);
	show("its size", whole.total);
}

static void handler(int number)
{
	(void)number;
}

/* The whole file was read: a signal pending until the run's end is not an error. */
static void try_signal(void)
{
	pid_t pid = getpid();
	long ret;

	signal(SIGUSR1, handler);
	reset();
	strcpy(path, "/etc/passwd");
	COSY_START;
	kill(pid, SIGUSR1);
	ret = BATCH(IMAGE_BATCH_READ_FILE, &whole);
	COSY_END;
	show("with a signal", ret > 0 && ret == whole.total);
}

static void try_entries(void)
{
	TRY("entries", lseek(dir, 0, SEEK_SET), IMAGE_BATCH_ENTRIES, &entries);
	/* How many entries one call returns may vary: in a process, as many as surely fit. */
	show("there are some", entries.n >= 1 && entries.n <= 3);
	TRY("a room that wraps", entries.room = ~0UL, IMAGE_BATCH_ENTRIES, &entries);
	TRY("no room", entries.room = 0, IMAGE_BATCH_ENTRIES, &entries);
	TRY("none", entries.max = 0, IMAGE_BATCH_ENTRIES, &entries);
	TRY("records nowhere", entries.to = WILD, IMAGE_BATCH_ENTRIES, &entries);
	TRY("records at the end", entries.to = -64UL, IMAGE_BATCH_ENTRIES, &entries);
	TRY("records over the request", entries.to = (unsigned long)&entries,
	    IMAGE_BATCH_ENTRIES, &entries);
	TRY("names nowhere", entries.names = WILD; entries.names_len = 64,
	    IMAGE_BATCH_ENTRIES, &entries);
	TRY("names that wrap", entries.names = -8UL; entries.names_len = ~0UL,
	    IMAGE_BATCH_ENTRIES, &entries);
	TRY("names of zeros", entries.names = (unsigned long)data; entries.names_len = 64,
	    IMAGE_BATCH_ENTRIES, &entries);
	TRY("a socket", entries.fd = sock, IMAGE_BATCH_ENTRIES, &entries);
	TRY("closed", entries.fd = -1, IMAGE_BATCH_ENTRIES, &entries);
}

static void try_imports(void)
{
	TRY("import none", import.n = 0, IMAGE_BATCH_MESSAGES, &import);
	TRY("import too many", import.n = 65, IMAGE_BATCH_MESSAGES, &import);
	TRY("import far too many", import.n = ~0U, IMAGE_BATCH_MESSAGES, &import);
	TRY("import nowhere", import.addr = WILD, IMAGE_BATCH_MESSAGES, &import);
	show("that is", import.wrong == WILD);
	TRY("import what wraps", import.addr = -32UL, IMAGE_BATCH_MESSAGES, &import);
	TRY("buffers", hdr[2].msg_hdr.msg_iovlen = 9, IMAGE_BATCH_MESSAGES, &import);
	show("of", import.wrong);
	TRY("buffers that wrap", hdr[2].msg_hdr.msg_iovlen = 1UL << 60, IMAGE_BATCH_MESSAGES,
	    &import);
	TRY("buffers nowhere", hdr[2].msg_hdr.msg_iov = (void *)WILD, IMAGE_BATCH_MESSAGES, &import);
	TRY("control", hdr[1].msg_hdr.msg_control = data; hdr[1].msg_hdr.msg_controllen = 8,
	    IMAGE_BATCH_MESSAGES, &import);
	TRY("a negative name", hdr[3].msg_hdr.msg_namelen = -1, IMAGE_BATCH_MESSAGES, &import);
	TRY("import", (void)0, IMAGE_BATCH_MESSAGES, &import);
}

static void try_messages(void)
{
	TRY("receive", (void)0, IMAGE_BATCH_RECEIVE, &messages);
	TRY("send", messages.messages = 0; messages.addr = (unsigned long)hdr; messages.n = 2;
	    hdr[0].msg_hdr.msg_name = NULL; hdr[1].msg_hdr.msg_name = NULL;
	    hdr[0].msg_hdr.msg_namelen = 0; hdr[1].msg_hdr.msg_namelen = 0,
	    IMAGE_BATCH_SEND, &messages);
	TRY("receive", (void)0, IMAGE_BATCH_RECEIVE, &messages);
	show("from us", name[1].sin_port == address.sin_port);
	TRY("answer", messages.addr = (unsigned long)hdr; messages.n = 2, IMAGE_BATCH_SEND, &messages);
	TRY("receive what is not imported", messages.messages = 0, IMAGE_BATCH_RECEIVE, &messages);
	TRY("receive with a number", messages.messages = 2, IMAGE_BATCH_RECEIVE, &messages);
	TRY("receive with a large one", messages.messages = ~0U, IMAGE_BATCH_RECEIVE, &messages);
	TRY("receive more than that", messages.n = 5, IMAGE_BATCH_RECEIVE, &messages);
	TRY("receive far more", messages.n = ~0U, IMAGE_BATCH_RECEIVE, &messages);
	TRY("send more than that", messages.n = 5; messages.addr = (unsigned long)hdr,
	    IMAGE_BATCH_SEND, &messages);
	TRY("send far more", messages.n = ~0U; messages.messages = 0, IMAGE_BATCH_SEND, &messages);
	TRY("send nothing there", messages.messages = 0; messages.addr = WILD, IMAGE_BATCH_SEND,
	    &messages);
	TRY("other flags", messages.flags = 1 << 20, IMAGE_BATCH_RECEIVE, &messages);
	TRY("a closed socket", messages.fd = 12345, IMAGE_BATCH_RECEIVE, &messages);
	TRY("a directory", messages.fd = dir, IMAGE_BATCH_RECEIVE, &messages);
	show("forget", batch(IMAGE_BATCH_FORGET, (void *)1));
	show("forget it again", batch(IMAGE_BATCH_FORGET, (void *)1));
	show("forget nothing", batch(IMAGE_BATCH_FORGET, (void *)0));
	show("forget others", batch(IMAGE_BATCH_FORGET, (void *)~0UL));
	TRY("receive what is forgotten", (void)0, IMAGE_BATCH_RECEIVE, &messages);
}

static void try_many_imports(void)
{
	long n = 0, ret;

	reset();
	import.n = 1;
	while ((ret = batch(IMAGE_BATCH_MESSAGES, &import)) > 0)
		n++;
	show("imports", n);
	show("and then", ret);
	while (n)
		batch(IMAGE_BATCH_FORGET, (void *)n--);
	show("import", batch(IMAGE_BATCH_MESSAGES, &import));
	show("forget", batch(IMAGE_BATCH_FORGET, (void *)1));
}

static void try_accepts(void)
{
	TRY("accept", (void)0, IMAGE_BATCH_ACCEPT, &accepts);
	show("first", fds[0]);
	connect_one();
	connect_one();
	TRY("accept nowhere", accepts.fds = WILD, IMAGE_BATCH_ACCEPT, &accepts);
	TRY("accept where it wraps", accepts.fds = -4UL, IMAGE_BATCH_ACCEPT, &accepts);
	TRY("accept none", accepts.n = 0, IMAGE_BATCH_ACCEPT, &accepts);
	TRY("accept too many", accepts.n = ~0U, IMAGE_BATCH_ACCEPT, &accepts);
	TRY("accept with other flags", accepts.flags = 1, IMAGE_BATCH_ACCEPT, &accepts);
	TRY("accept at a closed socket", accepts.fd = 12345, IMAGE_BATCH_ACCEPT, &accepts);
	TRY("accept at a directory", accepts.fd = dir, IMAGE_BATCH_ACCEPT, &accepts);
	TRY("accept at datagrams", accepts.fd = sock, IMAGE_BATCH_ACCEPT, &accepts);
	TRY("accept", accepts.n = 0x7fffffff, IMAGE_BATCH_ACCEPT, &accepts);
	show("then", fds[2]);
	show("and", fds[3]);
	show("close", close(fds[0]) | close(fds[1]));
}

static void try_copies(void)
{
	TRY("copy", strcpy(records, "text"), IMAGE_BATCH_COPY_IN, &copy);
	show(data, 0);
	TRY("copy too much", copy.n = IMAGE_COPY_MAX + 1, IMAGE_BATCH_COPY_IN, &copy);
	TRY("copy far too much", copy.n = ~0UL, IMAGE_BATCH_COPY_OUT, &copy);
	TRY("copy over the end", copy.here = -32UL, IMAGE_BATCH_COPY_IN, &copy);
	TRY("copy from nowhere", copy.there = WILD, IMAGE_BATCH_COPY_IN, &copy);
	TRY("copy to nowhere", copy.there = -32UL, IMAGE_BATCH_COPY_OUT, &copy);
	TRY("copy to itself", copy.here = copy.there = (unsigned long)&copy, IMAGE_BATCH_COPY_IN,
	    &copy);
	TRY("copy over itself", copy.here = (unsigned long)records + 8, IMAGE_BATCH_COPY_OUT, &copy);
}

static long use(unsigned long from, unsigned long n)
{
	long ret;

	COSY_START;
	memory.from = from;
	memory.n = n;
	ret = BATCH(IMAGE_BATCH_USE, &memory);
	COSY_END;
	return ret;
}

static void try_memory(void)
{
	unsigned long at = (unsigned long)path;

	show("memory", use(at, 1));
	show("no memory", use(at, 0));
	show("memory from nowhere", use(WILD, ~0UL));
	show("more than there is", use(at, ~0UL));
	show("memory that wraps", use(at, -at));
}

static void try_all(void)
{
	show("pending", batch(IMAGE_BATCH_PENDING, 0));
	show("no batch", batch(0, &files));
	show("another", batch(IMAGE_BATCH_USE + 1, &files));
	show("far off", batch(1L << 32 | IMAGE_BATCH_STAT, &files));
	try_files();
	try_file();
	try_signal();
	try_entries();
	try_imports();
	try_messages();
	try_many_imports();
	try_accepts();
	try_copies();
	/* Beyond the arena's end, for each operation. */
	for (long op = 0; op <= IMAGE_BATCH_READ_FILE; op++)
		for (long back = 1; back <= 64; back += 21)
			if (op != IMAGE_BATCH_COPY_IN)
				batch(op, (void *)-back);
	try_memory();
}

/* -- Others that write ---------------------------------------------------------------------- */

static volatile int stop;
static char *target;

/*
 * Values for each word of a batch's arguments and records; no valid addresses, because they would
 * be written to.
 */
static void *rewrite(void *arg)
{
	static const unsigned long words[] = {
		0, 1, 4, 5, ~0UL, WILD, -8UL, 1UL << 32, 0x7fffffffUL, 0x80000000UL,
	};
	unsigned long seed = (unsigned long)&seed;

	while (!stop) {
		void *things[] = { &files, &entries, &import, &messages, hdr, iov, file,
				   &accepts, &whole };
		size_t sizes[] = { sizeof(files), sizeof(entries), sizeof(import),
				   sizeof(messages), sizeof(hdr), sizeof(iov), sizeof(file),
				   sizeof(accepts), sizeof(whole) };

		seed = seed * 6364136223846793005UL + 1442695040888963407UL;
		int thing = (seed >> 33) % 9;
		volatile unsigned long *word = things[thing];
		word += (seed >> 40) % (sizes[thing] / sizeof(*word));
		unsigned long was = *word;
		*word = words[(seed >> 50) % 10];
		*word = was;
	}
	return arg;
}

/* Unmaps and remaps the memory that the batch writes to. */
static void *unmap(void *arg)
{
	while (!stop) {
		munmap(target, 8192);
		mmap(target, 8192, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		mprotect(target, 8192, PROT_READ);
		mprotect(target, 8192, PROT_READ | PROT_WRITE);
	}
	return arg;
}

/* Makes the numbers refer to other files, or to none. */
static void *reopen(void *arg)
{
	int spare = dup(sock), folder = dup(dir);

	while (!stop) {
		close(sock);
		dup2(spare, sock);
		dup2(folder, sock);
		close(dir);
		dup2(spare, dir);
		dup2(folder, dir);
		dup2(spare, sock);
	}
	return arg;
}

static long turns(long n)
{
	long done = 0, i, number;

	COSY_START;
	for (i = 0; i < n; i++) {
		done += BATCH(IMAGE_BATCH_ENTRIES, &entries) >= 0;
		if (entries.n == 0)
			lseek(dir, 0, SEEK_SET);
		done += BATCH(IMAGE_BATCH_STAT, &files) >= 0;
		number = BATCH(IMAGE_BATCH_MESSAGES, &import);
		done += number > 0;
		messages.messages = number;
		messages.addr = (unsigned long)hdr;
		BATCH(IMAGE_BATCH_SEND, &messages);
		done += BATCH(IMAGE_BATCH_RECEIVE, &messages) > 0;
		BATCH(IMAGE_BATCH_READ_FILE, &whole);
		BATCH(IMAGE_BATCH_COPY_OUT, &copy);
		BATCH(IMAGE_BATCH_ACCEPT, &accepts);
		BATCH(IMAGE_BATCH_FORGET, number);
	}
	COSY_END;
	return done;
}

static void race(void *(*other)(void *), int ms)
{
	struct timespec from, now;
	pthread_t thread;
	long done = 0;

	target = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reset();
	/* In a process its descriptor could become the socket, and it would block there. */
	if (other == reopen)
		whole.path = WILD;
	if (other == unmap) {
		entries.to = copy.there = (unsigned long)target;
		file[1].data = (unsigned long)target + 4000;
		iov[1].iov_base = target + 4090;
		import.addr = (unsigned long)memcpy(target + 4096 - 100, hdr, sizeof(hdr));
	}
	/* By now its script has a descriptor of its own. */
	turns(1);
	clock_gettime(CLOCK_MONOTONIC, &from);
	pthread_create(&thread, NULL, other, NULL);
	do {
		done += turns(20);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < ms);
	stop = 1;
	pthread_join(thread, NULL);
	printf("%s\n", done ? "some were done" : "none was done");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int ms = argc > 2 ? atoi(argv[2]) : 300;

	sock = make_socket();
	listener = make_listener();
	dir = open("/proc/self/ns", O_RDONLY | O_DIRECTORY);
	if (!strcmp(how, "rewrite"))
		race(rewrite, ms);
	else if (!strcmp(how, "unmap"))
		race(unmap, ms);
	else if (!strcmp(how, "reopen"))
		race(reopen, ms);
	else
		try_all();
	return 0;
}
