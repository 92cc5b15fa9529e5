# SPDX-License-Identifier: LGPL-2.1-or-later
"""The parts of the bench. Each yields rows; a row is what --json writes."""

import random
import subprocess
import time

from . import tools
from .guests import Guest
from .proofs import proofs
from .report import mean_and_error

CENSUS, PANEL = ["-m", "idle", "--census"], ["-m", "idle", "-n", "2000"]


def many(context, accel, sizes_mib):
    """Guests of these sizes, which halt as soon as they are ready: the next one may have only one CPU to get ready on."""
    running = []
    try:
        for ram_mib in sizes_mib:
            running.append(Guest(context["build"], accel, ram_mib))
            running[-1].halt()
    except BaseException:
        end(running)
        raise
    return running


def end(running):
    for guest in running:
        guest.stop()


def compare(context):
    """One of several equal KVM guests, by every tool. The others halt, so that the measured one is never without a
    CPU; their memory stays."""
    running = many(context, "kvm", [context["mib"]] * context["guests"])
    try:
        running[-1].resume()
        methods = {
            "idle census": CENSUS,
            "idle n=2000": PANEL,
            "zap n=2000": ["-m", "zap", "-n", "2000"],
            "zap-all": ["-m", "zap-all"],
            "mglru census": ["-m", "mglru"],
        }
        for number in range(context["rounds"]):
            for row in tools.rows_of(context, running[-1], context["window"], methods, context["periods"]):
                yield row | {"guests": context["guests"], "round": number, "truth_mib": running[-1].truth_mib}
    finally:
        end(running)


def emulated(context):
    """A guest under TCG, on this machine itself: what tools for processes can see, too."""
    guest = Guest(context["build"], "tcg", context["mib"])
    try:
        methods = {"cold": ["-m", "cold"], "referenced": ["-m", "referenced"]}
        for number in range(context["rounds"]):
            for row in tools.rows_of(context, guest, context["window"], methods, context["periods"]):
                yield row | {"guests": 1, "round": number, "truth_mib": guest.truth_mib}
    finally:
        guest.stop()


def growth(context):
    """Guests from 0.25 GiB up, all there at once and halted but for the one that is measured, in turn."""
    running = many(context, "kvm", context["sizes"])
    try:
        for number in range(context["rounds"]):
            for guest in running:
                guest.resume()
                kinds = (("idle n=2000", PANEL), ("idle census", CENSUS))
                for name, words in kinds if guest.ram_mib <= context["census_to"] else kinds[:1]:
                    cost, text, status = tools.run_once(
                        tools.ours(context["vmwss"], guest.pid, words, context["window"])
                    )
                    row = {"tool": "vmwss " + name, "ram_mib": guest.ram_mib, "round": number, "status": status}
                    row |= {"wss_mib": tools.wss_mib(text), "truth_mib": guest.truth_mib} | cost
                    yield row | tools.run_steadily(
                        context["vmwss"], guest.pid, words, context["window"], context["periods"]
                    )
                guest.halt()
    finally:
        end(running)


def crowd(context):
    """From one small guest to many: what does it cost to measure one of them?"""
    running = []
    try:
        for count in context["counts"]:
            while len(running) < count:
                running.append(Guest(context["build"], "kvm", 64))
                running[-1].halt()
            running[-1].resume()
            methods = {"idle census": CENSUS, "idle n=2000": PANEL}
            for row in tools.rows_of(context, running[-1], context["window"], methods, context["periods"]):
                yield row | {"guests": count, "round": 0, "truth_mib": running[-1].truth_mib}
            running[-1].halt()
    finally:
        end(running)


# --- the guest's slowdown ------------------------------------------------------------------------

SETTLE_S = 2  # of the block, for the program's start


def block(context, guest, words, period, seconds):
    """Passes over the hot set, per second and per second of vCPU time, while the command (if any) measures."""
    command = (
        tools.ours(context["vmwss"], guest.pid, words, period) + ["-i", f"{period:g}"] if words else ["sleep", "1d"]
    )
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        time.sleep(SETTLE_S)
        before = (time.monotonic(), guest.vcpu_s(), guest.passes())
        time.sleep(seconds)
        after = (time.monotonic(), guest.vcpu_s(), guest.passes())
        alive = process.poll() is None
        process.terminate()
    wall, vcpu, passes = (b - a for a, b in zip(before, after))
    return (passes / wall, passes / vcpu) if alive and vcpu > 0 else None


def slowdown_of(context, guest, conditions, period):
    """Every round runs each condition once, in random order, and nothing once; differences are within the round."""
    seconds = max(period * context["block_periods"], 4)
    lost = {name: ([], []) for name in conditions}
    chance = random.Random(1)
    for _ in range(context["blocks"]):
        order = [None, *conditions]
        chance.shuffle(order)
        rates = {name: block(context, guest, conditions.get(name), period, seconds) for name in order}
        for name in conditions:
            if rates[name] and rates[None]:
                for kind in (0, 1):
                    lost[name][kind].append(100 * (1 - rates[name][kind] / rates[None][kind]))
    for name, (wall, vcpu) in lost.items():
        row = {"tool": "vmwss " + name, "period_s": period, "blocks": len(wall), "block_s": seconds}
        row["slowdown_percent"], row["slowdown_error"] = mean_and_error(wall)
        row["slowdown_vcpu_percent"], row["slowdown_vcpu_error"] = mean_and_error(vcpu)
        yield row


def slowdown(context):
    conditions = {
        "idle n=2000": PANEL,
        "idle census": CENSUS,
        "zap n=2000": ["-m", "zap", "-n", "2000"],
        "zap-all": ["-m", "zap-all"],
    }
    guest = Guest(context["build"], "kvm", context["mib"])
    try:
        for period in context["slow_periods"]:
            yield from slowdown_of(context, guest, conditions, period)
    finally:
        guest.stop()


def slowdown_writes(context):
    """A guest that writes all of its hot set again and again: each marking costs it one fault for each of these pages."""
    guest = Guest(context["build"], "kvm", context["mib"], words="op=write")
    try:
        for period in context["slow_periods"]:
            yield from slowdown_of(context, guest, {"writes": ["--writes"]}, period)
    finally:
        guest.stop()


def slowdown_emulated(context):
    guest = Guest(context["build"], "tcg", context["mib"])
    try:
        for period in context["slow_periods"]:
            yield from slowdown_of(context, guest, {"cold": ["-m", "cold"], "referenced": ["-m", "referenced"]}, period)
    finally:
        guest.stop()


# The lab's kernel, where it is not the one with page_idle: Debian's has the soft-dirty bit, and a proof needs no page_idle.
KERNELS = {"slowdown-writes": "7.3", "proof": "6.12"}

# name: what yields its rows, and whether it runs on this machine itself
PARTS = {
    "compare": (compare, False),
    "tcg": (emulated, True),
    "growth": (growth, False),
    "crowd": (crowd, False),
    "slowdown": (slowdown, False),
    "slowdown-writes": (slowdown_writes, False),
    "slowdown-tcg": (slowdown_emulated, True),
    "proof": (proofs, False),
}
