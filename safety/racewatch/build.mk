# SPDX-License-Identifier: GPL-2.0
# racewatch.ko, and the modules that its tests load.

$(eval $(call safety_tool,racewatch))
$(eval $(call safety_foreign,ecryptfs+racewatch))
$(eval $(call safety_foreign,reiserfs+racewatch))
$(eval $(call safety_test,planted_races+racewatch))
