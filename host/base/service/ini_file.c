// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/service/ini_file.h"

#include "base/cleanup.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

struct loading {
    ini_take take;
    void *context;
    FILE *file;
    const char *path;
    unsigned line;
    struct error error; /* the first error */
};

/* inih reads each line through this function, which counts the lines and detects lines longer than
 * inih's buffer, which inih would treat as two. */
static char *next_line(char *text, int size, void *context)
{
    struct loading *loading = context;
    char *got = fgets(text, size, loading->file);

    loading->line += got != NULL;
    if (got && !strchr(got, '\n') && !feof(loading->file) && !loading->error.code)
        error_set(&loading->error, -EINVAL, "%s:%u: the line is too long", loading->path,
                  loading->line);
    return got;
}

static int take_key(void *context, const char *section, const char *name, const char *value)
{
    struct loading *loading = context;
    struct error why = {0};

    if (loading->error.code)
        return 0;
    if (loading->take(loading->context, section, name, value, &why) == 0)
        return 1;
    error_set(&loading->error, -EINVAL, "%s:%u: %s", loading->path, loading->line, why.text);
    return 0;
}

int ini_file_read(const char *path, ini_take take, void *context, struct error *error)
{
    cleanup_file FILE *file = fopen(path, "re");
    struct loading loading = {.take = take, .context = context, .file = file, .path = path};

    if (!file)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));

    int bad_line = ini_parse_stream(next_line, &loading, take_key, &loading);

    if (loading.error.code)
        return error_set(error, -EINVAL, "%s", loading.error.text);
    if (bad_line > 0)
        return error_set(error, -EINVAL, "%s:%d: neither [section] nor key = value", path,
                         bad_line);
    return bad_line < 0 ? error_set(error, -ENOMEM, "%s: out of memory", path) : 0;
}
