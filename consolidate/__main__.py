# SPDX-License-Identifier: GPL-2.0 OR MIT
"""consolidate(1): from traces of system calls to scripts."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from consolidate import graph, last, measure, prices, record, report, streams, write
from consolidate.choose import Candidate
from consolidate.errors import ConsolidateError
from consolidate.predict import Prediction


def traces(parser: argparse.ArgumentParser, count: str = "+") -> None:
    parser.add_argument("trace", nargs=count, type=Path, help="of strace or perf trace")
    parser.add_argument("--prices", type=Path, metavar="FILE", help="a list of prices")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="candidates, at most")
    parser.add_argument(
        "--gap",
        type=float,
        default=streams.GAP * 1e3,
        metavar="MS",
        help="of the program's own work that ends a sequence (%(default)g)",
    )


def numbered(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", type=int, metavar="N", help="as the report has it")
    traces(parser, "*")


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="consolidate", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    one = commands.add_parser("record", help="trace a command, or running processes")
    one.add_argument("-o", dest="output", type=Path, required=True, help="the trace to write")
    one.add_argument("-p", dest="pids", type=int, action="append", default=[], metavar="PID")
    one.add_argument("argv", nargs="*", metavar="COMMAND")

    one = commands.add_parser("report", help="what could be consolidated, and what that saves")
    traces(one)
    one.add_argument("--json", action="store_true", help="for programs")
    one.add_argument("--svg", type=Path, metavar="FILE", help="draw the graph of calls")

    one = commands.add_parser("script", help="write the script of a candidate, and its C")
    numbered(one)
    one.add_argument("-o", dest="output", type=Path, metavar="DIR", help="write files there")

    one = commands.add_parser("measure", help="replay a candidate both ways, in a guest")
    numbered(one)
    one.add_argument("--guest", default="6.1", metavar="KERNEL", help="(%(default)s)")
    one.add_argument("--here", action="store_true", help="on this machine, in no guest")
    one.add_argument("--backend", choices=["kernel", "user"], default="kernel")
    one.add_argument(
        "--written", action="store_true", help="the script written for it, not the library's"
    )
    one.add_argument("--json", action="store_true", help="for programs")

    one = commands.add_parser("prices", help="measure what calls and scripts cost")
    one.add_argument("--backend", choices=["kernel", "user"], default="kernel")
    one.add_argument("--guest", metavar="KERNEL", help="in a guest, from the source tree")
    one.add_argument("--rounds", type=int, default=prices.ROUNDS, metavar="N")
    return parser.parse_args(argv)


def run_record(args: argparse.Namespace) -> int:
    if not args.argv and not args.pids:
        raise ConsolidateError("nothing to record: name a COMMAND behind --, or -p PID")
    status = record.record(args.argv, args.output, args.pids)
    print(
        f"consolidate: recorded {args.output}; next: consolidate report {args.output}",
        file=sys.stderr,
    )
    return status


def made(args: argparse.Namespace) -> report.Report:
    if args.most < 1:
        raise ConsolidateError("--most takes a positive number")
    found = report.make(args.trace, prices.load(args.prices), args.most, args.gap / 1e3)
    last.keep(args)
    return found


def candidate(args: argparse.Namespace) -> tuple[report.Report, Candidate, Prediction]:
    """The candidate with a number: of the traces named, or of the last report."""
    last.fill(args)
    found = made(args)
    pairs = zip(found.candidates, found.predictions, strict=True)
    for one, prediction in pairs:
        if one.number == args.number:
            return found, one, prediction
    raise ConsolidateError(
        f"there is no candidate {args.number}: the report of {', '.join(found.trace.names)}"
        f" has {len(found.candidates)}"
    )


def run_script(args: argparse.Namespace) -> int:
    found, one, _ = candidate(args)
    ready = write.ready(one)
    if ready is not None:
        print(f"-- The library has a script for this, tested and kept: {ready}")
    text, face, _ = write.script(one, ", ".join(found.trace.names))
    if args.output is None:
        print(f"{text}\n--[[ the C that calls it\n{face}]]")
        return 0
    name = write.name_of(one)
    try:
        args.output.mkdir(parents=True, exist_ok=True)
        (args.output / f"{name}.lua").write_text(text)
        (args.output / f"{name}.h").write_text(face)
    except OSError as error:
        raise ConsolidateError(f"cannot write to {args.output}: {error.strerror}") from error
    print(f"written: {args.output / name}.lua and .h")
    return 0


def run_report(args: argparse.Namespace) -> int:
    found = made(args)
    if args.json:
        json.dump(report.as_json(found), sys.stdout, indent=2)
        print()
    else:
        report.show(found, report.console())
    if args.svg is not None:
        whole = graph.of_threads(list(found.trace.threads.values()))
        graph.draw(whole, found.candidates, args.svg, ", ".join(found.trace.names))
        print(f"consolidate: drawn in {args.svg}", file=sys.stderr)
    return 0


def run_measure(args: argparse.Namespace) -> int:
    found, one, _ = candidate(args)
    place = measure.Place(args.backend, None if args.here else args.guest)
    (result,) = measure.measure([one], ", ".join(found.trace.names), place, args.written)
    if args.json:
        json.dump(measure.as_json(result), sys.stdout, indent=2)
        print()
    else:
        measure.show(result)
    return 0


def run_prices(args: argparse.Namespace) -> int:
    found, path = prices.measure(args.backend, args.guest, args.rounds)
    print(found.title())
    for name in found.samples:
        price = found.price(name)
        print(f"  {name:<28} {price.middle:10.1f} ns  ({price.low:.1f}..{price.high:.1f})")
    print(f"kept in {path}")
    return 0


COMMANDS = {
    "record": run_record,
    "report": run_report,
    "script": run_script,
    "measure": run_measure,
    "prices": run_prices,
}


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    try:
        return COMMANDS[args.command](args)
    except ConsolidateError as error:
        print(f"consolidate: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 1


if __name__ == "__main__":
    sys.exit(main())
