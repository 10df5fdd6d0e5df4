# SPDX-License-Identifier: GPL-2.0 OR MIT
# Benchmark programs, and the targets that run them in a guest on 6.1.

BENCH_COMMON := $(BUILD)/measure/measure.o $(BUILD)/measure/source.o
BENCH_PROGRAMS := $(BUILD)/bench/latency $(BUILD)/bench/files \
	$(BUILD)/bench/connections $(BUILD)/bench/inner $(BUILD)/bench/stat_files \
	$(BUILD)/bench/frames $(BUILD)/bench/nsd $(BUILD)/bench/lua $(BUILD)/bench/hooks \
	$(BUILD)/bench/everyone $(BUILD)/bench/scanner $(BUILD)/bench/text_load
BENCH_CFLAGS = -std=gnu11 $(USER_CFLAGS) $(USER_WARNINGS) -D_GNU_SOURCE -MMD -MP \
	$(LIB_CFLAGS) -Ibench -Imeasure

$(BUILD)/bench/%.o: bench/%.c | $(BUILD)/include/syscript.h \
		$(BUILD)/include/linux/syscript.h
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) $(CFLAGS) -c -o $@ $<

$(BENCH_COMMON): $(BUILD)/measure/%.o: measure/%.c | $(BUILD)/include/syscript.h \
		$(BUILD)/include/linux/syscript.h
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) $(CFLAGS) -c -o $@ $<

$(BENCH_PROGRAMS): %: %.o $(BENCH_COMMON) $(BUILD)/libsyscript.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB_LIBS)

$(BUILD)/bench/files: $(BUILD)/bench/uring.o
$(BUILD)/bench/frames: $(addprefix $(BUILD)/bench/,testnet.o worker.o afpacket_afxdp.o receiver.o)
$(BUILD)/bench/nsd: $(BUILD)/bench/testnet.o
$(BUILD)/bench/text_load: $(BUILD)/bench/text_server.o
$(BUILD)/bench/frames: $(if $(CROSS),$(BUILD)/bench/no_uring.o)
$(BUILD)/bench/frames $(BUILD)/bench/stat_files: private LIB_LIBS += $(if $(CROSS),,-luring)

$(BUILD)/bench/hooks: $(addprefix $(BUILD)/bench/,bpf_netfilter.o datagrams.o)

# Compounds: compiled by cosy-cc, as are the plain loops they are compared with.
BENCH_COSY = $(BUILD)/cosy-cc $(COSY_TARGET) $(SIGNED_CHAR) -O2 -Wall -Wextra -D_GNU_SOURCE -Ibench -Imeasure -MMD -MP
BENCH_COSY_LIBS := -L$(BUILD) -lcosy

INNER_COMPOUNDS := $(if $(filter x86,$(ARCH)),$(addprefix $(BUILD)/bench/,inner_compound.o inner_empty.o))
$(INNER_COMPOUNDS): $(BUILD)/bench/%.o: bench/%.c $(BUILD)/cosy-cc
	$(call say,COSY)
	@mkdir -p $(@D)
	$(Q)$(BENCH_COSY) -c -o $@ $<

# cosy-cc compiles programs for x86-64 only.
$(BUILD)/bench/inner: $(INNER_COMPOUNDS)
$(BUILD)/bench/inner: private LIB_LIBS += $(if $(INNER_COMPOUNDS),$(BENCH_COSY_LIBS))

$(BUILD)/bench/compound_plain.o: bench/compound_apps.c $(BUILD)/cosy-cc
	$(call say,COSY)
	@mkdir -p $(@D)
	$(Q)$(BENCH_COSY) --user -DAPPS=app_plain -c -o $@ $<

$(BUILD)/bench/compound_compound.o: bench/compound_apps.c $(BUILD)/cosy-cc
	$(call say,COSY)
	@mkdir -p $(@D)
	$(Q)$(BENCH_COSY) -DAPPS=app_compound -c -o $@ $<

