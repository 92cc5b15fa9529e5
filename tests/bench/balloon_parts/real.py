#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What guests at work lose at sizes set by their balloons: see tests/bench/balloon --help and real.sh, which starts them.
What a unit of work costs is in real_guest.py."""

import argparse
import json
import os
import statistics as stats
import subprocess
import sys
import threading
import time

from real_guest import MIB, Guest, cost_s, measure, say, upper_bound
import real_hour


# --- sizes ------------------------------------------------------------------------------------------


def wanted_sizes(advice, options):
    """By their names, in bytes, from the largest. At most what is assigned."""
    assigned = options.assigned * MIB
    sizes = {}
    for name in options.sizes.split(","):
        if name == "T":
            size = advice["wanted_bytes"]
        elif name == "MOM":
            size = advice["mom_bytes"]
        elif name == "WSS+25%":
            size = max(assigned // 4, advice["wss_bytes"] * 5 // 4)
        elif name.endswith("T"):
            size = float(name[:-1]) * advice["wanted_bytes"]
        else:
            size = float(name) * advice["h_bytes"]
        sizes[name] = min(int(size) // MIB * MIB, assigned)
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


def judge(pairs):
    """The mean of the slowdowns, and its upper 95 % bound."""
    slowdowns = [cost_s(phase) / stats.mean(map(cost_s, full)) - 1 for phase, full in pairs]
    return {"slowdown": stats.mean(slowdowns), "slowdown_high": upper_bound(slowdowns), "slowdowns": slowdowns}


def cell(advice, options, guest, name, size, pairs, why):
    """A row: one size of one guest."""
    row = {"kind": "size", "work": guest.name, "swap": options.swap, "statistics": options.statistics, "size": name}
    row |= {"bytes": size, "why": why, "pairs": len(pairs), "assigned_bytes": options.assigned * MIB, "advice": advice}
    if pairs:
        phases = [phase for phase, _ in pairs]
        seconds = sum(phase["time_s"] for phase in phases)
        row |= judge(pairs)
        row["phases"] = pairs
        row["actual_bytes"] = max(phase["actual_bytes"] for phase in phases)
        row["units"] = sum(phase["units"] for phase in phases)
        for key in ("refaults", "swap_ins", "reads"):
            row[key + "_per_unit"] = sum(phase[key] for phase in phases) / row["units"]
        for kind in ("some", "full"):
            row["psi_" + kind] = sum(phase[kind + "_us"] for phase in phases) / 1e6 / seconds
    return row


def measure_rounds(guest, sizes, options, pairs, rounds):
    """Rounds over sizes, each between two phases at full size. Why they ended, by the name of a size."""
    full_size, until = options.assigned * MIB, options.until + 45
    before = measure(guest, full_size, options.seconds, until)
    for number in range(rounds):
        if before["why"] or time.time() > options.until:
            return {} if number else dict.fromkeys(sizes, before["why"] or "no time")
        done = []
        for name, size in sizes.items():
            phase = measure(guest, size, options.seconds, until, before)
            if phase["why"]:
                say(f"{guest.name}: {name}, {phase['actual_bytes'] / MIB:.0f} MiB: {phase['why']}")
                return {name: phase["why"]}
            done.append((name, phase))
        after = measure(guest, full_size, options.seconds, until, before)
        if after["why"]:
            return {done[-1][0]: after["why"]}
        for name, phase in done:
            pairs[name].append((phase, (before, after)))
        before = after
        shown = "  ".join(f"{name} {100 * judge(pairs[name][-1:])['slowdown']:+.1f} %" for name in sizes)
        say(f"{guest.name}: round {number + 1}: {shown}")
    return {}


def measure_sizes(guest, options):
    """Sizes that leave the guest what it uses, in rounds; then those that do not: each may be its end."""
    with open(f"{options.dir}/{guest.name}.advice", encoding="utf-8") as file:
        advice = json.load(file)
    sizes = wanted_sizes(advice, options)
    least = advice["used_now_bytes"] + 24 * MIB
    groups = [{name: size for name, size in sizes.items() if size >= least}]
    groups += [{name: size} for name, size in sizes.items() if size < least]
    pairs, whys = {name: [] for name in sizes}, {}
    for number, group in enumerate(groups):
        if group and all(why == "no time" for why in whys.values()):
            whys |= measure_rounds(guest, group, options, pairs, min(options.rounds, 2) if number else options.rounds)
    return [cell(advice, options, guest, name, size, pairs[name], whys.get(name)) for name, size in sizes.items()]


def run_sizes(options):
    guests = [Guest(options, name) for name in options.names]
    rows = []

    def one(guest):
        found = measure_sizes(guest, options)
        rows.extend(found)
        with open(options.record, "a", encoding="utf-8") as file:
            file.write("".join(json.dumps(row) + "\n" for row in found))

    threads = [threading.Thread(target=one, args=(guest,)) for guest in guests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    table(rows)
    return 0 if rows else 1


# --- the target -------------------------------------------------------------------------------------


def advice_of(options, name):
    command = [
        options.vmwss,
        "advise",
        name,
        "--database",
        options.database,
        "--window",
        "5,20,60",
        "--connect",
        options.uri,
    ]
    run = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    return json.loads(run.stdout) if run.returncode == 0 and run.stdout.strip() else None


def is_answered(advice, options):
    """A window of 20 s, and whatever statistics there are."""
    if advice is None or not (advice["windows"][-1].get("window_s") or 0) >= 20:
        return False
    return options.statistics == "none" or advice.get("used_bytes") is not None


def run_advise(options):
    """Asks until all windows are answered; writes what was said, with H and others' targets."""
    for name in options.names:
        guest, begin = Guest(options, name), time.monotonic()
        while not is_answered(advice := advice_of(options, name), options):
            if time.monotonic() - begin > 240:
                print(f"no advice about {name} in 240 s: {advice}", file=sys.stderr)
                return 1
            time.sleep(3)
        memory, assigned = guest.memory(), options.assigned * MIB
        longest, shortest = advice["windows"][-1], advice["windows"][0]
        advice["h_bytes"] = longest["wss_high_bytes"]
        advice["wss_bytes"] = (shortest["wss_low_bytes"] + shortest["wss_high_bytes"]) // 2
        advice["memory"] = memory
        # A guest without statistics does not report its use: without those of its driver, half of its memory is
        # assumed.
        advice["used_now_bytes"] = advice.get("used_bytes") or assigned // 2
        used = assigned - memory["unused"] if "unused" in memory else assigned
        advice["mom_bytes"] = min(used + assigned // 5, assigned)
        with open(f"{options.dir}/{name}.advice", "w", encoding="utf-8") as file:
            json.dump(advice, file)
        say(
            f"{name}: H {advice['h_bytes'] / MIB:.0f} MiB, used {advice['used_now_bytes'] / MIB:.0f}, "
            f"T {advice['wanted_bytes'] / MIB:.0f} by {advice['term']}, floor {advice['floor_bytes'] / MIB:.0f}; {advice.get('reason')}"
        )
    return 0


# --- tables -----------------------------------------------------------------------------------------


def percent(value):
    return "" if value is None else f"{100 * value:+.1f} %"


def mib(value):
    return f"{value / MIB:.0f}"


def table(rows):
    print(
        "| work | swap | statistics | H, MiB | size | MiB | had | slowdown | upper 95 % | refaults a unit | reads a unit | PSI some | full | units |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        name = row["size"] + ("" if row["size"][-1] in "TM%" else " H")
        head = [row["work"], row["swap"], row["statistics"], mib(row["advice"]["h_bytes"]), name, mib(row["bytes"])]
        if not row["pairs"]:
            tail = ["", row["why"] or "not run"] + [""] * 6
        else:
            tail = [mib(row["actual_bytes"]), percent(row["slowdown"]), percent(row["slowdown_high"])]
            tail += [f"{row[key]:.0f}" for key in ("refaults_per_unit", "reads_per_unit")]
            tail += [f"{100 * row[key]:.1f} %" for key in ("psi_some", "psi_full")] + [str(row["units"])]
            if row["why"]:
                tail[1] += ", then " + row["why"]
        print("| " + " | ".join(head + tail) + " |")


def saved_table(rows):
    """At T, against what the guest did not touch in a minute, by the oracle; and, of a guest without swap, what it could drop."""
    touched = {row["work"]: row["touched_bytes"] for row in rows if row["kind"] == "oracle"}
    found = [
        row for row in rows if row["kind"] == "size" and row["size"] == "T" and row["pairs"] and row["work"] in touched
    ]
    if not found:
        return
    print(
        "\n| work | swap | statistics | touched in a minute, MiB | used | had at T | saved, of what was not touched | of what could be dropped |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for row in found:
        assigned, need = row["assigned_bytes"], touched[row["work"]]
        saved = assigned - row["actual_bytes"]
        held = need if row["swap"] != "no" else max(need, row["advice"]["used_now_bytes"])
        cells = [
            row["work"],
            row["swap"],
            row["statistics"],
            mib(need),
            mib(row["advice"]["used_now_bytes"]),
            mib(row["actual_bytes"]),
        ]
        cells += [f"{100 * saved / (assigned - need):.0f} %", f"{100 * saved / (assigned - held):.0f} %"]
        print("| " + " | ".join(cells) + " |")


def read_record(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["advise", "sizes", "hour", "table"])
    for name in ("uri", "vmwss", "database", "dir", "consoles", "swap", "statistics", "record", "sizes", "journal"):
        parser.add_argument("--" + name)
    for name in ("assigned", "host", "own", "hour"):
        parser.add_argument("--" + name, type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--until", type=float, help="Unix time, after which no round begins")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    if options.what == "table":
        rows = read_record(options.names[0])
        table([row for row in rows if row["kind"] == "size"])
        saved_table(rows)
        for row in rows:
            if row["kind"] == "hour":
                real_hour.show(row)
        return 0
    os.environ["LIBVIRT_LOG_OUTPUTS"] = "4:stderr"
    return {"advise": run_advise, "sizes": run_sizes, "hour": real_hour.run}[options.what](options)


sys.exit(main())
