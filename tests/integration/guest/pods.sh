#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=40
#
# A guest of a libvirt in a pod: in namespaces of its own for processes, mounts and the network, with a libvirtd that nobody
# outside can reach. vmwssd with connect = processes finds it, names it, and measures it, while that libvirtd ends and starts
# again; after the pod nothing is left. vmwss -c pods reaches that libvirtd, and tells the guest by what only its XML has:
# KubeVirt's metadata.

# The node is a namespace of processes: vmwssd would follow every QEMU of this machine, those of other tests too.
[[ -n ${VMWSS_OWN_PROCESSES:-} ]] || VMWSS_OWN_PROCESSES=yes exec unshare --pid --fork --kill-child --mount-proc -- "$BASH" "$0" "$@"
libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=96M hot=16M"
memfd="<metadata><kubevirt xmlns='http://kubevirt.io'/></metadata>
<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"

# The pod: says in the files of $POD what it has done, and obeys those that it finds there.
if [[ -n ${POD:-} ]]; then
	trap 'libvirtd_end; end_guests' EXIT
	libvirtd_begin && embed_create shop_web 128 "$params" "$memfd" || exit 1
	virsh -c qemu:///system domuuid shop_web | head -n 1 >"$POD/uuid"
	until [[ -e $POD/hang ]]; do sleep 0.2; done
	kill -STOP "$libvirtd_pid"
	: >"$POD/hung"
	until [[ -e $POD/restart ]]; do sleep 0.2; done
	kill -CONT "$libvirtd_pid"
	libvirtd_stop
	: >"$POD/stopped"
	until [[ -e $POD/start ]]; do sleep 0.2; done
	libvirtd_begin && : >"$POD/started"
	until [[ -e $POD/end ]]; do sleep 0.2; done
	exit
fi

pod=$guests_dir/pod
mkdir "$pod"
POD=$pod env -u VMWSS_LIBVIRTD_NAMESPACE unshare --pid --mount --net --fork --kill-child --mount-proc -- "$BASH" "$0" >"$pod/log" 2>&1 &
pod_pid=$!
vmwssd_conf 'connect = processes' 'window = 2,4' 'samples = 500' 'budget = 30%' 'guest-budget = 10%'
vmwssd_begin --config "$guests_dir/conf"
rows() { sql "SELECT count(*) FROM sample JOIN guest ON guest.id = guest_id WHERE uuid = '$uuid'"; }
more_rows() { (($(rows) >= $1)); }
near() {
	sql "SELECT json_extract(windows, '\$[0]') FROM sample ORDER BY id DESC LIMIT 1" |
		jq -e --argjson t "$(truth "$params")" '.[2] > 0 and $t >= .[2] - 2 * (.[2] - .[3]) and $t <= .[2] + 2 * (.[4] - .[2])' >/dev/null
}
if ! eventually test -s "$pod/uuid"; then
	fail "the pod's guest starts" "$(tail -n 5 "$pod/log")"
	finish
	exit
fi
uuid=$(<"$pod/uuid")
check "no libvirtd answers on the node" bash -c '! virsh -r -c qemu:///system list >/dev/null 2>&1'
check "the guest is found under its UUID" eventually more_rows 5
check "by its name" test "$(sql "SELECT name FROM guest WHERE uuid = '$uuid'")" = shop_web
check "and its manager's" test "$(sql "SELECT manager, owner FROM owner")" = 'libvirt|shop_web'
check "16 MiB" eventually near
listed() { "$vmwss" list --processes --json | jq -es 'any(.[]; .domain == "shop_web" and .manager == "libvirt" and .owner == "shop_web")' >/dev/null; }
check "vmwss list names both" listed

echo "# vmwss -c pods"
pods_list() { "$vmwss" list --connect pods --json; }
in_pods() { pods_list | jq -es --arg u "$uuid" "length == 1 and (.[0] | .domain == \"shop_web\" and .uuid == \$u and $1)" >/dev/null; }
by_libvirt='.state == "running" and .manager == "kubevirt" and .owner == "shop/web"'
check "list names the guest by its XML" in_pods "$by_libvirt"
measured() {
	"$vmwss" measure --connect pods "$@" --wait 60 --window 1 --json |
		jq -es --arg u "$uuid" 'length == 1 and (.[0] | .uuid == $u and .owner == "shop/web" and .windows[0].wss_bytes > 0)' >/dev/null
}
check "measure takes its name in Kubernetes" measured shop/web
check "its name in libvirt" measured shop_web
check "and its UUID" measured "$uuid"
check "measure --all measures it" measured --all
check "doctor examines it" quietly "$vmwss" doctor --connect pods shop/web
expect_exit "a guest of no pod is refused" 2 'no pod of this host runs such a guest' "$vmwss" measure --connect pods shop/api
for command in "map --window 1" "profile --to 1" "grow --every 0.5 --duration 1" "ages --window 1"; do
	# shellcheck disable=SC2086 # words
	check "${command%% *} takes it" quietly "$vmwss" $command --connect pods --wait 60 shop/web
