#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of vmwss plan --html, judged; for plan_page.sh.

plan_page.py markup PAGE JSON      tables, captions and alternatives are there, and the values are those of --json
plan_page.py doubts PAGE TEXT...   it says each of these, and hosts that are stale
plan_page.py alone PAGE            no address, nothing to fetch, no script but its own
plan_page.py browser PAGE PROFILE  in Chromium: sorts, searches, by keyboard; what a screen reader is told; contrast; print; narrow
plan_page.py large PAGE PROFILE    likewise how long a large one takes
"""

import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../lib"))

from chromium import Chromium
from page import Page, check_alone, shown_name, table_of, table_rows, wrong_markup

SIZES_SHOWN, MOVES_SHOWN = 1000, 2000

# --- against --json ----------------------------------------------------------------------------------------------------


def cells(page, ident):
    """[{key of the column: text or number}] of a table that sorts."""
    keys = [th.first("button").get("data-key") for th in table_of(page, ident).first("thead").all("th")]
    value = lambda cell: float(cell.get("data-v")) if cell.get("data-v") else cell.text()
    return [dict(zip(keys, map(value, row.children), strict=True)) for row in table_rows(page, ident)]


def differing(name, shown, want):
    return [
        f"{name}: {key} is {shown[key]!r}, expected {value!r}"
        for key, value in want.items()
        if (abs(shown[key] - value) > 1 if isinstance(value, (int, float)) else shown[key] != value)
    ]


def host_note(host):
    if host["stale"]:
        return "stale"
    if host["guests"] == 0:
        return "empty"
    if host["short_share"] > 0:
        return "has been short"
    return "short" if host["headroom_bytes"] < 0 else ""


def wrong_hosts(page, plan):
    wrong = []
    for shown, host in zip(cells(page, "hosts"), plan["hosts"], strict=True):
        limit = max(host["capacity_bytes"] - host["reserve_bytes"], 1)
        want = {
            "host": shown_name(host["host"]),
            "note": host_note(host),
            "guests": host["guests"],
            "assigned": host["ram_bytes"],
            "limit": limit,
            "p50": host["need_p50_bytes"],
            "p99": host["need_p99_bytes"],
            "planned": host["planned_bytes"],
            "headroom": host["headroom_bytes"],
            "short": host["short_share"] * 43200,
            "longest": host["longest_short_seconds"],
            "swap": host["swap_bytes"],
            "fails": host["unplaced_guests"] + host["unplaced_ended"]
            if host["guests"] or host["unplaced_ended"]
            else -1,
        }
        if plan["moves"] is not None:
            want |= {"after": host["guests_after"], "later": host["planned_after_bytes"]}
        runway = host["runway"]
        if runway and runway["days"] is not None:
            want["full"] = min(runway["days"], 1e6)
        else:
            want["full"] = 1e6 if runway else 1e7
        wrong += differing(host["host"], shown, want)
        if abs(shown["share"] - host["planned_bytes"] / limit) > 1e-3:
            wrong.append(f"{host['host']}: {shown['share']} of the limit")
    return wrong


def wrong_bars(page, plan):
    """The bar of what is planned is as long as the share of the limit says, and its mark is the p99."""
    wrong = []
    for row, host in zip(table_rows(page, "hosts"), plan["hosts"], strict=True):
        limit = max(host["capacity_bytes"] - host["reserve_bytes"], 1)
        bar, mark = row.first("svg").children
        width, x = (float(e.get(a).removesuffix("%")) for e, a in ((bar, "width"), (mark, "x")))
        if abs(width - 100 * min(host["planned_bytes"] / limit, 1)) > 0.51:
            wrong.append(f"{host['host']}: the bar is {width} % long")
        if abs(x - 97 * min(host["need_p99_bytes"] / limit, 1)) > 0.51:
            wrong.append(f"{host['host']}: the mark is at {x} %")
    return wrong


def wrong_guests(page, plan):
    guests = plan["guests"]
    size = lambda g: g["right_size_bytes"]
    change = lambda g: abs(size(g) - g["ram_bytes"]) if size(g) else -1
    if len(guests) > SIZES_SHOWN:
        guests = sorted(guests, key=change, reverse=True)[:SIZES_SHOWN]
        if f"The {SIZES_SHOWN} of {len(plan['guests'])} guests" not in page.root.text():
            return ["it does not say that guests are left out"]
    wrong, shown = [], cells(page, "guests")
    if len(shown) != len(guests):
        return [f"{len(shown)} guests"]
    for row, guest in zip(shown, guests):
        want = {
            "guest": shown_name(guest["domain"]),
            "host": shown_name(guest["host"]),
            "assigned": guest["ram_bytes"],
            "p50": guest["need_p50_bytes"],
            "p99": guest["need_p99_bytes"],
            "size": size(guest) or -1,
            "change": size(guest) - guest["ram_bytes"] if size(guest) else -1,
        }
        wrong += differing(guest["domain"], row, want)
        for word, key in (("suspended", "suspended"), ("pinned", "pinned"), ("apart", "apart")):
            if (word in row["note"]) != guest[key]:
                wrong.append(f"{guest['domain']}: its note is {row['note']!r}")
    return wrong


def wrong_moves(page, plan):
    """In their order, host by host."""
    section = [s for s in page.root.all("section") if s.get("id") == "moves"]
    if not plan["moves"]:
        return ["moves that --json has not"] if section else []
    shown = []
    for row in section[0].first("tbody").children:
        shown += [(row.children[0].text(), *(b.text() for b in li.all("bdi"))) for li in row.all("li")]
    want = [tuple(shown_name(m[k]) for k in ("from", "domain", "to")) for m in plan["moves"][:MOVES_SHOWN]]
    more = len(plan["moves"]) > MOVES_SHOWN
    if more and f"The first {MOVES_SHOWN} of {len(plan['moves'])} moves" not in section[0].text():
        return ["it does not say that moves are left out"]
    return [] if shown == want else [f"moves {shown[:3]}, expected {want[:3]}"]


def bins(page, caption):
    """{name: value} of a table of bars."""
    table = next(t for t in page.root.all("table", "bars") if t.first("caption").text() == caption)
    return {r.children[0].text(): r.children[1].text() for r in table.first("tbody").children}


def wrong_bins(page, plan):
    full = [h["planned_bytes"] / max(h["capacity_bytes"] - h["reserve_bytes"], 1) for h in plan["hosts"]]
    found = {
        "Over 100 %": bins(page, "Hosts, by how full they are planned"),
        "Some stay down": bins(page, "If one host fails (N+1)"),
        "Empty": bins(page, "If one host fails (N+1)"),
        "Now": bins(page, "Hosts, by when they reach 85 % of their limit"),
        "Over 110 %": bins(page, "Guests, by their right size"),
    }
    want = {
        "Over 100 %": sum(f > 1 for f in full),
        "Some stay down": sum(h["unplaced_guests"] > 0 or h["unplaced_ended"] for h in plan["hosts"]),
        "Empty": sum(h["guests"] == 0 and not h["unplaced_ended"] for h in plan["hosts"]),
        "Now": sum(h["runway"] is not None and h["runway"]["days"] == 0 for h in plan["hosts"]),
        "Over 110 %": sum((g["right_size_bytes"] or 0) > 1.1 * g["ram_bytes"] for g in plan["guests"]),
    }
    wrong = [f"{k}: {found[k][k]}, expected {n}" for k, n in want.items() if found[k][k] != str(n)]
    if plan["moves"] is not None:
        use = bins(page, "Hosts in use")
        before = sum(h["guests"] > 0 for h in plan["hosts"])
        if use != {"Now": str(before), "After the moves": str(before - plan["emptied"])}:
            wrong.append(f"hosts in use: {use}")
    if plan["overcommit"] and f"{plan['overcommit']['ratio']:.2f}" not in bins(page, "Overcommit ratio")["At the risk"]:
        wrong.append("the ratio")
    return wrong


def check_markup(path, json_path):
    page = Page(path)
    with open(json_path, encoding="utf-8") as file:
        plan = json.load(file)
    parts = (wrong_hosts, wrong_bars, wrong_guests, wrong_moves, wrong_bins)
    return wrong_markup(page) + [line for part in parts for line in part(page, plan)[:5]]


def check_doubts(path, *texts):
    page = Page(path)
    doubts = [p.text() for p in page.root.all("p", "doubt")]
    return [f"not said: {text}" for text in texts if not any(text in doubt for doubt in doubts)]


# --- in the browser ----------------------------------------------------------------------------------------------------

HOSTS = '[...document.querySelectorAll("#hosts tbody tr")]'
# The least contrast of text with what it stands on, by WCAG 2.1, and what has it.
CONTRAST = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const luminance = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 0) return c; }
    return [255, 255, 255]; };
  let least = [99, ""];
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility()) continue;
    const pair = [luminance(rgba(getComputedStyle(e).color)), luminance(behind(e))].sort((a, b) => b - a);
    const found = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (found < least[0]) least = [found, e.outerHTML.slice(0, 100)];
  }
  return least;
})()"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Judge:
    """Notes what is wrong, and prints what is right."""

    def __init__(self):
        self.wrong = []

    def that(self, what, holds, found=""):
        print(f"# {'yes' if holds else 'NO'}: {what} {found}")
        if not holds:
            self.wrong.append(f"{what} {found}")


def tab_to(browser, selector, most=40):
    """By real keys, as somebody without a mouse would."""
    for _ in range(most):
        browser.key("Tab")
        if browser.ask(f"document.activeElement.matches({json.dumps(selector)})"):
            return True
    return False


def judge_keyboard(judge, browser, url):
    browser.open(url)
    browser.key("Tab")
    judge.that("the first stop skips to the hosts", browser.ask('document.activeElement.className === "skip"'))
    browser.key("Enter")
    judge.that("and does", browser.ask("location.hash") == "#hosts-table")
    judge.that("a key reaches the heading", tab_to(browser, '#hosts [data-key="headroom"]'))
    ring = browser.ask("getComputedStyle(document.activeElement).outlineStyle")
    judge.that("which shows that it has the focus", ring == "solid", ring)
    browser.key("Enter")
    numbers = f"{HOSTS}.map((r) => Number(r.cells[9].dataset.v))"
    found = browser.ask(numbers)
    judge.that("Enter sorts, the largest first", found == sorted(found, reverse=True) and len(found) > 10)
    browser.key(" ")
    found = browser.ask(numbers)
    judge.that("Space turns it round", found == sorted(found) and browser.ask("location.hash") == "#sort=-headroom")
    aria = browser.ask('document.querySelector("#hosts [aria-sort=ascending]")?.textContent')
    judge.that("which is told", aria == "Headroom", aria)
    region = browser.ask('document.querySelector("#hosts-table .scroll").scrollLeft')
    browser.open(url + "#hosts-table")
    tab_to(browser, "#hosts-table .scroll")
    for _ in range(5):
        browser.key("ArrowRight")
    time.sleep(0.5)
    moved = browser.ask('document.querySelector("#hosts-table .scroll").scrollLeft')
    judge.that("arrows scroll a table that is too wide", moved > region, moved)


def judge_search(judge, browser, url):
    browser.open(url)
    tab_to(browser, "#hosts-find")
    browser.type("stale")
    found = browser.ask(f"{HOSTS}.filter((r) => !r.hidden).map((r) => r.cells[1].textContent)")
    judge.that("a search finds the stale hosts", found and set(found) == {"stale"}, len(found))
    told = browser.ask('document.querySelector("#hosts-table output").textContent')
    judge.that("and says how many", re.fullmatch(rf"{len(found)} of \d+ hosts", told), told)
    judge.that("the guests stay", browser.ask('!document.querySelector("#guests tbody tr[hidden]")'))
    tab_to(browser, "#guests-find")
    browser.type("suspended")
    judge.that("both are in the address", browser.ask("location.hash") == "#find=stale&guest-find=suspended")
    browser.open(url + "#sort=-host&find=compute&guest-sort=change&guest-find=pinned")
    names = browser.ask(f"{HOSTS}.filter((r) => !r.hidden).map((r) => r.cells[0].textContent)")
    judge.that("and are obeyed", names == sorted(names, reverse=True) and len(names) > 10)
    pinned = browser.ask(
        '[...document.querySelectorAll("#guests tbody tr")].filter((r) => !r.hidden).map((r) => r.textContent)'
    )
    judge.that("of both tables", pinned and all("pinned" in text for text in pinned), len(pinned))


def judge_reader(judge, browser, url):
    browser.open(url)
    tree = browser.tree()
    names = lambda role: [n for r, n, _ in tree if r == role]
    judge.that("regions", {"The fleet", "Hosts", "Moves", "Guests"} <= set(names("region")))
    judge.that("each table has a name", all(names("table")) and len(names("table")) >= 9, len(names("table")))
    judge.that("searches have names", names("searchbox") == ["Search hosts", "Search guests"])
    judge.that("buttons have names", all(names("button")))
    judge.that(
        "one heading of the first level", len([1 for r, _, p in tree if r == "heading" and p.get("level") == 1]) == 1
    )
    judge.that("rows have headings", len(names("rowheader")) > len(browser.ask(f"{HOSTS}.map(() => 0)")))
    judge.that("no picture without words is told", not names("image") and not names("img"))


def judge_looks(judge, browser, url):
    for kind, scheme in (("screen", "light"), ("screen", "dark"), ("print", "light")):
        browser.media(kind, scheme)
        browser.open(url)
        least, what = browser.ask(CONTRAST)
        judge.that(f"contrast, {kind}, {scheme}", least >= 4.5, f"{least:.2f} {what if least < 4.5 else ''}")
        paper = browser.ask("getComputedStyle(document.body).backgroundColor")
        judge.that("its paper", (paper == "rgb(13, 17, 23)") == (scheme == "dark"), paper)
        if kind == "print":
            judge.that(
                "no search on paper", browser.ask('getComputedStyle(document.querySelector("form")).display') == "none"
            )
    pdf = browser.call("Page.printToPDF", printBackground=False, landscape=True)["data"]
    judge.that("it prints", len(pdf) > 20000, len(pdf))
    browser.media("screen", "light")
    for width in (1280, 500, 320):
        browser.screen(width, 800)
        browser.open(url)
        over = browser.ask(OVERFLOW)
        judge.that(f"{width} pixels are wide enough", over <= 0, f"{over} too wide")
    browser.screen(1280, 900)
    images = browser.ask("document.images.length + document.scripts.length - 1")
    judge.that("hostile names are text", images == 0 and browser.ask("typeof window.alerted") == "undefined")


def in_browser(path, profile, judges):
    judge, browser = Judge(), Chromium(profile)
    try:
        browser.screen(1280, 900)
        for each in judges:
            each(judge, browser, f"file://{os.path.abspath(path)}")
        judge.that("nothing on the console", not browser.console, " ".join(browser.console)[:300])
    finally:
        browser.close()
    return judge.wrong


def check_browser(path, profile):
    return in_browser(path, profile, (judge_keyboard, judge_search, judge_reader, judge_looks))


def judge_time(judge, browser, url):
    began = time.monotonic()
    browser.open(url)
    seconds = time.monotonic() - began
    # No speed is asked of a machine that does other things as well: what takes a minute does not work.
    judge.that("it opens", seconds < 60, f"in {seconds:.1f} s")
    click = """(() => { const began = performance.now(); document.querySelector('#hosts [data-key="planned"]').click();
      document.body.offsetHeight; return performance.now() - began; })()"""
    milliseconds = browser.ask(click)
    judge.that("and sorts", milliseconds < 60000, f"in {milliseconds:.0f} ms")


def check_large(path, profile):
    return in_browser(path, profile, (judge_time,))


def main():
    what, *arguments = sys.argv[1:]
    checks = {
        "markup": check_markup,
        "doubts": check_doubts,
        "alone": lambda path: [w for w in check_alone(path) if w != "http://prometheus:9090:"],
        "browser": check_browser,
        "large": check_large,
    }
    wrong = checks[what](*arguments)
    for line in wrong:
        print("#", line[:500])
    sys.exit(1 if wrong else 0)


main()
