# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rows as text: medians over the rounds, for one slow moment of a busy machine shall not decide."""

import math
import statistics


def median(rows, key):
    values = [row[key] for row in rows if row.get(key) is not None]
    return statistics.median(values) if values else None


def mean_and_error(values):
    if len(values) < 2:
        return None, None
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))


def number(value, digits):
    return "–" if value is None else f"{value:.{digits}f}"


def table(head, lines):
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    for line in [head, *lines]:
        cells = [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]
        yield "  ".join(cells).rstrip()


def groups(rows, *keys):
    result = {}
    for row in rows:
        result.setdefault(tuple(row[key] for key in keys), []).append(row)
    return result


COST_HEAD = [
    "WSS MiB",
    "error %",
    "user s",
    "system s",
    "CPU s",
    "user %",
    "wall s",
    "peak MiB",
    "period CPU s",
    "user %",
]


def share(user, total):
    return None if not total or user is None else 100 * user / total


def run_cost(rows):
    """CPU seconds of a whole run of the tool, its start included."""
    user, system = median(rows, "user_s"), median(rows, "system_s")
    return None if user is None or system is None else user + system


def cost_cells(rows):
    user, system = median(rows, "user_s"), median(rows, "system_s")
    wss, truth = median(rows, "wss_mib"), median(rows, "truth_mib")
    period = median(rows, "period_cpu_s")
    return [
        number(wss, 1),
        number(None if wss is None else 100 * (wss - truth) / truth, 1),
        number(user, 3),
        number(system, 3),
        number(run_cost(rows), 3),
        number(share(user, run_cost(rows)), 0),
        number(median(rows, "wall_s"), 1),
        number(median(rows, "peak_mib"), 1),
        number(period, 3),
        number(share(median(rows, "period_user_s"), period), 0),
    ]


def cost_table(rows, *keys):
    """What tells rows apart beside the tool goes first."""
    names = [key.removesuffix("_mib").upper() for key in keys]
    lines = [
        [tool, *map(str, rest), *cost_cells(group)] for (tool, *rest), group in groups(rows, "tool", *keys).items()
    ]
    return table(["TOOL", *names, *COST_HEAD], lines)


def total_cost(rows):
    """Of one use: a period where the tool repeats itself, else the whole run."""
    period = median(rows, "period_cpu_s")
    return run_cost(rows) if period is None else period


def ratios(rows):
    """How many times dearer everything is than our census, for a whole run and beside one period of ours."""
    by_tool = groups(rows, "tool")
    census = by_tool.get(("vmwss idle census",))
    if not census:
        return
    run = run_cost(census)
    for (tool,), group in by_tool.items():
        cpu = run_cost(group)
        if cpu is not None and not tool.startswith("vmwss"):
            yield f"{tool}: {cpu / run:.1f} x a run of the census, {cpu / total_cost(census):.1f} x a period of it"


def growth_ratios(rows):
    for (tool,), group in groups(rows, "tool").items():
        by_ram = groups(group, "ram_mib")
        first = total_cost(by_ram[min(by_ram)])
        steps = (f"{ram / 1024:g} GiB {total_cost(of) / first:.2f}" for (ram,), of in sorted(by_ram.items()))
        yield f"{tool}, a period, beside the smallest guest: " + ", ".join(steps)


SLOW_HEAD = ["TOOL", "PERIOD s", "blocks", "slowdown %", "±", "per vCPU second %", "±"]


def slowdown_table(rows):
    keys = ("slowdown_percent", "slowdown_error", "slowdown_vcpu_percent", "slowdown_vcpu_error")
    return table(
        SLOW_HEAD,
        [
            [row["tool"], f"{row['period_s']:g}", str(row["blocks"]), *(number(row[key], 2) for key in keys)]
            for row in rows
        ],
    )


def text(part, rows):
    """All lines of one part."""
    if part.startswith("slowdown"):
        return list(slowdown_table(rows))
    if part == "growth":
        return [*cost_table(rows, "ram_mib"), *growth_ratios(rows)]
    return [*cost_table(rows, "guests"), *(ratios(rows) if part == "compare" else [])]
