# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which cells the matrix has, which guest and kernel each needs, and how long its windows must be.

A cell is a dict: kernel, accel, backing, pattern, p, method, mode ("census", or n of a panel), periods, and `tool` for
tools that are not ours.
The full cross product is thousands of cells. The default varies each factor against one base instead: backings, methods
and modes at the base pattern; densities and patterns for the coverage of the interval; n; kernels; steps."""

METHODS = ["idle", "damon", "mglru", "zap", "pageout", "zap-all", "cold", "referenced"]
# The write working set, of guests that write their hot set instead of reading it.
WRITES = "writes"
METHODS_KVM = ("idle", "damon", "mglru", "zap", "pageout", "zap-all")
MODES = ["census", "100", "400", "2000", "10000"]
BACKINGS = ["anon", "thp", "memfd", "hugetlb", "mlocked", "partly", "ballooned", "swapped", "numa", "big"]
# Work of a Linux guest: a scan of a database; making, sorting and packing text; a compiler; redis under load; a heap
# of objects in generations.
WORK = ["scan", "pack", "compile", "redis", "heap"]
PATTERNS = ["contiguous", "strided", "random", "step", *WORK]
DENSITIES = [0.01, 0.05, 0.1, 0.3, 0.5, 0.9]
KERNELS = ["page_idle", "page_idle_module", "page_idle_7.3", "7.3", "6.12", "6.1", "host"]
ACCELS = ["kvm", "tcg"]

BASE_P = 0.1
STEP_SECONDS = 3
STEP_PERIODS = 24
HAS_CENSUS = ("idle", "mglru", "zap", "zap-all", "cold", "referenced", WRITES)
HAS_PANEL = ("idle", "damon", "zap", "pageout")
COVERAGE_PERIODS = 400
MIB = 1 << 20
PAGE = 4096

# A guest without KVM cannot have these on this machine without changing it: huge pages in hugetlbfs need a sysctl,
# swap a device. These guests run in the lab instead.
LAB_ONLY = ("hugetlb", "swapped")

# Seconds until a guest has mapped one page again that lost its mapping. In the lab it is 0.1 ms on a quiet machine.
REFAULT_S = {"lab": 0.00015, "host": 0.000005}


def region_mib(cell):
    """The payload's region. KVM in the lab populates 10 MiB a second at 4 KiB, so its guests are small; pageout looks at
    one page in each 64 KiB at most, so its panel of 2000 needs 125 MiB and more."""
    if cell["pattern"] in WORK:
        return 128 if under_lab_oracle(cell) else 224
    if cell["kernel"] == "host":
        return 448
    return 160 if cell["accel"] == "kvm" else 64


def region_pages(cell):
    return region_mib(cell) * MIB // PAGE


def under_lab_oracle(cell):
    """Whether what the guest touches only the oracle of the lab knows, which makes everything in it some four times slower."""
    return cell.get("pattern") in WORK and cell["accel"] == "kvm"


# The lab's oracle remembers 256 slots. Marking a panel takes pageout up to a minute there.
ORACLE_SLOTS_MS = (0, 100, 400)


def oracle_slot_ms(cell):
    """0: no oracle of the lab."""
    if not under_lab_oracle(cell):
        return 0
    return 400 if cell["method"] == "pageout" else 100


def hot_pages(cell):
    return round(cell["p"] * region_pages(cell))


def hot_draws(cell):
    """How many pages of a panel are hot. Of some guests only the hot pages are present."""
    if cell["mode"] == "census":
        return 0
    density = 1 if cell["backing"] in ("big", "partly") else cell["p"]
    return min(int(cell["mode"]), region_pages(cell)) * density


def window_s(cell):
    """Long enough for the guest to touch its hot set, after it has mapped again what the method unmapped."""
    if cell.get("window_s"):
        return cell["window_s"]
    lab = cell["kernel"] != "host"
    refault = REFAULT_S["lab" if lab else "host"]
    least = 0.5 if cell["mode"] == "census" or cell["tool"] else 0.03
    if cell["method"] == "damon":
        least = 0.1  # its kernel thread takes some of 30 ms to start, see damon.c
    if lab and cell["accel"] == "tcg":
        least = 1.0  # an emulated emulator
    if under_lab_oracle(cell):
        return 8.0  # several rounds of every work
    if cell["pattern"] in WORK:
        return 2.0
    if cell["pattern"] == "step":
        return max(0.5, least)
    if cell["method"] in ("zap-all", WRITES) or (cell["method"] == "zap" and cell["mode"] == "census"):
        return least + 2 * hot_pages(cell) * refault
    if cell["method"] in ("zap", "pageout"):
        return least + 2 * hot_draws(cell) * refault
    return least


def cell_cost_s(cell):
    """About how long a cell takes, for progress and for cutting the work into pieces."""
    if not cell["tool"] and not may_answer(cell):
        return 0.5
    if under_lab_oracle(cell):
        return 2.0 + cell["periods"] * (window_s(cell) + (4 if cell["mode"] == "census" else 2))
    return 1.0 + cell["periods"] * (window_s(cell) * 1.2 + (0.08 if cell["kernel"] != "host" else 0.02))


def may_answer(cell):
    """Whether more than a refusal is likely."""
    return (
        sees(cell["method"], cell["accel"])
        and (cell["method"] in HAS_CENSUS if cell["mode"] == "census" else cell["method"] in HAS_PANEL)
        and (cell["method"] != "pageout" or cell["backing"] in ("memfd", "hugetlb"))
    )


def guest_cost_s(cell):
    if under_lab_oracle(cell):
        return 60.0
    return 3.0 + (region_mib(cell) * 0.03 if cell["kernel"] != "host" else 0)


def guest_key(cell):
    """Cells with the same key are measured on one guest, started once."""
    return (cell["kernel"], cell["accel"], cell["backing"], cell["pattern"], cell["p"], cell["method"] == WRITES)


def name(cell):
    what = cell["tool"] or cell["method"]
    mode = "" if cell["tool"] else (" census" if cell["mode"] == "census" else " n=" + cell["mode"])
    return f"{cell['kernel']} {cell['accel']} {cell['backing']} {cell['pattern']} p={cell['p']:g} {what}{mode}"


def kernel_of(accel, method, backing):
    """Where a cell is measured unless a kernel was asked for."""
    if accel == "tcg" and method not in ("idle", "damon", WRITES) and backing not in LAB_ONLY:
        return "host"
    return "7.3" if method == WRITES else "page_idle"


def make(accel, method, mode, backing="anon", pattern="contiguous", p=BASE_P, periods=None, kernel=None, tool=None):
    if periods is None:
        periods = 3 if mode == "census" else 10
    return {
        "kernel": kernel or kernel_of(accel, method, backing),
        "accel": accel,
        "backing": backing,
        "pattern": pattern,
        "p": p,
        "method": method,
        "mode": mode,
        "periods": periods,
        "tool": tool,
    }


def labels(cell):
    """As tests/bench/compare wants them."""
    census = cell["mode"] == "census"
    result = {key: cell[key] for key in ("backing", "pattern", "p", "accel", "kernel")}
    if cell["tool"]:
        return result | {"method": cell["tool"], "mode": "tool", "n": None}
    return result | {
        "method": cell["method"],
        "mode": "census" if census else "panel",
        "n": None if census else int(cell["mode"]),
    }


def backing_for(method, accel):
    """A backing that the method can work on, to vary something else."""
    return "memfd" if method == "pageout" else "anon"


def sees(method, accel):
    """Methods that are worth more than one refusal."""
    return method == WRITES or method in (
        METHODS_KVM if accel == "kvm" else ("idle", "damon", "pageout", "cold", "referenced")
    )


def base_cells():
    """Every method, census and panel, on every backing. A TCG guest in the lab is emulated twice: idle and damon see it
    like any process, so it has one guest for them, and the backings that this machine cannot have."""
    cells = [
        make("kvm", method, mode, backing) for backing in BACKINGS for method in METHODS for mode in ("census", "2000")
    ]
    for backing in BACKINGS:
        for method in METHODS:
            if backing == "anon" or method not in ("idle", "damon"):
                cells += [
                    make(
                        "tcg", method, mode, backing, periods=None if kernel_of("tcg", method, backing) == "host" else 3
                    )
                    for mode in ("census", "2000")
                ]
    return cells


def kernel_cells():
    """Stock kernels, and the newest with page_idle: the methods that they have."""
    cells = []
    for kernel in ("7.3", "page_idle_7.3", "6.12", "6.1"):
        for method in METHODS_KVM:
            for backing in {"anon", backing_for(method, "kvm")}:
                for mode in ("census", "2000"):
                    cells.append(make("kvm", method, mode, backing, kernel=kernel))
    return cells


def pattern_cells():
    """Census of every pattern; panels are in the coverage cells."""
    return [
        make(accel, method, "census", "anon", pattern)
        for pattern in ("strided", "random")
        for accel, methods in (("kvm", ("idle", "damon", "mglru", "zap", "zap-all")), ("tcg", ("cold", "referenced")))
        for method in methods
    ]


def write_cells():
    """The write working set has a census only, on Debian's kernel, which has the soft-dirty bit."""
    backings = ("anon", "thp", "memfd", "hugetlb", "mlocked", "partly", "ballooned")
    cells = [make("kvm", WRITES, "census", backing) for backing in backings]
    cells += [make("kvm", WRITES, "census", "anon", pattern) for pattern in ("strided", "random")]
    return cells + [make("tcg", WRITES, "census", "anon")]


