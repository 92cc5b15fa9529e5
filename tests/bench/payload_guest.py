# SPDX-License-Identifier: LGPL-2.1-or-later
"""QEMU guests of the benches, most of them payload guests, whose working set is known to the page: how they are started, what they
have done meanwhile, and how they end. tests/lib/guests.sh does so for test scripts, which are in shell, as what they check is."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

# A Linux under the oracle boots some ten times slower than without, and machines are busy.
READY_S = 300
# A pass takes far less in any of them.
RUNS_S = 20
MAGIC = b"VMWSSPLD"


class CannotStart(Exception):
    """This guest cannot be had here; the text says why."""


def truth_of(build, words, memory_mib):
    """What the payload with these parameters touches, as payload-truth says."""
    command = [os.path.join(build, "vm-images/payload/payload-truth"), *words.split(), f"memory={memory_mib}M"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


class Guest:
    """One running guest. How it begins is each kind's own: _run_qemu, then _find_payload or _wait_for."""

    counts_passes = True
    name = "guest"

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix=f"vmwss-{self.name[0]}.", dir="/tmp")
        self.pid = None
        self.undo = []

    def _run_qemu(self, build, accel, options, huge_pages=False):
        """In the background, with nothing but these options, and without the host's huge pages unless they are wanted."""
        command = [] if huge_pages else [os.path.join(build, "vm-images/payload/nothp")]
        command += ["qemu-system-x86_64", "-accel", accel, "-name", f"guest={self.name},debug-threads=on"]
        command += ["-nodefaults", "-no-user-config", "-display", "none", "-vga", "none", "-daemonize"]
        command += ["-serial", f"file:{self.dir}/out", "-pidfile", f"{self.dir}/pid"]
        command += ["-cpu", "host"] if accel == "kvm" else []
        run = subprocess.run(command + options, capture_output=True, text=True, check=False)
        if run.returncode:
            raise CannotStart("QEMU: " + run.stderr.strip().splitlines()[-1])
        with open(f"{self.dir}/pid", encoding="ascii") as file:
            self.pid = int(file.read())

    def _find_payload(self):
        """Once it spins: where it keeps its state."""
        self.state_gpa = self._wait_ready()
        self.ram_hva = self._find_ram()

    def _wait_ready(self):
        """Where the payload keeps its state, as a guest-physical address, once it spins."""
        return int(self._wait_for(r"vmwss-payload ready .*state=(0x[0-9a-f]+).*\n")[1], 16)

    def _wait_for(self, pattern):
        """The match of what the guest says on its serial port when it is ready."""
        for _ in range(READY_S * 10):
            with open(f"{self.dir}/out", encoding="ascii", errors="replace") as file:
                said = file.read()
            ready = re.search(pattern, said)
            if ready:
                return ready
            if "vmwss-payload error" in said:
                raise CannotStart(said.strip())
            time.sleep(0.1)
        raise CannotStart(f"the guest did not get ready in {READY_S} s")

    def _find_ram(self):
        """Where guest address 0 is mapped in QEMU: the mapping that has the payload's state at its place."""
        with open(f"/proc/{self.pid}/maps", encoding="ascii", errors="replace") as maps:
            for line in maps:
                begin, end = (int(x, 16) for x in line.split()[0].split("-"))
                if (
                    end - begin > self.state_gpa
                    and line.split()[1].startswith("rw")
                    and self._read(begin + self.state_gpa, 8) == MAGIC
                ):
                    return begin
        raise CannotStart("the payload's state is nowhere in QEMU's memory")

    def _read(self, address, size):
        try:
            with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as mem:
                mem.seek(address)
                return mem.read(size)
        except OSError:
            return b""

    def _state_word(self, number):
        """One of the words with which the payload's state begins; see vm-images/README.md."""
        data = self._read(self.ram_hva + self.state_gpa + 8 * number, 8)
        return struct.unpack("<Q", data)[0] if len(data) == 8 else 0

    def passes(self):
        """Finished passes over the hot set."""
        return self._state_word(1) if self.counts_passes else 0

    def check_runs(self):
        """Refuses a payload that said it was ready, and does not go on: what it should touch is then untouched."""
        self._find_payload()
        first, end = self.passes(), time.monotonic() + RUNS_S
        while self.passes() == first:
            if time.monotonic() > end:
                raise CannotStart(f"the payload has finished no pass in {RUNS_S} s")
            time.sleep(0.05)

    def phase(self):
        """Phases begun; 0 is the first."""
        return self._state_word(3) if self.counts_passes else 0

    def vcpu_s(self):
        """CPU time of the vCPU threads."""
        total_ns = 0
        for task in os.scandir(f"/proc/{self.pid}/task"):
            with open(f"{task.path}/comm", encoding="ascii", errors="replace") as comm:
                if comm.read().startswith("CPU "):
                    with open(f"{task.path}/schedstat", encoding="ascii") as stat:
                        total_ns += int(stat.read().split()[0])
        return total_ns / 1e9

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

    def alive(self):
        try:
            os.kill(self.pid, 0)
        except OSError:
            return False
        return True

    def stop(self):
        if self.pid:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            while self.alive():
                time.sleep(0.02)
        shutil.rmtree(self.dir, ignore_errors=True)
        for undo in reversed(self.undo):
            undo()
