# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A fresh Debian: as a directory to install packages in, and as a disk that boots with systemd. Both are made once a month,
# and kept in $VMWSS_CACHE. Needs root (the user), debootstrap, and e2fsprogs.

debian_suite=bookworm
debian_cache=${VMWSS_CACHE:-${HOME:-/root}/.cache/vmwss}

# The machine's own way to Debian, which may be a mirror or a proxy.
debian_sources_of_this_machine() {
	cp /etc/resolv.conf "$1/etc/resolv.conf"
	rm -f "$1/etc/apt/sources.list"
	cp -r /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/trusted.gpg.d "$1/etc/apt/" 2>/dev/null
	[[ ! -e /etc/apt/apt.conf ]] || cp /etc/apt/apt.conf "$1/etc/apt/"
	if [[ $debian_suite == sid ]]; then # has neither updates nor security
		rm -rf "$1"/etc/apt/sources.list*
		echo "deb $(debian_mirror) sid main" >"$1/etc/apt/sources.list"
	elif [[ $debian_suite != bookworm ]]; then
		find "$1/etc/apt" \( -name '*.list' -o -name '*.sources' \) \
			-exec sed -i "s/\bbookworm\b/${debian_suite%-backports}/g" {} +
	fi
}
# Known before a namespace in which /var/lib is empty.
debian_mirror() {
	[[ -z ${DEBIAN_MIRROR:-} ]] || { echo "$DEBIAN_MIRROR" && return; }
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(REPO_URI)' | grep -m 1 -v security
}

# debian_tree DIR: a minimal Debian in DIR, in which no package starts a service. What went wrong is in DIR.log. With backports
# that is one whose owner has taken libvirt and QEMU from there, and nothing else.
debian_tree() {
	local tree=$1 release=${debian_suite%-backports} kept making
	mkdir -p "$tree" "$debian_cache"
	kept=$(find "$debian_cache" -maxdepth 1 -name "debian-$release.tar" -mtime -30)
	if [[ -z $kept ]]; then
		debootstrap --variant=minbase "$release" "$tree" "$(debian_mirror)" >"$tree.log" 2>&1 || return 1
		making=$(mktemp "$debian_cache/.making.XXXXXX")
		tar -C "$tree" -cf "$making" . && mv "$making" "$debian_cache/debian-$release.tar"
	else
		tar -C "$tree" -xf "$kept" || return 1
	fi
	debian_sources_of_this_machine "$tree"
	printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d"
	chmod 755 "$tree/usr/sbin/policy-rc.d"
	[[ $debian_suite != *-backports ]] || debian_take_backports "$tree"
}
debian_take_backports() {
	echo "deb $(debian_mirror) $debian_suite main" >"$1/etc/apt/sources.list.d/backports.list"
	debian_inside "$1" sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends -t "$@"' sh "$debian_suite" \
		libvirt-daemon libvirt-daemon-driver-qemu libvirt-clients qemu-system-x86 >"$1.log" 2>&1
}

# debian_inside DIR COMMAND...: in that Debian, with namespaces of its own, so that nothing it starts or mounts stays. Its / is that
# of the mount namespace, where that can be changed, so that scripts there can make one of their own and enter it. A compiler
# cache of this machine is not there.
debian_inside() {
	# shellcheck disable=SC2016 # expanded inside
	env -u CMAKE_C_COMPILER_LAUNCHER DEBIAN_FRONTEND=noninteractive unshare --mount --pid --fork --kill-child --propagation private -- bash -c '
		mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" || exit 125
		cd "$0" && if pivot_root . . 2>/dev/null; then umount -l . && cd / && exec "$@"; fi
		exec chroot "$0" "$@"' "$@"
}

# A short-lived machine with nobody at its console does without these. The first two are generators.
debian_unwanted=(systemd-getty-generator systemd-gpt-auto-generator getty.target systemd-logind.service e2scrub_reap.service
	libvirt-guests.service systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-random-seed.service
	systemd-binfmt.service systemd-pstore.service timers.target dev-hugepages.mount dev-mqueue.mount)

# debian_first_steps DIR: after its start, systemd runs what a second disk brings, a tar archive with a program named "main".
debian_first_steps() {
	local unit
	cat >"$1/etc/systemd/system/main.service" <<-END
		[Service]
		RuntimeDirectory=main
		ExecStart=/bin/sh -c 'tar -C /run/main -xf /dev/vdb && exec /run/main/main'
		[Install]
		WantedBy=multi-user.target
	END
	mkdir -p "$1"/etc/systemd/{system,system-generators}
	for unit in "${debian_unwanted[@]}"; do
		case $unit in
		*-generator) ln -s /dev/null "$1/etc/systemd/system-generators/$unit" ;;
		*) ln -sf /dev/null "$1/etc/systemd/system/$unit" ;;
		esac
	done
	debian_inside "$1" systemctl enable -q main.service
	echo debian >"$1/etc/hostname"
	systemd-machine-id-setup --root "$1" >"$1.log" 2>&1
}

# debian_make_image DIR PACKAGE...: DIR.img, of a tree in DIR.
debian_make_image() {
	local tree=$1
	shift
	debian_tree "$tree" || return 1
	debian_inside "$tree" sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" && apt-get clean' \
		sh systemd systemd-sysv udev "$@" >"$tree.log" 2>&1 || return 1
	rm -rf "$tree"/{usr/sbin/policy-rc.d,usr/share/doc,usr/share/man,usr/share/locale}
	find "$tree/var/lib/apt/lists" "$tree/var/cache" -type f -delete
	debian_first_steps "$tree" || return 1
	truncate -s 1G "$tree.img"
	mke2fs -q -t ext4 -O ^has_journal -d "$tree" "$tree.img" >"$tree.log" 2>&1
}

# debian_image SCRATCH PACKAGE...: sets debian_disk, the image of a disk that vm-images/linux's guest.root= boots: Debian with
# systemd and these packages. Not to be written to. SCRATCH is a name for what is made meanwhile; what went wrong is in SCRATCH.log.
debian_image() {
	local scratch=$1 key making
	shift
	key=$(printf '%s\n' "$@" | cat - "$root/tests/lib/debian.sh" | sha256sum)
	debian_disk=$debian_cache/debian-$debian_suite-${key:0:12}.img
	[[ -z $(find "$debian_cache" -maxdepth 1 -path "$debian_disk" -mtime -30 2>/dev/null) ]] || return 0
	debian_make_image "$scratch" "$@" || return 1
	making=$(mktemp "$debian_cache/.making.XXXXXX")
	cp --sparse=always "$scratch.img" "$making" && mv "$making" "$debian_disk"
	rm -rf --one-file-system -- "$scratch" "$scratch.img"
}
