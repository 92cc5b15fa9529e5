#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Has guests migrate between two QEMUs, with a forecast before each migration, and compares the two."""

import argparse
import contextlib
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from migrate_parts import cases, one, pair, qmp, report  # noqa: E402
from payload_guest import CannotStart  # noqa: E402

BUILD = os.environ.get("BUILD", os.path.join(cases.ROOT, "build/release"))

ABOUT = """\
The proof takes three quarters of an hour on two processors that have nothing else to do. What was interrupted goes on from there:

  tests/bench/migrate --proof DIR
  tests/bench/migrate --proof DIR --only kvm     # the 35 moves in the lab, and the table of all that DIR has
  tests/bench/migrate --proof DIR --only linux   # Linux guests at work under TCG, and their table
  tests/bench/migrate --from DIR/libvirt --from DIR/tcg --from DIR/kvm         # its table again

Its parts by hand; the last one in the lab, where KVM is real:

  tests/bench/migrate --by libvirt --accel tcg --wire 8 --guest small-700K --append DIR/libvirt
  tests/bench/migrate --accel tcg --wire 8 --guest small-256K:10,small-2M --append DIR/tcg
  vm-images/lab/lab --kernel 6.12 --cpus 2 --out DIR -- tests/bench/migrate --wire 1 --guest lab-300K --append /mnt/out/kvm

A guest that has not arrived after 25 rounds or 40 s does not converge. Guests begin anew for each move. A further run with
--append goes on with the moves that are not in FILE yet.
"""


def parse_options():
    parser = argparse.ArgumentParser(
        prog="tests/bench/migrate",
        description="Real migrations beside their forecasts.",
        epilog=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--guest",
        metavar="NAME[:N],...",
        help="N moves of each guest; without N one for each of its ways. All: " + ", ".join(cases.GUESTS),
    )
    parser.add_argument("--accel", default="kvm", choices=["kvm", "tcg"])
    parser.add_argument(
        "--by", default="qemu", choices=["qemu", "libvirt"], help="who migrates: two QEMUs, two libvirtds"
    )
    parser.add_argument("--append", metavar="FILE", help="keep each run in FILE, and go on where it ends")
    parser.add_argument("--from", metavar="FILE", dest="source", action="append", help="only print the table of FILE")
    parser.add_argument(
        "--again", action="store_true", help="with --from: foretell once more, of the kept write curves"
    )
    parser.add_argument("--wire", type=int, default=0, metavar="MIB", help="a connection of so many MiB/s")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no migration after so many seconds")
    parser.add_argument(
        "--proof", metavar="DIR", help="100 migrations of all kinds, kept in DIR, and their table; see below"
    )
    parser.add_argument(
        "--only",
        choices=["libvirt", "tcg", "kvm", "linux"],
        help="with --proof: only these of the 100, or those of Linux",
    )
    return parser.parse_args()


def read_runs(paths):
    """A line that is cut, as where the machine went down, is a run that was not made."""
    runs = []
    for path in paths:
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    with contextlib.suppress(json.JSONDecodeError):
                        runs.append(json.loads(line))
    return runs


def key_of(run):
    by = run.get("by", "qemu"), run.get("accel", "tcg")
    return *by, run["guest"], run["bandwidth"], run["downtime_ms"], run["turn"]


def forecast_of(run):
    records = [run["record"], *run.get("markings", [])]
    terms = one.path_options(run["path"]) + one.limit_options(run["bandwidth"], run["downtime_ms"])
    return one.foretell(BUILD, records, terms)


def one_move(journey, path, way, turn):
    bandwidth, downtime_ms = int(way[0] * cases.MIB), way[1]
    rate = journey.here.dirty_rate() * cases.MIB
    forecast, (record, *markings) = journey.foretell(bandwidth, downtime_ms, path)
    return {
        "by": journey.bench.by,
        "accel": journey.bench.accel,
        "guest": journey.name,
        "bandwidth": bandwidth,
        "downtime_ms": downtime_ms,
        "turn": turn,
        "ram_bytes": record["ram_bytes"],
        "record": record,
        "markings": markings,  # after the first
        "path": path,
        "dirty_rate": rate,
        "baseline_s": one.baseline(record, bandwidth, rate),
        "forecast": forecast,
        "outcome": journey.move(bandwidth, downtime_ms),
    }


def keep(options, run):
    if options.append:
        with open(options.append, "a", encoding="utf-8") as file:
            # A line of its own, also after one that was cut.
            file.write("\n" + json.dumps(run) + "\n")
    print("# " + "  ".join(report.one_line(run)), flush=True)


def moves_of(options, name, n, done):
    """n moves of a guest, in turn by each of its ways, without those that are done."""
    ways = cases.GUESTS[name]["ways"]
    moves = [(ways[i % len(ways)], i // len(ways)) for i in range(n or len(ways))]
    of = options.by, options.accel, name
    return [(way, turn) for way, turn in moves if (*of, int(way[0] * cases.MIB), way[1], turn) not in done]


def make_moves(options, bench, name, path, moves, end):
    """All moves of one guest; those that have been made. It begins anew each time: QEMU 7.2 has zero pages of a guest that has
    arrived resident, so that its resident memory is no longer what it filled."""
    runs = []
    for way, turn in moves:
        if time.monotonic() > end:
            break
        journey = one.Journey(bench, name)
        try:
            runs.append(one_move(journey, path, way, turn))
        finally:
            journey.stop()
        keep(options, runs[-1])
    return runs


def run_all(options, runs):
    end = time.monotonic() + options.seconds
    asked = [word.partition(":") for word in (options.guest or ",".join(cases.GUESTS)).split(",")]
    done = {key_of(run) for run in runs}
    image = None
    if any(cases.GUESTS[name]["kind"] == "linux" for name, _, _ in asked):
        image = cases.images("6.1")
    bench = one.Bench(BUILD, options.accel, options.by, options.wire * cases.MIB, image)
    path, held = None, pair.hold_kvm() if options.accel == "kvm" else []
    for name, _, n in asked:
        moves = moves_of(options, name, int(n or 0), done)
        if not moves or time.monotonic() > end:
            continue
        try:
            path = path or one.calibrate(bench)
            print("# path: " + json.dumps(path), flush=True)
            runs += make_moves(options, bench, name, path, moves, end)
        except (CannotStart, qmp.Refused, OSError) as error:
            print(f"# {name}: {error}", flush=True)
    for fd in reversed(held):
        os.close(fd)
    return runs


def main():
    options = parse_options()
    # Guests are ended then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.source:
        runs = read_runs(options.source)
        if options.again:
            runs = [run | {"forecast": forecast_of(run)} for run in runs]
    else:
        runs = run_all(options, read_runs([options.append] if options.append else []))
    report.print_report(runs)


if __name__ == "__main__":
    main()
