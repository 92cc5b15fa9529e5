#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pages of vmwss-exporter --web in a real Chromium, judged; for web.sh.

web_pages.py arrives URL PROFILE          a browser that comes while the report is made gets it by itself
web_pages.py report URL PROFILE           the report: opens, sorts, links to the others, obeys its policy
web_pages.py status URL PROFILE ADD STOP CONTINUE
                                          the guests now, which renew themselves: ADD, STOP and CONTINUE are commands for a shell: a
                                          record of one guest more is added, the server stops to answer, and goes on
"""

import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../lib"))

from chromium import Chromium

HOSTILE = "</script><img/src=x/onerror=document.title='evil'>"


class Judge:
    def __init__(self, browser):
        self.browser, self.wrong = browser, []

    def that(self, what, true, why=""):
        if not true:
            self.wrong.append(f"{what}: {why}" if why else what)

    def is_so(self, what, expression, want):
        found = self.browser.ask(expression)
        self.that(what, found == want, f"{found!r}, expected {want!r}")

    def becomes(self, what, expression, want):
        """It does so in a while: how long that is on a busy machine nobody knows."""
        for _ in range(300):
            try:
                found = self.browser.ask(expression)
            except OSError as error:  # it is just going to another page
                found = error
            if found == want:
                return
            time.sleep(0.1)
        self.that(what, False, f"{found!r}, expected {want!r}")

    def silent(self, what):
        self.that(f"{what}: nothing on the console", not self.browser.console, " ".join(self.browser.console)[:300])


ROWS = "document.querySelectorAll('#guests tbody tr').length"
NAMES = "[...document.querySelectorAll('#guests tbody th bdi')].map((e) => e.textContent)"
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def column(name):
    """The texts of the column whose heading begins so."""
    return f"""(() => {{ const at = [...document.querySelectorAll('#guests thead th')].findIndex((h) =>
      h.textContent.startsWith({json.dumps(name)}));
      return [...document.querySelectorAll('#guests tbody tr')].map((r) => r.cells[at].textContent); }})()"""


def click(name):
    return f"""[...document.querySelectorAll('#guests thead button')].find((b) => b.textContent.startsWith({json.dumps(name)})).click()"""


# --- the report --------------------------------------------------------------------------------------------------------


def judge_arrival(judge, url):
    judge.browser.open(url)
    judge.becomes("the report comes by itself", "document.querySelectorAll('#guests tbody tr').length > 0", True)


def judge_report(judge, url):
    browser = judge.browser
    browser.open(url)
    judge.silent("the report")
    judge.that("all guests", browser.ask(ROWS) == 100, browser.ask(ROWS))
    judge.is_so("no image", "document.images.length", 0)
    browser.ask("document.querySelector('#guests [data-key=\"assigned\"]').click()")
    judge.is_so("it sorts", "location.hash", "#sort=assigned")
    links = "[...document.querySelectorAll('nav a')].map((a) => new URL(a.href).pathname)"
    judge.is_so("it links to the others", links, ["/status", "/metrics"])
    # A name that became markup could run this: the browser refuses, and says so.
    browser.ask(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.evil = 1'}))"
    )
    judge.is_so("no other script runs", "typeof window.evil", "undefined")
    fetched = "fetch('/metrics').then(() => 'fetched', () => 'refused')"
    judge.is_so("nothing is fetched", fetched, "refused")
    browser.console.clear()
    browser.screen(360, 800)
    judge.that("a narrow screen", browser.ask(WIDE) <= 0, browser.ask(WIDE))


# --- the guests now ----------------------------------------------------------------------------------------------------


def judge_table(judge):
    browser = judge.browser
    judge.is_so(
        "names are compared as a person does",
        f"{NAMES}.filter((n) => /^instance-0000000[0-9]$/.test(n))[0]",
        "instance-00000000",
    )
    browser.ask(click("WSS, 10 s"))
    sizes = [s.split(" ±")[0] for s in browser.ask(column("WSS, 10 s"))]
    units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    numbers = [float(s.split()[0]) * units[s.split()[1]] if " " in s else -1 for s in sizes]
    judge.that("sorted by working set", numbers == sorted(numbers, reverse=True) and numbers[0] > 2**20, sizes[:5])
    sort = "[...document.querySelectorAll('#guests th[aria-sort]')].filter((h) => h.ariaSort !== 'none').map((h) => h.ariaSort)"
    judge.is_so("which it says", sort, ["descending"])
    browser.ask(click("WSS, 10 s"))
    judge.is_so("and turned round", sort, ["ascending"])
    browser.ask(click("Guest"))


def judge_refresh(judge, add):
    browser = judge.browser
    before = browser.ask(ROWS)
    # The row, with what is selected in it, stays what it is.
    browser.ask("window.first = document.querySelector('#guests tbody tr'); document.getElementById('find').focus()")
    browser.ask("window.when = document.getElementById('when').textContent")
    subprocess.run(add, shell=True, check=True)
    judge.becomes("it renews itself: one guest more", ROWS, before + 1)
    judge.becomes("and its time", "window.when !== document.getElementById('when').textContent", True)
    judge.is_so("rows stay", "window.first.isConnected", True)
    judge.is_so("the focus stays", "document.activeElement.id", "find")
    judge.is_so("a hostile name is text", f"{NAMES}.includes({json.dumps(HOSTILE)})", True)
    judge.is_so(
        "and nothing else", "document.images.length + document.querySelectorAll('main script, main svg').length", 0
    )
    judge.that("the title stays", browser.ask("document.title") == "vmwss: guests now")
    judge.that("no character that reorders others", "\u202e" not in browser.ask("document.body.textContent"))


def judge_search(judge):
    browser = judge.browser
    browser.ask("document.getElementById('find').focus()")
    browser.type("instance-0000000a")
    judge.is_so("found", NAMES, ["instance-0000000a"])
    shown = browser.ask("document.getElementById('found').textContent")
    judge.that("which it says", shown.startswith("1 of "), shown)
    browser.ask(
        "document.getElementById('find').value = ''; document.getElementById('find').dispatchEvent(new Event('input'))"
    )


def judge_reader(judge):
    tree = judge.browser.tree()
    roles = {(role, name) for role, name, _ in tree}
    tables = [name for role, name in roles if role == "table"]
    judge.that("a table with a name", len(tables) == 1 and tables[0].startswith("The guests, each with"), tables)
    judge.that("a search with a name", ("searchbox", "Search") in roles)
    judge.that("a button that pauses", ("button", "Pause") in roles)
    judge.that("a heading", any(role == "heading" and name.startswith("Guests of") for role, name in roles))
    judge.that("rows have headings", sum(role == "rowheader" for role, _, _ in tree) > 50)


def judge_looks(judge):
    browser = judge.browser
    paper = "getComputedStyle(document.body).backgroundColor"
    for scheme, want in (("dark", "rgb(13, 17, 23)"), ("light", "rgb(246, 248, 250)")):
        browser.media("screen", scheme)
        judge.is_so(f"paper, {scheme}", paper, want)
    browser.screen(360, 800)
    judge.that("a narrow screen", browser.ask(WIDE) <= 0, browser.ask(WIDE))
    browser.screen(1280, 900)


def judge_pause(judge):
    browser = judge.browser
    browser.ask("document.getElementById('pause').focus()")
    browser.key(" ")
    judge.is_so("paused, by the keyboard", "document.getElementById('pause').ariaPressed", "true")
    # A request under way is still shown.
    time.sleep(1)
    count = "performance.getEntriesByType('resource').filter((e) => e.name.endsWith('status.json')).length"
    before = browser.ask(count)
    time.sleep(7)
    judge.is_so("nothing is read then", count, before)
    browser.key("Enter")
    judge.becomes("it goes on", f"{count} > {before}", True)


def judge_trouble(judge, stop, go_on):
    """What is shown stays, and it is said that it is old."""
    browser, shown = judge.browser, "document.getElementById('trouble')"
    before = browser.ask(ROWS)
    judge.is_so("no trouble", f"{shown}.hidden", True)
    judge.silent("the guests now")
    subprocess.run(stop, shell=True, check=True)
    judge.becomes(
        "that it cannot be read is said", f"!{shown}.hidden && {shown}.textContent.startsWith('Not renewed: ')", True
    )
    judge.is_so("to a screen reader as well", f"{shown}.getAttribute('role')", "alert")
    judge.is_so("the table stays", ROWS, before)
    subprocess.run(go_on, shell=True, check=True)
    judge.becomes("until it can be read again", f"{shown}.hidden", True)
    # An answer that is not ours does not stop the page from renewing itself.
    browser.ask("window.real = window.fetch; window.fetch = async () => new Response('{\"guests\":{}}')")
    judge.becomes("data of another kind are refused", f"!{shown}.hidden", True)
    judge.is_so("and not shown", ROWS, before)
    dead = '{"schema":"vmwss.current.v1","time":"2026-01-03T00:00:00.000Z","newest":"2026-01-01T00:00:00.000Z","guests":[]}'
    browser.ask(f"window.fetch = async () => new Response({json.dumps(dead)})")
    when = "document.getElementById('when').textContent"
    judge.becomes(
        "that no record came is said", f"{when}.includes('the newest record is of 2026-01-01 00:00:00 UTC, 2 d')", True
    )
    judge.is_so("of the guests, too", "document.getElementById('found').textContent", "0 guests with a record")
    browser.ask("window.fetch = window.real")
    judge.becomes("and it goes on", f"{ROWS}", before)
    browser.console.clear()


def judge_status(judge, url, add, stop, go_on):
    browser = judge.browser
    browser.open(url)
    judge.becomes("its guests come", f"{ROWS} >= 90", True)
    judge_table(judge)
    judge_refresh(judge, add)
    judge_search(judge)
    judge_reader(judge)
    judge_looks(judge)
    judge_pause(judge)
    judge_trouble(judge, stop, go_on)
    browser.ask(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.evil = 1'}))"
    )
    judge.is_so("no other script runs", "typeof window.evil", "undefined")


def main():
    what, url, profile, *commands = sys.argv[1:]
    judges = {"arrives": judge_arrival, "report": judge_report, "status": judge_status}
    browser = Chromium(profile)
    judge = Judge(browser)
    try:
        browser.screen(1280, 900)
        judges[what](judge, url, *commands)
    finally:
        browser.close()
    for line in judge.wrong:
        print("#", line[:500])
    sys.exit(1 if judge.wrong else 0)


main()