$(BUILD)/bench/compound.o: private BENCH_CFLAGS += -I$(BUILD)/cosy/include
$(BUILD)/bench/compound.o: $(BUILD)/cosy/include/cosy.h
$(BUILD)/bench/compound: $(addprefix $(BUILD)/bench/,compound.o compound_plain.o \
		compound_compound.o) $(BENCH_COMMON) $(BUILD)/libcosy.a \
		$(BUILD)/libsyscript.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(BENCH_COSY_LIBS) $(LIB_LIBS)

$(BUILD)/bench/udp_compound.o: bench/udp_compound.c $(BUILD)/cosy-cc
	$(call say,COSY)
	@mkdir -p $(@D)
	$(Q)$(BENCH_COSY) -c -o $@ $<

$(BUILD)/bench/udp_server.o: private BENCH_CFLAGS += -I$(BUILD)/cosy/include
$(BUILD)/bench/udp_server.o: $(BUILD)/cosy/include/cosy.h
$(BUILD)/bench/udp: $(addprefix $(BUILD)/bench/,udp.o udp_server.o udp_compound.o receiver.o) \
		$(BENCH_COMMON) $(BUILD)/libcosy.a $(BUILD)/libsyscript.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(BENCH_COSY_LIBS) $(LIB_LIBS) -luring

# The same with io_uring's BPF loop, of Linux 7.1 and later: by libbpf, as root.
$(BUILD)/bench/uring_loop.o: bench/uring_loop.c bench/uring_loop.h $(BUILD)/bench/udp
	$(call say,CC)
	$(Q)tools/deps libbpf
	$(Q)$(CC) $(BENCH_CFLAGS) $(CFLAGS) -c -o $@ $<

$(BUILD)/bench/programs/uring_loop.o: bench/uring_loop_bpf.c bench/uring_loop.h $(BUILD)/deps/clang
	$(call say,CLANG)
	@mkdir -p $(@D)
	$(Q)$(COSY_CLANG) -target bpf -mcpu=v3 -O2 -g -Wall -Werror -Ibench \
		-I/usr/include/x86_64-linux-gnu -c -o $@ $<

$(BUILD)/bench/udp_loop: $(BUILD)/bench/uring_loop.o
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(addprefix $(BUILD)/bench/,udp.o udp_server.o \
		udp_compound.o receiver.o uring_loop.o) $(BENCH_COMMON) $(BENCH_COSY_LIBS) \
		$(BUILD)/libsyscript.a $(LIB_LIBS) -luring -lbpf

.PHONY: bench-uring-loop-icount
bench-uring-loop-icount: $(BUILD)/bench/udp_loop $(BUILD)/bench/programs/uring_loop.o lua-runtime
	+$(Q)$(MAKE) --no-print-directory KREL=newest module
	bench/uring_loop.py -k newest -o $(BUILD)/bench/uring-loop-icount.json

# Plain C on the confined engine: counted in a process by single-stepping.
$(BUILD)/bench/kernels_plain.o: bench/kernels.c bench/kernels.def bench/kernels.h
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CROSS)gcc -std=gnu11 -O2 $(SIGNED_CHAR) -Wall -Wextra -D_GNU_SOURCE -iquote cosy -Icosy \
		-DKERNELS=kernels_plain -c -o $@ $<

$(BUILD)/bench/kernels_confined.o: bench/kernels.c bench/kernels.def bench/kernels.h $(BUILD)/cosy-cc
	$(call say,COSY)
	@mkdir -p $(@D)
	$(Q)$(BENCH_COSY) -DKERNELS=kernels_confined -c -o $@ $<

$(BUILD)/bench/confined_c.o: private BENCH_CFLAGS += -I$(BUILD)/cosy/include
$(BUILD)/bench/confined_c.o: $(BUILD)/cosy/include/cosy.h
$(BUILD)/bench/confined_c: $(addprefix $(BUILD)/bench/,confined_c.o kernels_plain.o \
		kernels_confined.o) $(BENCH_COMMON) $(BUILD)/libcosy.a $(BUILD)/libsyscript.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(BENCH_COSY_LIBS) $(LIB_LIBS)

.PHONY: bench-confined-c-icount
bench-confined-c-icount: $(BUILD)/bench/confined_c
	bench/confined_c.py -o $(BUILD)/bench/confined-c-icount.json

