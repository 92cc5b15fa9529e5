# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The build's vmwss-balloond beside a vmwssd of our own. Needs libvirtd.sh, guests.sh and vmwssd.sh.

# Where it may write, which runs as a user of its own.
journal=$guests_dir/balloond/journal.db
mkdir -p "$guests_dir/balloond"
controller=
controller_log=$guests_dir/balloond.log

# balloond_conf LINE...: its configuration: proactive, and with short waits where it otherwise waits for minutes, unless a line
# is of another opinion.
balloond_conf() {
	local line
	{
		printf '%s\n' '[vmwss-balloond]' 'connect = qemu:///system' "database = $db" "journal = $journal" 'mode = proactive' \
			'window = 2,4' 'shrink-after = 1' 'min-uptime = 1' 'prove-after = 1' 'min-history = 0'
		for line; do printf '%s\n' "$line"; done
	} >"$guests_dir/balloond.conf"
}
# Options besides the configuration.
controller_options=()
controller_begin() {
	chmod o+x "$guests_dir"
	chown -R vmwss-balloond: "$guests_dir/balloond"
	"$build/host/vmwss-balloond" --config "$guests_dir/balloond.conf" "${controller_options[@]}" 2>>"$controller_log" &
	controller=$!
}
# controller_end SIGNAL: returns its exit status.
controller_end() {
	local status=0
	kill "-$1" "$controller"
	wait "$controller" 2>/dev/null || status=$?
	controller=
	return $status
}
controller_logged() { grep -qE -- "$1" "$controller_log"; }
# actual NAME: what its balloon leaves it, in MiB.
actual() { embed_virsh dommemstat "$1" | awk '$1 == "actual" { print int($2 / 1024) }'; }
is() { test "$(actual "$1")" "$2" "$3"; }
# journal QUERY
journal() { sqlite3 -batch -readonly -cmd '.timeout 10000' "$journal" "$1" 2>/dev/null; }
# decided CONDITION: there is such a decision.
decided() { [[ $(journal "SELECT count(*) FROM decision WHERE $1") -gt 0 ]]; }

end_all() {
	[[ -z $controller ]] || kill -KILL "$controller" 2>/dev/null
	[[ -z $daemon ]] || kill -KILL "$daemon" 2>/dev/null
	libvirtd_end
	end_guests
}
