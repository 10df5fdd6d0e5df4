# SPDX-License-Identifier: GPL-2.0
# What SAFETY=evmon adds to a module's Kbuild.

ccflags-y += -include $(safety_dir)/evmon/evmon.h
KBUILD_EXTRA_SYMBOLS += $(SAFETY_BUILT)/evmon/Module.symvers
