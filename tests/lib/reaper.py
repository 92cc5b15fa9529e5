#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a command, and ends all that is left of it: reaper.py [--nice N] COMMAND [ARGUMENT...]

A trap of a script does not run when the script is killed, and its guests have daemonized, so no signal to a process group reaches
them. Here every descendant of COMMAND whose parent dies becomes a child of this process (PR_SET_CHILD_SUBREAPER), and is ended
when COMMAND has ended.

COMMAND gets SIGTERM when this process gets SIGTERM, SIGINT or SIGHUP, when nobody reads its standard output any more, which is how
it learns that ctest was killed, and when this process is killed itself. The exit status is COMMAND's.

With --nice, COMMAND has a session of its own, and so a scheduling group (sched(7), the autogroup feature), of this niceness. Each
daemonized guest has one too, of niceness 0: what is tested then need not wait for the guests that it is tested on. What all of them
used of the processors is printed in the end.
"""

import ctypes
import os
import resource
import select
import signal
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
# run_test kills what has not ended half a minute after it was asked to.
PATIENCE_S = 35


def prctl(option, value):
    if ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        sys.exit(f"reaper.py: prctl {option} failed")


def set_niceness(niceness):
    """Where the kernel has no such groups, or this is not root, the niceness stays as it is: it makes tests quick, not right."""
    os.setsid()
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as group:
            group.write(niceness)
    except OSError:
        pass


def start(arguments, niceness, mask):
    """Returns the pid of the command."""
    reaper = os.getpid()
    pid = os.fork()
    if pid == 0:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        # The reaper may have been killed before the kernel knew what to do then.
        if os.getppid() != reaper:
            os._exit(128 + signal.SIGTERM)
        if niceness is not None:
            set_niceness(niceness)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.execvp(arguments[0], arguments)
    return pid


def statuses():
    """Yields pid and exit status of each child that has ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, os.waitstatus_to_exitcode(status)


def is_read():
    """Returns false if standard output is a pipe that has no reader left."""
    poll = select.poll()
    poll.register(1, 0)
    return not any(event & select.POLLERR for _, event in poll.poll(0))


def wait_for(command, ends):
    """Returns the exit status of the command, which is ended if this process is to end."""
    kill_at = None
    while True:
        signo = signal.sigtimedwait(ends | {signal.SIGCHLD}, 1)
        for pid, status in statuses():
            if pid == command:
                return status if status >= 0 else 128 - status
        if kill_at is None and (signo and signo.si_signo in ends or not is_read()):
            os.kill(command, signal.SIGTERM)
            kill_at = time.monotonic() + PATIENCE_S
        elif kill_at is not None and time.monotonic() > kill_at:
            os.kill(command, signal.SIGKILL)


def children():
    """Returns the pids of this process's children that still run."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == os.getpid() and state != "Z":
            found.append(int(name))
    return found


def send(signo, pid):
    """Signals a child and its process group: a shell runs its trap only when the command that it waits for has ended."""
    try:
        group = os.getpgid(pid)
        if group == os.getpgrp():
            os.kill(pid, signo)
        else:
            os.killpg(group, signo)
    except ProcessLookupError:
        pass


def end_orphans():
    """Asks each child once to end, and kills those that do not."""
    asked, kill_at = set(), time.monotonic() + PATIENCE_S
    while orphans := children():
        for pid in orphans:
            if time.monotonic() > kill_at:
                send(signal.SIGKILL, pid)
            elif pid not in asked:
                send(signal.SIGTERM, pid)
        asked.update(orphans)
        time.sleep(0.1)
        for _ in statuses():
            pass


def print_processor_time():
    """For ctest, which keeps it in LastTest.log: what takes long is looked for there."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        print(f"# {used.ru_utime + used.ru_stime:.0f} s of processor time", flush=True)
    except OSError:
        pass  # nobody reads it any more


def main():
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    # Where SIGCHLD is ignored, a child that ends leaves no status.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    # nohup has SIGHUP ignored, for instance.
    ends = {signo for signo in signals if signal.getsignal(signo) != signal.SIG_IGN}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ends | {signal.SIGCHLD})
    arguments, niceness = sys.argv[1:], None
    if arguments[0] == "--nice":
        niceness, arguments = arguments[1], arguments[2:]
    status = wait_for(start(arguments, niceness, mask), ends)
    end_orphans()
    if niceness is not None:
        print_processor_time()
    return status


if __name__ == "__main__":
    sys.exit(main())
