#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Kernels for the lab and for test guests, kept in a cache outside the tree.
# Nothing is installed on this machine: Debian packages are downloaded and unpacked, three kernels and a module are built.
#
# A finished kernel is a directory $CACHE/kernels/NAME-KEY with vmlinuz, config, release and, for a stock kernel,
# lib/modules. KEY names the inputs, so a change of configuration or package makes a new directory beside the old one.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${VMWSS_CACHE:-$HOME/.cache/vmwss}
# shellcheck source=architecture.sh
. "$here/architecture.sh"
# A kernel that is built: the version of its linux-source, and what is added to page_idle_kernel.config, its architecture first.
declare -A source_of=([page_idle]=6.12 [page_idle_7.3]=7.3 [arm64_64k]=6.12)
declare -A config_of=([page_idle]=x86_64 [page_idle_7.3]='x86_64 7.3' [arm64_64k]=arm64_64k)
# Objects are shown as "of about": so many when they were last counted.
declare -A objects_of=([page_idle]=1314 [page_idle_7.3]=1314 [arm64_64k]=1035)
# By architecture: what make is told, where the image is then, and the compiler.
declare -A make_of=([x86_64]='ARCH=x86 bzImage' [arm64_64k]='ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- Image')
declare -A image_of=([x86_64]=x86/boot/bzImage [arm64_64k]=arm64/boot/Image)
declare -A compiler_of=([x86_64]='gcc gcc' [arm64_64k]='aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu')

