# SPDX-License-Identifier: LGPL-2.1-or-later
"""From records and truths to rows: error, bias, coverage with its own uncertainty, est window, cost, verdict."""

import json
import math
import statistics
import textwrap

from . import cells

MIB = cells.MIB
CENSUS_PERCENT = 1.0
PANEL_POINTS = 2.2
COVERAGE = (0.93, 0.97)
WIDTH = 140


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [line for line in map(json.loads, file) if "labels" in line]


def append_lines(path, lines):
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def wilson(k, n, z=1.96):
    """Bounds of a share seen as k of n."""
    centre = (k + z * z / 2) / (n + z * z)
    half = z * math.sqrt(k * (n - k) / n + z * z / 4) / (n + z * z)
    return centre - half, centre + half


def error_of(line):
    """(percent of truth, points of resident, the interval holds the truth) of one record."""
    record, truth = line["record"], line["truth"]
    window = record["windows"][-1]
    wrong = window["wss_bytes"] - truth
    resident = record.get("resident_bytes") or math.inf
    covered = window.get("wss_low_bytes", 0) <= truth <= window.get("wss_high_bytes", 0)
    return 100 * wrong / truth, 100 * wrong / resident, covered


def summarise(lines):
    groups = {}
    for line in lines:
        groups.setdefault(cells.name(line["labels"]), []).append(line)
    return [row_of(group) for group in groups.values()]


def row_of(group):
    """One cell. A record whose guest did not run is counted, and left out of everything else."""
    cell = group[-1]["labels"]
    records = [line for line in group if line["record"]]
    row = {
        "labels": cell,
        "records": len(records),
        "not_run": sum(not line["ran"] for line in records),
        "host": group[-1].get("host"),
    }
    good = [line for line in records if line["ran"] and line.get("settled", True)]
    if not records:
        return row | {"reason": group[-1]["reason"]}
    if not good:
        return row | {"reason": f"the guest did not run enough in any of {len(records)} windows"}
    return row | figures(cell, good) | step_figures(records) | verdict_of(cell, good, records)


def figures(cell, good):
    percents, points, covered = zip(*map(error_of, good))
    last = [line["record"] for line in good]
    pages = [
        record["samples"] if record["mode"] == "panel" else record.get("resident_bytes", 0) / cells.PAGE
        for record in last
    ]
    return {
        "truth_mib": good[-1]["truth"] / MIB,
        "wss_mib": statistics.mean(record["windows"][-1]["wss_bytes"] for record in last) / MIB,
        "error_percent": statistics.mean(percents),
        "worst_percent": max(percents, key=abs),
        "percents": (min(percents), max(percents)),
        "bias_points": statistics.mean(points),
        "rms_points": math.sqrt(statistics.mean(x * x for x in points)),
        "points": quantiles(points),
        "within": sum(abs(x) <= PANEL_POINTS for x in points),
        "covered": sum(covered),
        "used": len(good),
        "samples": statistics.median(pages),
        "unmeasurable_mib": statistics.mean(record.get("unmeasurable_bytes", 0) for record in last) / MIB,
        "est_window_s": statistics.median(record["windows"][-1]["est_window_s"] for record in last),
        "cpu_ms": 1000 * statistics.median(record["cpu_seconds"] for record in last),
        "flags": sorted({flag for record in last for flag in record.get("flags", [])}),
        "seen_mode": last[-1]["mode"],
        "asked": cell["mode"],
    }


def quantiles(values):
    ordered = sorted(values)
    return ordered[int(0.025 * (len(ordered) - 1))], ordered[math.ceil(0.975 * (len(ordered) - 1))]


def step_figures(records):
    """How many periods after a step the record shows it: within 10 % of the new truth."""
    if records[0]["labels"]["pattern"] != "step":
        return {}
    slowest = {}
    for phase in {line["phase"] for line in records if line["phase"]}:
        of_phase = [line for line in records if line["phase"] == phase]
        seen = next((i + 1 for i, line in enumerate(of_phase) if abs(error_of(line)[0]) <= 10), None)
        if of_phase[0] is not records[0] and seen:
            direction = "up_periods" if phase % 2 else "down_periods"
            slowest[direction] = max(slowest.get(direction, 0), seen)
    return slowest


def verdict_of(cell, good, records):
    """Against the targets: ok, or MISS with what misses."""
    misses = []
    percents, points, covered = zip(*map(error_of, good))
    n = len(good)
    if cell["tool"]:
        return {"verdict": ""}
    if good[-1]["record"]["mode"] == "census":
        if max(map(abs, percents)) > CENSUS_PERCENT:
            misses.append("bounded, flagged" if all(covered) else "error")
    else:
        if cell["mode"] == "2000" and wilson(sum(abs(x) <= PANEL_POINTS for x in points), n)[1] < 0.95:
            misses.append("points")
        low, high = wilson(sum(covered), n)
        share = sum(covered) / n
        if not (COVERAGE[0] <= share <= COVERAGE[1] if n >= 390 else low <= COVERAGE[1] and high >= COVERAGE[0]):
            misses.append("coverage")
    if cell["pattern"] == "step" and step_figures(records).get("up_periods", 99) > 2:
        misses.append("step")
    return {"verdict": "MISS " + ", ".join(misses) if misses else "ok"}


HEAD = (
    f"{'KERNEL':9} {'ACCEL':5} {'METHOD':10} {'MODE':7} {'BACKING':8} {'PATTERN':10} {'P':>4} {'TRUTH':>7} {'WSS':>7} {'ERR %':>7} {'WORST':>7} "
    f"{'BIAS':>6} {'RMS':>5} {'COVERED':>15} {'N':>4} {'EST s':>6} {'CPU ms':>7} "
)


