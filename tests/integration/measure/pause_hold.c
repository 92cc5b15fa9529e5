// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file pause_hold.c  Holds a guest in a pause for longer than any measurement would, for pause.sh
 * to interfere.
 *
 * pause_hold LIMIT_MS HOLD_MS (PID | URI DOMAIN): prints "paused", after HOLD_MS asks for the end,
 * and prints "resumed" or "cut" and the length in ms.
 */
#include "guest/domain/pause.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int open_guest(const struct fsroot *root, char **argv, struct guest *guest,
                      struct error *error)
{
    struct domain_connection *connection;

    if (!argv[1])
        return guest_open_pid(root, atoi(argv[0]), guest, error);

    int rc = domain_connect(argv[0], &connection, error);

    if (rc < 0)
        return rc;
    rc = guest_open_domain(connection, root, argv[1], guest, error);
    domain_disconnect(connection);
    return rc;
}

static int hold(struct guest_pause *pause, unsigned hold_ms, struct error *error)
{
    uint64_t paused_ns;
    bool cut;
    int rc = guest_pause_begin(pause, error);

    if (rc < 0)
        return rc;
    puts("paused");
    fflush(stdout);
    usleep(hold_ms * 1000);
    rc = guest_pause_end(pause, &paused_ns, &cut, error);
    if (rc == 0)
        printf("%s %" PRIu64 "\n", cut ? "cut" : "resumed", paused_ns / 1000000);
    return rc;
}

int main(int argc, char **argv)
{
    struct guest_pause *pause = NULL;
    struct fsroot root;
    struct guest guest;
    struct error error = {0};

    if (argc < 4)
        return 1;

    int rc = guest_pause_start(&pause, (unsigned)atoi(argv[1]), &error);

    if (rc == 0)
        rc = fsroot_open(&root, "/");
    if (rc == 0)
        rc = open_guest(&root, argv + 3, &guest, &error);
    if (rc == 0)
        rc = guest_pause_attach(pause, &guest, argv[3], &error);
    if (rc == 0)
        rc = hold(pause, (unsigned)atoi(argv[2]), &error);
    if (rc < 0)
        fprintf(stderr, "%s\n", error.text);
    guest_pause_stop(pause);
    return rc < 0 ? 2 : 0;
}
