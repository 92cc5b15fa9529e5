#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=20
#
# vmwss-balloond is a user of its own: it reads the history, writes its journal, sets balloons by libvirt, and has nothing of
# root's; with libvirt's access driver and our rules for polkit it may do that, and end, define or dump no domain. What root may
# is tried beside each.

libs=(libvirtd guests vmwssd balloond)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

uid=$(id -u vmwss-balloond) gid=$(id -g vmwss-balloond)
reader_gid=$(getent group vmwss | cut -d : -f 3) libvirt_gid=$(getent group libvirt | cut -d : -f 3)
state=/var/lib/vmwss-balloond

ids_of() { awk '/^[UG]id:/ { $1 = ""; print }' "/proc/$1/status" | xargs; }
groups_of() { awk '/^Groups:/ { $1 = ""; print }' "/proc/$1/status" | xargs -n 1 | sort -n | xargs; }
caps_of() { awk '/^Cap/ { print $2 }' "/proc/$1/status" | sort -u; }
owners() { stat -c '%U %G %a' "$@" | sort -u | xargs; }
# Without its seccomp filter, which test_privileges tries, these are as powerful as it: of its user, and as root.
as_user() {
	setpriv --reuid="$uid" --regid="$gid" --groups "$reader_gid,$libvirt_gid" --inh-caps=-all --bounding-set=-all -- "$@" 2>/dev/null
}
fails() { ! "$@" >/dev/null 2>&1; }
as_root() { setpriv --clear-groups --inh-caps=-all --bounding-set=-all -- "$@" 2>/dev/null; }
only_root() {
	if as_user "${@:2}" >/dev/null; then fail "$1" "the user can"; else pass "$1"; fi
	check "root can" quietly as_root "${@:2}"
}
runs() { eventually controller_logged '^<5>(lazy|proactive), '; }
begin() {
	: >"$controller_log"
	controller_begin
	runs
}

vmwssd_conf 'window = 2,4' 'samples = 500' 'budget = 50%' 'guest-budget = 20%'
export BALLOON=virtio
if ! libvirtd_begin || ! embed_create cold 64 "total=48M hot=16M balloon=host" "$memfd"; then
	fail "libvirtd and a guest start"
	finish
	exit
fi
vmwssd_begin --config "$guests_dir/conf"
balloond_conf 'act = no' 'interval = 1'
sed -i '/^journal = /d' "$guests_dir/balloond.conf"
setpriv --clear-groups --inh-caps=-all --bounding-set=-all -- sleep 1000 &
sleeper=$!
pids+=("$sleeper")

echo "# users that cannot"
expect_exit "one that does not exist" 2 'user nosuch does not exist: make it, by systemd-sysusers .*--user root' \
	"$build/host/vmwss-balloond" --config "$guests_dir/balloond.conf" --user nosuch
mkdir "$guests_dir/roots"
chmod o+x "$guests_dir"
printf '%s\n' '[vmwss-balloond]' "journal = $guests_dir/roots/journal.db" >"$guests_dir/roots.conf"
expect_exit "a directory in which it may not write" 2 "$guests_dir/roots: user vmwss-balloond cannot write .*chown vmwss-balloond" \
	"$build/host/vmwss-balloond" --config "$guests_dir/roots.conf"

echo "# as root, whose journal it is then"
controller_options=(--user root)
check "it starts as --user root" begin
controller_options=()
check "and stays root" test "$(ids_of "$controller")" = '0 0 0 0 0 0 0 0'
check "it ends" controller_end TERM
check "its journal is root's" test "$(owners "$state/journal.db")" = 'root vmwss 644'

echo "# as a user of its own"
check "it starts" begin
check "all ids are the user's" test "$(ids_of "$controller")" = "$uid $uid $uid $uid $gid $gid $gid $gid"
check "it is in the groups of the history and of libvirt, and no other" test "$(groups_of "$controller")" = "$(printf "%s\n" "$reader_gid" "$libvirt_gid" | sort -n | xargs)"
check "it has no capability" test "$(caps_of "$controller")" = 0000000000000000
check "it has a seccomp filter" test "$(awk '/^Seccomp:/ { print $2 }' "/proc/$controller/status")" = 2
check "the journal of root's is given to it" test "$(owners "$state/journal.db")" = 'vmwss-balloond vmwss 640'
check "with its directory" test "$(owners "$state")" = 'vmwss-balloond vmwss 2750'
journal=$state/journal.db
check "it decides about the guest" eventually decided "name = 'cold' AND time_s > $EPOCHSECONDS"
check "of which it reads the history" eventually decided "name = 'cold' AND wss_high_bytes IS NOT NULL"
check "root reads the journal" quietly "$vmwss" balloon status
check "and asks for room in it" quietly "$vmwss" balloon make-room 0
check "what that leaves is the user's" test "$(owners "$state"/journal.db*)" = 'vmwss-balloond vmwss 640'
# shellcheck disable=SC2016 # expanded inside
only_root "not root's files" sh -c 'exec 3>>/etc/passwd'
# shellcheck disable=SC2016
only_root "nor new ones in /run/vmwss" sh -c 'exec 3>/run/vmwss/probe'
rm -f /run/vmwss/probe
check "it cannot write the history" fails as_user sqlite3 "$db" 'CREATE TABLE probe (x)'
only_root "root's process is not signalled" kill -WINCH "$sleeper"
check "it ends" controller_end TERM

