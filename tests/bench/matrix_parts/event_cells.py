# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures guests to which something happens within the window, and judges each number."""

import datetime
import itertools
import json
import select
import signal
import subprocess
import threading
import time

import lab_host

from . import cells, events, guests, measure

MIB = cells.MIB
WINDOW_S = 3
FOLLOWED_S = (1, 3)
# The first of several windows: it is read before the event, which comes ASLEEP_S after the marking or later.
FIRST_S = 0.5
RECORDS_AFTER = 3
# About how long an event takes.
EVENT_S = 0.5
# When the middle of another tool's window is, as long as it is not known how long that takes to begin.
MIDDLE_S = 2.5
# A measurement that has slept for so long has marked its pages: what sleeps while a method is tried is shorter.
ASLEEP_S = 1.0
POLL_S = 0.05
# ppoll(2) on x86-64, in which vmwss waits for the end of the window.
PPOLL = "271"
LEAST_PASSES = 2
# On a busy machine an event takes longer than it should: then a longer window.
ATTEMPTS_S = (WINDOW_S, 2 * WINDOW_S, 4 * WINDOW_S)
TIMEOUT_S = 90
CENSUS_PERCENT = 1.0
PANEL_POINTS = 2.2
# A number is right, or there is none for the reason that the event foresees, or it is flagged with
# bounds that hold the truth, or it is wrong.
VERDICTS = ["right", "refused", "flagged", "WRONG"]

# Modes that only events have: a panel that is followed, one that is measured for several windows, and what is measured
# without options.
MODES = ["followed", "windows", "default"]
OURS = {
    "kvm": [
        ("idle", "census"),
        ("idle", "n=2000"),
        ("damon", "n=2000"),
        ("mglru", "census"),
        ("zap", "census"),
        ("zap", "n=2000"),
        ("pageout", "n=2000"),
        ("zap-all", "census"),
        ("auto", "default"),
        (cells.WRITES, "census"),
        ("idle", "windows"),
        ("zap", "windows"),
        ("idle", "followed"),
        ("damon", "followed"),
        ("zap", "followed"),
        ("pageout", "followed"),
        ("auto", "followed"),
    ],
    "tcg": [
        ("cold", "census"),
        ("referenced", "census"),
        ("pageout", "n=2000"),
        ("auto", "default"),
        ("pageout", "followed"),
    ],
}


class Wanted:
    """Which methods, modes, kernels of the lab and backings are asked for; None is all of them, or the usual one."""

    def __init__(self, methods, modes, kernels=None, backings=None):
        self.methods, self.modes = methods, modes
        self.kernels, self.backings = kernels or ["page_idle"], backings or [None]

    def has(self, method, mode):
        return (not self.methods or method in self.methods) and (
            not self.modes or mode.removeprefix("n=") in self.modes
        )


def backing_of(method, event):
    """pageout needs RAM in a memfd; huge pages need RAM that has none at first."""
    backings = events.EVENTS[event].backings
    return "memfd" if method == "pageout" and event != "swap-out" and "memfd" in backings else backings[0]


def plan(accels, tools, want_events, wanted, repeat):
    """Every method, and every tool, for every event; once for each backing also what is said when nothing happens."""
    chosen, seen = [], set()
    for accel, event, kernel, backing in itertools.product(accels, want_events, wanted.kernels, wanted.backings):
        kernel = kernel if accel == "kvm" else "host"
        if event == "nothing" or (kernel == "host" and events.EVENTS[event].lab_only):
            continue
        for method, mode in rows_of(accel, wanted) + [(tool, "tool") for tool in tools]:
            cell = make(accel, kernel, event, backing or backing_of(method, event), method, mode, repeat)
            if cell["backing"] not in events.EVENTS[event].backings:
                continue
            calm = (kernel, accel, cell["backing"], method, mode)
            if calm not in seen:
                chosen.append(cell | {"event": "nothing"})
            seen.add(calm)
            chosen.append(cell)
    return chosen


def make(accel, kernel, event, backing, method, mode, repeat):
    return {
        "kernel": kernel,
        "accel": accel,
        "backing": backing,
        "group": event,
        "event": event,
        "numa": events.EVENTS[event].numa,
        "method": method,
        "mode": mode,
        "periods": repeat,
    }


