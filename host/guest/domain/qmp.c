// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/qmp.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define MAX_LINE_BYTES 16384

struct qmp {
    int fd;
    int next_id;
    size_t have, taken; /* positions in the buffer: filled, and already handed out */
    char buffer[MAX_LINE_BYTES];
};

static uint64_t deadline(int timeout_ms)
{
    return clock_ns() + (uint64_t)timeout_ms * 1000000;
}

/* --- lines ------------------------------------------------------------------------------------ */

static int receive(struct qmp *qmp, uint64_t until_ns)
{
    uint64_t now = clock_ns();
    struct pollfd in = {.fd = qmp->fd, .events = POLLIN};
    int rc = now < until_ns ? poll(&in, 1, (int)((until_ns - now + 999999) / 1000000)) : 0;

    if (rc < 0)
        return errno == EINTR ? 0 : -errno;
    if (rc == 0)
        return -ETIMEDOUT;

    ssize_t n = recv(qmp->fd, qmp->buffer + qmp->have, sizeof(qmp->buffer) - qmp->have, 0);

    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : -errno;
    qmp->have += (size_t)n;
    return n == 0 ? -EPIPE : 0;
}

/* The next line, without its newline; valid until the next call. */
static int next_line(struct qmp *qmp, uint64_t until_ns, const char **line, size_t *length)
{
    memmove(qmp->buffer, qmp->buffer + qmp->taken, qmp->have - qmp->taken);
    qmp->have -= qmp->taken;
    qmp->taken = 0;
    for (;;) {
        const char *end = memchr(qmp->buffer, '\n', qmp->have);

        if (end) {
            *line = qmp->buffer;
            *length = (size_t)(end - qmp->buffer);
            qmp->taken = *length + 1;
            return 0;
        }
        if (qmp->have == sizeof(qmp->buffer))
            return -EPROTO;

        int rc = receive(qmp, until_ns);

        if (rc < 0)
            return rc;
    }
}

static int next_object(struct qmp *qmp, uint64_t until_ns, json_t **object)
{
    const char *line;
    size_t length;
    int rc = next_line(qmp, until_ns, &line, &length);

    if (rc < 0)
        return rc;
    *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(*object))
        return 0;
    json_decref(*object);
    *object = NULL;
    return -EPROTO;
}

static int socket_failed(int rc, const char *what, struct error *error)
{
    if (rc == -ETIMEDOUT)
        return error_set(error, rc, "QMP %s: QEMU did not answer in time", what);
    if (rc == -EPROTO)
        return error_set(error, rc, "QMP %s: what came is not QMP", what);
    return error_set(error, rc, "QMP %s: %s", what,
                     rc == -EPIPE ? "QEMU closed the connection" : strerror(-rc));
}

/* --- commands --------------------------------------------------------------------------------- */

static int send_command(struct qmp *qmp, const char *command)
{
    char line[128];
    int length = snprintf(line, sizeof(line), "{\"execute\": \"%s\", \"id\": %d}\n", command,
                          ++qmp->next_id);

    /* a line this short fits into any socket's buffer, unless the other end does not read */
    if (length >= (int)sizeof(line))
        return -EINVAL;
    if (send(qmp->fd, line, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT) == length)
        return 0;
    return errno == EPIPE || errno == ECONNRESET ? -EPIPE : -ETIMEDOUT;
}

/* QEMU's own message, made printable. */
static int refused(const char *command, const json_t *reply, struct error *error)
{
    const char *words = json_string_value(json_object_get(json_object_get(reply, "error"), "desc"));
    char text[200];

    snprintf(text, sizeof(text), "%s", words ? words : "no reason given");
    for (char *c = text; *c; c++)
        if (!isprint((unsigned char)*c))
            *c = '?';
    return error_set(error, -EIO, "QMP %s: %s", command, text);
}

