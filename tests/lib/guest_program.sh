# shellcheck shell=bash disable=SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A real Linux guest (TCG) that runs one program of the test: what it prints, each answer with its name before it.

# guest_program_run NAME MIB PARAMETERS: boots $image with the disk $dir/disk and waits until the guest's program NAME prints
# "NAME: done"; $dir/said then has what it printed. Exits if it does not. Sets pid meanwhile, for the script's trap.
guest_program_run() {
	local i
	: >"$dir/console"
	qemu-system-x86_64 -accel tcg -m "$2" -nodefaults -no-user-config -display none -vga none -no-reboot \
		-serial "file:$dir/console" -kernel "$image/vmlinuz" -initrd "$image/initrd.gz" \
		-drive "file=$dir/disk,format=raw,if=virtio" \
		-append "console=ttyS0 quiet no_timer_check panic=-1 psi=1 guest.mount=vda guest.run=$1 guest.toucher=no $3" &
	pid=$!
	for ((i = 0; i < 1200; i++)); do
		if grep -q "$1: done" "$dir/console" || ! kill -0 "$pid" 2>/dev/null; then break; fi
		sleep 0.5
	done
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	pid=
	tr -d '\r' <"$dir/console" >"$dir/said"
	grep -q "$1: done" "$dir/said" && return
	fail "the guest does its part" "$(tail -n 5 "$dir/said")"
	finish
	exit
}
# said NAME: the answer of this name. ended NAME STATUS: its command's exit status.
said() { sed -n "s/^$1 //p" "$dir/said"; }
ended() { [[ $(said "$1-status") == "$2" ]]; }
