# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws error by method with gnuplot: ours and other tools', each cell a dot (its mean) on a whisker (its records)."""

import math
import subprocess

from . import cells

# Okabe and Ito's colours, which stay apart for most kinds of colour vision: KVM, TCG, other tools.
COLOURS = {"kvm": "#0072B2", "tcg": "#009E73", "tool": "#D55E00"}
TITLES = {"kvm": "KVM guest", "tcg": "TCG guest", "tool": "other tool"}
SHAPES = {"kvm": 7, "tcg": 9, "tool": 5}
PERCENT_TICKS = (-100, -10, -1, -0.1, 0, 0.1, 1, 10, 100, 1000)


def squeeze(percent):
    """Linear near 0 and logarithmic outside, so that 0.02 % and 800 % have room on one axis."""
    return math.asinh(percent / 0.05)


def kind_of(row):
    return "tool" if row["cell"]["mode"] == "tool" else row["cell"]["accel"]


def who(row):
    return row["cell"]["method"]


def belongs(row, mode):
    return row["cell"]["n"] == 2000 if mode == "panel" else row["cell"]["mode"] != "panel"


def rows_of(rows, mode):
    """Method by method from the top, other tools last; only cells of settled, measured guests."""
    chosen = [row for row in rows if "reason" not in row and row["cell"]["pattern"] != "step" and belongs(row, mode)]
    known = [method for method in cells.METHODS if any(who(row) == method for row in chosen)]
    return chosen, known + sorted({who(row) for row in chosen if row["cell"]["mode"] == "tool"})


def points(chosen, names, kind, values):
    """Lines "x low high y": cells of one method beside each other, so that no dot hides another."""
    lines = []
    for number, label in enumerate(names):
        cells_here = [row for row in chosen if who(row) == label]
        for i, row in enumerate(cells_here):
            if kind_of(row) == kind:
                place = len(names) - number + 0.35 - 0.7 * (i + 0.5) / len(cells_here)
                lines.append(" ".join(f"{value:.6g}" for value in (*values(row), place)))
    return lines


def census_values(row):
    low, high = row["percents"]
    return squeeze(row["bias_percent"]), squeeze(low), squeeze(high)


def panel_values(row):
    return row["bias_points"], *row["points"]


def panel_commands(chosen, names, values, name):
    """Data blocks and the plot command of one half of the picture."""
    blocks, plots = [], []
    for kind, colour in COLOURS.items():
        lines = points(chosen, names, kind, values)
        if lines:
            blocks += [f"${name}_{kind} << END", *lines, "END"]
            plots.append(
                f"${name}_{kind} using 1:4:2:3 with xerrorbars linecolor rgb '{colour}' pointtype {SHAPES[kind]} pointsize 0.55 linewidth 1 "
                f"title '{TITLES[kind]}'"
            )
    return blocks, "plot " + ", ".join(plots)


def half(title, label, band, spread, xtics, chosen, names, values, block):
    """One half: its title, axis, target band and points."""
    blocks, plot = panel_commands(chosen, names, values, block)
    ytics = ", ".join(f"'{label}' {len(names) - i}" for i, label in enumerate(names))
    shares = ", ".join(f"'{text}' {place:.6g}" for text, place in xtics)
    return blocks + [
        f"set title '{title}'",
        f"set xlabel '{label}'",
        f"set xrange [{-spread[0]}:{spread[1]}]",
        f"set yrange [0.4:{len(names) + 0.6}]",
        f"set xtics ({shares})",
        f"set ytics ({ytics})",
        "unset object",
        "unset arrow",
        f"set object 1 rectangle from {-band}, graph 0 to {band}, graph 1 behind fillcolor rgb '#e8e8e8' fillstyle solid noborder",
        "set arrow 1 from 0, graph 0 to 0, graph 1 nohead linecolor rgb '#888888' back",
        plot,
    ]


def script(rows, path):
    census, census_names = rows_of(rows, "census")
    panel, panel_names = rows_of(rows, "panel")
    commands = [
        "set encoding utf8",
        "set terminal svg size 1000,560 font 'sans-serif,13' background rgb 'white'",
        f"set output '{path}'",
        "set border 3 linecolor rgb '#555555'",
        "set tics nomirror out textcolor rgb 'black'",
        "set grid xtics linecolor rgb '#dddddd'",
        "set key at screen 0.5, screen 0.04 center Left reverse horizontal maxcols 3 samplen 1 width -2",
        "set bars 0",
        "set multiplot layout 1,2 margins 0.135,0.985,0.2,0.9 spacing 0.1,0",
    ]
    if census:
        ticks = [(f"{tick:+g}" if tick else "0", squeeze(tick)) for tick in PERCENT_TICKS]
        commands += half(
            "Whole guest: error",
            "% of the truth (band: the target, ±1 %)",
            squeeze(1),
            (squeeze(160), squeeze(2500)),
            ticks,
            census,
            census_names,
            census_values,
            "census",
        )
    if panel:
        commands.append("unset key" if census else "")
        widest = max(3.0, *(abs(x) * 1.1 for row in panel for x in row["points"]))
        ticks = [(f"{tick:+g}" if tick else "0", tick) for tick in range(-int(widest), int(widest) + 1)]
        commands += half(
            "Panel of n = 2000: error",
            "points of resident memory (band: the target, ±2.2)",
            2.2,
            (widest, widest),
            ticks,
            panel,
            panel_names,
            panel_values,
            "panel",
        )
    return "\n".join(commands + ["unset multiplot", "unset output", ""])


def draw(rows, path):
    """Writes the SVG; gnuplot-nox is a package of its own."""
    subprocess.run(["gnuplot"], input=script(rows, path), text=True, check=True)
