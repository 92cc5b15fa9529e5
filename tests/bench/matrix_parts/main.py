# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans the matrix, has it measured piece by piece on this machine and in the lab, and shows it."""

import argparse
import itertools
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from matrix_parts import cells, event_cells, event_report, events, linux_guest, measure, picture, report  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build/release"))

# How the lab is started that knows what its KVM guests touch. They are small.
ORACLE = ["--oracle", os.path.join(BUILD, "tests/oracle"), "--memory", "1280"]

# A piece of work for one boot of the lab; what a crash of the emulated lab may cost.
PIECE_S = 120

ABOUT = """\
Without selectors: every method, census and panel, on every backing; all patterns; densities and n with the coverage of
the interval in 400 periods; steps; stock kernels. With one or more of --accel, --method, --mode, --backing, --pattern, --p and
--kernel: their cross product, the rest at the base (pattern contiguous, p = 0.1). Several values: a,b,c.

Patterns scan, pack, compile, redis and heap are Linux guests at work, of which the oracle (tests/oracle) knows what they
touch; under KVM only where asked for, --accel kvm --pattern scan,..., in a lab that its oracle makes some four times slower.

Other tools are not part of this project: --tool NAME=COMMAND, where COMMAND gets the pid and the window in seconds appended
and prints the working set in MiB as the last number of its last line. tests/bench/damon-defaults is one.

With --events something happens to a KVM guest (--accel kvm,tcg: to both kinds) in the middle of each window, and of each
panel that is followed. Each number is "right" (a census within 1 %, a panel or another tool within 2.2 points of what is
resident, or the interval holds the truth), "flagged" (there is a flag, and the bounds hold the truth), "WRONG" (neither), or
refused. "HELD" counts the events after which the bounds of all windows held the truth. Exit status 1 if any of ours is WRONG.
"""


