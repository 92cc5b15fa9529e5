// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_qmp.c  What a QMP server says, which may hold what a guest chose. */
#include "fuzz.h"
#include "guest/domain/qmp.h"

#include <jansson.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qmp *qmp = NULL;
    struct error error = {0};
    json_t *result = NULL;
    int ends[2];

    CLAIM(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    /* Bytes that do not fit into the socket are dropped. */
    CLAIM(send(ends[1], data, size, MSG_DONTWAIT | MSG_NOSIGNAL) >= -1);
    CLAIM(shutdown(ends[1], SHUT_WR) == 0);
    if (qmp_greet(ends[0], 1000, &qmp, &error) == 0) {
        CLAIM(qmp_execute(qmp, "query-status", 1000, &result, &error) == 0 || error.code < 0);
        qmp_close(qmp);
    }
    json_decref(result);
    close(ends[1]);
    return 0;
}
