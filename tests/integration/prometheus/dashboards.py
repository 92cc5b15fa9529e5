#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Grafana's dashboards of host/prometheus, held against the histories that a Prometheus has scraped; for dashboards.sh.

dashboards.py URL RULES INSTANCE=HISTORY:JOURNAL... form DIRECTORY      what Grafana needs is there: variables, units, links
dashboards.py URL RULES INSTANCE=HISTORY:JOURNAL... queries DIRECTORY   each query answers, with what the history says
"""

import json
import pathlib
import re
import sqlite3
import sys
import urllib.parse
import urllib.request

# A scraped sample gets the time at which the scrape began, and can be queried when it has ended, a second later at
# most.
SETTLED_S = 3
# The panels that Grafana brings.
PANELS = {"stat", "table", "timeseries", "bargauge", "row"}
# Values of each instance's variables: a window that it has, and the guest whose dashboard is tried.
WINDOW = {"real": "2", "written": "60"}
GUEST = {"real": "one", "written": "instance-00000000"}
# A query must answer on one instance at least. What only one of them can have: agents report in the written history, and
# vmwss-balloond runs on the real host.


class Prometheus:
    def __init__(self, url):
        self.url = url
        self.now = float(self.get("query", query="time()")["result"][0]) - SETTLED_S

    def get(self, what, **parameters):
        with urllib.request.urlopen(f"{self.url}/api/v1/{what}?{urllib.parse.urlencode(parameters)}") as answer:
            return json.load(answer)["data"]

    def vector(self, query):
        """[(labels, value)]; an instant vector."""
        found = self.get("query", query=query, time=f"{self.now:.3f}")["result"]
        return [(s["metric"], float(s["value"][1])) for s in found]

    def range(self, selector):
        """{(instance, domain): [value]} of the last eight seconds, over all else."""
        out = {}
        for s in self.get("query", query=f"{selector}[8s]", time=f"{self.now:.3f}")["result"]:
            key = s["metric"]["instance"], s["metric"].get("domain")
            out.setdefault(key, []).extend(float(v) for _, v in s["values"])
        return out


def rows(path, query, *values):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    database.row_factory = sqlite3.Row
    try:
        return database.execute(query, values).fetchall()
    finally:
        database.close()


class History:
    """What an instance's files say as of the last scrape: {metric: [(labels, value)]}, as the exporter should have it."""

    # Columns of the table word, and of the journal's table decision.
    REPORTED = {
        "vmwss_guest_memory_total_bytes": "total_bytes",
        "vmwss_guest_memory_used_bytes": "used_bytes",
        "vmwss_guest_memory_available_bytes": "available_bytes",
        "vmwss_guest_cache_warm_bytes": "cache_warm_bytes",
        "vmwss_guest_cache_cold_bytes": "cache_cold_bytes",
        "vmwss_guest_pressure_some_ratio": "psi_some",
        "vmwss_guest_pressure_full_ratio": "psi_full",
        "vmwss_guest_swap_in_bytes_per_second": "swap_in_bytes_s",
        "vmwss_guest_swap_out_bytes_per_second": "swap_out_bytes_s",
        "vmwss_guest_refault_bytes_per_second": "refault_bytes_s",
        "vmwss_guest_agreement_ratio": "agreement",
    }
    DECIDED = {f"vmwss_balloon_{name}_bytes": f"{name}_bytes" for name in ("target", "wish", "floor", "actual")}

    def __init__(self, prometheus, instance, history, journal):
        self.instance, self.out = instance, {}
        self.scraped_s = prometheus.vector(f'timestamp(vmwss_guests{{instance="{instance}"}})')[0][1]
        scans = prometheus.vector(f'vmwss_last_scan_timestamp_seconds{{instance="{instance}"}}')
        times = {labels["domain"]: value for labels, value in scans}
        for labels, _ in prometheus.vector(f'vmwss_ram_bytes{{instance="{instance}"}}'):
            self.add_record(history, labels["domain"], times.get(labels["domain"]))
        measured = len(self.out["vmwss_precision_ratio"])
        self.add("vmwss_guests", {}, measured)
        self.add("vmwss_guests_not_measured", {}, len(self.out["vmwss_ram_bytes"]) - measured)
        self.add("vmwss_plan_capacity_bytes", {}, 1 << 30)
        self.add("vmwss_plan_reserve_bytes", {}, 0)
        if journal:
            self.add_decisions(journal)

    def add(self, metric, labels, value):
        if value is not None:
            self.out.setdefault(metric, []).append(({"instance": self.instance} | labels, value))

    def add_record(self, path, domain, time_s):
        """The record of that very time; of a guest that is not measured, which has no such time, its last one."""
        at = "ABS(s.time_ms - ?) < 1" if time_s else "s.time_ms <= ?"
        time_ms = (time_s or self.scraped_s) * 1000
        record = rows(
            path,
            "SELECT s.*, g.host, g.uuid, w.* FROM sample s JOIN guest g ON g.id = guest_id"
            f" LEFT JOIN word w ON w.sample_id = s.id WHERE g.name = ? AND {at} ORDER BY s.time_ms DESC LIMIT 1",
            domain,
            time_ms,
        )[0]
        labels = {"domain": domain}
        info = {"method": record["method"], "mode": record["mode"], "accel": record["accel"]}
        self.add("vmwss_guest_info", labels | info | {"uuid": record["uuid"], "host": record["host"]}, 1)
        for name in ("ram_bytes", "resident_bytes", "unmeasurable_bytes"):
            self.add(f"vmwss_{name}", labels, record[name])
        for flag in filter(None, record["flags"].split(",")):
            self.add("vmwss_flag", labels | {"flag": flag}, 1)
        if record["method"] != "none":
            self.add_measured(labels, record)
        self.add_writes(path, labels)
        if record["source"]:
            self.add("vmwss_guest_verdict", labels | {"verdict": record["verdict"], "source": record["source"]}, 1)
            for metric, column in self.REPORTED.items():
                self.add(metric, labels, record[column])

    def add_writes(self, path, labels):
        """The last curve of writes that there was."""
        curves = rows(
            path,
            "SELECT w.windows FROM write_set w JOIN guest g ON g.id = guest_id WHERE g.name = ? AND time_ms <= ?"
            " ORDER BY time_ms DESC LIMIT 1",
            labels["domain"],
            self.scraped_s * 1000,
        )
        for point in json.loads(curves[0]["windows"]) if curves else []:
            self.add("vmwss_write_set_bytes", labels | {"window": f"{point[0]:g}"}, point[2])

    def add_measured(self, labels, record):
        self.add("vmwss_last_scan_timestamp_seconds", labels, record["time_ms"] / 1000)
        self.add("vmwss_scan_period_seconds", labels, record["period_s"])
        self.add("vmwss_scan_cpu_seconds", labels, record["cpu_s"])
        self.add("vmwss_precision_ratio", labels, record["precision"])
        for window in json.loads(record["windows"]):
            named = labels | {"window": f"{window[0]:g}"}
            for place, name in enumerate(("vmwss_window_measured_seconds", "vmwss_working_set_bytes")):
                self.add(name, named, window[1 + place])
            self.add("vmwss_working_set_low_bytes", named, window[3])
            self.add("vmwss_working_set_high_bytes", named, window[4])

    def add_decisions(self, path):
        """The last decision of each guest as of the scrape."""
        counts = {}
        for row in rows(path, "SELECT * FROM decision WHERE time_s <= ? ORDER BY id", self.scraped_s):
            counts.setdefault((row["action"], row["hold"]), []).append(row)
            last = {"domain": row["name"]}
            kinds = {"action": row["action"], "hold": row["hold"], "mode": row["mode"]}
            for metric, column in self.DECIDED.items():
                self.drop(metric, last)
                self.add(metric, last, row[column])
            self.drop("vmwss_balloon_state", last)
            self.add("vmwss_balloon_state", last | kinds, 1)
            for metric, value in (("acted", row["acted"]), ("panics", 0)):
                self.drop(f"vmwss_balloon_{metric}", last)
                self.add(f"vmwss_balloon_{metric}", last, value)
            self.out["vmwss_balloon_host_level"] = []
            self.add("vmwss_balloon_host_level", {"level": row["level"]}, 1)
        for (action, hold), found in counts.items():
            self.add("vmwss_balloon_decisions", {"action": action, "hold": hold}, len(found))

    def drop(self, metric, labels):
        self.out[metric] = [s for s in self.out.get(metric, []) if not labels.items() <= s[0].items()]


