#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Do the sources compile for arm64? Each is read by Debian's cross compiler with the flags it is built with here.

glibc's and Linux's headers are those of arm64 (libc6-dev-arm64-cross). Those of the libraries are this machine's, looked at
last: they say the same on both, so no foreign architecture needs to be added to the machine. Nothing is linked or run.
With --compile each is compiled to the end, without an output: warnings of the optimiser, in four times the time.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

COMPILER = "aarch64-linux-gnu-gcc"
# The multiarch folder has curl's.
LIBRARIES = ["-idirafter", "/usr/include", "-idirafter", f"/usr/include/{os.uname().machine}-linux-gnu"]
X86_ONLY = {"-fcf-protection"}


def entries_of(build):
    """What is compiled, once for each set of flags, but for sources that the build generates and those of x86-64 alone."""
    seen = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        at = words.index("-o")
        flags = [word for word in words[1:at] + words[at + 2 :] if word not in X86_ONLY]
        if "-DX86_64_ONLY" not in words and not Path(entry["file"]).is_relative_to(build.resolve()):
            seen[tuple(flags)] = entry
    return [(list(flags), entry["directory"]) for flags, entry in seen.items()]


def check(flags, directory, compile_all):
    how = ["-o", "/dev/null"] if compile_all else ["-fsyntax-only"]
    said = subprocess.run(
        [COMPILER, *flags, *how, *LIBRARIES], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return said.stdout if said.returncode or said.stdout else ""


class Progress:
    """How many are done: in place on a terminal, else twice a minute."""

    def __init__(self, total):
        self.total, self.begin, self.next = total, time.monotonic(), 30

    def show(self, done):
        elapsed = time.monotonic() - self.begin
        text = f"  {done} of {self.total} sources, {elapsed:.0f} s"
        if sys.stdout.isatty():
            print(f"\r\033[K{text}", end="" if done < self.total else "\r\033[K", flush=True)
        elif elapsed >= self.next:
            self.next = elapsed + 30
            print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("under", nargs="*", type=os.path.realpath, help="only the sources below these folders")
    args = parser.parse_args()

    entries = [e for e in entries_of(args.build) if not args.under or e[0][-1].startswith(tuple(args.under))]
    if not entries:
        sys.exit("nothing to compile: is build/release configured?")
    failed, progress = 0, Progress(len(entries))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, said in enumerate(pool.map(lambda e: check(*e, args.compile), entries), 1):
            failed += said != ""
            sys.stdout.write(said)
            progress.show(done)
    print(f"{len(entries)} sources, {failed} that arm64's compiler refuses")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
