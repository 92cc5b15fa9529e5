// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_cgroup_path.c  /proc/PID/cgroup: the path of a process's control group. */
#include "fuzz.h"
#include "measure/kernel/memcg_reclaim.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[MEMCG_PATH_MAX];
    struct error error = {0};
    char *text = malloc(size + 1);

    CLAIM(text);
    memcpy(text, data, size);
    text[size] = '\0';
    if (memcg_reclaim_parse(text, 1, path, &error) == 0) {
        CLAIM(path[0] == '/' && strlen(path) < sizeof(path) && !strchr(path, '\n'));
        CLAIM(strstr(text, path));
    } else {
        CLAIM(error.text[0]);
    }
    free(text);
    return 0;
}
