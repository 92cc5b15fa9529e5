# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rows of the table. tests/bench/compare computes error, bias, coverage and cost; here are only the choice of records
that count, the targets, steps, and how it is all shown."""

import json
import math
import os
import subprocess
import sys
import textwrap

from . import cells

COMPARE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "compare")
MIB = cells.MIB
CENSUS_PERCENT = 1.0
PANEL_POINTS = 2.2
COVERAGE = (0.93, 0.97)
WIDTH = 140


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [line for line in map(json.loads, file) if "cell" in line]


def append_lines(path, lines):
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def key_of(line):
    return json.dumps(line["cell"], sort_keys=True)


def usable(line):
    """A record whose guest did not run, or whose window lies across a step, is no measure of the method."""
    return "record" in line and line["ran"] and line.get("settled", True)


def compare(lines):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    run = subprocess.run([sys.executable, COMPARE, "--json"], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def summarise(lines):
    groups = {}
    for line in lines:
        groups.setdefault(key_of(line), []).append(line)
    good = [line for line in lines if usable(line)]
    compared = {key_of(row): row for row in compare(good)} if good else {}
    return [row_of(group, compared.get(key)) for key, group in groups.items()]


def row_of(group, compared):
    """One cell: compare's figures, or the reason why there are none."""
    records = [line for line in group if "record" in line]
    row = {"cell": group[0]["cell"], "not_run": sum(not line["ran"] for line in records)}
    if not compared:
        idle = f"the guest did not run enough in any of {len(records)} windows"
        return row | {"reason": idle if records else group[-1]["why"]}
    good = [line for line in records if usable(line)]
    row |= compared | spread(good) | step_figures(records)
    return row | {"verdict": verdict_of(row)}


def error_of(line):
    """(percent of truth, points of resident) of one record; where the truth has bounds, beyond them."""
    wss, truth = wss_of(line), line["truth"]
    bounds = truth if isinstance(truth, dict) else {"low_bytes": truth, "high_bytes": truth, "bytes": truth}
    wrong = max(wss - bounds["high_bytes"], 0) - max(bounds["low_bytes"] - wss, 0)
    return 100 * wrong / bounds["bytes"], 100 * wrong / max(1, line["record"]["resident_bytes"])


# The oracle's figures beside the truth: the first two of TCG guests, the others of KVM guests.
PARTS = ("visible_bytes", "page_table_bytes", "both_bytes", "tables_bytes", "host_bytes", "moved_pages")
PARTS += ("low_bytes", "high_bytes", "any_low_bytes", "any_high_bytes")


def parts_of_truth(good):
    """The mean of each part over the records that have it, else None."""
    truths = [line["truth"] for line in good if isinstance(line["truth"], dict)]
    found = {key: [truth[key] for truth in truths if key in truth] for key in PARTS}
    return {key: sum(values) / len(values) if values else None for key, values in found.items()}


def spread(good):
    """What the picture's whiskers and the targets need beyond compare's figures."""
    percents, points = zip(*map(error_of, good))
    unmeasurable = max(line["record"].get("unmeasurable_bytes", 0) for line in good)
    return parts_of_truth(good) | {
        "percents": (min(percents), max(percents)),
        "points": quantiles(points),
        "within": sum(abs(x) <= PANEL_POINTS for x in points),
        "unmeasurable_bytes": unmeasurable,
        "flags": sorted({flag for line in good for flag in line["record"].get("flags", [])}),
    }


def quantiles(values):
    ordered = sorted(values)
    return ordered[int(0.025 * (len(ordered) - 1))], ordered[math.ceil(0.975 * (len(ordered) - 1))]


def step_figures(records):
    """The period after a step whose record first shows it, nearer to the new truth than to the old: the slowest up and
    down. The first period is the one in which the step fell."""
    if records[0]["cell"]["pattern"] != "step":
        return {}
    slowest = {}
    for phase in sorted({line["phase"] for line in records if line["phase"]}):
        here, before = (lines_of_phase(records, number) for number in (phase, phase - 1))
        if not here or not before:
            continue
        middle = (here[0]["truth"] + before[0]["truth"]) / 2
        up = here[0]["truth"] > middle
        seen = next((i + 1 for i, line in enumerate(here) if (wss_of(line) > middle) == up), None)
        if seen:
            direction = "up_periods" if up else "down_periods"
            slowest[direction] = max(slowest.get(direction, 0), seen)
    return slowest


def lines_of_phase(records, phase):
    return [line for line in records if line["phase"] == phase]


def wss_of(line):
    return line["record"]["windows"][-1]["wss_bytes"]


def binomial_interval(k, n, z=1.96):
    centre = (k + z * z / 2) / (n + z * z)
    half = z * math.sqrt(k * (n - k) / n + z * z / 4) / (n + z * z)
    return centre - half, centre + half


