# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What a fresh Debian needs to build, demonstrate and test; installed only where missing.

packages_build=(build-essential cmake ninja-build pkg-config libvirt-dev libxml2-dev libjansson-dev
	libncurses-dev libsmartcols-dev libsqlite3-dev libinih-dev libsystemd-dev libcap-ng-dev libseccomp-dev libmicrohttpd-dev
	libcurl4-openssl-dev check libsubunit-dev)
packages_guests=(qemu-system-x86 qemu-utils libvirt-daemon libvirt-daemon-driver-qemu libvirt-clients jq procps python3 sqlite3 tmux
	libxml2-utils)
packages_lab=(busybox-static kmod cpio xz-utils flex bison bc libelf-dev libssl-dev)
# The arm64 lab: what emulates it, and what is built for it with.
packages_lab+=(qemu-system-arm qemu-user gcc-aarch64-linux-gnu)
# The picture that tests/bench/matrix draws; without it the table is the same.
packages_picture=(gnuplot-nox)
# Programs that the Linux guests of tests/bench/matrix work at: a redis, a compiler. Nothing here starts a service.
packages_work=(redis-tools tcc)
# libFuzzer is in the run-time libraries of the clang that the release has.
packages_fuzz=(clang "libclang-rt-$(grep -qx 'VERSION_ID="12"' /etc/os-release && echo 14 || echo 19)-dev")
# The cross compiler reads every source for arm64; the libraries' headers are those of packages_build.
packages_lint=(git python3 clang-format clang-tidy cppcheck shellcheck black pyflakes3 man-db groff systemd
	gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
# The packages: what finds fault with them, and a fresh Debian to install one in, and to boot.
packages_package=(python3-jsonschema python3-yaml python3-kubernetes reuse debhelper dpkg-dev lintian debootstrap e2fsprogs systemd rpm rpmlint rpm2cpio cpio)
# The exporter and plans of a URL are tested with these. Not every Debian has victoria-metrics; without it that part is
# skipped.
packages_prometheus=(prometheus prometheus-node-exporter curl openssl systemd)
# By whose rules vmwss-balloond may set balloons: the real daemon decides in balloond_user.sh.
packages_polkit=(polkitd dbus)
# The compilers of the policies that the package brings.
packages_policies=(apparmor checkpolicy semodule-utils)
! grep -qx 'VERSION_ID="12"' /etc/os-release || packages_prometheus+=(victoria-metrics)
# In which a page is looked at: vmwss report --html.
packages_browser=(chromium)
# The guest agent is compared with these: the page cache of files, processes; and a file system that has subvolumes.
packages_guest_agent=(vmtouch smem btrfs-progs)

# missing_packages PACKAGE...: those that are not installed.
missing_packages() {
	local package
	for package in "$@"; do
		dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -x installed >/dev/null || echo "$package"
	done
}

# apt_progress LOG: keeps apt's lines in LOG, and shows how far it is: in place on a terminal, else twice a minute.
apt_progress() {
	local line total=0 got=0 unpacked=0 ready=0 next=$((SECONDS + 30)) start=$SECONDS state columns
	columns=$(stty size 2>/dev/null <&1 | cut -d ' ' -f 2)
	while IFS= read -r line; do
		printf '%s\n' "$line" >>"$1"
		case $line in
		*' newly installed, '*) [[ $line =~ ^([0-9]+)\ upgraded,\ ([0-9]+) ]] && total=$((BASH_REMATCH[1] + BASH_REMATCH[2])) ;;
		Get:*) got=$((got + 1)) ;;
		Unpacking\ *) unpacked=$((unpacked + 1)) ;;
		Setting\ up\ *) ready=$((ready + 1)) ;;
		*) continue ;;
		esac
		state="$got fetched, $unpacked unpacked, $ready set up of $total packages, $((SECONDS - start)) s"
		if [[ -t 1 ]]; then
			printf '\r\033[K%.*s' "$((${columns:-80} - 1))" "  $state"
		elif ((SECONDS >= next)); then
			printf '  %s\n' "$state"
			next=$((SECONDS + 30))
		fi
	done
	[[ ! -t 1 ]] || printf '\r\033[K'
}

# apt_run LOG ARGUMENT...: apt-get, which waits for another one to end.
apt_run() {
	local log=$1
	shift
	set -o pipefail
	# A configuration file that somebody has changed stays as it is; dpkg would ask, and fail.
	LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 \
		-o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@" 2>&1 </dev/null | apt_progress "$log"
}

# backports: this Debian's suite of them, where apt has it.
backports() {
	apt-cache policy | grep -o "n=[a-z]*-backports\>" | head -n 1 | cut -c 3-
}

# install_missing PACKAGE...: in a subshell of its own, for it sets traps. Services are not started meanwhile: everything
# here runs without any.
install_missing() {
	local policy=/usr/sbin/policy-rc.d made='' log suite
	log=$(mktemp /tmp/vmwss-apt.XXXX)
	# shellcheck disable=SC2064 # the names as they are now
	trap "trap '' INT TERM HUP; rm -f -- '$log' \$made" EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	if [[ ! -e $policy ]]; then
		made=$policy
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
	fi
	# A package that an interrupted run left half-configured makes every later run fail.
	if apt_run "$log" update && { apt_run "$log" install -y --no-install-recommends "$@" ||
		{ dpkg --configure -a >>"$log" 2>&1 && apt_run "$log" install -y --no-install-recommends "$@"; }; }; then
		exit 0
	fi
	# Where libvirt is of backports the release's libvirt-dev does not go with it.
	suite=$(backports)
	if [[ -n $suite ]]; then
		echo "what is installed does not go with these; installing them from $suite"
		if apt_run "$log" install -y --no-install-recommends -t "$suite" "$@"; then exit 0; fi
	fi
	{
		echo "The end of what apt-get printed:"
		tail -n 25 "$log" | sed 's/^/  /'
		echo "Not installed: $(missing_packages "$@" | xargs)"
		echo "Remedy: mend what apt-get names above (where packages are half-configured: dpkg --configure -a, then" \
			"apt-get -f install; where something is of another suite than what it needs, as backports: apt-get install -t SUITE" \
			"with the packages above), check that \"apt-get update\" reaches a mirror of Debian, then start this again."
	} >&2
	exit 1
}

# install_packages PACKAGE...: those that are missing.
install_packages() {
	local missing lock
	mapfile -t missing < <(missing_packages "$@")
	((${#missing[@]})) || return 0
	if ((EUID != 0)); then
		echo "missing: ${missing[*]}; run as root, or install them yourself" >&2
		return 1
	fi
	echo "installing ${missing[*]}"
	(
		# One at a time: a second run waits here, and finds what the first has installed. No file is made for it.
		exec {lock}</usr/sbin
		flock "$lock"
		mapfile -t missing < <(missing_packages "$@")
		((${#missing[@]} == 0)) || install_missing "${missing[@]}"
	)
}
