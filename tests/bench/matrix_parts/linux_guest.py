# SPDX-License-Identifier: LGPL-2.1-or-later
"""A Linux guest that does real work. What it touches only the oracle knows, a plugin of QEMU's TCG: of the QEMU that runs a
TCG guest, or of the lab's own, which emulates the CPU that a KVM guest runs on."""

import datetime
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

from . import cells, guests

# How long the oracle remembers: more than the longest window, in slots short enough to bound it.
ORACLE = "slot_ms=50,slots=256"


# From Debian's packages, for the scripts of the same directory as scan.c.
PROGRAMS = ["redis-check-rdb", "redis-cli", "redis-benchmark", "tcc"]


def installed_programs():
    paths = {name: shutil.which(name) for name in PROGRAMS}
    missing = [name for name, path in paths.items() if not path]
    if missing:
        raise guests.CannotStart(f"missing {' '.join(missing)}: apt-get install redis-tools tcc")
    return list(paths.values())


def build_work(directory):
    """The programs and scripts that make-linux-guest puts into the guest."""
    source = os.path.join(guests.ROOT, "vm-images/linux")
    scan = f"{directory}/scan"
    command = ["gcc", "-std=gnu11", "-O2", "-static", f"{source}/scan.c", "-lsqlite3", "-lm", "-o", scan]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        raise guests.CannotStart("scan.c does not build: apt-get install libsqlite3-dev")
    heap = f"{directory}/heap"
    command = ["gcc", "-std=gnu11", "-O2", "-static", f"{source}/heap.c", "-o", heap]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        raise guests.CannotStart("heap.c does not build: apt-get install gcc libc6-dev")
    scripts = [f"{source}/{name}" for name in ("pack", "redis", "compile", "pagetables")]
    return [scan, heap, *scripts, *installed_programs()]