# FILTER=container: everything under that seccomp profile, see tests/seccomp.py. THREADS=3: with
# this many other threads.
FILTER ?=
THREADS ?=
INNER = bench/inner.py -k $(KREL) $(FILTER:%=--filter %) $(THREADS:%=--threads %)
INNER_NAME = $(FILTER:%=-%)$(THREADS:%=-threads%)

.PHONY: bench-inner bench-inner-icount
bench-inner: $(BUILD)/bench/inner lua-runtime module
	$(INNER) -o $(BUILD)/bench/inner$(INNER_NAME).json

bench-inner-icount: $(BUILD)/bench/inner lua-runtime module
	$(INNER) --icount -o $(BUILD)/bench/inner-icount$(INNER_NAME).json

# On an emulated arm64 machine.
ARM64_BENCH_KREL ?= 6.12-arm64
.PHONY: bench-arm64-icount
bench-arm64-icount: lua-runtime unit-programs | $(BUILD)/deps/arm64-tests.ready
	+$(Q)$(MAKE) $(call jobs,0) --no-print-directory ARCH=arm64 lib cli $(ARM64_REMOTE) \
		$(addprefix build/arm64/bench/,inner files frames confined_c) \
		build/arm64/walks/coreutils-plain.done build/arm64/walks/coreutils-ahead.done
	+$(Q)$(MAKE) --no-print-directory KREL=$(ARM64_BENCH_KREL) module
	@mkdir -p $(BUILD)/bench $(BUILD)/walks # the guest has arm64's over these
	bench/arm64.py -k $(ARM64_BENCH_KREL) --icount -o $(BUILD)/bench/arm64-icount.json $(BENCH_ARGS)

.PHONY: bench-compound bench-compound-icount
bench-compound: $(BUILD)/bench/compound module
	bench/compound.py -k $(KREL) -o $(BUILD)/bench/compound.json

bench-compound-icount: $(BUILD)/bench/compound module
	bench/compound.py -k $(KREL) --icount -o $(BUILD)/bench/compound-icount.json

# How much of a database is system calls.
$(BUILD)/bench/sqlite: bench/sqlite.c vm/profile/mark.h $(BUILD)/measure/measure.o
	$(call say,CC)
	$(Q)tools/deps sqlite
	@mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) $(CFLAGS) -o $@ $< $(BUILD)/measure/measure.o -lsqlite3

.PHONY: bench-sqlite-icount
bench-sqlite-icount: $(BUILD)/bench/sqlite $(BUILD)/vm/counter.so module
	bench/sqlite.py -k $(KREL) -o $(BUILD)/bench/sqlite-icount.json

# A web server and a mail server as a whole, from Debian's packages with all that they need.
DAEMONS := $(BUILD)/bench/daemons
$(DAEMONS)/root.done: bench/daemons/root.sh vm/kernels.py
	$(call say,FETCH)
	$(Q)tools/deps kernel
	$(Q)rm -rf $(DAEMONS)/root
	$(Q)vm/kernels.py install $(DAEMONS)/root nginx-light dovecot-lmtpd
	$(Q)bench/daemons/root.sh $(DAEMONS)/root
	@touch $@

$(DAEMONS)/client: bench/daemons/client.c vm/profile/mark.h $(BUILD)/measure/measure.o
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) $(CFLAGS) -o $@ $< $(BUILD)/measure/measure.o

.PHONY: bench-daemons-icount
bench-daemons-icount: $(DAEMONS)/root.done $(DAEMONS)/client $(BUILD)/vm/counter.so
	bench/daemons.py -k $(KREL) -o $(BUILD)/bench/daemons-icount.json

# The marks that cosy-cc --auto finds in a program that reads database records.
.PHONY: bench-auto-icount
bench-auto-icount: $(BUILD)/cosy-cc consolidate module
	COSY_METER="vm/guest -k $(KREL) -m --icount --" bench/auto.sh $(BUILD) $(BUILD)/bench/auto

.PHONY: bench-guest bench-guest-icount
bench-guest: $(BUILD)/bench/lua lua-runtime module
	bench/lua.py -k $(KREL) -o $(BUILD)/bench/guest.json

bench-guest-icount: $(BUILD)/bench/lua lua-runtime module
	bench/lua.py -k $(KREL) --icount -o $(BUILD)/bench/guest-icount.json

