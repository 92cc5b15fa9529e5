# SPDX-License-Identifier: LGPL-2.1-or-later
# The same two packages as RPM. What they need is found by rpm from what the programs are linked with.

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE "LGPL-2.1-or-later")
set(CPACK_RPM_PACKAGE_GROUP "System/Monitoring") # SUSE's rpmlint wants one
set(CPACK_RPM_PACKAGE_VENDOR "The vmwss developers")
set(CPACK_RPM_PACKAGE_URL "https://example.org/vmwss")
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _build_id_links none") # or two packages could own the same link
# Directories of the system's own packages.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
    /usr/lib/systemd /usr/lib/systemd/system /usr/lib/sysusers.d /usr/lib/udev /usr/lib/udev/rules.d /usr/sbin
    /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/man /usr/share/man/man1
    /usr/share/man/man5 /usr/share/man/man7 /usr/share/man/man8 /usr/share/lintian /usr/share/lintian/overrides)

# The service that starts by itself, and those that are for the administrator to enable, as in debian/vmwss.postinst.
set(VMWSS_UNITS vmwssd.service)
set(VMWSS_UNITS_ON_REQUEST "vmwss-exporter.socket vmwss-exporter.service vmwss-textfile.service vmwss-balloond.service")
foreach(script post preun postun)
    configure_file(rpm-${script}.in ${CMAKE_CURRENT_BINARY_DIR}/rpm-${script} @ONLY)
endforeach()

set(CPACK_RPM_HOST_PACKAGE_NAME vmwss)
set(CPACK_RPM_HOST_PACKAGE_REQUIRES "systemd") # systemd-sysusers makes the user in the first script
set(CPACK_RPM_HOST_USER_FILELIST "%config(noreplace) /etc/vmwss/vmwssd.conf" "%dir /etc/vmwss")
set(CPACK_RPM_HOST_POST_INSTALL_SCRIPT_FILE ${CMAKE_CURRENT_BINARY_DIR}/rpm-post)
set(CPACK_RPM_HOST_PRE_UNINSTALL_SCRIPT_FILE ${CMAKE_CURRENT_BINARY_DIR}/rpm-preun)
set(CPACK_RPM_HOST_POST_UNINSTALL_SCRIPT_FILE ${CMAKE_CURRENT_BINARY_DIR}/rpm-postun)

set(CPACK_RPM_GUEST_PACKAGE_NAME vmwss-guest)
set(CPACK_RPM_GUEST_PACKAGE_AUTOREQPROV OFF)
