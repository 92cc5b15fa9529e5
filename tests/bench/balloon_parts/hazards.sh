#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# One hazard to an acting vmwss-balloond with real guests: hazards.sh NAME [TIMES]; --names lists them, --table FILE shows what
# has been recorded. Afterwards every balloon is as configured, the journal has known each at every moment, and is whole.
# See tests/bench/balloon --hazards.

# Each hazard, in the words of the table.
declare -A hazards=(
	[kill-balloond]='kill -9 of vmwss-balloond, a quarter of them while it gives back'
	[kill-vmwssd]='kill -9 of vmwssd: of one half, or of the other'
	[kill-libvirtd]='kill -9 of libvirtd'
	[libvirtd]='libvirtd stopped, and gone when vmwss-balloond ends'
	[disk-full]='disk full, of the journal and of the history'
	[clock]='clock set a day ahead, a day back, and right again'
	[suspended]='guest suspended, while its balloon is to be given back'
	[rebooted]='guest reset, six times while its balloon moves'
	[saved]='guest saved and restored, while its balloon is taken and while it is given back'
	[migrated]='guest migrated to another host and back'
	[lies]='agent that claims to need all, to need nothing, and each in turn'
	[agent-stops]='agent that ends, of a guest without other statistics'
	[no-driver]='guest without a driver'
	[keeps]='driver that says that it gives, and gives nothing'
	[many]='so many guests at once, and kill -9 when all have given'
)
names() {
	echo kill-balloond kill-vmwssd kill-libvirtd libvirtd disk-full clock suspended rebooted saved migrated lies agent-stops \
		no-driver keeps many
}
# Portions are added up. Columns of the record: name, times, times with a guest that had less than is assigned, balloons not as
# configured afterwards, balloons that the journal did not know, damaged files, failed checks, seconds.
table() {
	local name
	echo '| hazard | times | a guest had less meanwhile | afterwards not as configured | not in the journal | journal damaged | checks failed | s |'
	echo '|---|---|---|---|---|---|---|---|'
	for name in $(names); do
		awk -F '\t' -v name="$name" -v what="${hazards[$name]}" '$1 == name { for (i = 2; i <= 8; i++) n[i] += $i }
			END { if (n[2]) printf "| %s | %d | %d | %d | %d | %d | %d | %d |\n", what, n[2], n[3], n[4], n[5], n[6], n[7], n[8] }' "$1"
	done
}
case ${1:-} in
--names) names; exit ;;
--table) table "$2"; exit ;;
esac
if [[ ! -v hazards[${1:-}] ]]; then
	echo "hazards.sh: no hazard is called '${1:-}': $(names)" >&2
	exit 1
fi

# shellcheck disable=SC2154 # what the libraries set: shellcheck finds them from a folder beside lib/ only
libs=(libvirtd guests linux_guest vmwssd balloond migrate)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
# shellcheck source=hazards_daemons.sh
. "$(dirname "$0")/hazards_daemons.sh"
# shellcheck source=hazards_guests.sh
. "$(dirname "$0")/hazards_guests.sh"

# As in all figures of before.
export REST=no
times=${2:-1}
assigned=256
guests=()
less=0 unconfigured=0 unknown=0 damaged=0
export BALLOON=virtio RAM_XML="$memfd"
vmwssd_conf 'window = 2,4' 'samples = 500' 'budget = 50%' 'guest-budget = 20%' 'agents = yes'
balloond_conf 'act = yes' 'interval = 1' 'shrink-without-statistics = yes'

end_all() {
	[[ -z $controller ]] || kill -KILL "$controller" 2>/dev/null
	[[ -z $daemon ]] || kill -KILL "$daemon" 2>/dev/null
	end_there
	libvirtd_end
	umount "$guests_dir/balloond" "${db%/*}" 2>/dev/null # of disk-full
	end_guests
}
# cold NAME [MIB [PARAMS]]: a guest of which vmwss-balloond takes memory.
cold() {
	guests+=("$1")
	embed_create "$1" "${2:-$assigned}" "${3:-total=192M hot=16M balloon=host}" "$RAM_XML"
}
begin_or_die() {
	"$@" && return
	fail "$*"
	finish
	exit 1
}

whole() { [[ $(sqlite3 -batch -cmd '.timeout 10000' "$journal" 'PRAGMA integrity_check' 2>&1) == ok ]]; }
# The journal knows each guest that has less than is assigned, with its earlier size.
known() {
	local name size
	for name in "${guests[@]}"; do
		size=$(actual "$name")
		((size >= assigned)) || [[ $(journal "SELECT before_bytes >> 20 FROM balloon WHERE name = '$name'") == "$assigned" ]] || {
			echo "# $name has $size MiB, and the journal: $(journal "SELECT * FROM balloon WHERE name = '$name'")"
			return 1
		}
	done
}
as_configured() {
	local name
	for name in "${guests[@]}"; do is "$name" -eq $assigned || return 1; done
}
# look: at one of many moments; what is wrong is counted.
look() {
	whole || damaged=$((damaged + 1))
	known || unknown=$((unknown + 1))
	as_configured || less=$((less + 1))
}
# The journal's own word of what it has still to restore.
nothing_left() { [[ $(journal 'SELECT count(*) FROM balloon WHERE before_bytes > 0 AND restored_s = 0') == 0 ]]; }
count_unconfigured() {
	local name
	for name in "${guests[@]}"; do
		is "$name" -eq $assigned && continue
		unconfigured=$((unconfigured + 1))
		echo "# $name has $(actual "$name") MiB"
	done
}
all_is_well() {
	check "$1: every balloon is as configured" eventually as_configured
	check "$1: the journal is whole" whole
	check "$1: and has nothing left to restore" nothing_left
}
# shrunk NAME [BELOW]: cold memory is taken.
shrunk() { check "cold memory of $1 is taken" eventually is "$1" -lt "${2:-250}"; }
gives_back() { check "SIGTERM: exit 0" controller_end TERM; }
logged_times() { (($(grep -cE -- "$1" "$controller_log") >= $2)); }
random_seconds() { printf '%d.%02d' $((RANDOM % $1)) $((RANDOM % 100)); }

begin_or_die libvirtd_begin
"hazard_${1//-/_}"
all_is_well "$1"
count_unconfigured
whole || damaged=$((damaged + 1))
check "the journal was whole each time" test $damaged = 0
check "and knew each balloon" test $unknown = 0
[[ -z $daemon ]] || check "vmwssd ends" vmwssd_end TERM
grep -E '^<[0-3]>' "$controller_log" | sort | uniq -c | sort -rn | head -8 | sed 's/^/# log: /'
# shellcheck disable=SC2154 # check.sh counts it
[[ -z ${HAZARD_RECORD:-} ]] ||
	printf '%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n' "$1" "$times" $less $unconfigured $unknown $damaged "$failed" $SECONDS >>"$HAZARD_RECORD"
finish