done
check "bugreport packs its XML" quietly "$vmwss" bugreport --connect pods shop/web -o "$guests_dir/report"
check "which names its owner" grep -rq kubevirt.io "$guests_dir/report"
for command in "measure --pause --wait 60 shop/web" "guest shop/web" "shrink --yes shop/web" status "advise --database $db"; do
	# shellcheck disable=SC2086
	expect_exit "${command%% *}: what needs one libvirt is refused" 2 'this needs one libvirt' "$vmwss" $command --connect pods
done
expect_exit "who may not look into processes is told so" 2 'run as root' setpriv --reuid 65534 --clear-groups "$vmwss" list -c pods


echo "# the pod's libvirtd hangs"
: >"$pod/hang"
check "it is stopped" eventually test -e "$pod/hung"
silent='has not answered'
check "list says so" in_pods ".state == null and .resident_bytes > 0 and (.error | contains(\"$silent\"))"
for command in "measure --window 1" "measure --all --window 1" doctor ages map; do
	[[ $command == *--all* ]] || command+=" shop/web"
	# shellcheck disable=SC2086 # words
	expect_exit "$command, too" 2 "$silent within .*--pid" "$vmwss" $command --connect pods
done
check "vmwssd measures its guest meanwhile" eventually more_rows $(($(rows) + 3))

echo "# it ends, and starts again"
: >"$pod/restart"
check "it ends" eventually test -e "$pod/stopped"
check "the guest is measured meanwhile" eventually more_rows $(($(rows) + 3))
check "list -c pods says why it asks no libvirt" in_pods '.state == null and (.error | test("its pod.*--pid"))'
expect_exit "measure, too" 2 'domain shop_web: .*its pod.*--pid' "$vmwss" measure --connect pods shop/web
: >"$pod/start"
check "it starts again" eventually test -e "$pod/started"
check "it is the same guest" eventually more_rows $(($(rows) + 3))
check "vmwss -c pods asks the new libvirtd" in_pods "$by_libvirt"
check "and the only one" test "$(sql "SELECT count(*) FROM guest")" = 1

echo "# the pod ends"
: >"$pod/end"
wait "$pod_pid"
check "vmwssd lets the guest go" eventually logged 'domain shop_web: (its process has ended|ended|no longer measured)'
check "no QEMU is left" test -z "$("$vmwss" list --processes --json)"
no_pod() { [[ -z $(pods_list || echo failed) ]]; }
check "and no guest of a pod" no_pod

echo "# a pod as KubeVirt makes it by default: its libvirt runs as user 107, and its socket is for that user only"
copy=/tmp/payload-$$
install -m 644 "$payload" $copy
# shellcheck disable=SC2016 # expands in the pod
unshare --pid --mount --fork --kill-child --mount-proc -- "$BASH" -c 'mount -t tmpfs tmpfs /run && mkdir -p /run/home/libvirt || exit
	printf "%s\n" "security_driver = \"none\"" "stdio_handler = \"file\"" "namespaces = [ ]" "cgroup_controllers = [ ]" >/run/home/libvirt/qemu.conf
	echo "<domain type=\"qemu\"><name>shop_own</name><memory unit=\"MiB\">128</memory><metadata><kubevirt xmlns=\"http://kubevirt.io\"/></metadata>
		<os><type arch=\"x86_64\" machine=\"pc\">hvm</type><kernel>$0</kernel><cmdline>$1</cmdline></os>
		<devices><memballoon model=\"none\"/></devices></domain>" >/run/home/domain.xml
	chown -R 107:107 /run
	# As in an image of KubeVirt: libvirt looks its user up.
	for user in passwd:qemu:x:107:107::/run/home:/bin/sh group:qemu:x:107:; do
		file=${user%%:*}
		{ grep -v ":x:107:" /etc/$file; echo "${user#*:}"; } >/run/$file && mount --bind /run/$file /etc/$file || exit
	done
	as_107=(env HOME=/run/home XDG_RUNTIME_DIR=/run XDG_CONFIG_HOME=/run/home setpriv --reuid 107 --regid 107 --clear-groups)
	"${as_107[@]}" libvirtd &
	until [[ -S /run/libvirt/libvirt-sock ]]; do sleep 0.1; done
	"${as_107[@]}" virsh -c "qemu:///session?socket=/run/libvirt/libvirt-sock" create /run/home/domain.xml
	wait' $copy "$(resting "$params")" >"$guests_dir/own" 2>&1 &
