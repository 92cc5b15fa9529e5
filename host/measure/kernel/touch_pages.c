// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/touch_pages.h"

#include <errno.h>

bool touch_pages(pid_t pid, struct iovec *there, size_t n)
{
    char bytes[TOUCH_AT_ONCE];

    while (n > 0) {
        struct iovec here = {.iov_base = bytes, .iov_len = n};
        ssize_t read = process_vm_readv(pid, &here, 1, there, n, 0);

        if (read < 0 && errno == ESRCH)
            return false;

        size_t done = read < 0 ? 1 : (size_t)read + ((size_t)read < n);

        there += done;
        n -= done;
    }
    return true;
}
