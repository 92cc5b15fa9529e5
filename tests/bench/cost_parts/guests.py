# SPDX-License-Identifier: LGPL-2.1-or-later
"""Payload guests that differ in their RAM only, and how far they have come."""

import os
import signal

import lab_host
import payload_guest


class Guest(payload_guest.Guest):
    """RAM of ram_mib, of which all but 32 MiB is resident and an eighth of that is hot, or hot_mib. With options_in_file its size is
    in a file of options that is gone, so that a proof alone finds the RAM."""

    name = "cost"
    started = 0

    def __init__(self, build, accel, ram_mib, hot_mib=None, words="", huge_pages=False, options_in_file=False):
        super().__init__()
        self.ram_mib, self.resident_mib = ram_mib, (ram_mib - 32) // 8 * 8
        words = f"total={self.resident_mib}M hot={hot_mib or self.resident_mib // 8}M {words}".strip()
        payload = os.path.join(build, "vm-images/payload/vmwss-payload.elf")
        options = self._size_options(options_in_file) + ["-machine", "pc", "-kernel", payload, "-append", words]
        try:
            self.truth_mib = payload_guest.truth_of(build, words, ram_mib)["truth_bytes"] / (1 << 20)
            self._run_in_group(build, accel, options, huge_pages)
            self._find_payload()
        except BaseException:
            self.stop()
            raise

    def _size_options(self, in_file):
        if not in_file:
            return ["-m", str(self.ram_mib)]
        with open(f"{self.dir}/conf", "w", encoding="ascii") as file:
            file.write(f'[memory]\n  size = "{self.ram_mib}M"\n')
        return ["-readconfig", file.name]

    def _run_in_group(self, build, accel, options, huge_pages):
        Guest.started += 1
        lab_host.enter_group(f"/sys/fs/cgroup/guest{Guest.started}")
        try:
            self._run_qemu(build, accel, options, huge_pages)
            if os.path.exists(f"{self.dir}/conf"):
                os.unlink(f"{self.dir}/conf")
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
