#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does the code of host and guest assume pages of 4 KiB, or huge pages of 2 MiB? They are base/page_sizes.h's to say.

Looks below host/ and guest-agent/ for the numbers by which such an assumption was written so far: 4096, a shift by 12 or 21,
2 MiB as a product or a shift, order 9, 512 base pages of a huge one, and another way to ask for the page size. Comments are
left out. What has the same number for another reason stands in HOST or GUEST_AGENT with that reason; one that is not there any
more fails, too.
"""

import re
import sys
from pathlib import Path

NUMBERS = re.compile(
    r"""\b4096(U?L*)\b | \b0x1000\b | \b2097152\b
    | (<<|>>)\s*(12|21)\b
    | \b2U?L*\s*<<\s*20\b | \b2U?L*\s*\*\s*MIB\b
    | ORDER\s+\(?9\b | order\w*\s*(=|==|!=|>=|<=|>|<)\s*9\b | [?:]\s*9\s*[:;,]
    | [*/%]\s*512\b | PAGES?\s+\(?512\b | PER_HUGE\s+\(?512\b
    | \bPAGE_(SIZE|SHIFT|MASK)\b | _SC_PAGE_?SIZE\b | \bgetpagesize\b""",
    re.X,
)
# The n-th bit of a set of flags.
FLAG = re.compile(r"\b1U? << \d+,")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.S)

BATCH = "how many are handled at a time"
LIMIT = "the most there may be"
TEXT = "room for a path or a text"
HOST = [
    ("guest/agent/agent_channel.h", "AGENT_UNREAD_LINES", LIMIT),
    ("guest/arch/x86_64.c", "LEGACY_BYTES (2ULL << 20)", "the begin of a PC's memory"),
    ("base/command.c", "char text[4096]", TEXT),
    ("base/page_sizes.h", "BASE_4K = 4096", "one of those that there are"),
    ("base/page_sizes.c", "sysconf(_SC_PAGESIZE)", "the one place that asks"),
    ("measure/cache/resctrl.c", "char text[4096]", TEXT),
    ("measure/cache/resctrl_read.c", "char text[4096]", TEXT),
    ("programs/vmwss/daemon_process.c", "char text[4096]", TEXT),
    ("programs/vmwss/map_over.h", "MAP_OVER_MAX_PERIODS 4096", LIMIT),
    ("measure/estimate/guest_stats.c", "bytes >= 4096", "pages of a guest, whose kernel is another one"),
    ("measure/estimate/guest_stats.c", "report->page_bytes = 4096", "pages of a guest that says nothing of them"),
    ("show/metrics/prometheus.c", "char name[4096]", TEXT),
    ("guest/ram/own_memory.c", "BATCH 4096", BATCH),
    ("guest/domain/qemu_io.c", "BYTES_A_WAIT (2ULL << 20)", "requests of a disk, which are no pages"),
    ("guest/ram/unclaimed.c", "ACPI_TABLES_BYTES (2 * MIB)", "of QEMU, whatever the page"),
    ("guest/ram/candidates.h", "ANON_UNIT_BYTES (2ULL << 20)", "QEMU_VMALLOC_ALIGN: 512 * 4096 whatever the page"),
    ("guest/ram/ram_backing.c", "st.st_blocks * 512", "stat(2) counts blocks of 512 bytes"),
    ("history/limit.c", "st.st_blocks * 512", "the same"),
    ("history/quarantine.c", "char from[4096]", TEXT),
    ("history/quarantine.c", "char to[4096]", TEXT),
    ("history/store.c", "char name[4096]", TEXT),
    ("history/store.c", "char wal[4096]", TEXT),
    ("history/wal.c", "store->page_bytes = 4096", "pages of SQLite's file"),
    (
        "decide/migrate/forecast.h",
        "MIGRATE_PAGE_BYTES 4096.0",
        "a page of QEMU's stream, TARGET_PAGE_SIZE of x86-64 and arm64",
    ),
    ("decide/plan/prom_client.c", "SECRET_MAX 4096", LIMIT),
    ("measure/record/guest_tracker.c", "BALLOON_PAGE 4096", "VIRTIO_BALLOON_PFN_SHIFT: 4 KiB on every architecture"),
    ("measure/kernel/memcg_reclaim.c", "MAX_GROUPS 4096", LIMIT),
    ("measure/kernel/cgroup_tree.c", "MAX_PATH 4096", TEXT),
    ("measure/method/zap.c", "RANGE_PAGES 512", BATCH),
    ("measure/kernel/kvm_stats.h", "kvm_size_bytes", "the counters are x86-64's, which has these sizes only"),
    ("measure/kernel/memcg.c", "MAX_PROCESSES 4096", LIMIT),
    ("measure/kernel/memcg.c", "char below[4096]", TEXT),
    ("measure/kernel/memcg.h", "char path[4096]", TEXT),
    ("measure/kernel/pagemap.c", "GATHER_MAX 4096", BATCH),
    ("measure/kernel/u64_file.c", "RUN_ENTRIES 4096", BATCH),
    ("measure/method/damon.c", "LARGE_TRIAL_PAGES 4096", "a number of draws"),
    ("measure/method/first_mapping.c", "PAGES_AT_ONCE 4096", BATCH),
    ("measure/method/sentinels.c", "PAGES_AT_ONCE 4096", BATCH),
    ("measure/page_probe.c", "BATCH_PAGES 4096", BATCH),
    ("measure/method/tlb_flush.c", "DROPS_MAX 4096", LIMIT),
    ("measure/tally.h", "FINE_MAX_HUGE_PAGES 512", "how many huge pages are drawn at most"),
    ("base/service/state_dir.c", "char dir[4096]", TEXT),
    ("history/trace/trace.h", "TRACE_MAX_REGIONS 4096", LIMIT),
    ("history/trace/trace.h", "TRACE_PAGE_BYTES 4096", "the unit of a file, whatever host reads it"),
    ("history/trace/trace_decode.c", "trace_take_number(in, 4096)", "the most NUMA nodes there may be"),
]
BLOCKS = "stat(2) counts blocks of 512 bytes, and the kernel a device's sectors likewise"
GUEST_AGENT = [
    ("cache/look.c", "stat->st_blocks * 512", BLOCKS),
    ("cache/look.c", "sectors * 512", BLOCKS),
    ("cache/mincore.c", "stat.st_blocks * 512", BLOCKS),
    ("serve/child.c", "limit < 4096", LIMIT),
]


def lines_of(text):
    """Without comments and strings; line numbers stay."""
    return COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text).split("\n")


def found_below(top, exceptions):
    used, found = set(), []
    for path in sorted(Path(top).rglob("*.[ch]")):
        name, text = str(path.relative_to(top)), path.read_text()
        for number, (code, line) in enumerate(zip(lines_of(text), text.split("\n")), 1):
            if not NUMBERS.search(FLAG.sub(",", code)):
                continue
            reasons = {e for e in exceptions if e[0] == name and e[1] in line}
            used |= reasons
            if not reasons:
                found.append(
                    f"{path}:{number}: {line.strip()}: base/page_sizes.h has the sizes of pages; if it is none, say so"
                )
    return found + [f"{top}/{name}: no longer has: {line}" for name, line, _ in sorted(set(exceptions) - used)]


def main():
    found = found_below("host", HOST) + found_below("guest-agent", GUEST_AGENT)
    print("".join(f"{line}\n" for line in found), end="")
    return found != []


if __name__ == "__main__":
    sys.exit(main())