class Expected:
    """What a query must answer: exactly, or within bounds, which are (low, high)."""

    def __init__(self, prometheus, histories):
        self.prometheus, self.histories = prometheus, histories

    def all(self, metric, labels):
        found = [s for h in self.histories for s in h.out.get(metric, [])]
        return [s for s in found if labels.items() <= s[0].items()]

    def selector(self, text):
        """Of METRIC{LABEL="VALUE",...}; None: it is something else."""
        match = re.fullmatch(r"([a-z_:]+)(?:\{([^{}]*)\})?", text)
        if not match:
            return None
        metric, labels = match[1], dict(re.findall(r'(\w+)="([^"]*)"', match[2] or ""))
        if metric.startswith("vmwss:"):
            return self.rule(metric, labels)
        if metric in ("vmwss_plan_need_bytes", "vmwss_plan_size_bytes", "vmwss_plan_host_need_bytes"):
            return self.planned(metric, labels)
        return self.all(metric, labels)

    def planned(self, metric, labels):
        """Of some minute, or hour, that has passed: within what each guest has."""
        ram = self.all("vmwss_ram_bytes", {k: v for k, v in labels.items() if k in ("instance", "domain")})
        if metric == "vmwss_plan_host_need_bytes":
            return self.together(ram, ["instance"], lambda values: (1, sum(values)))
        if metric == "vmwss_plan_size_bytes":  # vmwssd has not run for an hour
            measured = [s[0] for s in self.all("vmwss_precision_ratio", {"instance": "written"})]
            ram = [s for s in ram if s[0] in measured]
        return [(l, (1, v)) for l, v in ram]

    def rule(self, metric, labels):
        """The rules are evaluated between scrapes: by what was scraped within eight seconds."""
        if metric == "vmwss:working_set:ratio":
            found = []
            for l, ram in self.all("vmwss_ram_bytes", {k: v for k, v in labels.items() if k != "window"}):
                match = ",".join(f'{k}="{l[k]}"' for k in ("instance", "domain"))
                window = labels["window"]
                seen = self.prometheus.range(f'vmwss_working_set_bytes{{{match},window="{window}"}}')
                found += [(l | {"window": window}, (min(v) / ram, max(v) / ram)) for v in seen.values()]
            return found
        resident, high = (
            self.prometheus.range(name) for name in ("vmwss_resident_bytes", "vmwss_working_set_high_bytes")
        )
        found = []
        for (instance, domain), seen in high.items():
            here = resident[instance, domain]
            bounds = max(min(here) - max(seen), 0), max(max(here) - min(seen), 0)
            found.append(({"instance": instance, "domain": domain}, bounds))
        if metric == "vmwss:reclaimable:bytes_sum":
            both = self.together(found, ["instance"], lambda values: tuple(sum(v[i] for v in values) for i in (0, 1)))
            return [s for s in both if labels.items() <= s[0].items()]
        return [s for s in found if labels.items() <= s[0].items()]

    @staticmethod
    def together(samples, by, how):
        groups = {}
        for labels, value in samples:
            groups.setdefault(tuple((k, labels[k]) for k in by), []).append(value)
        return [(dict(key), how(values)) for key, values in groups.items()]

    @staticmethod
    def added(values):
        if isinstance(values[0], tuple):
            return tuple(sum(v[i] for v in values) for i in (0, 1))
        return sum(values)

    def of(self, query):
        """None: nobody has written down what it must answer."""
        if (found := self.selector(query)) is not None:
            return found
        if query.startswith("count(ALERTS") and query.endswith(" or vector(0)"):
            return [({}, 0)]
        if query.startswith("max by (instance) (vmwss_plan_host_need_bytes) / "):
            return [(l, (1e-9, 100)) for l, _ in self.of("max by (instance) (vmwss_plan_capacity_bytes)")]
        if match := re.fullmatch(r"(sum|max|count)(?: by \((\w+)\))? \((.*)\)|(sum|max|count)\((.*)\)", query):
            how, by, inner = match[1] or match[4], match[2], self.of(match[3] or match[5])
            function = {"sum": self.added, "max": max, "count": len}[how]
            return None if inner is None else self.together(inner, [by] if by else [], function)
        if match := re.fullmatch(r"topk\(10, (.*)\)", query):
            return sorted(self.of(match[1]), key=lambda s: s[1], reverse=True)[:10]
        if match := re.fullmatch(r"timestamp\((.*)\) - \1", query):
            # A scrape may take its time, and a period is a second or so.
            return [(l, (-0.1, 30)) for l, _ in self.of(match[1])]
        if match := re.fullmatch(r"quantile_over_time\(0.95, (.*)\[1d\]\)", query):
            # All of what was scraped, which began less than a minute or two ago.
            return [(l, (0.5 * v, 1.5 * v)) for l, v in self.of(match[1])]
        if match := re.fullmatch(r"avg_over_time\(\((.*) and on \(\) hour\(\) == (\d+)\)\[10m:1s\]\)", query):
            # The written curve is always the same, and the first scrape may have been in the hour before.
            begun = self.prometheus.vector(f"hour(min_over_time(timestamp({match[1]})[10m:1s]))")
            hours = {hour for _, hour in begun + self.prometheus.vector("hour()")}
            return self.of(match[1]) if int(match[2]) in hours else []
        if match := re.fullmatch(r"(vmwss_scan_cpu_seconds(.*)) / (vmwss_scan_period_seconds\2)", query):
            periods = {l["instance"] + l["domain"]: v for l, v in self.of(match[3])}
            return [(l, v / periods[l["instance"] + l["domain"]]) for l, v in self.of(match[1])]
        return None


