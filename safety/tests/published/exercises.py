# SPDX-License-Identifier: GPL-2.0
"""Workloads for published modules in a guest, as root."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import select
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import ecryptfs as encrypted
import reiserfs as reiser
from exercise import exercise

SIZE = 64 << 20
FETCHED = Path(__file__).resolve().parents[3] / "build" / "published"
# Programs and iptables libraries of packages that are unpacked but not installed.
os.environ["PATH"] += "".join(f":{path}" for path in FETCHED.glob("*/usr/*bin"))
LIBRARIES = "usr/lib/x86_64-linux-gnu/xtables"
os.environ["LD_LIBRARY_PATH"] = ":".join(map(str, FETCHED.glob("lib*/**/lib/x86_64-linux-gnu")))
os.environ["XTABLES_LIBDIR"] = ":".join(
    ["/" + LIBRARIES, *map(str, FETCHED.glob("*/" + LIBRARIES))]
)


def run(*command: str | Path, given: str = "") -> str:
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def line(command: str) -> str:
    return run(*command.split())


# -- file systems ---------------------------------------------------------------------------


@contextlib.contextmanager
def looped(image: Path, size: int = SIZE) -> Iterator[str]:
    """A loop device over a file."""
    with image.open("wb") as file:
        file.truncate(size)
    run("modprobe", "loop")
    device = run("losetup", "--show", "-f", image).strip()
    try:
        yield device
    finally:
        run("losetup", "-d", device)


@contextlib.contextmanager
def mounted(device: str, top: Path, kind: str) -> Iterator[Path]:
    top.mkdir(exist_ok=True)
    run("mount", "-t", kind, device, top)
    try:
        yield top
    finally:
        run("umount", top)


def ecryptfs(top: Path) -> None:
    """All of exercise.py over tmpfs."""
    with encrypted.mounted(top / "lower", top / "upper") as upper:
        exercise(upper)


def reiserfs(top: Path) -> None:
    """All of exercise.py, on a loop device."""
    with reiser.mounted(top / "image", top / "upper") as upper:
        exercise(upper)


def minix(top: Path) -> None:
    """Files, directories, links, on a loop device."""
    with looped(top / "image") as device:
        run("mkfs.minix", "-3", device)
        with mounted(device, top / "upper", "minix") as upper:
            some_files(upper)


def bfs(top: Path) -> None:
    """Files, on a loop device."""
    with looped(top / "image", 4 << 20) as device:
        run("mkfs.bfs", device)
        with mounted(device, top / "upper", "bfs") as upper:
            for number in range(20):
                (upper / f"file{number}").write_bytes(bytes([number]) * 1000 * number)
            (upper / "file3").rename(upper / "renamed")
            assert (upper / "renamed").read_bytes() == b"\3" * 3000
            for number in (5, 7):
                (upper / f"file{number}").unlink()
            os.link(upper / "file9", upper / "link")


def apfs(top: Path) -> None:
    """Files, directories, links, on a loop device."""
    with looped(top / "image", 1 << 30) as device:
        run("mkapfs", device)
        (top / "upper").mkdir()
        run("mount", "-t", "apfs", "-o", "readwrite", device, top / "upper")
        try:
            some_files(top / "upper")
        finally:
            run("umount", top / "upper")


def overlay(top: Path) -> None:
    """All of exercise.py over tmpfs, and copies up."""
    for name in ("lower", "changed", "work", "upper"):
        (top / name).mkdir()
    (top / "lower" / "below").write_text("below")
    options = f"lowerdir={top / 'lower'},upperdir={top / 'changed'},workdir={top / 'work'}"
    run("mount", "-t", "overlay", "-o", options, "overlay", top / "upper")
    try:
        with (top / "upper" / "below").open("a") as file:
            file.write(", and above")
        assert (top / "upper" / "below").read_text() == "below, and above"
        exercise(top / "upper")
    finally:
        run("umount", top / "upper")


def some_files(top: Path) -> None:
    """What a small file system has: no links by name, no long names."""
    (top / "directory").mkdir()
    for number in range(30):
        path = top / "directory" / f"file{number}"
        path.write_bytes(os.urandom(977 * number))
        os.link(path, top / f"link{number}")
    (top / "directory").rename(top / "renamed")
    for number in range(0, 30, 3):
        path = top / "renamed" / f"file{number}"
        with path.open("r+b") as file:
            file.truncate(500)
        path.unlink()
    os.sync()
    assert len(list((top / "renamed").iterdir())) == 20


def on_device(device: str, top: Path) -> None:
    """All of exercise.py in an ext4 on a block device."""
    run("mkfs.ext4", "-q", "-F", device)
    with mounted(device, top / "ext4", "ext4") as upper:
        exercise(upper)


# -- block devices --------------------------------------------------------------------------


@contextlib.contextmanager
def target(name: str, table: str) -> Iterator[str]:
    run("dmsetup", "create", name, "--noudevsync", "--table", table)
    try:
        yield run_node(name)
    finally:
        run("dmsetup", "remove", "--noudevsync", "--retry", name)


def run_node(name: str) -> str:
    """The node of a mapped device: no udev makes one here."""
    run("dmsetup", "mknodes", name)
    return f"/dev/mapper/{name}"


def mapper(top: Path) -> None:
    """ext4 over delay, flakey and crypt; zero, writecache."""
    with looped(top / "image") as device, looped(top / "second") as second:
        sectors = SIZE // 512
        for name, table in (
            ("delay", f"0 {sectors} delay {device} 0 1"),
            ("flakey", f"0 {sectors} flakey {device} 0 60 0"),
            ("crypt", f"0 {sectors} crypt aes-xts-plain64 {'5a' * 64} 0 {device} 0"),
            ("writecache", f"0 {sectors} writecache s {device} {second} 4096 0"),
        ):
            with target(f"published-{name}", table) as node:
                on_device(node, top)
        with target("published-zero", f"0 {sectors} zero") as node, Path(node).open("rb") as file:
            assert file.read(4096) == bytes(4096)


def writeboost(top: Path) -> None:
    """ext4 over the target, with a cache on a second device."""
    with looped(top / "image") as backing, looped(top / "cache", SIZE) as cache:
        table = f"0 {SIZE // 512} writeboost {backing} {cache}"
        with target("published-writeboost", table) as node:
            on_device(node, top)


def zram(top: Path) -> None:
    """ext4 on it, and a reset."""
    disk = Path("/sys/block/zram0")
    (disk / "disksize").write_text(str(SIZE))
    on_device("/dev/zram0", top)
    (disk / "compact").write_text("1")
    (disk / "mm_stat").read_text()
    (disk / "reset").write_text("1")


def null_block(top: Path) -> None:
    """Reads and writes of a device with memory, made by configfs."""
    config = Path("/sys/kernel/config/nullb/published")
    if not config.parent.exists():
        run("mount", "-t", "configfs", "none", "/sys/kernel/config")
    config.mkdir()
    for key, value in {"size": 64, "memory_backed": 1, "power": 1}.items():
        (config / key).write_text(str(value))
    # Newer kernels name the device after its directory.
    device = next(path for path in map(Path, ("/dev/published", "/dev/nullb0")) if path.exists())
    on_device(str(device), top)
    (config / "power").write_text("0")
    config.rmdir()


def rapiddisk(top: Path) -> None:
    """ext4 on a disk of memory, resized and detached; a cache of a loop device."""
    manage = Path("/sys/kernel/rapiddisk/mgmt")
    manage.write_text(f"rapiddisk attach 0 {SIZE}\n")
    time.sleep(0.2)
    on_device("/dev/rd0", top)
    manage.write_text("rapiddisk detach 0\n")


# -- networks -------------------------------------------------------------------------------


@contextlib.contextmanager
def namespace(name: str) -> Iterator[str]:
    run("ip", "netns", "add", name)
    try:
        yield name
    finally:
        run("ip", "netns", "del", name)


def within(name: str, command: str) -> str:
    return line(f"ip netns exec {name} {command}")


def all_within(name: str, *commands: str) -> None:
    """Run commands in one ip process: starting it takes a second where CPUs are emulated."""
    run("ip", "netns", "exec", name, "sh", "-ec", "\n".join(commands))


def pinged(name: str, address: str) -> None:
    within(name, f"ping -q -c 20 -i 0.01 -s 1400 -W 5 {address}")


@contextlib.contextmanager
def pair() -> Iterator[tuple[str, str]]:
    """Two namespaces joined by a veth pair: 10.9.0.1 and 10.9.0.2."""
    with namespace("here") as here, namespace("there") as there:
        line("ip link add one netns here type veth peer name two netns there")
        within(here, "ip addr add 10.9.0.1/24 dev one")
        within(there, "ip addr add 10.9.0.2/24 dev two")
        within(here, "ip link set one up")
        within(there, "ip link set two up")
        yield here, there


def veth(top: Path) -> None:
    """Pings between namespaces, statistics, settings."""
    with pair() as (here, there):
        pinged(here, "10.9.0.2")
        within(here, "ip link set one mtu 1000")
        within(there, "ip link set two mtu 1000")
        pinged(there, "10.9.0.1")
        within(here, "ip -s link show one")


def dummy(top: Path) -> None:
    """Ping its own address; create many devices."""
    with namespace("here") as here:
        within(here, "ip link set lo up")
        links = "".join(f"link add d{number} type dummy\n" for number in range(20))
        (top / "links").write_text(links)
        line(f"ip -n {here} -batch {top / 'links'}")
        within(here, "ip addr add 10.8.0.1/24 dev d3")
        within(here, "ip link set d3 up")
        pinged(here, "10.8.0.1")


def macvlan(top: Path) -> None:
    """A bridge of two on a dummy device."""
    with namespace("here") as here:
        within(here, "ip link set lo up")
        within(here, "ip link add base type dummy")
        within(here, "ip link set base up")
        for number in (1, 2):
            within(here, f"ip link add m{number} link base type macvlan mode bridge")
            within(here, f"ip addr add 10.7.0.{number}/24 dev m{number}")
            within(here, f"ip link set m{number} up")
        pinged(here, "10.7.0.1")
        within(here, "ip link set m2 type macvlan mode private")


def ifb(top: Path) -> None:
    """Up, packets sent to it, down."""
    with namespace("here") as here:
        within(here, "ip link add i0 type ifb")
        within(here, "ip addr add 10.6.0.1/24 dev i0")
        within(here, "ip link set i0 up")
        with contextlib.suppress(RuntimeError):  # no one is there
            within(here, "ping -q -c 3 -i 0.01 -W 1 10.6.0.2")


def tun(top: Path) -> None:
    """A device whose other end is this process: packets in both directions."""
    file = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(file, 0x400454CA, struct.pack("16sH22x", b"t0", 0x1001))  # TUNSETIFF: IFF_TUN
    line("ip addr add 10.5.0.1/24 dev t0")
    line("ip link set t0 up")
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for number in range(50):
        udp.sendto(bytes(100 + 20 * number), ("10.5.0.2", 9))
    packets = 0
    while select.select([file], [], [], 0.2)[0] and packets < 50:
        packet = os.read(file, 4096)
        packets += 1
        # Sent back with source and destination exchanged.
        os.write(file, packet[:12] + packet[16:20] + packet[12:16] + packet[20:])
    assert packets > 10
    udp.close()
    os.close(file)


def nat_rtsp(top: Path) -> None:
    """An RTSP dialogue over TCP, with the NAT helper on port 554."""
    answer = (
        b"RTSP/1.0 200 OK\r\nCSeq: 2\r\nTransport: RTP/AVP;unicast;client_port=5000-5001\r\n\r\n"
    )
    ask = (
        b"SETUP rtsp://127.0.0.1/stream RTSP/1.0\r\nCSeq: 2\r\n"
        b"Transport: RTP/AVP;unicast;client_port=5000-5001\r\n\r\n"
    )
    run("nft", "add table ip t; add chain ip t o { type nat hook output priority -100; }")
    run("nft", 'add ct helper ip t rtsp { type "rtsp" protocol tcp; }')
    run("nft", "add rule ip t o tcp dport 555 redirect to :554")
    run("nft", "add chain ip t h { type filter hook output priority 0; }")
    run("nft", 'add rule ip t h tcp dport 554 ct helper set "rtsp"')
    server = socket.create_server(("127.0.0.1", 554))

    def serve() -> None:
        other, _ = server.accept()
        with other:
            for _ in range(5):
                other.recv(4096)
                other.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with socket.create_connection(("127.0.0.1", 555), timeout=10) as client:
            for _ in range(5):
                client.sendall(ask)
                assert client.recv(4096)
    finally:
        thread.join(10)
        server.close()
        run("nft", "delete table ip t")


def xtables(top: Path) -> None:
    """Rules with the module's matches and targets, and packets that hit them."""
    rules = [
        "-A OUTPUT -m length2 --length 0:2000 -j ACCEPT",
        "-A OUTPUT -m ipv4options --flags 3 -j ACCEPT",
        "-A OUTPUT -p tcp -m lscan --synscan -j ACCEPT",
        "-A INPUT -m psd --psd-weight-threshold 10 -j ACCEPT",
        "-A INPUT -m condition --condition published -j ACCEPT",
        "-A INPUT -m fuzzy --lower-limit 100 --upper-limit 1000 -j ACCEPT",
        "-A OUTPUT -m quota2 --name published --quota 10000 -j ACCEPT",
        "-A INPUT -p tcp --dport 4000 -j TARPIT",
        "-A INPUT -p udp --dport 7 -j ECHO",
        "-A OUTPUT -j LOGMARK",
        "-A OUTPUT -j ACCOUNT --addr 127.0.0.0/8 --tname published",
        "-A INPUT -p tcp --dport 4001 -j CHAOS --tarpit",
        "-A INPUT -p tcp --dport 4002 -j DELUDE",
    ]
    there = 0
    for rule in rules:
        done = subprocess.run(["iptables-legacy", *rule.split()], capture_output=True, check=False)
        there += not done.returncode
    assert there > 5, "the rules' libraries: xtables-addons-common"
    line("ping -q -c 10 -i 0.01 127.0.0.1")
    for port in (4000, 4001, 4002):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=0.5).close()
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.sendto(b"echo", ("127.0.0.1", 7))
    udp.close()
    for path in Path("/proc/net").rglob("*published*"):
        path.read_text()
    run("iptables-legacy", "-F")


