#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""command_lines.py VMWSS DIRECTORY: starts QEMU with each command line of the table, and compares what vmwss takes for its RAM
with what QEMU says itself: the sizes (query-memory-size-summary), the mapping of the first address (gpa2hva), and, since
QEMU 8.0, the names of all blocks (info ramblock). Prints "ok WHAT" or "not ok WHAT: WHY" for each, or "skip WHAT: WHY" where
this QEMU refuses it. With $QEMU_ROOT, QEMU runs in that root, as of another Debian (debootstrap)."""

import json
import os
import re
import socket
import subprocess
import sys
import time

vmwss, directory = sys.argv[1:]
top = os.environ.get("QEMU_ROOT", "")
MIB = 1 << 20
REFUSED = None
NO_RAM = re.compile(r"vga|vram|rom|flash|bios|acpi|loader|cmb|pmr|bochs|tag|secure")


def backend(name, mib, kind="ram", more=""):
    return ["-object", f"memory-backend-{kind},id={name},size={mib}M{more}"]


def as_json(kind, name, mib):
    return ["-object", json.dumps({"qom-type": "memory-backend-" + kind, "id": name, "size": mib * MIB})]


def node(name, more=""):
    return ["-numa", f"node,memdev={name}{more}"]


def dimm(name, more=""):
    return ["-device", f"pc-dimm,memdev={name}{more}"]


def file(name, mib, more):
    return backend(name, mib, "file", f",mem-path={directory}/file,{more}")


ROOM = ["-m", "64,slots=4,maxmem=1G"]
BY = ["-M", "pc,memory-backend=r"]
DISK = ["-drive", f"if=none,id=d,format=raw,file={directory}/disk"]

# Each case: its name, RAM in MiB, and the options, of which DEFAULTS leaves -nodefaults away, and -readconfig names a key of FILES.
CASES = [
    ("-m", 64, ["-m", "64"]),
    ("the default graphics, as large", 16, ["DEFAULTS", "-m", "16"]),
    ("machine memory.size", 256, ["-M", "q35,memory.size=256M"]),
    ("and -m", 256, ["-M", "q35,memory.size=128M", "-m", "256"]),
    ("slots of the machine", 128, ["-M", "q35,memory.size=128M,memory.max-size=1G,memory.slots=2"]),
    ("dashes", 96, ["--m", "size=96M", "--machine", "type=q35"]),
    ("a fraction", 512, ["-m", "0.5G"]),
    ("bytes", 64, ["-m", "67108864B"]),
    ("a space", 64, ["-m", " 64"]),
    ("no digit before the point", 512, ["-m", ".5G"]),
    ("microvm", 128, ["-M", "microvm", "-m", "128"]),
    ("isapc", 16, ["DEFAULTS", "-M", "isapc", "-m", "16"]),
    ("two -machine", 64, ["-M", "q35", "-machine", "memory-backend=r", "-m", "64", *backend("r", 64)]),
    (
        "the last backend",
        64,
        [
            "-M",
            "q35,memory-backend=a",
            "-M",
            "memory-backend=b",
            "-m",
            "64",
            *backend("a", 64),
            *backend("b", 64, "memfd"),
        ],
    ),
    (
        "underscores",
        64,
        ["-M", "pc,memory_backend=r", "-m", "64", *backend("s", 64), *backend("r", 64, "memfd")],
    ),
    ("share=on", 64, [*BY, "-m", "64", *backend("r", 64, "ram", ",share=on")]),
    (
        "share=on, graphics as large",
        16,
        ["DEFAULTS", *BY, "-m", "16", *backend("r", 16, "ram", ",share=on"), "-device", "VGA"],
    ),
    ("aux-ram-share", 16, ["DEFAULTS", "-M", "pc,aux-ram-share=on", "-m", "16", "-device", "VGA"]),
    (
        "aux-ram-share, memfd",
        16,
        ["DEFAULTS", *BY, "-M", "aux-ram-share=on", "-m", "16", *backend("r", 16, "memfd"), "-device", "VGA"],
    ),
    ("JSON", 64, [*BY, "-m", "64", *as_json("memfd", "r", 64)]),
    ("the backend's path", 64, ["-M", "pc,memory-backend=/objects/r", "-m", "64", *backend("r", 64)]),
    ("in part", 64, ["-M", "pc,memory-backend=objects/r", "-m", "64", *backend("r", 64)]),
    (
        "a DIMM's, and a node's",
        192,
        [*ROOM, *backend("r", 64), *backend("d", 128), *node("/objects/r"), *dimm("/objects/d")],
    ),
    ("shm", 64, [*BY, "-m", "64", *backend("r", 64, "shm")]),
    ("a file, copied on write", 128, [*BY, "-m", "128", *file("r", 128, "share=off")]),
    ("a file of tmpfs", 64, ["-m", "64", "-mem-path", "/dev/shm"]),
    ("preallocated", 64, [*BY, "-m", "64", *backend("r", 64, "ram", ",prealloc=on,prealloc-threads=2")]),
    ("bound", 64, [*BY, "-m", "64", *backend("r", 64, "ram", ",host-nodes=0,policy=bind")]),
    (
        "nodes of three kinds",
        192,
        [
            "-m",
            "192",
            *backend("a", 64),
            *backend("b", 64, "memfd"),
            *backend("c", 64, "ram", ",share=on"),
            *node("c"),
            *node("a"),
            *node("b"),
        ],
    ),
    (
        "nodes in another order",
        128,
        ["-m", "128", *backend("a", 64), *backend("b", 64), *node("a", ",nodeid=1"), *node("b", ",nodeid=0")],
    ),
    (
        "nodes in one file",
        128,
        ["-m", "128", *file("a", 64, "share=on"), *file("b", 64, "share=on,offset=64M"), *node("b"), *node("a")],
    ),
    (
        "nodes, and a spare",
        128,
        ["-m", "128", *backend("a", 64), *backend("b", 64), *backend("z", 64), *node("a"), *node("b")],
    ),
    ("a DIMM", 192, [*ROOM, *backend("d", 128), *dimm("d")]),
    (
        "a DIMM by JSON",
        192,
        [*ROOM, *as_json("ram", "d", 128), "-device", json.dumps({"driver": "pc-dimm", "memdev": "d"})],
    ),
    (
        "two DIMMs as large as RAM",
        192,
        [*ROOM, *backend("d", 64, "memfd"), *backend("e", 64, "memfd"), *dimm("e"), *dimm("d")],
    ),
    ("an NVDIMM as large is none", 64, [*ROOM, "-M", "pc,nvdimm=on", *backend("n", 64), "-device", "nvdimm,memdev=n"]),
    (
        "virtio-pmem as large is none",
        128,
        [
            *BY,
            "-m",
            "128,maxmem=1G",
            *backend("r", 128, "memfd"),
            *file("p", 128, "share=on"),
            "-device",
            "virtio-pmem-pci,memdev=p",
        ],
    ),
    (
        "ivshmem as large",
        64,
        [*BY, "-m", "64", *backend("i", 64, "memfd"), *backend("r", 64, "memfd"), "-device", "ivshmem-plain,memdev=i"],
    ),
    ("NVMe's buffer as large", 64, ["-m", "64", *DISK, "-device", "nvme,drive=d,serial=1,cmb_size_mb=64"]),
    ("NVMe's memory as large", 64, ["-m", "64", *DISK, "-device", "nvme,drive=d,serial=1,pmrdev=p", *backend("p", 64)]),
    ("bochs-display as large", 64, ["-m", "64", "-device", "bochs-display,vgamem=64M"]),
    ("vmware as large", 16, ["DEFAULTS", "-m", "16", "-vga", "vmware"]),
    ("cirrus as large", 4, ["DEFAULTS", "-m", "4", "-vga", "cirrus"]),
    (
        "two graphics as large",
        16,
        ["DEFAULTS", *BY, "-m", "16", *backend("r", 16, "memfd"), "-device", "secondary-vga"],
    ),
    ("over 4 GiB", 4096, ["-m", "4G"]),
    ("max-ram-below-4g", 2048, ["-M", "pc,max-ram-below-4g=1G", "-m", "2G"]),
    (
        "virtio-mem",
        "partial",
        ["-m", "64,maxmem=2G", *backend("v", 256), "-device", "virtio-mem-pci,memdev=v,requested-size=128M"],
    ),
    (
        "virtio-mem in slots",
        "partial",
        [
            "-m",
            "64,maxmem=2G",
            *backend("v", 256),
            "-device",
            "virtio-mem-pci,memdev=v,requested-size=128M,dynamic-memslots=on",
        ],
    ),
    ("a file", 128, ["-m", "64", "-readconfig", "memory"]),
    ("a file, then -m", 64, ["-readconfig", "memory", "-m", "64"]),
    ("nodes and a DIMM in a file", 384, ["-readconfig", "nodes"]),
    ("Incus's kind of file", 256, ["-readconfig", "incus"]),
    ("vmspawn's kind of file", 256, ["DEFAULTS", "-readconfig", "vmspawn"]),
    # Options that do not tell the RAM: the guest is refused, and both mappings named.
    ("firmware as large", REFUSED, ["-m", "16", "-bios", f"{directory}/firmware"]),
    ("RAM as large as ACPI's tables", REFUSED, ["-m", "2"]),
    ("no guest", REFUSED, ["-M", "x-remote"]),
]


def section(kind, name="", **keys):
    head = f'[{kind} "{name}"]' if name else f"[{kind}]"
    return "\n".join([head] + [f'  {key.replace("_", "-")} = "{value}"' for key, value in keys.items()]) + "\n"


def nodes(*names):
    return "".join(section("numa", type="node", memdev=name) for name in names)


FILES = {
    "memory": section("memory", size="128"),
    "nodes": section("memory", size="128M", slots="2", maxmem="1G")
    + section("object", "a", qom_type="memory-backend-ram", size="64M", share="on")
    + section("object", "b", qom_type="memory-backend-ram", size="64M", share="on")
    + nodes("a", "b")
    + section("object", "d", qom_type="memory-backend-memfd", size="256M")
    + section("device", "x", driver="pc-dimm", memdev="d"),
    "incus": section("machine", graphics="off", type="q35")
    + section("memory", maxmem="4G", size="256M", slots="8")
    + section("object", "mem0", qom_type="memory-backend-memfd", share="on", size="256M")
    + nodes("mem0"),
    "vmspawn": section("machine", type="q35", memory_backend="mem", smm="off")
    + section("object", "mem", qom_type="memory-backend-memfd", size="256M", share="on")
    + section("memory", size="256M"),
}


def ask(*commands):
    """The answers of QEMU's monitor."""
    with socket.socket(socket.AF_UNIX) as stream:
        stream.connect(f"{top}{directory}/qmp")
        lines = stream.makefile("rw")
        lines.readline()
        answers = []
        for command in ({"execute": "qmp_capabilities"}, *commands):
            lines.write(json.dumps(command) + "\n")
            lines.flush()
            answer = json.loads(lines.readline())
            while "event" in answer:
                answer = json.loads(lines.readline())
            answers.append(answer.get("return"))
        return answers[1:]