def holds(value, expected):
    if isinstance(expected, tuple):
        return expected[0] <= value <= expected[1]
    return abs(value - expected) <= 1e-9 * max(abs(expected), 1)


def is_answer(answer, expected):
    """Each one expected is there, and nothing else."""
    left = list(answer)
    for labels, value in expected:
        match = [s for s in left if labels.items() <= s[0].items() and holds(s[1], value)]
        if not match:
            return False
        left.remove(match[0])
    return not left


def panels(board):
    return [p for p in board["panels"] if p["type"] != "row"]


def contexts(board):
    """The variables of the dashboard, once for each instance where it has one."""
    names = {v["name"] for v in board["templating"]["list"]}
    if "instance" not in names:
        return [{"window": WINDOW["real"]}]
    return [{"instance": i, "domain": GUEST[i], "window": WINDOW[i]} for i in WINDOW]


def replaced(text, variables):
    for name, value in variables.items():
        text = text.replace(f"${name}", value)
    return text


def labels_hold(target, panel, answer):
    """What the legend, or a table, shows as its first column is a label of each series that it shows."""
    wanted = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
    for step in panel.get("transformations", []):
        if step["id"] == "organize":
            renamed = [n for n in step["options"]["renameByName"] if not n.startswith("Value") and n != "uuid"]
            wanted |= set(renamed)
    return all(wanted <= set(labels) for labels, _ in answer)


