#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg cost=45
# shellcheck disable=SC2016 # jq has variables of its own
#
# vmwss-guest regrow in a real Linux guest (TCG) that reads known files again and again, beside more that it has read once: what comes
# back is the former, at the cost of as many bytes from its disk. And what it refuses. It is never run with --drop-caches on this
# machine.

libs=(guest_program)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

dir=$(mktemp -d /tmp/vmwss-g.XXXX)
pid=
trap '[[ -z $pid ]] || kill -KILL "$pid" 2>/dev/null; rm -rf -- "$dir"' EXIT
vg=$build/guest-agent/vmwss-guest
mib=1048576
hot=$((20 * mib)) cold=$((56 * mib)) tmpfs=$((24 * mib))

# In the guest. Each line of a command's output begins with its name.
cat >"$dir/guest-regrow" <<'END'
#!/bin/sh
says() {
	name=$1
	shift
	"$@" >/tmp/out 2>&1
	status=$?
	sed "s/^/$name /" /tmp/out
	echo "$name-status $status"
}
# The block layer counts the disk's sectors of 512 bytes.
sectors() { awk '{ print $3 }' /sys/block/vda/stat; }
cached() { awk '/^Cached:/ { c = $2 } /^Shmem:/ { s = $2 } END { print c - s }' /proc/meminfo; }

mkdir -p /tmp/gone
filescan >/tmp/scan &
scan=$!
until grep -q ready /tmp/scan; do sleep 1; done
says word vmwss-guest regrow
before=$(cached)
says container unshare -p -f vmwss-guest regrow --drop-caches
says users unshare -U -r vmwss-guest regrow --drop-caches
# As a pod that sees the host's processes: the namespaces are the initial ones.
mkdir -p /tmp/jail/proc
cp "$(command -v vmwss-guest)" /tmp/jail/vg
mount -t proc proc /tmp/jail/proc
says root chroot /tmp/jail /vg regrow --drop-caches
umount /tmp/jail/proc
rm -r /tmp/jail
echo "refused-drop $((before - $(cached)))"

echo "sectors-before $(sectors)"
# Not page cache of files: a tmpfs that grows meanwhile.
(sleep 1 && head -c TMPFS /dev/zero >/tmp/tmpfs) &
says busy vmwss-guest regrow --drop-caches --window 0.5 --settle 8 --duration 300 --json
echo "sectors-after $(sectors)"
echo "tmpfs $(wc -c </tmp/tmpfs)"
rm /tmp/tmpfs

vmwss-guest regrow --drop-caches -s 100 >/tmp/table &
interrupted=$!
until grep -q '%' /tmp/table; do sleep 0.2; done
kill -INT $interrupted
wait $interrupted
echo "table-status $?"
sed 's/^/table /' /tmp/table