def row_text(row):
    cell = row["labels"]
    panel = row["seen_mode"] == "panel"
    cover = ""
    if panel:
        low, high = wilson(row["covered"], row["used"])
        cover = f"{100 * row['covered'] / row['used']:.1f} ({100 * low:.0f}..{100 * high:.0f})"
    worst = "" if panel else f"{row['worst_percent']:+.2f}"
    points = (f"{row['bias_points']:+.2f}", f"{row['rms_points']:.2f}") if panel else ("", "")
    mode = "" if cell["tool"] else (cell["mode"] if cell["mode"] == "census" else "n=" + cell["mode"])
    note = row["verdict"] + ("" if not row["not_run"] else f" ({row['not_run']} idle)")
    if "up_periods" in row:
        note += f" up {row['up_periods']}, down {row.get('down_periods', '-')} periods"
    return (
        f"{cell['kernel']:9} {cell['accel']:5} {cell['tool'] or cell['method']:10.10} {mode:7} {cell['backing']:8.8} {cell['pattern']:10} "
        f"{cell['p']:4.2g} {row['truth_mib']:7.2f} {row['wss_mib']:7.2f} {row['error_percent']:+7.2f} {worst:>7} {points[0]:>6} {points[1]:>5} "
        f"{cover:>15} {row['used']:4} {row['est_window_s']:6.2f} {row['cpu_ms']:7.1f} {note}"
    )


def order(row):
    cell = row["labels"]
    return (
        cell["tool"] or "",
        cells.METHODS.index(cell["method"]) if cell["method"] else 99,
        cell["accel"],
        cells.KERNELS.index(cell["kernel"]),
        cells.PATTERNS.index(cell["pattern"]),
        cells.BACKINGS.index(cell["backing"]),
        cells.MODES.index(cell["mode"]),
        cell["p"],
    )


def refusals(rows):
    """Cells without a number, grouped by reason."""
    groups = {}
    for row in rows:
        cell = row["labels"]
        mode = "census" if cell["mode"] == "census" else "panel"
        who = f"{cell['accel']} {cell['kernel']} {cell['tool'] or cell['method'] + ' ' + mode}"
        groups.setdefault(row["reason"], {}).setdefault(who, dict())[cell["backing"]] = True
    for reason, cases in groups.items():
        yield textwrap.fill(reason, WIDTH)
        for who, backings in cases.items():
            yield textwrap.fill(
                f"{who}: {', '.join(backings)}", WIDTH, initial_indent="    ", subsequent_indent="        "
            )


def text(rows):
    measured = sorted((row for row in rows if "reason" not in row), key=order)
    refused = sorted((row for row in rows if "reason" in row), key=order)
    missing = [row for row in measured if row["verdict"].startswith("MISS")]
    parts = [
        "MiB; error in % of the truth (mean, worst), bias and rms in points of resident; 95 % interval holds the truth in % of N periods.",
        HEAD.rstrip(),
        *map(row_text, measured),
    ]
    if refused:
        parts += ["", f"{len(refused)} cells without a number, and why:", *refusals(refused)]
    parts += [
        "",
        f"{len(measured)} cells measured, {len(measured) - len(missing)} within the targets, {len(missing)} not; {len(refused)} without a number.",
    ]
    return "\n".join(parts)


SHORT = {"anon": "anon 4K", "thp": "THP", "partly": "partly populated", "numa": "two blocks", "big": "5 GiB"}


def markdown(rows):
    """The README's two tables: methods by backings at the base pattern, and coverage by densities and patterns."""
    return "\n".join([*backing_table(rows), "", *coverage_table(rows)])


def short_figure(row):
    if row is None or "reason" in row:
        return "–"
    if row["seen_mode"] == "panel":
        return f"{row['rms_points']:.2f} pt"
    return f"{row['worst_percent']:+.2f} %"


def backing_table(rows):
    found = {}
    for row in rows:
        cell = row["labels"]
        if cell["pattern"] == "contiguous" and cell["p"] == cells.BASE_P and cell["mode"] in ("census", "2000"):
            who = (cell["tool"] or cell["method"], cell["accel"], cell["kernel"], "" if cell["tool"] else cell["mode"])
            found.setdefault(who, {})[cell["backing"]] = row
    yield "| method | guest | kernel | mode | " + " | ".join(
        SHORT.get(backing, backing) for backing in cells.BACKINGS
    ) + " |"
    yield "|---" * (4 + len(cells.BACKINGS)) + "|"
    for who, row in sorted(found.items(), key=lambda item: order(next(iter(item[1].values())))):
        if all("reason" in cell for cell in row.values()):
            continue
        figures_here = " | ".join(short_figure(row.get(backing)) for backing in cells.BACKINGS)
        yield f"| `{who[0]}` | {who[1].upper()} | {who[2]} | {'n=' + who[3] if who[3].isdigit() else who[3]} | {figures_here} |"


def coverage_table(rows):
    found = {}
    for row in rows:
        cell = row["labels"]
        if "reason" not in row and row["used"] >= 390:
            who = (cell["method"], cell["accel"], cell["mode"], cell["pattern"])
            found.setdefault(who, {})[cell["p"]] = 100 * row["covered"] / row["used"]
    yield "| method | guest | n | pattern | " + " | ".join(f"p = {p:g}" for p in cells.DENSITIES) + " |"
    yield "|---" * (4 + len(cells.DENSITIES)) + "|"
    for who, shares in sorted(found.items()):
        figures_here = " | ".join(f"{shares[p]:.1f} %" if p in shares else "" for p in cells.DENSITIES)
        yield f"| `{who[0]}` | {who[1].upper()} | {who[2]} | {who[3]} | {figures_here} |"