def check_queries(prometheus, expected, boards):
    wrong, asked, answers = [], 0, {}
    for board in boards:
        for panel in panels(board):
            for target in panel["targets"]:
                # One answer to the same query for each hour of the day is enough.
                about = board["uid"], panel["title"], re.sub(r"hour\(\) == \d+", "hour()", target["expr"])
                for variables in contexts(board):
                    query = replaced(target["expr"], variables)
                    answer, must = prometheus.vector(query), expected.of(query)
                    asked += 1
                    answers[about] = answers.get(about, 0) + len(answer)
                    if must is None or not is_answer(answer, must) or not labels_hold(target, panel, answer):
                        wrong.append(f"{board['uid']}, {panel['title']}: {query}: {answer}, expected {must}")
    for (uid, title, query), found in answers.items():
        if not found:
            wrong.append(f"{uid}, {title}: {query}: no answer on any host")
    print(f"# {asked} queries asked")
    return wrong


def variables_of(board):
    return {v["name"] for v in board["templating"]["list"]}


def links_of(board):
    return re.findall(r'"url": "(/d/[^"]*)"', json.dumps(board))


def check_board(board, boards, rules):
    wrong = []
    text = json.dumps(board)
    known = {b["uid"]: variables_of(b) for b in boards}
    used = set(re.findall(r"\$\{?([a-z]+)[}\":,\]]", text)) - {"__value", "__field"}
    wrong += [f"variable {v} is not defined" for v in used - variables_of(board)]
    if not 36 <= board["schemaVersion"] <= 39:
        wrong.append(f"schemaVersion {board['schemaVersion']}")
    for panel in panels(board):
        if not panel["fieldConfig"]["defaults"].get("unit") or not panel["targets"] or not panel["title"]:
            wrong.append(f"{panel['title']}: no unit, query or title")
        if any(t["datasource"]["uid"] != "${datasource}" for t in panel["targets"]):
            wrong.append(f"{panel['title']}: a data source of its own")
    wrong += [f"panel {p['type']} is not Grafana's own" for p in board["panels"] if p["type"] not in PANELS]
    ids = [p["id"] for p in board["panels"]]
    if len(ids) != len(set(ids)):
        wrong.append("two panels of one id")
    for rule in set(re.findall(r"\bvmwss:[a-z_:]+", text)):
        if f"record: {rule}\n" not in rules:
            wrong.append(f"no rule {rule}")
    for url in links_of(board):
        uid = re.match(r"/d/([\w-]+)", url)[1]
        names = set(re.findall(r"[?&]var-(\w+)=", url))
        if uid not in known or not names <= known[uid]:
            wrong.append(f"link {url}: {names - known.get(uid, set())}")
    return [f"{board['uid']}: {w}" for w in wrong]