def parse_options():
    parser = argparse.ArgumentParser(
        prog="tests/bench/matrix",
        description="The table method x mode x backing x pattern x " "accel -> error, bias, coverage, cost.",
        epilog=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for option, known in (
        ("accel", cells.ACCELS),
        ("method", [*cells.METHODS, cells.WRITES, "auto"]),
        ("mode", [*cells.MODES, *event_cells.MODES]),
        ("backing", cells.BACKINGS),
        ("pattern", cells.PATTERNS),
        ("kernel", cells.KERNELS),
    ):
        parser.add_argument("--" + option, metavar="NAME,...", type=one_of(option, known), help=", ".join(known))
    parser.add_argument(
        "--p",
        metavar="P,...",
        type=lambda text: [float(word) for word in text.split(",")],
        help="density: share of the region that is hot",
    )
    parser.add_argument("--periods", type=int, help="records for each cell (3 for a census, 20 for a panel)")
    parser.add_argument(
        "--window", type=float, metavar="S", help="of the selected cells, instead of what each is thought to need"
    )
    parser.add_argument("--quick", action="store_true", help="a small part, in about three minutes")
    parser.add_argument("--coverage", action="store_true", help="every cell of 400 periods, about an hour")
    parser.add_argument(
        "--tool", action="append", default=[], metavar="NAME=COMMAND", help="another tool, for comparison"
    )
    parser.add_argument(
        "--with",
        action="append",
        default=[],
        metavar="DIR",
        dest="shown",
        help="show DIR in the lab, if tools lie below /tmp",
    )
    parser.add_argument("--under", default="", metavar="COMMAND", help="run each piece under COMMAND, for example nice")
    parser.add_argument(
        "--json", metavar="FILE", help="append every record with its truth and, last, the summary, as JSON lines"
    )
    parser.add_argument("--svg", metavar="FILE", help="draw the picture: error by method")
    parser.add_argument(
        "--from",
        action="append",
        default=[],
        metavar="FILE",
        dest="sources",
        help="show what --json kept, instead of running",
    )
    parser.add_argument("--markdown", action="store_true", help="the README's summary instead of the whole table")
    parser.add_argument(
        "--events",
        nargs="?",
        const=list(events.EVENTS),
        metavar="NAME,...",
        type=one_of("event", events.EVENTS),
        help="instead: while something happens to the guest: " + ", ".join(events.EVENTS),
    )
    parser.add_argument("--repeat", type=int, default=2, help="how often each event happens, with --events (2)")
    parser.add_argument("--list", action="store_true", help="only say which cells would be measured")
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.events and set(options.mode or []) & set(event_cells.MODES):
        parser.error("--mode " + " and ".join(event_cells.MODES) + " are of --events")
    return options


def one_of(option, known):
    def parse(text):
        words = text.split(",")
        for word in words:
            if word not in known:
                raise argparse.ArgumentTypeError(f"no {option} {word!r}; there are {', '.join(known)}")
        return words

    return parse


def plan(options):
    tools = [tool.split("=", 1)[0] for tool in options.tool]
    if options.events:
        accels = options.accel or ["kvm"]
        wanted = event_cells.Wanted(options.method, options.mode, options.kernel, options.backing)
        return event_cells.plan(accels, tools, options.events, wanted, options.repeat)
    want = {
        key: getattr(options, key)
        for key in ("accel", "method", "mode", "backing", "pattern", "kernel", "p", "periods", "window")
    }
    if options.quick:
        return cells.quick_cells(tools)
    if options.coverage:
        return cells.unique(cells.coverage_cells(True))
    if any(value for key, value in want.items() if key not in ("periods", "window")):
        return cells.unique(cells.selected_cells(want) + cells.tool_cells(tools))
    return cells.default_cells(tools)


def world(cell):
    """Where it stands what its kind of cell is called, needs and costs."""
    return event_cells if "event" in cell else cells


def place_of(cell):
    """Which lab it is measured in, if in any: its kernel, the length of its oracle's slots, whether with two nodes."""
    return cell["kernel"], cells.oracle_slot_ms(cell), cell.get("numa", False)


def pieces(chosen):
    """Lists of cells, each for one place; the cells of one guest stay together."""
    result = []
    for place in itertools.product(cells.KERNELS, cells.ORACLE_SLOTS_MS, (False, True)):
        piece, cost = [], 0
        here = [cell for cell in chosen if place_of(cell) == place]
        for key in dict.fromkeys(world(cell).guest_key(cell) for cell in here):
            group = [cell for cell in here if world(cell).guest_key(cell) == key]
            group_cost = world(group[0]).guest_cost_s(group[0]) + sum(map(world(group[0]).cell_cost_s, group))
            if piece and cost + group_cost > PIECE_S:
                result.append(piece)
                piece, cost = [], 0
            piece, cost = piece + group, cost + group_cost
        if piece:
            result.append(piece)
    return result


def piece_cost(piece):
    here = world(piece[0])
    guests = {here.guest_key(cell): cell for cell in piece}
    return 8 + sum(map(here.cell_cost_s, piece)) + sum(map(here.guest_cost_s, guests.values()))


def command_of(piece, directory, options):
    """Runs this program once more, on this machine or in the lab."""
    kernel, slot_ms, numa = place_of(piece[0])
    me = [os.path.join(ROOT, "tests/bench/matrix"), "--inside"]
    if kernel == "host":
        return shlex.split(options.under) + me + [f"{directory}/plan", f"{directory}/lines"]
    shown = [word for directory_shown in options.shown for word in ("--with", directory_shown)]
    return (
        shlex.split(options.under)
        + [
            os.path.join(ROOT, "vm-images/lab/lab"),
            "--kernel",
            kernel,
            "--out",
            directory,
            "--timeout",
            str(round(300 + 5 * piece_cost(piece))),
            *shown,
            *([*ORACLE, "--oracle-slot", str(slot_ms)] if slot_ms else []),
            *(["--numa"] if numa else []),
        ]
        + me
        + ["/mnt/out/plan", "/mnt/out/lines"]
    )


class Progress:
    """Counts cells, and guesses when all are done, on stderr."""

    def __init__(self, work):
        self.total = sum(map(len, work))
        self.cost = sum(map(piece_cost, work))
        self.done, self.done_cost, self.began = 0, 0, time.monotonic()

    def say(self, text):
        elapsed = time.monotonic() - self.began
        left = (self.cost - self.done_cost) * (elapsed / self.done_cost if self.done_cost > 20 else 1)
        print(
            f"[{self.done}/{self.total}, {elapsed / 60:.0f} min, {max(0, left) / 60:.0f} min left] {text}",
            file=sys.stderr,
            flush=True,
        )

    def line(self, text, piece):
        if text.startswith("cell "):
            self.done += 1
            self.done_cost += piece_cost(piece) / len(piece)
        self.say(text.removeprefix("cell "))


def prepared(piece):
    """With the image of a Linux guest, where the piece needs one: it is made faster on this machine than in the lab."""
    if not cells.under_lab_oracle(piece[0]):
        return piece
    image = linux_guest.make_image("page_idle")
    return [cell | {"image": image} for cell in piece]


def run_piece(piece, options, progress):
    """The lines of one piece; cells that it did not reach get the reason."""
    with tempfile.TemporaryDirectory(prefix="vmwss-matrix.", dir="/tmp") as directory:
        with open(f"{directory}/plan", "w", encoding="utf-8") as file:
            json.dump({"tools": dict(tool.split("=", 1) for tool in options.tool), "cells": prepared(piece)}, file)
        with subprocess.Popen(
            command_of(piece, directory, options), stdout=subprocess.PIPE, text=True, cwd=ROOT
        ) as process:
            for text in process.stdout:
                progress.line(text.rstrip(), piece)
        lines = report.read_lines(f"{directory}/lines") if os.path.exists(f"{directory}/lines") else []
    reached = [line["cell"] for line in lines]
    why = f"the run ended early, with status {process.returncode}"
    told = map(world(piece[0]).labels, piece)
    missed = [labels for labels in told if labels not in reached]
    return lines + [{"cell": labels, "why": why} for labels in missed]


def run(chosen, options):
    work = pieces(chosen)
    progress = Progress(work)
    progress.say(f"{len(chosen)} cells in {len(work)} pieces")
    lines = []
    for piece in work:
        fresh = run_piece(piece, options, progress)
        for line in fresh:
            line["host"] = platform.release()
        if options.json:
            report.append_lines(options.json, fresh)
        lines += fresh
    return lines


def inside(plan_path, out_path):
    with open(plan_path, encoding="utf-8") as file:
        work = json.load(file)
    context = {"build": BUILD, "vmwss": os.path.join(BUILD, "host/vmwss"), "tools": work["tools"]}
    with open(out_path, "a", encoding="utf-8") as out:
        runner = event_cells if "event" in work["cells"][0] else measure
        runner.run_cells(context, work["cells"], out)


def main():
    options = parse_options()
    if options.inside:
        return inside(*options.inside)
    chosen = plan(options)
    if options.list:
        for piece in pieces(chosen):
            print(f"# {piece[0]['kernel']}: {piece_cost(piece):.0f} s")
            print("\n".join(f"{world(cell).name(cell)} x {cell['periods']}" for cell in piece))
        print(f"{len(chosen)} cells, {sum(map(piece_cost, pieces(chosen))) / 60:.0f} min")
        return None
    lines = (
        [line for path in options.sources for line in report.read_lines(path)]
        if options.sources
        else run(chosen, options)
    )
    if options.events:
        rows = event_report.summarise(lines)
        print(event_report.markdown(rows) if options.markdown else event_report.text(rows))
        return int(event_report.any_wrong(rows))
    rows = report.summarise(lines)
    print(report.markdown(rows) if options.markdown else report.text(rows))
    if options.json and not options.sources:
        report.append_lines(options.json, [{"summary": rows}])
    if options.svg:
        picture.draw(rows, options.svg)
    return None


if __name__ == "__main__":
    sys.exit(main())
