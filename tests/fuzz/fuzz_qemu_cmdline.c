// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_qemu_cmdline.c  /proc/PID/cmdline of what says that it is a QEMU. */
#include "fuzz.h"
#include "guest/domain/qemu_cmdline.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qemu_cmdline cmdline;
    struct error error = {0};
    uint64_t bytes = 0;

    if (qemu_cmdline_parse((const char *)data, size, &cmdline, &error) < 0) {
        CLAIM(error.code < 0 && *error.text);
        return 0;
    }
    for (size_t i = 0; i < cmdline.ram.n_backends; i++)
        bytes += cmdline.ram.backends[i].size_bytes;
    CLAIM(bytes == cmdline.ram.total_bytes && bytes <= RAM_CONFIG_MAX_BYTES);
    CLAIM(memchr(cmdline.name, 0, sizeof(cmdline.name)));
    CLAIM(memchr(cmdline.qmp_path, 0, sizeof(cmdline.qmp_path)));
    qemu_cmdline_free(&cmdline);
    return 0;
}