pod_pid=$!
pids+=("$pod_pid")
disown
own() { pods_list | jq -es "length == 1 and (.[0] | .owner == \"shop/own\" and .state == \"running\" and .ram_bytes == 134217728)" >/dev/null; }
check "list asks it" eventually own
check "which only root can" test "$(stat -Lc '%a %u' "/proc/$(pods_list | jq .pid)/root/run/libvirt/libvirt-sock")" = '700 107'
measured_own() { "$vmwss" measure --connect pods shop/own --wait 60 --window 1 --json | jq -e '.owner == "shop/own" and .windows[0].wss_bytes > 0' >/dev/null; }
check "measure, too" measured_own
kill -KILL "$pod_pid"
check "it ends" eventually no_pod

echo "# three pods, as KubeVirt's, whose libvirts do not answer"
for i in 1 2 3; do
	# shellcheck disable=SC2016 # expands in the pod
	unshare --pid --mount --fork --kill-child --mount-proc -- "$BASH" -c 'mount -t tmpfs tmpfs /run && mkdir /run/libvirt /run/kubevirt-private || exit
		python3 -c "import socket, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(\"/run/libvirt/virtqemud-sock-ro\")
listener.listen()
time.sleep(600)" &
		until [[ -S /run/libvirt/virtqemud-sock-ro ]]; do sleep 0.1; done
		exec "$0" -M "$2" -nodefaults -display none -m 16 -name "shop_silent$1" -pidfile /run/kubevirt-private/qemu.pid -uuid "00000000-0000-4000-8000-00000000000$1"' "$qemu" $i "$machine" &
	pids+=("$!")
	disown # or bash says that they were killed
done
three() { [[ $("$vmwss" list --processes --json | jq -s length) == 3 ]]; }
check "they run" eventually three
# 20 s for each: 60 s
at_once() { timeout 45 "$vmwss" list --connect pods --json | jq -es 'length == 3 and all(.error | contains("has not answered within 20 s"))' >/dev/null; }
check "they are asked at the same time" at_once
named() { [[ $(sql "SELECT count(*) FROM sample JOIN owner USING (guest_id) WHERE manager = 'kubevirt' AND owner = 'shop/silent1'") -gt 0 ]]; }
check "vmwssd measures them under their names in Kubernetes" eventually named
check "which the metrics have as labels" test -n "$("$build/host/vmwss-exporter" --print --database "$db" |
	grep '^vmwss_guest_info.*manager="kubevirt",owner="shop/silent1"')"

echo "# a QEMU in a namespace of users of its own, where it is user 107"
"$nothp" python3 - "$qemu" -M "$machine" -accel tcg -nodefaults -display none -m 256 -kernel $copy \
	-append "$(resting "$params")" -name shop_user <<'END_OF_PYTHON' &
import ctypes, os, sys
libc = ctypes.CDLL(None)
apart, mapped = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    if libc.unshare(0x10000000 | 0x20000000) != 0: # CLONE_NEWUSER, CLONE_NEWPID
        os._exit(1)
    os.write(apart[1], b"x")
    os.read(mapped[0], 1)
    os.setgroups([])
    os.setresgid(107, 107, 107)
    os.setresuid(107, 107, 107)
    if os.fork() == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    os.wait()
    os._exit(0)
os.read(apart[0], 1)
for kind in "uid", "gid":
    with open(f"/proc/{child}/{kind}_map", "w") as ids:
        ids.write("0 100000 65536")
os.write(mapped[1], b"x")
os.wait()
END_OF_PYTHON
pids+=("$!")
disown
foreign() { "$vmwss" list --processes --json | jq -ers '.[] | select(.domain == "shop_user" and .ram_bytes == 268435456) | .pid'; }
pid=$(eventually foreign)
check "vmwss list finds it" test -n "$pid"
pids+=("$pid")
check "whoever it is on the host" test "$(stat -c %u "/proc/$pid")" = 100107
exact() {
	"$vmwss" measure --pid "$pid" --wait 60 -m cold --census -w 1 --json |
		jq -e --argjson t "$(truth "$params memory=256M")" '.windows[0].wss_bytes - $t | fabs < 0.01 * $t' >/dev/null
}
check "measures it exactly" eventually exact
in_history() { [[ $(sql "SELECT count(*) FROM sample JOIN guest ON guest.id = guest_id WHERE name = 'shop_user'") -gt 1 ]]; }
check "and vmwssd does" eventually in_history
rm $copy
check "SIGTERM: exit 0" vmwssd_end TERM
check "no lock is left" bash -c '! ls /run/vmwss/guest-*.lock >/dev/null 2>&1'
finish
