# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which guests are moved, and how: bandwidths that let them converge, and such that do not."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
MIB = 1 << 20

# (bandwidth in MiB/s, allowed downtime in ms): each is one migration of the guest, which goes on where it has arrived.
WAYS = [(10, 300), (20, 300), (40, 300), (12, 1000), (30, 500)]
SLOW = [(6, 300), (10, 300), (8, 1000), (10, 100), (6, 100)]

# QEMU sends its ROMs after RAM, and where in a slice of 100 ms RAM ends decides how many of their pages are left for the standstill.
# Of SeaBIOS' 128 KiB that is 0.1 ms at 1 GB/s, but up to 16 ms through the 8 MiB/s of this bench and 128 ms through 1, more than the
# state of the devices takes. A real connection is not a thousand times slower for a firmware of the same size, so payloads have one
# of five pages.
FIRMWARE = "/usr/share/qemu/qboot.rom"


def payload(words, ways=None, memory=160):
    return {"kind": "payload", "words": words, "memory": memory, "ways": ways or WAYS}


def linux(work, ways=None, memory=256):
    return {"kind": "linux", "words": work, "memory": memory, "ways": ways or WAYS}


# Hot sets from none to more than any of these ways sends within its downtime: 10 MiB/s in 300 ms are 3 MiB, 12 in 1 s are 12.
GUESTS = {
    "idle": payload("total=64M idle=yes", [(20, 300), (40, 300)]),
    "half-absent": payload("total=48M hot=1M op=write rest=yes populate=hot", [(20, 300), (10, 300)], 128),
    "reads": payload("total=64M hot=48M op=read rest=yes", [(20, 300), (10, 300)]),
    "hot-1M": payload("total=64M hot=1M op=write rest=yes"),
    "hot-2M": payload("total=64M hot=2M op=write pattern=random rest=yes"),
    "hot-5M": payload("total=64M hot=5M op=write pattern=random rest=yes"),
    "hot-9M": payload("total=64M hot=9M op=write rest=yes"),
    "hot-16M": payload("total=64M hot=16M op=write pattern=strided rest=yes stride=8K"),
    "hot-40M": payload("total=64M hot=40M op=write rest=yes"),
    "phases-1": payload("total=64M phases=2:1M,2:4M op=write rest=yes"),
    "phases-2": payload("total=64M phases=1:2M,3:8M op=write rest=yes"),
    "linux-idle": linux("", SLOW[:3]),
    "linux-redis": linux("redis", SLOW),
    "linux-compile": linux("compile", SLOW),
}
# Small ones and slow ways, for a machine without KVM: there the write curve is the payload's own truth.
SMALL_WAYS = [(3, 300), (5, 300), (4, 800), (2, 1500), (8, 300)]
# QEMU 7.2 under TCG misses writes to pages that its TLB has, once it has asked for them: the second time it finds no page dirty. A
# guest whose hot set is more than what is sent within the downtime then arrives, with lost writes, and proves nothing. So hot sets
# are smaller than that here, or larger than the TLB.
FITTING_WAYS = [(3, 800), (5, 800), (4, 800), (2, 1500), (8, 300)]
SMALL = {
    "small-idle": ("total=24M idle=yes", SMALL_WAYS[:3]),
    "small-reads": ("total=24M hot=16M op=read rest=yes", SMALL_WAYS[:3]),
    "small-256K": ("total=24M hot=256K op=write rest=yes", SMALL_WAYS),
    "small-700K": ("total=24M hot=700K op=write rest=yes pattern=random", SMALL_WAYS),
    "small-2M": ("total=24M hot=2M op=write rest=yes pattern=random", FITTING_WAYS),
    "small-1200K": ("total=24M hot=1200K op=write rest=yes", FITTING_WAYS),
    "small-6M": ("total=24M hot=6M op=write rest=yes pattern=strided stride=8K", SMALL_WAYS[:4]),
    "small-16M": ("total=24M hot=16M op=write rest=yes", SMALL_WAYS[:3]),
}
# Smaller and slower still, for the lab, where KVM is real and the processors are emulated: through 1 MiB/s what is sent takes some
# times as long as what the emulation waits for.
LAB_WAYS = [(0.5, 600), (0.75, 600), (0.5, 1600), (1, 1000), (0.375, 2000)]
SMALL |= {
    "lab-idle": ("total=8M idle=yes", LAB_WAYS[:3]),
    "lab-reads": ("total=8M hot=4M op=read rest=yes", LAB_WAYS[:3]),
    "lab-128K": ("total=8M hot=128K op=write rest=yes", LAB_WAYS),
    "lab-300K": ("total=8M hot=300K op=write rest=yes pattern=random", LAB_WAYS),
    "lab-500K": ("total=8M hot=500K op=write rest=yes", LAB_WAYS),
    "lab-900K": ("total=8M hot=900K op=write rest=yes pattern=random", LAB_WAYS),
    "lab-phases": ("total=8M phases=1:128K,2:400K op=write rest=yes", LAB_WAYS),
    "lab-3M": ("total=8M hot=3M op=write rest=yes", LAB_WAYS[:3]),
}
GUESTS |= {name: payload(words, ways, 64) for name, (words, ways) in SMALL.items()}


def images(kernel):
    """The Linux guest's kernel and initrd, with the programs of tests/bench/matrix."""
    from matrix_parts import linux_guest  # pylint: disable=import-outside-toplevel

    return linux_guest.make_image(kernel)


def qemu_options(guest, bench):
    options = ["-machine", "pc", "-m", str(guest["memory"])]
    if guest["kind"] == "payload":
        elf = os.path.join(bench.build, "vm-images/payload/vmwss-payload.elf")
        return options + ["-bios", FIRMWARE, "-kernel", elf, "-append", guest["words"]]
    line = "console=ttyS0 quiet no_timer_check lapic=notscdeadline highres=off nohz=off toucher.total=2M toucher.hot=1M"
    if guest["words"]:
        line += f" guest.run={guest['words']}"
    return options + ["-kernel", f"{bench.image}/vmlinuz", "-initrd", f"{bench.image}/initrd.gz", "-append", line]


def ready_pattern(guest):
    if guest["kind"] == "payload":
        return r"vmwss-payload ready .*\n"
    return rf"vmwss-{guest['words'] or 'toucher'} ready"
