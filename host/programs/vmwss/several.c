// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/several.h"

#include "base/clock.h"
#include "base/command.h"
#include "base/interrupt.h"
#include "guest/domain/domain.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct several {
    pid_t pids[SEVERAL_AT_ONCE]; /* 0: no process */
    size_t running;
    bool signalled; /* SIGTERM was sent to the children */
    int code;
};

static int worse(int code, int other)
{
    if (code == EXIT_INTERRUPTED || other == EXIT_INTERRUPTED)
        return EXIT_INTERRUPTED;
    if (code == EXIT_DONE || other == EXIT_DONE)
        return code == EXIT_DONE ? other : code;
    return code < other ? code : other;
}

static int run_in_turn(char *const *names, size_t n, int (*one)(const char *name, void *context),
                       void *context)
{
    int code = EXIT_DONE;

    for (size_t i = 0; i < n && !interrupted; i++)
        code = worse(code, one(names[i], context));
    return interrupted ? EXIT_INTERRUPTED : code;
}

static pid_t start(const char *name, int (*one)(const char *name, void *context), void *context)
{
    const pid_t parent = getpid();
    pid_t pid = fork();
    int code;

    if (pid != 0)
        return pid;
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
        _exit(EXIT_INTERRUPTED);
    code = one(name, context);
    fflush(stdout);
    _exit(code);
}

static void tell_all(struct several *several)
{
    several->signalled = true;
    for (size_t i = 0; i < SEVERAL_AT_ONCE; i++)
        if (several->pids[i] > 0)
            kill(several->pids[i], SIGTERM);
}

/* Polls: waitpid() would miss a signal that comes between a test and the call until a child ends.
 */
static void wait_for_one(struct several *several)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) == 0) {
        if (interrupted && !several->signalled)
            tell_all(several);
        clock_sleep(50000000);
    }
    for (size_t i = 0; pid > 0 && i < SEVERAL_AT_ONCE; i++)
        if (several->pids[i] == pid) {
            several->pids[i] = 0;
            several->running--;
            several->code = worse(several->code,
                                  WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_CANNOT);
        }
}

static void put(struct several *several, pid_t pid)
{
    size_t i = 0;

    while (several->pids[i] > 0)
        i++;
    several->pids[i] = pid;
    several->running++;
}

bool several_in_turn(const char *uri)
{
    return strstr(uri ? uri : domain_default_uri(), ":///embed") != NULL;
}

int several_run(char *const *names, size_t n, bool in_turn,
                int (*one)(const char *name, void *context), void *context)
{
    struct several several = {.code = EXIT_DONE};

    interrupt_catch();
    fflush(stdout); /* otherwise each child would print it again */
    if (in_turn)
        return run_in_turn(names, n, one, context);
    for (size_t i = 0; i < n && !interrupted; i++) {
        pid_t pid;

        while (several.running == SEVERAL_AT_ONCE && !interrupted)
            wait_for_one(&several);
        pid = interrupted ? 0 : start(names[i], one, context);
        if (pid > 0) {
            put(&several, pid);
        } else if (pid < 0) {
            command_error("%s: fork: %s", names[i], strerror(errno));
            several.code = worse(several.code, EXIT_CANNOT);
        }
    }
    while (several.running > 0)
        wait_for_one(&several);
    return interrupted ? EXIT_INTERRUPTED : several.code;
}
