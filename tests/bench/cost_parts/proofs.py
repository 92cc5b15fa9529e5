# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a proof of RAM (host/measure/ram_proof.h) costs the guest: faults, exits, and instructions that its passes did not take."""

import glob
import random
import re
import subprocess
import time

from .guests import Guest
from .report import groups, mean_and_error, number, table

# name: the guest's hot set and pages. Most pages that are dropped are hot, few are, or KVM maps huge pages.
GUESTS = {
    "an eighth is hot": {},
    "5 MiB are hot": {"hot_mib": 5},
    "huge pages": {"huge_pages": True},
}
KVM = "/sys/kernel/debug/kvm"


def counters(pid):
    """KVM's own counts of this guest: page faults that it resolved, and exits."""
    counts = {}
    for name in ("pf_fixed", "exits"):
        for path in glob.glob(f"{KVM}/{pid}-*/{name}"):
            with open(path, encoding="ascii") as file:
                counts[name] = counts.get(name, 0) + int(file.read())
    return counts


def state(guest):
    return {"vcpu_s": guest.vcpu_s(), "passes": guest.passes()} | counters(guest.pid)


def block(guest, command):
    """What the guest did while the command ran, and what the command said."""
    before = state(guest)
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    after = state(guest)
    return {key: after[key] - before[key] for key in before}, run


def prove(context, guest):
    """One proof: the guest's RAM is in a file of options that is gone."""
    command = [context["vmwss"], "--debug", "list", "--processes", "--json"]
    did, run = block(guest, command)
    said = re.search(r"proof: (\d+) pages dropped, (\d+) faults, (\d+) hypotheses, (\d+) rounds", run.stderr)
    proved = f'"ram_bytes":{guest.ram_mib << 20}' in run.stdout.replace(" ", "")
    return (did | {"dropped": int(said[1]), "rounds": int(said[4])}) if said and proved else None


def rest(guest, seconds):
    did, _ = block(guest, ["sleep", f"{seconds:.2f}"])
    return did


def lost(proof, calm):
    """Of the guest's vCPU time, what its passes would not have taken; faults and exits beyond those of a calm block."""
    per_pass = calm["vcpu_s"] / calm["passes"]
    row = {"lost_s": proof["vcpu_s"] - proof["passes"] * per_pass}
    for name in ("pf_fixed", "exits"):
        if name in calm:
            row[name] = proof[name] - calm[name] * proof["vcpu_s"] / calm["vcpu_s"]
    return row


def rows_of(context, name, guest):
    """Pairs of a proof and of nothing, in random order, each as long as the other in the mean."""
    chance = random.Random(1)
    seconds = 1
    for _ in range(context["blocks"]):
        pair = {}
        for proves in chance.sample([True, False], 2):
            time.sleep(0.5)
            began = time.monotonic()
            pair[proves] = prove(context, guest) if proves else rest(guest, seconds)
            seconds = max(time.monotonic() - began, 0.2) if proves else seconds
        if pair[True] and pair[False]["passes"] > 0:
            yield {"guest": name, "proved": True, **{key: pair[True][key] for key in ("dropped", "rounds")}} | lost(
                pair[True], pair[False]
            )
        else:
            yield {"guest": name, "proved": False}


def proofs(context):
    """What a guest loses to one proof of its RAM, which vmwssd makes once, when it opens a guest that no option describes."""
    for name, options in GUESTS.items():
        guest = Guest(context["build"], "kvm", context["mib"], options_in_file=True, **options)
        try:
            yield from rows_of(context, name, guest)
        finally:
            guest.stop()


HEAD = ["GUEST", "proved", "pages dropped", "rounds", "faults", "exits", "lost", "±"]


def text(rows):
    """In a lab that counts, what is lost is in millions of instructions; otherwise in milliseconds."""
    ns = rows[0].get("instruction_ns")
    unit = 1e9 / ns / 1e6 if ns else 1e3
    lines = []
    for (name,), group in groups(rows, "guest").items():
        proved = [row for row in group if row["proved"]]
        mean = {
            key: mean_and_error([row[key] for row in proved if key in row]) for key in ("lost_s", "pf_fixed", "exits")
        }
        drops = {key: mean_and_error([row[key] for row in proved])[0] for key in ("dropped", "rounds")}
        loss, error = (None if value is None else value * unit for value in mean["lost_s"])
        lines.append(
            [name, f"{len(proved)} of {len(group)}", number(drops["dropped"], 0), number(drops["rounds"], 0)]
            + [number(mean["pf_fixed"][0], 0), number(mean["exits"][0], 0), number(loss, 2), number(error, 2)]
        )
    yield from table(HEAD, lines)
    yield "lost: " + ("millions of instructions" if ns else "milliseconds of vCPU time") + ", in the mean of the proofs"