def rtpengine(top: Path) -> None:
    """Create and remove tables."""
    control = Path("/proc/rtpengine/control")
    for number in (0, 3):
        control.write_text(f"add {number}\n")
    for path in sorted(Path("/proc/rtpengine").rglob("*")):
        if path.is_file() and path.name not in ("control",):
            with contextlib.suppress(OSError):
                path.read_text()
    for number in (0, 3):
        control.write_text(f"del {number}\n")


# Batches for ip: an IPv4 namespace, an IPv6 one, and a dual-stack one between them.
CABLES = """
link add n4 netns four type veth peer name b4 netns both
link add b6 netns both type veth peer name n6 netns six
"""
FOUR = """
addr add 192.0.2.1/24 dev n4
link set n4 up
route add default via 192.0.2.2
"""
BOTH = """
addr add 192.0.2.2/24 dev b4
addr add 2001:db8:1::1/64 dev b6 nodad
link set b4 up
link set b6 up
"""
SIX = """
addr add 2001:db8:1::2/64 dev n6 nodad
link set n6 up
route add default via 2001:db8:1::1
"""


def jool(top: Path) -> None:
    """Translate addresses between IPv4 and IPv6 namespaces, stateful and stateless."""
    for program, options in (
        ("jool", "instance add n --netfilter --pool6 64:ff9b::/96"),
        ("jool_siit", "instance add n --netfilter --pool6 2001:db8::/96"),
    ):
        with namespace("four") as four, namespace("both") as both, namespace("six") as six:
            run("ip", "-batch", "-", given=CABLES)
            for name, settings in ((four, FOUR), (both, BOTH), (six, SIX)):
                run("ip", "-n", name, "-batch", "-", given=settings)
            forwards = "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1"
            ends = (f"{program} -i n stats display", f"{program} instance remove n")
            if program == "jool":
                all_within(
                    *(both, forwards, f"jool {options}"),
                    "jool -i n pool4 add 192.0.2.2 61000-65000 --icmp",
                    "jool -i n pool4 add 192.0.2.2 61000-65000 --udp",
                    "jool -i n global display",
                )
                pinged(six, "64:ff9b::c000:201")
                displays = "jool -i n session display --icmp", "jool -i n bib display --icmp"
                all_within(both, *displays, *ends)
            else:
                all_within(
                    *(both, forwards, f"jool_siit {options}"),
                    "jool_siit -i n eamt add 198.51.100.2/32 2001:db8:1::2/128",
                    "jool_siit -i n eamt display",
                )
                pinged(four, "198.51.100.2")
                all_within(both, *ends)


