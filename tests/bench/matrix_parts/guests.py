# SPDX-License-Identifier: LGPL-2.1-or-later
"""Guests of every backing, whose working set is known to the page, and what they did meanwhile."""

import ctypes
import json
import math
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from . import cells

MIB = cells.MIB
# A Linux under the oracle boots some ten times slower than without, and machines are busy.
READY_S = 300
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
MAGIC = b"VMWSSPLD"
MADV_PAGEOUT = 21
GROUP = "/sys/fs/cgroup/guest"
MGLRU = "/sys/kernel/mm/lru_gen/enabled"


class CannotStart(Exception):
    """This guest cannot be had here; the text says why."""


def params(cell):
    """The payload's parameters, without those of QEMU."""
    region = cells.region_mib(cell)
    hot = cells.hot_pages(cell) * 4
    words = {"total": f"{region}M", "hot": f"{hot}K"}
    if cell["pattern"] == "strided":
        # A stride of 64 KiB, of which as many pages are hot as the density needs.
        words |= {"pattern": "strided", "stride": "64K", "run": f"{4 * math.ceil(cell['p'] * 16)}K"}
    elif cell["pattern"] == "random":
        words |= {"pattern": "random", "seed": "3"}
    elif cell["pattern"] == "step":
        del words["hot"]
        words["phases"] = f"{cells.STEP_SECONDS}:{hot // 16 * 4}K,{cells.STEP_SECONDS}:{hot}K"
    if cell["backing"] == "partly":
        words["populate"] = "hot"
    elif cell["backing"] == "numa":
        words["start"] = f"{ram_mib(cell) // 2 - hot // 2048 // 2 * 2}M"
        words["total"] = f"{region // 4}M"
    elif cell["backing"] == "ballooned":
        words["balloon"] = f"{region // 4}M"
    elif cell["backing"] == "big":
        words |= {"start": "4G", "populate": "hot"}
    return " ".join(f"{key}={value}" for key, value in words.items())


def ram_mib(cell):
    return 5120 if cell["backing"] == "big" else cells.region_mib(cell) + 32


def ram_options(cell):
    """QEMU's options for guest RAM, with -machine's among them."""
    mib, backing = ram_mib(cell), cell["backing"]
    machine = "pc"
    options = ["-m", str(mib)]
    if backing in ("memfd", "hugetlb"):
        machine += ",memory-backend=mem"
        memfd = f"memory-backend-memfd,id=mem,size={mib}M,share=on"
        options += ["-object", memfd + (",hugetlb=on,hugetlbsize=2M" if backing == "hugetlb" else "")]
    elif backing == "numa":
        options += ["-smp", "2"]
        for node in (0, 1):
            options += [
                "-object",
                f"memory-backend-ram,id=m{node},size={mib // 2}M",
                "-numa",
                f"node,cpus={node},memdev=m{node}",
            ]
    elif backing == "ballooned":
        options += ["-device", "virtio-balloon-pci"]
    elif backing == "mlocked":
        options += ["-overcommit", "mem-lock=on"]
    return ["-machine", machine] + options


def truth_of(build, cell):
    tool = os.path.join(build, "vm-images/payload/payload-truth")
    return truth_by(tool, params(cell) + f" memory={ram_mib(cell)}M")


def truth_by(tool, text):
    return json.loads(subprocess.run([tool] + text.split(), check=True, capture_output=True, text=True).stdout)