say() { printf 'kernels: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

usage() {
	cat <<-END
	Usage: kernels.sh [--update] NAME...
	       kernels.sh --list

	Prints the directory of each named kernel, after obtaining it when the cache does not have it.

	  page_idle      built from Debian's linux-source-6.12 with page_idle_kernel.config, x86-64 (minutes)
	  page_idle_7.3  likewise from linux-source-7.3, with DAMON_STAT, which is off until it is switched on
	  page_idle_module  6.12 with the kernel's own page_idle.c as a module (seconds)
	  7.3            Debian's stock linux-image-amd64 of Debian 13's backports, DAMON_STAT on
	  6.12           Debian's stock linux-image-6.12-amd64 (security updates of Debian 12)
	  6.1            Debian 12's stock linux-image-amd64
	  5.10           Debian 11's
	  arm64          Debian's stock linux-image-6.12-arm64, base pages of 4 KiB
	  arm64_16k      likewise, of 16 KiB
	  arm64_64k      built as page_idle is, for arm64, base pages of 64 KiB

	Another Debian's packages come from the mirror that this machine has its own from.

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
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | sed -nE 's/ (bookworm|trixie)$//p' | head -n 1)
	[[ -n $mirror ]] || die "no mirror of Debian 12 or 13 among apt's sources"
	mkdir -p "$lists/partial"
	printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$mirror" "$1" >"$lists.list"
	apt_options=(-o "Dir::Etc::SourceList=$lists.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$lists"
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root)
	# Two kernels of one release may be wanted at once.
	flock "$lists.lock" apt-get "${apt_options[@]}" -qq update >&2 || die "$mirror has no Debian $1"
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

# needed_packages PACKAGE PATTERN: those it depends on, e.g. linux-image-6.1.0-56-amd64 for a meta package.
needed_packages() {
	{ apt-cache "${apt_options[@]}" depends --no-recommends --no-suggests "$1" 2>/dev/null || true; } |
		sed -n "s/^ *Depends: \($2\)\$/\1/p"
}

# newest_image VERSION: the image's package in Debian's backports, which also have the versions before and after.
newest_image() { apt-cache "${apt_options[@]}" pkgnames "linux-image-$1." | grep -E '^linux-image-[0-9.]+\+deb[0-9]+-amd64$' | sort -V | tail -n 1; }

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
configuration() {
	local part
	cat -- "$here/page_idle_kernel.config"
	for part in ${config_of[$1]}; do cat -- "$here/page_idle_kernel.$part.config"; done
}

# The names of a kernel's directories begin with this; the package's version follows.
prefix() {
	local hash=
	if [[ -v config_of[$1] ]]; then
		hash=$(configuration "$1" | sha256sum)
		hash=${hash:0:12}-
	elif [[ $1 == page_idle_module ]]; then
		hash=$(sha256sum <"$here/page_idle_module.c")
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

# stock_kernel NAME PACKAGE: in Debian 13's backports PACKAGE needs others, which have the image, the modules and their lists.
stock_kernel() {
	local name=$1 package=$2 version dir part parts=() debs=() root
	version=$(candidate_version "$package")
	dir=$cache/kernels/$name-$version
	if [[ ! -e $dir/vmlinuz ]]; then
		need dpkg-deb dpkg depmod kmod
		mapfile -t parts < <(needed_packages "$package" 'linux-\(base\|binary\|modules\)-[0-9].*')
		((${#parts[@]})) || parts=("$package")
		for part in "${parts[@]}"; do
			debs+=("$(download "$part" "$(candidate_version "$part")")")
		done
		say "$name: unpacking $package $version"
		new_scratch
		root=$scratch/unpacked
		for part in "${debs[@]}"; do dpkg-deb -x "$part" "$root"; done
		if [[ -d $root/boot ]]; then
			mv -- "$root"/boot/vmlinuz-* "$scratch/vmlinuz"
			mv -- "$root"/boot/config-* "$scratch/config"
			mv -- "$root/lib" "$scratch/lib"
		else
			mkdir "$scratch/lib"
			mv -- "$root/usr/lib/modules" "$scratch/lib/modules"
			mv -- "$scratch"/lib/modules/*/vmlinuz "$scratch"/lib/modules/*/config "$scratch"
		fi
		rm -rf -- "$root"
		basename "$scratch"/lib/modules/* >"$scratch/release"
		# The package's own scripts would have done this.
		depmod -b "$scratch" "$(<"$scratch/release")"
		finish "$dir"
	fi
	printf '%s\n' "$dir"
}

# meta_kernel NAME META: a stock kernel by the name of its meta package.
meta_kernel() {
	local package
	package=$(needed_packages "$2" 'linux-image-[0-9].*' | head -n 1)
	[[ -n $package ]] || die "$1: apt knows no $2: run apt-get update, with the security archive enabled"
	stock_kernel "$1" "$package"
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
	local name=$1 package=linux-source-${source_of[$1]} arch=${config_of[$1]%% *} dir version deb tree log how compiler
	read -ra how <<<"${make_of[$arch]}"
	read -ra compiler <<<"${compiler_of[$arch]}"
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
		unpack_source "$deb" "$package" "$tree" \
			--exclude='*/drivers/gpu/drm/*.[ch]' --exclude='*/tools/testing' --exclude='*/Documentation/*.rst'
		say "$name: building with $(nproc) jobs"
		configuration "$name" >"$scratch/wanted"
		make -s -C "$tree" "${how[@]:0:${#how[@]}-1}" KCONFIG_ALLCONFIG="$scratch/wanted" allnoconfig >"$log" 2>&1 ||
			build_failed "$name" "$log"
		check_config "$name" "$scratch/wanted" "$tree/.config"
		make -C "$tree" -j"$(nproc)" "${how[@]}" 2>&1 | show_progress "$name" "$log" || build_failed "$name" "$log"
		mv -- "$tree/arch/${image_of[$arch]}" "$scratch/vmlinuz"
		mv -- "$tree/.config" "$scratch/config"
		mv -- "$tree/include/config/kernel.release" "$scratch/release"
		rm -rf -- "$tree" "$scratch/wanted"
		finish "$dir"
		say "$name: built in $SECONDS s"
	fi
	printf '%s\n' "$dir"
}

# unpack_source PACKAGE-FILE PACKAGE DIR TAR-OPTION...: the kernel's source, as far as these say.
unpack_source() {
	dpkg-deb --fsys-tarfile "$1" | tar -xO --wildcards "*/$2.tar.xz" | tar -xJ -C "$3" --strip-components=1 "${@:4}"
}

# module_kernel NAME: the stock 6.12, which has the page flags, but not what reads them. Debian's headers build a module of its
# source's page_idle.c, see page_idle_module.c.
module_kernel() {
	local name=$1 stock version dir release flavour part deb log
	stock=$("$here/kernels.sh" --update 6.12)
	version=$(basename "$stock") version=${version#6.12-} release=$(<"$stock/release")
	dir=$cache/kernels/$(prefix "$name")$version
	if [[ ! -e $dir/vmlinuz ]]; then
		need dpkg-deb dpkg depmod kmod gcc-12 gcc-12 make make xz xz-utils perl perl
		new_scratch
		mkdir "$scratch/tree" "$scratch/source"
		log=$scratch/build.log flavour=${release%-amd64}
		for part in "linux-headers-$release" "linux-headers-$flavour-common" "linux-kbuild-$flavour"; do
			deb=$(download "$part" "$version")
			dpkg-deb -x "$deb" "$scratch/tree"
		done
		deb=$(download linux-source-6.12 "$version")
		say "$name: building the module"
		unpack_source "$deb" linux-source-6.12 "$scratch/source" --wildcards 'linux-source-6.12/mm/*.h' linux-source-6.12/mm/page_idle.c
		cp -- "$here/page_idle_module.c" "$scratch/source/mm/"
		echo "obj-m := page_idle_module.o" >"$scratch/source/mm/Kbuild"
		# The package is made for one place.
		sed -i "s|include /usr/src/|include $scratch/tree/usr/src/|" "$scratch/tree/usr/src/linux-headers-$release/Makefile"
		# BTF, which describes its types, needs another program.
		make -C "$scratch/tree/usr/src/linux-headers-$release" M="$scratch/source/mm" CONFIG_DEBUG_INFO_BTF_MODULES= modules >"$log" 2>&1 ||
			build_failed "$name" "$log"
		cp -a -- "$stock"/{vmlinuz,config,release,lib} "$scratch/"
		mkdir "$scratch/lib/modules/$release/extra"
		mv -- "$scratch/source/mm/page_idle_module.ko" "$scratch/lib/modules/$release/extra/"
		depmod -b "$scratch" "$release"
		rm -rf -- "$scratch/tree" "$scratch/source"
		finish "$dir"
	fi
	printf '%s\n' "$dir"
}

# build_failed NAME LOG
build_failed() {
	tail -n 20 "$2" >&2
	die "$1: the build failed"
}

# check_config NAME WANTED CONFIG: Kconfig drops an option whose dependency is missing without a word; a lab without it would
# fail much later. An option's last line holds, for Kconfig too.
check_config() {
	local wanted lost=()
	while IFS= read -r wanted; do
		grep -qxF -- "$wanted" "$3" || lost+=("$wanted")
	done < <(awk -F = '/^CONFIG_/ { last[$1] = $0 } END { for (name in last) print last[name] }' "$2" |
		grep -E '^CONFIG_[A-Z0-9_]+=(y|[0-9]+|".*")$')
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
	page_idle | page_idle_7.3 | page_idle_module | 7.3 | 6.12 | 6.1 | 5.10 | arm64 | arm64_16k | arm64_64k) names+=("$arg") ;;
	*) usage >&2; exit 2 ;;
	esac
done
((${#names[@]})) || { usage >&2; exit 2; }

obtain() {
	local name=$1 lock image apt_options=()
	# A second run waits here and then finds the first one's kernel.
	exec {lock}>"$cache/kernels/.lock-$name"
	if ! flock -n "$lock"; then
		say "$name: waiting for another run"
		flock "$lock"
	fi
	case $name in
	page_idle | arm64_64k) built_kernel "$name" ;;
	page_idle_module) module_kernel "$name" ;;
	page_idle_7.3)
		other_release trixie-backports
		built_kernel "$name"
		;;
	7.3)
		other_release trixie-backports
		image=$(newest_image 7.3)
		[[ -n $image ]] || die "7.3: Debian 13's backports do not have it"
		stock_kernel 7.3 "$image"
		;;
	6.12) meta_kernel 6.12 linux-image-6.12-amd64 ;;
	6.1) meta_kernel 6.1 linux-image-amd64 ;;
	5.10)
		other_release bullseye
		meta_kernel 5.10 linux-image-amd64
		;;
	arm64 | arm64_16k)
		other_architecture arm64
		meta_kernel "$name" "linux-image-6.12-${name/_/-}"
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
