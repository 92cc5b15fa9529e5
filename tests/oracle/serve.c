// SPDX-License-Identifier: LGPL-2.1-or-later
#include "serve.h"
#include "answer.h"
#include "layout.h"

#include "base/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* How long the end of the window may be in the slot that still runs. */
#define WAIT_TRIES 200
#define WAIT_NS 50000000L

static int reply(FILE *out, json_t *object)
{
    int rc = json_dumpf(object, out, JSON_COMPACT) < 0 || fputc('\n', out) == EOF || fflush(out);

    json_decref(object);
    return rc ? -EIO : 0;
}

static int reply_error(FILE *out, const struct error *error)
{
    return reply(out, json_pack("{s:s}", "error", error->text));
}

static uint64_t realtime_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static int find_window(const struct oracle_map *map, struct oracle_window *window,
                       struct error *error)
{
    const struct oracle_window asked = *window;
    int rc = oracle_map_find(map, window, error);

    for (int i = 0; rc == -ERANGE && i < WAIT_TRIES && realtime_ns() >= asked.to_ns &&
                    realtime_ns() - asked.to_ns < WAIT_TRIES * (uint64_t)WAIT_NS;
         i++) {
        nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
        *window = asked;
        rc = oracle_map_find(map, window, error);
    }
    return rc;
}

static int answer(const char *map_path, struct oracle_window window,
                  const struct oracle_frames *frames, json_t **out, struct error *error)
{
    struct oracle_map *map = NULL;
    int rc = oracle_map_open(map_path, &map, error);

    if (!rc && !oracle_map_is_lab(map))
        rc = error_set(error, -EINVAL, "%s: the map of a guest, not of a lab", map_path);
    if (!rc)
        rc = find_window(map, &window, error);
    if (!rc)
        rc = oracle_answer(map, &window, frames, out, error);
    oracle_map_close(map);
    return rc;
}

static int serve_count(const char *map_path, const char *line, FILE *in, FILE *out)
{
    struct oracle_window w = {0};
    uint64_t n;
    struct error error = {0};
    json_t *object = NULL;

    if (sscanf(line, "count %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "\n",
               &w.from_ns, &w.marked_ns, &w.read_ns, &w.to_ns, &n) != 5 ||
        w.from_ns > w.marked_ns || w.marked_ns > w.read_ns || w.read_ns > w.to_ns || n == 0 ||
        n > ORACLE_MAX_PAGES)
        return -EPROTO;

    cleanup_free uint32_t *frame = calloc(n, sizeof(*frame));

    if (!frame)
        return -ENOMEM;
    if (fread(frame, sizeof(*frame), n, in) != n)
        return -EPROTO;
    if (answer(map_path, w, &(struct oracle_frames){n, frame}, &object, &error) < 0)
        return reply_error(out, &error);
    return reply(out, object);
}

static int serve_begin(const char *map_path, FILE *out)
{
    struct error error = {0};
    int rc = oracle_map_begin(map_path, &error);

    return rc < 0 ? reply_error(out, &error) : reply(out, json_pack("{s:b}", "begun", 1));
}

int oracle_serve(const char *map_path, int in_fd, int out_fd)
{
    cleanup_file FILE *in = fdopen(in_fd, "r"), *out = fdopen(out_fd, "w");
    char line[128];
    int rc = in && out ? 0 : -ENOMEM;

    while (!rc && fgets(line, sizeof(line), in)) {
        if (strcmp(line, "time\n") == 0)
            rc = reply(out, json_pack("{s:I}", "time_ns", (json_int_t)realtime_ns()));
        else if (strcmp(line, "begin\n") == 0)
            rc = serve_begin(map_path, out);
        else
            rc = serve_count(map_path, line, in, out);
    }
    return rc;
}
