# SPDX-License-Identifier: LGPL-2.1-or-later
"""One guest that is moved from QEMU to QEMU, with a forecast before each move."""

import json
import os
import re
import statistics
import subprocess
import time
from typing import NamedTuple

from payload_guest import CannotStart

from . import cases, domains, pair

MIB = 1 << 20
VMWSS = "host/vmwss"
WINDOWS = [0.1, 0.2, 0.5, 1, 2, 5]
# The windows of further markings, as of vmwss migrate itself, and how long ago they ended, in as uneven steps.
SHORT, AGO_S = [0.1, 0.2, 0.5], [10.7, 9.4, 7.6, 6.3, 4.5, 2.7, 1.4]
# Moves of a guest at rest at these shares of the connection's speed say how long it stands still at least, and how much that
# varies.
STANDSTILLS = [0.5, 0.46, 0.42, 0.38, 0.34, 0.3, 0.26]
# So many moves of one say how fast zero pages are passed over.
PASSES = 3
# To pass over a page of zeroes takes both sides this time at least.
FASTEST_ZERO_S = 1e-6
# A guest of the bench has settled after this time, and the oracle has seen its longest windows.
SETTLES_S = {"payload": 1, "linux": 14}


def written_bytes(words):
    """What a payload without phases writes in any window, with the page of its own state."""
    hot = re.search(r"hot=(\d+)([KM])", words)
    if "op=write" not in words or not hot:
        return 0 if "idle=yes" in words else 4096
    return int(hot[1]) * {"K": 1 << 10, "M": MIB}[hot[2]] + 4096