def size_cells():
    """The panel's size."""
    return [
        make(accel, method, n, backing_for(method, accel), "random", periods=20)
        for accel, method in (("kvm", "idle"), ("kvm", "zap"), ("kvm", "damon"), ("tcg", "pageout"))
        for n in ("100", "400", "2000", "10000")
    ]


def coverage_cells(whole):
    """Coverage of the 95 % interval. The default is what its budget allows: all densities and patterns for one method,
    the densities for idle, the base for the others; --coverage does the rest."""
    cells = []
    for pattern in ("contiguous", "strided", "random"):
        for p in DENSITIES:
            cells.append(make("tcg", "pageout", "2000", "memfd", pattern, p, COVERAGE_PERIODS))
            if whole or pattern == "random":
                cells.append(make("kvm", "idle", "2000", "anon", pattern, p, COVERAGE_PERIODS))
    for p in DENSITIES if whole else []:
        cells.append(make("tcg", "pageout", "400", "memfd", "random", p, COVERAGE_PERIODS))
        cells += [
            make("kvm", method, "400", "anon", "random", p, COVERAGE_PERIODS) for method in ("idle", "zap", "damon")
        ]
    cells += [
        make("kvm", method, "2000", "anon", "random", BASE_P, COVERAGE_PERIODS) for method in ("zap", "damon") if whole
    ]
    return cells


