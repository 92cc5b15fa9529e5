# SPDX-License-Identifier: LGPL-2.1-or-later
"""Payload guests that differ in their RAM only, and how far they have come."""

import os
import signal

import lab_host
import payload_guest


class Guest(payload_guest.Guest):
    """RAM of ram_mib, of which all but 32 MiB is resident and an eighth of that is hot, or hot_mib."""

    name = "cost"
    started = 0

    def __init__(self, build, accel, ram_mib, hot_mib=None, words=""):
        super().__init__()
        self.ram_mib, self.resident_mib = ram_mib, (ram_mib - 32) // 8 * 8
        words = f"total={self.resident_mib}M hot={hot_mib or self.resident_mib // 8}M {words}".strip()
        payload = os.path.join(build, "vm-images/payload/vmwss-payload.elf")
        options = ["-machine", "pc", "-m", str(ram_mib), "-kernel", payload, "-append", words]
        try:
            self.truth_mib = payload_guest.truth_of(build, words, ram_mib)["truth_bytes"] / (1 << 20)
            self._run_in_group(build, accel, options)
            self._find_payload()
        except BaseException:
            self.stop()
            raise

    def _run_in_group(self, build, accel, options):
        Guest.started += 1
        lab_host.enter_group(f"/sys/fs/cgroup/guest{Guest.started}")
        try:
            self._run_qemu(build, accel, options)
        finally:
            lab_host.enter_group("/sys/fs/cgroup")

    def halt(self):
        """Keeps its memory, but not the CPU."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)


def cpu_ns(task):
    with open(f"/proc/{task}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])
