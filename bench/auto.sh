#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# usage: auto.sh BUILD DIRECTORY: a program, its trace, and the patch that cosy-cc --auto makes from
# both. The trace has few records; the measured run has a hundred times as many.
set -eu

build=$(readlink -f "$1")
rm -rf "$2"
mkdir -p "$2"
COSY_METER=$(readlink -f "${COSY_METER%% *}")" ${COSY_METER#* }"
export COSY_METER
cp tests/cosy/advise/lookup.c "$2"
cd "$2"

awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%-128d", i }' >records
gcc -O2 -g -o plain lookup.c
"$build/consolidate" record --stacks -o trace ./plain records
"$build/cosy-cc" --auto=trace --run='"$PROGRAM" records' -O2 -DRECORDS=20000 lookup.c | tee marks.patch
