// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cache/maps.h"

#include "base/kernel_number.h"

#include <string.h>
#include <sys/sysmacros.h>

/* Parses a number that ends at @p delimiter, and moves *at behind it. */
static bool number(const char **at, int base, char delimiter, uint64_t *value)
{
    const char *end = kernel_bits(*at, base, value);

    if (!end || *end != delimiter)
        return false;
    *at = end + 1;
    return true;
}

/* Format: "start-end perms offset major:minor inode   path" */
bool maps_parse(char *line, struct maps_line *out)
{
    uint64_t offset, device_major, device_minor, inode;
    const char *at = line;

    if (!number(&at, 16, '-', &out->start) || !number(&at, 16, ' ', &out->end))
        return false;
    at += strcspn(at, " "); /* permissions */
    if (*at++ != ' ' || !number(&at, 16, ' ', &offset) || !number(&at, 16, ':', &device_major) ||
        !number(&at, 16, ' ', &device_minor))
        return false;
    at = kernel_bits(at, 10, &inode);
    if (!at || (*at && *at != ' '))
        return false;
    out->device = makedev((unsigned)device_major, (unsigned)device_minor);
    out->inode = inode;
    out->path = line + (at + strspn(at, " ") - line);
    return true;
}