def netflow(top: Path) -> None:
    """Packets counted by rules, and exported flows."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 2055))
    udp.settimeout(20)
    for chain in ("OUTPUT", "INPUT"):
        run("iptables-legacy", "-A", chain, "-j", "NETFLOW")
    line("ping -q -c 20 -i 0.01 127.0.0.1")
    server = socket.create_server(("127.0.0.1", 3000))
    for _ in range(10):
        socket.create_connection(("127.0.0.1", 3000)).close()
    server.close()
    for key, value in {"protocol": 9, "flush": 1}.items():
        Path("/proc/sys/net/netflow", key).write_text(str(value))
    assert udp.recv(2048)
    for path in Path("/proc/net/stat").glob("*netflow*"):
        path.read_text()
    for protocol in (10, 5):
        Path("/proc/sys/net/netflow/protocol").write_text(str(protocol))
        line("ping -q -c 3 -i 0.01 127.0.0.1")
        Path("/proc/sys/net/netflow/flush").write_text("1")
    run("iptables-legacy", "-F")
    udp.close()


def ovpn(top: Path) -> None:
    """Create and remove devices."""
    with namespace("here") as here:
        for number in range(5):
            within(here, f"ip link add o{number} type ovpn-dco")
            within(here, f"ip link set o{number} up")


# -- the rest -------------------------------------------------------------------------------


def ciphers(top: Path) -> None:
    """Self tests at registration, then ciphers through AF_ALG."""
    for name, key, vector in (
        ("ecb(serpent)", 32, 0),
        ("cbc(twofish)", 32, 16),
        ("ecb(blowfish)", 16, 0),
    ):
        enciphered(name, key, vector)


def enciphered(name: str, key: int, vector: int) -> None:
    """Encrypt and decrypt some pages; key and initial vector sizes in bytes."""
    text = os.urandom(4096)
    with socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET) as algorithm:
        algorithm.bind(("skcipher", name))
        algorithm.setsockopt(socket.SOL_ALG, socket.ALG_SET_KEY, bytes(range(key)))
        operation, _ = algorithm.accept()
        begin = {"iv": bytes(vector)} if vector else {}
        with operation:
            operation.sendmsg_afalg([text], op=socket.ALG_OP_ENCRYPT, **begin)
            secret = operation.recv(4096)
            operation.sendmsg_afalg([secret], op=socket.ALG_OP_DECRYPT, **begin)
            assert secret != text == operation.recv(4096), name


def hashes(top: Path) -> None:
    """By AF_ALG."""
    digests("wp512", "rmd160", "md4")


def digests(*names: str) -> None:
    for name in names:
        with socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET) as algorithm:
            algorithm.bind(("hash", name))
            operation, _ = algorithm.accept()
            with operation:
                operation.sendall(bytes(5000))
                assert operation.recv(128)


def gost(top: Path) -> None:
    """A hash and ciphers by AF_ALG."""
    digests("gosthash94")
    for name, vector in (("ecb(magma)", 0), ("ecb(kuznyechik)", 0), ("cbc(kuznyechik)", 16)):
        enciphered(name, 32, vector)


def acpi_call(top: Path) -> None:
    """Call methods of the guest's ACPI tables, and missing ones."""
    path = Path("/proc/acpi/call")
    for method in (r"\_SB.PCI0._STA", r"\_SB.NONE", r"\_SB.PCI0._OSC 1 2 {0x01,0x02} b010203"):
        path.write_text(method)
        path.read_text()


