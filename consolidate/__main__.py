# SPDX-License-Identifier: GPL-2.0 OR MIT
"""consolidate(1): from traces of system calls to scripts."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from consolidate import session
from consolidate.cost import calibrate, library, measure, model
from consolidate.cost.predict import Prediction
from consolidate.emit import write
from consolidate.errors import ConsolidateError
from consolidate.mine import tape
from consolidate.mine.candidate import Candidate
from consolidate.report import detail, encode, graph, report, table
from consolidate.report.report import Report
from consolidate.session import Asked
from consolidate.trace import record
from consolidate.trace.reader import Trace


def traces(parser: argparse.ArgumentParser, count: str = "+") -> None:
    parser.add_argument("trace", nargs=count, type=Path, help="of strace or perf trace")
    parser.add_argument("--cost-model", type=Path, metavar="FILE", help="of another machine")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="candidates, at most")
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="that the program takes without the tracer"
    )
    parser.add_argument(
        "--gap",
        type=float,
        default=tape.GAP * 1e3,
        metavar="MS",
        help="of the program's own work that ends a sequence (%(default)g)",
    )


def numbered(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", type=int, metavar="N", help="as the report has it")
    traces(parser, "*")


def record_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", dest="output", type=Path, required=True, help="the trace to write")
    parser.add_argument("-p", dest="pids", type=int, action="append", default=[], metavar="PID")
    parser.add_argument("--stacks", action="store_true", help="and where each call comes from")
    parser.add_argument(
        "--again", action="store_true", help="then run it without the tracer, for its time"
    )
    parser.add_argument("argv", nargs=argparse.REMAINDER, metavar="COMMAND ...")


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="consolidate", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    record_options(commands.add_parser("record", help="trace a command, or running processes"))

    one = commands.add_parser("report", help="what could be consolidated, and what that saves")
    traces(one)
    one.add_argument("--json", action="store_true", help="for programs")
    one.add_argument("--svg", type=Path, metavar="FILE", help="draw the graph of calls")

    one = commands.add_parser("show", help="a candidate in full, with lines of the trace")
    numbered(one)

    one = commands.add_parser("script", help="write the script of a candidate, and its C")
    numbered(one)
    one.add_argument("-o", dest="output", type=Path, metavar="DIR", help="write files there")
    one.add_argument("--name", help="of the script and of what is in its C")

    one = commands.add_parser("measure", help="replay a candidate both ways, in a guest")
    numbered(one)
    one.add_argument("--guest", default="6.1", metavar="KERNEL", help="(%(default)s)")
    one.add_argument("--here", action="store_true", help="on this machine, in no guest")
    one.add_argument("--backend", choices=["kernel", "user"], default="kernel")
    one.add_argument(
        "--written", action="store_true", help="the script written for it, not the library's"
    )
    one.add_argument("--rounds", type=int, default=measure.ROUNDS, metavar="N")
    one.add_argument("--json", action="store_true", help="for programs")

    one = commands.add_parser("calibrate", help="measure the cost model of this machine")
    one.add_argument("--backend", choices=["kernel", "user"], default="kernel")
    one.add_argument("--guest", metavar="KERNEL", help="in a guest, from the source tree")
    one.add_argument("--rounds", type=int, default=calibrate.ROUNDS, metavar="N")
    return parser.parse_args(argv)


def run_record(args: argparse.Namespace) -> int:
    command = args.argv[1:] if args.argv[:1] == ["--"] else args.argv
    if not command and not args.pids:
        raise ConsolidateError("nothing to record: name a COMMAND, or -p PID")
    if args.again and args.pids:
        raise ConsolidateError("--again runs a command a second time: not with -p")
    status = record.record(command, args.output, args.pids, args.stacks, args.again)
    print(
        f"consolidate: recorded {args.output}; next: consolidate report {args.output}",
        file=sys.stderr,
    )
    return status


def asked(args: argparse.Namespace) -> Asked:
    if args.most < 1:
        raise ConsolidateError("--most takes a positive number")
    if args.seconds is not None and args.seconds <= 0:
        raise ConsolidateError("--seconds takes a positive number")
    own = args.cost_model.absolute() if args.cost_model else None
    paths = tuple(path.absolute() for path in args.trace)
    return Asked(paths, own, args.most, args.gap / 1e3, args.seconds)


def made(args: argparse.Namespace) -> tuple[Report, Trace]:
    what = asked(args)
    costs = model.load(args.cost_model)
    found, read = report.make(args.trace, costs, what.most, what.gap, what.seconds)
    session.keep(what, found)
    return found, read


def candidate(args: argparse.Namespace) -> tuple[Report, Candidate, Prediction]:
    """The candidate with a number: of the traces named, or of the last report."""
    found = session.last(asked(args)) if args.trace else session.required()
    if found is None:
        found, _ = made(args)
    for one, prediction in zip(found.candidates, found.predictions, strict=True):
        if one.number == args.number:
            return found, one, prediction
    raise ConsolidateError(
        f"there is no candidate {args.number}: the report of {found.title}"
        f" has {len(found.candidates)}"
    )


def run_script(args: argparse.Namespace) -> int:
    found, one, _ = candidate(args)
    ready = library.script_for(one)
    if ready is not None:
        print(f"-- The library has a script for this: {library.path_of(ready)}")
    written = write.script(one, found.title, args.name)
    for difference in written.tried.differences:
        print(f"consolidate: otherwise than in the trace: {difference}", file=sys.stderr)
    if args.output is None:
        print(f"{written.lua}\n--[[ {written.name}.h\n{written.header}]]")
        return 0
    try:
        args.output.mkdir(parents=True, exist_ok=True)
        (args.output / f"{written.name}.lua").write_text(written.lua)
        (args.output / f"{written.name}.h").write_text(written.header)
    except OSError as error:
        raise ConsolidateError(f"cannot write to {args.output}: {error.strerror}") from error
    print(f"written: {args.output / written.name}.lua and .h")
    return 0


def run_report(args: argparse.Namespace) -> int:
    found, read = made(args)
    if args.json:
        json.dump(encode.as_json(found, read), sys.stdout, indent=2)
        print()
    else:
        table.show(found, table.console())
    if args.svg is not None:
        graph.draw(read, found.candidates, args.svg)
        print(f"consolidate: drawn in {args.svg}", file=sys.stderr)
    return 0


def run_show(args: argparse.Namespace) -> int:
    detail.show(*candidate(args))
    return 0


def run_measure(args: argparse.Namespace) -> int:
    found, one, _ = candidate(args)
    guest = None if args.here else args.guest
    place = measure.Place(args.backend, guest, rounds=args.rounds)
    (result,) = measure.measure([one], found.title, place, args.written)
    if args.json:
        json.dump(measure.as_json(result), sys.stdout, indent=2)
        print()
    else:
        measure.show(result)
    return 0


def run_calibrate(args: argparse.Namespace) -> int:
    found, path = calibrate.calibrate(args.backend, args.guest, args.rounds)
    print(found.title())
    for name in found.samples:
        cost = found.cost(name)
        print(f"  {name:<28} {cost.middle:10.1f} ns  ({cost.low:.1f}..{cost.high:.1f})")
    print(f"kept in {path}")
    return 0


COMMANDS = {
    "record": run_record,
    "report": run_report,
    "show": run_show,
    "script": run_script,
    "measure": run_measure,
    "calibrate": run_calibrate,
}


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    try:
        return COMMANDS[args.command](args)
    except ConsolidateError as error:
        print(f"consolidate: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever reads has had enough; the interpreter must not try again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
