# SPDX-License-Identifier: GPL-2.0 OR MIT
"""consolidate(1): from traces of system calls to scripts."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from consolidate import paths, session
from consolidate.cost import calibrate, default_costs, library, measure, model
from consolidate.cost.predict import Prediction
from consolidate.emit import write
from consolidate.errors import ConsolidateError
from consolidate.mine import encoded_trace
from consolidate.mine.candidate import Candidate
from consolidate.report import detail, encode, graph, page, report, table
from consolidate.report.report import Report
from consolidate.session import Asked
from consolidate.trace import record
from consolidate.trace.reader import Trace


def traces(parser: argparse.ArgumentParser, count: str = "+") -> None:
    parser.add_argument(
        "trace", nargs=count, type=Path, help="output of strace, perf trace or audit"
    )
    parser.set_defaults(backend=None)
    parser.add_argument("--cost-model", type=Path, metavar="FILE", help="instead of this machine's")
    parser.add_argument(
        "--most", type=int, default=20, metavar="N", help="show at most N candidates (%(default)d)"
    )
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="how long the program takes untraced"
    )
    parser.add_argument(
        "--gap",
        type=float,
        default=encoded_trace.GAP * 1e3,
        metavar="MS",
        help="longest time between two calls of a sequence (%(default)g)",
    )


def numbered(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("which", metavar="CANDIDATE", help="its number or name in the report")
    traces(parser, "*")


def record_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", dest="output", type=Path, required=True, help="the trace to write")
    parser.add_argument(
        "-p",
        dest="pids",
        type=int,
        action="append",
        default=[],
        metavar="PID",
        help="trace this process (repeatable)",
    )
    parser.add_argument(
        "--stacks", action="store_true", help="record where in the program each call is made"
    )
    parser.add_argument(
        "--again", action="store_true", help="run it again without the tracer, to time it"
    )
    parser.add_argument(
        "--audit", action="store_true", help="use the kernel's audit instead of a tracer (root)"
    )
    parser.add_argument(
        "--system", action="store_true", help="record the whole machine with perf trace (root)"
    )
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="with --system: stop after S seconds"
    )
    parser.add_argument("argv", nargs=argparse.REMAINDER, metavar="COMMAND ...")


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="consolidate", description=__doc__)
    parser.add_argument("--version", action="version", version=f"%(prog)s {paths.version()}")
    commands = parser.add_subparsers(dest="command", required=True)

    record_options(commands.add_parser("record", help="trace a command, or running processes"))

    one = commands.add_parser(
        "report", help="list calls that scripts could make, and what that saves"
    )
    traces(one)
    one.add_argument(
        "--backend", choices=["kernel", "user"], help="use the cost model of this backend"
    )
    one.add_argument("--json", action="store_true", help="print JSON")
    one.add_argument("--svg", type=Path, metavar="FILE", help="draw the graph of calls")
    one.add_argument(
        "--html", type=Path, metavar="FILE", help="write the report as a page for a browser"
    )

    one = commands.add_parser("show", help="show a candidate in full, with lines of the trace")
    numbered(one)

    one = commands.add_parser("script", help="write the script of a candidate, and a C header")
    numbered(one)
    one.add_argument("-o", dest="output", type=Path, metavar="DIR", help="write the files to DIR")
    one.add_argument("--name", help="name of the script and its C functions")
    one.add_argument(
        "--assume", action="store_true", help="accept constants that the trace cannot prove"
    )

    one = commands.add_parser("measure", help="time a candidate with plain calls and as a script")
    numbered(one)
    one.add_argument(
        "--guest", default="6.1", metavar="KERNEL", help="kernel of the guest (%(default)s)"
    )
    one.add_argument("--here", action="store_true", help="run on this machine, not in a guest")
    one.add_argument(
        "--backend", choices=["kernel", "user"], default="kernel", help="which backend runs it"
    )
    one.add_argument(
        "--written", action="store_true", help="run the generated script, not the library's"
    )
    one.add_argument(
        "--rounds", type=int, default=measure.ROUNDS, metavar="N", help="repeat N times"
    )
    one.add_argument("--json", action="store_true", help="print JSON")

    one = commands.add_parser("calibrate", help="measure the cost model of this machine")
    one.add_argument(
        "--backend", choices=["kernel", "user"], default="kernel", help="which backend runs it"
    )
    one.add_argument(
        "--guest", metavar="KERNEL", help="measure in a guest with this kernel (source tree only)"
    )
    one.add_argument(
        "--rounds", type=int, default=calibrate.ROUNDS, metavar="N", help="repeat N times"
    )
    args, rest = parser.parse_known_args(argv)
    # Traces after an option that follows other arguments: argparse accepts none there.
    if rest and "trace" in args and not any(one.startswith("-") for one in rest):
        args.trace += map(Path, rest)
    elif rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return args


def run_record(args: argparse.Namespace) -> int:
    command = args.argv[1:] if args.argv[:1] == ["--"] else args.argv
    if args.system:
        return record_system(args, command)
    if args.seconds is not None:
        raise ConsolidateError("--seconds is for --system: otherwise a command says how long")
    if not command and not args.pids:
        raise ConsolidateError("nothing to record: name a COMMAND, or -p PID")
    if args.again and args.pids:
        raise ConsolidateError("--again runs a command a second time: not with -p")
    if args.audit and args.stacks:
        raise ConsolidateError("audit has no stacks: --stacks is for strace")
    status = record.record(command, args.output, args.pids, args.stacks, args.again, args.audit)
    print(
        f"consolidate: recorded {args.output}; next: consolidate report {args.output}",
        file=sys.stderr,
    )
    return status


def record_system(args: argparse.Namespace, command: list[str]) -> int:
    if command or args.pids or args.audit or args.stacks or args.again:
        raise ConsolidateError("--system records all processes, for --seconds: nothing else")
    if args.seconds is None or args.seconds <= 0:
        raise ConsolidateError("--system needs --seconds, a positive number")
    record.whole_machine(args.output, args.seconds)
    print(
        f"consolidate: recorded {args.output}; next: consolidate report {args.output}",
        file=sys.stderr,
    )
    return 0


def asked(args: argparse.Namespace) -> Asked:
    if args.most < 1:
        raise ConsolidateError("--most takes a positive number")
    if args.seconds is not None and args.seconds <= 0:
        raise ConsolidateError("--seconds takes a positive number")
    if not args.gap >= 0:
        raise ConsolidateError("--gap takes milliseconds, from 0")
    own = args.cost_model.absolute() if args.cost_model else None
    paths = tuple(path.absolute() for path in args.trace)
    return Asked(paths, own, args.backend, args.most, args.gap / 1e3, args.seconds)


def report_of(args: argparse.Namespace) -> tuple[Report, Trace]:
    what = asked(args)
    costs = model.load(args.cost_model, args.backend) or default_costs.load(
        args.backend or "kernel"
    )
    made, trace = report.make(args.trace, costs, what.most, what.gap, what.seconds)
    session.keep(what, made)
    return made, trace


def candidate(args: argparse.Namespace) -> tuple[Report, Candidate, Prediction]:
    """The requested candidate, from the traces named or from the last report."""
    last = session.last(asked(args)) if args.trace else session.required()
    if last is None:
        last, _ = report_of(args)
    if not args.trace:
        print(f"consolidate: from the last report, of {last.title}", file=sys.stderr)
    for one, prediction in zip(last.candidates, last.predictions, strict=True):
        if args.which in (str(one.number), one.name):
            return last, one, prediction
    names = ", ".join(f"{one.number} ({one.name})" for one in last.candidates) or "none"
    raise ConsolidateError(
        f"there is no candidate {args.which!r} in the report of {last.title}, which has {names}"
    )


def run_script(args: argparse.Namespace) -> int:
    last, one, _ = candidate(args)
    ready = library.script_for(one)
    if ready is not None:
        print(f"-- The library has a script for this: {library.path_of(ready)}")
    written = write.script(one, last.title, args.name)
    if written.assumed and not args.assume:
        raise ConsolidateError(
            "\n  ".join(["this script would take for granted:", *written.assumed])
            + "\nwhich may be so in this trace only. If it is always so: --assume"
        )
    for assumption in written.assumed:
        print(f"consolidate: assumed: {assumption}", file=sys.stderr)
    if args.output is None:
        bars = ""
        while f"]{bars}]" in written.header:
            bars += "="
        print(f"{written.lua}\n--[{bars}[ {written.name}.h\n{written.header}]{bars}]")
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
    made, trace = report_of(args)
    if args.json:
        json.dump(encode.as_json(made, trace), sys.stdout, indent=2)
        print()
    else:
        table.show(made, table.console())
    if args.svg is not None:
        graph.draw(trace, made.candidates, args.svg)
        print(f"consolidate: drawn in {args.svg}", file=sys.stderr)
    if args.html is not None:
        page.save(made, trace, args.html)
        print(f"consolidate: written to {args.html}", file=sys.stderr)
    return 0


def run_show(args: argparse.Namespace) -> int:
    detail.show(*candidate(args))
    return 0


def run_measure(args: argparse.Namespace) -> int:
    last, one, _ = candidate(args)
    guest = None if args.here else args.guest
    place = measure.Place(args.backend, guest, rounds=args.rounds)
    (result,) = measure.measure([one], last.title, place, args.written)
    if args.json:
        json.dump(measure.as_json(result), sys.stdout, indent=2)
        print()
    else:
        measure.show(result)
    return 0


def run_calibrate(args: argparse.Namespace) -> int:
    costs, path = calibrate.calibrate(args.backend, args.guest, args.rounds)
    print(costs.title())
    for name in costs.samples:
        cost = costs.cost(name)
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
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The reader closed the pipe; the interpreter must not write again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
