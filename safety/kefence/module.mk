# SPDX-License-Identifier: GPL-2.0
# What SAFETY=kefence adds to a module's Kbuild.

# A tail call would have the caller's caller seen as who allocates.
ccflags-y += -include $(safety_dir)/kefence/kefence.h -fno-optimize-sibling-calls
KBUILD_EXTRA_SYMBOLS += $(SAFETY_BUILT)/kefence/Module.symvers
