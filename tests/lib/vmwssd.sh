# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The build's vmwssd beside a libvirtd of our own: how it begins and ends, what it logs, and what it keeps.
# Needs libvirtd.sh and guests.sh.

# Where vmwssd may write, which runs as a user of its own.
db=$guests_dir/history/history.db
mkdir -p "$guests_dir/history"
log=$guests_dir/vmwssd.log
daemon=
vmwssd=$build/host/vmwssd
# A command that starts it with what comes after.
vmwssd_under=()

# vmwssd_sanitized [LIBRARY]: from here on it is that of the asan preset, with this library before all others. What it finds
# ends it, with another status than 0, and is in files $guests_dir/asan/found.*; at the end it looks for leaks. AddressSanitizer
# takes the xdr functions of libtirpc over when it begins, and calls none of one that libvirt brings later. With glibc 2.36 it takes
# what stands before the TLS of such a library for its size, and dies of that by chance when it looks for leaks.
vmwssd_sanitized() {
	local options=log_path=$guests_dir/asan/found:verify_asan_link_order=0:intercept_tls_get_addr=0
	vmwssd=$root/build/asan/host/vmwssd
	mkdir -m 777 "$guests_dir/asan" # of two users
	vmwssd_under+=(env "LD_PRELOAD=${1:+$1:}libtirpc.so.3" "ASAN_OPTIONS=$options" "UBSAN_OPTIONS=$options:print_stacktrace=1")
}

# check_sanitizers NAME: they have found nothing.
check_sanitizers() {
	local reports
	reports=$(cat "$guests_dir"/asan/found.* 2>/dev/null | head -n 40)
	if [[ -z $reports ]]; then pass "$1"; else fail "$1" "$reports"; fi
}

# vmwssd_conf LINE...: its configuration, $guests_dir/conf. It scans whether or not a guest changes, once a second and guests
# of our libvirtd unless a line says otherwise.
vmwssd_conf() {
	{
		printf '%s\n' '[vmwssd]' "database = $db" 'max-period = none'
		[[ $* == *'connect = '* ]] || echo 'connect = qemu:///system'
		[[ $* == *'period = '* ]] || echo 'period = 1'
		printf '%s\n' "$@"
	} >"$guests_dir/conf"
}

# give_vmwssd FILE...: to the user that it runs as.
give_vmwssd() {
	chmod o+x "$guests_dir"
	chown -R vmwss: "$@"
}

# vmwssd_begin ARG...: in the background; sets daemon. Its messages are added to $log.
vmwssd_begin() {
	give_vmwssd "$(dirname "$db")"
	"${vmwssd_under[@]}" "$vmwssd" --foreground "$@" 2>>"$log" &
	daemon=$!
}

# vmwssd_end SIGNAL: returns its exit status; sets ended_ms, the time that it took.
vmwssd_end() {
	local status=0 begin
	begin=$(date +%s%3N)
	kill "-$1" "$daemon"
	wait "$daemon" 2>/dev/null || status=$?
	ended_ms=$(($(date +%s%3N) - begin))
	daemon=
	return $status
}

# vmwssd_runs: else the end of its log goes to stderr.
vmwssd_runs() {
	kill -0 "$daemon" 2>/dev/null && return
	echo "# vmwssd has ended; the end of its log:" >&2
	tail -n 5 "$log" | sed 's/^/#   /' >&2
	return 1
}

# vmwssd_runs_for SECONDS: waits so long; false as soon as it has ended.
vmwssd_runs_for() {
	local end=$((SECONDS + $1))
	while ((SECONDS < end)); do
		vmwssd_runs || return 1
		sleep 1
	done
}

# ends_in_a_second BEGIN...: as it did just now when SIGTERM ended it, or once of four more times, each after BEGIN: a busy
# machine may keep it waiting, but not always.
ends_in_a_second() {
	local i
	for ((i = 0; i < 4 && ended_ms >= 1000; i++)); do
		echo "# it took $ended_ms ms"
		"$@" && vmwssd_end TERM || return
	done
	echo "# it took $ended_ms ms"
	((ended_ms < 1000))
}

# A script that has more to end has an end_all of its own.
end_all() {
	[[ -z $daemon ]] || kill -KILL "$daemon" 2>/dev/null
	libvirtd_end
	end_guests
}
trap end_all EXIT

# logged PATTERN: it has said so.
logged() { grep -qE -- "$1" "$log"; }

# sql QUERY: of the history. A database that vmwssd has yet to make is waited for, unless it has ended, and so is one that is
# locked. Whatever else SQLite does not like fails the test, also where no answer is what was hoped for: finish fails it.
late_failures=$guests_dir/late
sql() {
	local i message=$guests_dir/sql.$BASHPID status=0
	for ((i = 0; i < 300; i++)); do
		status=0
		sqlite3 -batch -readonly -cmd '.timeout 10000' "$db" "$1" 2>"$message" || status=$?
		grep -qE 'unable to open database file|no such table' "$message" || break
		[[ -z $daemon ]] || kill -0 "$daemon" 2>/dev/null || break
		sleep 0.1
	done
	((status == 0)) || printf 'SQLite: %s: %s\n' "$(tr '\n' ' ' <"$message")" "$1" >>"$late_failures"
	rm -f -- "$message"
	return "$status"
}
