# SPDX-License-Identifier: LGPL-2.1-or-later
# What cpack reads when it packs what the preset arm64 has built: dpkg-shlibdeps then takes the cross objdump.
set(ENV{DEB_HOST_ARCH} arm64)