def rows_of(accel, wanted):
    return [(method, mode) for method, mode in OURS[accel] if wanted.has(method, mode)]


def guest_key(cell):
    """Cells with the same key are measured on one guest, started once."""
    return (cell["accel"], cell["group"], cell["backing"], cell["method"] == cells.WRITES)


def name(cell):
    return f"{cell['kernel']} {cell['backing']} {cell['method']} {cell['mode']}, {cell['event']}"


def labels(cell):
    return {key: cell[key] for key in ("kernel", "accel", "backing", "event", "method", "mode")}


def cell_cost_s(cell):
    return cell["periods"] * (WINDOW_S + 3 + (WINDOW_S if cell["mode"] in ("followed", "windows") else 0))


def guest_cost_s(_):
    return 10


def command_of(context, guest, cell, window_s=WINDOW_S):
    """One measurement, or one panel that is followed until it is ended."""
    pid = str(guest.pid)
    method = {"auto": [], cells.WRITES: ["--writes"]}.get(cell["method"], ["-m", cell["method"]])
    if cell["mode"] == "tool":
        return [*context["tools"][cell["method"]].split(), pid, str(window_s)]
    if cell["mode"] == "followed":
        windows = ",".join(map(str, FOLLOWED_S))
        return [context["vmwss"], "ages", "--json", "--pid", pid, "-w", windows, "-i", "1", *method]
    mode = {"census": ["--census"], "default": []}.get(cell["mode"], ["-n", "2000"])
    several = (FIRST_S, window_s, 2 * window_s) if cell["mode"] == "windows" else (window_s,)
    windows = ",".join(f"{length:g}" for length in several)
    return [context["vmwss"], "measure", "--json", "--pid", pid, "-w", windows, *mode, *method]


class Refused(Exception):
    """Why there is no number."""


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1].removeprefix("vmwss: ") if lines else "no message"


def is_asleep(pid):
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            return file.read().split()[0] == PPOLL
    except (OSError, IndexError):
        return False


def wait_for_window(process):
    """Until the measurement has marked its pages. How long that takes differs widely: it had taken 14 s where a guest was
    running, and ended soon after it was suspended."""
    asleep, needed = 0, round(ASLEEP_S / POLL_S)
    end = time.monotonic() + TIMEOUT_S
    while asleep < needed and process.poll() is None and time.monotonic() < end:
        asleep = asleep + 1 if is_asleep(process.pid) else max(0, asleep - 4)
        time.sleep(POLL_S)


class Passes:
    """How often the guest had passed over its hot set, at any moment of a measurement."""

    def __init__(self, guest):
        self.guest = guest
        self.seen = []
        self.passes = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self):
        while not self.ended.wait(POLL_S):
            try:
                self.seen.append((time.monotonic(), self.guest.vcpu_s()))
            except (OSError, IndexError):
                pass  # QEMU replaces itself just now

    def __enter__(self):
        self.passes = self.guest.passes()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.passes = self.guest.passes() - self.passes

    def between(self, begin, end):
        """Once it has ended."""
        ran = [vcpu_s for when, vcpu_s in self.seen if begin <= when <= end]
        if len(ran) < 2:
            return 0
        return self.passes * (ran[-1] - ran[0]) / max(self.seen[-1][1] - self.seen[0][1], 1e-9)


def window_of(record, end):
    """When all pages were marked and when the first was read. Another tool says nothing of that: its window is taken to be
    the last that it can be."""
    window = record["windows"][-1]
    if "marking_seconds" not in record:
        return end - window["est_window_s"], end
    read = datetime.datetime.fromisoformat(record["time"].replace("Z", "+00:00")).timestamp()
    read += time.monotonic() - time.time()
    marked = read - record["reading_seconds"] / 2 - window["est_window_s"] + record["marking_seconds"] / 2
    return marked, read - record["reading_seconds"]


