# SPDX-License-Identifier: LGPL-2.1-or-later
"""The table of what is said of a guest to which something happens: methods by events."""

import collections

from . import event_cells, events

MIB = event_cells.MIB
KEYS = ("kernel", "accel", "method", "mode", "event")


def summarise(lines):
    groups = {}
    for line in lines:
        cell = line["cell"]
        groups.setdefault(tuple(cell[key] for key in KEYS), []).append(line)
    return [row_of(key, group) for key, group in groups.items()]


def row_of(key, group):
    """One cell: its worst record, and how many there were of each verdict."""
    row = dict(zip(KEYS, key))
    told = [line for line in group if "window" in line]
    verdicts = dict(collections.Counter(line["verdict"] for line in group if "verdict" in line))
    if not told:
        return row | {"why": group[-1]["why"], "verdicts": verdicts}
    worst = event_cells.worst_line(told)
    window, record = worst["window"], worst["record"]
    return row | {
        "verdicts": verdicts,
        "told": len(told),
        "held": sum(all(line["all_held"]) for line in told),
        "by": record["method"],
        "wss_bytes": window["wss_bytes"],
        "low_bytes": window["wss_low_bytes"],
        "high_bytes": window["wss_high_bytes"],
        "resident_bytes": record["resident_bytes"],
        "truth": worst["truth"],
        "flags": sorted({flag for line in told for flag in line["record"]["flags"]}),
    }


def verdict_text(row):
    """The worst verdict, and in how many of the events."""
    total = sum(row["verdicts"].values())
    worst = max(row["verdicts"], key=event_cells.VERDICTS.index)
    return f"{worst} {row['verdicts'][worst]}/{total}"


def held_text(row):
    """After how many of the events all bounds held the truth."""
    return f"{row['held']}/{row['told']}"


def interval(row):
    if row["mode"] == "tool":
        return f"{row['wss_bytes'] / MIB:.1f}"
    return f"{row['wss_bytes'] / MIB:.1f} [{row['low_bytes'] / MIB:.1f}, {row['high_bytes'] / MIB:.1f}]"


def place(row):
    known = event_cells.OURS[row["accel"]]
    who = (row["method"], row["mode"])
    rank = known.index(who) if who in known else len(known)
    return row["accel"], row["kernel"], rank, row["method"], list(events.EVENTS).index(row["event"])


def any_wrong(rows):
    return any("WRONG" in row.get("verdicts", {}) for row in rows if row["mode"] != "tool")


def sums(rows):
    """Of our own numbers: how many of each verdict, and how often flagged bounds held the truth."""
    count = collections.Counter()
    for row in rows:
        if row["mode"] != "tool":
            count.update(row.get("verdicts", {}))
    happened = count["right"] + count["flagged"] + count["WRONG"]
    flagged = count["flagged"] + count["WRONG"]
    share = 100 * count["flagged"] / flagged if flagged else 100
    refused = sum("why" in row and row["mode"] != "tool" for row in rows)
    return (
        f"{happened} measurements of ours: {count['right']} right, {count['flagged']} flagged with bounds that hold the "
        f"truth, {count['WRONG']} WRONG; of those that are not right the bounds hold in {share:.1f} %. "
        f"{refused} cells refused, and {count['refused']} measurements for the reason that the event foresees."
    )


def text(rows):
    rows = sorted(rows, key=place)
    parts = [
        "Worst record of each cell, MiB; verdict: how many of the events it was given to; held: after how many all bounds held.",
        f"{'KERNEL':16} {'ACCEL':5} {'METHOD':10} {'MODE':9} {'EVENT':10} {'TRUTH':>6} {'RESIDENT':>8} {'WSS [LOW, HIGH]':24} {'VERDICT':14} {'HELD':>8} FLAGS",
    ]
    for row in rows:
        head = f"{row['kernel']:16} {row['accel']:5} {row['method'][:10]:10} {row['mode']:9} {row['event']:10}"
        if "why" in row:
            times = f" {row['verdicts']['refused']} times" if row["verdicts"] else ""
            parts.append(f"{head} refused{times}: {row['why']}")
            continue
        by = f" (by {row['by']})" if row["method"] == "auto" else ""
        parts.append(
            f"{head} {row['truth'] / MIB:6.2f} {row['resident_bytes'] / MIB:8.1f} {interval(row):24} "
            f"{verdict_text(row):14} {held_text(row):>8} {','.join(row['flags'])}{by}"
        )
    return "\n".join([*parts, sums(rows)])


def guest_of(row):
    """The kernel is named where it is not the usual one."""
    return row["accel"].upper() + ("" if row["kernel"] in ("page_idle", "host") else f", {row['kernel']}")


def markdown(rows):
    """The README's table."""
    names = [name for name in events.EVENTS if any(row["event"] == name for row in rows)]
    found = {}
    for row in sorted(rows, key=place):
        found.setdefault((guest_of(row), row["method"], row["mode"]), {})[row["event"]] = row
    lines = ["| method | guest | mode | " + " | ".join(names) + " |", "|---" * (3 + len(names)) + "|"]
    for (guest, method, mode), cells_of in found.items():
        shown = " | ".join(figure(cells_of.get(name)) for name in names)
        lines.append(f"| `{method}` | {guest} | {mode} | {shown} |")
    return "\n".join([*lines, "", sums(rows)])


def figure(row):
    if row is None:
        return ""
    if "why" in row:
        return f"refused {row['verdicts']['refused']} times" if row["verdicts"] else "refused"
    verdict = verdict_text(row) + ("" if row["held"] == row["told"] else f", held {held_text(row)}")
    flags = " " + ",".join(row["flags"]) if "flagged" in row["verdicts"] else ""
    return f"{interval(row)} {'**' + verdict + '**' if 'WRONG' in verdict else verdict}{flags}"
