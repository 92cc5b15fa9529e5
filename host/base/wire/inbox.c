// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/wire/inbox.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void inbox_reset(struct inbox *inbox)
{
    inbox->length = 0;
    inbox->taken = 0;
    inbox->skipping = false;
}

/* Moves the rest to the front. If one line fills the whole buffer, it is too long. */
static void make_room(struct inbox *inbox)
{
    inbox->length -= inbox->taken;
    memmove(inbox->text, inbox->text + inbox->taken, inbox->length);
    inbox->taken = 0;
    if (inbox->length < sizeof(inbox->text))
        return;
    inbox->length = 0;
    inbox->skipping = true;
}

ssize_t inbox_fill(struct inbox *inbox, int fd)
{
    ssize_t n;

    make_room(inbox);
    do
        n = read(fd, inbox->text + inbox->length, sizeof(inbox->text) - inbox->length);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    inbox->length += (size_t)n;
    return n;
}

static bool next_line(struct inbox *inbox, const char **line, size_t *length)
{
    const char *from = inbox->text + inbox->taken;
    const char *newline = memchr(from, '\n', inbox->length - inbox->taken);

    if (!newline)
        return false;
    *line = from;
    *length = (size_t)(newline - from);
    inbox->taken += *length + 1;
    return true;
}

bool inbox_line(struct inbox *inbox, const char **line, size_t *length)
{
    while (next_line(inbox, line, length)) {
        if (!inbox->skipping)
            return true;
        inbox->skipping = false;
    }
    if (inbox->skipping)
        inbox->taken = inbox->length;
    return false;
}
