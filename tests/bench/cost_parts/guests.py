# SPDX-License-Identifier: LGPL-2.1-or-later
"""Payload guests that differ in their RAM only, and how far they have come."""

import json
import os
import signal
import subprocess
import tempfile

from matrix_parts import guests


class Guest(guests.Guest):
    """RAM of ram_mib, of which all but 32 MiB is resident and an eighth of that is hot, or hot_mib."""

    def __init__(self, build, accel, ram_mib, hot_mib=None):
        self.dir = tempfile.mkdtemp(prefix="vmwss-c.", dir="/tmp")
        self.pid, self.undo = None, []
        self.ram_mib, self.resident_mib = ram_mib, (ram_mib - 32) // 8 * 8
        self.cell = {"backing": "anon"}
        words = [f"total={self.resident_mib}M", f"hot={hot_mib or self.resident_mib // 8}M"]
        tool = os.path.join(build, "vm-images/payload/payload-truth")
        truth = subprocess.run([tool, *words, f"memory={ram_mib}M"], check=True, capture_output=True).stdout
        self.truth_mib = json.loads(truth)["truth_bytes"] / (1 << 20)
        try:
            self._start_with(build, accel, " ".join(words))
        except BaseException:
            self.stop()
            raise

    def _start_with(self, build, accel, words):
        command = [
            os.path.join(build, "vm-images/payload/nothp"),
            *("qemu-system-x86_64", "-machine", "pc", "-accel", accel, "-m", str(self.ram_mib)),
            *("-name", "guest=cost,debug-threads=on", "-nodefaults", "-no-user-config"),
            *("-display", "none", "-vga", "none"),
            *("-kernel", os.path.join(build, "vm-images/payload/vmwss-payload.elf"), "-append", words),
            *("-serial", f"file:{self.dir}/out", "-pidfile", f"{self.dir}/pid", "-daemonize"),
        ]
        subprocess.run(command + (["-cpu", "host"] if accel == "kvm" else []), check=True, capture_output=True)
        with open(f"{self.dir}/pid", encoding="ascii") as file:
            self.pid = int(file.read())
        self.state_gpa = self._wait_ready()
        self.ram_hva = self._find_ram()

    def halt(self):
        """Keeps its memory, but not the CPU."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)


def cpu_ns(task):
    with open(f"/proc/{task}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])
