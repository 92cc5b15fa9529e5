# SPDX-License-Identifier: LGPL-2.1-or-later
"""What happens to a guest's memory within a window: a balloon, swapping, huge pages that come and go, ageing by MGLRU,
migration to other frames, a vCPU or a DIMM that is plugged, a QEMU that replaces itself, a dump; and what others do: they read its memory, take its accessed bits, or unmap it. The
guest touches the same pages before, during and after, so its truth stays known."""

import ctypes
import mmap
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import lab_host

from . import cells, guests

MIB = cells.MIB
HUGE = 2 * MIB
TOTAL_MIB = 64
HOT_MIB = 8
# QEMU's dirty-rate calculation leaves smaller blocks of RAM than 128 MiB out.
RAM_MIB = 160
# Cold pages at the region's end come and go.
MOVED_MIB = 32
# Each plugged vCPU stays, for only an operating system could let it go.
MOST_VCPUS = 32
AGEINGS = 3
GENERATIONS = "/sys/kernel/debug/lru_gen"
NUMA_BALANCING = "/proc/sys/kernel/numa_balancing"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"

MIGRATE_PAGES = 256
PROCESS_MADVISE = 440
MADV_COLD = 20
MADV_PAGEOUT = 21
MADV_COLLAPSE = 25
BALLOON_S = 20
BALLOON_PAGES = 4
DUMP_S = 20
DIRTY_RATE_S = 20
# A page of each 64 KiB: where a read maps its neighbours, they are cold.
SPARSE = f"total={TOTAL_MIB}M hot={TOTAL_MIB // 16}M pattern=strided stride=64K run=4K op=read"
EXEC_AGAIN = signal.SIGRTMIN + 5  # tests/integration/exec_again.c
IDLE_BITMAP = "/sys/kernel/mm/page_idle/bitmap"
DAMON_STAT = "/sys/module/damon_stat/parameters/enabled"


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class EventGuest(guests.Guest):
    """A payload guest with a monitor and a balloon. Its backing is
    "anon" (pages of 4 KiB that stay so), "thp" (pages of 4 KiB until they are collapsed), "memfd", "sparse" (a memfd of which only
    single pages are hot), "disk" (a shared file on ext4) or "numa" (two blocks of RAM, each with half of the hot set).
    """

    def __init__(self, build, cell):
        self.monitor = None
        self.plugged = 0
        self.stopped = False
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.build = build
        super().__init__(build, cell)

    def _start(self, build):
        words = SPARSE if self.cell["backing"] == "sparse" else f"total={TOTAL_MIB}M hot={HOT_MIB}M balloon=host"
        words += " rest=yes" + (" op=write" if self.cell["method"] == cells.WRITES else "")
        words += f" start={self.start_mib()}M"
        self.truth = guests.truth_of(build, words, RAM_MIB)
        if os.path.exists(THP) and "VMWSS_LAB_KERNEL" in os.environ:
            lab_host.write(THP, "never")
        payload = os.path.join(build, "vm-images/payload/vmwss-payload.elf")
        os.environ["LD_PRELOAD"] = os.path.join(build, "tests/integration/libexec_again.so")
        try:
            self._run(build, ["-kernel", payload, "-append", words])
        finally:
            del os.environ["LD_PRELOAD"]
        self.find()

    def start_mib(self):
        """Where the region begins in the guest's RAM."""
        return (RAM_MIB - HOT_MIB) // 2 if self.cell["backing"] == "numa" else 16

    def find(self):
        """Once it spins, its memory and its monitor."""
        self._find_payload()
        self.monitor = Monitor(f"{self.dir}/hmp")

    def renew(self):
        """Another guest of the same kind takes its place."""
        self.stop()
        type(self).__init__(self, self.build, self.cell)

    def replace(self):
        """QEMU replaces itself, and begins anew."""
        with open(f"{self.dir}/out", "w", encoding="ascii"):
            os.kill(self.pid, EXEC_AGAIN)
        self.find()

    def ram_options(self):
        machine, options = "pc", [
            "-m",
            f"{RAM_MIB},slots=1,maxmem=1G",
            "-smp",
            f"1,sockets={MOST_VCPUS},cores=1,threads=1,maxcpus={MOST_VCPUS}",
        ]
        if self.cell["backing"] in ("memfd", "sparse"):
            machine += ",memory-backend=mem"
            options += ["-object", f"memory-backend-memfd,id=mem,size={RAM_MIB}M,share=on"]
        elif self.cell["backing"] == "numa":
            for node in (0, 1):
                options += ["-object", f"memory-backend-ram,id=m{node},size={RAM_MIB // 2}M"]
                options += ["-numa", f"node,nodeid={node},memdev=m{node}"]
        elif self.cell["backing"] == "disk":
            machine += ",memory-backend=mem"
            path = guests.ext4_directory(2 * RAM_MIB, self.undo)
            options += ["-object", f"memory-backend-file,id=mem,size={RAM_MIB}M,mem-path={path},share=on"]
        options += ["-device", "virtio-balloon-pci", "-mon", "chardev=hmp,mode=readline"]
        options += ["-chardev", f"socket,id=hmp,path={self.dir}/hmp,server=on,wait=off"]
        return ["-machine", machine] + options

    def exact_bytes(self):
        """(least, most) that an exact tool would say, in pages of 4 KiB: a page table need not be walked in each window, and the
        balloon's own pages are not in the truth (vm-images/README.md)."""
        own = 0 if self.cell["backing"] == "sparse" else BALLOON_PAGES * mmap.PAGESIZE
        least = self.truth["written_bytes" if self.cell["method"] == cells.WRITES else "hot_bytes"]
        return least, self.truth["truth_bytes"] + own

    def moved(self):
        """(address, bytes) of what comes and goes."""
        return self.ram_hva + (self.start_mib() + TOTAL_MIB - MOVED_MIB) * MIB, MOVED_MIB * MIB

    def region(self):
        return self.ram_hva + self.start_mib() * MIB, TOTAL_MIB * MIB

    def advise(self, address, size, advice):
        vector = Iovec(address, size)
        pidfd = os.pidfd_open(self.pid)
        done = self.libc.syscall(PROCESS_MADVISE, pidfd, ctypes.byref(vector), ctypes.c_size_t(1), advice, 0)
        os.close(pidfd)
        return done

    def populate(self):
        """Every page of the region has a host page again: writes back what is there."""
        address, size = self.region()
        with open(f"/proc/{self.pid}/mem", "r+b", buffering=0) as mem:
            for at in range(address + HOT_MIB * MIB, address + size, mmap.PAGESIZE):
                mem.seek(at)
                byte = mem.read(1)
                mem.seek(at)
                mem.write(byte)

    def huge_kib(self):
        with open(f"/proc/{self.pid}/smaps_rollup", encoding="ascii") as smaps:
            return sum(int(line.split()[1]) for line in smaps if line.startswith("AnonHugePages:"))

    def swapped_kib(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmSwap:"))

    def vcpus(self):
        count = 0
        for task in os.scandir(f"/proc/{self.pid}/task"):
            with open(f"{task.path}/comm", encoding="ascii", errors="replace") as comm:
                count += comm.read().startswith("CPU ")
        return count

    def stand_still(self):
        self.monitor.say("stop")
        self.stopped = True

    def go_on(self):
        if self.stopped:
            self.monitor.say("cont")
            self.stopped = False


class Monitor:
    """QEMU's, for people, for it can do all that is needed here."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(60)
        self._answer()

    def _answer(self):
        said = b""
        while not said.endswith(b"(qemu) "):
            part = self.socket.recv(65536)
            if not part:
                raise guests.CannotStart("QEMU closed its monitor")
            said += part
        return said.decode("ascii", "replace")

    def say(self, command):
        self.socket.sendall(command.encode("ascii") + b"\n")
        return self._answer()


def wait_until(done, seconds, what):
    for _ in range(int(seconds * 50)):
        if done():
            return
        time.sleep(0.02)
    raise guests.CannotStart(f"the event did not happen: {what}")


class Event:
    """before() brings the guest to where the event can happen, during() is the event, after() undoes it."""

    backings = ("anon", "memfd")
    lab_only = False  # it would change this machine
    refusal = None  # words of the message with which a measurement may be refused
    numa = False  # it needs two nodes

    def before(self, guest):
        pass

    def during(self, guest):
        raise NotImplementedError

    def after(self, guest):
        pass


class Balloon(Event):
    """The host takes half of the region, all of it cold."""

    def during(self, guest):
        self._ask(guest, RAM_MIB - MOVED_MIB)

    def after(self, guest):
        self._ask(guest, RAM_MIB)
        guest.populate()

    @staticmethod
    def _ask(guest, mib):
        guest.monitor.say(f"balloon {mib}")
        wait_until(lambda: f"actual={mib}" in guest.monitor.say("info balloon"), BALLOON_S, "the balloon stands still")


class SwapOut(Event):
    """Half of the region, all of it cold, goes to a swap device of compressed memory."""

    backings = ("anon",)
    lab_only = True

    def __init__(self):
        self.undo = []

    def before(self, guest):
        guests.make_swap(2 * TOTAL_MIB, self.undo)

    def during(self, guest):
        guest.advise(*guest.moved(), MADV_PAGEOUT)
        if guest.swapped_kib() < MOVED_MIB * 512:
            raise guests.CannotStart(f"only {guest.swapped_kib()} KiB went to swap")

    def after(self, guest):
        while self.undo:
            self.undo.pop()()


class Collapse(Event):
    """What khugepaged does, by the same function of the kernel, and at a time of our choosing: all of the region's pages
    become huge pages."""

    backings = ("thp",)
    lab_only = True

    def during(self, guest):
        guest.advise(*guest.region(), MADV_COLLAPSE)
        if guest.huge_kib() < TOTAL_MIB * 512:
            raise guests.CannotStart(f"only {guest.huge_kib()} KiB are huge")

    def after(self, guest):
        split(guest)


class Split(Event):
    """All of the region's huge pages are split, as reclaim and partial unmapping do."""

    backings = ("thp",)
    lab_only = True

    def before(self, guest):
        guest.advise(*guest.region(), MADV_COLLAPSE)

    def during(self, guest):
        split(guest)
        if guest.huge_kib() > TOTAL_MIB * 512:
            raise guests.CannotStart(f"{guest.huge_kib()} KiB are still huge")


def split(guest):
    """The kernel splits a huge page of which only a part is advised."""
    address, size = guest.region()
    for at in range(address, address + size, HUGE):
        guest.advise(at + HUGE - mmap.PAGESIZE, mmap.PAGESIZE, MADV_COLD)


class Ageing(Event):
    """The guest is suspended, and MGLRU ages its memory: the accessed bits of its touches are gone, and no new ones come."""

    lab_only = True

    def before(self, guest):
        lab_host.write(lab_host.MGLRU, "y")

    def during(self, guest):
        guest.stand_still()
        for _ in range(AGEINGS):
            for order in age_orders():
                lab_host.write(GENERATIONS, order)

    def after(self, guest):
        guest.go_on()
        lab_host.write(lab_host.MGLRU, "n")


def age_orders():
    """Of the guest's group, on every node: one more generation than the newest."""
    with open(GENERATIONS, encoding="ascii") as file:
        text = file.read()
    group = re.search(rf"^memcg\s+(\d+) /{os.path.basename(guests.GROUP)}\n(.*?)(?=^memcg|\Z)", text, re.M | re.S)
    if not group:
        raise guests.CannotStart("MGLRU knows nothing of the guest's group")
    orders = []
    for node in re.finditer(r"^ *node +(\d+)\n(.*?)(?=^ *node|\Z)", group[2], re.M | re.S):
        newest = max(int(line.split()[0]) for line in node[2].splitlines() if re.match(r"\s*\d+\s", line))
        orders.append(f"+ {group[1]} {node[1]} {newest} 1 1\n")
    return orders


class Migration(Event):
    """The guest is suspended, and all of its pages go to the other node: to other frames. As compaction and NUMA balancing
    do it, KVM's mappings are dropped; MGLRU is on, so their accessed bits are lost."""

    lab_only = True
    numa = True

    def before(self, guest):
        lab_host.write(lab_host.MGLRU, "y")
        lab_host.write(NUMA_BALANCING, "0")
        migrate(guest.pid, 1, 0)

    def during(self, guest):
        guest.stand_still()
        moved = migrated_pages()
        migrate(guest.pid, 0, 1)
        if migrated_pages() - moved < TOTAL_MIB * 256:
            raise guests.CannotStart(f"only {migrated_pages() - moved} pages were migrated")

    def after(self, guest):
        guest.go_on()
        lab_host.write(lab_host.MGLRU, "n")


def migrate(pid, old, new):
    nodes = [ctypes.byref(ctypes.c_ulong(1 << node)) for node in (old, new)]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(MIGRATE_PAGES, pid, ctypes.c_ulong(64), *nodes) < 0:
        raise guests.CannotStart(f"migrate_pages: {os.strerror(ctypes.get_errno())}")


def migrated_pages():
    with open("/proc/vmstat", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("pgmigrate_success "))


class VcpuPlug(Event):
    """One more vCPU. The payload leaves it halted."""

    def during(self, guest):
        guest.plugged += 1
        before = guest.vcpus()
        cpu = "host" if guest.cell["accel"] == "kvm" else "qemu64"
        answer = guest.monitor.say(
            f"device_add {cpu}-x86_64-cpu,id=cpu{guest.plugged},socket-id={guest.plugged},core-id=0,thread-id=0"
        )
        wait_until(lambda: guest.vcpus() > before, 5, f"no vCPU came: {answer.splitlines()[-2]}")


class Stopped(Event):
    """All of QEMU's threads stand still for a second, as in a frozen control group."""

    def during(self, guest):
        os.kill(guest.pid, signal.SIGSTOP)
        time.sleep(1)
        os.kill(guest.pid, signal.SIGCONT)


class EqualDimm(Event):
    """A DIMM that is as large as the RAM there is, with all its pages; nobody touches it."""

    def during(self, guest):
        answer = guest.monitor.say(f"object_add memory-backend-ram,id=more,size={RAM_MIB}M,prealloc=on")
        answer += guest.monitor.say("device_add pc-dimm,id=dimm,memdev=more")
        if "dimm" not in guest.monitor.say("info memory-devices"):
            raise guests.CannotStart(f"no DIMM came: {answer}")

    def after(self, guest):
        guest.renew()  # only an operating system would let go of it


class Exec(Event):
    """QEMU replaces itself by exec(2), as cpr-exec does: the same pid, another memory."""

    refusal = "replaced its program (exec)"

    def during(self, guest):
        guest.replace()


class Dump(Event):
    """QEMU reads all of the guest's RAM, and is done before the window ends; detached, as libvirt does it."""

    backings = ("anon", "memfd", "thp", "numa")

    def before(self, guest):
        if guest.cell["backing"] == "thp":
            guest.advise(*guest.region(), MADV_COLLAPSE)

    def during(self, guest):
        path = f"{guest.dir}/dump"
        guest.monitor.say(f"dump-guest-memory -d {path}")
        wait_until(lambda: "completed" in guest.monitor.say("info dump"), DUMP_S, "the dump does not end")
        if not os.path.exists(path) or os.path.getsize(path) < TOTAL_MIB * MIB:
            raise guests.CannotStart("QEMU wrote no dump")

    def after(self, guest):
        pathlib.Path(f"{guest.dir}/dump").unlink(missing_ok=True)  # undone twice, it is gone


class Reader(Event):
    """Another program, a debugger say, reads cold memory through /proc/PID/mem."""

    backings = ("anon", "memfd", "disk")

    def during(self, guest):
        address, size = guest.moved()
        with open(f"/proc/{guest.pid}/mem", "rb", buffering=0) as mem:
            mem.seek(address)
            if sum(len(mem.read(MIB)) for _ in range(size // MIB)) < size:
                raise guests.CannotStart("not all of it was read")


class MonitorReader(Event):
    """QEMU's monitor writes cold memory into a file."""

    backings = ("anon", "memfd", "disk", "numa")

    def during(self, guest):
        path = f"{guest.dir}/saved"
        guest.monitor.say(f'pmemsave {(guest.start_mib() + TOTAL_MIB - MOVED_MIB) * MIB} {MOVED_MIB * MIB} "{path}"')
        if os.path.getsize(path) < MOVED_MIB * MIB:
            raise guests.CannotStart("QEMU saved less")

    def after(self, guest):
        pathlib.Path(f"{guest.dir}/saved").unlink(missing_ok=True)  # undone twice, it is gone


class DirtyRate(Event):
    """QEMU reads sampled pages, twice. KubeVirt has it do so for each guest at each scrape."""

    backings = ("anon", "memfd", "thp", "numa")

    def during(self, guest):
        guest.monitor.say("calc_dirty_rate 1")
        wait_until(
            lambda: "measuring" not in guest.monitor.say("info dirty_rate"),
            DIRTY_RATE_S,
            "the calculation does not end",
        )


class Outsider(Event):
    """The guest is suspended, and another program takes all accessed bits of its memory: wss.pl, a daemon that calls
    madvise() on others, another user of page_idle."""

    def during(self, guest):
        guest.stand_still()
        guest.advise(*guest.region(), MADV_COLD)
        lab_host.write(f"/proc/{guest.pid}/clear_refs", "1")
        if os.path.exists(IDLE_BITMAP):
            mark_every_frame_idle()

    def after(self, guest):
        guest.go_on()


def mark_every_frame_idle():
    bitmap = os.open(IDLE_BITMAP, os.O_WRONLY)
    try:
        at = 0
        while True:
            at += os.pwrite(bitmap, b"\xff" * mmap.PAGESIZE, at)
    except OSError:
        pass  # the end of memory
    finally:
        os.close(bitmap)


class Unmapped(Event):
    """Another program has the kernel unmap all of the region, whose pages stay in the file: the guest's next reads map
    their neighbours as well."""

    backings = ("sparse",)

    def during(self, guest):
        guest.advise(*guest.region(), MADV_PAGEOUT)


class DiskFile(Event):
    """Nothing happens; guest RAM is a shared file on a disk."""

    backings = ("disk",)

    def during(self, guest):
        pass


class DamonStat(Event):
    """DAMON_STAT is on, as in kernels of late 2025 by default."""

    lab_only = True

    def __init__(self):
        self.was = None

    def before(self, guest):
        if not os.path.exists(DAMON_STAT):
            raise guests.CannotStart("this kernel has no DAMON_STAT")
        with open(DAMON_STAT, encoding="ascii") as file:
            self.was = file.read()
        lab_host.write(DAMON_STAT, "Y")

    def during(self, guest):
        pass

    def after(self, guest):
        if self.was:
            lab_host.write(DAMON_STAT, self.was)


class Nothing(Event):
    """For comparison."""

    backings = ("anon", "memfd", "thp", "sparse", "disk", "numa")

    def during(self, guest):
        pass


EVENTS = {
    "nothing": Nothing,
    "balloon": Balloon,
    "swap-out": SwapOut,
    "collapse": Collapse,
    "split": Split,
    "ageing": Ageing,
    "migration": Migration,
    "vcpu-plug": VcpuPlug,
    "stopped": Stopped,
    "equal-dimm": EqualDimm,
    "exec": Exec,
    "dump": Dump,
    "reader": Reader,
    "monitor": MonitorReader,
    "dirty-rate": DirtyRate,
    "outsider": Outsider,
    "unmapped": Unmapped,
    "disk-file": DiskFile,
    "damon-stat": DamonStat,
}


def happen(event, guest, at):
    """The event at that time; (begin, end) of it."""
    time.sleep(max(0, at - time.monotonic()))
    begin = time.monotonic()
    event.during(guest)
    return begin, time.monotonic()


def undone(event, guest):
    """after(), whatever happened; a guest that was suspended goes on."""
    try:
        event.after(guest)
    except (OSError, subprocess.SubprocessError, guests.CannotStart) as error:
        raise guests.CannotStart(f"the event could not be undone: {error}") from error
    finally:
        guest.go_on()
