#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a command as on a slow machine: slow_machine.py [--calls N] [--cpu PERCENT] COMMAND [ARGUMENT...]

Machines on which the checks run differ by three and more: in what a system call costs, and in how much of a core others leave. With
--calls each system call of the command, and of all that it starts, goes through N filters (seccomp(2)) of 4,000 instructions, 0.6 us
each where a call takes 0.08; one filter by default. With --cpu all of it together gets so much of one core, by a control group of its
own (130: of two cores about two thirds). Nothing else on the machine is changed. A guest's own instructions are as quick as ever."""

import argparse
import ctypes
import os
import signal
import struct
import subprocess
import sys

GROUPS = "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"
PERIOD_US = 20000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
# The kernel notes for which calls a filter's answer cannot vary, and asks it no more; what reads an argument may vary.
LOAD_ARGUMENT, RETURN_ALLOW = struct.pack("HBBI", 0x20, 0, 0, 16), struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
INSTRUCTIONS = 4000


class Program(ctypes.Structure):
    """struct sock_fprog of linux/filter.h"""

    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def add_filter():
    program = Program(INSTRUCTIONS + 1, LOAD_ARGUMENT * INSTRUCTIONS + RETURN_ALLOW)
    if ctypes.CDLL(None).prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        sys.exit("slow_machine.py: no filter can be added: run it as root")


def make_group(percent):
    """A control group of the first or second version with that quota; its directory."""
    for top in GROUPS:
        group = f"{top}/slow_machine.{os.getpid()}"
        try:
            os.mkdir(group)
            if os.path.exists(f"{group}/cpu.max"):
                quota = {"cpu.max": f"{PERIOD_US * percent // 100} {PERIOD_US}"}
            else:
                quota = {"cpu.cfs_period_us": PERIOD_US, "cpu.cfs_quota_us": PERIOD_US * percent // 100}
            for name, value in quota.items():
                with open(f"{group}/{name}", "w", encoding="ascii") as file:
                    file.write(str(value))
            return group
        except OSError:
            if os.path.isdir(group):
                os.rmdir(group)
    sys.exit("slow_machine.py: no control group for processor time can be made")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--calls", type=int, default=1, metavar="N", help="filters that each system call goes through (1)"
    )
    parser.add_argument(
        "--cpu", type=int, default=0, metavar="PERCENT", help="of one core, for all together (no limit)"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("no command")
    group = make_group(arguments.cpu) if arguments.cpu else None

    def become_slow():
        if group:
            with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(os.getpid()))
        for _ in range(arguments.calls):
            add_filter()

    try:
        command = subprocess.Popen(arguments.command, preexec_fn=become_slow)
        for number in signal.SIGTERM, signal.SIGHUP:
            signal.signal(number, lambda number, _: command.send_signal(number))
        return command.wait()
    finally:
        if group:
            os.rmdir(group)


if __name__ == "__main__":
    sys.exit(main())
