# SPDX-License-Identifier: GPL-2.0
"""The tools' files in debugfs, and the subcommands that read and write them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from symbols import SymbolError

DEBUG = Path("/sys/kernel/debug")


class UsageError(Exception):
    """The request cannot be served; the text says what to do."""


def read(tool: str, name: str) -> str:
    """A file of the tool's; UsageError if the tool is not loaded, or the caller not root."""
    directory = DEBUG / tool
    try:
        return (directory / name).read_text()
    except FileNotFoundError:
        raise UsageError(
            f"{directory} is not there: load {tool}.ko; mount -t debugfs debugfs {DEBUG}"
        ) from None
    except PermissionError:
        raise UsageError(f"{directory / name}: for root only") from None


def rows(tool: str, name: str) -> list[list[str]]:
    """A file that is a table, by lines and columns."""
    return [line.split("\t") for line in read(tool, name).splitlines()]


def settings(args: argparse.Namespace) -> int:
    if args.words:
        line = " ".join(args.words)
        try:
            (DEBUG / args.tool / "settings").write_text(line + "\n")
        except FileNotFoundError:
            read(args.tool, "settings")
        except OSError as error:
            raise UsageError(
                f"`{line}` is refused ({error.strerror}): see {args.tool}(8)"
            ) from None
    print(read(args.tool, "settings"), end="")
    return 0


def add_settings(commands: argparse._SubParsersAction, tool: str) -> None:
    command = commands.add_parser("settings", help="show the settings of modules, or change them")
    command.add_argument("words", nargs="*", metavar="MODULE KEY=VALUE...")
    command.set_defaults(run=settings, tool=tool)


def main(tool: str, parse: Callable[[], argparse.Namespace]) -> int:
    """Parses the arguments and runs the subcommand; the program's exit status."""
    args = parse()
    try:
        return args.run(args)
    except (UsageError, SymbolError) as error:
        print(f"{tool}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
