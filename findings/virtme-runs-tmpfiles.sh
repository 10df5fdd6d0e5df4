#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What virtme-ng's guests do before the command
#
# Versions:  virtme-ng 1.42
# Guess:     its init mounts what is needed and runs the command, and nothing of systemd's.
# Behaviour: in each guest it runs the machine's systemd-tmpfiles, which makes directories for
#            all services that are installed.
# Seen:      a call in the init's main part, and --create --boot if there is such a program
# Here:      vm/virtme puts `true` in its place: 2.5 to 7 s of a boot under emulation.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
pypi virtme-ng==1.42
init=$("$python" -c 'import virtme.guest as guest; print(guest.__path__[0])')/virtme-init
expect "calls in the main part" 1 "$(grep -c '^run_systemd_tmpfiles$' "$init")"
# The function alone, as the first process, with a program of that name.
mkdir "$tmp/bin"
printf '#!/bin/sh\necho "$@"\n' >"$tmp/bin/systemd-tmpfiles"
chmod +x "$tmp/bin/systemd-tmpfiles"
{
	echo 'log() { :; }'
	sed -n '/^run_systemd_tmpfiles()/,/^}/p' "$init"
	echo run_systemd_tmpfiles
} >"$tmp/alone"
expect "arguments" "--create --boot --exclude-prefix=/dev --exclude-prefix=/root" \
	"$(PATH=$tmp/bin:$PATH unshare --map-root-user --pid --fork bash "$tmp/alone")"
