#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of vmwss report --html, judged; for report_page.sh.

report_page.py markup PAGE JSON    tables, captions and alternatives are there, and the values are those of --json
report_page.py pictures PAGE UUID HISTORY...   its curves and its ages are what vmwss history --json has of each window
report_page.py whole PAGE UUID                 that guest has no gap
report_page.py written PAGE UUID               that guest's write set is in the chart of its working set
report_page.py alone PAGE          no address, nothing to fetch, no script but its own
report_page.py contrast CSS        of the colours, by WCAG 2.1
report_page.py tested PAGE         prints it with the test's own script at its end, which notes what it finds in data-test
report_page.py framed              prints a page that has it in a frame as wide as a telephone
report_page.py dom WHAT DUMP       what that script found, and what stands where
"""

import datetime
import json
import re
import sys

from page import FRAME, Page, check_alone, check_contrast, shown_name, table_rows, with_script, wrong_markup


def guest_rows(page):
    return table_rows(page, "guests")


def numbers(row):
    return [float(c.get("data-v")) for c in row.children if c.get("data-v")]


def check_values(page, report):
    wrong = []
    for row, guest in zip(guest_rows(page), report["guests"], strict=True):
        if row.children[0].text() != shown_name(guest["domain"]):
            wrong.append(f"{row.children[0].text()!r} is {guest['domain']!r}")
        wss = [guest[f"wss_{q}_bytes"] for q in ("p50", "p95", "max")]
        want = [guest["ram_bytes"], guest["resident_bytes"]] + [-1 if v is None else v for v in wss]
        if any(abs(a - b) > 1 for a, b in zip(numbers(row), want)):
            wrong.append(f"{guest['domain']}: {numbers(row)}, expected {want}")
    return wrong


def check_markup(path, json_path):
    page = Page(path)
    wrong = wrong_markup(page)
    with open(json_path, encoding="utf-8") as file:
        wrong += check_values(page, json.load(file))
    articles = list(page.root.all("article"))
    kinds = {
        "curve": "wss",
        "band": "band",
        "balloon": "has",
        "pressure": "full",
        "gap": "gap",
        "no record": "none",
        "flag": "flag",
    }
    for kind, style in kinds.items():
        if not any(p.get("d") for a in articles for p in a.all("path", style)):
            wrong.append(f"no {kind}")
    if len(list(page.root.all("svg", "heat"))) != sum(1 for r in guest_rows(page) if numbers(r)[2] >= 0):
        wrong.append("not a heat map of each guest that was measured")
    return wrong


# --- the pictures ------------------------------------------------------------------------------------------------------


def moves(path):
    """[(letter, number, number)] of a path that html_chart.c or html_heat.c wrote."""
    return [(m[0], float(m[1]), float(m[2] or 0)) for m in re.findall(r"([Mhv])(-?[\d.]+) ?([\d.]*)", path.get("d"))]


def heights(path):
    """{cell: y} of a curve, and of what comes back of a band."""
    there, back, x, y = {}, {}, 0, 0
    for letter, a, b in moves(path):
        if letter == "M":
            x, y = int(a), b
        elif letter == "v":
            y += a
        elif a > 0:
            there |= {x + i: y for i in range(int(a))}
            x += int(a)
        else:
            back |= {x - 1 - i: y for i in range(int(-a))}
            x += int(a)
    return there, back


def shades(svg):
    """{(age, cell): level} of a heat map."""
    out = {}
    for path in svg.all("path"):
        row = column = 0
        for letter, a, b in moves(path):
            if letter == "M":
                column, row = int(a), int(b)
            else:
                out |= {(row, column + i): int(path.get("class")[1:]) for i in range(int(a))}
    return out


LEVELS = (0.005, 0.01, 0.02, 0.04, 0.07, 0.11, 0.17, 0.25, 0.35, 0.5, 0.7)


def hours_of(path, begin_s):
    """{cell: the history's hour}."""
    with open(path, encoding="utf-8") as file:
        points = [json.loads(line) for line in file]
    stamp = lambda p: datetime.datetime.fromisoformat(p["time"].replace("Z", "+00:00")).timestamp()
    return {round((stamp(p) - begin_s) / 3600): p for p in points if stamp(p) >= begin_s}


def check_curves(article, hours):
    plot = article.first("figure", "chart").first("div", "plot")
    top, wrong = float(plot.get("data-top")), []
    band = heights(plot.first("path", "band"))
    columns = {"assigned": "ram_bytes", "resident": "resident_bytes", "wss": "wss_bytes", "peak": "wss_max_bytes"}
    found = {column: heights(plot.first("path", style))[0] for style, column in columns.items()}
    found |= {"wss_high_bytes": band[0], "wss_low_bytes": band[1]}
    for column, drawn in found.items():
        if drawn.keys() != hours.keys():
            wrong.append(f"{column}: drawn in {len(drawn)} hours of {len(hours)}")
        for cell in drawn.keys() & hours.keys():
            # To half a thousandth of the height, and a byte.
            if abs((1 - drawn[cell] / 1000) * top - hours[cell][column]) > top / 2000 + 1:
                wrong.append(f"{column} in hour {cell}: at {drawn[cell]} of {top}, kept {hours[cell][column]}")
    return wrong


def check_heat(article, windows):
    wrong, drawn = [], shades(article.first("svg", "heat"))
    for cell, point in windows[0].items():
        wss = [0] + [w[cell]["wss_bytes"] for w in windows] + [point["resident_bytes"]]
        for age in range(len(windows) + 1):
            share = (wss[age + 1] - wss[age]) / point["resident_bytes"]
            if drawn.get((age, cell), 0) != sum(share >= level for level in LEVELS):
                wrong.append(f"age {age} in hour {cell}: {drawn.get((age, cell))}, a share of {share}")
    cells = range(int(article.first("svg", "heat").get("viewbox").split()[2]))
    gaps = {cell for (_, cell), level in drawn.items() if level == len(LEVELS) + 1}
    if gaps != set(cells) - windows[0].keys():
        wrong.append(f"gaps in {gaps}")
    return wrong


def check_pictures(path, uuid, *histories):
    """Of one guest, hour by hour; its history of each window, ascending, 60 s the second of them."""
    article = next(a for a in Page(path).root.all("article") if uuid in a.first("h3").text())
    windows = [hours_of(h, float(article.get("data-begin"))) for h in histories]
    return check_curves(article, windows[1]) + check_heat(article, windows)


def check_written(path, uuid):
    """Of a guest whose write curves, of 60 MiB at least, are as often as its records; others have no such curve."""
    articles = list(Page(path).root.all("article"))
    with_writes = [a for a in articles if any(a.all("path", "written"))]
    article = next(a for a in articles if uuid in a.first("h3").text())
    plot = article.first("figure", "chart").first("div", "plot")
    top = float(plot.get("data-top"))
    drawn, wss = (heights(plot.first("path", style))[0] for style in ("written", "wss"))
    wrong = [] if drawn.keys() == wss.keys() else [f"drawn in {len(drawn)} cells, the working set in {len(wss)}"]
    wrong += [] if len(with_writes) == 10 else [f"{len(with_writes)} guests have one, not 10"]
    return wrong + [
        f"{y} of {top}" for y in set(drawn.values()) if abs((1 - y / 1000) * top - (60 << 20)) > top / 2000 + 1
    ]


def check_whole(path, uuid):
    """A guest without a gap, whose records are further apart than the steps of the picture."""
    page = Page(path)
    article = next(a for a in page.root.all("article") if uuid in a.first("h3").text())
    drawn = heights(article.first("path", "wss"))[0]
    cells = int(article.first("svg", "heat").get("viewbox").split()[2])
    right = float(article.get("data-cell")) < 900 and len(drawn) == cells and not list(article.all("path", "none"))
    return [] if right else [f"{len(drawn)} of {cells} cells of {article.get('data-cell')} s"]


# --- in the browser ----------------------------------------------------------------------------------------------------

SCRIPT = """
addEventListener("load", () => {
  const note = {}, root = document.documentElement, plot = document.querySelector("article .chart .plot");
  note.overflow = root.scrollWidth - root.clientWidth;
  note.width = innerWidth;
  note.paper = getComputedStyle(document.body).backgroundColor;
  note.images = document.images.length;
  const key = (name) => plot.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true, cancelable: true}));
  key("End"); key("ArrowLeft");
  note.read = plot.parentElement.querySelector(".read").textContent;
  const button = plot.parentElement.querySelector(".tools button");
  button.click();
  note.table = [...plot.parentElement.querySelectorAll("table tr")].map((row) => [...row.cells].map((c) => c.textContent));
  note.label = plot.querySelector("svg").getAttribute("aria-label");
  button.click();
  if (!location.hash) {
    const headings = document.querySelectorAll("#guests thead button"), at = (i) => document.querySelectorAll("#guests tbody tr")[i].cells;
    headings[2].click(); note.largest = at(0)[2].textContent; note.hash = location.hash;
    headings[2].click(); note.smallest = at(0)[2].textContent; note.turned = location.hash;
  }
  root.dataset.test = JSON.stringify(note);
  if (parent !== window) parent.postMessage(root.dataset.test, "*");
});
"""


def is_sorted(values, how):
    return values == sorted(values, reverse=how.startswith("-") or how == "wss")


def check_order(page, how):
    key = how.removeprefix("-")
    table = next(t for t in page.root.all("table") if t.get("id") == "guests")
    headings = list(table.first("thead").all("th"))
    column = next(i for i, h in enumerate(headings) if h.first("button").get("data-key") == key)
    rows = guest_rows(page)
    # Names are compared as a person does, in whom 10 comes after 9: so those of digits only.
    names = [r.children[0].text() for r in rows if re.fullmatch(r"instance-[0-9]{8}", r.children[0].text())]
    values = [float(r.children[column].get("data-v")) for r in rows] if key == "wss" else names
    wrong = [] if is_sorted(values, how) and len(values) > 40 else [f"the order of {how}: {values}"]
    if headings[column].get("aria-sort") != "descending" or sum(h.get("aria-sort") != "none" for h in headings) != 1:
        wrong.append("aria-sort")
    if [a.get("id") for a in page.root.all("article")] != [r.get("data-for") for r in rows]:
        wrong.append("the guests below are in another order")
    return wrong


def check_search(page, hits):
    shown = [r.children[0].text() for r in guest_rows(page) if "hidden" not in r.attributes]
    articles = [a for a in page.root.all("article") if "hidden" not in a.attributes]
    found = next(o for o in page.root.all("output") if o.get("for") == "guests-find").text()
    right = shown == hits and len(articles) == len(hits) and found == f"{len(hits)} of 100 guests"
    return [] if right else [f"found {shown}, {len(articles)}, {found}"]


def check_read_out(note):
    """The values that the script reads from the picture are those of its alternative, to a thousandth of the height."""
    head, *rows = note["table"]
    last = dict(zip(head, rows[-1]))
    wrong = [] if re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d: .*working set [\d.]+ [KMG]iB", note["read"]) else [note["read"]]
    if not 160 <= len(rows) <= 170:
        wrong.append(f"{len(rows)} rows")
    # Half a thousandth of 16 GiB; and each of the two figures has one digit behind the point.
    tolerance = 16 * 2**30 / 2000 + 0.1 * 2**30
    units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

    def number(text):
        value, unit = text.split()
        return float(value) * units[unit]

    for name, value in re.findall(r"([a-z, ]+): [^,]*, ([\d.]+ [KMG]?i?B) last", note["label"]):
        name = name.strip()
        if name in last and abs(number(last[name]) - number(value)) > tolerance:
            wrong.append(f"{name}: {last[name]} in the table, {value} in words")
    return wrong


def check_dom(what, path):
    page = Page(path)
    note = json.loads(page.root.first("html").get("data-test") or "{}")
    if not note:
        return ["the script did not run"]
    wrong = check_read_out(note)
    if note["overflow"] > 0 or note["images"] > 0:
        wrong.append(f"{note['overflow']} pixels too wide, {note['images']} images")
    if what.startswith("sort="):
        wrong += check_order(page, what.removeprefix("sort="))
    elif what.startswith("find="):
        wrong += check_search(page, ["instance-0000000a"])
    else:
        if [note["largest"], note["hash"], note["smallest"], note["turned"]] != [
            "16.0 GiB",
            "#sort=assigned",
            "2.0 GiB",
            "#sort=-assigned",
        ]:
            wrong.append(f"clicked: {note}")
        if what == "narrow" and note["width"] != 360:
            wrong.append(f"the screen is {note['width']} pixels wide")
        if (note["paper"] == "rgb(13, 17, 23)") != (what == "dark"):
            wrong.append(f"{what}: paper is {note['paper']}")
    return wrong


def main():
    what, *arguments = sys.argv[1:]
    checks = {
        "markup": check_markup,
        "pictures": check_pictures,
        "whole": check_whole,
        "written": check_written,
        "alone": check_alone,
        "contrast": check_contrast,
        "dom": check_dom,
        "tested": lambda path: with_script(path, SCRIPT),
        "framed": lambda: print(FRAME),
    }
    wrong = checks[what](*arguments) or []
    for line in wrong:
        print("#", line[:500])
    sys.exit(1 if wrong else 0)


main()
