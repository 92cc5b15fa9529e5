#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Kernels for the lab and for test guests, kept in a cache outside the tree.
# Nothing is installed on this machine: Debian packages are downloaded and unpacked, two kernels are built.
#
# A finished kernel is a directory $CACHE/kernels/NAME-KEY with vmlinuz, config, release and, for a stock kernel,
# lib/modules. KEY names the inputs, so a change of configuration or package makes a new directory beside the old one.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${VMWSS_CACHE:-$HOME/.cache/vmwss}
# shellcheck source=architecture.sh
. "$here/architecture.sh"
# Of a kernel that is built: what its architecture adds to page_idle_kernel.config; what make is told, where its image is then,
# and its compiler. Objects are shown as "of about": so many when they were last counted.
declare -A config_of=([page_idle]=x86_64 [arm64_64k]=arm64_64k)
declare -A make_of=([page_idle]='ARCH=x86 bzImage' [arm64_64k]='ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- Image')
declare -A image_of=([page_idle]=x86/boot/bzImage [arm64_64k]=arm64/boot/Image)
declare -A compiler_of=([page_idle]='gcc gcc' [arm64_64k]='aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu')
declare -A objects_of=([page_idle]=1314 [arm64_64k]=1035)

say() { printf 'kernels: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

usage() {
	cat <<-END
	Usage: kernels.sh [--update] NAME...
	       kernels.sh --list

	Prints the directory of each named kernel, after obtaining it when the cache does not have it.

	  page_idle   built from Debian's linux-source-6.12 with page_idle_kernel.config, x86-64 (minutes)
	  6.12        Debian's stock linux-image-6.12-amd64 (security updates of Debian 12)
	  6.1         Debian 12's stock linux-image-amd64
	  5.10        Debian 11's, for test guests; from the mirror that this machine has Debian 12 from
	  arm64       Debian's stock linux-image-6.12-arm64, base pages of 4 KiB
	  arm64_16k   likewise, of 16 KiB
	  arm64_64k   built as page_idle is, for arm64, base pages of 64 KiB

	  --update    ask apt for the newest version, even if the cache has one
	  --list      print what the cache has
	  --help      print this

	The cache is \$VMWSS_CACHE, or ~/.cache/vmwss. Packages come through apt-get download;
	--update sees what the last "apt-get update" saw.
	END
}

# The directory a kernel is made in, on the cache's own file system so that the last step is one rename.
scratch=
cleanup() {
	# A second signal must not stop this.
	trap '' INT TERM HUP
	if [[ -n $scratch ]]; then
		rm -rf -- "$scratch"
	fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

new_scratch() {
	scratch=$(mktemp -d "$cache/kernels/.making.XXXXXX")
	# mktemp's 0700 would stay on the finished directory.
	chmod 755 "$scratch"
}

# Options for apt, which knows no other release than the machine's.
apt_options=()

# other_release SUITE: apt_options for that release of Debian, in lists of its own.
other_release() {
	local lists=$cache/apt/$1 mirror
	# shellcheck disable=SC2016 # apt's variables
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | sed -n 's/ bookworm$//p' | head -n 1)
	[[ -n $mirror ]] || die "no mirror of Debian 12 among apt's sources"
	mkdir -p "$lists/partial"
	printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$mirror" "$1" >"$lists.list"
	apt_options=(-o "Dir::Etc::SourceList=$lists.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$lists"
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root)
	apt-get "${apt_options[@]}" -qq update >&2 || die "$mirror has no Debian $1"
}

need() {
	local command package missing=()
	while (($#)); do
		command=$1 package=$2
		shift 2
		command -v "$command" >/dev/null || missing+=("$package")
	done
	((${#missing[@]} == 0)) || die "missing commands; install them with: apt-get install ${missing[*]}"
}

# The newest version of a package; nothing if apt does not know it.
candidate_version() {
	{ apt-cache "${apt_options[@]}" show --no-all-versions "$1" 2>/dev/null || true; } |
		sed -n 's/^Version: //p' | head -n 1
}

# The package that a meta package stands for, e.g. linux-image-6.1.0-56-amd64; nothing if apt does not know it.
real_image_package() {
	{ apt-cache "${apt_options[@]}" depends --no-recommends --no-suggests "$1" 2>/dev/null || true; } |
		sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -n 1
}

# download PACKAGE VERSION: prints the path of the package file.
download() {
	local package=$1 version=$2 found tmp
	mkdir -p "$cache/dl"
	found=$(find "$cache/dl" -maxdepth 1 -name "${package}_${version//:/%3a}_*.deb" -print -quit)
	if [[ -z $found ]]; then
		say "downloading $package $version"
		tmp=$(mktemp -d "$cache/dl/.part.XXXXXX")
		# apt's sandbox user cannot write to a private cache; as root that would only print a warning.
		if ! (cd "$tmp" && apt-get -o APT::Sandbox::User=root "${apt_options[@]}" -qq download "$package=$version" >&2); then
			rm -rf -- "$tmp"
			die "cannot download $package $version"
		fi
		mv -- "$tmp"/*.deb "$cache/dl/"
		rmdir -- "$tmp"
		found=$(find "$cache/dl" -maxdepth 1 -name "${package}_${version//:/%3a}_*.deb" -print -quit)
	fi
	printf '%s\n' "$found"
}

# configuration NAME: that of a kernel that is built.
configuration() { cat -- "$here/page_idle_kernel.config" "$here/page_idle_kernel.${config_of[$1]}.config"; }

# What the names of a kernel's directories begin with; the package's version follows.
prefix() {
	local hash=
	if [[ -v config_of[$1] ]]; then
		hash=$(configuration "$1" | sha256sum)
		hash=${hash:0:12}-
	fi
	printf '%s-%s' "$1" "$hash"
}

# The newest finished directory of this kernel. Prints nothing when there is none.
newest() {
	local dir
	for dir in "$cache/kernels/$(prefix "$1")"*; do
		if [[ -e $dir/vmlinuz ]]; then
			printf '%s\n' "$dir"
		fi
	done | sort -V | tail -n 1
}

stock_kernel() {
	local name=$1 meta=$2 package version dir deb root
	package=$(real_image_package "$meta")
	[[ -n $package ]] || die "$name: apt knows no $meta: run apt-get update, with the security archive enabled"
	version=$(candidate_version "$package")
	dir=$cache/kernels/$name-$version
	if [[ ! -e $dir/vmlinuz ]]; then
		need dpkg-deb dpkg depmod kmod
		deb=$(download "$package" "$version")
		say "$name: unpacking $package $version"
		new_scratch
		root=$scratch/unpacked
		dpkg-deb -x "$deb" "$root"
		mv -- "$root"/boot/vmlinuz-* "$scratch/vmlinuz"
		mv -- "$root"/boot/config-* "$scratch/config"
		mv -- "$root/lib" "$scratch/lib"
		rm -rf -- "$root"
		basename "$scratch"/lib/modules/* >"$scratch/release"
		# The package's own scripts would have done this.
		depmod -b "$scratch" "$(<"$scratch/release")"
		finish "$dir"
	fi
	printf '%s\n' "$dir"
}

# finish DIR: the finished scratch directory takes its place in one step.
finish() {
	mv -T -- "$scratch" "$1"
	scratch=
}

# show_progress NAME LOG: reads make's output; a count on a terminal, else a line every half minute.
show_progress() {
	local name=$1 log=$2 line objects=0 next=$((SECONDS + 30))
	while IFS= read -r line; do
		printf '%s\n' "$line" >>"$log"
		[[ $line =~ ^\ \ (CC|AS)\  ]] || continue
		objects=$((objects + 1))
		if [[ -t 2 ]]; then
			printf '\rkernels: %s: %d of about %d objects, %d s' "$name" "$objects" "${objects_of[$name]}" "$SECONDS" >&2
		elif ((SECONDS >= next)); then
			say "$name: $objects of about ${objects_of[$name]} objects, $SECONDS s"
			next=$((SECONDS + 30))
		fi
	done
	[[ ! -t 2 ]] || printf '\n' >&2
}

built_kernel() {
	local name=$1 package=linux-source-6.12 dir version deb tree log how compiler
	read -ra how <<<"${make_of[$name]}"
	read -ra compiler <<<"${compiler_of[$name]}"
	version=$(candidate_version "$package")
	[[ -n $version ]] || die "$name: apt knows no $package: run apt-get update, with the security archive enabled"
	dir=$cache/kernels/$(prefix "$name")$version
	if [[ ! -e $dir/vmlinuz ]]; then
		need dpkg-deb dpkg gcc gcc "${compiler[@]}" make make flex flex bison bison bc bc xz xz-utils perl perl
		[[ -e /usr/include/libelf.h || -e /usr/include/x86_64-linux-gnu/libelf.h ]] ||
			die "$name: missing a header; install it with: apt-get install libelf-dev"
		deb=$(download "$package" "$version")
		SECONDS=0
		say "$name: unpacking the kernel's source"
		new_scratch
		tree=$scratch/tree log=$scratch/build.log
		mkdir "$tree"
		# Left out: what neither Kconfig nor this build reads, more than half of all bytes.
		dpkg-deb --fsys-tarfile "$deb" | tar -xO --wildcards '*/linux-source-6.12.tar.xz' |
			tar -xJ -C "$tree" --strip-components=1 \
				--exclude='*/drivers/gpu/drm/*.[ch]' --exclude='*/tools/testing' --exclude='*/Documentation/*.rst'
		say "$name: building with $(nproc) jobs"
		configuration "$name" >"$scratch/wanted"
		make -s -C "$tree" "${how[@]:0:${#how[@]}-1}" KCONFIG_ALLCONFIG="$scratch/wanted" allnoconfig >"$log" 2>&1 ||
			build_failed "$name" "$log"
		check_config "$name" "$scratch/wanted" "$tree/.config"
		make -C "$tree" -j"$(nproc)" "${how[@]}" 2>&1 | show_progress "$name" "$log" || build_failed "$name" "$log"
		mv -- "$tree/arch/${image_of[$name]}" "$scratch/vmlinuz"
		mv -- "$tree/.config" "$scratch/config"
		mv -- "$tree/include/config/kernel.release" "$scratch/release"
		rm -rf -- "$tree" "$scratch/wanted"
		finish "$dir"
		say "$name: built in $SECONDS s"
	fi
	printf '%s\n' "$dir"
}

# build_failed NAME LOG
build_failed() {
	tail -n 20 "$2" >&2
	die "$1: the build failed"
}

# check_config NAME WANTED CONFIG: Kconfig drops an option whose dependency is missing without a word; a lab without it would
# fail much later.
check_config() {
	local wanted lost=()
	while IFS= read -r wanted; do
		grep -qxF -- "$wanted" "$3" || lost+=("$wanted")
	done < <(grep -E '^CONFIG_[A-Z0-9_]+=(y|[0-9]+|".*")$' "$2")
	((${#lost[@]} == 0)) || die "$1: Kconfig dropped ${lost[*]}"
}

update=
names=()
for arg in "$@"; do
	case $arg in
	--help) usage; exit 0 ;;
	--update) update=yes ;;
	--list)
		for dir in "$cache"/kernels/*/; do
			if [[ -e $dir/vmlinuz ]]; then
				printf '%s\n' "${dir%/}"
			fi
		done
		exit 0
		;;
	page_idle | 6.12 | 6.1 | 5.10 | arm64 | arm64_16k | arm64_64k) names+=("$arg") ;;
	*) usage >&2; exit 2 ;;
	esac
done
((${#names[@]})) || { usage >&2; exit 2; }

obtain() {
	local name=$1 lock apt_options=()
	# A second run waits here and then finds the first one's kernel.
	exec {lock}>"$cache/kernels/.lock-$name"
	if ! flock -n "$lock"; then
		say "$name: waiting for another run"
		flock "$lock"
	fi
	case $name in
	page_idle | arm64_64k) built_kernel "$name" ;;
	6.12) stock_kernel 6.12 linux-image-6.12-amd64 ;;
	6.1) stock_kernel 6.1 linux-image-amd64 ;;
	5.10)
		other_release bullseye
		stock_kernel 5.10 linux-image-amd64
		;;
	arm64 | arm64_16k)
		other_architecture arm64
		stock_kernel "$name" "linux-image-6.12-${name/_/-}"
		;;
	esac
	exec {lock}>&-
}

mkdir -p "$cache/kernels"
for name in "${names[@]}"; do
	dir=$(newest "$name")
	if [[ -n $dir && -z $update ]]; then
		printf '%s\n' "$dir"
	else
		obtain "$name"
	fi
done
