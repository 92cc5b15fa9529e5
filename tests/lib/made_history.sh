# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Histories that are made up. The script sets writer (keep_writer), period (seconds from one record to the next), and if it
# likes jitter.

# made_history FILE FROM TO NAME:NUMBER:LOW:HIGH:HOUR[:WRITTEN[:QUIET]]...: guests that need twice LOW MiB (keep_writer's upper
# bound is twice the WSS) and up to twice jitter MiB more, and for the two hours of the day from HOUR on twice HIGH. Those that
# have WRITTEN are KVM guests that write so many MiB a second, but QUIET on Sundays from 03:00 to 04:00 UTC.
made_history() {
	local file=$1 from=$2 to=$3
	shift 3
	# shellcheck disable=SC2154 # the script's
	awk -v from="$from" -v to="$to" -v period="$period" -v jitter="${jitter:-0}" -v guests="$*" 'BEGIN {
		n = split(guests, all, " ")
		for (t = from; t <= to; t += period)
			for (i = 1; i <= n; i++) {
				split("", g)
				split(all[i], g, ":")
				hour = int(t % 86400 / 3600)
				busy = hour == g[5] || hour == g[5] + 1
				printf "%s %08d-1111-4111-8111-111111111111 %d %d %d %d", g[1], g[2], t,
					(busy ? g[4] : g[3]) + int(t / period) * g[2] % (jitter + 1), period, t
				quiet = int((t / 3600 + 72) % 168) == 6 * 24 + 3
				if (g[6] != "")
					printf " nan %s", quiet && g[7] != "" ? g[7] : g[6]
				print ""
			}
	}' | "$writer" "$file" ask | awk '$1 != 0 { print; bad = 1 } END { exit bad }'
}

# made_event FILE KIND TIME NAME: of the guest of that name.
made_event() {
	sqlite3 -batch "$1" "INSERT INTO event(guest_id, time_ms, kind) SELECT id, ${3}000, '$2' FROM guest WHERE name = '$4'"
}
