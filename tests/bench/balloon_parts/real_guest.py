# SPDX-License-Identifier: LGPL-2.1-or-later
"""A guest that works in counted units (vm-images/linux/counted.c), and what a unit costs it.

A unit of work costs so many instructions of the guest, counted by a plugin of QEMU, and so many reads of its disks: taken
together as seconds, with 10^9 instructions a second and 100 us a read. Neither depends on what else the machine does; of wall
time under emulation that cannot be said."""

import math
import mmap
import re
import statistics
import subprocess
import threading
import time

MIB = 1 << 20
INSTRUCTIONS_PER_S = 1e9
READ_S = 100e-6
FIELDS = ("units", "some_us", "full_us", "refaults", "swap_ins", "oom_kills", "reads", "risen_mib")
LINE = re.compile(rb"vmwss-work " + rb" ".join([rb"(\d+)"] * len(FIELDS)) + rb"\r?\n")
DEAD = re.compile(rb"Out of memory|oom-kill|Kernel panic|vmwss-work failed")
# One-sided 95 % of Student's t, by degrees of freedom; of more the last.
T95 = [math.inf, 6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83, 1.81, 1.80, 1.78, 1.77, 1.76, 1.75]


def say(text):
    print(f"# {time.strftime('%H:%M:%S')} {text}", flush=True)


def upper_bound(values):
    """Of their mean, 95 %, one-sided; None: there is but one."""
    n = len(values)
    if n < 2:
        return None
    return statistics.mean(values) + T95[min(n - 1, len(T95) - 1)] * statistics.stdev(values) / math.sqrt(n)


class Guest:
    """One guest: a thread reads its console, and notes the count of instructions at each unit."""

    def __init__(self, options, name):
        self.options, self.name = options, name
        self.samples = []
        self.dead = False
        # pylint: disable-next=consider-using-with
        self.console = open(f"{options.consoles}/{name}.out", "rb")
        with open(f"{options.dir}/{name}.count", "rb") as file:
            self.count = mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ)
        threading.Thread(target=self._watch, daemon=True).start()

    def instructions(self):
        return int.from_bytes(self.count[:8], "little")

    def _watch(self):
        text = b""
        while True:
            new = self.console.read()
            now = {"time_s": time.time(), "instructions": self.instructions()}
            text += new
            if new and DEAD.search(text):
                self.dead = True
            for match in LINE.finditer(text):
                self.samples.append(now | dict(zip(FIELDS, map(int, match.groups()))))
            text = text[text.rfind(b"\n") + 1 :]
            time.sleep(0.01)

    def virsh(self, *words):
        command = ["virsh", "-q", "-c", self.options.uri, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    def memory(self):
        """dommemstat, in bytes."""
        lines = (line.split() for line in self.virsh("dommemstat", self.name).splitlines())
        return {words[0]: int(words[1]) * 1024 for words in lines if len(words) == 2}

    def set_size(self, size_bytes):
        """Until the balloon is there, or has not come further for five seconds. Returns what it leaves."""
        self.virsh("setmem", self.name, str(size_bytes // 1024), "--live")
        before, since = None, time.monotonic()
        while True:
            actual = self.memory()["actual"]
            if abs(actual - size_bytes) < MIB:
                return actual
            if actual != before:
                before, since = actual, time.monotonic()
            elif time.monotonic() - since > 5:
                self.virsh("setmem", self.name, str(actual // 1024), "--live")
                return actual
            time.sleep(0.3)

    def wait_units(self, n, seconds, most_instructions, until_s):
        """So many units and seconds. Why it did not come to that, or None: wall time says nothing about a machine that is busy,
        so a guest stands when it has executed so much and done none."""
        begin, first, executed = time.monotonic(), len(self.samples), self.instructions()
        while len(self.samples) - first < n or time.monotonic() - begin < seconds:
            if self.dead or (self.samples and self.samples[-1]["oom_kills"] > self.samples[0]["oom_kills"]):
                return "the OOM killer ran"
            if self.instructions() - executed > most_instructions * (len(self.samples) - first + 1):
                return "a unit takes 20 times as long, or for ever"
            if time.time() > until_s:
                return "no time"
            time.sleep(0.05)
        return None


def difference(begin, end):
    """What was done between two samples."""
    return {key: end[key] - begin[key] for key in begin}


def cost_s(phase):
    return phase["instructions"] / phase["units"] / INSTRUCTIONS_PER_S + phase["reads"] / phase["units"] * READ_S


def measure(guest, size_bytes, seconds, until_s, full=None):
    """A phase at this size: what was done in it, by differences between two units; else why there is none. full: a phase at full
    size, by which to say that it stands."""
    most = 20 * full["instructions"] / full["units"] if full else float("inf")
    actual = guest.set_size(size_bytes)
    why = guest.wait_units(1, seconds / 2, most, until_s)
    first = len(guest.samples) - 1
    why = why or guest.wait_units(2, seconds, most, until_s)
    if why:
        return {"why": why, "actual_bytes": actual}
    return difference(guest.samples[first], guest.samples[-1]) | {"actual_bytes": actual, "why": None}
