# SPDX-License-Identifier: LGPL-2.1-or-later
"""The hour of real_hour.sh: is the host's /proc/meminfo, records what each guest has and does, and says what it cost and saved."""

import json
import os
import sqlite3
import statistics
import subprocess
import time

from real_guest import MIB, Guest, cost_s, difference, say, upper_bound

# Units of so many seconds are one figure.
BLOCK_S = 8
# From when to when after a load began to rise, in seconds.
STEPS_S = ((0, 5), (5, 10), (10, 30))


def pid_of(name):
    with open(f"/run/libvirt/qemu/{name}.pid", encoding="ascii") as file:
        return int(file.read())


def resident_bytes(pid):
    """Of guest RAM, which is shared memory."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssShmem:")) * 1024


def actuals(options):
    """What balloons leave the guests, by libvirt's statistics."""
    command = ["virsh", "-q", "-c", options.uri, "domstats", "--balloon", "--nowait", *options.names]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    found, name = {}, None
    for line in run.stdout.splitlines():
        words = line.strip()
        if words.startswith("Domain:"):
            name = words.split("'")[1]
        elif words.startswith("balloon.current="):
            found[name] = int(words.split("=")[1]) * 1024
    return found


class Host:
    """A machine of so much memory, of which the guests' resident memory is taken."""

    def __init__(self, options):
        self.options = options
        self.pids = {name: pid_of(name) for name in options.names}
        self.resident = {}

    def free_bytes(self):
        self.resident = {name: resident_bytes(pid) for name, pid in self.pids.items()}
        return (self.options.host - self.options.own) * MIB - sum(self.resident.values())

    def write_meminfo(self):
        free = self.free_bytes()
        kib = [
            ("MemTotal", self.options.host * 1024),
            ("MemFree", max(free, 0) // 1024),
            ("MemAvailable", max(free, 0) // 1024),
        ]
        text = "".join(f"{key + ':':<16}{value:>12} kB\n" for key, value in [*kib, ("SwapTotal", 0), ("SwapFree", 0)])
        descriptor = os.open(f"{self.options.dir}/meminfo", os.O_WRONLY)
        os.pwrite(descriptor, text.encode(), 0)
        os.close(descriptor)
        return free


def record(options, guests):
    """Each second until the end; returns the moments, and when phases began and ended."""
    host, moments, phases, phase, shown = Host(options), [], [], "begin", 0
    while phase != "end":
        free = host.write_meminfo()
        actual = actuals(options)
        now = time.time()
        moment = {"time_s": now, "free_bytes": free, "resident": dict(host.resident), "actual": actual}
        moment["risen_mib"] = {guest.name: guest.samples[-1]["risen_mib"] if guest.samples else 0 for guest in guests}
        moments.append(moment)
        with open(f"{options.dir}/phase", encoding="ascii") as file:
            if (new := file.read().strip()) and new != phase:
                phases.append((new, now))
                phase = new
        if now - shown > 15:
            shown = now
            say(
                f"{phase}: free {free / MIB:.0f} MiB; "
                + ", ".join(
                    f"{name} {actual.get(name, 0) / MIB:.0f} ({moment['risen_mib'][name]} up)" for name in options.names
                )
            )
        time.sleep(max(0, 1 - (time.time() - now)))
    return moments, phases


def samples_of(guest, begin_s, end_s):
    return [sample for sample in guest.samples if begin_s <= sample["time_s"] <= end_s]


def blocks(guest, begin_s, end_s):
    """What a unit cost, in blocks; those with the load up and those with it down apart."""
    costs = {"up": [], "down": [], "some": {"up": 0, "down": 0}}
    samples = samples_of(guest, begin_s, end_s)
    first = None
    for sample in samples:
        if first is None or (first["risen_mib"] > 0) != (sample["risen_mib"] > 0):
            first = sample
        elif sample["time_s"] - first["time_s"] >= BLOCK_S:
            block = difference(first, sample)
            kind = "up" if sample["risen_mib"] > 0 else "down"
            costs[kind].append(cost_s(block))
            costs["some"][kind] = max(costs["some"][kind], block["some_us"] / 1e6 / block["time_s"])
            first = sample
    return costs


def compare(dry, acting):
    """Slowdown of each kind of block against the mean of the dry run, with its bound."""
    found = {}
    for kind in ("down", "up"):
        if not dry[kind] or not acting[kind]:
            found[kind] = None
            continue
        slowdowns = [cost / statistics.mean(dry[kind]) - 1 for cost in acting[kind]]
        found[kind] = {
            "slowdown": statistics.mean(slowdowns),
            "slowdown_high": upper_bound(slowdowns),
            "blocks": len(slowdowns),
        }
        found[kind] |= {"psi_some_most": acting["some"][kind], "psi_some_most_dry": dry["some"][kind]}
    return found


def step_costs(guest, begin_s, end_s):
    """What a unit cost so long after each rise of the load that is all within: one list for each of STEPS_S."""
    samples = samples_of(guest, begin_s, end_s)
    costs = [[] for _ in STEPS_S]
    for before, first in zip(samples, samples[1:]):
        at = first["time_s"]
        if before["risen_mib"] > 0 or first["risen_mib"] == 0 or at + STEPS_S[-1][1] > end_s:
            continue
        for found, (after, until) in zip(costs, STEPS_S):
            within = samples_of(guest, at + after, at + until)
            if len(within) > 1:
                found.append(cost_s(difference(within[0], within[-1])))
    return costs


def compare_steps(dry, acting):
    """The most that a unit cost so long after a rise, against the mean of the dry run so long after one."""
    return [
        {"rises": len(costs), "slowdown_most": max(costs) / statistics.mean(full) - 1} if costs and full else None
        for full, costs in zip(dry, acting)
    ]


def changes(options):
    """Of the journal: what was done, and why."""
    with sqlite3.connect(f"file:{options.journal}?mode=ro", uri=True) as db:
        db.row_factory = sqlite3.Row
        query = (
            "SELECT time_s, name, acted, level, action, hold, actual_bytes, target_bytes, resident_bytes, wss_high_bytes, "
            "floor_bytes, free_bytes, why, panic FROM decision WHERE action != 'none' ORDER BY id"
        )
        return [dict(row) for row in db.execute(query)]


def between(moments, phases, name):
    """From when a phase began until the next one did: one may have been too short to be seen."""
    at = next(i for i, (phase, _) in enumerate(phases) if phase == name)
    begin = phases[at][1]
    end = phases[at + 1][1] if at + 1 < len(phases) else moments[-1]["time_s"]
    return begin, end, [moment for moment in moments if begin <= moment["time_s"] <= end]


def mean_gib(moments, key):
    return statistics.mean(sum(moment[key].values()) for moment in moments) / (1 << 30)


def run(options):
    guests = [Guest(options, name) for name in options.names]
    moments, phases = record(options, guests)
    dry_begin, dry_end, dry = between(moments, phases, "dry")
    begin, end, acting = between(moments, phases, "acting")
    row = {"kind": "hour", "hour_s": options.hour, "host_bytes": options.host * MIB, "own_bytes": options.own * MIB}
    row |= {
        "statistics": options.statistics,
        "assigned_bytes": options.assigned * MIB,
        "names": options.names,
        "phases": phases,
        "moments": moments,
    }
    row["changes"] = changes(options)
    row["dry_gib"], row["acting_gib"] = mean_gib(dry, "resident"), mean_gib(acting, "resident")
    row["last_gib"] = mean_gib(acting[len(acting) // 2 :], "resident")
    row["free_least_bytes"] = min(moment["free_bytes"] for moment in acting[len(acting) // 4 :])
    row["guests"] = {}
    for guest in guests:
        sizes = [moment["actual"][guest.name] for moment in acting if guest.name in moment["actual"]]
        row["guests"][guest.name] = compare(blocks(guest, dry_begin, dry_end), blocks(guest, begin, end)) | {
            "least_bytes": min(sizes),
            "mean_bytes": statistics.mean(sizes),
            "oom": guest.dead,
            "steps": compare_steps(step_costs(guest, dry_begin, dry_end), step_costs(guest, begin, end)),
        }
    with open(options.record, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    show(row)
    return 0


def percent(found):
    if found is None:
        return "| | "
    high = found["slowdown_high"]
    return f"| {100 * found['slowdown']:+.1f} % | " + ("" if high is None else f"{100 * high:+.1f} %")


def show_steps(row):
    heads = " | ".join(f"{after} to {until} s" for after, until in STEPS_S)
    print(f"\nafter a load began to rise, at most:\n\n| guest | rises | {heads} |\n|---|---|{'---|' * len(STEPS_S)}")
    for name, guest in row["guests"].items():
        steps = guest.get("steps") or [None] * len(STEPS_S)
        cells = ["" if step is None else f"{100 * step['slowdown_most']:+.1f} %" for step in steps]
        rises = max((step["rises"] for step in steps if step), default=0)
        print(f"| {name} | {rises} | {' | '.join(cells)} |")


def show(row):
    print(f"\n{row['hour_s']} s, statistics: {row.get('statistics', 'agent')}\n")
    print(
        "| guest | load down: slowdown | upper 95 % | load up: slowdown | upper 95 % | least size, MiB | mean | OOM killer |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, guest in row["guests"].items():
        print(
            f"| {name} {percent(guest['down'])} {percent(guest['up'])} | {guest['least_bytes'] / MIB:.0f} | "
            f"{guest['mean_bytes'] / MIB:.0f} | {'ran' if guest['oom'] else ''} |"
        )
    show_steps(row)
    print(
        f"\nresident in all: {row['dry_gib']:.2f} GiB in the dry run, {row['acting_gib']:.2f} while it acts, "
        f"{row['last_gib']:.2f} in the second half; free at least {row['free_least_bytes'] / MIB:.0f} MiB after the first quarter\n"
    )
    dry = [change for change in row["changes"] if not change["acted"]]
    print(f"the dry run noted {len(dry)} changes that it would have made")
    for change in row["changes"]:
        if change["acted"]:
            at = change["time_s"] - next(time_s for phase, time_s in row["phases"] if phase == "acting")
            print(
                f"{at:5.0f} s  {change['name']:6} {change['action']:8} {change['actual_bytes'] / MIB:.0f} to "
                f"{change['target_bytes'] / MIB:.0f} MiB: {change['why']}"
            )
