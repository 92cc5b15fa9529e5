# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures cells on running guests and writes one JSON line for each record, as tests/bench/compare reads them.

A record counts only when its guest ran: it passed over its whole hot set at least twice in the window. When windows turn
out too short for that (a busy machine), they are made longer."""

import json
import math
import os
import re
import select
import subprocess
import threading
import time

import lab_host

from . import cells, guests, linux_guest

CALIBRATION_PERIODS = 3
ROUNDS = 3
LONGER = 2.5
LONGEST_WINDOW_S = 10
# On a busy machine a vCPU gets little of a core and still does all its passes.
LEAST_VCPU = 0.1


class Watch:
    """Polls the guest's state, for guests whose working set steps."""

    def __init__(self, guest):
        self.guest = guest
        self.seen = []  # (time, phase)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._poll, daemon=True)

    def _poll(self):
        last = None
        while not self.stop.wait(0.02):
            phase = self.guest.phase()
            if phase != last:
                self.seen.append((time.monotonic(), phase))
                last = phase

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()

    def at(self, when):
        phases = [phase for begun, phase in self.seen if begun <= when]
        return phases[-1] if phases else None


def command_of(vmwss, pid, cell, window, periods):
    method = ["-m", cell["method"], *(["--census"] if cell["mode"] == "census" else ["-n", cell["mode"]])]
    return [
        vmwss,
        "measure",
        "--pid",
        str(pid),
        "--json",
        *(["--writes"] if cell["method"] == cells.WRITES else method),
        "-w",
        f"{window:.3g}",
        "-i",
        f"{window:.3g}",
        "-k",
        str(periods),
    ]


def as_working_set(record):
    """A record of a write set as one of a working set, which is what is compared."""
    if not record.get("writes"):
        return record
    points = record["writes"]["windows"]
    return record | {"windows": [{key.replace("write_set", "wss"): point[key] for key in point} for point in points]}


def records_of(command, timeout):
    """Yields each line as it comes, then (exit status, messages)."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1) as process:
        end = time.monotonic() + timeout
        while True:
            ready = select.select([process.stdout], [], [], max(0, end - time.monotonic()))[0]
            line = process.stdout.readline() if ready else ""
            if not line:
                break
            yield as_working_set(json.loads(line)), time.monotonic()
        if not ready:
            process.kill()
        yield None, (process.wait(), process.stderr.read().strip() if ready else f"took more than {timeout:.0f} s")


def ran(guest, record, before, after):
    """Whether the guest did its work in the window: of its passes in the time around it those that fit into what its
    vCPUs ran in the window. before and after are (time, passes, vCPU seconds)."""
    in_window_s = record["vcpu_seconds"]
    if in_window_s < LEAST_VCPU * record["windows"][-1]["est_window_s"]:
        return False
    share = min(1, in_window_s / max(after[2] - before[2], 1e-9))
    return not guest.counts_passes or (after[1] - before[1]) * share >= 2


def measure_periods(context, guest, cell, window, periods, keep):
    """The reason when it came to an early end. Each run's lines are handed to keep() as soon as they are there."""
    if not guest.one_by_one:
        lines, reason = measure_run(context, guest, cell, window, periods)
        keep(lines)
        return reason
    for _ in range(periods):
        guest.before_period()
        lines, reason = measure_run(context, guest, cell, window, 1)
        keep(lines)
        if reason is not None:
            return reason
    return None


def measure_run(context, guest, cell, window, periods):
    """Likewise, of one run of vmwss."""
    lines, reason = [], None
    before = (time.monotonic(), guest.passes(), guest.vcpu_s())
    timeout = 30 + periods * (10 * window + 3)
    with Watch(guest) as watch:
        for record, end in records_of(command_of(context["vmwss"], guest.pid, cell, window, periods), timeout):
            if record is None:
                reason = reason_of(*end)
                break
            after = (end, guest.passes(), guest.vcpu_s())
            did = ran(guest, record, before, after)
            lines.append(line_of(guest, cell, watch, record, (before[0], end)) | {"ran": did})
            before = after
    return lines, reason


def reason_of(status, messages):
    if not status:
        return None
    return messages.splitlines()[-1].removeprefix("vmwss: ") if messages else f"exit {status}"


def line_of(guest, cell, watch, record, span):
    """One line; span is when the record's period began, at the earliest, and ended."""
    line = {"cell": cells.labels(cell), "record": record}
    if cell["pattern"] != "step":
        return line | {"truth": guest.truth_bytes(record)}
    begin, end = watch.at(span[0] - 0.05), watch.at(span[1])
    settled = begin is not None and begin == end
    return line | {"truth": guest.truth_bytes(record, end or 0), "settled": settled, "phase": end}


def count_ran(lines):
    return sum(line["ran"] for line in lines)


