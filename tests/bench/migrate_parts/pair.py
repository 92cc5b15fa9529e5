# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two QEMUs and one guest that moves from the first to the second over a unix socket."""

import contextlib
import ctypes
import fcntl
import os
import select
import socket
import threading
import time

from payload_guest import Guest

from .qmp import Monitor

MIB = 1 << 20
# A migration that has not ended after so many rounds, and so many seconds, is judged as one that does not converge.
ROUNDS_MOST = 25
SECONDS_MOST = 40
POLL_S = 0.05
PIDFD_GETFD = 438
# The oracle is a plugin of QEMU that knows what a TCG guest writes; its map has the last 12.8 s.
ORACLE, PLUGIN, SLOT_S = "tests/oracle/oracle", "tests/oracle/oracle-plugin.so", 0.05
KVM_CREATE_VM, KVM_CREATE_IRQCHIP, KVM_CREATE_VCPU = 0xAE01, 0xAE60, 0xAE41


def hold_kvm():
    """A VM with a vCPU that never runs, as file descriptors. Linux patches its own code when the first VM is created, when the last
    one is gone, and when the last local APIC is switched on; the emulation of the lab may die of that if it has several CPUs.
    """
    kvm = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
    held = [kvm, fcntl.ioctl(kvm, KVM_CREATE_VM, 0)]
    fcntl.ioctl(held[1], KVM_CREATE_IRQCHIP, 0)
    return held + [fcntl.ioctl(held[1], KVM_CREATE_VCPU, 0)]


class Side(Guest):
    """A QEMU with a monitor: the source, or the one that waits for the guest."""

    def __init__(self, build, accel, options, incoming=None, oracle=False):
        super().__init__()
        self.monitor = None
        # The first socket is for vmwss, as QEMU serves one client of each.
        words = [word for name in ("asked", "qmp") for word in ("-qmp", f"unix:{self.dir}/{name},server=on,wait=off")]
        words += options
        if oracle:
            plugin = os.path.join(build, PLUGIN)
            words += ["-plugin", f"{plugin},map={self.dir}/oracle,slot_ms={1000 * SLOT_S:.0f},slots=256"]
        if incoming:
            words += ["-incoming", f"unix:{incoming}"]
        try:
            self._run_qemu(build, accel, words)
            self.monitor = Monitor(f"{self.dir}/qmp")
        except BaseException:
            self.stop()
            raise

    def wait_for(self, pattern):
        return self._wait_for(pattern)

    def dirty_rate(self):
        """QEMU's own figure by page sampling for one second, in MiB/s."""
        self.monitor.ask("calc-dirty-rate", **{"calc-time": 1})
        while True:
            answer = self.monitor.ask("query-dirty-rate")
            if answer["status"] == "measured":
                return answer["dirty-rate"]
            time.sleep(0.1)

    def stop(self):
        if self.monitor:
            self.monitor.close()
        super().stop()


Side.name = "migrate"


def hold_little(pid, path, size):
    """Has the sockets of a process that are connected to path hold little more than so many bytes. By default it is 208 KiB: a tenth
    of a second through 2 MiB/s, in which what was sent before the guest stopped is still on its way, or not, as a slice ends.
    """
    process = os.pidfd_open(pid)
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                fd = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, process, int(name), 0)
                if fd < 0:
                    raise OSError(ctypes.get_errno(), "pidfd_getfd")
                with socket.socket(fileno=fd) as one:
                    if one.family == socket.AF_UNIX and one.getpeername() == path:
                        # The kernel doubles it, and counts its own memory.
                        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
    os.close(process)


class Wire:
    """A unix socket at path, which a connection to another goes through, at so many bytes a second: a network that is slower than
    memory. Without one the last pages take no time that could be told from what the machine does meanwhile."""

    # A millisecond, or 8 KiB, goes at a time; twice as much is on its way before it: what QEMU does not wait for while it writes.
    PIECE = 8 << 10

    def __init__(self, pid, path, stream, bytes_s):
        self.pid, self.path, self.stream, self.bytes_s = pid, path, stream, bytes_s
        self.piece = max(self.PIECE, bytes_s >> 10)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(1)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        try:
            begin, _ = self.listener.accept()
        except OSError:  # nobody came
            return
        hold_little(self.pid, self.path, 2 * self.piece)
        end = socket.socket(socket.AF_UNIX)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.piece)
        end.connect(self.stream)
        back = threading.Thread(target=self._pass_back, args=(end, begin), daemon=True)
        back.start()
        with contextlib.suppress(OSError):  # a migration that is given up
            self._pass_on(begin, end)
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_WR)
        back.join()
        begin.close()
        end.close()

    def _pass_on(self, begin, end):
        due = time.monotonic()
        while True:
            # It makes up for its own delays, and not for a time in which there was nothing to send.
            waits = not select.select([begin], [], [], 0)[0]
            piece = begin.recv(self.piece)
            if not piece:
                break
            due = (max(due, time.monotonic()) if waits else due) + len(piece) / self.bytes_s
            time.sleep(max(0, due - time.monotonic()))
            end.sendall(piece)

    def _pass_back(self, end, begin):
        """The other end's answers, which libvirt has QEMU send."""
        with contextlib.suppress(OSError):
            while True:
                piece = end.recv(self.piece)
                if not piece:
                    break
                begin.sendall(piece)
            begin.shutdown(socket.SHUT_RDWR)

    def close(self):
        # accept() would go on, and keep the socket.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        os.unlink(self.path)


