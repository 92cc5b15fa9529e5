# SPDX-License-Identifier: LGPL-2.1-or-later
"""One guest that is moved from QEMU to QEMU, with a forecast before each move."""

import json
import os
import re
import statistics
import subprocess
import time

from payload_guest import CannotStart

from . import cases, pair

MIB = 1 << 20
VMWSS = "host/vmwss"
WINDOWS = [0.1, 0.2, 0.5, 1, 2, 5]
# So many moves of a guest at rest say how long it stands still at least, and how much that varies.
STANDSTILLS = 7
# A guest of the bench has settled after this time.
SETTLES_S = {"payload": 1, "linux": 8}


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


class Journey:
    """A guest on its way."""

    def __init__(self, build, accel, name, image, wire=0):
        self.build, self.accel, self.name, self.wire = build, accel, name, wire
        self.guest = cases.GUESTS[name]
        self.options = cases.qemu_options(self.guest, build, image)
        self.here, self.there = pair.Side(build, accel, self.options), None
        try:
            self.here.wait_for(cases.ready_pattern(self.guest))
            time.sleep(SETTLES_S[self.guest["kind"]])
        except BaseException:
            self.stop()
            raise

    def move(self, bandwidth, downtime_ms):
        """Forecast and migration; the guest goes on at the other end, or here."""
        if not self.there:
            self.stream = self.here.dir + "/stream"
            self.there = pair.Side(self.build, self.accel, self.options, incoming=self.stream)
        if self.wire:
            wire = pair.Wire(self.stream, self.wire)
            outcome = pair.migrate(self.here, self.there, wire.path, bandwidth, downtime_ms)
            wire.close()
        else:
            outcome = pair.migrate(self.here, self.there, self.stream, bandwidth, downtime_ms)
        if outcome["converged"]:
            self.here.stop()
            self.here, self.there = self.there, None
        else:
            self.there.stop()
            self.there = None
        return outcome

    def record(self):
        """The record with the guest's write curve, as text: measured, or under TCG, whose writes no method need see, the
        payload's own truth."""
        if self.accel == "kvm":
            return self._measure("--writes", "--window", ",".join(map(str, WINDOWS)))
        record = json.loads(self._measure("--window", "0.1"))
        written = written_bytes(self.guest["words"])
        points = [{"window_s": window, "est_window_s": window} for window in WINDOWS]
        for point in points:
            point |= {f"write_set_{bound}bytes": written for bound in ("", "low_", "high_")}
        record["writes"] = {"method": "truth", "granularity_bytes": 4096, "flags": [], "windows": points}
        record["writes"]["sparse_end_bytes"] = sparse_end(self.here.pid, self.guest["memory"] * MIB)
        return json.dumps(record)

    def _measure(self, *options):
        command = [os.path.join(self.build, VMWSS), "measure", "--pid", str(self.here.pid), "--json", "--wait", "5"]
        run = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        if run.returncode:
            raise CannotStart("measure: " + run.stderr.strip())
        return run.stdout

    def dirty_rate(self):
        """QEMU's own figure, bytes a second: page sampling for one second."""
        monitor = self.here.monitor
        monitor.ask("calc-dirty-rate", **{"calc-time": 1})
        while True:
            answer = monitor.ask("query-dirty-rate")
            if answer["status"] == "measured":
                return answer["dirty-rate"] * MIB
            time.sleep(0.1)

    def stop(self):
        for side in (self.here, self.there):
            if side:
                side.stop()


def foretell(build, record, bandwidth, downtime_ms, path):
    """The answer of vmwss migrate to a record that was measured."""
    command = [os.path.join(build, VMWSS), "migrate", "--curve", "/dev/stdin", "--json"]
    command += ["--bandwidth", f"{bandwidth // 1024}KiB/s", "--downtime", f"{downtime_ms}ms"]
    command += ["--link", f"{path['link_bytes_s'] / 1024:.0f}KiB/s", "--state", f"{path['state_s'] * 1000:.0f}ms"]
    command += ["--zeroes", f"{path['zeroes_bytes_s'] / 1024:.0f}KiB/s"]
    run = subprocess.run(command, input=record, capture_output=True, text=True, check=False)
    if run.returncode:
        raise CannotStart("migrate: " + run.stderr.strip())
    return json.loads(run.stdout)


def calibrate(build, accel, wire=0):
    """The way between two QEMUs of this machine, by guests at rest: how fast it is without a limit, how long the guest
    stands still at least, how fast memory that is absent is passed over."""

    def move(words):
        cases.GUESTS["calibration"] = cases.payload(words, memory=128)
        journey = Journey(build, accel, "calibration", None, wire)
        try:
            return journey.move(0, 300)
        finally:
            journey.stop()

    filled = move("total=96M idle=yes")
    absent = [move("total=2M idle=yes") for _ in range(STANDSTILLS)]
    states = sorted(max(0.001, one["downtime_s"]) for one in absent)
    zero_s = statistics.median(one["total_s"] / one["zero_pages"] for one in absent)
    return {
        "link_bytes_s": filled["speed_bytes_s"] or 4104 * filled["normal_pages"] / filled["total_s"],
        "state_s": statistics.median(states),
        "states_s": states,
        "zeroes_bytes_s": 4096 / zero_s,
    }


def baseline(record, bandwidth, dirty_rate):
    """What is usually reckoned: RAM / (bandwidth - rate), where that is positive. None: it says that it never ends."""
    return record["ram_bytes"] / (bandwidth - dirty_rate) if dirty_rate < bandwidth else None
