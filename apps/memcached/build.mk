# SPDX-License-Identifier: GPL-2.0
# $(BUILD)/memcached/memcached: Debian's memcached, with batches of UDP datagrams.

MEMCACHED := $(BUILD)/memcached
MEMCACHED_SRC := $(MEMCACHED)/source
MEMCACHED_PATCHES := $(sort $(wildcard apps/memcached/patches/*.patch))
# Next to the kernels' packages: `make clean` leaves it.
MEMCACHED_ARCHIVE := build/apt/memcached.orig.tar.xz

.PHONY: memcached
memcached: $(MEMCACHED)/memcached

$(MEMCACHED_ARCHIVE): | tools/debian-source
	$(call say,FETCH)
	$(Q)tools/debian-source memcached $@

# Where configure finds the library. For another architecture: a tree that looks like this one, and
# Debian's libraries for it, linked statically.
MEMCACHED_TREE := $(CURDIR)
ifneq ($(CROSS),)
MEMCACHED_TREE := $(CURDIR)/$(MEMCACHED)/tree
MEMCACHED_LIBRARIES := $(CURDIR)/$(MEMCACHED)/libraries
MEMCACHED_HOST := --host=$(CROSS:-=) CPPFLAGS="-isystem $(MEMCACHED_LIBRARIES)/usr/include \
	-isystem $(MEMCACHED_LIBRARIES)/usr/include/$(CROSS:-=)" \
	LDFLAGS="-L$(MEMCACHED_LIBRARIES)/usr/lib/$(CROSS:-=)" ac_cv_c_alignment=none

$(MEMCACHED)/configured: $(MEMCACHED_LIBRARIES)/complete
$(MEMCACHED_LIBRARIES)/complete: vm/kernels.py
	$(Q)rm -rf $(@D) $(MEMCACHED_TREE)
	$(Q)mkdir -p $(MEMCACHED_TREE)
	$(Q)ln -s $(CURDIR)/$(BUILD) $(MEMCACHED_TREE)/build
	$(Q)ln -s $(CURDIR)/apps $(CURDIR)/scripts $(MEMCACHED_TREE)
	$(Q)for p in libevent-dev liburing-dev; do vm/kernels.py source --arch $(ARCH) $$p $(@D) || exit 1; done
	$(Q)rm $(@D)/usr/lib/$(CROSS:-=)/*.so
	$(Q)touch $@
endif

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
	$(Q)$(call quiet,memcached configure) sh -c 'cd $(MEMCACHED_SRC) && ./configure -q --with-syscript=$(MEMCACHED_TREE) $(MEMCACHED_HOST) CC="$(CC)"'
	$(Q)touch $@

$(MEMCACHED)/memcached: $(MEMCACHED)/configured $(BUILD)/libsyscript.a scripts/exchange.lua \
		apps/memcached/serve.lua scripts/net/exchange_frames.lua
	$(call say,MAKE)
	$(Q)$(call quiet,memcached) $(MAKE) -s -C $(MEMCACHED_SRC) SYSCRIPT=$(MEMCACHED_TREE) memcached
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
