# SPDX-License-Identifier: GPL-2.0
# $(BUILD)/cpio/cpio: Debian's cpio, copying in compounds; $(BUILD)/cpio/plain: as it is.

CPIO := $(BUILD)/cpio
CPIO_PATCHES := $(sort $(wildcard apps/cpio/patches/*.patch))
# Next to the kernels' packages: `make clean` leaves it.
CPIO_ARCHIVE := $(BUILD)/apt/cpio.orig.tar.bz2
# It is from before GCC 10, and of types that clang does not like.
CPIO_CFLAGS := -O2 -fcommon -w -Wno-incompatible-function-pointer-types

.PHONY: cpio test-cpio
cpio: $(CPIO)/cpio

$(CPIO_ARCHIVE): apps/source.py
	$(call say,FETCH)
	$(Q)$< cpio $@

# One compiler for both: what is not marked it compiles as ever.
$(CPIO)/plain: $(CPIO_ARCHIVE) apps/cpio/build.mk | $(BUILD)/cosy-cc
	$(call say,MAKE)
	$(Q)tools/deps cpio
	$(Q)rm -rf $(CPIO)/source
	$(Q)mkdir -p $(CPIO)/source
	$(Q)tar -xf $< -C $(CPIO)/source --strip-components=1
	$(Q)cd $(CPIO)/source && ./configure -q --disable-nls \
		CC=$(abspath $(BUILD))/cosy-cc CFLAGS="$(CPIO_CFLAGS)"
	$(Q)for part in gnu lib src; do $(MAKE) -s -C $(CPIO)/source/$$part || exit 1; done
	$(Q)cp $(CPIO)/source/src/cpio $@

$(CPIO)/cpio: $(CPIO)/plain $(CPIO_PATCHES) $(BUILD)/cosy-cc
	$(call say,MAKE)
	$(Q)rm -rf $(CPIO)/patched
	$(Q)cp -a $(CPIO)/source $(CPIO)/patched
	$(Q)for p in $(abspath $(CPIO_PATCHES)); do \
		patch -d $(CPIO)/patched -p1 -s --no-backup-if-mismatch <$$p || exit 1; done
	$(Q)$(MAKE) -s -C $(CPIO)/patched/src
	$(Q)cp $(CPIO)/patched/src/cpio $@

# Both do the same.
test-cpio: $(CPIO)/cpio
	$(PYTEST) tests/apps/test_cpio.py $(PYTEST_ARGS)
