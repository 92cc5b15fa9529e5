# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rows of a lab that counts instructions, as text: every figure of each run, and how far the runs differ."""

import os

from .report import groups, median, number, run_cost, share, table


def unit():
    """What a row of this lab needs so that its seconds can be read as instructions."""
    ns = os.environ.get("VMWSS_LAB_INSTRUCTION_NS")
    return {"instruction_ns": int(ns)} if ns else {}


def millions(rows, seconds):
    """Millions of instructions in so many seconds of that lab."""
    return None if seconds is None else seconds * 1e9 / rows[0]["instruction_ns"] / 1e6


def runs_of(rows):
    """The rows of each run, in order."""
    return [group for _, group in sorted(groups(rows, "run").items())]


def spread_percent(values):
    """How far the runs differ, of their mean."""
    if len(values) < 2 or None in values or sum(values) == 0:
        return None
    return 100 * (max(values) - min(values)) * len(values) / sum(values)


def figure(rows, of, digits):
    """The figure of each run, and the difference."""
    values = [of(group) for group in runs_of(rows)]
    return [" / ".join(number(value, digits) for value in values), number(spread_percent(values), 2)]


COST_HEAD = ["a run, M instr.", "differ %", "user %", "a period, M instr.", "differ %", "user %", "WSS MiB", "truth"]


def cost_cells(rows):
    user, period = (median(rows, key) for key in ("period_user_s", "period_cpu_s"))
    return [
        *figure(rows, lambda group: millions(group, run_cost(group)), 1),
        number(share(median(rows, "user_s"), run_cost(rows)), 0),
        *figure(rows, lambda group: millions(group, median(group, "period_cpu_s")), 1),
        number(share(user, period), 0),
        number(median(rows, "wss_mib"), 1),
        number(median(rows, "truth_mib"), 1),
    ]


def cost_table(rows, *keys):
    names = [key.removesuffix("_mib").upper() for key in keys]
    lines = [
        [tool, *map(str, rest), *cost_cells(group)] for (tool, *rest), group in groups(rows, "tool", *keys).items()
    ]
    return table(["TOOL", *names, *COST_HEAD], lines)


def ratio(value, base):
    return value / base if value and base else None


CENSUSES = ("vmwss idle census", "vmwss mglru census", "vmwss zap-all")


def times_census(rows):
    """How many times dearer other tools are than each of our censuses, run by run."""
    tools = groups(rows, "tool")
    others = [(tool, group) for (tool,), group in tools.items() if not tool.startswith("vmwss")]
    for ours in CENSUSES:
        for tool, group in others if (ours,) in tools else []:
            pairs = list(zip(runs_of(group), runs_of(tools[(ours,)])))
            whole = (number(ratio(run_cost(other), run_cost(census)), 2) for other, census in pairs)
            period = (number(ratio(run_cost(other), median(census, "period_cpu_s")), 2) for other, census in pairs)
            yield f"{tool}: {' / '.join(whole)} x a run of {ours}, {' / '.join(period)} x a period of it"


def times_smallest(rows):
    """A period beside that of the smallest guest, run by run."""
    for (tool,), group in groups(rows, "tool").items():
        by_ram = sorted(groups(group, "ram_mib").items())
        first = [median(run, "period_cpu_s") for run in runs_of(by_ram[0][1])]
        for (ram,), of in by_ram[1:]:
            ratios = (number(ratio(median(run, "period_cpu_s"), base), 3) for run, base in zip(runs_of(of), first))
            yield f"{tool}, a period: {ram / 1024:g} GiB {' / '.join(ratios)} x {by_ram[0][0][0] / 1024:g} GiB"


SLOW_HEAD = ["TOOL", "PERIOD s", "blocks", "guest's own loss %", "±", "differ points", "loss with one CPU for both %"]
# vmwssd.conf(5) proposes to measure writes so often: each measurement then costs the guest what it does here.
WRITES_EVERY_S = 1800


def slowdown_cells(rows):
    own = [median(run, "slowdown_vcpu_percent") for run in runs_of(rows)]
    error = [median(run, "slowdown_vcpu_error") for run in runs_of(rows)]
    both = [median(run, "slowdown_percent") for run in runs_of(rows)]
    return [
        " / ".join(number(value, 3) for value in own),
        " / ".join(number(value, 3) for value in error),
        number(None if None in own else max(own) - min(own), 3),
        " / ".join(number(value, 2) for value in both),
    ]


def slowdown_table(rows):
    lines = [
        [tool, f"{period:g}", str(group[0]["blocks"]), *slowdown_cells(group)]
        for (tool, period), group in groups(rows, "tool", "period_s").items()
    ]
    return table(SLOW_HEAD, lines)


def every_half_hour(rows):
    """The guest's own loss of each run, if it were measured as often as writes are."""
    for (tool, period), group in groups(rows, "tool", "period_s").items():
        own = (median(run, "slowdown_vcpu_percent") for run in runs_of(group))
        losses = (number(None if one is None else one * period / WRITES_EVERY_S, 5) for one in own)
        yield f"{tool}, every {WRITES_EVERY_S // 60} min instead of {period:g} s: {' / '.join(losses)} %"


def text(part, rows):
    """All lines of one part."""
    if part.startswith("slowdown"):
        return [*slowdown_table(rows), *(every_half_hour(rows) if part == "slowdown-writes" else [])]
    if part == "growth":
        return [*cost_table(rows, "ram_mib"), *times_smallest(rows)]
    return [*cost_table(rows, "guests"), *(times_census(rows) if part == "compare" else [])]
