# SPDX-License-Identifier: GPL-2.0
# $(BUILD)/memcached/memcached: Debian's memcached, with batches of UDP datagrams.

MEMCACHED := $(BUILD)/memcached
MEMCACHED_SRC := $(MEMCACHED)/source
MEMCACHED_PATCHES := $(sort $(wildcard apps/memcached/patches/*.patch))
# Next to the kernels' packages: `make clean` leaves it.
MEMCACHED_ARCHIVE := $(BUILD)/apt/memcached.orig.tar.xz

.PHONY: memcached
memcached: $(MEMCACHED)/memcached

$(MEMCACHED_ARCHIVE): | tools/debian-source
	$(call say,FETCH)
	$(Q)tools/debian-source memcached $@

$(MEMCACHED)/configured: $(MEMCACHED_ARCHIVE) $(MEMCACHED_PATCHES) apps/memcached/build.mk \
		| $(LIB_HEADERS) $(BUILD)/libsyscript.a
	$(Q)tools/deps memcached
	$(call say,CONFIG,$(MEMCACHED_SRC))
	$(Q)rm -rf $(MEMCACHED_SRC)
	$(Q)mkdir -p $(MEMCACHED_SRC)
	$(Q)tar -xf $< -C $(MEMCACHED_SRC) --strip-components=1
	$(Q)for p in $(abspath $(MEMCACHED_PATCHES)); do \
		patch -d $(MEMCACHED_SRC) -p1 -s --no-backup-if-mismatch <$$p || exit 1; done
	$(Q)$(call quiet,memcached autoreconf) sh -c 'cd $(MEMCACHED_SRC) && autoreconf -f'
	$(Q)$(call quiet,memcached configure) sh -c 'cd $(MEMCACHED_SRC) && ./configure -q --with-syscript=$(CURDIR) CC="$(CC)"'
	$(Q)touch $@

$(MEMCACHED)/memcached: $(MEMCACHED)/configured $(BUILD)/libsyscript.a scripts/exchange.lua \
		apps/memcached/serve.lua scripts/net/exchange_frames.lua
	$(call say,MAKE)
	$(Q)$(call quiet,memcached) $(MAKE) -s -C $(MEMCACHED_SRC) SYSCRIPT=$(CURDIR) memcached
	$(Q)cp $(MEMCACHED_SRC)/memcached $@

# -- tests ---------------------------------------------------------------------

# Without the mode frames, for which there is no device: apps/tests creates one.
MEMCACHED_MODES := off mmsg io_uring syscript syscript_interp syscript_wait

.PHONY: test-memcached test-memcached-suite test-memcached-udp
test-memcached: test-memcached-udp test-memcached-suite

# apps/tests/vm/test_memcached_accounts.py
guest-programs: $(MEMCACHED)/memcached $(BUILD)/bench/udpload/udpload

# Raw datagrams, in each mode.
test-memcached-udp: $(MEMCACHED)/memcached
	$(PYTEST) apps/tests/test_memcached.py $(PYTEST_ARGS)

# memcached's own tests, in each mode.
test-memcached-suite: $(MEMCACHED)/memcached
	$(MAKE) -s -C $(MEMCACHED_SRC) SYSCRIPT=$(CURDIR) memcached-debug sizes testapp timedrun
	apps/memcached/suite $(MEMCACHED) $(MEMCACHED_MODES)
