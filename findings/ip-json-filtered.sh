#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What ip -j prints of devices that a filter leaves out
#
# Versions:  iproute2 6.1.0, Linux 6.18
# Guess:     an object for each device that the text has a paragraph for; none: [].
# Behaviour: where ip filters, as by "up", each device that is left out is an empty object, {}: the
#            list has as many objects as there are devices. Where the kernel filters, as by a type
#            that it has, it is as guessed.
# Seen:      of lo and a tap, both down: "up": [{},{}], as text nothing; "type tun": [{...}]
# Here:      `syscript net show --json` asks for one device by its name, without a filter: one object
#            (cli/net.c).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian iproute2 6.1.0-3
debian libbpf1 1:1.1.2-0+deb12u1
debian libmnl0 1.0.4-3
export LD_LIBRARY_PATH=$tmp/root/usr/lib/x86_64-linux-gnu
ip=$tmp/root/bin/ip
cat >"$tmp/show" <<SH
$ip tuntap add tap9 mode tap
for device in \$(ls /proc/sys/net/ipv4/conf | grep -vxE 'all|default|lo|tap9'); do
	$ip link del "\$device" 2>/dev/null || true
done
$ip -br link show | wc -l
$ip -j link show up
$ip link show up | wc -l
$ip -j link show type tun | sed 's/{"ifindex[^}]*}/{...}/'
SH
expect "two devices; up, as text, of type tun" "2 [{},{}] 0 [{...}]" \
	"$(unshare -Urn sh "$tmp/show" | xargs)"