def loopback_video(top: Path) -> None:
    """Frames of 64 by 48, written and read."""
    devices = [Path(f"/dev/{p.name}") for p in Path("/sys/class/video4linux").iterdir()]
    output = os.open(devices[0], os.O_RDWR)
    # struct v4l2_format: type VIDEO_OUTPUT, YUYV.
    form = struct.pack("<IIIIIIIII168x", 2, 0, 64, 48, 0x56595559, 1, 128, 64 * 48 * 2, 8)
    fcntl.ioctl(output, 0xC0D05605, bytearray(form.ljust(208, b"\0")))  # VIDIOC_S_FMT
    frame = bytes(64 * 48 * 2)
    for _ in range(10):
        os.write(output, frame)
    reader = os.open(devices[0], os.O_RDWR)
    fcntl.ioctl(reader, 0x80685600, bytearray(104))  # VIDIOC_QUERYCAP
    assert os.read(reader, len(frame)) == frame
    os.close(reader)
    os.close(output)


def scap(top: Path) -> None:
    """Recording of all system calls, on each CPU, while programs run."""
    opened = []
    for path in sorted(Path("/dev").glob("scap[0-9]*")):
        file = os.open(path, os.O_RDWR)
        ring = mmap.mmap(file, 2 * 8 << 20, prot=mmap.PROT_READ)
        info = mmap.mmap(file, mmap.PAGESIZE)
        opened.append((file, ring, info))
    assert opened
    for file, _, _ in opened:
        fcntl.ioctl(file, ord("s") << 8 | 1)  # PPM_IOCTL_ENABLE_CAPTURE
    for _ in range(5):
        line("ls -l /etc")
    (top / "file").write_bytes(bytes(100_000))
    with socket.create_server(("127.0.0.1", 0)) as server:
        for _ in range(5):
            with socket.create_connection(server.getsockname()) as client:
                client.sendall(b"text")
    for file, _, _ in opened:
        fcntl.ioctl(file, ord("s") << 8 | 4, 2000)  # PPM_IOCTL_SET_SNAPLEN
        fcntl.ioctl(file, ord("s") << 8 | 3, 2)  # PPM_IOCTL_ENABLE_DROPPING_MODE
    line("ls -l /etc")
    heads = [struct.unpack_from("<I", info)[0] for _, _, info in opened]
    assert any(heads), "nothing was recorded"
    for file, ring, info in opened:
        ring.close()
        info.close()
        os.close(file)