def step_cells():
    """A working set that jumps up and falls."""
    return [
        make("kvm", method, mode, "anon", "step", periods=STEP_PERIODS)
        for method, mode in (("idle", "census"), ("idle", "2000"), ("zap", "2000"), ("damon", "2000"))
    ] + [
        make("tcg", "cold", "census", "anon", "step", periods=STEP_PERIODS),
        make("tcg", "pageout", "2000", "memfd", "step", periods=STEP_PERIODS),
    ]


def work_cells():
    """Linux at work, under the oracle. KVM guests take a quarter of an hour each, and are measured when they are asked for."""
    methods = (("cold", "census", "anon"), ("referenced", "census", "anon"), ("pageout", "2000", "memfd"))
    return [
        make("tcg", method, mode, backing, work, 0, periods=10) for work in WORK for method, mode, backing in methods
    ]


def tool_cells(tools):
    """Other tools, on the same guests and in the same boot as ours. Their TCG guest runs on this machine: the lab's
    emulated CPU keeps translations longer than a real one, which would be held against tools that do not flush."""
    guests = [("kvm", "anon", "contiguous", "page_idle"), ("kvm", "anon", "random", "page_idle")]
    guests += [("kvm", backing, "contiguous", "page_idle") for backing in ("thp", "memfd", "hugetlb")]
    guests += [("tcg", "anon", "contiguous", "host")]
    return [
        make(accel, None, "census", backing, pattern, tool=tool, kernel=kernel, periods=2)
        for tool in tools
        for accel, backing, pattern, kernel in guests
    ]


def unique(cells):
    seen, result = {}, []
    for cell in cells:
        key = (guest_key(cell), cell["method"], cell["mode"], cell["tool"])
        if key in seen:
            seen[key]["periods"] = max(seen[key]["periods"], cell["periods"])
        else:
            seen[key] = cell
            result.append(cell)
    return result


def default_cells(tools):
    return unique(
        base_cells()
        + kernel_cells()
        + pattern_cells()
        + write_cells()
        + size_cells()
        + coverage_cells(False)
        + step_cells()
        + work_cells()
        + tool_cells(tools)
    )


def quick_cells(tools):
    """About three minutes: one guest of each kind."""
    cells = [make("kvm", method, mode) for method in METHODS for mode in ("census", "2000")]
    cells += [make("tcg", method, mode, kernel="host") for method in ("cold", "referenced") for mode in ("census",)]
    cells += [make("tcg", "pageout", "2000", "memfd", "random", p, 100) for p in (0.1, 0.5)]
    return unique(cells + tool_cells(tools))


def selected_cells(want):
    """The cross product of what was asked for; what was not asked for stays at its base."""
    cells = []
    for accel in want["accel"] or ACCELS:
        for method in want["method"] or METHODS:
            for backing in want["backing"] or [backing_for(method, accel)]:
                for pattern in want["pattern"] or ["contiguous"]:
                    for p in want["p"] or [BASE_P]:
                        for mode in want["mode"] or ["census", "2000"]:
                            for kernel in want["kernel"] or [None]:
                                cell = make(accel, method, mode, backing, pattern, p, want["periods"], kernel)
                                cells.append(cell | {"window_s": want["window"]})
    return unique(cells)
