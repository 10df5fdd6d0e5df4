#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Load memcached in each of its modes, in rounds; print JSON.

The servers of all modes run at once, each with its worker on CPU 0; CPU 1 loads one at a time. A
round loads each for some seconds, in alternating slices; the rounds of one size and number of
requests are consecutive, so that values of a size are stored only once.

If modes with frames are included, all servers are at the other end of a veth pair.  In a guest,
servers on LuaJIT run as a user of its group, those on the confined engine as a user who may open
nothing else.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean
from typing import Any

import waits
from server import (
    FRAMES,
    MEMCACHED,
    MODES,
    ON_ENGINE,
    SCRIPTED,
    UDPLOAD,
    Server,
    ServerError,
    Wire,
    free_port,
)

SERVER_CPU, LOAD_CPU = 0, min(1, (os.cpu_count() or 1) - 1)
KEYS = 2000
WARM_UP = 0.2
# Shares of a run's time, at most.
WARM_UP_SHARE, COUNTED_SHARE = 1 / 4, 1 / 2
# s that one server is loaded before the next one's turn: a temporary slowdown of the machine, or of
# an emulated CPU, then affects all of them.
SLICE = 0.1
# s at most for counting mode switches: tracing disturbs, so this part is not timed.
COUNTED = 0.7
COUNTED_SIZE = 64
# Requests whose waits are timed.
TRACED = 1500