def human(text):
    return {"execute": "human-monitor-command", "arguments": {"command-line": text}}


def block_names(ramblock):
    names = {}
    for line in ramblock.splitlines()[1:]:
        found = re.match(r"\s*(\S.*?)\s+\d+ [KMG]iB.*\s0x([0-9a-f]{9,})(\s|$)", line)
        if found and int(found[2], 16) >> 44:
            names[int(found[2], 16)] = found[1]
    return names


def judge(process, want):
    """Why it is wrong; empty: it is right."""
    command = [vmwss, "--debug", "measure", "--pid", str(process.pid), "-w", "0.1", "-m", "cold", "--json"]
    taken = subprocess.run(command, capture_output=True, text=True, check=False)
    blocks = [
        (int(size), int(at, 16)) for size, at in re.findall(r"RAM block .* (\d+) bytes at ([0-9a-f]+)", taken.stderr)
    ]
    said = taken.stderr.strip().splitlines()[-2:]
    if want is REFUSED:
        return (
            ""
            if not blocks and ("both " in taken.stderr or "there is no guest" in taken.stderr)
            else f"not refused: {said}"
        )
    if want == "partial":
        return "" if '"partial"' in taken.stdout else f"not partial: {said}"
    # A guest of which nothing is resident, or in a file of a disk, is located and not measured.
    bytes_found = sum(size for size, _ in blocks)
    summary, first, ramblock = ask({"execute": "query-memory-size-summary"}, human("gpa2hva 0"), human("info ramblock"))
    names = block_names(ramblock)
    own = re.search(r"is 0x([0-9a-f]+)", first)
    if bytes_found != want * MIB or summary["base-memory"] > bytes_found:
        return f"{bytes_found / MIB} MiB, QEMU says {summary}: {said}"
    if not own or int(own[1], 16) != blocks[0][1]:
        return f"its first address is at {first}, not {blocks[0][1]:x}"
    wrong = [names.get(at, f"{at:x}") for _, at in blocks if names and NO_RAM.search(names.get(at, "rom"))]
    return f"taken for RAM: {wrong}" if wrong else ""


