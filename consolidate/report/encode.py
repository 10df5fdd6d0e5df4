# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The report as JSON for programs."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict
from typing import Any

from consolidate.cost import library
from consolidate.cost.predict import Prediction
from consolidate.mine import constants
from consolidate.mine.advice import Advice
from consolidate.mine.candidate import Candidate, is_event_loop, sequence, where
from consolidate.mine.dataflow import Step
from consolidate.report import detail, graph
from consolidate.report.report import Report
from consolidate.trace.reader import Trace

VERSION = 4
ADDRESS = re.compile(r"^(\S+?)\([^)]*\) \[(0x[0-9a-f]+)\]")


def step_json(step: Step) -> dict[str, Any]:
    return {
        "call": step.name,
        "outcome": step.outcome,
        "path": list(step.path),
        "repeat": step.repeat.value,
        "times": step.times,
        "arguments": [
            {
                "from": source.kind.value,
                **({"step": source.step} if source.step >= 0 else {}),
                **({"value": source.value.text} if source.value is not None else {}),
                **({"steady": source.steady} if source.kind.value == "param" else {}),
            }
            for source in step.args
        ],
    }


def stacks_json(candidate: Candidate) -> list[dict[str, Any]]:
    """The stacks of the examples' calls, without the C library."""
    stacks: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for example in candidate.examples:
        for one in example.instances:
            for at in range(one.begin, one.end):
                call = example.recording.call(at)
                stacks[call.name, detail.outside_libc(call)] += 1
    return [
        {
            "call": name,
            "times": times,
            "frames": [
                {"object": found[1], "address": int(found[2], 16)}
                for frame in frames
                if (found := ADDRESS.match(frame))
            ],
        }
        for (name, frames), times in stacks.most_common()
        if frames
    ]


def candidate_json(candidate: Candidate, prediction: Prediction) -> dict[str, Any]:
    return {
        "number": candidate.number,
        "name": candidate.name,
        "sequence": sequence(candidate),
        "steps": [step_json(step) for step in candidate.flow.steps],
        "assumed": constants.assumptions(candidate.flow),
        "where": where(candidate),
        "iterations": candidate.iterations,
        "left_early": candidate.iterations - candidate.whole,
        "runs": candidate.runs,
        "batched": candidate.batched,
        "event_loop": is_event_loop(candidate),
        "calls": prediction.calls,
        "script_calls": prediction.script_calls,
        "calls_saved": prediction.calls_saved,
        "bytes_copied": round(prediction.copied),
        "script_bytes_copied": round(prediction.script_copied),
        "seconds_traced": candidate.took,
        "saved_ns": asdict(prediction.saved) if prediction.saved else None,
        "saved_share": asdict(prediction.share) if prediction.share else None,
        "verdict": prediction.verdict or None,
        "library": library.script_for(candidate),
        "library_script": prediction.script,
        "stacks": stacks_json(candidate),
    }


def advice_json(advice: Advice) -> dict[str, Any]:
    return {
        "kind": advice.kind,
        "text": advice.text,
        "where": advice.where,
        "calls": advice.calls,
        "would_be": advice.would_be,
    }


def as_json(report: Report, trace: Trace) -> dict[str, Any]:
    return {
        "version": VERSION,
        "traces": report.names,
        "lines": report.lines,
        "damaged_lines": report.damaged,
        "unfinished_calls": report.unfinished,
        "calls": report.calls,
        "seconds": report.clock.recorded,
        "seconds_untraced": report.clock.untraced,
        "bytes_copied": report.copied,
        "with_scripts": asdict(report.together),
        "system": report.system,
        "programs": [
            {
                "command": one.command,
                "processes": one.processes,
                "calls": one.calls,
                "bytes_copied": one.copied,
                "kinds": dict(one.kinds.most_common()),
            }
            for one in report.programs
        ],
        "cost_model": report.costs or None,
        "dropped": dict(report.dropped.most_common()),
        "advice": [advice_json(one) for one in report.advice],
        "candidates": [
            candidate_json(*pair)
            for pair in zip(report.candidates, report.predictions, strict=True)
        ],
        "graph": graph.as_json(graph.of_threads(trace.threads.values())),
        "processes": [
            {
                "process": process,
                "command": threads[0].command,
                "threads": [
                    {"thread": t.tid, **graph.as_json(graph.of_threads([t]))} for t in threads
                ],
            }
            for process, threads in graph.by_process(trace).items()
        ],
    }
