# SPDX-License-Identifier: LGPL-2.1-or-later
"""Forecasts beside what happened: one table."""

import statistics

GIB = 1 << 30
# A total, or a downtime, is right within a quarter.
RIGHT = 0.25


def within(value, real):
    return value is not None and abs(value - real) <= RIGHT * real


def holds(interval, real):
    """A bound of null is none: the migration may go on for ever."""
    high = interval["high"] if interval["high"] is not None else float("inf")
    return interval["low"] is not None and interval["low"] <= real <= high


def verdict_of(forecast):
    """What it says: yes, no; of one that may, what it foretells by its numbers."""
    if forecast["verdict"] == "may-converge":
        return forecast["total_seconds"]["value"] is not None
    return forecast["verdict"] == "converges"


def fixed_s_per_gib(runs):
    """The best constant that there is: the median over all that converged, of the very runs that it is compared with."""
    return statistics.median(
        run["outcome"]["total_s"] * GIB / run["ram_bytes"] for run in runs if run["outcome"]["converged"]
    )


def judge(run, fixed):
    """What is right of one run, as a dict of booleans; None: it does not apply."""
    forecast, outcome = run["forecast"], run["outcome"]
    real = outcome["converged"]
    total, downtime = outcome["total_s"], outcome.get("downtime_s")
    judged = {
        "verdict": verdict_of(forecast) == real,
        "sure": forecast["verdict"] != "may-converge",
        "rate verdict": (run["baseline_s"] is not None) == real,
        "fixed verdict": real,
    }
    if real:
        judged |= {
            "total": within(forecast["total_seconds"]["value"], total),
            "total held": holds(forecast["total_seconds"], total),
            "rate total": within(run["baseline_s"], total),
            "fixed total": within(fixed * run["ram_bytes"] / GIB, total),
        }
    if real and downtime is not None:
        judged |= {
            "downtime": within(forecast["downtime_seconds"]["value"], downtime),
            "downtime held": holds(forecast["downtime_seconds"], downtime),
        }
    return judged


COLUMNS = [
    "verdict",
    "sure",
    "total",
    "total held",
    "downtime",
    "downtime held",
    "rate verdict",
    "rate total",
    "fixed verdict",
    "fixed total",
]


def share(judged, key):
    known = [one[key] for one in judged if key in one]
    return f"{sum(known)}/{len(known)}" if known else "-"


def way_of(run):
    """Who moves the guest, what runs it, and where its write curve comes from."""
    return f"{run.get('by', 'qemu')}, {run.get('accel', 'tcg')}, {run['record']['writes']['method']}"


def one_line(run):
    forecast, outcome = run["forecast"], run["outcome"]
    total, downtime = forecast["total_seconds"], forecast["downtime_seconds"]

    def text(interval, unit=1):
        numbers = [interval[key] for key in ("value", "low", "high")]
        value, low, high = ("never" if number is None else f"{number * unit:.3g}" for number in numbers)
        return f"{value} [{low}, {high}]"

    real = f"{outcome['total_s']:.3g}" if outcome["converged"] else "never"
    stood = f"{1000 * outcome['downtime_s']:.0f}" if outcome.get("downtime_s") is not None else "-"
    rate = f"{run['baseline_s']:.3g}" if run["baseline_s"] is not None else "never"
    return [
        run["guest"],
        way_of(run),
        f"{run['bandwidth'] / 2**20:g}",
        f"{run['downtime_ms']}",
        forecast["verdict"],
        text(total),
        real,
        text(downtime, 1000),
        stood,
        rate,
        str(outcome.get("sync_count", "-")),
    ]


def rows_text(heading, rows):
    lines = ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def print_pages(runs):
    """The pages that were resident, those foretold to be sent with all that they hold, and those that were, medians of the runs."""
    rows = []
    for guest in dict.fromkeys(run["guest"] for run in runs):
        of = [run for run in runs if run["guest"] == guest and run["outcome"].get("normal_pages")]
        filled = [run["forecast"]["filled_bytes"] for run in of if "filled_bytes" in run["forecast"]]
        if filled:
            bounds = [round(statistics.median(one[key] for one in filled) / 4096) for key in ("value", "low", "high")]
            sent = [
                round(statistics.median(run["outcome"][key] for run in of)) for key in ("normal_pages", "zero_pages")
            ]
            resident = round(statistics.median(run["record"]["resident_bytes"] for run in of) / 4096)
            rows.append([guest, str(resident), "{} [{}, {}]".format(*bounds), *map(str, sent)])
    if rows:
        print()
        print(rows_text(["guest", "pages resident", "foretold to be filled", "sent", "sent as zeroes"], rows))


def print_report(runs):
    if not any(run["outcome"]["converged"] for run in runs):
        print("no migration has converged")
        return
    fixed = fixed_s_per_gib(runs)
    judged = [judge(run, fixed) for run in runs]
    heading = [
        "guest",
        "by",
        "MiB/s",
        "allowed ms",
        "verdict",
        "total s",
        "real",
        "downtime ms",
        "real",
        "RAM/(b - r)",
        "rounds",
    ]
    print(rows_text(heading, [one_line(run) for run in runs]))
    print()
    rows = []
    for group in (lambda run: run["guest"], way_of):
        for name in dict.fromkeys(map(group, runs)):
            of = [one for run, one in zip(runs, judged) if group(run) == name]
            rows.append([name, str(len(of)), *(share(of, key) for key in COLUMNS)])
    rows.append(["**all**", str(len(runs)), *(share(judged, key) for key in COLUMNS)])
    print(rows_text(["guest", "moves", *COLUMNS], rows))
    print()
    print(f"fixed: {fixed:.3g} s a GiB, the median of these runs.")
    print_pages(runs)
