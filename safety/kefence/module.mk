# SPDX-License-Identifier: GPL-2.0
# What SAFETY=kefence adds to a module's Kbuild.

# A tail call would show the caller's caller as the allocating place.
ccflags-y += -include $(safety_dir)/kefence/kefence.h -fno-optimize-sibling-calls
KBUILD_EXTRA_SYMBOLS += $(SAFETY_BUILT)/kefence/Module.symvers
