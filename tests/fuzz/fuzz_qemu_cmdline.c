// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_qemu_cmdline.c  /proc/PID/cmdline of what says that it is a QEMU, and behind a byte
 * 0xff the file that it names. */
#include "fuzz.h"
#include "guest/domain/qemu_cmdline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct text {
    const uint8_t *at;
    size_t size;
};

static ssize_t read_file(void *context, const char *path, unsigned moved, char **text,
                         struct error *error)
{
    const struct text *file = context;

    (void)path;
    (void)moved;
    *text = file->at ? malloc(file->size + 1) : NULL;
    if (!*text)
        return error_set(error, -ENOENT, "none");
    memcpy(*text, file->at, file->size);
    (*text)[file->size] = '\0';
    return (ssize_t)file->size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *mark = memchr(data, 0xff, size);
    struct text file = {mark ? mark + 1 : NULL, mark ? (size_t)(data + size - mark) - 1 : 0};
    const struct qemu_files files = {"qemu-system-x86_64", read_file, &file};
    struct qemu_cmdline cmdline;
    struct error error = {0};
    uint64_t bytes = 0;

    if (qemu_cmdline_parse((const char *)data, mark ? (size_t)(mark - data) : size, &files,
                           &cmdline, &error) < 0) {
        CLAIM(error.code < 0 && *error.text);
        return 0;
    }
    for (size_t i = 0; i < cmdline.ram.n_backends; i++)
        bytes += cmdline.ram.backends[i].size_bytes;
    CLAIM(bytes == cmdline.ram.total_bytes && bytes <= RAM_CONFIG_MAX_BYTES);
    CLAIM((*cmdline.ram.unknown != '\0') == (cmdline.ram.n_backends == 0));
    CLAIM(memchr(cmdline.name, 0, sizeof(cmdline.name)));
    CLAIM(memchr(cmdline.qmp_path, 0, sizeof(cmdline.qmp_path)));
    qemu_cmdline_free(&cmdline);
    return 0;
}