def dahdi(top: Path) -> None:
    """Timers; pseudo channels in a conference; a span between two of this machine."""
    code = 0xDA << 8
    timer = os.open("/dev/dahdi/timer", os.O_RDWR)
    fcntl.ioctl(timer, 0x40040000 | code | 47, struct.pack("i", 160))  # DAHDI_TIMERCONFIG
    poll = select.poll()
    poll.register(timer, select.POLLPRI)
    for _ in range(20):
        assert poll.poll(5000)
        fcntl.ioctl(timer, 0x40040000 | code | 48, struct.pack("i", 1))  # DAHDI_TIMERACK
    pseudo = [os.open("/dev/dahdi/pseudo", os.O_RDWR) for _ in range(3)]
    for file in pseudo:
        # DAHDI_SETCONF: DAHDI_CONF_CONF, a talker and a listener.
        fcntl.ioctl(file, 0xC00C0000 | code | 13, struct.pack("iii", 0, 1, 4 | 0x100 | 0x200))
        fcntl.ioctl(file, 0x40040000 | code | 1, struct.pack("i", 160))  # DAHDI_SET_BLOCKSIZE
    for _ in range(20):
        for file in pseudo:
            os.write(file, os.urandom(160))
            assert os.read(file, 160)
    control = os.open("/dev/dahdi/ctl", os.O_RDWR)
    for key in ("1:0", "1:1"):
        span = struct.pack("20s40siii", b"loc", key.encode(), 4, 0, 0)
        # DAHDI_DYNAMIC_CREATE
        fcntl.ioctl(control, 0xC0000000 | len(span) << 16 | code | 80, bytearray(span))
    time.sleep(0.3)
    for key in ("1:0", "1:1"):
        span = struct.pack("20s40siii", b"loc", key.encode(), 4, 0, 0)
        fcntl.ioctl(control, 0x40000000 | len(span) << 16 | code | 81, bytearray(span))
    for file in (*pseudo, timer, control):
        os.close(file)


