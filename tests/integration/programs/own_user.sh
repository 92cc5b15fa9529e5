#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: libvirt cost=15
#
# Of vmwssd's halves the one that speaks with libvirt and guests is a user of its own: who has its ids may write the history
# and read from libvirt, and nothing of root's. What root may is tried beside each, for a test that cannot fail says nothing.

libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

uid=$(id -u vmwss) gid=$(id -g vmwss) publish_gid=$(getent group libvirt | cut -d : -f 3)
state=/var/lib/vmwss
etc_probe=/etc/vmwss-probe.$$

# ids_of PID: all four of its user, and of its group; groups_of PID: its supplementary ones.
ids_of() { awk '/^[UG]id:/ { $1 = ""; print }' "/proc/$1/status" | xargs; }
groups_of() { awk '/^Groups:/ { $1 = ""; print }' "/proc/$1/status" | xargs; }
all_of() { echo "$1 $1 $1 $1 $2 $2 $2 $2"; }
started() { eventually logged '^<5>vmwssd [0-9]'; }
begin() {
	: >"$log"
	vmwssd_begin --config /dev/null --connect qemu:///system "$@"
	started && scanner=$(pgrep -P "$daemon" -x vmwssd-scanner)
}
# Without the seccomp filter, which test_privileges tries, these are as powerful as the rest: of its user, and as root.
as_rest() { setpriv --reuid="$uid" --regid="$gid" --clear-groups --inh-caps=-all --bounding-set=-all -- "$@" 2>/dev/null; }
as_root() { setpriv --clear-groups --inh-caps=-all --bounding-set=-all -- "$@" 2>/dev/null; }
# only_root NAME COMMAND...: the one cannot, the other can, both without a capability.
only_root() {
	if as_rest "${@:2}" >/dev/null; then fail "$1" "the user can"; else pass "$1"; fi
	check "root can" quietly as_root "${@:2}"
}
# only_capable NAME COMMAND...: what takes a capability where the other process has any.
only_capable() {
	if as_rest "${@:2}" >/dev/null; then fail "$1" "the user can"; else pass "$1"; fi
	check "root with its capabilities can" quietly "${@:2}"
}
connects='import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])'
traces='import ctypes, os, sys
traced = ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), 0, 0) # PTRACE_SEIZE
os._exit(traced != 0)'
# holds_lock PID: it has a file of /run/vmwss open.
holds_lock() { [[ -n $(find "/proc/$1/fd" -lname '/run/vmwss*') ]]; }
holds_none() { ! holds_lock "$1"; }
libvirt_answers() { eventually logged 'qemu:///system: connected'; }
owners() { stat -c '%U %G %a' "$@" | sort -u | xargs; }

libvirtd_begin || fail "libvirtd starts"
# Root's, without a capability: to it root may do what is asked of a QEMU that runs as root.
setpriv --clear-groups --inh-caps=-all --bounding-set=-all -- sleep 1000 &
sleeper=$!
pids+=("$sleeper")

echo "# no such user"
expect_exit "a user that does not exist" 2 'user nosuch does not exist: make it, by systemd-sysusers .*--user root' \
	"$vmwssd" --foreground --config /dev/null --database none --user nosuch
install -d -m 755 "$guests_dir/roots"
chmod o+x "$guests_dir"
expect_exit "a directory in which it may not write" 2 "$guests_dir/roots: user vmwss cannot write .*chown vmwss $guests_dir/roots" \
	"$vmwssd" --foreground --config /dev/null --connect processes --database "$guests_dir/roots/history.db"
check "is left as it is" test "$(owners "$guests_dir/roots")" = 'root root 755'

echo "# as root, whose history it is then"
check "it starts as --user root" begin --user root
check "and stays root" test "$(ids_of "$daemon")" = "$(all_of 0 0)"
check "its history is root's" test "$(owners "$state"/history.db*)" = 'root vmwss 640'
check "it ends" vmwssd_end TERM

