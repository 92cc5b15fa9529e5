// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file nothp.c  Runs a command without transparent huge pages, whatever the host's setting.
 *
 * With 4 KiB pages a test can compare with a truth in 4 KiB pages. The setting survives exec
 * (prctl(2)).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        fprintf(argc < 2 ? stderr : stdout, "Usage: nothp COMMAND [ARG...]\n"
                                            "Runs COMMAND without transparent huge pages.\n");
        return argc < 2 ? 125 : 0;
    }
    if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)) {
        perror("nothp: PR_SET_THP_DISABLE");
        return 125;
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "nothp: %s: %s\n", argv[1], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}
