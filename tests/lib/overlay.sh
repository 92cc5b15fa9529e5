# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# This machine as it is, but what is written goes to a tmpfs, and processes are in a namespace of their own: what a command
# leaves behind is all there is. Needs root.

# overlay_reexec "$@": starts the script $0 again in such a view. Before anything else. What was written is below /mnt then.
overlay_reexec() {
	[[ -z ${VMWSS_OVERLAY:-} ]] || return 0
	# shellcheck disable=SC2016 # expanded inside
	VMWSS_OVERLAY=1 exec unshare --mount --pid --fork --kill-child --propagation private -- bash -c '
		set -e
		mount -t tmpfs tmpfs /mnt
		mkdir /mnt/upper /mnt/work /mnt/root
		mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root
		mount -t proc proc /mnt/root/proc
		mount --rbind /dev /mnt/root/dev
		mount --rbind /sys /mnt/root/sys
		mount --bind /mnt/upper /mnt/root/mnt
		exec chroot /mnt/root bash -c "cd \"\$1\" && shift && exec \"\$@\"" bash "$PWD" "$@"' bash bash "$0" "$@"
}

# overlay_files: the files and sockets that were written or made; what was deleted is there as a character device.
overlay_files() { find /mnt -not -type d | sort; }

# overlay_processes FILE: writes all processes but the script itself into FILE, and but those that have ended and which it, the
# first process of the namespace, has yet to reap. To be called in no subshell.
# shellcheck disable=SC2009 # all of them are wanted, not those of a name
overlay_processes() { ps -e -o pid=,args= | grep -v "^ *$$ \|^ *[0-9]* ps -e\|^ *[0-9]* grep -v\|<defunct>$" >"$1"; }
