#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra tcg cost=90 lock=cpack
#
# The image for clusters, made of a fresh Debian by the line of its Containerfile, and run as the manifest has it, on a
# node that is a namespace of processes here, beside a guest of another pod.

[[ -n ${VMWSS_OWN_PROCESSES:-} ]] || VMWSS_OWN_PROCESSES=yes exec unshare --pid --fork --kill-child --mount-proc -- "$BASH" "$0" "$@"
libs=(debian guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

recipe=$root/host/package/container
manifest=$recipe/vmwss.yaml
pod=$root/tests/lib/pod.py
dir=$(mktemp -d /tmp/vmwss-container.XXXX)
image=$dir/image node=$dir/node
trap 'end_guests; rm -rf --one-file-system -- "$dir"' EXIT
mkdir "$node"

check "the manifest is what its kinds have" "$pod" check "$manifest"
sed 's/hostPID/hostPid/' "$manifest" >"$dir/wrong.yaml"
expect_exit "a field of another name is found" 1 'spec.hostPid' "$pod" check "$dir/wrong.yaml"
version=$("$build/host/vmwss" --version | awk '{ print $2 }')
check "its images have this version" test -z "$(grep 'image:' "$manifest" | grep -v "vmwss:$version\$")"

echo "# the image"
debian_suite=$(sed -n 's/^FROM debian:\(.*\)-slim$/\1/p' "$recipe/Containerfile")
check "a fresh Debian can be made" debian_tree "$image"
check "cpack makes a package" bash -c "cd '$build' && cpack -G DEB -B '$dir/out' >'$dir/cpack.log' 2>&1"
cp "$dir"/out/vmwss_*.deb "$image/tmp/vmwss.deb"
line=$(sed -n '/^RUN /,/[^\\]$/{s/^RUN //;s/\\$//;p}' "$recipe/Containerfile" | tr '\n' ' ')
check "its line installs it" quietly debian_inside "$image" sh -c "$line"
if ((failed)); then
	finish
	exit
fi

# begin_container NAME: in the background, in the pod's network; sets container.
begin_container() {
	nsenter --net="/proc/$network/ns/net" "$pod" run "$manifest" "$1" "$image" "$node" >"$dir/$1.log" 2>&1 &
	container=$!
	pids+=("$container")
}
# ends NAME PID: as a kubelet ends it, with status 0.
ends() {
	local status=0
	kill "$2"
	wait "$2" || status=$?
	((status == 0)) || { sed 's/^/# /' "$dir/$1.log"; return 1; }
}
sql() { sqlite3 -readonly "$node/var/lib/vmwss/history.db" "$1" 2>/dev/null; }
metrics() { nsenter --net="/proc/$network/ns/net" curl --silent --max-time 5 http://127.0.0.1:19177/metrics; }
near() {
	sql "SELECT json_extract(windows, '\$[0]') FROM sample ORDER BY id DESC LIMIT 1" |
		jq -e --argjson t "$(truth "$params")" '.[2] > 0 and $t >= .[2] - 2 * (.[2] - .[3]) and $t <= .[2] + 2 * (.[4] - .[2])' >/dev/null
}
row_is_there() { [[ -n $(sql "SELECT 1 FROM guest WHERE name = 'shop'") ]]; }
is_scraped() { metrics | grep -q '^vmwss_working_set_bytes{.*domain="shop"'; }
# of_status PID KEY
of_status() { awk -v key="$2:" '$1 == key { print $2 }' "/proc/$1/status"; }

echo "# the pod, on a node with a guest"
unshare --net sleep infinity &
network=$!
pids+=("$network")
has_network() { [[ ! /proc/$network/ns/net -ef /proc/self/ns/net ]]; }
settles has_network
check "the pod has a network" nsenter --net="/proc/$network/ns/net" ip link set lo up
params="total=96M hot=16M"
MACHINE=pc,memory-backend=mem start_payload shop tcg "$params" -m 128 -object memory-backend-memfd,id=mem,size=128M,share=on
# Sooner than a default host would know it.
sed 's/^    agents = no$/&\n    period = 1\n    window = 2,4\n    budget = 30%\n    guest-budget = 10%/' "$manifest" >"$dir/quick.yaml"
manifest=$dir/quick.yaml
begin_container history
check "the first container makes the history's directory" wait "$container"
begin_container vmwssd
daemon=$container
check "vmwssd finds the guest" settles row_is_there
check "and measures it" settles near
check "as a user of its own, without capabilities" test "$(of_status "$daemon" CapPrm)" = 0000000000000000 -a "$(of_status "$daemon" Uid)" != 0
check "and has filters of its own" test "$(of_status "$daemon" Seccomp)" = 2
begin_container exporter
exporter=$container
check "the exporter serves it" settles is_scraped
check "as nobody of importance" test "$(of_status "$exporter" Uid) $(of_status "$exporter" CapPrm)" = "$(of_status "$daemon" Uid) 0000000000000000"
check "the exporter ends" ends exporter "$exporter"
check "vmwssd ends" ends vmwssd "$daemon"
check "on the node there is the history, and no more but locks" test -z \
	"$(find "$node" -type f ! -path "*/var/lib/vmwss/history.db*" ! -path "*/run/vmwss/*" ! -path "*/configmaps/*")"
finish
