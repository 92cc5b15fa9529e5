// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file exec_again.c  To be preloaded into a QEMU: a signal makes it replace itself by exec(2), as
 * cpr-exec of QEMU 11.1 does for a live update. Pid, start time and executable stay, the address
 * space does not. SIGRTMIN + 5: by the same program with the same arguments; SIGRTMIN + 6: by
 * another program.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define MAX_ARGUMENTS 256

/* Not with -daemonize: that would make another process of it. */
static void exec_again(int number)
{
    static char text[64 << 10];
    static char *arguments[MAX_ARGUMENTS];
    static char *const other[] = {"sleep", "600", NULL};
    size_t n = 0;
    sigset_t none;
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = read(fd, text, sizeof(text) - 1);

    for (char *at = text; at < text + length && n + 1 < MAX_ARGUMENTS; at += strlen(at) + 1)
        if (strcmp(at, "-daemonize") != 0)
            arguments[n++] = at;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (number == SIGRTMIN + 6)
        execv("/bin/sleep", other);
    else
        execv("/proc/self/exe", arguments);
    _exit(127);
}

__attribute__((constructor)) static void install(void)
{
    const struct sigaction action = {.sa_handler = exec_again};

    sigaction(SIGRTMIN + 5, &action, NULL);
    sigaction(SIGRTMIN + 6, &action, NULL);
}
