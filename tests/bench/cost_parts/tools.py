# SPDX-License-Identifier: LGPL-2.1-or-later
"""What one run of a tool costs, and what a period costs once it runs."""

import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time

from lab_host import MglruOn

from . import guests

TICK = os.sysconf("SC_CLK_TCK")
DAMON = "DAMON defaults"


def ours(vmwss, pid, words, window):
    return [vmwss, "measure", "--pid", str(pid), "--json", "-w", f"{window:g}", *words]


def run_once(command):
    """User, system and elapsed seconds and the peak memory of a command and its children; its output."""
    with tempfile.TemporaryFile() as out, tempfile.NamedTemporaryFile() as peak, open(os.devnull, "wb") as null:
        # A process begins with the peak of the one that started it: of time, not of this one.
        timed = ["/usr/bin/time", "-q", "-f", "%M", "-o", peak.name, *command]
        began = time.monotonic()
        process = subprocess.Popen(timed, stdout=out, stderr=null)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        out.seek(0)
        text = out.read().decode(errors="replace")
        peak_mib = int(peak.read().split()[-1]) / 1024
    cost = {"user_s": usage.ru_utime, "system_s": usage.ru_stime, "wall_s": wall, "peak_mib": peak_mib}
    return cost, text, process.returncode


def process_times(pid):
    """User, system, and their exact sum: the kernel's split of it is by sampling."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[11]) / TICK, int(fields[12]) / TICK, guests.cpu_ns(pid) / 1e9


def run_steadily(vmwss, pid, words, window, periods):
    """CPU of one period, without the start of the program and what it finds out once."""
    command = ours(vmwss, pid, words, window) + ["-i", f"{window:g}", "-k", str(periods + 2)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        seen = []
        for _ in process.stdout:
            seen.append(process_times(process.pid))
            if len(seen) == periods + 1:
                break
        process.send_signal(signal.SIGINT)
    if len(seen) <= periods:
        return {}
    user, system, cpu = ((last - first) / periods for first, last in zip(seen[0], seen[-1]))
    share = user / (user + system) if user + system > 0 else 0
    return {"period_cpu_s": cpu, "period_user_s": cpu * share, "period_system_s": cpu * (1 - share)}


def last_number(text):
    numbers = re.findall(r"\d+(?:\.\d+)?", text.strip().splitlines()[-1]) if text.strip() else []
    return float(numbers[-1]) if numbers else None


def wss_mib(text):
    """Of a record of ours, or the last number of the last line of another tool."""
    try:
        return json.loads(text)["windows"][-1]["wss_bytes"] / (1 << 20)
    except (ValueError, TypeError, KeyError):
        return last_number(text)


def run_damon(root, pid, window):
    """The script only waits; what counts is DAMON's thread, which no process is charged for. The script tells."""
    cost, text, status = run_once([os.path.join(root, "tests/bench/damon-defaults"), str(pid), f"{window:g}"])
    cpu = re.search(r"(\S+) s of CPU time", text)
    return cost | {"user_s": 0.0, "system_s": float(cpu[1]) if cpu else None}, text, status


def our_rows(context, guest, window, methods, periods):
    """One row for each method of ours."""
    for name, words in methods.items():
        with MglruOn(words[1]):
            cost, text, status = run_once(ours(context["vmwss"], guest.pid, words, window))
            steady = run_steadily(context["vmwss"], guest.pid, words, window, periods) if periods and not status else {}
        yield {"tool": "vmwss " + name, "wss_mib": wss_mib(text), "status": status} | cost | steady


def rows_of(context, guest, window, methods, periods):
    """One row for each tool, ours first."""
    yield from our_rows(context, guest, window, methods, periods)
    for name, command in context["tools"].items():
        cost, text, status = run_once(shlex.split(command) + [str(guest.pid), f"{window:g}"])
        yield {"tool": name, "wss_mib": wss_mib(text), "status": status} | cost
    if os.path.isdir("/sys/kernel/mm/damon/admin") and "VMWSS_LAB_KERNEL" in os.environ:
        cost, text, status = run_damon(context["root"], guest.pid, window)
        yield {"tool": DAMON, "wss_mib": wss_mib(text), "status": status} | cost
