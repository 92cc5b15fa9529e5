// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/survey.h"

#include "base/run_lock.h"
#include "measure/neighbour.h"
#include "measure/ram_proof.h"

#include <errno.h>
#include <string.h>

static int not_tried(const struct neighbour *neighbour, struct error *why)
{
    return error_set(why, -EBUSY, "not tried: vmwssd follows this guest by %s",
                     neighbour->method->name);
}

/* The method that vmwssd uses for the guest is proven already. */
static int survey_ask(const struct method *method, const struct target *target,
                      const struct neighbour *neighbour, enum survey_depth depth, struct error *why)
{
    if (!neighbour->owner)
        return method->probe(target, why);
    if (method == neighbour->method)
        return 0;
    if (depth == SURVEY_CHECK ||
        !neighbour_allows(neighbour, method, target->process->accel, method->census))
        return not_tried(neighbour, why);
    return method->probe(target, why);
}

static void ask_methods(const struct target *target, const struct neighbour *neighbour,
                        enum survey_depth depth, struct survey *out)
{
    for (size_t i = 0; i < METHODS_MAX && methods[i]; i++) {
        struct method_verdict *verdict = &out->verdicts[out->n_verdicts++];

        verdict->method = methods[i];
        verdict->rc = survey_ask(methods[i], target, neighbour, depth, &verdict->why);
    }
    out->chosen = method_choose(target, out->verdicts, out->n_verdicts);
}

/* A trial draws few pages, so there is room for its results. */
static void ask_locked(struct target *target, enum survey_depth depth, struct survey *out)
{
    const pid_t pid = target->process->pid;
    const struct lock_wait at_once = {.pidfd = target->process->pidfd};
    struct run_lock lock = RUN_LOCK_NONE;
    struct neighbour neighbour = {0};
    struct error why = {0};

    if (run_lock_guest(&lock, target->root, pid, &at_once, &why) == -EBUSY) {
        out->busy = why;
        return;
    }
    /* A user who may not lock the guest may not disturb it either: the methods will report that. */
    neighbour_read(target->root, pid, &neighbour);
    out->ram.taken = neighbour.owner ? &neighbour.taken : NULL;
    ask_methods(target, &neighbour, depth, out);
    out->ram.taken = NULL;
    if (neighbour.owner)
        run_lock_give_back(&lock);
    else
        run_lock_release(&lock);
    neighbour_free(&neighbour);
}

int survey_guest(const struct fsroot *root, const struct guest *guest, enum survey_depth depth,
                 struct survey *out, struct error *error)
{
    struct neighbour neighbour;

    memset(out, 0, sizeof(*out));

    int rc = ram_find(root, guest, &out->ram, NULL, error);

    if (rc < 0)
        return rc;

    struct target target = {.root = root, .process = &guest->process, .ram = &out->ram};

    neighbour_read(root, guest->process.pid, &neighbour);
    if (neighbour.owner && depth == SURVEY_CHECK)
        ask_methods(&target, &neighbour, depth, out);
    else
        ask_locked(&target, depth, out);
    neighbour_free(&neighbour);
    return 0;
}

void survey_free(struct survey *survey)
{
    guest_ram_free(&survey->ram);
}
