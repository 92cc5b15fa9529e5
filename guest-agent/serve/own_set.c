// SPDX-License-Identifier: LGPL-2.1-or-later
#include "serve/own_set.h"

#include "base/clock.h"
#include "base/wire/wire.h"
#include "serve/child.h"
#include "serve/own_round.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct own_set {
    const struct fsroot *root;
    double period_s, late_s;
    void (*complain)(const char *why);
    bool complained;

    pid_t child;    /* 0: none */
    int fd;         /* the child's output; -1: there is no child */
    bool killed;    /* the child was late, and will end when the kernel lets it */
    double began_s; /* time when the child began, by clock_ns() */
    double next_s;  /* earliest time of the next round */
    size_t length;
    char text[WIRE_LINE_MAX];

    json_t *result; /* the result of the last round; NULL: there is none */
    double ended_s; /* when that round ended */
};

int own_set_new(struct own_set **out, const struct fsroot *root, double period_s, double late_s,
                void (*complain)(const char *why), struct error *error)
{
    int rc = own_round_check(root, error);
    struct own_set *own = rc == 0 ? calloc(1, sizeof(*own)) : NULL;

    if (rc < 0)
        return rc;
    if (!own)
        return error_set(error, -ENOMEM, "out of memory");
    *own = (struct own_set){
        .root = root, .period_s = period_s, .late_s = late_s, .complain = complain, .fd = -1};
    *out = own;
    return 0;
}

void own_set_free(struct own_set *own)
{
    if (!own)
        return;
    if (own->child > 0 && kill(own->child, SIGKILL) == 0)
        waitpid(own->child, NULL, WNOHANG); /* if it is stuck in the kernel, init will reap it */
    if (own->fd >= 0)
        close(own->fd);
    json_decref(own->result);
    free(own);
}

static json_t *make_round(const void *context)
{
    const struct own_set *own = context;
    struct error error = {0};
    json_t *result = own_round(own->root, own->period_s, &error);

    return result ? result : json_pack("{ss}", "error", error.text);
}

static void round_failed(struct own_set *own, const char *why)
{
    json_decref(own->result);
    own->result = NULL;
    if (!own->complained)
        own->complain(why);
    own->complained = true;
}

static bool begin_child(struct own_set *own)
{
    pid_t child = child_start(own->root, make_round, own, &own->fd);

    own->began_s = clock_s(CLOCK_MONOTONIC);
    own->killed = false;
    own->length = 0;
    if (child > 0) {
        own->child = child;
        return true;
    }
    own->fd = -1;
    own->next_s = own->began_s + own->period_s;
    round_failed(own, strerror(-child));
    return false;
}

static void own_set_take(struct own_set *own)
{
    json_t *result = json_loadb(own->text, own->length, JSON_REJECT_DUPLICATES, NULL);
    const char *why = json_string_value(json_object_get(result, "error"));

    if (!result || why) {
        round_failed(own, why           ? why
                          : own->killed ? "it took too long: is a process's mapping lock held?"
                                        : "it came to no end");
        json_decref(result);
        return;
    }
    json_decref(own->result);
    own->result = result;
    own->ended_s = clock_s(CLOCK_MONOTONIC);
    own->complained = false;
}

/* Reaps the child, and computes the earliest time of the next one from this one's CPU time. */
static void reap(struct own_set *own)
{
    struct rusage usage = {0};
    double cpu_s;

    if (wait4(own->child, NULL, WNOHANG, &usage) == 0)
        return; /* killed, but stuck in the kernel */
    cpu_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
            (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    own->child = 0;
    own->next_s = fmax(clock_s(CLOCK_MONOTONIC), own->began_s + cpu_s / OWN_SET_CPU);
    own_set_take(own);
}

/* Returns true at the end of the child's output. */
static bool own_set_receive(struct own_set *own)
{
    for (;;) {
        size_t room = sizeof(own->text) - own->length;
        ssize_t n = room ? read(own->fd, own->text + own->length, room) : 0;

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 || errno != EAGAIN;
        own->length += (size_t)n;
    }
}

static double late_at_s(const struct own_set *own)
{
    return own->began_s + own->period_s + own->late_s;
}

bool own_set_turn(struct own_set *own)
{
    if (own->fd >= 0 && own_set_receive(own)) {
        close(own->fd);
        own->fd = -1;
    }
    if (own->child > 0 && !own->killed && clock_s(CLOCK_MONOTONIC) >= late_at_s(own)) {
        own->killed = true;
        kill(own->child, SIGKILL);
    }
    if (own->child > 0 && own->fd < 0)
        reap(own);
    return own->child == 0 && clock_s(CLOCK_MONOTONIC) >= own->next_s && begin_child(own);
}

int own_set_fd(const struct own_set *own)
{
    return own->fd;
}

/* The interval for retrying waitpid() on a child that has closed its output and is about to end. */
#define REAP_MS 20

int own_set_wait_ms(const struct own_set *own)
{
    double until_s = own->child == 0 ? own->next_s : late_at_s(own);

    if (own->child > 0 && own->fd < 0)
        return REAP_MS;
    if (own->child > 0 && own->killed)
        return -1;
    return (int)fmin(fmax(ceil((until_s - clock_s(CLOCK_MONOTONIC)) * 1000), 0), 1e9);
}

bool own_set_add(const struct own_set *own, json_t *report)
{
    double age_s = clock_s(CLOCK_MONOTONIC) - own->ended_s;
    json_t *set = json_deep_copy(json_object_get(own->result, "working_set"));

    if (!set)
        return false;
    json_object_set_new(set, "age_s", json_real(age_s));
    json_object_set_new(report, "working_set", set);
    return age_s < 2 * own->period_s &&
           json_object_set(report, "processes", json_object_get(own->result, "processes")) == 0;
}
