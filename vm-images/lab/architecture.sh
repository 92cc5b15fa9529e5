# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Debian packages of another architecture, which this machine's apt knows nothing of: its lists and its state are of their own,
# in the cache, so that the machine has no foreign architecture. Needs: cache, die.

# other_architecture ARCH: sets apt_options, for the releases that this machine has from Debian.
other_architecture() {
	local dir=$cache/apt/$1 sources
	# shellcheck disable=SC2016 # apt's variables
	sources=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
		sed -n 's/ main$//p' | sort -u)
	[[ -n $sources ]] || die "none of apt's sources is a mirror of Debian: run apt-get update"
	mkdir -p "$dir/lists/partial" "$cache/dl/$1/partial"
	sed 's/.*/deb [signed-by=\/usr\/share\/keyrings\/debian-archive-keyring.gpg] & main/' <<<"$sources" >"$dir/sources.list"
	: >"$dir/status"
	apt_options=(-o "APT::Architecture=$1" -o "APT::Architectures=$1" -o "Dir::Etc::SourceList=$dir/sources.list"
		-o Dir::Etc::SourceParts=/dev/null -o "Dir::State=$dir" -o "Dir::State::Lists=$dir/lists"
		-o "Dir::State::status=$dir/status" -o "Dir::Cache::archives=$cache/dl/$1" -o Dir::Cache::pkgcache=
		-o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root -o DPkg::Post-Invoke= -o APT::Update::Post-Invoke-Success=)
	LC_ALL=C apt-get "${apt_options[@]}" -qq update >&2 || die "Debian's lists for $1 cannot be had"
}
