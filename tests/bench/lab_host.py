# SPDX-License-Identifier: LGPL-2.1-or-later
"""What benches set on the host they run on: control groups and MGLRU, in the lab only."""

import os

MGLRU = "/sys/kernel/mm/lru_gen/enabled"


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def enter_group(group):
    """In the lab a guest has a control group of its own, as libvirt starts it."""
    if "VMWSS_LAB_KERNEL" not in os.environ:
        return
    write("/sys/fs/cgroup/cgroup.subtree_control", "+memory")
    os.makedirs(group, exist_ok=True)
    write(f"{group}/cgroup.procs", str(os.getpid()))


class MglruOn:
    """While mglru measures a guest of the lab MGLRU is on; the lab's page_idle kernel boots without."""

    def __init__(self, method):
        self.was = None
        if method == "mglru" and "VMWSS_LAB_KERNEL" in os.environ and os.path.exists(MGLRU):
            with open(MGLRU, encoding="ascii") as file:
                self.was = file.read().strip()

    def __enter__(self):
        if self.was:
            write(MGLRU, "y")

    def __exit__(self, *_):
        if self.was:
            write(MGLRU, self.was)
