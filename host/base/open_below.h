// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file open_below.h  Opens a file of another process's tree, whatever symbolic links that process
 * has put there. */
#pragma once

/**
 * Opens the file of the absolute @p path as a process would whose root is the directory @p root_fd:
 * symbolic links and ".." do not leave it, and links of /proc are refused (-ELOOP). The same
 * as openat2(2) with RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS, which the scanner may not call,
 * because a filter of system calls does not see for what that opens a file.
 * @return a descriptor for reading, which does not block, or a negative errno
 */
int open_below(int root_fd, const char *path);

/** As open_below(), for a socket, which cannot be opened for reading: the descriptor (O_PATH) only
 * names it, for connect(2) by /proc/self/fd. -ENOTSOCK if it is another file. */
int open_socket_below(int root_fd, const char *path);