class Guest:
    """One running payload guest."""

    counts_passes = True
    one_by_one = False  # each period is a measurement of its own

    def __init__(self, build, cell):
        self.cell = cell
        self.dir = tempfile.mkdtemp(prefix="vmwss-m.", dir="/tmp")
        self.pid = None
        self.undo = []
        try:
            prepare_host(self.cell, self.undo)
            self._start(build)
        except BaseException:
            self.stop()
            raise

    def _start(self, build):
        self.truth = truth_of(build, self.cell)
        payload = os.path.join(build, "vm-images/payload/vmwss-payload.elf")
        self._run_qemu(build, ["-kernel", payload, "-append", params(self.cell)])
        self.state_gpa = self._wait_ready()
        self.ram_hva = self._find_ram()
        if self.cell["backing"] == "swapped":
            self._swap_out_cold()

    def _run_qemu(self, build, kernel):
        command = [] if self.cell["backing"] == "thp" else [os.path.join(build, "vm-images/payload/nothp")]
        command += ["qemu-system-x86_64", "-accel", self.cell["accel"], "-name", "guest=matrix,debug-threads=on"]
        command += ["-nodefaults", "-no-user-config", "-display", "none", "-vga", "none", "-daemonize"]
        command += ["-serial", f"file:{self.dir}/out", "-pidfile", f"{self.dir}/pid"]
        command += ["-cpu", "host"] if self.cell["accel"] == "kvm" else []
        enter_group(GROUP)
        try:
            run = subprocess.run(command + self.ram_options() + kernel, capture_output=True, text=True, check=False)
        finally:
            enter_group("/sys/fs/cgroup")
        if run.returncode:
            raise CannotStart("QEMU: " + run.stderr.strip().splitlines()[-1])
        with open(f"{self.dir}/pid", encoding="ascii") as file:
            self.pid = int(file.read())

    def ram_options(self):
        return ram_options(self.cell)

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

    def truth_bytes(self, record, phase=None):
        """What an exact tool would say, at the granularity at which the record counts."""
        if phase is not None:
            return self.truth["phases"][phase % len(self.truth["phases"])]["truth_bytes"]
        if record["granularity_bytes"] < 2 * MIB:
            return self.truth["truth_bytes"]
        if record["method"] == "zap-all":
            # KVM maps the first 2 MiB, where ROMs lie between and the payload itself lives, in pages of 4 KiB.
            return self.truth["hot_huge_pages"] * 2 * MIB + self.truth["own_pages"] * cells.PAGE
        return (self.truth["hot_huge_pages"] + 1) * 2 * MIB

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

    def before_period(self):
        """Called before each measurement whose truth will be asked for; only of guests with one_by_one."""

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

    def _swap_out_cold(self):
        """Pushes the cold half of the region, which lies behind the hot pages, out to the swap device."""
        libc = ctypes.CDLL(None, use_errno=True)
        region = cells.region_mib(self.cell) * MIB
        begin = self.ram_hva + 16 * MIB + region // 2

        class Iovec(ctypes.Structure):
            _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

        pidfd = os.pidfd_open(self.pid)
        vector = Iovec(begin, region // 2)
        libc.syscall(440, pidfd, ctypes.byref(vector), ctypes.c_size_t(1), MADV_PAGEOUT, 0)  # process_madvise
        os.close(pidfd)
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            kib = next(int(line.split()[1]) for line in status if line.startswith("VmSwap:"))
        if kib < region // 4 // 1024:
            raise CannotStart(f"only {kib} KiB of {region // 2048} went to swap")

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


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def enter_group(group):
    """In the lab a guest has a control group of its own, as libvirt starts it."""
    if "VMWSS_LAB_KERNEL" not in os.environ:
        return
    write("/sys/fs/cgroup/cgroup.subtree_control", "+memory")
    os.makedirs(group, exist_ok=True)
    write(f"{group}/cgroup.procs", str(os.getpid()))


class MglruOn:
    """While mglru measures a guest of the lab MGLRU is on; the lab's page_idle kernel boots without."""

    def __init__(self, cell):
        self.was = None
        if cell["method"] == "mglru" and "VMWSS_LAB_KERNEL" in os.environ and os.path.exists(MGLRU):
            with open(MGLRU, encoding="ascii") as file:
                self.was = file.read().strip()

    def __enter__(self):
        if self.was:
            write(MGLRU, "y")

    def __exit__(self, *_):
        if self.was:
            write(MGLRU, self.was)


def prepare_host(cell, undo):
    """What a backing needs of its host. Only ever changed in the lab."""
    lab = "VMWSS_LAB_KERNEL" in os.environ
    if cell["backing"] in cells.LAB_ONLY and not lab:
        raise CannotStart("would change this machine (sysctl, swap); measured in the lab only")
    if cell["backing"] == "thp" and lab:
        write("/sys/kernel/mm/transparent_hugepage/enabled", "always")
    if cell["backing"] == "hugetlb":
        write("/proc/sys/vm/nr_hugepages", str(ram_mib(cell) // 2 + 4))
        undo.append(lambda: write("/proc/sys/vm/nr_hugepages", "0"))
    if cell["backing"] == "swapped":
        make_swap(cells.region_mib(cell), undo)


def make_swap(mib, undo):
    """A compressed swap device in memory."""
    subprocess.run(["modprobe", "zram"], capture_output=True, check=False)
    try:
        write("/sys/block/zram0/disksize", f"{mib}M")
        subprocess.run(["mkswap", "/dev/zram0"], check=True, capture_output=True)
        subprocess.run(["swapon", "/dev/zram0"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotStart(f"no zram swap in this kernel: {error}") from error

    def remove():
        subprocess.run(["swapoff", "/dev/zram0"], check=False, capture_output=True)
        write("/sys/block/zram0/reset", "1")

    undo.append(remove)