.PHONY: bench-latency bench-udp bench-udp-icount
bench-latency: $(BUILD)/bench/latency module
	bench/latency.py -k $(KREL) -o $(BUILD)/bench/latency.json

bench-udp bench-udp-icount: $(BUILD)/bench/text_load lua-runtime
bench-udp: $(BUILD)/bench/udp module
	bench/udp.py -k $(KREL) -o $(BUILD)/bench/udp.json

bench-udp-icount: $(BUILD)/bench/udp module
	bench/udp.py -k $(KREL) --clock icount -o $(BUILD)/bench/udp-icount.json $(BENCH_ARGS)

# The cost of scripts on this machine, which cannot load the module: modelled from instructions
# counted once in a guest.
.PHONY: model
$(BUILD)/bench/udp-icount.json:
	$(MAKE) bench-udp-icount

model: $(BUILD)/bench/udp $(BUILD)/bench/udp-icount.json
	bench/model.py --icount $(BUILD)/bench/udp-icount.json -o $(BUILD)/bench/model.json

# The tables of docs/figures.md and the README's picture: counted again, and modelled.
# FIGURES='frames lua': only these subjects.
FIGURES ?= requests servers calls frames compounds lua everyone readdirplus files connections programs \
	hooks memcached arm64
BENCH_OF_requests := udp
BENCH_OF_servers := udp
BENCH_OF_calls := inner
BENCH_OF_compounds := compound
BENCH_OF_lua := guest
BENCH_OF_memcached := memcached-sizes
BENCH_OF = $(or $(BENCH_OF_$1),$1)
RESULT_OF = $(BUILD)/bench/$(if $(filter requests,$1),model,$(BENCH_OF)-icount).json

# The rows of docs/papers.md. PAPERS=--all: with slow benches; --write: puts the figures into the
# page; '--only TEXT': only rows with that text.
PAPERS ?=
.PHONY: papers
papers: unit-programs guest-programs cosy lua-runtime
	bench/papers.py -k $(KREL) $(PAPERS)

.PHONY: figures figures-page
figures: $(foreach subject,$(FIGURES),bench-$(call BENCH_OF,$(subject))-icount)
	$(if $(filter requests,$(FIGURES)),$(MAKE) model)
	bench/figures.py \
		$(foreach subject,$(FIGURES),--$(subject) $(call RESULT_OF,$(subject)))

# Regenerates the pages and the picture from the stored figures.
figures-page:
	bench/figures.py
	safety/bench/figures.py

# Of apps/build.mk.
BENCH_APPS := $(COMPOUND_APPS:%=bench-%)
.PHONY: $(BENCH_APPS) $(BENCH_APPS:=-icount)
$(BENCH_APPS): bench-%: % module
	bench/programs.py $* -k $(KREL) -o $(BUILD)/bench/$*.json

$(BENCH_APPS:=-icount): bench-%-icount: % module
	bench/programs.py $* -k $(KREL) --icount -o $(BUILD)/bench/$*-icount.json

# Debian's programs, plain and patched: apps/.
PROGRAMS_NEED := walks nsd module $(BUILD)/libsyscript.so $(BUILD)/bench/stat_files $(BUILD)/bench/nsd
.PHONY: bench-programs bench-programs-icount
bench-programs: $(PROGRAMS_NEED)
	bench/walks.py -k $(KREL) -o $(BUILD)/bench/programs.json $(BENCH_ARGS)

bench-programs-icount: $(PROGRAMS_NEED)
	bench/walks.py -k $(KREL) --icount -o $(BUILD)/bench/programs-icount.json $(BENCH_ARGS)

# Costs for users who may open only the confined engine's device.
EVERYONE_WALKS := $(foreach package,coreutils findutils,\
	$(WALKS)/$(package)-plain.done $(WALKS)/$(package)-ahead.done)
.PHONY: bench-everyone bench-everyone-icount
bench-everyone bench-everyone-icount: $(EVERYONE_WALKS) module cli lua-runtime \
		$(BUILD)/libsyscript.so $(BUILD)/bench/everyone $(BUILD)/bench/scanner \
		$(BUILD)/bench/frames $(BUILD)/memcached/memcached $(BUILD)/bench/nsd nsd
