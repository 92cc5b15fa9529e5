#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lock=cpack thorough cost=40
#
# The RPM packages hold what Debian's do, rpmlint finds nothing that is not explained, and what is unpacked runs. And a
# package that is built again, in another place, is the same to the byte.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

dir=$(mktemp -d /tmp/vmwss-rpm.XXXX)
trap 'rm -rf --one-file-system -- "$dir"' EXIT
export SOURCE_DATE_EPOCH=1700000000

# pack BUILD KIND DIRECTORY
pack() { (cd "$1" && cpack -G "$2" -B "$3") >"$dir/cpack.log" 2>&1 || { cat "$dir/cpack.log"; return 1; }; }

check "cpack makes RPM packages" pack "$build" RPM "$dir/rpm"
check "and Debian's" pack "$build" DEB "$dir/deb"
# has_description RPM PACKAGE
has_description() {
	diff <(rpm -qp --qf '%{SUMMARY}\n%{DESCRIPTION}\n' "$1") \
		<(rpmspec -q --qf '<%{NAME}>\n%{SUMMARY}\n%{DESCRIPTION}\n' "$root/host/package/vmwss.spec" | sed -n "/^<$2>\$/,/^</p" | grep -v "^<")
}
names() { find "$1" -mindepth 1 ! -type d -printf '%P\n' | grep -v '^usr/share/lintian/' | sort; }
for package in vmwss vmwss-guest; do
	rpm=$(find "$dir/rpm" -maxdepth 1 -name "$package-[0-9]*.rpm")
	deb=$(find "$dir/deb" -maxdepth 1 -name "${package}_*.deb")
	check "$package: rpmlint finds nothing" bash -c "rpmlint -c '$root/host/package/rpmlint.toml' '$rpm' >'$dir/lint' 2>&1 &&
		grep -q ' 0 errors, 0 warnings' '$dir/lint' || { cat '$dir/lint'; exit 1; }"
	check "$package: its description is that of the spec" has_description "$rpm" "$package"
	mkdir -p "$dir/tree/$package" "$dir/debian/$package"
	check "$package: it unpacks" bash -c "cd '$dir/tree/$package' && rpm2cpio '$rpm' | cpio -idm --quiet"
	dpkg-deb -x "$deb" "$dir/debian/$package"
	check "$package: the same files as in Debian's" diff <(names "$dir/tree/$package") <(names "$dir/debian/$package")
	# rpmbuild strips programs once more, its own way.
	check "$package: with the same content" diff -r --exclude lintian --exclude bin --exclude sbin \
		"$dir/tree/$package" "$dir/debian/$package"
done
rpm=$(find "$dir/rpm" -maxdepth 1 -name 'vmwss-[0-9]*.rpm')
check "a changed configuration survives" test "$(rpm -qp --qf '[%{FILENAMES} %{FILEFLAGS:fflags}\n]' "$rpm" | grep conf | grep -v /man/)" = \
	"$(printf '%s\n' '/etc/vmwss/vmwssd.conf cn' '/usr/lib/sysusers.d/vmwss.conf ' \
		'/usr/share/vmwss/systemd/vmwss-balloond-reclaim.conf ')"
for tag in POSTIN PREUN POSTUN; do
	check "the script $tag is one" bash -c "rpm -qp --qf '%{$tag}' '$rpm' | tee '$dir/script' | sh -n && test -s '$dir/script'"
done
check "it asks for the libraries that it is linked with" \
	test "$(rpm -qp --requires "$rpm" | grep -cE '^lib(xml2|sqlite3|jansson|systemd|seccomp|cap-ng)\.so')" -ge 6
check "what is unpacked runs" test "$("$dir/tree/vmwss/usr/bin/vmwss" --version)" = "$("$build/host/vmwss" --version)"
check "so does the guest's" bash -c "'$dir/tree/vmwss-guest/usr/bin/vmwss-guest' memory --json | grep -q total_bytes"

echo "# a distribution's, from source"
spec=$root/host/package/vmwss.spec
check "rpmlint finds nothing in the spec" bash -c "rpmlint -c '$root/host/package/rpmlint.toml' '$spec' | grep -q ' 0 errors, 0 warnings'"
check "its version is the program's" test "$(rpmspec -q --srpm --qf '%{VERSION}' "$spec")" = "$("$build/host/vmwss" --version | awk '{ print $2 }')"
mkdir -p "$dir/top/SOURCES"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | tar --null -T - --transform "flags=rh;s,^,vmwss-$(rpmspec -q --srpm --qf '%{VERSION}' "$spec")/," \
	-czf "$dir/top/SOURCES/$(basename "$(rpmspec -P "$spec" | sed -n 's/^Source0: *//p')")") 2>/dev/null
# Its dependencies are of another distribution's names.
from_source() { rpmbuild -ba --nodeps --define "_topdir $dir/top" "$spec" >"$dir/rpmbuild.log" 2>&1 || { tail "$dir/rpmbuild.log"; return 1; }; }
check "rpmbuild makes both packages" from_source
for package in vmwss vmwss-guest; do
	rpm=$(find "$dir/top/RPMS" -name "$package-[0-9]*.rpm")
	mkdir -p "$dir/source/$package"
	check "$package: it unpacks" bash -c "cd '$dir/source/$package' && rpm2cpio '$rpm' | cpio -idm --quiet"
	check "$package: the files of cpack's" diff <(names "$dir/source/$package" | grep -vE '^usr/(share/(doc|licenses)|lib/.build-id)/') \
		<(names "$dir/tree/$package" | grep -v '^usr/share/doc/')
done

echo "# built again elsewhere"
mkdir "$dir/again"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp -d --parents -t "$dir/again") 2>/dev/null
again() {
	(cd "$dir/again" && cmake --preset release && cmake --build --preset release && cd build/release && cpack -G DEB -B "$dir/deb2") \
		>"$dir/again.log" 2>&1 || { tail "$dir/again.log"; return 1; }
}
check "it builds" again
check "as users build it a warning is no error" test -s "$dir/again/build/release/compile_commands.json" -a \
	-z "$(grep -e -Werror "$dir/again/build/release/compile_commands.json")"
for deb in "$dir"/deb/*.deb; do
	check "$(basename "$deb") is the same" cmp "$deb" "$dir/deb2/$(basename "$deb")"
done

finish