@contextlib.contextmanager
def connection(pid, stream, path, bytes_s):
    """The socket that QEMU, pid, is to connect to: the other's own, stream, or one at path, which passes on so many bytes a second
    to it."""
    if not bytes_s:
        yield stream
        return
    wire = Wire(pid, path, stream, bytes_s)
    try:
        yield path
    finally:
        wire.close()


class Outcome(dict):
    """What one migration did."""


def watch(source, seconds_most=SECONDS_MOST, rounds_most=ROUNDS_MOST):
    """Polls a migration that has begun until it ends, or does not: the last answer of query-migrate, with its rounds."""
    begin = time.monotonic()
    rounds, last, sent = [], -1, []
    while True:
        info = source.monitor.ask("query-migrate")
        ram = info.get("ram", {})
        count = ram.get("dirty-sync-count", 0)
        sent.append((time.monotonic(), ram.get("transferred", 0)))
        if count != last:
            rounds.append(
                {
                    "at_s": round(time.monotonic() - begin, 3),
                    "round": count,
                    "remaining": ram.get("remaining"),
                    "transferred": ram.get("transferred"),
                    "rate": ram.get("dirty-pages-rate"),
                }
            )
            last = count
        # QEMU says that it is completed shortly before it says how long that took.
        if info["status"] in ("failed", "cancelled") or (info["status"] == "completed" and info.get("total-time")):
            return info, rounds, sent
        if time.monotonic() - begin > seconds_most or count > rounds_most:
            source.monitor.ask("migrate_cancel")
            while source.monitor.ask("query-migrate")["status"] in ("cancelling", "active", "device"):
                time.sleep(POLL_S)
            return info | {"status": "gave-up"}, rounds, sent
        time.sleep(POLL_S)


def middle_speed(sent):
    """Bytes a second while the middle of all bytes was sent; None: too few were."""
    last = sent[-1][1]
    middle = [(moment, count) for moment, count in sent if 0.2 * last <= count <= 0.9 * last]
    if len(middle) < 2 or middle[-1][1] == middle[0][1]:
        return None
    return (middle[-1][1] - middle[0][1]) / (middle[-1][0] - middle[0][0])


def limits(bandwidth, downtime_ms):
    """QEMU's parameters: bytes a second, 0: no limit; milliseconds."""
    return {"max-bandwidth": bandwidth or 1 << 60, "downtime-limit": downtime_ms}


def migrate(source, there, stream, bandwidth, downtime_ms):
    """Moves the guest; stream: the socket's path."""
    source.monitor.ask("migrate-set-parameters", **limits(bandwidth, downtime_ms))
    source.monitor.ask("migrate-set-capabilities", capabilities=[{"capability": "events", "state": True}])
    source.monitor.events.clear()
    begin = time.monotonic()
    source.monitor.ask("migrate", uri=f"unix:{stream}")
    info, rounds, sent = watch(source)
    outcome = Outcome(
        converged=info["status"] == "completed", status=info["status"], rounds=rounds, wall_s=time.monotonic() - begin
    )
    ram = info.get("ram", {})
    outcome["sent_bytes"] = ram.get("transferred")
    outcome["normal_pages"], outcome["zero_pages"] = ram.get("normal"), ram.get("duplicate")
    outcome["sync_count"] = ram.get("dirty-sync-count")
    outcome["total_s"] = info.get("total-time", 0) / 1000
    outcome["setup_s"] = info.get("setup-time", 0) / 1000
    outcome["speed_bytes_s"] = middle_speed(sent)
    if outcome["converged"]:
        outcome["qemu_downtime_s"] = info["downtime"] / 1000
        if there.monitor.until_event("RESUME", 20) and "STOP" in source.monitor.events:
            outcome["downtime_s"] = there.monitor.events["RESUME"] - source.monitor.events["STOP"]
    return outcome
