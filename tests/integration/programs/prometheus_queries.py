#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What Prometheus answers, held against the database that it comes from; for prometheus.sh.

prometheus_queries.py URL DATABASE queries MANUAL README   each query of the documentation has the answer it must have
prometheus_queries.py URL DATABASE scraped                 every sample of the last half minute is a record

The documentation's windows and times are replaced by those of the test: 60 by 2, 3600 by 6, a day by half a minute.
"""

import json
import re
import sqlite3
import sys
import urllib.parse
import urllib.request

SHORT, LONG, SPAN_S = "2", "6", 30
INSTANCE = 'instance="exporter"'


# A scraped sample gets the time at which the scrape began, and can be queried when it has ended, a second later at
# most.
SETTLED_S = 3


class Prometheus:
    """The server at @url, asked as of one moment, of which nothing is still to come."""

    def __init__(self, url):
        self.url = url
        self.now = float(self.ask("time()", None)["result"][0]) - SETTLED_S

    def ask(self, query, at):
        parameters = {"query": query} if at is None else {"query": query, "time": f"{at:.3f}"}
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{urllib.parse.urlencode(parameters)}") as answer:
            return json.load(answer)["data"]

    def vector(self, query):
        """[(domain, or "" for a sum, value, labels)] of the exporter's instance."""
        found = [s for s in self.ask(query, self.now)["result"] if s["metric"].get("instance") == "exporter"]
        return [(s["metric"].get("domain", ""), float(s["value"][1]), s["metric"]) for s in found]

    def by_domain(self, query):
        return {domain: value for domain, value, _ in self.vector(query)}

    def samples(self, selector):
        """{domain: {time of the scrape: value}} of the last half minute."""
        found = self.ask(f"{selector}[{SPAN_S}s]", self.now)["result"]
        return {s["metric"]["domain"]: {t: float(v) for t, v in s["values"]} for s in found}


class Record:
    """One row of the table sample, and its windows."""

    COLUMNS = "time_ms, ram_bytes, resident_bytes, cpu_s, period_s, method, windows"

    def __init__(self, row):
        self.time_ms, self.ram, self.resident, self.cpu_s, self.period_s, self.method, windows = row
        self.windows = {f"{w[0]:g}": w for w in json.loads(windows)}

    def wss(self, window=SHORT):
        return self.windows[window][2]

    def high(self, window):
        return self.windows[window][4]


class Database:
    def __init__(self, path):
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def select(self, domain, condition, *values):
        rows = self.db.execute(
            f"SELECT {Record.COLUMNS} FROM sample JOIN guest ON guest.id = guest_id WHERE guest.name = ? AND {condition}",
            (domain, *values),
        )
        return [Record(row) for row in rows]

    def at(self, domain, time_s):
        """The one record of that very time."""
        (record,) = self.select(domain, "time_ms = ?", round(time_s * 1000))
        return record


def adapted(query):
    query = query.replace('window="60"', f'window="{SHORT}"').replace('window="3600"', f'window="{LONG}"')
    return query.replace("[1d]", f"[{SPAN_S}s]")


def of_manual(path):
    """The queries of the section EXAMPLES."""
    text = open(path, encoding="utf-8").read()
    section = re.search(r"^\.SH EXAMPLES\n(.*?)^\.SH ", text, re.M | re.S).group(1)
    return [line for block in re.findall(r"^\.EX\n(.*?)^\.EE", section, re.M | re.S) for line in block.splitlines()]


def of_readme(path):
    text = open(path, encoding="utf-8").read()
    return [line for block in re.findall(r"^```promql\n(.*?)^```", text, re.M | re.S) for line in block.splitlines()]


def close(value, expected):
    return abs(value - expected) <= 1e-9 * max(abs(expected), 1)


def p95_holds(value, domain, prometheus, database):
    """Exactly the quantile of what was scraped, and close to that of what was recorded meanwhile: a record may be scraped
    twice, or not at all."""
    scraped = sorted(prometheus.samples(f'vmwss_working_set_bytes{{window="{SHORT}",{INSTANCE}}}')[domain].values())
    place = 0.95 * (len(scraped) - 1)
    below = scraped[int(place)]
    exact = below + (scraped[min(int(place) + 1, len(scraped) - 1)] - below) * (place % 1)
    to_ms = prometheus.now * 1000
    kept = database.select(domain, "time_ms BETWEEN ? AND ?", to_ms - (SPAN_S + 5) * 1000, to_ms)
    recorded = sorted(r.wss() for r in kept if SHORT in r.windows)
    near = recorded[int(0.95 * (len(recorded) - 1))]
    return close(value, exact) and 0.9 * near <= value <= 1.1 * near


