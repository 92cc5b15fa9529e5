// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_request_host.c  The header Host of a request, and the file hosts(5): the input's
 * first line is the header, the rest the file. */
#include "fuzz.h"
#include "programs/exporter/request_host.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct request_names names = {.own = {"hv1"}, .n_own = 1};
    char *text = malloc(size + 1);
    char *file;

    CLAIM(text);
    memcpy(text, data, size);
    text[size] = '\0';
    file = strchr(text, '\n');
    if (file)
        *file++ = '\0';
    request_names_in(&names, file ? file : "", "hv1");
    CLAIM(names.n_own >= 1 && names.n_own <= REQUEST_HOST_OWN);
    for (size_t i = 0; i < names.n_own; i++)
        CLAIM(names.own[i][0] && strlen(names.own[i]) < REQUEST_HOST_MAX);
    if (request_host_is_ours(text, &names))
        CLAIM(*text && strlen(text) < REQUEST_HOST_MAX);
    free(text);
    return 0;
}