/* 1 if @p object answers the last command; takes its result. Events and late answers return 0. */
static int take_answer(const struct qmp *qmp, const char *command, const json_t *object,
                       json_t **result, struct error *error)
{
    const json_t *id = json_object_get(object, "id");
    json_t *value = json_object_get(object, "return");

    if (!json_is_integer(id) || json_integer_value(id) != qmp->next_id)
        return 0;
    if (!value)
        return refused(command, object, error);
    if (result)
        *result = json_incref(value);
    return 1;
}

int qmp_execute(struct qmp *qmp, const char *command, int timeout_ms, json_t **result,
                struct error *error)
{
    uint64_t until_ns = deadline(timeout_ms);
    int rc = send_command(qmp, command);

    while (rc == 0) {
        json_t *object;

        rc = next_object(qmp, until_ns, &object);
        if (rc < 0)
            break;

        int answer = take_answer(qmp, command, object, result, error);

        json_decref(object);
        if (answer != 0)
            return answer < 0 ? answer : 0;
    }
    return socket_failed(rc, command, error);
}

/* --- connecting ------------------------------------------------------------------------------- */

int qmp_greet(int fd, int timeout_ms, struct qmp **out, struct error *error)
{
    struct qmp *qmp = calloc(1, sizeof(*qmp));
    json_t *greeting = NULL;

    if (!qmp) {
        close(fd);
        return error_set(error, -ENOMEM, "QMP: out of memory");
    }
    qmp->fd = fd;

    int rc = next_object(qmp, deadline(timeout_ms), &greeting);

    if (rc == 0 && !json_object_get(greeting, "QMP"))
        rc = -EPROTO;
    json_decref(greeting);
    rc = rc < 0 ? socket_failed(rc, "greeting", error)
                : qmp_execute(qmp, "qmp_capabilities", timeout_ms, NULL, error);
    if (rc < 0)
        qmp_close(qmp);
    else
        *out = qmp;
    return rc;
}

void qmp_close(struct qmp *qmp)
{
    if (!qmp)
        return;
    close(qmp->fd);
    free(qmp);
}

/* The socket as the process sees it, opened as a descriptor, so the length of its path does not
 * matter. */
static int open_socket_file(const struct fsroot *root, const struct qemu_process *process)
{
    const char *path = process->config.qmp_path;

    return fsroot_openf(root, O_PATH, "proc/%d/%s%s", (int)process->pid,
                        path[0] == '/' ? "root" : "cwd/", path);
}

static int connect_to(int file_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", file_fd);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int rc = -errno;

        close(fd);
        return rc; /* EAGAIN: the server's queue of waiting clients is full */
    }
    return fd;
}

/* A listening socket has the credentials of the process that called listen(2), see unix(7). */
static bool is_served_by(int fd, pid_t pid)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == pid;
}

static int nobody_answers(const char *path, struct error *error)
{
    return error_set(error, -EBUSY,
                     "QMP %s: no answer; if another program is connected, give QEMU a second "
                     "-qmp socket, for each serves one client at a time",
                     path);
}

int qmp_open(const struct fsroot *root, const struct qemu_process *process, int timeout_ms,
             struct qmp **out, struct error *error)
{
    const char *path = process->config.qmp_path;

    if (!path[0])
        return error_set(error, -ENOENT,
                         "process %d has no QMP socket with a path (%s): start QEMU with -qmp "
                         "unix:PATH,server=on,wait=off, or name the libvirt domain",
                         (int)process->pid, process->config.qmp_unreachable);

    cleanup_close int file_fd = open_socket_file(root, process);

    if (file_fd < 0)
        return error_set(error, file_fd, "QMP %s: %s", path, strerror(-file_fd));

    int fd = connect_to(file_fd);

    if (fd == -EAGAIN)
        return nobody_answers(path, error);
    if (fd < 0)
        return error_set(error, fd, "QMP %s: %s", path, strerror(-fd));
    if (!is_served_by(fd, process->pid)) {
        close(fd);
        return error_set(error, -EPERM, "QMP %s: it is not process %d that serves it", path,
                         (int)process->pid);
    }

    int rc = qmp_greet(fd, timeout_ms, out, error);

    return rc == -ETIMEDOUT ? nobody_answers(path, error) : rc;
}
