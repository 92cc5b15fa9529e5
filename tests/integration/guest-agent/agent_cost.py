#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the agent's reports cost: its CPU and memory, and its children's, as the kernel accounts for them.

agent_cost.py PROGRAM SOCKET LARGE_MIB REPORTS ROUNDS

Is the first process of a PID namespace, whose orphans come to it, and fills it with a hundred processes, of which as many as a
report shows have LARGE_MIB of their own beside Python's 9, and the others hardly anything; so that what a report is made of is the
same on any machine. Prints one JSON object for each round, with an agent of its own.
"""

import json
import mmap
import os
import signal
import subprocess
import sys
import time

from guest_agent_host import Port, ask

PROCESSES = 100
LARGE = 8  # WIRE_PROCESSES_MAX


def be_large(size):
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, size, mmap.PAGESIZE):
        memory[at] = 1
    return memory


def be_one(i, large_bytes, ready):
    """A large process, or a small one of another program. Either closes the pipe's end when it is what it is to be."""
    if i >= LARGE:
        os.execvp("sleep", ["sleep", "infinity"])
    memory = be_large(large_bytes)
    os.close(ready)
    while memory:
        signal.pause()


def fill(large_bytes):
    """Returns when all are there."""
    end, ready = os.pipe()
    for i in range(PROCESSES):
        if os.fork() == 0:
            be_one(i, large_bytes, ready)
    os.close(ready)
    os.read(end, 1)
    os.close(end)


def start(program, path):
    """The agent's PID. A process begins with the peak of the one that started it, and Python's is larger than the agent's: a shell
    that ends at once starts it, and we inherit it."""
    command = ["sh", "-c", '"$0" serve --listen "$1" >/dev/null & echo $!', program, path]
    pid = int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return pid


def connect(path, pid):
    """As soon as the agent listens."""
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        try:
            return Port(path)
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.05)
    sys.exit("the agent has ended")


def of_status(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key + ":"))


def is_whole(answer, large_bytes):
    """A report with the page tables of all the large ones walked."""
    processes = answer["report"]["processes"]
    return len(processes) == LARGE and all(p.get("pss_bytes", 0) >= large_bytes for p in processes)


def one_round(program, path, large_bytes, reports):
    pid = start(program, path)
    port = connect(path, pid)
    whole = 0
    for _ in range(reports):
        answer = ask(port, "report")
        whole += answer is not None and is_whole(answer, large_bytes)
        time.sleep(0.05)
    agent_kib = of_status(pid, "VmHWM")
    os.kill(pid, signal.SIGTERM)
    # Both are of the agent and of those of its children that it has waited for: sums of time, and the largest's peak.
    _, _, usage = os.wait4(pid, 0)
    return {
        "whole_reports": whole,
        "ms_per_report": 1000 * (usage.ru_utime + usage.ru_stime) / reports,
        "agent_kib": agent_kib,
        "largest_kib": usage.ru_maxrss,
    }


def main():
    program, path = sys.argv[1:3]
    large_mib, reports, rounds = (int(word) for word in sys.argv[3:])
    fill(large_mib << 20)
    for _ in range(rounds):
        print(json.dumps(one_round(program, path, large_mib << 20, reports)), flush=True)


if __name__ == "__main__":
    main()
