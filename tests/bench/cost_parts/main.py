# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the parts, each in a lab of its own or on this machine, and shows what they found."""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from cost_parts import counted, parts, proofs, report  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build/release"))

ABOUT = """\
parts:
  compare       one of several equal KVM guests, by every tool: CPU (user and system), wall, peak memory
  tcg           a TCG guest on this machine: cold and referenced, beside tools for processes
  growth        panel and census from 0.25 GiB of guest RAM up
  crowd         one guest of many
  slowdown      how much slower a KVM guest gets: paired blocks with and without, on its own count of passes
  slowdown-writes  the same by measure --writes, of a guest that writes its hot set; and what that is every 30 minutes
  slowdown-tcg  the same under TCG, on this machine
  proof         what a KVM guest loses to one proof of its RAM: pages, faults, exits, instructions; pairs with and without

Other tools are not part of this project: --tool NAME=COMMAND, where COMMAND gets the pid and the window in seconds appended
and prints the working set in MiB as the last number of its last line. DAMON with its defaults is always there.

The lab is emulated: its seconds say nothing by themselves, and time that a busy machine steals counts as CPU time. Ratios
within one part are fair, the more so the more rounds there are.

--counted runs the parts in a lab whose clock counts executed instructions (lab --icount), each in two labs, and prints every
figure of both with the difference. These figures are exact counts, the kernel's work for the tool included, and repeat whatever
else this machine does. They do not show what caches and TLBs cost: every instruction takes the same time. An
exit of a guest costs the instructions that handle it, and on real hardware the switch as well. The guest shares the one CPU
with the tool, so its slowdown is told per second of its own CPU time, as on a host with a CPU to spare.
"""


def numbers(text):
    return [float(word) if "." in word else int(word) for word in text.split(",")]


def names_of(counted_only):
    """Parts; on this machine itself nothing is counted."""
    return [name for name, (_, here) in parts.PARTS.items() if not (counted_only and here)]


def parse_options():
    parser = argparse.ArgumentParser(
        prog="tests/bench/cost",
        description="What a measurement costs, beside other tools, and what the guest notices of it.",
        epilog=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--part", metavar="NAME,...", help="only these (all, or all that run in the lab)")
    parser.add_argument("--counted", action="store_true", help="instructions instead of time, see below")
    parser.add_argument("--runs", type=int, metavar="N", help="labs in which each part runs (1; counted: 2)")
    parser.add_argument("--tool", action="append", default=[], metavar="NAME=COMMAND", help="another tool, beside ours")
    parser.add_argument(
        "--tcg-tool", action="append", default=[], metavar="NAME=COMMAND", help="the same, for part tcg"
    )
    parser.add_argument(
        "--with",
        action="append",
        default=[],
        dest="shown",
        metavar="DIR",
        help="show DIR in the lab, if it is below /tmp",
    )
    parser.add_argument("--under", default="", metavar="COMMAND", help="run each part under COMMAND, for example nice")
    parser.add_argument("--json", metavar="FILE", help="append every row as a JSON line")
    parser.add_argument("--guests", type=int, default=5, metavar="N", help="equal guests of part compare (5)")
    parser.add_argument("--mib", type=int, default=512, metavar="N", help="RAM of the measured guest (512)")
    parser.add_argument("--window", type=float, default=5, metavar="S", help="(5)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often each tool measures (3)")
    parser.add_argument("--periods", type=int, default=3, metavar="N", help="periods of a steady state (3)")
    parser.add_argument(
        "--sizes", type=numbers, default=[256, 512, 1024, 2048], metavar="MIB,...", help="of part growth"
    )
    parser.add_argument(
        "--census-to", type=int, default=2048, metavar="MIB", help="larger guests of part growth by panel only (2048)"
    )
    parser.add_argument("--counts", type=numbers, default=[1, 5, 20, 50], metavar="N,...", help="of part crowd")
    parser.add_argument(
        "--slow-periods", type=numbers, default=[2, 30], metavar="S,...", help="of the slowdown (2, 30)"
    )
    parser.add_argument("--blocks", type=int, default=10, metavar="N", help="pairs of blocks (10)")
    parser.add_argument("--block-periods", type=int, default=2, metavar="N", help="periods in a block (2)")
    parser.add_argument("--lab-memory", default="8192", metavar="MIB", help="(8192)")
    parser.add_argument("--lab-timeout", default="1800", metavar="S", help="(1800)")
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.runs = options.runs or (2 if options.counted else 1)
    options.part = options.part.split(",") if options.part else names_of(options.counted)
    for name in options.part:
        if name not in names_of(options.counted):
            parser.error(f"no part {name!r}; there are {', '.join(names_of(options.counted))}")
    return options


def command_of(part, options, directory):
    """Runs this program once more, on this machine or in the lab."""
    me = [os.path.join(ROOT, "tests/bench/cost"), "--inside", part]
    plan = os.path.join(directory, "plan")
    with open(plan, "w", encoding="utf-8") as file:
        json.dump(vars(options), file)
    if parts.PARTS[part][1]:
        return shlex.split(options.under) + me + [directory]
    lab = [os.path.join(ROOT, "vm-images/lab/lab"), "--kernel", parts.KERNELS.get(part, "page_idle")]
    lab += ["--memory", options.lab_memory]
    lab += ["--timeout", options.lab_timeout, "--out", directory]
    lab += ["--icount"] if options.counted else []
    for shown in options.shown:
        lab += ["--with", shown]
    return shlex.split(options.under) + lab + me + ["/mnt/out"]


def run_part(part, options):
    """The rows, and whether the part came to its end."""
    with tempfile.TemporaryDirectory(prefix="vmwss-cost.", dir="/tmp") as directory:
        status = subprocess.run(command_of(part, options, directory), cwd=ROOT, check=False).returncode
        path = os.path.join(directory, "rows")
        lines = open(path, encoding="utf-8").read().splitlines() if os.path.exists(path) else []
    return [json.loads(line) for line in lines], status == 0


def inside(part, directory):
    with open(os.path.join(directory, "plan"), encoding="utf-8") as file:
        context = json.load(file)
    tools = context["tcg_tool" if part == "tcg" else "tool"]
    context |= {"build": BUILD, "root": ROOT, "vmwss": os.path.join(BUILD, "host/vmwss")}
    context["tools"] = dict(tool.split("=", 1) for tool in tools)
    with open(os.path.join(directory, "rows"), "a", encoding="utf-8", buffering=1) as out:
        for row in parts.PARTS[part][0](context):
            out.write(json.dumps({"part": part} | counted.unit() | row) + "\n")
    return 0


def main():
    options = parse_options()
    if options.inside:
        return inside(*options.inside)
    failed = 0
    show = counted.text if options.counted else report.text
    for part in options.part:
        rows = []
        for run in range(options.runs):
            of_run, complete = run_part(part, options)
            rows += [{"run": run} | row for row in of_run]
            failed |= not complete
        if options.json:
            with open(options.json, "a", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
        print(f"\n{part}: {parts.PARTS[part][0].__doc__ or ''}" if rows else f"\n{part}: nothing")
        lines = proofs.text(rows) if part == "proof" else show(part, rows)
        print("\n".join(lines) if rows else "", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