def measure_cell(context, guest, cell, out):
    """Some periods first, to see whether the window suffices; then the rest, and again for those that do not count. Lines that
    count are in out as soon as they are measured: what ends the lab costs the period that it interrupts."""
    window = cells.window_s(cell)
    first = min(CALIBRATION_PERIODS, cell["periods"])
    while True:
        lines = []
        reason = measure_periods(context, guest, cell, window, first, lines.extend)
        if not lines or count_ran(lines) == len(lines) or window * LONGER > LONGEST_WINDOW_S:
            break
        window *= LONGER
    write_lines(out, lines)

    def keep(more):
        lines.extend(more)
        write_lines(out, more)

    for _ in range(ROUNDS):
        missing = cell["periods"] - count_ran(lines)
        if reason is not None or not lines or missing <= 0:
            break
        reason = measure_periods(context, guest, cell, window, missing, keep)
    return lines, reason


def write_lines(out, lines):
    for line in lines:
        out.write(json.dumps(line) + "\n")
    out.flush()


def number_of(output):
    """The last number of a tool's last line, or None."""
    lines = output.strip().splitlines()
    numbers = re.findall(r"\d+(?:\.\d+)?", lines[-1]) if lines else []
    return float(numbers[-1]) if numbers else None


def run_tool(command):
    """(MiB, CPU seconds) of another tool, which prints MiB as the last number of its last line; or (None, why)."""
    before = os.times()
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    after = os.times()
    mib = number_of(run.stdout) if run.returncode == 0 else None
    if mib is None:
        said = (run.stderr or run.stdout).strip().splitlines()
        return None, said[-1] if said else f"exit {run.returncode}"
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return mib, cpu


def measure_tool(context, guest, cell, out):
    """As measure_cell, of a tool that is not ours."""
    lines, reason = tool_lines(context, guest, cell)
    write_lines(out, lines)
    return lines, reason


def tool_lines(context, guest, cell):
    window = max(1, math.ceil(cells.window_s(cell)))
    huge = cell["backing"] in ("thp", "hugetlb")
    lines = []
    for _ in range(cell["periods"]):
        passes = guest.passes()
        mib, cpu = run_tool([*context["tools"][cell["tool"]].split(), str(guest.pid), str(window)])
        if mib is None:
            return lines, cpu
        wss = {key: mib * cells.MIB for key in ("wss_bytes", "wss_low_bytes", "wss_high_bytes")}
        record = {
            "method": cell["tool"],
            "granularity_bytes": 2 * cells.MIB if huge else cells.PAGE,
            "resident_bytes": guest.resident_bytes(),
            "cpu_seconds": cpu,
            "windows": [wss | {"est_window_s": window}],
        }
        ran_enough = not guest.counts_passes or guest.passes() - passes >= 2
        truth = guest.truth_bytes(record)
        lines.append({"cell": cells.labels(cell), "record": record, "truth": truth, "ran": ran_enough})
    return lines, None


def guest_for(cell):
    if cells.under_lab_oracle(cell):
        return linux_guest.NestedLinuxGuest
    return linux_guest.LinuxGuest if cell["pattern"] in cells.WORK else guests.Guest


def say_result(cell, lines, reason):
    if lines:
        last = lines[-1]
        truth = last["truth"]["bytes"] if isinstance(last["truth"], dict) else last["truth"]
        wss = last["record"]["windows"][-1]["wss_bytes"]
        text = (
            f"{wss / cells.MIB:.2f} of {truth / cells.MIB:.2f} MiB, {sum(x['ran'] for x in lines)}/{len(lines)} records"
        )
    else:
        text = reason
    print(f"cell {cells.name(cell)}: {text}", flush=True)


def measure_or_why(context, guest, cell, out):
    """A guest or tool that fails costs its own cell only."""
    try:
        with lab_host.MglruOn(cell["method"]):
            return (measure_tool if cell["tool"] else measure_cell)(context, guest, cell, out)
    except (guests.CannotStart, OSError, subprocess.SubprocessError) as error:
        return [], f"could not be measured: {error}"


def run_cells(context, chunk, out):
    """Measures the cells of one place, guest by guest; appends lines to out."""

    def note(cell, lines, reason):
        if not lines:
            write_lines(out, [{"cell": cells.labels(cell), "why": reason}])
        say_result(cell, lines, reason)

    for key in dict.fromkeys(cells.guest_key(cell) for cell in chunk):
        group = [cell for cell in chunk if cells.guest_key(cell) == key]
        try:
            guest = guest_for(group[0])(context["build"], group[0])
        except guests.CannotStart as error:
            for cell in group:
                note(cell, [], str(error))
            continue
        try:
            for cell in group:
                note(cell, *measure_or_why(context, guest, cell, out))
        finally:
            guest.stop()