def expectations(prometheus, database):
    """For each documented query: is this the answer, of this domain?"""
    scans = prometheus.by_domain(f"vmwss_last_scan_timestamp_seconds{{{INSTANCE}}}")
    records = {domain: database.at(domain, value) for domain, value in scans.items()}
    scraped = prometheus.by_domain(f"timestamp(vmwss_last_scan_timestamp_seconds{{{INSTANCE}}})")
    give_back = sum(r.resident - r.high(LONG) for r in records.values())
    share = sum(r.cpu_s / r.period_s for r in records.values())
    each = set(records)
    return {
        'vmwss_working_set_bytes{window="60"}': (each, lambda d, v, _: v == records[d].wss()),
        'vmwss_working_set_bytes{window="60"} / ignoring (window) vmwss_ram_bytes': (
            each,
            lambda d, v, _: close(v, records[d].wss() / records[d].ram),
        ),
        'quantile_over_time(0.95, vmwss_working_set_bytes{window="60"}[1d])': (
            each,
            lambda d, v, _: p95_holds(v, d, prometheus, database),
        ),
        "sum by (instance) (vmwss_resident_bytes - ignoring (window) "
        'vmwss_working_set_high_bytes{window="3600"})': ({""}, lambda d, v, _: v == give_back),
        "timestamp(vmwss_last_scan_timestamp_seconds) - vmwss_last_scan_timestamp_seconds": (
            each,
            lambda d, v, _: v >= 0 and abs(v - (scraped[d] - records[d].time_ms / 1000)) < 1e-3,
        ),
        "vmwss_working_set_bytes * on (instance, domain) group_left (method) vmwss_guest_info": (
            each,
            lambda d, v, labels: v == records[d].wss(labels["window"]) and labels["method"] == records[d].method,
        ),
        "sum by (instance) (vmwss_scan_cpu_seconds / vmwss_scan_period_seconds)": (
            {""},
            lambda d, v, _: v > 0 and close(v, share),
        ),
    }


def check_queries(prometheus, database, manual, readme):
    wrong = 0
    documented = of_manual(manual)
    expected = expectations(prometheus, database)
    if sorted(documented) != sorted(expected):
        print(f"# documented, or expected, but not both: {set(documented) ^ set(expected)}")
        wrong += 1
    if not of_readme(readme) or not set(of_readme(readme)) <= set(documented):
        print(f"# in the README only: {set(of_readme(readme)) - set(documented)}")
        wrong += 1
    for query in documented:
        domains, holds = expected[query]
        answer = prometheus.vector(adapted(query))
        bad = [a for a in answer if a[0] not in domains or not holds(*a)]
        if {domain for domain, _, _ in answer} != domains or bad:
            print(f"# {query}: {answer}, wrong are {bad}")
            wrong += 1
    return wrong


def check_scraped(prometheus, database):
    wrong = 0
    n = 0
    scans = prometheus.samples(f"vmwss_last_scan_timestamp_seconds{{{INSTANCE}}}")
    pairs = {"vmwss_working_set_bytes": 2, "vmwss_working_set_low_bytes": 3, "vmwss_working_set_high_bytes": 4}
    for metric, place in pairs.items():
        for domain, values in prometheus.samples(f'{metric}{{window="{SHORT}",{INSTANCE}}}').items():
            for scraped_at, value in values.items():
                record = database.at(domain, scans[domain][scraped_at])
                n += 1
                if record.windows[SHORT][place] != value:
                    print(f"# {metric} of {domain}: {value}, recorded {record.windows[SHORT]}")
                    wrong += 1
    print(f"# {n} samples")
    return wrong if n >= 30 else wrong + 1


def main():
    url, path, what = sys.argv[1:4]
    prometheus, database = Prometheus(url), Database(path)
    if what == "queries":
        wrong = check_queries(prometheus, database, *sys.argv[4:6])
    else:
        wrong = check_scraped(prometheus, database)
    sys.exit(1 if wrong else 0)


main()
