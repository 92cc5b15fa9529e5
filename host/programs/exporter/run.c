// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/exporter/run.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)64 << 10)
#define TURN_MS 5
#define TURNS_AFTER_END 400 /* two seconds */

enum { OUT, WHY, N_STREAMS };

/* The data read from one of its outputs. */
struct stream {
    int fd; /* -1: it has ended */
    char *text;
    size_t size, room, max;
    bool cut; /* data beyond max is read and dropped, if that is allowed */
};

struct running {
    const struct run *run;
    struct stream streams[N_STREAMS];
    uint64_t deadline_ns;
    pid_t pid;
    int status; /* from waitpid() */
};

/* --- its start -------------------------------------------------------------------------------- */

static int set_signals(posix_spawnattr_t *attributes)
{
    sigset_t all;
    sigset_t none;
    int rc;

    sigfillset(&all);
    sigemptyset(&none);
    rc = posix_spawnattr_setsigdefault(attributes, &all);
    if (rc == 0)
        rc = posix_spawnattr_setsigmask(attributes, &none);
    return rc ? rc
              : posix_spawnattr_setflags(attributes,
                                         POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

static int set_files(posix_spawn_file_actions_t *actions, int out, int why)
{
    int rc = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(actions, out, STDOUT_FILENO);
    return rc ? rc : posix_spawn_file_actions_adddup2(actions, why, STDERR_FILENO);
}

/* Gives it its ends of the pipes; returns a positive errno. */
static int spawn(struct running *running, int out, int why)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    int rc = posix_spawnattr_init(&attributes);

    if (rc)
        return rc;
    rc = posix_spawn_file_actions_init(&actions);
    if (rc == 0) {
        rc = set_signals(&attributes);
        if (rc == 0)
            rc = set_files(&actions, out, why);
        if (rc == 0)
            rc = posix_spawn(&running->pid, running->run->path, &actions, &attributes,
                             running->run->argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    return rc;
}

static int start(struct running *running)
{
    int out[2];
    int why[2];
    int rc;

    if (pipe2(out, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(why, O_CLOEXEC) < 0) {
        rc = -errno;
        close(out[0]);
        close(out[1]);
        return rc;
    }
    running->streams[OUT].fd = out[0];
    running->streams[WHY].fd = why[0];
    rc = spawn(running, out[1], why[1]);
    close(out[1]);
    close(why[1]);
    return -rc;
}

/* --- output ----------------------------------------------------------------------------------- */

/* Makes room for some bytes and a NUL. */
static int make_room(struct stream *stream)
{
    size_t room = stream->room ? 2 * stream->room : CHUNK_BYTES;
    char *more;

    if (stream->room - stream->size > CHUNK_BYTES / 2)
        return 0;
    more = realloc(stream->text, room);
    if (!more)
        return -ENOMEM;
    stream->text = more;
    stream->room = room;
    return 0;
}

static int stream_read(struct stream *stream)
{
    int rc = make_room(stream);
    ssize_t n;

    if (rc < 0)
        return rc;
    n = read(stream->fd, stream->text + stream->size, stream->room - stream->size - 1);
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    if (n == 0) {
        close(stream->fd);
        stream->fd = -1;
    }
    stream->size += (size_t)n;
    if (stream->size <= stream->max)
        return 0;
    stream->size = stream->max;
    return stream->cut ? 0 : -EFBIG;
}

static int milliseconds_left(const struct running *running)
{
    const uint64_t now_ns = clock_ns();

    return running->deadline_ns > now_ns ? (int)((running->deadline_ns - now_ns) / 1000000 + 1) : 0;
}

/* Reads until both outputs have ended. */
static int read_all(struct running *running)
{
    struct stream *streams = running->streams;
    int rc = 0;

    while (rc == 0 && (streams[OUT].fd >= 0 || streams[WHY].fd >= 0)) {
        struct pollfd fds[] = {{.fd = streams[OUT].fd, .events = POLLIN},
                               {.fd = streams[WHY].fd, .events = POLLIN},
                               {.fd = running->run->ends_fd, .events = POLLIN}};
        /* checked even if the program writes all the time */
        const int left_ms = milliseconds_left(running);
        int n = left_ms ? poll(fds, 3, left_ms) : 0;

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            return -ETIMEDOUT;
        if (n > 0 && fds[2].revents)
            return -ECANCELED;
        for (int i = 0; n > 0 && rc == 0 && i < N_STREAMS; i++)
            if (fds[i].revents)
                rc = stream_read(&streams[i]);
    }
    return rc;
}

/* --- its end ---------------------------------------------------------------------------------- */

/* Both outputs are closed, so the program should end soon. */
static int await_end(struct running *running)
{
    struct pollfd ends = {.fd = running->run->ends_fd, .events = POLLIN};

    for (;;) {
        pid_t pid = waitpid(running->pid, &running->status, WNOHANG);

        if (pid == running->pid)
            return 0;
        if (pid < 0 && errno != EINTR)
            return -errno;
        if (milliseconds_left(running) == 0)
            return -ETIMEDOUT;
        if (poll(&ends, 1, TURN_MS) > 0)
            return -ECANCELED;
    }
}

static bool is_over(const struct running *running)
{
    struct pollfd ends = {.fd = running->run->ends_fd, .events = POLLIN};

    return poll(&ends, 1, 0) > 0;
}

/* A process that is no longer our child may be gone, or be another process. If everything is to
 * end, this does not wait for a process that hangs in the kernel. */
static void kill_it(struct running *running)
{
    int turns = 0;

    if (waitpid(running->pid, &running->status, WNOHANG) != 0)
        return;
    kill(running->pid, SIGKILL);
    while (waitpid(running->pid, &running->status, WNOHANG) == 0 && turns < TURNS_AFTER_END) {
        clock_sleep(TURN_MS * 1000000ULL);
        turns += is_over(running);
    }
}

static int end(struct running *running, int rc)
{
    if (rc == 0)
        rc = await_end(running);
    if (rc == 0)
        return WIFEXITED(running->status) && WEXITSTATUS(running->status) == 0 ? 0 : -EIO;
    if (rc != -ECHILD)
        kill_it(running);
    return rc;
}

/* Sets the program's own reason, or else how it ended. */
static int explain_end(const struct running *running, struct error *error)
{
    const struct stream *why = &running->streams[WHY];

    if (why->text && why->size > 0) {
        why->text[why->size] = '\0';
        why->text[strcspn(why->text, "\n")] = '\0';
        return error_set(error, -EIO, "%s", why->text);
    }
    if (WIFSIGNALED(running->status))
        return error_set(error, -EIO, "%s was ended by signal %d", running->run->path,
                         WTERMSIG(running->status));
    return error_set(error, -EIO, "%s ended with status %d", running->run->path,
                     WEXITSTATUS(running->status));
}

static int explain(const struct running *running, int rc, struct error *error)
{
    const struct run *run = running->run;

    switch (rc) {
    case -ETIMEDOUT:
        return error_set(error, rc, "not done after %g s", run->deadline_s);
    case -EFBIG:
        return error_set(error, rc, "larger than %zu MiB", run->max_bytes >> 20);
    case -EIO:
        return explain_end(running, error);
    default:
        return error_set(error, rc, "%s: %s", run->path, strerror(-rc));
    }
}

int run_program(const struct run *run, char **text, size_t *size, struct error *error)
{
    struct running running = {
        .run = run,
        .streams = {{.fd = -1, .max = run->max_bytes}, {.fd = -1, .max = 1024, .cut = true}},
        .deadline_ns = clock_ns() + (uint64_t)(run->deadline_s * 1e9),
        .pid = -1,
    };
    struct stream *out = &running.streams[OUT];
    int rc = start(&running);

    if (rc == 0)
        rc = end(&running, read_all(&running));
    for (int i = 0; i < N_STREAMS; i++)
        if (running.streams[i].fd >= 0)
            close(running.streams[i].fd);
    if (rc == 0 && !out->text) /* reading the end of a file needs room, too */
        rc = -ENOMEM;
    if (rc == 0) {
        out->text[out->size] = '\0';
        *text = out->text;
        *size = out->size;
    } else {
        rc = explain(&running, rc, error);
        free(out->text);
    }
    free(running.streams[WHY].text);
    return rc;
}