def make_image(kernel):
    with tempfile.TemporaryDirectory(prefix="vmwss-m.", dir="/tmp") as directory:
        added = [word for path in build_work(directory) for word in ("--add", path)]
        maker = os.path.join(guests.ROOT, "vm-images/linux/make-linux-guest")
        run = subprocess.run([maker, "--kernel", kernel, *added], stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        raise guests.CannotStart("make-linux-guest failed")
    return run.stdout.strip()


class LinuxGuest(guests.Guest):
    """A TCG guest. The work is named by the cell's pattern; it runs beside a small toucher, which keeps the vCPU from
    sleeping."""

    counts_passes = False

    def _start(self, build):
        self.oracle = os.path.join(build, "tests/oracle/oracle")
        plugin = os.path.join(build, "tests/oracle/oracle-plugin.so")
        if not os.path.exists(plugin):
            raise guests.CannotStart(
                "what a working Linux touches only the oracle knows: build with -DBUILD_TESTING=ON"
            )
        image = make_image("6.1")
        descriptor, self.map = tempfile.mkstemp(prefix="vmwss-oracle.", dir="/dev/shm")
        os.close(descriptor)
        self.undo.append(lambda: os.unlink(self.map))
        work = self.cell["pattern"]
        line = f"console=ttyS0 quiet guest.run={work} guest.run=pagetables toucher.total=2M toucher.hot=1M"
        kernel = ["-kernel", f"{image}/vmlinuz", "-initrd", f"{image}/initrd.gz", "-append", line]
        self._run(build, kernel + ["-plugin", f"{plugin},map={self.map},{ORACLE}"])
        self._wait_for(rf"vmwss-{work} ready")
        # Until it has been through all that it does.
        time.sleep(10)

    def page_table_bytes(self):
        """What the emulated MMU may read beside; the guest's own word, of the last two seconds."""
        with open(f"{self.dir}/out", encoding="ascii", errors="replace") as file:
            said = re.findall(r"vmwss-pagetables (\d+) kB", file.read())
        return int(said[-1]) * 1024 if said else 0

    def truth_bytes(self, record, phase=None):
        """Bounds, for the oracle counts in slots of time: data and instructions, at the record's granularity. Beside them
        what a host can see of it: QEMU reads code once, to translate it, and then runs without touching its page."""
        window = record["windows"][-1]["est_window_s"]
        command = [self.oracle, "--map", self.map, "--to", record["time"], "--window", f"{window:.4f}"]
        for _ in range(50):
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode == 0:
                answer = json.loads(run.stdout)
                kind = "stores" if self.cell["method"] == cells.WRITES else "both"
                low, high = (touched_bytes(answer[bound][kind], record) for bound in ("low", "high"))
                seen = [touched_bytes(answer[bound]["visible"], record) for bound in ("low", "high")]
                truth = {"bytes": (low + high) / 2, "low_bytes": low, "high_bytes": high}
                return truth | {"visible_bytes": sum(seen) / 2, "page_table_bytes": self.page_table_bytes()}
            time.sleep(0.1)  # the slot in which the window ended still runs
        raise guests.CannotStart("the oracle has no answer: " + run.stderr.strip())


# So that a guest in the lab, which is emulated and slow, soon has all that it works on.
SMALL_WORK = {"scan": "scan,12000,50"}


class NestedLinuxGuest(LinuxGuest):
    """A KVM guest in a lab that was started with --oracle. Its kernel is the lab's, which boots soonest."""

    one_by_one = True

    def _start(self, build):
        self.truth_process = None
        if "VMWSS_LAB_ORACLE" not in os.environ:
            raise guests.CannotStart("what a working Linux touches under KVM only the lab's oracle knows")
        image = self.cell["image"]
        work = self.cell["pattern"]
        line = f"console=ttyS0 quiet no_timer_check lapic=notscdeadline highres=off nohz=off guest.run={SMALL_WORK.get(work, work)}"
        kernel = ["-kernel", f"{image}/vmlinuz", "-initrd", f"{image}/initrd.gz"]
        self._run(build, kernel + ["-append", line + " toucher.total=2M toucher.hot=1M"])
        self._wait_for(rf"vmwss-{work} ready")
        time.sleep(10)
        # pylint: disable-next=consider-using-with
        self.truth_process = subprocess.Popen(
            [os.path.join(build, "tests/oracle/nested-truth"), "--pid", str(self.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _ask(self, command):
        self.truth_process.stdin.write(command + "\n")
        self.truth_process.stdin.flush()
        answer = json.loads(self.truth_process.stdout.readline() or '{"error": "it has ended"}')
        if "error" in answer:
            raise guests.CannotStart("the oracle: " + answer["error"])
        return answer

    def before_period(self):
        """The frames of the guest's RAM before a window, and the time outside."""
        self._ask("mark")

    def truth_bytes(self, record, phase=None):
        """Bounds, at the record's granularity: data, instructions, page tables that the MMU walked, and what QEMU touched for
        the guest. All of it is seen by the lab, and all of it is memory that the guest needs. Each page has a window of its
        own, from when it was marked to when it was read: they are as sure as pages take their turn at a steady pace. What
        was touched from when all were marked until the first was read, or since the first was marked until the last was
        read, are bounds without that: any_low_bytes, any_high_bytes."""
        self._ask("mark")
        answer = self._ask("count " + " ".join(f"{moment:.6f}" for moment in moments(record)))
        low, high, own_low, own_high = (
            touched_bytes(answer[bound]["visible"], record) for bound in ("low", "high", "own_low", "own_high")
        )
        if self.cell["method"] == cells.WRITES:
            return self._written(answer, record)
        parts = {f"{kind}_bytes": touched_bytes(answer["low"][kind], record) for kind in ("both", "tables", "host")}
        told = {key: answer[key] for key in ("moved_pages", "unresolved", "unwalked", "clock_error_s")}
        truth = {"bytes": (own_low + own_high) / 2, "low_bytes": own_low, "high_bytes": own_high}
        return truth | {"any_low_bytes": low, "any_high_bytes": high} | parts | told

    def _written(self, answer, record):
        """Pages that instructions wrote; at most also those that QEMU touched, and page tables, into which the CPU writes."""
        low, most = (
            {kind: touched_bytes(answer[bound][kind], record) for kind in ("stores", "host", "tables")}
            for bound in ("own_low", "own_high")
        )
        low, high = low["stores"], sum(most.values())
        return {"bytes": (low + high) / 2, "low_bytes": low, "high_bytes": high, "stores_high_bytes": most["stores"]}

    def stop(self):
        if self.truth_process:
            self.truth_process.stdin.close()
            self.truth_process.wait()
        super().stop()


def moments(record):
    """When the first and the last page was marked, and read."""
    end, marking, reading = iso_seconds(record["time"]), record["marking_seconds"], record["reading_seconds"]
    middle_of_marking = end - reading / 2 - record["windows"][-1]["est_window_s"]
    return middle_of_marking - marking / 2, middle_of_marking + marking / 2, end - reading, end


def iso_seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def touched_bytes(touched, record):
    if record["granularity_bytes"] >= 2 * cells.MIB:
        return touched["huge_pages"] * 2 * cells.MIB
    return touched["bytes"]