echo "# by libvirt's access driver"
polkit_rules=/etc/polkit-1/rules.d
answers() { dbus-send --system --print-reply --dest="$1" "$2" "$3" >/dev/null 2>&1; }
bus_answers() { answers org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus.GetId; }
polkit_answers() { answers org.freedesktop.PolicyKit1 / org.freedesktop.DBus.Peer.Ping; }
# libvirt's own are of a package that brings services; polkit refuses an action that it does not know to all but root.
polkit_actions() {
	local action
	echo '<policyconfig>'
	for action in unix.manage api.{connect.{getattr,read,write,search-domains,search-networks,search-node-devices},domain.{getattr,read,read-secure,write,save,start,stop,suspend,init-control,core-dump,hibernate,screenshot}}; do
		echo "<action id='org.libvirt.$action'><description>$action</description><message>$action</message>
			<defaults><allow_any>no</allow_any><allow_inactive>no</allow_inactive><allow_active>no</allow_active></defaults></action>"
	done
	echo '</policyconfig>'
}
polkit_begin() {
	mkdir -p /run/dbus /var/lib/polkit-1 && mount -t tmpfs -o mode=755 tmpfs $polkit_rules &&
		mount -t tmpfs -o mode=755 tmpfs /usr/share/polkit-1/actions || return 1
	polkit_actions >/usr/share/polkit-1/actions/org.libvirt.policy
	dbus-daemon --system --nofork --nopidfile --nosyslog 2>"$guests_dir/bus.log" &
	pids+=($!)
	settles bus_answers || return 1
	/usr/lib/polkit-1/polkitd --no-debug >"$guests_dir/polkit.log" 2>&1 &
	pids+=($!)
	settles polkit_answers
}
user_virsh() { as_user virsh -q -c qemu:///system "$@"; }
if [[ ! -x /usr/lib/polkit-1/polkitd || ! -d $polkit_rules ]] || ! command -v dbus-daemon >/dev/null; then
	skip "what polkit allows" "no polkitd, or no D-Bus"
elif ! polkit_begin; then
	fail "polkit starts"
	cat "$guests_dir"/{bus,polkit}.log
else
	libvirtd_stop
	echo 'access_drivers = [ "polkit" ]' >>/etc/libvirt/libvirtd.conf
	LIBVIRT_LOG_OUTPUTS=4:stderr "$nothp" libvirtd >/dev/null 2>&1 &
	libvirtd_pid=$!
	settles libvirtd_answers
	check "without our rules it may not list domains" fails user_virsh list
	cp "$root/host/polkit/vmwss-balloond.rules" $polkit_rules/50-vmwss-balloond.rules
	lists() { [[ $(user_virsh list --name) == *cold* ]]; }
	check "with them it lists domains" eventually lists
	check "reads their statistics" quietly user_virsh domstats --balloon cold
	check "and sets a balloon" quietly user_virsh setmem cold 48M --live
	embed_virsh dumpxml cold >"$guests_dir/cold.xml"
	sed 's/cold/other/; /uuid/d' "$guests_dir/cold.xml" >"$guests_dir/other.xml"
	for refused in "suspend cold" "destroy cold" "managedsave cold" "screenshot cold $guests_dir/shot" "dumpxml --security-info cold" \
		"define $guests_dir/other.xml" "create $guests_dir/other.xml" "setmaxmem cold 32M --config" "net-list" "nodedev-list" \
		"dump cold /tmp/dump --memory-only"; do
		# shellcheck disable=SC2086 # words
		check "not ${refused%% *}" fails user_virsh $refused
	done
	check "the guest still runs" test "$(embed_virsh domstate cold)" = running
	begin
	check "vmwss-balloond decides" eventually decided "name = 'cold' AND time_s > $EPOCHSECONDS AND actual_bytes < $((56 << 20))"
	check "it ends" controller_end TERM
fi
check "vmwssd ends" vmwssd_end TERM
finish
