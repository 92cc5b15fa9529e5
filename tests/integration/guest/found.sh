#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg cost=60
#
# Guests whose command line does not say it all: the machine is in a file, the sizes are QEMU's own, the file is hidden or was
# changed. RAM and WSS are right, or "-" with the reason; in no output is a figure made up.

# In a namespace of processes of its own: vmwssd would follow every QEMU of this machine.
[[ -n ${VMWSS_OWN_PROCESSES:-} ]] || VMWSS_OWN_PROCESSES=yes exec unshare --pid --fork --kill-child --mount-proc -- "$BASH" "$0" "$@"
libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

params="total=96M hot=16M"
mib=1048576

# listed FILTER: list's line of the guest says so.
listed() { "$vmwss" list --processes --json | jq -se --argjson pid "$pid" "any(.[]; .pid == \$pid and ($1))" >/dev/null; }
# measured MIB: RAM is so much, and the WSS is what the guest touches.
measured() {
	"$vmwss" measure --pid "$pid" -m cold --census -w 1 --json >"$guests_dir/record" 2>"$guests_dir/messages" &&
		jq -e --argjson want "$(truth "$params memory=$1M")" '.ram_bytes == '"$(($1 * mib))"' and (.flags | index("partial") | not) and
			((.windows[0].wss_bytes - $want) | fabs) <= 0.01 * $want' "$guests_dir/record" >/dev/null
}
config() { cat >"$guests_dir/$1.conf"; }
# guest NAME QEMU-OPTION...: without -m.
guest() {
	local name=$1
	shift
	start_payload "$name" tcg "$params" "$@"
}
end() {
	stop_guest "$pid"
	rm -f "$guests_dir"/*.out "$guests_dir"/*.pid
}

echo "# the machine is in a file"
config all <<'END'
# as Incus writes it
[memory]
  size = "384M"
[object "mem0"]
  qom-type = "memory-backend-memfd"
  size = "128M"
  share = "on"
[object "mem1"]
  qom-type = "memory-backend-ram"
  size = "256M"
[numa]
  type = "node"
  memdev = "mem1"
[numa]
  type = "node"
  memdev = "mem0"
END
config boot <<'END'
[memory]
  size = "256M"
[machine]
  graphics = "off"
END
guest all -readconfig "$guests_dir/all.conf" || { finish; exit 1; }
check "all blocks, of which one is as large as QEMU's default RAM" measured 384
"$vmwss" bugreport --pid "$pid" -o "$guests_dir/report" >/dev/null
check "a bug report has the file" cmp "$guests_dir/all.conf" "$guests_dir/report/proc/$pid/root/$guests_dir/all.conf"
end
guest boot -readconfig "$guests_dir/boot.conf" || { finish; exit 1; }
check "RAM without a backend" measured 256
end
mkdir "$guests_dir/jail"
guest jail -readconfig "$guests_dir/boot.conf" -chroot "$guests_dir/jail" || { finish; exit 1; }
check "QEMU has another root since" measured 256
end

echo "# the file is not what QEMU read"
# The guest's RAM is not known: no figure, but what its process has, and the file's name.
unknown() { listed "(has(\"ram_bytes\") | not) and .resident_bytes > 90 * $mib and (.error | contains(\"$1\"))"; }
config gone <"$guests_dir/boot.conf"
guest gone -readconfig "$guests_dir/gone.conf" || { finish; exit 1; }
check "before" measured 256
# QEMU may read it for some seconds.
edited() { sed -i s/256/512/ "$guests_dir/gone.conf" && unknown "gone.conf (-readconfig): it was changed after QEMU had read it"; }
check "it was edited" eventually edited
replaced() {
	cp -p "$payload" "$guests_dir/older" && echo >"$guests_dir/older" && touch -r "$payload" "$guests_dir/older" &&
		mv "$guests_dir/older" "$guests_dir/gone.conf" && unknown "gone.conf (-readconfig): it was changed after QEMU had read it"
}
check "an older file has taken its place, as of a package" eventually replaced
rm "$guests_dir/gone.conf"
check "it was removed" unknown "gone.conf (-readconfig): No such file"
mkfifo "$guests_dir/gone.conf"
check "a pipe" unknown "not a plain file"
rm "$guests_dir/gone.conf"
ln -s /proc/self/environ "$guests_dir/gone.conf"
check "a link into the kernel" unknown gone.conf
rm "$guests_dir/gone.conf"
ln -s /proc/self/fd/0 "$guests_dir/gone.conf"
check "a link to its own input" unknown "gone.conf (-readconfig): Too many levels of symbolic links" <"$guests_dir/boot.conf"
rm "$guests_dir/gone.conf"
ln -s gone.conf "$guests_dir/gone.conf"
check "a link to itself" unknown "symbolic links"
expect_exit "measure says which file" 2 "gone.conf" "$vmwss" measure --pid "$pid"

echo "# a file without a name"
end
for path in /dev/fd/7 /proc/self/fd/7; do
	config nameless <"$guests_dir/boot.conf"
	exec 7<"$guests_dir/nameless.conf"
	rm "$guests_dir/nameless.conf"
	guest nameless -readconfig $path || { finish; exit 1; }
	exec 7<&-
	check "$path: QEMU's descriptor" measured 256
	end
done
guest gone -readconfig <(cat "$guests_dir/boot.conf") || { finish; exit 1; }
check "a pipe of the shell" unknown "/dev/fd/63 (-readconfig): not a plain file"
end
rm "$guests_dir/gone.conf"
config gone <"$guests_dir/boot.conf"
guest gone -readconfig "$guests_dir/gone.conf" || { finish; exit 1; }
rm "$guests_dir/gone.conf"

echo "# and vmwssd, status, report and exporter"
vmwssd_conf 'connect = processes' 'window = 1'
give_vmwssd "$guests_dir/conf"
vmwssd_begin --config "$guests_dir/conf"
logged() { grep -q 'gone.conf (-readconfig)' "$log"; }
check "vmwssd logs the reason" eventually logged
none() { [[ $(sql 'SELECT count(*) FROM sample') == 0 ]]; }
check "it keeps no made-up figure" none
in_status() {
	{ "$vmwss" status -D "$db" --json || true; } | jq -e '.guests | length == 1 and (.[0] | .domain == "gone" and .ram_bytes == null and
		.resident_bytes > 90 * '$mib' and (.reason | contains("gone.conf")))' >/dev/null
}
check "status has no RAM, and the reason" in_status
check "vmwssd ends" vmwssd_end TERM
end
cd "$guests_dir" || exit 1
guest relative -readconfig boot.conf || { finish; exit 1; }
check "a relative path, from a directory that QEMU has left" unknown "boot.conf (-readconfig): the path is relative"
end

echo "# other spellings"
MACHINE=q35,memory.size=256M start_payload spelled tcg "$params" || { finish; exit 1; }
check "-machine memory.size=" measured 256
end
guest sizes -m 64M -m slots=4,maxmem=2G -m size=0.25G || { finish; exit 1; }
check "several -m" measured 256
end
guest quotes -m ' +256M' -device "{'driver': 'virtio-rng-pci'}" || { finish; exit 1; }
check "quotes and numbers as QEMU reads them" measured 256
end
guest default || { finish; exit 1; }
check "QEMU's default, which a mapping proves" measured 128
end
"$qemu" -M x-remote -nodefaults -display none &
pid=$!
pids+=("$pid")
disown # or bash says that it was killed
remote() { listed '(has("ram_bytes") | not) and (.error | contains("x-remote"))'; }
check "devices of another QEMU's guest" eventually remote
end

echo "# memory as large as RAM"
memfd=(-object "memory-backend-memfd,id=r,size=256M,share=on")
shared=(-object "memory-backend-memfd,id=i,size=256M,share=on")
MACHINE=pc,memory-backend=r guest before -m 256 "${shared[@]}" "${memfd[@]}" -device ivshmem-plain,memdev=i || { finish; exit 1; }
check "of ivshmem, made before it" measured 256
end
MACHINE=pc,memory-backend=r guest behind -m 256 "${memfd[@]}" "${shared[@]}" -device ivshmem-plain,memdev=i || { finish; exit 1; }
check "made behind it" measured 256
end
guest graphics -m 256 -device VGA,vgamem_mb=256 || { finish; exit 1; }
check "of graphics" measured 256
end
config graphics <<'END'
[global]
  driver = "VGA"
  property = "vgamem_mb"
  value = "256"
END
guest global -m 256 -readconfig "$guests_dir/graphics.conf" -device VGA || { finish; exit 1; }
check "of graphics, sized by a file" measured 256
end
large=$params params="total=32M hot=8M"
guest small -m 64 -vga qxl || { finish; exit 1; }
check "of graphics of 64 MiB, QEMU's default" measured 64
params=$large
end
guest spare -m 256 -object memory-backend-ram,id=x,size=256M,prealloc=on || { finish; exit 1; }
counted() {
	"$vmwss" measure --pid "$pid" -m cold --census -w 1 --json >"$guests_dir/record" 2>"$guests_dir/messages" &&
		jq -e --argjson want "$(truth "$params memory=256M")" '(.flags | index("partial")) and (.windows[0] | ((.wss_bytes - $want) | fabs) <= 0.01 * $want and
			.wss_high_bytes >= $want + 256 * '$mib')' "$guests_dir/record" >/dev/null
}
check "of a backend that no option uses: what may be plugged is within the bounds" counted
end
truncate -s 256M "$guests_dir/pmem"
ram=/dev/shm/${guests_dir##*/}
trap 'rm -f "$ram"; end_guests' EXIT
MACHINE=pc,memory-backend=r guest files -m 256,slots=2,maxmem=2G -object "memory-backend-file,id=p,size=256M,share=on,mem-path=$guests_dir/pmem" \
	-object "memory-backend-file,id=r,size=256M,share=on,mem-path=$ram" -device virtio-pmem-pci,memdev=p || { finish; exit 1; }
