// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_stat.c  /proc/PID/stat, in which a process calls itself what it likes. */
#include "base/proc_pid.h"
#include "base/utf8.h"
#include "below.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct proc_stat stat = {0};
    struct proc_stat again = {0};
    char *text = malloc(size + 1);
    char name[64];

    CLAIM(text);
    memcpy(text, data, size);
    text[size] = '\0';

    int rc = proc_stat_parse(text, &stat);

    CLAIM(rc == 0 || rc == -EINVAL);
    if (proc_stat_name(text, name, sizeof(name)) == 0) {
        char printable[64];

        strcpy(printable, name);
        utf8_printable(printable);
        CLAIM(strlen(name) < sizeof(name) && strcmp(name, printable) == 0);
    }
    /* The same from a file, but for its longest. */
    below_write("proc/1/stat", text, strlen(text));
    if (strlen(text) < 1000 && proc_stat_read(below_root(), 1, &again) == 0)
        CLAIM(rc == 0 && stat.state == again.state && stat.start_ticks == again.start_ticks &&
              stat.utime_ticks == again.utime_ticks);
    free(text);
    return 0;
}
