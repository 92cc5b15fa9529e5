// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_owner.c  /proc/PID/cgroup, and behind a byte 0xff the command line. */
#include "base/utf8.h"
#include "fuzz.h"
#include "guest/domain/owner.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *mark = memchr(data, 0xff, size);
    const size_t cgroup_bytes = mark ? (size_t)(mark - data) : size;
    const size_t cmdline_bytes = mark ? size - cgroup_bytes - 1 : 0;
    char *cgroup = strndup((const char *)data, cgroup_bytes);
    char *cmdline = malloc(cmdline_bytes + 1); /* without a NUL at its end */
    struct guest_owner owner;

    if (!cgroup || !cmdline)
        abort();
    if (mark)
        memcpy(cmdline, mark + 1, cmdline_bytes);
    cmdline = realloc(cmdline, cmdline_bytes ? cmdline_bytes : 1);
    owner_find(&(struct owner_facts){cgroup, cmdline, cmdline_bytes}, &owner);
    CLAIM(memchr(owner.manager, 0, sizeof(owner.manager)));
    CLAIM(memchr(owner.name, 0, sizeof(owner.name)));
    CLAIM((*owner.manager != 0) == (*owner.name != 0));
    CLAIM(utf8_is_printable(owner.name));
    free(cgroup);
    free(cmdline);
    return 0;
}