check "of a writable virtio-pmem: two files" measured 256
end
MACHINE=pc,memory-backend=r guest file -m 256 -object "memory-backend-file,id=r,size=256M,share=on,mem-path=$ram" \
	-object "memory-backend-file,id=i,size=256M,share=on,mem-path=$ram" -device ivshmem-plain,memdev=i || { finish; exit 1; }
check "of ivshmem, in the RAM's own file" listed ".ram_bytes == 256 * $mib and .resident_bytes > 90 * $mib"
end

echo "# QEMU by other names"
export QEMU_MODULE_DIR=${QEMU_MODULE_DIR:-/usr/lib/$(uname -m)-linux-gnu/qemu}
data=(-L /usr/share/qemu -L /usr/share/seabios)
stock=$(command -v "$qemu")
for name in ".$qemu-wrapped" machine qemu; do
	qemu=$guests_dir/$name
	cp "$stock" "$qemu"
	guest named "${data[@]}" -m 128 || break
	rm "$qemu"
	check "$name" measured 128
	check "$name: listed" listed '.domain == "named" and .method == "cold"'
	end
done
loader=$guests_dir/loader
printf '#!/bin/sh\nexec %s %s "$@"\n' "$(ldd "$stock" | sed -n 's/^\t\(\/[^ ]*ld[^ ]*\) .*/\1/p')" "$stock" >"$loader"
chmod +x "$loader"
qemu=$loader
guest loaded "${data[@]}" -m 128 || { finish; exit 1; }
check "by the dynamic loader" measured 128
end
cp "$(sed -n 's/^exec \([^ ]*\) .*/\1/p' "$loader")" "$guests_dir/starter"
printf '#!/bin/sh\nexec %s/starter %s "$@"\n' "$guests_dir" "$stock" >"$loader"
guest loaded "${data[@]}" -m 128 || { finish; exit 1; }
check "by a copy of it under another name" measured 128
end
qemu=$stock