def load(
    servers: list[Server], size: int, outstanding: int, *options: str, polls: bool = True
) -> list[dict]:
    """One run of the load generator, which loads the servers in turn.

    polls: it never sleeps, which on a server's CPU takes time slices from it
    """
    command = [str(UDPLOAD), "--quiet", "--keys", str(KEYS)]
    command += ["--cpu", str(LOAD_CPU)] if polls else []
    command += ["--value-size", str(size), "--outstanding", str(outstanding), *options]
    command += ["--host", servers[0].host]
    targets = [f"{server.port}:{server.thread}" for server in servers]
    done = subprocess.run([*command, *targets], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        said = [f"{server.mode}: {server.said()}" for server in servers if server.said()]
        raise ServerError(f"the load failed, status {done.returncode}; {'; '.join(said)}")
    result = json.loads(done.stdout)
    return result.get("servers", [result])


def figures(seen: dict[str, Any]) -> dict[str, Any]:
    """The figures kept from a run."""
    gets, faults = seen["get"], ("lost", "late", "duplicate", "stray", "unanswered")
    return {
        "requests": gets["answered"] + seen["set"]["answered"],
        "throughput": gets["per_s"],
        "response_mean": gets["us"]["mean"],
        "response_stddev": gets["us"]["stddev"],
        **{name: gets["us"][name] for name in ("p50", "p99", "p999", "max")},
        "set_throughput": seen["set"]["per_s"],
        "cpu_us_per_get": seen["server_cpu_ns"] / 1000 / gets["answered"],
        "worker_busy": seen["server_cpu_ns"] / 1e9 / seen["seconds"],
        "load_busy": seen["busy"],
        **{name: seen[name] for name in faults},
    }


def depth_counts(server: Server) -> tuple[int, int]:
    """Datagrams that the server received in batches, and batches."""
    said = server.batching()
    return int(said.get("udp_batch_received", 0)), int(said.get("udp_batches", 0))


def check(server: Server) -> dict[str, str]:
    """Fail unless the server is in the mode it was started in."""
    said = server.batching()
    way, _ = ON_ENGINE.get(server.mode, (server.mode, ""))
    if server.mode != "off" and said.get("udp_batch") != way:
        raise ServerError(f"memcached was to serve with {server.mode}: {said}")
    backend = said.get("udp_batch_backend")
    if (
        server.mode in (*SCRIPTED, *FRAMES)
        and Path("/dev/syscript").exists()
        and backend != "kernel"
    ):
        raise ServerError(f"memcached runs its scripts in the {backend} backend")
    return said


def in_order(modes: list[str], number: int) -> list[str]:
    """The order of modes changes from round to round: none always has the same predecessor."""
    turned = modes[number % len(modes) :] + modes[: number % len(modes)]
    return turned if number % 2 else turned[::-1]


class Rounds:
    """The servers, and the results of each run."""

    def __init__(self, args: argparse.Namespace, servers: dict[str, Server]) -> None:
        self.args = args
        self.servers = servers
        self.runs: list[dict[str, Any]] = []
        self.switches: dict[str, dict[str, float]] = {}
        self.waits: dict[str, dict[str, dict[str, float]]] = {}
        self.began = time.monotonic()
        self.load = ["--keys-per-get", str(args.keys_per_get), "--threads", str(args.threads)]

    def __call__(self) -> dict[str, Any]:
        for size in self.args.sizes:
            load(list(self.servers.values()), size, 64, "--requests", "1")
            if os.getuid() == 0 and (size == self.counted_size or self.args.buffers):
                self.count_switches(size)
            if self.args.buffers:
                self.time_waits(size)
            for outstanding in self.args.outstanding:
                for number in range(self.args.rounds):
                    self.one(number, size, outstanding)
        return {
            "runs": self.runs,
            "mode_switches_per_get": self.switches,
            "waits": self.waits,
        }

    def one(self, number: int, size: int, outstanding: int) -> None:
        """A round with a value size and a number of requests."""
        servers = [self.servers[mode] for mode in in_order(self.args.modes, number)]
        seconds = ["--seconds", str(self.args.seconds), "--slice", str(SLICE)]
        warm_up = min(WARM_UP, WARM_UP_SHARE * self.args.seconds)
        options = ["--filled", "--warm-up", str(warm_up), *seconds, *self.load]
        what = {"round": number, "value_size": size, "outstanding": outstanding}
        text = []
        before = [depth_counts(server) for server in servers]
        polls = not self.args.buffers
        found = load(servers, size, outstanding, *options, polls=polls)
        for server, seen, old in zip(servers, found, before, strict=True):
            datagrams, batches = (a - b for a, b in zip(depth_counts(server), old, strict=True))
            depth = datagrams / batches if batches else 1
            self.runs.append({**what, "mode": server.mode, "depth": depth, **figures(seen)})
            text.append(f"{server.mode} {seen['get']['per_s']:.0f}")
        self.tell(f"round {number}, {size} bytes, {outstanding} out, GET/s: {', '.join(text)}")

    @property
    def counted_size(self) -> int:
        return COUNTED_SIZE if COUNTED_SIZE in self.args.sizes else self.args.sizes[0]

    def count_switches(self, size: int) -> None:
        """System calls of the worker per GET, with GETs only.

        Sensors also count a script's calls, which are subtracted."""
        servers = list(self.servers.values())
        options = ["--filled", "--ratio", "1:0", "--system-calls", "--warm-up", "0"]
        options += ["--seconds", str(min(COUNTED, COUNTED_SHARE * self.args.seconds)), *self.load]
        for outstanding in self.args.outstanding:
            before = [server.script_calls() for server in servers]
            found = load(servers, size, outstanding, *options)
            inner = [server.script_calls() - n for server, n in zip(servers, before, strict=True)]
            self.switches[f"v{size}_w{outstanding}"] = {
                server.mode: (seen["server_system_calls"] - of_scripts) / seen["get"]["answered"]
                for server, seen, of_scripts in zip(servers, found, inner, strict=True)
            }
        self.tell(f"mode switches counted: {self.switches}")

    def time_waits(self, size: int) -> None:
        """us of a GET in the server's socket, and in all, in a run that is traced."""
        options = ["--filled", "--ratio", "1:0", "--requests", str(TRACED), *self.load]
        # A datagram of several segments is taken by the stack as one.
        options.append("--no-segments")
        for outstanding in self.args.outstanding:
            seen = self.waits.setdefault(f"v{size}_w{outstanding}", {})
            for mode, server in self.servers.items():
                with waits.traced(server.thread) as trace:
                    (run,) = load([server], size, outstanding, *options, polls=False)
                    found = waits.waits(trace.read_text())
                if len(found) < run["get"]["answered"]:
                    raise ServerError(f"{mode}: of {TRACED} GETs {len(found)} were traced")
                seen[mode] = {"wait": mean(found), "response": run["get"]["us"]["mean"]}
            self.tell(f"waits, {size} bytes: {seen}")

    def tell(self, text: str) -> None:
        print(f"memcached: {time.monotonic() - self.began:.0f} s: {text}", file=sys.stderr)


def start(args: argparse.Namespace, stack: contextlib.ExitStack) -> tuple[dict, dict[str, str]]:
    """The servers by mode; and the modes that the filter forbids, with memcached's messages."""
    servers, refused = {}, {}
    ports = {mode: free_port() for mode in args.modes}
    bypassing = [port for mode, port in ports.items() if mode in FRAMES]
    wire = stack.enter_context(Wire(*bypassing)) if bypassing else None
    for mode, port in ports.items():
        options = {"cpu": SERVER_CPU, "batch": args.batch, "seccomp": args.seccomp}
        options |= {"port": port, "wire": wire, "hold": args.hold}
        server = None
        try:
            server = stack.enter_context(Server(mode, binary=args.memcached, **options))
            check(server)
        except (ServerError, OSError) as error:
            # It listens before its worker notices.
            if not args.seccomp or mode != "io_uring":
                raise
            refused[mode] = server.said() if server else str(error)
        else:
            servers[mode] = server
    return servers, refused


def measure(args: argparse.Namespace) -> dict[str, Any]:
    with contextlib.ExitStack() as stack:
        servers, refused = start(args, stack)
        args.modes = list(servers)
        result = Rounds(args, servers)()
        result["servers"] = {mode: check(server) for mode, server in servers.items()}
    return {
        **machine(),
        "seconds": args.seconds,
        "rounds": args.rounds,
        "batch": args.batch,
        "keys": KEYS,
        "keys_per_get": args.keys_per_get,
        "threads": args.threads,
        "modes": args.modes,
        "seccomp": args.seccomp,
        "refused": refused,
        "sizes": args.sizes,
        "outstanding": args.outstanding,
        **result,
    }


def machine() -> dict[str, str]:
    """The kernel and the accelerator, in the load generator's words."""
    about = subprocess.run([str(UDPLOAD), "--machine"], stdout=subprocess.PIPE, check=True)
    return json.loads(about.stdout)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of both the host and the guest: programs, modes, sizes."""
    parser.add_argument("--memcached", type=Path, default=MEMCACHED, help="the program")
    parser.add_argument("--modes", nargs="+", choices=[*MODES, *FRAMES], default=list(MODES))
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=[16, 32, 64, 128, 256, 512, 1024], help="bytes"
    )
    parser.add_argument(
        "--outstanding", nargs="+", type=int, default=[128, 16], help="requests out at a time"
    )
    parser.add_argument("--keys-per-get", type=int, default=1, help="as memaslap draws them")
    parser.add_argument("--threads", type=int, default=1, help="of the load generator")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="of one run")
    parser.add_argument("--batch", type=int, default=16, help="messages of a batch at most")
    parser.add_argument("--hold", type=int, default=200, help="us for a batch of frames")
    parser.add_argument(
        "--buffers",
        action="store_true",
        help="time waits in the servers' sockets, and count mode switches, at each size (as root)",
    )
    parser.add_argument(
        "--seccomp", action="store_true", help="the servers under the default filter of containers"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    args = parser.parse_args()
    try:
        print(json.dumps(measure(args)))
    except (ServerError, OSError) as error:
        print(f"memcached: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