def panel_misses(row):
    """With 400 periods coverage must be within the target; fewer can only show that it is far from it. Likewise that
    95 % of errors stay within the points."""
    n, misses = row["periods"], []
    if row["cell"]["n"] == 2000 and binomial_interval(row["within"], n)[1] < 0.95:
        misses.append("points")
    low, high = row["coverage_interval"] if n < 0.97 * cells.COVERAGE_PERIODS else (row["coverage"], row["coverage"])
    if low > COVERAGE[1] or high < COVERAGE[0]:
        misses.append("coverage")
    return misses


def verdict_of(row):
    """Against the targets: ok, or MISS with what misses; other tools have none."""
    cell, misses = row["cell"], []
    if cell["mode"] == "tool":
        return ""
    if cell["mode"] == "panel":
        misses += panel_misses(row)
    elif abs(row["beyond_percent"]) > CENSUS_PERCENT:
        misses.append("bounded, flagged" if row["coverage"] == 1 else "error")
    if cell["pattern"] == "step" and row.get("up_periods", 99) > 2:
        misses.append("step")
    return "MISS " + ", ".join(misses) if misses else "ok"


HEAD = (
    f"{'KERNEL':9} {'ACCEL':5} {'METHOD':10} {'MODE':7} {'BACKING':8} {'PATTERN':10} {'P':>4} {'TRUTH':>7} {'WSS':>7} "
    f"{'ERR %':>7} {'WORST':>7} {'BIAS':>5} {'RMS':>4} {'COVERED %':>14} {'N':>3} {'EST s':>5} {'CPU ms':>7} {'us/pg':>5}"
)


def mode_text(cell):
    return f"n={cell['n']}" if cell["mode"] == "panel" else cell["mode"].replace("tool", "")


def row_text(row):
    cell, cover, bias, rms, worst = row["cell"], "", "", "", f"{row['beyond_percent']:+.2f}"
    if cell["mode"] == "panel":
        low, high = row["coverage_interval"]
        cover = f"{100 * row['coverage']:.1f} ({100 * low:.0f}..{100 * high:.0f})"
        bias, rms, worst = f"{row['bias_points']:+.2f}", f"{row['rms_points']:.2f}", ""
    note = row["verdict"] + (f" ({row['not_run']} idle)" if row["not_run"] else "")
    if cell["pattern"] == "step":
        note += f" up {row.get('up_periods', '?')} down {row.get('down_periods', '?')}"
    per_page = row["cpu_us_per_page"] or 0
    return (
        f"{cell['kernel']:9} {cell['accel']:5} {cell['method']:10.10} {mode_text(cell):7} {cell['backing']:8.8} "
        f"{cell['pattern']:10} {cell['p']:4.2g} {row['truth_bytes'] / MIB:7.2f} {row['wss_bytes'] / MIB:7.2f} "
        f"{row['bias_percent']:+7.2f} {worst:>7} {bias:>5} {rms:>4} {cover:>14} {row['periods']:3} {row['est_window_s']:5.2f} "
        f"{1000 * row['cpu_seconds']:7.1f} {per_page:5.1f} {note}"
    )


def place(names, name):
    return names.index(name) if name in names else len(names)


def order(row):
    cell = row["cell"]
    return (
        place([*cells.METHODS, cells.WRITES], cell["method"]),
        cell["method"],
        cell["accel"],
        place(cells.KERNELS, cell["kernel"]),
        place(cells.PATTERNS, cell["pattern"]),
        place(cells.BACKINGS, cell["backing"]),
        cell["n"] or 0,
        cell["p"],
    )


def refusals(rows):
    """Cells without a number, grouped by reason."""
    groups = {}
    for row in rows:
        cell = row["cell"]
        who = f"{cell['accel']} {cell['kernel']} {cell['method']} {cell['mode']}"
        groups.setdefault(row["reason"], {}).setdefault(who, {})[cell["backing"]] = True
    for reason, cases in groups.items():
        yield textwrap.fill(reason, WIDTH)
        for who, backings in cases.items():
            yield textwrap.fill(f"    {who}: {', '.join(backings)}", WIDTH, subsequent_indent="        ")


def work_lines(rows):
    """Of a Linux at work under TCG the host sees less than the guest does, for translated code runs without its page
    being read, and page tables besides, which the emulated MMU walks."""
    rows = [row for row in rows if row["visible_bytes"]]
    if rows:
        yield ""
        yield "Linux at work, against what of its truth a host can see of a TCG guest, and its page tables (MiB):"
    for row in rows:
        cell, tables = row["cell"], row["page_table_bytes"]
        wss, seen, touched = (row[key] / MIB for key in ("wss_bytes", "visible_bytes", "truth_bytes"))
        yield (
            f"{cell['pattern']:8} {cell['method']:10} {mode_text(cell):7} {cell['backing']:8} {wss:6.2f} of {seen:6.2f} "
            f"seen ({touched:6.2f} touched): {100 * (wss - seen) / seen:+6.2f} %, {tables / MIB:.2f} of page tables: "
            f"{100 * (wss - seen - tables / MIB) / seen:+6.2f} %"
        )


