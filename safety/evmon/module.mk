# SPDX-License-Identifier: GPL-2.0
# What SAFETY=evmon adds to a module's Kbuild.

ccflags-y += -include $(safety_dir)/evmon/evmon.h
# ccflags-y may be expanded before it is known which file is compiled.
$(obj)/%.o: private KBUILD_CFLAGS += $(if \
	$(shell grep -s '^.define pr_fmt' $<),-DEVMON_OWN_PR_FMT)
KBUILD_EXTRA_SYMBOLS += $(SAFETY_BUILT)/evmon/Module.symvers