def measured(context, guest, cell, event, window_s, at_s):
    """One measurement, with the event in its window: another tool's is taken to be so many seconds after its start. Returns
    the record, when it came, when the event was, and whether that tells anything: the event was within the longest window, and
    the guest had touched all of its working set within each since its pages were marked."""
    with (
        Passes(guest) as passes,
        subprocess.Popen(
            command_of(context, guest, cell, window_s), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        if cell["mode"] == "tool":
            time.sleep(at_s)
        else:
            wait_for_window(process)
        happened = events.happen(event, guest, time.monotonic())
        out, messages = process.communicate(timeout=TIMEOUT_S)
        end = time.monotonic()
    if process.returncode or not out.strip():
        raise Refused(last_line(messages or out))
    record = record_of(guest, cell, out, window_s)
    marked, read = window_of(record, end)
    reads = [read + window["est_window_s"] - record["windows"][-1]["est_window_s"] for window in record["windows"]]
    # With several windows the event is between the readings of the first two: one window has the memory of before,
    # one of after.
    begin, end_of_second = (reads[0], reads[1]) if cell["mode"] == "windows" else (marked, read)
    fits = begin <= happened[0] and happened[1] <= end_of_second
    fits = fits and all(passes.between(marked, window_read) >= LEAST_PASSES for window_read in reads)
    return record, end, happened, fits


def record_of(guest, cell, out, window_s):
    if cell["mode"] != "tool":
        return measure.as_working_set(json.loads(out.strip().splitlines()[-1]))
    mib = measure.number_of(out)
    if mib is None:
        raise Refused(last_line(out))
    wss = {key: mib * MIB for key in ("wss_bytes", "wss_low_bytes", "wss_high_bytes")}
    windows = [wss | {"window_s": window_s, "est_window_s": window_s}]
    return {"windows": windows, "resident_bytes": guest.resident_bytes(), "flags": [], "method": cell["method"]}


class Follower:
    """`vmwss ages` of a guest, record by record."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )  # ended by close()

    def next(self):
        ready = select.select([self.process.stdout], [], [], TIMEOUT_S)[0]
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.process.kill()
            raise Refused(last_line(self.process.stderr.read()))
        return json.loads(line), time.monotonic()

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=TIMEOUT_S)


def followed(context, guest, cell, event):
    """A panel is followed until it knows all windows; then the event, and the records after it."""
    follower = Follower(command_of(context, guest, cell))
    try:
        record, _ = follower.next()
        while len(record["windows"]) < len(FOLLOWED_S):
            record, _ = follower.next()
        happened = events.happen(event, guest, time.monotonic() + 0.5)
        records = []
        while len(records) < RECORDS_AFTER:
            record, end = follower.next()
            if end > happened[0]:
                records.append((record, end))
        return records, happened
    finally:
        follower.close()


def bounds_hold(guest, window):
    least, most = guest.exact_bytes()
    return window["wss_low_bytes"] <= most and window["wss_high_bytes"] >= (1 - CENSUS_PERCENT / 100) * least


def judge(guest, record, window):
    """One of VERDICTS."""
    least, most = guest.exact_bytes()
    wss = window["wss_bytes"]
    off = max(wss - most, least - wss, 0)
    if record.get("mode") == "census":
        near = off <= CENSUS_PERCENT / 100 * most
    else:
        near = off <= PANEL_POINTS / 100 * record["resident_bytes"]
    holds = bounds_hold(guest, window)
    if near or (holds and not record["flags"] and record.get("mode") == "panel"):
        return "right"
    return "flagged" if holds and record["flags"] else "WRONG"


def line_of(guest, cell, record, window, happened, end):
    return {
        "cell": labels(cell),
        "record": record,
        "window": window,
        "truth": guest.exact_bytes()[1],
        "verdict": judge(guest, record, window),
        "held": bounds_hold(guest, window),
        "event_s": happened[1] - happened[0],
        "before_end_s": end - happened[0],
    }


def worst_line(lines):
    return max(
        lines,
        key=lambda line: (
            VERDICTS.index(line["verdict"]),
            abs(line["window"]["wss_bytes"] - line["truth"]),
        ),
    )


def is_telling(guest, passes, begin, end, happened):
    if guest.stopped:
        return begin < happened[0] - 0.2
    return passes.between(begin, end) >= LEAST_PASSES


def one_followed(context, guest, cell, event):
    """The worst window of the records after the event. A window that has begun after the guest was suspended is of no
    use, for nothing was touched in it, nor one in which the guest hardly ran, as while its monitor works."""
    with Passes(guest) as passes:
        records, happened = followed(context, guest, cell, event)
    lines = [
        line_of(guest, cell, record, window, happened, end)
        for record, end in records
        for window in record["windows"]
        if is_telling(guest, passes, end - window["est_window_s"], end, happened)
    ]
    if not lines:
        raise Refused("no window reached back over the event")
    return worst_line(lines) | {"all_held": [line["held"] for line in lines]}


def one_measured(context, guest, cell, event, clock):
    """Once more when the event did not fall into the window, or the guest hardly ran in it. clock: when the middle of other
    tools' windows is, from what nothing happened to."""
    tool = cell["method"]
    for window_s in ATTEMPTS_S:
        begin = time.monotonic()
        at_s = clock.get(tool, MIDDLE_S) + (window_s - WINDOW_S) / 2
        record, end, happened, fits = measured(context, guest, cell, event, window_s, at_s)
        if cell["event"] == "nothing":
            clock[tool] = max(0, (end - begin - EVENT_S) / 2)
        if fits:
            lines = [line_of(guest, cell, record, window, happened, end) for window in record["windows"]]
            return worst_line(lines) | {"all_held": [line["held"] for line in lines]}
        events.undone(event, guest)
        event.before(guest)
    raise Refused("the event did not fit into the window")


def repeat_cell(context, guest, cell, clock, write):
    """Lines, one for each time that the event happened, and the reason why there are no more. Each is written when it comes: a
    lab that ends early takes one event with it."""
    lines = []
    for _ in range(cell["periods"]):
        event = events.EVENTS[cell["event"]]()
        try:
            event.before(guest)
            if cell["mode"] == "followed":
                lines.append(one_followed(context, guest, cell, event))
            else:
                with lab_host.MglruOn(cell["method"]):
                    lines.append(one_measured(context, guest, cell, event, clock))
            write(lines[-1])
        except Refused as error:
            if not event.refusal or event.refusal not in str(error):
                return lines, str(error)
            lines.append({"cell": labels(cell), "verdict": "refused", "why": str(error)})
            write(lines[-1])
        except (guests.CannotStart, OSError, subprocess.SubprocessError) as error:
            return lines, str(error)
        finally:
            events.undone(event, guest)
    return lines, None


def say(cell, lines, reason):
    text = reason
    told = [line for line in lines if "window" in line]
    if told:
        worst = worst_line(told)
        window = worst["window"]
        wss, low, high = (window[key] / MIB for key in ("wss_bytes", "wss_low_bytes", "wss_high_bytes"))
        verdicts = ", ".join(line["verdict"] for line in lines)
        text = f"{wss:.2f} [{low:.2f}, {high:.2f}] of {worst['truth'] / MIB:.2f} MiB by {worst['record']['method']}, "
        text += f"flags {','.join(worst['record']['flags']) or 'none'}: {verdicts}; event {worst['event_s']:.2f} s, "
        text += f"{worst['before_end_s']:.1f} s before the record" + (f"; {reason}" if reason else "")
    refused = [line for line in lines if "window" not in line]
    if refused:
        text = f"{text or ''}; refused {len(refused)} times: {refused[-1]['why']}".removeprefix("; ")
    print(f"cell {name(cell)}: {text}", flush=True)


def run_cells(context, chunk, out):
    """Measures event cells, guest by guest; appends lines to out."""

    def write(line):
        out.write(json.dumps(line) + "\n")
        out.flush()

    def note(cell, lines, reason):
        if not lines:
            write({"cell": labels(cell), "why": reason})
        say(cell, lines, reason)

    for key in dict.fromkeys(map(guest_key, chunk)):
        group = [cell for cell in chunk if guest_key(cell) == key]
        guest, clock = None, {}
        for cell in group:
            try:
                guest = guest if guest and guest.alive() else events.EventGuest(context["build"], cell)
                note(cell, *repeat_cell(context, guest, cell, clock, write))
            except guests.CannotStart as error:
                note(cell, [], str(error))
                if guest:
                    guest.stop()
                guest = None
        if guest:
            guest.stop()