def check_variables(prometheus, board):
    """label_values(SELECTOR, LABEL) has values."""
    wrong = []
    for variable in board["templating"]["list"]:
        if variable["type"] != "query":
            continue
        selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
        for context in contexts(board):
            found = prometheus.get(f"label/{label}/values", **{"match[]": replaced(selector, context)})
            if not found:
                wrong.append(f"{board['uid']}: {variable['name']} has no values: {selector}")
    return wrong


def check_form(prometheus, boards, rules):
    wrong = [w for b in boards for w in check_board(b, boards, rules) + check_variables(prometheus, b)]
    if {b["uid"] for b in boards} != {"vmwss-fleet", "vmwss-host", "vmwss-guest"}:
        wrong.append("not the three dashboards")
    ways = {(b["uid"], re.match(r"/d/([\w-]+)", url)[1]) for b in boards for url in links_of(b)}
    if not {("vmwss-fleet", "vmwss-host"), ("vmwss-host", "vmwss-guest"), ("vmwss-fleet", "vmwss-guest")} <= ways:
        wrong.append(f"no way from the fleet to its hosts and to their guests: {ways}")
    return wrong


def main():
    url, rules_path, *instances, what, directory = sys.argv[1:]
    boards = [json.loads(p.read_text(encoding="utf-8")) for p in sorted(pathlib.Path(directory).glob("*.json"))]
    prometheus = Prometheus(url)
    if what == "form":
        wrong = check_form(prometheus, boards, pathlib.Path(rules_path).read_text(encoding="utf-8"))
    else:
        histories = []
        for instance in instances:
            name, files = instance.split("=")
            histories.append(History(prometheus, name, *files.split(":")))
        wrong = check_queries(prometheus, Expected(prometheus, histories), boards)
    for line in wrong:
        print("#", line[:600])
    sys.exit(1 if wrong else 0)


main()
