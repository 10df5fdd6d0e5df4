# SPDX-License-Identifier: GPL-2.0
# Debian's programs, plain and with compounds: $(BUILD)/cpio/cpio, $(BUILD)/cpio/plain. For each,
# apps/NAME/build builds NAME in a directory of sources, and may be repeated after patches.

COMPOUND_APPS := busybox cpio

.PHONY: $(COMPOUND_APPS) $(COMPOUND_APPS:%=test-%) test-apps

test-apps: $(COMPOUND_APPS:%=test-%) test-walks test-nsd test-memcached

define compound_app
$(1): $(BUILD)/$(1)/$(1)

# Next to the kernels' packages: `make clean` leaves it.
$(BUILD)/apt/$(1).orig.tar.bz2: | tools/debian-source
	$$(call say,FETCH)
	$$(Q)tools/debian-source $(1) $$@

# One compiler for both: without marks it compiles as usual.
$(BUILD)/$(1)/plain: $(BUILD)/apt/$(1).orig.tar.bz2 apps/$(1)/build | $(BUILD)/cosy-cc
	$$(call say,MAKE)
	$$(Q)tools/deps bzip2
	$$(Q)rm -rf $$(@D)/source
	$$(Q)mkdir -p $$(@D)/source
	$$(Q)tar -xf $$< -C $$(@D)/source --strip-components=1
	$$(Q)CC=$$(abspath $(BUILD))/cosy-cc $$(call quiet,$(1)) apps/$(1)/build $$(@D)/source $$@

