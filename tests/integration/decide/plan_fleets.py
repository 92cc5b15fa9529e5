#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Series of made-up fleets, and a server between that spoils answers; for plan_fleets.sh.

plan_fleets.py make NOW HOURS <FLEETS   prints what a Prometheus has scraped once a minute, as OpenMetrics
plan_fleets.py spoil URL                prints its port; the first folder of a path says how it spoils the answer

FLEETS is a JSON object of lists of hosts: {"host", "labels"?, "skew"?, "capacity"?, "gap"?, "guests"}; a guest is
{"name", "id", "need", "from"?, "to"?}: MiB, and hours before NOW. Each series has the label fleet. A guest may have "labels" that
replace its own, "lost": a metric that relabelling drops, "mute": how many hours ago its needs ended, "burst": [need, from, to], "ram",
and "cpus". Labels that are null are dropped, a host may have "lost", too, and a capacity or RAM may be [[FROM, MiB], ...], which changes.
A guest that lost "all" has no series, and a host "frozen" FROM has those of a file that was not written since then. A guest with a
"skew" was scraped so much later than its host: by another replica, which Thanos chooses for each series (pkg/dedup/iter.go).
"""

import http.server
import json
import sys
import urllib.parse
import urllib.request

MIB = 1 << 20
# Answers of servers, with status 422, to a query that exceeds a limit. Prometheus: promql/engine.go, ErrTooManySamples, which
# web/api/v1/api.go makes an error of type execution; Mimir: pkg/querier/error_translate_queryable.go, with a text as its
# runbooks list it (err-mimir-max-chunks-per-query); VictoriaMetrics: app/vmselect/prometheus/error_response.qtpl, the type is the status.
LIMITS = {
    "samples": ("execution", "query processing would load too many samples into memory in query execution"),
    "chunks": (
        "execution",
        "the query exceeded the maximum number of chunks (limit: 2000000 chunks) (err-mimir-max-chunks-per-query)",
    ),
    "searches": (
        "422",
        "error when executing query: cannot select more than -search.maxSamplesPerQuery=1000000000 samples",
    ),
}
MOST_TIMES = 40
# Parts of the queries whose answers lack a host, unsaid.
LOSSY = {
    "no-name": "^last_over_time(vmwss_plan_reserve_bytes",
    "no-scrape": "(timestamp(vmwss_plan_reserve_bytes",
    "no-doubt": "< 0.98 * sum by (host)",
    "no-now": "vmwss_plan_capacity_bytes|",
    "no-size": "quantile_over_time(",
    "no-ram": "min_over_time(vmwss_plan_ram_bytes",
    "no-minute": "count_over_time((max by (host)",
}
# So long a machine may take for the script until its hosts look as if they were not scraped any more.
AHEAD_HOURS = 2
SAMPLES = []


def series(metric, labels, value, at):
    text = ",".join(f'{k}="{v}"' for k, v in labels.items() if v is not None)
    SAMPLES.append((at, f"{metric}{{{text}}} {value * MIB} {at}"))


def value_at(value, ago):
    """The value of [[FROM, VALUE], ...] that many hours ago."""
    return value if not isinstance(value, list) else [one for begin, one in value if begin >= ago][-1]


def scrape(host, labels, now, at):
    series("vmwss_plan_capacity_bytes", labels, value_at(host.get("capacity", 1024), (now - at) / 3600), at)
    if host.get("lost") != "reserve":
        series("vmwss_plan_reserve_bytes", labels, host.get("reserve", 0), at)
    target = {key: value for key, value in labels.items() if key != "host"}
    written = min(at, now - host["frozen"] * 3600) if "frozen" in host else at
    series("vmwss_written_timestamp_seconds", target, written / MIB, at)
    joint = 0
    for guest in host["guests"]:
        if not guest.get("from", 1e9) >= (now - at) / 3600 >= guest.get("to", -AHEAD_HOURS):
            continue
        then = at + guest.get("skew", 0)
        own = dict(labels, domain=guest["name"], uuid=f"{guest['id']:08}-3333-4111-8111-111111111111")
        own.update(guest.get("labels", {}))
        burst, begin, end = guest.get("burst", (0, 0, 0))
        need = burst if begin >= (now - at) / 3600 >= end else guest["need"]
        if guest.get("lost") not in ("ram", "all"):
            series("vmwss_plan_ram_bytes", own, value_at(guest.get("ram", 1024), (now - at) / 3600), then)
        if (now - at) / 3600 < guest.get("mute", -AHEAD_HOURS):
            continue
        joint += need
        if guest.get("lost") == "all":
            continue
        own["window"] = "60"
        if "cpus" in guest:
            series("vmwss_window_vcpu_seconds", own, guest["cpus"] * 60 / MIB, then)
            series("vmwss_window_measured_seconds", own, 60 / MIB, then)
            # A counter of libvirt's own exporter, which knows neither hosts nor windows: github.com/Tinkoff/libvirt-exporter.
            theirs = {"fleet": labels["fleet"], "job": "libvirt", "instance": host["host"], "domain": guest["name"]}
            series("libvirt_domain_info_cpu_time_seconds_total", theirs, guest["cpus"] * (at % 10**6) / MIB, then)
        series("vmwss_plan_need_bytes", own, need, then)
        series("vmwss_plan_size_bytes", own, need, then)
    series("vmwss_plan_host_need_bytes", dict(labels, window="60"), joint, at)


def make(now, hours):
    for fleet, hosts in json.load(sys.stdin).items():
        for host in hosts:
            labels = {"fleet": fleet, "job": "vmwss", "host": host["host"], "instance": host["host"]}
            labels.update(host.get("labels", {}))
            for at in range(now - int(hours * 3600) + 7 + host.get("skew", 0), now + AHEAD_HOURS * 3600, 60):
                ago = (now - at) / 3600
                begin, end = host.get("gap", (0, 1))
                if host.get("from", 1e9) >= ago >= host.get("to", -AHEAD_HOURS) and not begin >= ago >= end:
                    scrape(host, labels, now, at)
    # Several hosts may have the same series.
    for _, sample in sorted(SAMPLES):
        print(sample)
    print("# EOF")


class Spoiler(http.server.BaseHTTPRequestHandler):
    def spoil(self, how, path, answer):
        result = answer["data"]["result"]
        if how == "partial":  # the storage node with these series is gone
            answer["isPartial"] = True
            answer["data"]["result"] = [one for one in result if one["metric"].get("host") != "node2"]
        elif how == "warnings":  # of stores that did not answer: Thanos, pkg/store/proxy.go
            answer["warnings"] = ["", "store b is gone", "store c is gone"]
        elif how == "failed":  # beside what there is
            answer["error"] = "store b is gone; store c is gone"
        elif how == "spelled":  # by a server of another kind
            answer["is_partial"] = True
        elif how in LOSSY and LOSSY[how] in "^" + urllib.parse.parse_qs(path.partition("?")[2])["query"][0]:
            lost = [one["metric"] for one in result if one["metric"].get("host") == "node2"]
            ids = ("00000003", "00000004")  # of its guests in the fleet "plain"
            answer["data"]["result"] = [
                one for one in result if one["metric"] not in lost and not one["metric"].get("uuid", "").startswith(ids)
            ]
        elif how == "late" and "query_range" in path:
            for one in result:
                one["values"] = [[at + 7200, value] for at, value in one["values"]]
        elif how == "twice" and "query_range" in path:
            for one in result:
                one["values"] = [point for point in one["values"] for _ in range(2)]
        elif how == "sizes" and "quantile_over_time" in path:  # of two servers, one after the other
            answer["data"]["result"] = [dict(one, value=[one["value"][0], "1048576"]) for one in result] + result
        elif how == "lost" and "query_range" in path and "step=3600" not in path:
            answer["data"]["result"] = [one for one in result if one["metric"].get("uuid", "")[:8] != "00000002"]
        elif how == "lost-steps" and "step=300" in path:
            answer["data"]["result"] = [one for one in result if one["metric"].get("uuid", "")[:8] != "00000002"]
        elif how == "lost-hours" and "step=3600" in path:
            answer["data"]["result"] = [one for one in result if one["metric"].get("uuid", "")[:8] != "00000002"]
        elif how == "inf" and "vmwss_plan_ram_bytes" in path:
            for one in result:
                if one["metric"].get("__name__", "vmwss_plan_ram_bytes") == "vmwss_plan_ram_bytes":
                    one["value"][1] = "+Inf"

    def refuse(self, kind, words):
        body = json.dumps({"status": "error", "errorType": kind, "error": words}).encode()
        self.send_response(422)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        how, path = self.path[1:].split("/", 1)
        asked = urllib.parse.parse_qs(urllib.parse.urlparse(path).query)
        if how in LIMITS and "end" in asked:
            span = float(asked["end"][0]) - float(asked["start"][0])
            if span / float(asked["step"][0]) > MOST_TIMES:
                return self.refuse(*LIMITS[how])
        if how == "aligned" and "end" in asked:  # Thanos: internal/cortex/querier/queryrange/step_align.go
            step = float(asked["step"][0])
            asked.update({key: [float(asked[key][0]) // step * step] for key in ("start", "end")})
            path = f"{path.partition('?')[0]}?{urllib.parse.urlencode(asked, doseq=True)}"
        with urllib.request.urlopen(f"{sys.argv[2]}/{path}") as upstream:
            answer = json.load(upstream)
        self.spoil(how, path, answer)
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        # M3: src/query/api/v1/handler/prometheus/handleroptions/header.go; the second is there in any case.
        if how == "limited":
            self.send_header("M3-Results-Limited", "max_fetch_series_limit_applied")
        if how in ("cut", "whole"):
            limited = "true" if how == "cut" else "false"
            self.send_header(
                "M3-Returned-Data-Limited", f'{{"Series":3,"Datapoints":6,"TotalSeries":4,"Limited":{limited}}}'
            )
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass


if sys.argv[1] == "make":
    make(int(sys.argv[2]), float(sys.argv[3]))
else:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Spoiler)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    server.serve_forever()