kill $scan
sleep 1
cat /disk/cold/* >/dev/null
says quiet vmwss-guest regrow --drop-caches -w 0.5 -s 4 -d 60 --json
says over vmwss-guest regrow --drop-caches -w 1 -s 30 -d 3 --json
dmesg | grep -c 'drop_caches: 1' | sed 's/^/kernel-log /'
echo "guest-regrow: done"
poweroff -f
END
sed -i "s/TMPFS/$tmpfs/" "$dir/guest-regrow"

echo "# refusals"
chmod 755 "$dir"
install -m 755 "$vg" "$dir/vg"
VMWSS_GUEST_ROOT=$root/tests/fixtures/guest-4.19 expect_exit "without the word" 1 \
	'regrow drops the clean page cache of this whole machine \(of 480.0 MiB.*dirty \(224.0 KiB\).*add --drop-caches' "$vg" regrow
cp -r -- "$root/tests/fixtures/guest-4.19" "$dir/no-dirty" && sed -i '/^Dirty:/d' "$dir/no-dirty/proc/meminfo"
VMWSS_GUEST_ROOT=$dir/no-dirty expect_exit "where the kernel does not say what is dirty" 1 'of 480.0 MiB.*dirty \(\?\)' "$vg" regrow
expect_exit "as another user, to whom the kernel would refuse it too" 2 'only root may drop caches: run as root' \
	setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/vg" regrow --drop-caches
expect_exit "too many readings" 1 'more than 100000 readings' "$vg" regrow --window 1ms --duration 1h
expect_exit "an argument" 1 "'x' is too much; see --help" "$vg" regrow x
# serve/ is in the library, which is complete without what drops.
check "the agent is built without it" test "$(nm "$build/guest-agent/libvmwss-guest-parts.a" 2>/dev/null |
	grep -oE 'T question_answer$|drop_(clean_caches|allowed)$')" = 'T question_answer'
check "and its service may not write to /proc/sys" grep -qx 'ProtectKernelTunables=yes' "$root/guest-agent/vmwss-guest.service"

image=$("$root/vm-images/linux/make-linux-guest" --add "$vg" --add "$root/vm-images/linux/filescan" --add "$dir/guest-regrow") || exit 1
mkdir -p "$dir/files/hot" "$dir/files/cold"
for ((i = 0; i < 4; i++)); do
	head -c $((hot / 4)) /dev/urandom >"$dir/files/hot/$i"
	head -c $((cold / 4)) /dev/urandom >"$dir/files/cold/$i"
done
mkfs.ext4 -qF -d "$dir/files" "$dir/disk" 96M >/dev/null || exit 1
guest_program_run guest-regrow 256 ""
# is NAME FILTER: the filter is true of it.
is() { said "$1" | jq -e "${@:2}" >/dev/null; }

echo "# refusals in the guest"
check "without the word: $(said word)" ended word 1
check "in a container: $(said container)" ended container 2
check "in a user namespace: $(said users)" ended users 2
check "with a root of its own: $(said root)" ended root 2
check "which says so" test -n "$(said container | grep 'this is a container')"
check "nothing was dropped by these" holds "$(said refused-drop) < 1024"

echo "# a guest that reads $hot bytes again and again, and has read $cold once"
said busy | jq -c 'del(.curve)' | sed 's/^/# /'
said busy | jq -r '.curve[] | "# \(.after_s) s: \(.back_bytes) back, \(.disk_read_bytes) read"' | head -n 30
sectors=$((($(said sectors-after) - $(said sectors-before)) * 512))
check "it ends well" ended busy 0
check "when the growth has ended" is busy '.schema == "vmwss.guest_regrow.v1" and .end == "settled" and .flags == []'
check "both were cached before, and dropped" is busy --argjson all $((hot + cold)) '.dropped_bytes >= 0.95 * $all'
check "what comes back is what is read: $(said busy | jq .back_bytes) of $hot bytes" is busy --argjson hot $hot --argjson mib $mib \
	'(.back_bytes - $hot) | fabs < $mib'
check "the bounds of the need hold it" is busy --argjson hot $hot --argjson mib $mib \
	'.need_low_bytes <= $hot + $mib and .need_high_bytes >= $hot - $mib and .need_high_bytes == .kept_bytes + .back_bytes'
check "the disk read as much: $(said busy | jq .disk_read_bytes)" is busy --argjson hot $hot --argjson mib $mib \
	'.disk_read_bytes >= $hot - $mib and .disk_read_bytes <= $hot + 2 * $mib'
check "which is what the block layer counted: $sectors" is busy --argjson sectors $sectors --argjson mib $mib \
	'(.disk_read_bytes - $sectors) | fabs < $mib / 4'
# By more than what may be wrong in what came back; on a busy machine not yet by all.
check "a tmpfs grew meanwhile, by $(said tmpfs)" holds "$(said tmpfs) >= 6 * $mib"
check "and is not in it" is busy '(.curve[-1].time > .curve[0].time) and (.curve | map(.back_bytes) | max) < 22 * 1048576'
check "the knee is where all was back" is busy '.knee.back_bytes >= 0.9 * .back_bytes and .knee.after_s < .watched_s - .settle_s / 2'
check "the curve rises to it, from what was read during the drop" is busy '(.curve[0].back_bytes - .read_in_drop_bytes) <= 0 and (.curve | length > 5 and
	(. as $c | all(range(1; length); $c[.].back_bytes >= $c[. - 1].back_bytes - 262144 and $c[.].after_s > $c[. - 1].after_s)))'
check "tasks waited for the disk" is busy '.io_wait_s > 0'
check "before and after the drop" is busy '.before.cache_bytes - .kept_bytes == .dropped_bytes and .kept_bytes <= .dropped.cache_bytes'

echo "# interrupted, as a table"
said table | sed 's/^/# /'
check "with the status of one" ended table 130
check "what was seen until then" test -n "$(said table | grep -E '^Dropped [0-9.]+ MiB of [0-9.]+ MiB of page cache; ')"
check "and that it is not all" test -n "$(said table | grep -E '^Came back: at least .*interrupted after')"
check "rows with their time" test -n "$(said table | grep -E '^20[0-9-]+T[0-9:.]+Z +[0-9.]+s +[0-9.]+ [KM]?i?B +')"

echo "# a guest that reads nothing"
check "ends" ended quiet 0
check "had what it read once" is quiet --argjson cold $cold '.dropped_bytes >= 0.95 * $cold'
check "of which nothing comes back: $(said quiet | jq .back_bytes)" is quiet '.end == "settled" and .back_bytes < 1048576 and .disk_read_bytes < 1048576 and .knee == null'
check "a watch that is over before the growth has ended says so" is over '.end == "time" and .flags == ["growing"] and .watched_s >= 3'
check "the kernel has a line of each" test "$(said kernel-log)" = 4
finish