def igb_uio(top: Path) -> None:
    """Bound to a device without a driver, its registers mapped."""
    for device in Path("/sys/bus/pci/devices").iterdir():
        free = not (device / "driver").exists()
        if free and (device / "class").read_text().startswith("0x0106"):  # AHCI
            break
    else:
        raise AssertionError("no device is free")
    vendor, kind = ((device / name).read_text().strip() for name in ("vendor", "device"))
    Path("/sys/bus/pci/drivers/igb_uio/new_id").write_text(f"{vendor[2:]} {kind[2:]}")
    file = os.open("/dev/uio0", os.O_RDWR)
    with mmap.mmap(file, mmap.PAGESIZE) as registers:
        registers.read(16)
    os.close(file)
    for path in (device / "uio" / "uio0" / "maps").rglob("*"):
        if path.is_file():
            path.read_text()


def vpoll(top: Path) -> None:
    """Events that are set, polled."""
    file = os.open("/dev/vpoll", os.O_RDWR)
    epoll = select.epoll()
    epoll.register(file, select.EPOLLIN | select.EPOLLPRI)
    for code, events in ((1, 1), (3, 2), (2, 2), (3, 3)):
        fcntl.ioctl(file, ord("^") << 8 | code, events)
        epoll.poll(0)
    assert epoll.poll(1)
    epoll.close()
    os.close(file)