echo "# as a user of its own"
inode=$(stat -c %i "$state/history.db")
echo secret >"$guests_dir/secret"
chmod 600 "$guests_dir/secret"
ln -s "$guests_dir/secret" "$state/symbolic.db"
mkdir "$state/directory"
echo two >"$state/two-names"
ln "$state/two-names" "$state/directory/the-other"
check "it starts" begin
check "all ids are the user's" test "$(ids_of "$daemon")" = "$(all_of "$uid" "$gid")"
check "it is in no other group" test -z "$(groups_of "$daemon")"
check "it has no capability" test "$(awk '/^Cap/ { print $2 }' "/proc/$daemon/status" | sort -u)" = 0000000000000000
check "its scanner is root" test "$(ids_of "$scanner")" = "$(all_of 0 0)"
check "the history of root's is given to it" test "$(owners "$state"/history.db*)" = 'vmwss vmwss 640'
check "with its directory" test "$(owners "$state")" = 'vmwss vmwss 2750'
check "it is the same" test "$(stat -c %i "$state/history.db")" = "$inode"
check "not what a symbolic link there names" test "$(owners "$guests_dir/secret")" = 'root root 600'
check "nor a file that has another name elsewhere" test "$(stat -c %U "$state/two-names")" = root
check "it writes its history" as_rest sqlite3 "$state/history.db" 'CREATE TABLE probe (x); DROP TABLE probe'
check "root reads it" quietly "$build/host/vmwss-exporter" --print

echo "# what its user may"
check "it follows libvirt" libvirt_answers
check "by its socket for reading" quietly as_rest /usr/bin/python3 -c "$connects" /run/libvirt/libvirt-sock-ro
only_root "not by the one for writing" /usr/bin/python3 -c "$connects" /run/libvirt/libvirt-sock
only_root "not libvirt's private directory of its QEMUs" ls /run/libvirt/qemu/dbus
# shellcheck disable=SC2016 # expanded inside
only_root "not root's files" sh -c 'exec 3>>/etc/passwd'
# shellcheck disable=SC2016
only_root "nor new ones in /run/vmwss" sh -c 'exec 3>/run/vmwss/probe'
rm -f /run/vmwss/probe
check "nor by a descriptor" holds_none "$daemon"
check "the scanner holds the lock" holds_lock "$scanner"
expect_exit "a second vmwssd is refused" 2 "one vmwssd per host, and process $daemon \\(" \
	"$vmwssd" --foreground --config /dev/null --database none
# shellcheck disable=SC2016
only_capable "nor in /etc" sh -c 'exec 3>"$1"' sh "$etc_probe"
rm -f "$etc_probe"
only_root "root's process is not signalled" kill -WINCH "$sleeper"
# shellcheck disable=SC2016
check "its user's own process is traced" quietly as_rest sh -c 'sleep 100 & /usr/bin/python3 -c "$1" $!; traced=$?; kill $!; exit $traced' sh "$traces"
only_root "root's is not" /usr/bin/python3 -c "$traces" "$sleeper"
only_root "nor its priority changed" renice -n 19 -p "$sleeper"
only_capable "the scanner is not signalled" kill -WINCH "$scanner"
only_capable "nor traced" /usr/bin/python3 -c "$traces" "$scanner"
only_capable "nor libvirtd" /usr/bin/python3 -c "$traces" "$libvirtd_pid"
check "it ends" vmwssd_end TERM

echo "# a link at the history's name, which is its user's to make"
cp "$state/history.db" "$guests_dir/roots/linked"
check "its user makes it" as_rest ln -s "$guests_dir/roots/linked" "$state/link.db"
expect_exit "root's vmwss does not follow it" 2 "$state/link.db: is a symbolic link, .*: name the file itself" \
	"$build/host/vmwss" history --database "$state/link.db" web1
expect_exit "nor does the exporter" 2 "$state/link.db: is a symbolic link" \
	"$build/host/vmwss-exporter" --print --database "$state/link.db"
check "nothing is made beside its target" test "$(ls "$guests_dir/roots")" = linked
check "root reads the file itself" quietly "$build/host/vmwss-exporter" --print --database "$guests_dir/roots/linked"
check "beside which SQLite makes files" test "$(find "$guests_dir/roots" -name 'linked-*' | wc -l)" -gt 0
rm -f "$guests_dir"/roots/linked* "$state/link.db"

echo "# to publish it takes libvirt's group"
check "it starts" begin --publish yes
check "and is in that group, and no other" test "$(groups_of "$daemon")" = "$publish_gid"
check "all its ids are the user's" test "$(ids_of "$daemon")" = "$(all_of "$uid" "$gid")"
may_write() { [[ $(virt-admin client-list --server libvirtd | wc -l) -gt 3 ]]; }
check "it is connected for reading and for writing" eventually may_write
check "it ends" vmwssd_end TERM
finish
