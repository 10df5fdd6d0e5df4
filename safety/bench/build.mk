# SPDX-License-Identifier: GPL-2.0
# Benches of the tools' costs, in a guest.

.PHONY: bench-safety bench-safety-icount bench-safety-scaling profile-safety-icount
bench-safety bench-safety-icount bench-safety-scaling: deps safety-tests
bench-safety-icount profile-safety-icount: $(BUILD)/vm/counter.so

bench-safety:
	safety/bench/bench.py -k $(KREL) -o $(BUILD)/bench/safety.json

bench-safety-icount:
	safety/bench/bench.py -k $(KREL) --icount -o $(BUILD)/bench/safety-icount.json

bench-safety-scaling:
	safety/bench/scaling.py -k $(KREL) -o $(BUILD)/bench/safety-scaling.json

# The tables of safety/docs/figures.md.
FIGURES_KERNELS := 6.1 6.12 newest
.PHONY: figures-safety
figures-safety: bench-safety-kasan-icount bench-safety-user-icount
	set -e; for kernel in $(FIGURES_KERNELS); do \
		$(MAKE) bench-safety-icount KREL=$$kernel; \
		mv $(BUILD)/bench/safety-icount.json $(BUILD)/bench/safety-icount-$$kernel.json; \
	done
	safety/bench/figures.py --kasan $(BUILD)/bench/safety-kasan-icount.json \
		--user $(BUILD)/bench/safety-user-icount.json $(foreach tool,kefence evmon kgcc,--$(tool) \
		$(FIGURES_KERNELS:%=$(BUILD)/bench/safety-icount-%.json))

# Profiles one sample of bench-safety by function: SAMPLE='reiserfs compile kgcc'.
SAMPLE ?= ecryptfs mix plain
profile-safety-icount: deps safety-tests
	safety/bench/counted.py -k $(KREL) -o $(PROFILE) $(SAMPLE)

# -- next to KASAN ------------------------------------------------------------------

KASAN_CONFIG := tests/debug-kernel/config safety/bench/kasan-config
$(BUILD)/kernels/kasan/complete: tests/debug-kernel/build $(KASAN_CONFIG)
	tools/deps debug-kernel
	tests/debug-kernel/build kasan $(KASAN_CONFIG)

.PHONY: bench-safety-kasan-icount
bench-safety-kasan-icount: deps safety-tests
	$(MAKE) KREL=kasan $(BUILD)/safety-kasan/ecryptfs/ecryptfs.ko
	safety/bench/kasan.py -k $(KREL) -o $(BUILD)/bench/safety-kasan-icount.json

# -- user space ---------------------------------------------------------------------

# memcached built with the compiler's own checks, to judge a possible `kgcc --user`.
USER_FLAGS_plain :=
USER_FLAGS_asan := -fsanitize=address
USER_FLAGS_asan_bounds := -fsanitize=address,bounds
USER_FLAGS_trap := -fsanitize=bounds,object-size -fsanitize-undefined-trap-on-error
USER_MEMCACHED := $(foreach variant,plain asan asan_bounds trap,\
	$(BUILD)/bench/user/$(variant)/memcached)

$(USER_MEMCACHED): $(BUILD)/bench/user/%/memcached: $(BUILD)/memcached/memcached
	$(call say,MAKE)
	$(Q)rm -rf $(@D) && mkdir -p $(@D)
	$(Q)cp -a $(BUILD)/memcached/source/. $(@D)
	$(Q)$(MAKE) -s -C $(@D) clean >/dev/null
	$(Q)$(MAKE) -s -C $(@D) memcached CFLAGS='-g -O2 -pthread $(USER_FLAGS_$*)'

.PHONY: bench-safety-user-icount
bench-safety-user-icount: deps $(USER_MEMCACHED) $(BUILD)/bench/udpload/udpload
	safety/bench/user.py -k $(KREL) -o $(BUILD)/bench/safety-user-icount.json