def nested_lines(rows):
    """Of a Linux at work under KVM."""
    rows = [row for row in rows if row["both_bytes"] is not None]
    if rows:
        yield ""
        yield (
            "Linux at work under KVM (MiB, means): the truth as an interval, each page in its own window [whatever the order of "
            "pages];\nwhat of it was touched by whom; pages that moved meanwhile; error beyond the truth's interval, worst:"
        )
    for row in rows:
        cell = row["cell"]
        both, tables, host = (row[key] / MIB for key in ("both_bytes", "tables_bytes", "host_bytes"))
        yield (
            f"{cell['pattern']:8} {cell['kernel']:9} {cell['method']:8} {mode_text(cell):7} {row['wss_bytes'] / MIB:6.2f} of "
            f"{row['low_bytes'] / MIB:.2f}..{row['high_bytes'] / MIB:.2f} "
            f"[{row['any_low_bytes'] / MIB:.2f}..{row['any_high_bytes'] / MIB:.2f}]: {both:6.2f} by instructions, {tables:.2f} page tables that only the MMU read, {host:.2f} only by QEMU; "
            f"{row['moved_pages']:.1f} pages moved; {row['bias_percent']:+.2f} %, {row['bias_points']:+.2f} points, "
            f"worst {row['beyond_percent']:+.2f} %; holds {row['covered_periods']}/{row['periods']}"
        )


def text(rows):
    measured = sorted((row for row in rows if "reason" not in row), key=order)
    refused = sorted((row for row in rows if "reason" in row), key=order)
    missing = [row for row in measured if row["verdict"].startswith("MISS")]
    parts = [
        "TRUTH, WSS: MiB. ERR, WORST: % of the truth. BIAS, RMS: points of what is resident. COVERED: share of N periods "
        "whose interval\nholds the truth. CPU ms of a measurement, and us of it for each page looked at.",
        HEAD,
        *map(row_text, measured),
        *work_lines(measured),
        *nested_lines(measured),
    ]
    if refused:
        parts += ["", f"{len(refused)} cells without a number, and why:", *refusals(refused)]
    kept = len(measured) - len(missing)
    parts += ["", f"{len(measured)} cells measured: {kept} within the targets, {len(missing)} not."]
    return "\n".join(parts)


SHORT = {"anon": "anon 4K", "thp": "THP", "partly": "partly populated", "numa": "two blocks", "big": "5 GiB"}


def markdown(rows):
    """The README's two tables: methods by backings at the base pattern, and coverage by densities and patterns."""
    return "\n".join([*backing_table(rows), "", *coverage_table(rows)])


def short_figure(row):
    if row is None or "reason" in row:
        return "–"
    if row["cell"]["mode"] == "panel":
        return f"{row['rms_points']:.2f} pt"
    return f"{row['worst_percent']:+.2f} %"


def backing_table(rows):
    found = {}
    for row in rows:
        cell = row["cell"]
        if cell["pattern"] == "contiguous" and cell["p"] == cells.BASE_P and cell["n"] in (None, 2000):
            who = (cell["method"], cell["accel"].upper(), cell["kernel"], mode_text(cell))
            found.setdefault(who, {})[cell["backing"]] = row
    yield "| method | guest | kernel | mode | " + " | ".join(SHORT.get(name, name) for name in cells.BACKINGS) + " |"
    yield "|---" * (4 + len(cells.BACKINGS)) + "|"
    for who, row in sorted(found.items(), key=lambda item: order(next(iter(item[1].values())))):
        if not all("reason" in cell for cell in row.values()):
            shown = " | ".join(short_figure(row.get(backing)) for backing in cells.BACKINGS)
            yield f"| `{who[0]}` | " + " | ".join(who[1:]) + f" | {shown} |"


def coverage_table(rows):
    found = {}
    for row in rows:
        cell = row["cell"]
        if "reason" not in row and row["periods"] >= 0.97 * cells.COVERAGE_PERIODS:
            who = (f"`{cell['method']}`", cell["accel"].upper(), str(cell["n"]), cell["pattern"])
            found.setdefault(who, {})[cell["p"]] = f"{100 * row['coverage']:.1f} %"
    yield "| method | guest | n | pattern | " + " | ".join(f"p = {p:g}" for p in cells.DENSITIES) + " |"
    yield "|---" * (4 + len(cells.DENSITIES)) + "|"
    for who, shares in sorted(found.items()):
        yield "| " + " | ".join([*who, *(shares.get(p, "") for p in cells.DENSITIES)]) + " |"
