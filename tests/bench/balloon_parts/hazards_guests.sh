# shellcheck shell=bash disable=SC2034,SC2154 # shared with the script that sources this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Hazards by guests, and to them: see hazards.sh. A hazard begins with its guests, and leaves no vmwss-balloond.

one_cold() {
	begin_or_die cold one
	vmwssd_begin --config "$guests_dir/conf"
	controller_begin
	shrunk one
}
# Suspended, and told what to have: it will move when it goes on.
being_given_back() {
	embed_virsh suspend one >/dev/null
	gives_back
	check "the journal knows that it is on its way" \
		test "$(journal "SELECT set_bytes >> 20 FROM balloon WHERE name = 'one' AND restored_s > 0")" = "$assigned"
}

hazard_suspended() {
	one_cold
	being_given_back
	look
	controller_begin
	check "the next one adopts it" eventually controller_logged "domain one: its balloon is adopted, it had $assigned MiB, and is on its way there"
	sleep 7
	look
	embed_virsh resume one >/dev/null
	gives_back
}

hazard_rebooted() {
	local i
	one_cold
	for ((i = 0; i < 6; i++)); do
		embed_virsh reset one >/dev/null
		sleep "$(random_seconds 6)"
		look
	done
	check "it is there again" eventually is one -lt 250
	gives_back
}

# moved_on COMMAND...: by libvirt, which refuses it while our order is under way.
moved_on() { settles quietly "$@"; }
# Its driver finds no more than 44 MiB to give: what is asked for then stays on its way, for as long as it may.
saved_on_its_way() {
	begin_or_die cold two "$assigned" 'total=60M hot=16M balloon=host'
	check "two is asked for more than it has" settles_slowly decided "name = 'two' AND acted AND target_bytes < $((211 << 20))"
	controller_end KILL
	echo "# two has $(actual two) MiB, and is to have $(journal "SELECT set_bytes >> 20 FROM balloon WHERE name = 'two'")"
	check "saved on its way" moved_on embed_virsh save two "$guests_dir/saved"
	check "restored" quietly embed_virsh restore "$guests_dir/saved"
	controller_begin
	check "the next one adopts it" eventually controller_logged 'domain two: its balloon is adopted'
	look
	gives_back
}
# eventually, and noticed at once.
settles_slowly() { settles "$@" || settles "$@" || settles "$@"; }
hazard_saved() {
	one_cold
	check "saved while its balloon is taken" moved_on embed_virsh save one "$guests_dir/saved"
	sleep 3
	check "restored" quietly embed_virsh restore "$guests_dir/saved"
	sleep 3
	look
	embed_virsh save one "$guests_dir/saved" >/dev/null
	controller_end KILL
	embed_virsh restore "$guests_dir/saved" >/dev/null
	controller_begin
	check "the next one adopts it" eventually controller_logged 'domain one: its balloon is adopted'
	sleep 2
	look
	shrunk one
	being_given_back
	check "saved while it is given back" moved_on embed_virsh save one "$guests_dir/saved"
	check "restored" quietly embed_virsh restore "$guests_dir/saved" --running
	echo "# it has $(actual one) MiB"
	look
	controller_begin
	sleep 7
	saved_on_its_way
}

# migrate_one FROM TO
migrate_one() { moved_on migrate one "$1" "$2"; }
actual_there() { virsh -q -c "$there_uri" dommemstat one | awk '$1 == "actual" { print int($2 / 1024) }'; }
has_there() { test "$(actual_there)" "$@"; }
# By a vmwss-balloond of that host, with a journal of its own, which knows nothing of the guest.
given_back_there() {
	local conf=$there/balloond.conf other
	mkdir "$there/balloond"
	chown vmwss-balloond: "$there/balloond"
	chmod o+x "$there"
	sed "s|^connect = .*|connect = $there_uri|; s|^journal = .*|journal = $there/balloond/journal.db|" "$guests_dir/balloond.conf" >"$conf"
	nsenter --target "$there_pid" --mount "$build/host/vmwss-balloond" --config "$conf" 2>"$there/balloond.log" &
	other=$!
	check "the controller there knows what it had" eventually grep -q "domain one: its balloon is adopted, it had $assigned MiB" "$there/balloond.log"
	kill -TERM "$other"
	check "it ends: exit 0" wait "$other"
	check "and has given it back" eventually has_there -eq "$assigned"
	sed 's/^/# there: /' "$there/balloond.log"
}
hazard_migrated() {
	begin_or_die begin_there
	one_cold
	check "it moves" migrate_one "$embed_uri" "$there_uri"
	sleep 3
	kill -0 "$controller" || fail "vmwss-balloond goes on"
	whole || damaged=$((damaged + 1))
	echo "# there it has $(actual_there) MiB"
	check "and comes back" migrate_one "$there_uri" "$embed_uri"
	sleep 3
	look
	shrunk one
	check "it moves again" migrate_one "$embed_uri" "$there_uri"
	given_back_there
	check "and comes back" migrate_one "$there_uri" "$embed_uri"
	sleep 3
	look
	gives_back
}

no_oom() { ! grep -qE 'Out of memory|oom-kill|Kernel panic' "$embed_dir/$1.out"; }
hazard_lies() {
	local how
	begin_or_die cold one
	begin_or_die gcc -std=gnu11 -O2 -static "$root/vm-images/linux/hostile.c" -o "$guests_dir/hostile"
	begin_or_die linux_image "$guests_dir/hostile"
	begin_or_die linux_create liar "$assigned" 'toucher.total=60M toucher.hot=8M guest.run=hostile,needs-all,needs-nothing,alternates'
	guests+=(liar)
	begin_or_die linux_says liar 'hostile: ready' 120
	vmwssd_begin --config "$guests_dir/conf"
	controller_begin
	for how in needs-all needs-nothing alternates; do
		sleep 12
		look
		echo "# $how: the liar has $(actual liar) MiB: $("$vmwss" balloon why liar --journal "$journal" | head -n 2 | tr '\n' ' ')"
		check "$how: it has no more than is assigned" is liar -le "$assigned"
		vmwssd_end TERM
		vmwssd_begin --config "$guests_dir/conf"
	done
	shrunk one
	check "the liar is decided about" decided "name = 'liar'"
	check "no guest's OOM killer ran" no_oom liar
	gives_back
}