def sparse_end(pid, memory):
    """The longest end of the guest's RAM, the mapping of memory bytes, of which at most a 64th is filled."""
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
        ranges = [[int(x, 16) for x in line.split()[0].split("-")] for line in maps]
    begin = next((begin for begin, end in ranges if end - begin == memory), None)
    if begin is None:
        return 0
    with open(f"/proc/{pid}/pagemap", "rb", 0) as pagemap:
        pagemap.seek(begin // 4096 * 8)
        entries = memoryview(pagemap.read(memory // 4096 * 8)).cast("Q")
    sparse, filled = 0, 0
    for n, entry in enumerate(reversed(entries), 1):
        filled += entry >> 62 != 0  # present or swapped out
        sparse = n if 64 * filled <= n else sparse
    return 4096 * sparse


class Bench(NamedTuple):
    """What all migrations of a run have in common."""

    build: str
    accel: str  # "kvm", "tcg"
    by: str  # "qemu", "libvirt"
    wire: int  # bytes a second of the connection; 0: as fast as the machine is
    image: str  # of make-linux-guest; None: no guest needs it


class Journey:
    """A guest on its way."""

    def __init__(self, bench, name):
        self.bench, self.name = bench, name
        self.guest = cases.GUESTS[name]
        self.options = cases.qemu_options(self.guest, bench)
        self.here = self.there = None
        if bench.by == "libvirt":
            self.here = domains.Domain(bench.build, bench.accel, self.options)
        else:
            self.here = self._side(None)
        try:
            self.here.wait_for(cases.ready_pattern(self.guest))
            time.sleep(SETTLES_S[self.guest["kind"]])
            if self.guest["kind"] == "payload" and "idle=yes" not in self.guest["words"]:
                self.here.check_runs()
        except BaseException:
            self.stop()
            raise

    def _side(self, incoming):
        oracle = self.bench.accel == "tcg" and self.guest["kind"] == "linux"
        return pair.Side(self.bench.build, self.bench.accel, self.options, incoming, oracle)

    def move(self, bandwidth, downtime_ms):
        """The migration."""
        if self.bench.by == "libvirt":
            return domains.migrate(self.here, self.bench.wire, bandwidth, downtime_ms)
        stream = self.here.dir + "/stream"
        self.there = self._side(stream)
        with pair.connection(self.here.pid, stream, stream + ".wire", self.bench.wire) as path:
            return pair.migrate(self.here, self.there, path, bandwidth, downtime_ms)

    def foretell(self, bandwidth, downtime_ms, path):
        """The forecast, and the records with the write curve that it is made of. Under KVM vmwss migrate measures the guest, and
        asks QEMU for what is set; under TCG, whose writes no method sees, the curve is the truth."""
        terms = path_options(path)
        limits = limit_options(bandwidth, downtime_ms)
        if self.bench.accel == "kvm" and self.bench.by == "qemu":
            self.here.monitor.ask("migrate-set-parameters", **pair.limits(bandwidth, downtime_ms))
        else:
            terms += limits
        if self.bench.accel == "kvm":
            forecast = self._ask("migrate", *terms, *windows_option(WINDOWS))
            return forecast, [forecast]
        records = self._records()
        return foretell(self.bench.build, records, terms), records

    def _records(self):
        """A payload's truth is the same in each window; that of Linux has the oracle."""
        record = self._ask("measure", "--window", "0.1")
        record["writes"] = {"method": "truth", "granularity_bytes": 4096, "flags": []}
        record["writes"]["sparse_end_bytes"] = sparse_end(self.here.pid, self.guest["memory"] * MIB)
        if self.guest["kind"] == "payload":
            return [with_points(record, [(window, written_bytes(self.guest["words"])) for window in WINDOWS])]
        until = time.time() - 0.1  # until then all slots of time have ended
        first = [self._stores(until, window) for window in WINDOWS]
        short = [[self._stores(until - ago, window) for window in SHORT] for ago in AGO_S]
        return [with_points(record, points) for points in [first, *short]]

    def _stores(self, until, window):
        """How long the whole slots of a window are, and how much was written in them."""
        command = [os.path.join(self.bench.build, pair.ORACLE), "--map", f"{self.here.dir}/oracle"]
        command += ["--to", f"{until:.6f}", "--window", str(window + pair.SLOT_S)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise CannotStart("the oracle: " + run.stderr.strip())
        low = json.loads(run.stdout)["low"]
        return float(low["to"]) - float(low["from"]), low["stores"]["bytes"]

    def _ask(self, command, *options):
        """The JSON that a command of vmwss prints of this guest."""
        return answer_of(self.bench.build, command, "--pid", str(self.here.pid), "--wait", "5", *options)

    def stop(self):
        for side in (self.here, self.there):
            if side:
                side.stop()


def windows_option(windows):
    return ["--window", ",".join(map(str, windows))]


def path_options(path):
    return [
        *("--link", f"{path['link_bytes_s'] / 1024:.0f}KiB/s"),
        *("--state", f"{path['state_s'] * 1000:.0f}ms"),
        *("--zeroes", f"{path['zeroes_bytes_s'] / 1024:.0f}KiB/s"),
    ]


def limit_options(bandwidth, downtime_ms):
    return ["--bandwidth", f"{bandwidth // 1024}KiB/s", "--downtime", f"{downtime_ms}ms"]


def with_points(record, points):
    """The record with a write curve of (seconds, bytes)."""
    windows = [
        {"window_s": round(seconds, 3), "est_window_s": seconds}
        | {f"write_set_{bound}bytes": written for bound in ("", "low_", "high_")}
        for seconds, written in points
    ]
    return record | {"writes": record["writes"] | {"windows": windows}}


def answer_of(build, command, *options, lines=None):
    words = [os.path.join(build, VMWSS), command, "--json", *options]
    run = subprocess.run(words, input=lines, capture_output=True, text=True, check=False)
    if run.returncode:
        raise CannotStart(f"{command}: " + run.stderr.strip())
    return json.loads(run.stdout)


def foretell(build, records, terms):
    """The answer of vmwss migrate to what was measured."""
    lines = "".join(json.dumps(record) + "\n" for record in records)
    return answer_of(build, "migrate", "--curve", "/dev/stdin", *terms, lines=lines)


def calibrate(bench):
    """The way between two QEMUs of this machine, by guests at rest: how fast it is without a limit, if that is not given, how
    long the guest stands still at least, how fast memory that is absent is passed over."""

    def move(words, bandwidth=0):
        cases.GUESTS["calibration"] = cases.payload(words, memory=128)
        journey = Journey(bench, "calibration")
        try:
            return journey.move(bandwidth, 300)
        finally:
            journey.stop()

    link = bench.wire
    if not link:
        filled = move("total=96M idle=yes")
        link = filled["speed_bytes_s"] or 4104 * filled["normal_pages"] / filled["total_s"]
    # Below the speed of the connection, as the moves that are foretold: without a limit the guest would be stopped while
    # sockets are full, and stand still until they are empty. At different speeds, as slices then end at different places.
    still = [move("total=2M idle=yes", int(link * share)) for share in STANDSTILLS]
    states = sorted(max(0.001, one["downtime_s"]) for one in still)
    absent = [move("total=2M idle=yes") for _ in range(PASSES)]
    # Without the time that it stood still, and that of the few pages which hold something.
    zero_s = statistics.median(
        (one["total_s"] - one["downtime_s"] - 4104 * one["normal_pages"] / link) / one["zero_pages"] for one in absent
    )
    return {
        "link_bytes_s": link,
        "state_s": statistics.median(states),
        "states_s": states,
        "full_sockets_states_s": sorted(one["downtime_s"] for one in absent),
        "zeroes_bytes_s": 4096 / max(zero_s, FASTEST_ZERO_S),
    }


def baseline(record, bandwidth, dirty_rate):
    """What is usually reckoned: RAM / (bandwidth - rate), where that is positive. None: it says that it never ends."""
    return record["ram_bytes"] / (bandwidth - dirty_rate) if dirty_rate < bandwidth else None
