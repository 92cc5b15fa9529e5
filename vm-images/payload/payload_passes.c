// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file payload_passes.c  Runs a command and notes how often a payload guest got through its hot
 * set meanwhile. */
#include "layout.h"
#include "spin.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_EVERY_NS 10000000
#define CANNOT_RUN 127

static const char usage[] =
    "Usage: payload-passes SERIAL PID FILE COMMAND...\n"
    "\n"
    "Runs the command, with its exit status, and writes a line [TIME, PASSES] to FILE every 10 ms: seconds since 1970, and\n"
    "how often the payload in process PID had got through its hot set by then. SERIAL is the file of what it said on its\n"
    "serial port. A measurement of a window without a whole pass says nothing of what the guest touches.\n";

/** The payload's state in QEMU's memory. */
struct guest {
    int memory; /**< /proc/PID/mem */
    uint64_t state_hva;
};

/** Says what is wrong, with errno if there is one. */
static int refuse(const char *what, const char *name)
{
    fprintf(stderr, "payload-passes: %s: %s%s%s\n", name, what, errno ? ": " : "",
            errno ? strerror(errno) : "");
    return -1;
}

/** Where the payload says that its state is, as a guest-physical address; 0 if it does not say. */
static uint64_t state_gpa(const char *serial)
{
    FILE *file = fopen(serial, "re");
    char line[512];
    uint64_t gpa = 0;

    while (file && gpa == 0 && fgets(line, sizeof(line), file)) {
        const char *said = strstr(line, "vmwss-payload ready") ? strstr(line, " state=0x") : NULL;

        if (said)
            gpa = strtoull(said + strlen(" state="), NULL, 16);
    }
    if (file)
        fclose(file);
    return gpa;
}

/** Finds the mapping of QEMU that has the state at its place: guest RAM begins there. */
static int find_state(struct guest *guest, const char *pid, uint64_t offset)
{
    char path[64], line[512];
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%s/maps", pid);
    maps = fopen(path, "re");
    while (maps && guest->state_hva == 0 && fgets(line, sizeof(line), maps)) {
        uint64_t begin, end, magic = 0;
        char access;

        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " r%c", &begin, &end, &access) == 3 &&
            access == 'w' && end - begin > offset &&
            pread(guest->memory, &magic, sizeof(magic), (off_t)(begin + offset)) > 0 &&
            magic == STATE_MAGIC)
            guest->state_hva = begin + offset;
    }
    if (maps)
        fclose(maps);
    return guest->state_hva ? 0 : -1;
}

static int open_guest(struct guest *guest, const char *serial, const char *pid)
{
    uint64_t gpa = state_gpa(serial);
    char path[64];

    if (gpa == 0)
        return refuse("does not say that the payload is ready", serial);
    snprintf(path, sizeof(path), "/proc/%s/mem", pid);
    guest->memory = open(path, O_RDONLY | O_CLOEXEC);
    if (guest->memory < 0)
        return refuse("cannot open", path);
    if (find_state(guest, pid, gpa >= LAYOUT_VIRT_BEGIN ? gpa - LAYOUT_VIRT_BEGIN : gpa)) {
        errno = 0;
        return refuse("has no payload's state in its memory", path);
    }
    return 0;
}

/** A QEMU that has ended has no more to say. */
static void note_passes(const struct guest *guest, FILE *file)
{
    struct timespec now;
    uint64_t passes;

    if (pread(guest->memory, &passes, sizeof(passes),
              (off_t)(guest->state_hva + offsetof(struct state, loops))) != sizeof(passes))
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    fprintf(file, "[%lld.%06ld, %" PRIu64 "]\n", (long long)now.tv_sec, now.tv_nsec / 1000, passes);
}

/** Its exit status, or as a shell has it for one that a signal ended. */
static int watch(const struct guest *guest, FILE *file, pid_t child)
{
    const struct timespec pause = {.tv_nsec = LOOK_EVERY_NS};
    int status;

    while (waitpid(child, &status, WNOHANG) == 0) {
        note_passes(guest, file);
        nanosleep(&pause, NULL);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static pid_t start(char **command)
{
    pid_t parent = getpid(), child = fork();

    if (child != 0)
        return child;
    /* The command ends with this program. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent)
        execvp(command[0], command);
    perror(command[0]);
    _exit(CANNOT_RUN);
}

int main(int argc, char **argv)
{
    struct guest guest = {0};
    FILE *file;
    pid_t child;
    int status;

    if (argc < 5) {
        fputs(usage, stderr);
        return 1;
    }
    if (open_guest(&guest, argv[1], argv[2]))
        return 1;
    file = fopen(argv[3], "we");
    child = file ? start(argv + 4) : -1;
    if (child < 0) {
        perror(argv[3]);
        return 1;
    }
    status = watch(&guest, file, child);
    if (fclose(file)) {
        perror(argv[3]);
        return 1;
    }
    return status;
}