echo "# its children"
"$qemu" -nodefaults -display none -S -m 128 -async-teardown &
pid=$!
pids+=("$pid")
disown
only_once() { [[ -n $(pgrep -P "$pid") ]] && "$vmwss" list --processes --json | jq -se --argjson pid "$pid" 'map(.pid) == [$pid]' >/dev/null; }
check "one that frees its memory when it has ended is no guest" eventually only_once
expect_exit "nor can it be measured" 2 "process $pid, the guest, has forked it" "$vmwss" measure --pid "$(pgrep -P "$pid")"
end

echo "# other programs"
cp "$(command -v sleep)" "$guests_dir/qemu-helper"
"$guests_dir/qemu-helper" 600 &
pids+=("$!")
check "no QEMU" test "$("$vmwss" list --processes --json)" = ""
if [[ -w /dev/kvm ]]; then
	# with_machine STATEMENT: creates a virtual machine (KVM_CREATE_VM), and does so.
	with_machine() {
		python3 -c 'import fcntl, os, time
machine = fcntl.ioctl(os.open("/dev/kvm", os.O_RDWR), 0xAE01, 0)
'"$1"'
time.sleep(600)' &
		pid=$!
		pids+=("$pid")
	}
	with_machine 'os.memfd_create("[kvm-gmem]")'
	check "RAM in guest_memfd is refused" eventually listed '(has("ram_bytes") | not) and (.error | contains("it is in guest_memfd"))'
	with_machine pass
	check "another program with a virtual machine is listed, with the reason" eventually listed \
		'(has("ram_bytes") | not) and (.error | contains("not a QEMU"))'
	also_in_status() { { "$vmwss" status -D "$db" --json || true; } | jq -e '.guests | any(.reason | contains("not a QEMU"))' >/dev/null; }
	check "in status too" also_in_status
else
	skip "another program with a virtual machine" "no /dev/kvm"
fi
disown -a
finish