def run(want, options):
    path = f"{top}{directory}/qmp"
    if os.path.exists(path):
        os.unlink(path)
    options = [
        f"{directory}/{option}.conf" if before == "-readconfig" else option
        for before, option in zip([""] + options, options)
    ]
    plain = ["-nodefaults"] if "DEFAULTS" not in options else []
    command = [
        "qemu-system-x86_64",
        "-accel",
        "tcg",
        "-display",
        "none",
        "-qmp",
        f"unix:{directory}/qmp,server=on,wait=off",
        *plain,
        *[option for option in options if option != "DEFAULTS"],
    ]
    with subprocess.Popen(
        (["chroot", top] if top else []) + command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            while process.poll() is None:
                try:
                    ask({"execute": "query-status"})
                    break
                except OSError:
                    time.sleep(0.05)
            if process.poll() is not None:
                return "skip", process.stderr.read().strip().splitlines()[-1]
            why = judge(process, want)
            return ("not ok" if why else "ok"), why
        finally:
            process.kill()


def main():
    os.makedirs(top + directory, exist_ok=True)
    for name, bytes_wanted in ("file", 128 * MIB), ("disk", MIB), ("firmware", 16 * MIB):
        with open(f"{top}{directory}/{name}", "wb") as out:
            out.truncate(bytes_wanted)
    for name, text in FILES.items():
        with open(f"{top}{directory}/{name}.conf", "w", encoding="utf-8") as out:
            out.write(text)
    for what, want, options in CASES:
        result, why = run(want, options)
        print(result, what + (": " + why if why else ""), flush=True)


main()
