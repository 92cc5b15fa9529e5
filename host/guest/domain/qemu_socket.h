// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_socket.h  Finds the purpose of a socket that a QEMU serves, from its command line.
 *
 * QEMU serves monitors, consoles and devices by sockets of the same kind, and a client of a monitor
 * controls QEMU. A pure function of the command line.
 *
 * Source: QEMU 7.2 qemu-options.hx (-chardev, -device, -readconfig), chardev/char.c
 * qemu_chr_parse_compat() ("unix:PATH,server=on" of -qmp, -monitor, -serial ...),
 * util/qemu-sockets.c unix_listen_saddr(): it binds to the path as it was given. libvirt passes
 * descriptors in place of paths.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * Returns true if the socket of this path may belong to a virtserialport of the name @p port. False
 * if an option names the path, unless it is the only one and defines the chardev of such a port,
 * which is not multiplexed. Also false if no option names the path and a file has further options.
 * A socket that no option names was plugged in later, or passed by libvirt.
 * @param cmdline  NUL-separated, as in /proc/PID/cmdline
 * @param path     as the socket is bound, getpeername(2)
 */
bool qemu_socket_may_be_port(const char *cmdline, size_t length, const char *path,
                             const char *port);