# The agent ends when its guest's disk grows.
hazard_agent_stops() {
	assigned=400
	cat >"$guests_dir/stop" <<-'END'
		#!/bin/busybox sh
		was=$(cat /sys/block/vda/size)
		while [ "$(cat /sys/block/vda/size)" = "$was" ]; do sleep 0.2; done
		killall -9 vmwss-guest
		echo "the agent has stopped"
	END
	truncate -s 1M "$guests_dir/disk"
	begin_or_die linux_image "$agent_program" "$guests_dir/stop"
	begin_or_die linux_create one "$assigned" \
		'psi=1 toucher.total=100M toucher.hot=8M guest.zram=256M guest.run=vmwss-guest,serve guest.run=stop' \
		"$(linux_disk "$guests_dir/disk" vda)"
	guests+=(one)
	begin_or_die linux_says one 'vmwss-toucher ready' 120
	balloond_conf 'act = yes' 'interval = 1'
	vmwssd_begin --config "$guests_dir/conf"
	controller_begin
	shrunk one 390
	embed_virsh blockresize one vda 2M >/dev/null
	check "its agent has stopped" linux_says one 'the agent has stopped'
	sleep 20
	look
	size=$(actual one)
	sleep 15
	check "nothing more is taken" is one -ge "$size"
	echo "# it has $(actual one) MiB: $("$vmwss" balloon why one --journal "$journal" | head -n 2 | tr '\n' ' ')"
	check "its OOM killer did not run" no_oom one
	gives_back
}

hazard_no_driver() {
	guests=(one)
	begin_or_die embed_create one "$assigned" 'total=192M hot=16M' "$RAM_XML"
	vmwssd_begin --config "$guests_dir/conf"
	controller_begin
	check "it is inhibited" eventually decided "name = 'one' AND hold = 'inhibited' AND why LIKE '%no driver%'"
	look
	gives_back
}

hazard_keeps() {
	assigned=512
	begin_or_die cold one "$assigned" 'total=480M hot=16M balloon=keeps'
	vmwssd_begin --config "$guests_dir/conf"
	controller_begin
	shrunk one 500
	check "it is inhibited" eventually decided "name = 'one' AND hold = 'inhibited'"
	look
	check "and has what it had" eventually is one -eq "$assigned"
	"$vmwss" balloon log one --journal "$journal" --last 8 | sed 's/^/# /'
	gives_back
}

# They all spin: a guest that starts beside many others gets next to nothing of a machine of two cores. So each is suspended
# until the last one is there, and all have the lowest priority unless HAZARD_NICE says otherwise: at that of everything else they
# leave hardly anything to libvirtd and virsh, of which a question took 3 s, and to vmwssd. HAZARD_GUESTS makes it fewer, and
# HAZARD_GIVE_S is how long they have to give.
all_shrunk() {
	local name n=0
	for name in "${guests[@]}"; do
		is "$name" -ge "$assigned" || ((n++))
	done
	echo "# $n of $times have given after $((SECONDS - begin)) s"
	((n == times))
}
# Together they have a core or two: what a guest gives within seconds on its own may take minutes.
all_give() {
	while ((SECONDS - begin < ${HAZARD_GIVE_S:-1800})); do
		if all_shrunk; then
			echo "# all gave within $((SECONDS - begin)) s"
			return 0
		fi
		vmwssd_runs || break
		sleep 10
	done
	why_not
	return 1
}
# Prints each guest's last action and hold, one decision in full, and vmwssd's records of the guests.
why_not() {
	journal "SELECT count(*), action, hold FROM decision WHERE id IN (SELECT max(id) FROM decision GROUP BY name) GROUP BY action, hold" |
		sed 's/^/# guests, action, hold: /'
	"$vmwss" balloon why g1 --journal "$journal" 2>&1 | sed 's/^/# /'
	sql "SELECT count(DISTINCT guest_id), count(*) FROM sample" | sed 's/^/# guests with a record, records: /'
	sql "SELECT flags, count(*) FROM sample GROUP BY flags ORDER BY 2 DESC LIMIT 5" | sed 's/^/# flags of records: /'
	tail -n 5 "$log" "$controller_log" | sed 's/^/# /'
}
hazard_many() {
	local i begin=$SECONDS
	times=${HAZARD_GUESTS:-50}
	for ((i = 1; i <= times; i++)); do
		begin_or_die cold "g$i" "$assigned" 'total=90M hot=2M balloon=host'
		begin_or_die embed_virsh suspend "g$i"
		begin_or_die embed_nice "g$i" "${HAZARD_NICE:-19}"
	done
	echo "# $times guests started in $((SECONDS - begin)) s"
	for ((i = 1; i <= times; i++)); do begin_or_die embed_virsh resume "g$i"; done
	begin=$SECONDS
	vmwssd_begin --config "$guests_dir/conf"
	controller_begin
	check "all give" all_give
	controller_end KILL
	look
	controller_begin
	check "all are adopted" eventually logged_times 'its balloon is adopted' "$times"
	look
	begin=$EPOCHREALTIME
	gives_back
	printf '# %d balloons were given back in %.1f s\n' "$times" "$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')"
}
