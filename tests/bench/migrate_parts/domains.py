# SPDX-License-Identifier: LGPL-2.1-or-later
"""A guest that libvirt migrates from one libvirtd of this machine to another. tests/bench/migrate begins the two, and says where
they are."""

import os
import re
import subprocess
import threading
import time
import xml.sax.saxutils

from payload_guest import CannotStart, Guest

from . import pair

HERE, THERE = (os.environ.get(name) for name in ("VMWSS_BENCH_HERE", "VMWSS_BENCH_THERE"))
# The second libvirtd has directories of its own; this is how they look from here.
THERE_ROOT = os.environ.get("VMWSS_BENCH_THERE_ROOT", "")
# Both have this path, each its own file: QEMU at the other end listens on the one, and the source connects to the other.
STREAM = "/run/vmwss-stream"
# Bytes a second of a connection without a limit.
FAST = 1 << 30


def virsh(uri, *words):
    return subprocess.run(["virsh", "-q", "-c", uri, *words], capture_output=True, text=True, check=False)


def virsh_or_fail(uri, *words):
    run = virsh(uri, *words)
    if run.returncode:
        raise CannotStart("virsh " + words[0] + ": " + run.stderr.strip())
    return run.stdout


class Events:
    """QEMU's events of all guests of a libvirtd, with QEMU's own time stamps."""

    LINE = re.compile(r"event (\w+) at (\d+\.\d+) for domain '?([^:']+)'?: (.*)")

    def __init__(self, uri):
        self.seen = []  # (name, moment, data)
        command = ["stdbuf", "-oL", "virsh", "-q", "-c", uri, "qemu-monitor-event", "--loop"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        threading.Thread(target=self._read, daemon=True).start()
        time.sleep(0.3)  # until it listens

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def _read(self):
        for line in self.process.stdout:
            match = self.LINE.match(line)
            if match:
                self.seen.append((match[1], float(match[2]), match[4]))

    def when(self, name, data="", patience_s=10):
        """When the event came, or None: it did not within the time."""
        end = time.monotonic() + patience_s
        while True:
            for seen, moment, text in self.seen:
                if seen == name and data in text:
                    return moment
            if time.monotonic() > end:
                return None
            time.sleep(0.02)


class Domain(Guest):
    """A running domain, which moves once."""

    name = "domain"

    def __init__(self, build, accel, options):
        super().__init__()
        self.domain = os.path.basename(self.dir)
        file = f"{self.dir}/domain.xml"
        with open(file, "w", encoding="utf-8") as text:
            text.write(self._xml(accel, dict(zip(options[::2], options[1::2]))))
        try:
            nothp = os.path.join(build, "vm-images/payload/nothp")
            run = subprocess.run(
                [nothp, "virsh", "-q", "-c", HERE, "create", file], capture_output=True, text=True, check=False
            )
            if run.returncode:
                raise CannotStart("virsh create: " + run.stderr.strip())
            self.pid = self._pid_below("")
        except BaseException:
            self.stop()
            raise

    def _pid_below(self, root):
        with open(f"{root}/run/libvirt/qemu/{self.domain}.pid", encoding="ascii") as file:
            return int(file.read())

    def _xml(self, accel, options):
        """The domain with the options of QEMU that the other guests of the bench have."""
        loader = f"<loader type='rom'>{options['-bios']}</loader>" if "-bios" in options else ""
        initrd = f"<initrd>{options['-initrd']}</initrd>" if "-initrd" in options else ""
        return f"""<domain type='{"kvm" if accel == "kvm" else "qemu"}'>
  <name>{self.domain}</name>
  <memory unit='MiB'>{options['-m']}</memory>
  <vcpu>1</vcpu>
  {"<cpu mode='host-passthrough'/>" if accel == "kvm" else ""}
  <os>
    <type arch='x86_64' machine='{options['-machine']}'>hvm</type>
    {loader}
    <kernel>{options['-kernel']}</kernel>
    {initrd}
    <cmdline>{xml.sax.saxutils.escape(options['-append'])}</cmdline>
  </os>
  <features><acpi/></features>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <serial type='file'><source path='{self.dir}/out'/></serial>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
  </devices>
</domain>
"""

    def wait_for(self, pattern):
        return self._wait_for(pattern)

    def dirty_rate(self):
        """QEMU's own figure by page sampling for one second, in MiB/s."""
        virsh_or_fail(HERE, "domdirtyrate-calc", self.domain, "--seconds", "1")
        for _ in range(200):
            said = virsh_or_fail(HERE, "domstats", self.domain, "--dirtyrate")
            match = re.search(r"dirtyrate\.megabytes_per_second=(\d+)", said)
            if match and re.search(r"dirtyrate\.calc_status=2", said):
                return int(match[1])
            time.sleep(0.1)
        raise CannotStart("libvirt calculates no dirty rate")

    def arrive(self):
        """It runs at the other end now."""
        self.pid = self._pid_below(THERE_ROOT)

    def stop(self):
        super().stop()
        for uri in (HERE, THERE):
            for _ in range(100):  # until libvirt knows that it has ended
                if virsh(uri, "domid", self.domain).returncode:
                    break
                time.sleep(0.1)


def job(uri, *words):
    """libvirt's numbers of a migration."""
    said = virsh(uri, "domjobinfo", *words, "--rawstats").stdout
    return {key: int(value) for key, value in re.findall(r"^\s*(memory_\w+):\s*(\d+)$", said, re.M)}


def watch(domain, process):
    """Polls the migration until virsh has ended, or gives it up: its rounds, and what was sent when."""
    begin, rounds, sent = time.monotonic(), [], []
    while process.poll() is None:
        asked = time.monotonic()
        numbers = job(HERE, domain)
        count, done = numbers.get("memory_iteration", 0), numbers.get("memory_processed", 0)
        sent.append(((asked + time.monotonic()) / 2, done))
        if numbers and (not rounds or rounds[-1]["round"] != count):
            at_s = round(time.monotonic() - begin, 3)
            rounds.append(
                {"at_s": at_s, "round": count, "remaining": numbers.get("memory_remaining"), "transferred": done}
            )
        if time.monotonic() - begin > pair.SECONDS_MOST or count > pair.ROUNDS_MOST:
            virsh(HERE, "domjobabort", domain)
            process.wait(60)
        time.sleep(pair.POLL_S)
    return rounds, sent


def outcome_of(guest, events, arrived):
    """What QEMU and libvirt say of a migration that was completed."""
    setup, completed = (events.when("MIGRATION", f'"{status}"') for status in ("setup", "completed"))
    stopped, resumed = events.when("STOP"), arrived.when("RESUME")
    if None in (setup, completed, stopped, resumed):
        raise CannotStart("libvirt did not pass on QEMU's events")
    numbers = job(THERE, guest.domain, "--completed")
    return {
        "total_s": completed - setup,
        "downtime_s": resumed - stopped,
        "qemu_downtime_s": numbers.get("downtime_net", 0) / 1000,
        "sync_count": numbers.get("memory_iteration"),
        "normal_pages": numbers.get("memory_normal"),
        "zero_pages": numbers.get("memory_constant"),
    }


def migrate(guest, bytes_s, bandwidth, downtime_ms):
    """Moves the guest through a connection of so many bytes a second; its bandwidth likewise, 0: no limit."""
    virsh_or_fail(HERE, "migrate-setmaxdowntime", guest.domain, str(downtime_ms))
    words = ["migrate", "--live", guest.domain, THERE, "--migrateuri", f"unix://{STREAM}"]
    words += ["--bandwidth", str(bandwidth // pair.MIB)] if bandwidth else []
    wire = pair.connection(guest.pid, THERE_ROOT + STREAM, STREAM, bytes_s or FAST)
    with wire, Events(HERE) as events, Events(THERE) as arrived:
        begin = time.monotonic()
        command = ["virsh", "-q", "-c", HERE, *words]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            rounds, sent = watch(guest.domain, process)
            said = process.stderr.read().strip()
        outcome = pair.Outcome(
            converged=process.returncode == 0,
            status="completed",
            rounds=rounds,
            sync_count=rounds[-1]["round"] if rounds else None,
            wall_s=time.monotonic() - begin,
            total_s=0,
        )
        if outcome["converged"]:
            guest.arrive()
            outcome["speed_bytes_s"] = pair.middle_speed(sent)
            return outcome | outcome_of(guest, events, arrived)
        if "cancel" not in said:
            raise CannotStart("virsh migrate: " + said)
        return outcome | {"status": "gave-up"}
