# SPDX-License-Identifier: GPL-2.0
# kefence.ko, and the modules that its tests load.

$(eval $(call safety_tool,kefence))
$(eval $(call safety_foreign,ecryptfs+kefence))
$(eval $(call safety_foreign,reiserfs+kefence))
$(eval $(call safety_test,planted+kefence))
$(eval $(call safety_test,leaky+kefence))

# Patterns of published faults.
KEFENCE_CVES := cve_2021_43267 cve_2022_41674 cve_2016_2384 cve_2017_2636 cve_2019_19525
$(foreach cve,$(KEFENCE_CVES),$(eval $(call safety_test,$(cve)+kefence)))
