# SPDX-License-Identifier: GPL-2.0
# Debian's programs, with compounds and as they are: $(BUILD)/cpio/cpio, $(BUILD)/cpio/plain.
# Of each, apps/NAME/build builds NAME in a directory of sources, again after patches.

COMPOUND_APPS := busybox cpio

.PHONY: $(COMPOUND_APPS) $(COMPOUND_APPS:%=test-%)

define compound_app
$(1): $(BUILD)/$(1)/$(1)

# Next to the kernels' packages: `make clean` leaves it.
$(BUILD)/apt/$(1).orig.tar.bz2: apps/source.py
	$$(call say,FETCH)
	$$(Q)$$< $(1) $$@

# One compiler for both: what is not marked it compiles as ever.
$(BUILD)/$(1)/plain: $(BUILD)/apt/$(1).orig.tar.bz2 apps/$(1)/build | $(BUILD)/cosy-cc
	$$(call say,MAKE)
	$$(Q)tools/deps bzip2
	$$(Q)rm -rf $$(@D)/source
	$$(Q)mkdir -p $$(@D)/source
	$$(Q)tar -xf $$< -C $$(@D)/source --strip-components=1
	$$(Q)CC=$$(abspath $(BUILD))/cosy-cc apps/$(1)/build $$(@D)/source $$@

$(BUILD)/$(1)/$(1): $(BUILD)/$(1)/plain $(wildcard apps/$(1)/patches/*.patch) $(BUILD)/cosy-cc
	$$(call say,MAKE)
	$$(Q)rm -rf $$(@D)/patched
	$$(Q)cp -a $$(@D)/source $$(@D)/patched
	$$(Q)for p in $$(sort $$(filter %.patch,$$(abspath $$^))); do \
		patch -d $$(@D)/patched -p1 -s --no-backup-if-mismatch <$$$$p || exit 1; done
	$$(Q)CC=$$(abspath $(BUILD))/cosy-cc apps/$(1)/build $$(@D)/patched $$@

# Both do the same.
test-$(1): $(BUILD)/$(1)/$(1)
	$$(PYTEST) tests/apps/test_$(1).py $$(PYTEST_ARGS)
endef

$(foreach app,$(COMPOUND_APPS),$(eval $(call compound_app,$(app))))
