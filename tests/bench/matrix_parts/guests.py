# SPDX-License-Identifier: LGPL-2.1-or-later
"""Guests of every backing, whose working set is known to the page, and what they did meanwhile."""

import ctypes
import math
import os
import subprocess
import tempfile

from lab_host import enter_group, write
from payload_guest import CannotStart, truth_of
import payload_guest

from . import cells

MIB = cells.MIB
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
MADV_PAGEOUT = 21
GROUP = "/sys/fs/cgroup/guest"


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
    if cell["method"] == cells.WRITES:
        words["op"] = "write"
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


class Guest(payload_guest.Guest):
    """One running payload guest of a cell."""

    name = "matrix"
    one_by_one = False  # each period is a measurement of its own

    def __init__(self, build, cell):
        super().__init__()
        self.cell = cell
        try:
            prepare_host(self.cell, self.undo)
            self._start(build)
        except BaseException:
            self.stop()
            raise

    def _start(self, build):
        self.truth = truth_of(build, params(self.cell), ram_mib(self.cell))
        payload = os.path.join(build, "vm-images/payload/vmwss-payload.elf")
        self._run(build, ["-kernel", payload, "-append", params(self.cell)])
        self._find_payload()
        if self.cell["backing"] == "swapped":
            self._swap_out_cold()

    def _run(self, build, kernel):
        """QEMU, with the RAM of this cell."""
        enter_group(GROUP)
        try:
            self._run_qemu(build, self.cell["accel"], self.ram_options() + kernel, self.cell["backing"] == "thp")
        finally:
            enter_group("/sys/fs/cgroup")

    def ram_options(self):
        return ram_options(self.cell)

    def truth_bytes(self, record, phase=None):
        """What an exact tool would say, at the granularity at which the record counts."""
        if phase is not None:
            return self.truth["phases"][phase % len(self.truth["phases"])]["truth_bytes"]
        if record["granularity_bytes"] < 2 * MIB and "writes" in record:
            # Under KVM the CPU writes into the page tables that it walks: of its own pages only the code is not written.
            kvm = self.cell["accel"] == "kvm"
            return self.truth["truth_bytes"] - cells.PAGE if kvm else self.truth["written_bytes"]
        if record["granularity_bytes"] < 2 * MIB:
            return self.truth["truth_bytes"]
        if record["method"] == "zap-all":
            # KVM maps the first 2 MiB, where ROMs lie between and the payload itself lives, in pages of 4 KiB.
            return self.truth["hot_huge_pages"] * 2 * MIB + self.truth["own_pages"] * cells.PAGE
        return (self.truth["hot_huge_pages"] + 1) * 2 * MIB

    def before_period(self):
        """Called before each measurement whose truth will be asked for; only of guests with one_by_one."""

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


def ext4_directory(mib, undo):
    """A file system of so many MiB, in a file; QEMU makes its own file in it."""
    place = tempfile.mkdtemp(prefix="vmwss-ext4.", dir="/var/tmp")
    undo.append(lambda: os.rmdir(place))
    image = place + ".img"
    try:
        subprocess.run(["truncate", "-s", f"{2 * mib}M", image], check=True)
        undo.append(lambda: os.unlink(image))
        subprocess.run(["mkfs.ext4", "-q", image], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop", image, place], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotStart(f"no ext4: {error}") from error
    undo.append(lambda: subprocess.run(["umount", place], check=False))
    return place


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