def lime(top: Path) -> None:
    """Dump all memory to /dev/null."""


def evdi(top: Path) -> None:
    """Virtual displays, added and removed."""
    device = Path("/sys/devices/evdi")
    for _ in range(2):
        (device / "add").write_text("1")
    assert int((device / "count").read_text()) == 2
    for card in Path("/dev/dri").glob("card*"):
        os.close(os.open(card, os.O_RDWR))
    (device / "remove_all").write_text("1")


# A mouse's report descriptor: a button and two axes.
MOUSE = bytes.fromhex(
    "05010902a1010901a1000509190129031500250195037501810295017505810305010930093115812"
    "57f750895028106c0c0"
)
# A keyboard's: eight modifier bits, six keys.
KEYBOARD = bytes.fromhex(
    "05010906a101050719e029e71500250175019508810295017508810195067508150025650507190029658100c0"
)


def uhid(vendor: int, product: int) -> None:
    """A HID device emulated by this process, with some reports."""
    file = os.open("/dev/uhid", os.O_RDWR | os.O_NONBLOCK)
    fields = (b"published", b"", b"", len(MOUSE), 3, vendor, product, 0, 0)
    os.write(file, struct.pack("<I128s64s64sHHIIII", 11, *fields) + MOUSE)
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        if not select.select([file], [], [], 0.2)[0]:
            continue
        event = os.read(file, 8192)
        (kind,) = struct.unpack_from("<I", event)
        if kind in (9, 13):  # get or set a report: an answer of zeros
            (number,) = struct.unpack_from("<I", event, 4)
            kind = 10 if kind == 9 else 14
            os.write(file, struct.pack("<IIHH", kind, number, 0, 90) + bytes(90))
    for _ in range(10):
        os.write(file, struct.pack("<IH", 12, 3) + bytes([1, 2, 3]))
    for path in Path("/sys/bus/hid/devices").glob(f"*:{vendor:04X}:{product:04X}.*/*"):
        if path.is_file() and os.access(path, os.R_OK):
            with contextlib.suppress(OSError):
                path.read_bytes()
    os.close(file)