bench-everyone:
	bench/everyone.py -k $(KREL) -o $(BUILD)/bench/everyone.json $(BENCH_ARGS)

bench-everyone-icount:
	bench/everyone.py -k $(KREL) --icount -o $(BUILD)/bench/everyone-icount.json $(BENCH_ARGS)

# NSD alone, and its AF_XDP mode, which no stable suite has.
.PHONY: bench-nsd bench-nsd-icount
bench-nsd bench-nsd-icount: nsd nsd-newest module $(BUILD)/libsyscript.so $(BUILD)/bench/nsd
bench-nsd:
	bench/queries.py -k $(KREL) -o $(BUILD)/bench/nsd.json

bench-nsd-icount:
	bench/queries.py -k $(KREL) --icount -o $(BUILD)/bench/nsd-icount.json

# Programs for subsystems: ours, and eBPF ones, whose maps BTF describes (-g).
HOOK_PROGRAMS := $(patsubst bench/hooks/%.c,$(BUILD)/bench/programs/%.o,$(wildcard bench/hooks/*.c))
$(HOOK_PROGRAMS): $(BUILD)/bench/programs/%.o: bench/hooks/%.c bench/hooks/bpf.h $(BUILD)/deps/clang \
		$(BUILD)/include/linux/syscript_netfilter.h $(BUILD)/include/linux/syscript_table.h
	$(call say,CLANG)
	@mkdir -p $(@D)
	$(Q)$(COSY_CLANG) -target bpf -mcpu=$(if $(filter tc_%,$*),v3,v4) -O2 -g -Wall -Werror -I$(BUILD)/include \
		-I/usr/include/x86_64-linux-gnu -c -o $@ $<

.PHONY: bench-hooks bench-hooks-icount
bench-hooks bench-hooks-icount: $(BUILD)/bench/hooks $(HOOK_PROGRAMS) \
		$(BUILD)/syscript module
bench-hooks:
	bench/hooks.py -k $(KREL) -o $(BUILD)/bench/hooks.json

bench-hooks-icount:
	bench/hooks.py -k $(KREL) --icount -o $(BUILD)/bench/hooks-icount.json

# Text processing, compared with the distribution's lua5.1 and luajit, unpacked but not installed.
$(BUILD)/interpreters/ready:
	$(Q)for package in lua5.1 luajit; do vm/kernels.py source $$package $(@D) || exit 1; done
	@touch $@

.PHONY: bench-text
bench-text: cli lua-runtime module $(BUILD)/interpreters/ready
	bench/text.py -k $(KREL) -o $(BUILD)/bench/text.json

.PHONY: bench-connections bench-connections-icount
bench-connections: $(BUILD)/bench/connections module
	bench/connections.py -k $(KREL) -o $(BUILD)/bench/connections.json

bench-connections-icount: $(BUILD)/bench/connections module
	bench/connections.py -k $(KREL) --icount -o $(BUILD)/bench/connections-icount.json

.PHONY: bench-frames bench-frames-icount
bench-frames: $(BUILD)/bench/frames $(BUILD)/memcached/memcached module
	bench/frames.py -k $(KREL) -o $(BUILD)/bench/frames.json

bench-frames-icount: $(BUILD)/bench/frames $(BUILD)/memcached/memcached module
	bench/frames.py -k $(KREL) --icount -o $(BUILD)/bench/frames-icount.json

.PHONY: bench-files bench-files-icount
bench-files: $(BUILD)/bench/files module
	bench/files.py -k $(KREL) -o $(BUILD)/bench/files.json

bench-files-icount: $(BUILD)/bench/files module
	bench/files.py -k $(KREL) --icount -o $(BUILD)/bench/files-icount.json

# Elapsed, system and user, for 10 to 100,000 files.
.PHONY: bench-readdirplus-icount
bench-readdirplus-icount: $(BUILD)/bench/files $(BUILD)/vm/counter.so module
	bench/readdirplus.py -k $(KREL) --icount -o $(BUILD)/bench/readdirplus-icount.json

-include $(wildcard $(BUILD)/bench/*.d)
