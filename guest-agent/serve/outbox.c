// SPDX-License-Identifier: LGPL-2.1-or-later
#include "serve/outbox.h"

#include "base/cleanup.h"
#include "base/wire/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int outbox_put(struct outbox *outbox, json_t *message)
{
    /* With as many digits as a double holds, an uptime of years keeps the kernel's hundredths of a
     * second, and the host divides by differences of uptimes. */
    cleanup_free char *text = message ? json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(15))
                                      : NULL;
    int length;

    json_decref(message);
    if (!text)
        return -ENOMEM;
    if (strlen(text) >= WIRE_LINE_MAX)
        return -EMSGSIZE;
    length = asprintf(&outbox->line, "%s%s\n", outbox->cut ? "\n" : "", text);
    if (length < 0) {
        outbox->line = NULL;
        return -ENOMEM;
    }
    outbox->length = (size_t)length;
    outbox->written = 0;
    return 0;
}

int outbox_write(struct outbox *outbox, int fd)
{
    while (outbox->line && outbox->written < outbox->length) {
        ssize_t n = write(fd, outbox->line + outbox->written, outbox->length - outbox->written);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EAGAIN;
        outbox->written += (size_t)n;
        outbox->cut = true;
    }
    outbox->cut = outbox->line ? false : outbox->cut;
    free(outbox->line);
    outbox->line = NULL;
    return 0;
}

void outbox_drop(struct outbox *outbox)
{
    free(outbox->line);
    outbox->line = NULL;
}
