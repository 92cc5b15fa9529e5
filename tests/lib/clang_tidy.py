#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""clang-tidy over the sources named, one per CPU at a time; what was clean once is not looked at again.

Clean is remembered by content, in ${VMWSS_CACHE:-~/.cache/vmwss}/lint: of the source, of every header that it includes
now (the system's too), of the compile commands, of .clang-tidy, of the version of clang-tidy, of its options. A change of
any is a new key. With --forget nothing is remembered from before.
"""

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CACHE = Path(os.environ.get("VMWSS_CACHE") or Path.home() / ".cache/vmwss") / "lint"
FORGET_AFTER_DAYS = 30
# The states that clang's analyzer tries for a function: 225,000 is its own default, and takes ten times as long.
NODES, NODES_DEEP = 20000, 225000


def tidy(build, nodes):
    """The command, but for a source."""
    config = ["-Wno-unknown-warning-option", "-Xclang", "-analyzer-config", "-Xclang", f"max-nodes={nodes}"]
    return ["clang-tidy", "--quiet", "-p", str(build), *(f"--extra-arg={word}" for word in config)]


def commands_of(build):
    """Compile commands by path; some sources are compiled twice."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        commands.setdefault(os.path.realpath(entry["file"]), []).append((entry["command"], entry["directory"]))
    return commands


def headers(command, directory):
    """What the compiler reads for a source, itself included."""
    words = shlex.split(command)
    at = words.index("-o")
    listing = subprocess.run(
        words[:at] + words[at + 2 :] + ["-M", "-MT", "x"], cwd=directory, check=True, capture_output=True, text=True
    )
    return [os.path.join(directory, path) for path in shlex.split(listing.stdout.replace("\\\n", " "))[1:]]


class Contents:
    """Digests of files, each read once."""

    def __init__(self):
        self.known = {}

    def of(self, path):
        if path not in self.known:
            self.known[path] = hashlib.sha256(Path(path).read_bytes()).digest()
        return self.known[path]


def key_of(source, commands, version, contents):
    key = hashlib.sha256(version + contents.of(".clang-tidy"))
    for command, directory in commands:
        # The same in another checkout.
        key.update(command.replace(os.getcwd(), "").encode())
        for path in headers(command, directory):
            key.update(path.replace(os.getcwd(), "").encode() + contents.of(path))
    return CACHE / f"{os.path.basename(source)}-{key.hexdigest()[:32]}"


def look(source, command, commands, version, contents):
    """What clang-tidy has to say, and whether it was asked."""
    if source not in commands:
        return f"{source}: nothing compiles it\n", True
    stamp = key_of(source, commands[source], version, contents)
    if stamp.exists():
        stamp.touch()
        return "", False
    said = subprocess.run([*command, source], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if said.returncode == 0 and not said.stdout:
        stamp.touch()
        return "", True
    return said.stdout or f"{source}: clang-tidy ended with {said.returncode}\n", True


def forget(seconds):
    for stamp in CACHE.iterdir():
        if stamp.stat().st_mtime <= time.time() - seconds:
            stamp.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--forget", action="store_true")
    parser.add_argument("--deep", action="store_true", help="as many states as clang's analyzer would try by itself")
    parser.add_argument("sources", nargs="+", type=os.path.realpath)
    args = parser.parse_args()

    CACHE.mkdir(parents=True, exist_ok=True)
    forget(0 if args.forget else FORGET_AFTER_DAYS * 86400)
    command = tidy(args.build, NODES_DEEP if args.deep else NODES)
    version = subprocess.run(["clang-tidy", "--version"], check=True, capture_output=True).stdout
    version += shlex.join(command).encode()
    commands, contents = commands_of(args.build), Contents()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda s: look(s, command, commands, version, contents), args.sources))
    sys.stdout.writelines(text for text, _ in found)
    print(f"{len(found)} sources, {sum(asked for _, asked in found)} of them not seen clean before")
    return any(text for text, _ in found)


if __name__ == "__main__":
    sys.exit(main())