@contextlib.contextmanager
def gadget(name: str, product: int, protocol: int, description: bytes) -> Iterator[int]:
    """A USB gadget with Razer's IDs, plugged in; returns the file that sends its reports."""
    top = Path("/sys/kernel/config/usb_gadget") / name
    function, config = top / "functions/hid.0", top / "configs/c.1"
    for directory in (top, function, config):
        directory.mkdir()
    settings = {
        top / "idVendor": 0x1532,
        top / "idProduct": product,
        function / "protocol": protocol,
        function / "subclass": 1,
        function / "report_length": 90,
        function / "no_out_endpoint": 1,
    }
    for path, value in settings.items():
        path.write_text(str(value))
    (function / "report_desc").write_bytes(description)
    link = config / "hid.0"
    link.symlink_to(function)
    (top / "UDC").write_text("dummy_udc.0")
    numbers = (function / "dev").read_text().split(":")
    node = Path(f"/dev/published-{name}")
    os.mknod(node, 0o20600, os.makedev(*map(int, numbers)))
    file = os.open(node, os.O_RDWR | os.O_NONBLOCK)
    try:
        yield file
    finally:
        os.close(file)
        node.unlink()
        (top / "UDC").write_text("\n")
        link.unlink()
        for directory in (config, function, top):
            directory.rmdir()


def razer(name: str, product: int, protocol: int, description: bytes, report: bytes) -> None:
    """Plug in, read and write attributes, send reports, unplug."""
    with gadget(name, product, protocol, description) as file:
        deadline = time.monotonic() + 30
        while not (found := [*Path("/sys/bus/hid/devices").glob(f"*:1532:{product:04X}.*")]):
            assert time.monotonic() < deadline, f"{name}: no such device appeared"
            time.sleep(0.1)
        time.sleep(1)
        (device,) = found
        assert (device / "driver").resolve().name.startswith("razer")
        read = 0
        for path in device.iterdir():
            with contextlib.suppress(OSError):
                read += path.is_file() and bool(path.read_bytes())
        assert read > 5, f"{name}: {read} attributes"
        for attribute in ("matrix_effect_static", "device_mode", "logo_led_state", "dpi"):
            with contextlib.suppress(OSError):
                (device / attribute).write_bytes(b"\x01\x02")
        for _ in range(10):
            with contextlib.suppress(BlockingIOError):
                os.write(file, report)
            time.sleep(0.02)


def openrazer(top: Path) -> None:
    """A mouse and a keyboard on a dummy USB port: reports, and all attributes."""
    for module in ("dummy_hcd", "usb_f_hid", "usbhid"):
        run("modprobe", module)
    if not Path("/sys/kernel/config/usb_gadget").exists():
        run("mount", "-t", "configfs", "none", "/sys/kernel/config")
    razer("mouse", 0x0037, 2, MOUSE, bytes([1, 2, 3]))
    razer("keyboard", 0x010D, 2, MOUSE, bytes([1, 2, 3]))
    razer("keys", 0x010D, 1, KEYBOARD, bytes([2, 0, 4, 5, 0x68, 0, 0, 0]))


def digimend(top: Path) -> None:
    """Tablets emulated by a process."""
    run("modprobe", "uhid")
    uhid(0x5543, 0x0042)
    uhid(0x0458, 0x5013)


def ddcci(top: Path) -> None:
    """A display on an I2C bus without one."""
    run("modprobe", "i2c-stub", "chip_addr=0x37")
    bus = next(p for p in Path("/sys/bus/i2c/devices").glob("i2c-*"))
    with contextlib.suppress(OSError):
        (bus / "new_device").write_text("ddcci 0x37")
    with contextlib.suppress(OSError):
        (bus / "delete_device").write_text("0x37")