$(BUILD)/$(1)/$(1): $(BUILD)/$(1)/plain $(wildcard apps/$(1)/patches/*.patch) $(BUILD)/cosy-cc
	$$(call say,MAKE)
	$$(Q)rm -rf $$(@D)/patched
	$$(Q)cp -a $$(@D)/source $$(@D)/patched
	$$(Q)for p in $$(sort $$(filter %.patch,$$(abspath $$^))); do \
		patch -d $$(@D)/patched -p1 -s --no-backup-if-mismatch <$$$$p || exit 1; done
	$$(Q)CC=$$(abspath $(BUILD))/cosy-cc $$(call quiet,$(1) patched) apps/$(1)/build $$(@D)/patched $$@

# Both do the same.
test-$(1): $(BUILD)/$(1)/$(1)
	$$(PYTEST) apps/tests/test_$(1).py $$(PYTEST_ARGS)
endef

$(foreach app,$(COMPOUND_APPS),$(eval $(call compound_app,$(app))))

# -- Programs that look at many files ----------------------------------------------------
# $(WALKS)/plain/du, $(WALKS)/ahead/du, and so on: unmodified, and patched. For each package: the
# folder of its patch, and its archive's compression.

# For another architecture, du alone. The archives are the same.
WALKS := $(BUILD)/walks
WALK_PACKAGES := coreutils:fts:xz findutils:fts:xz ninja-build:ninja:gz rsync:rsync:gz
WALK_NAMES := $(foreach package,$(WALK_PACKAGES),$(firstword $(subst :, ,$(package))))

.PHONY: walks test-walks test-walks-guest test-filesystems test-walks-suites
walks: $(WALK_NAMES:%=$(WALKS)/%-plain.done) $(WALK_NAMES:%=$(WALKS)/%-ahead.done)

# For a package: its folder, its compression, and a variant; its sources, the library's headers, and
# where the library is installed.
define walk_way
$(WALKS)/$(1)-$(4).done: build/apt/$(1).orig.tar.$(3) $(5)
	$$(call say,MAKE,$(WALKS)/$(1)-$(4))
	$$(Q)tools/deps walks
	$$(Q)rm -rf $(WALKS)/$(1)-$(4)
	$$(Q)mkdir -p $(WALKS)/$(1)-$(4)
	$$(Q)tar -xf $$< -C $(WALKS)/$(1)-$(4) --strip-components=1
	$$(if $$(dry),,+)$$(Q)HOST=$(CROSS:-=) $$(call quiet,$(1) $(4)) apps/$(2)/build $(1) $(WALKS)/$(1)-$(4) $(WALKS)/$(4) $(6)
	@touch $$@
endef

define walk_package
build/apt/$(1).orig.tar.$(3): | tools/debian-source
	$$(call say,FETCH)
	$$(Q)tools/debian-source $(1) $$@

$(call walk_way,$(1),$(2),$(3),plain,apps/$(2)/build)

$(call walk_way,$(1),$(2),$(3),ahead,$(wildcard apps/$(2)/* apps/ahead*.h) \
	| $(BUILD)/include/syscript.h $(BUILD)/include/linux/syscript.h,$(BUILD)/include $$(LIBDIR))
endef

$(foreach package,$(WALK_PACKAGES),\
	$(eval $(call walk_package,$(word 1,$(subst :, ,$(package))),$(word 2,$(subst :, ,$(package))),$(word 3,$(subst :, ,$(package))))))

# They behave like the plain ones, also while files change.
WALK_TESTS := apps/tests/test_walks.py apps/tests/test_ahead.py
test-walks: walks $(BUILD)/libsyscript.so
	$(PYTEST) $(WALK_TESTS) $(PYTEST_ARGS)

# With scripts in the kernel, all tests that need the library. A guest's memory cannot hold the
# trees of all tests.
test-walks-guest: walks $(BUILD)/libsyscript.so module
	vm/guest -m -k $(KREL) -- $(PYTEST) -o tmp_path_retention_policy=failed -k "not missing" \
		$(WALK_TESTS) $(PYTEST_ARGS)

$(BUILD)/tests/apps/still.so: apps/tests/still.c
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(USER_CFLAGS) $(USER_WARNINGS) $(CFLAGS) -shared -fPIC -o $@ $<

# On file systems of every kind, and what they gain there.
test-filesystems: all walks $(BUILD)/tests/vm/dircheck $(BUILD)/tests/unit/test_lib_files \
		$(BUILD)/tests/apps/still.so module
	$(Q)tools/deps filesystems
	vm/guest -m -k $(KREL) --icount --virtiofs --memory 2G --timeout 7200 -- \
		apps/tests/filesystems.py -o $(BUILD)/filesystems.json $(FILE_SYSTEMS)

# The programs' own tests of the patched parts, without and with the patches.
test-walks-suites: walks $(BUILD)/libsyscript.so
	tools/deps suites
	apps/suites $(WALK_NAMES)

# -- NSD -----------------------------------------------------------------------------------
# $(NSD)/plain/nsd, $(NSD)/frames/nsd: as Debian has it, and with queries as frames.

NSD := $(BUILD)/nsd
NSD_WAYS := plain frames

.PHONY: nsd nsd-newest test-nsd test-nsd-suite
nsd: $(NSD_WAYS:%=$(NSD)/%.done)

$(BUILD)/apt/nsd.orig.tar.gz: | tools/debian-source
	$(call say,FETCH)
	$(Q)tools/debian-source nsd $@

$(NSD)/frames.done: $(wildcard apps/nsd/*) scripts/net/datagrams.lua $(BUILD)/libsyscript.a
$(NSD)/frames.done: private NSD_ROOT := .

$(NSD_WAYS:%=$(NSD)/%.done): $(NSD)/%.done: $(BUILD)/apt/nsd.orig.tar.gz apps/nsd/build
	$(call say,MAKE,$(NSD)/$*)
	$(Q)tools/deps nsd
	$(Q)rm -rf $(NSD)/$*-source
	$(Q)mkdir -p $(NSD)/$*-source
	$(Q)tar -xf $< -C $(NSD)/$*-source --strip-components=1
	$(if $(dry),,+)$(Q)$(call quiet,nsd $*) apps/nsd/build nsd $(NSD)/$*-source $(NSD)/$* $(NSD_ROOT)
	@touch $@

# As built in Debian's newest suite, with AF_XDP; not every mirror has its source.
nsd-newest: $(NSD)/newest.done
$(NSD)/newest.done: apps/built.py vm/kernels.py
	$(call say,FETCH)
	$(Q)tools/deps kernel
	$(Q)$< nsd $(@:.done=)
	@touch $@

# Both give the same replies, in a guest.
test-nsd: nsd module $(BUILD)/syscript
	vm/guest -m -k $(KREL) -- $(PYTEST) apps/tests/test_nsd.py apps/tests/test_nsd_attack.py \
		$(PYTEST_ARGS)

# NSD's own tests, without and with the patch: TPKG is the test directory of NSD's repository.
test-nsd-suite: nsd
	apps/nsd/suite $(TPKG)
