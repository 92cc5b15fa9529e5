// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/session/session.h"

#include "base/clock.h"
#include "base/command.h"
#include "base/debug.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "measure/record/flag_memory.h"
#include "measure/record/write_record.h"
#include "measure/session/session_private.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void catch_signals(void)
{
    interrupt_catch();
    signal(SIGPIPE,
           /* if the reader of the output ends, this program must still restore its changes */
           SIG_IGN);
}

/* --- opening ---------------------------------------------------------------------------------- */

static int open_guest(struct session *session, const struct sampling_choice *choice,
                      struct error *error)
{
    int rc = guest_choice_open_unhurried(&choice->guest, &interrupted, &session->subject.guest,
                                         error);

    session->found = rc == 0;
    if (rc < 0)
        return rc;
    debug_log("guest '%s', process %d, %s", session->subject.guest.name,
              session->subject.guest.process.pid,
              session->subject.guest.from_libvirt ? "of libvirt" : "by its pid");
    return subject_locate(&session->subject, &session->root, error);
}

/* If there is room beside vmwssd's panel, neither the measurement nor a trial draws pages of it. */
static void keep_off(struct session *session)
{
    const struct guest_ram *ram = &session->subject.ram;
    const struct neighbour *neighbour = &session->neighbour;

    session->beside = neighbour->owner && !session->choice->same_pages &&
                      neighbour_leaves_room(neighbour, ram);
    session->subject.ram.taken = session->beside ? &session->neighbour.taken : NULL;
}

static bool allows(const struct session *session, const struct method *method, bool census)
{
    return neighbour_allows(&session->neighbour, method, session->subject.guest.process.accel,
                            census);
}

/* Called once method and plan are known: a measurement that disturbs vmwssd's panel anyway need not
 * leave its pages out. */
static void settle_beside(struct session *session)
{
    const struct sample_plan *plan = &session->plan;

    session->beside = session->beside && session->fine == 0 &&
                      allows(session, plan->method, plan->census) &&
                      (!session->choice->watch_writes || allows(session, &method_soft_dirty, true));
    if (!session->beside)
        session->subject.ram.taken = NULL;
}

/* Trying a method marks pages, as measuring does. */
static int lock_guest(struct session *session, struct error *error)
{
    const struct lock_wait wait = {.seconds = session->wait_s,
                                   .interrupted = &interrupted,
                                   .pidfd = session->subject.guest.process.pidfd};

    const pid_t pid = session->subject.guest.process.pid;

    if (session->lock.file_fd >= 0)
        return 0;

    int rc = run_lock_guest(&session->lock, &session->root, pid, &wait, error);

    if (rc < 0)
        return rc;
    neighbour_free(&session->neighbour);
    neighbour_read(&session->root, pid, &session->neighbour);
    keep_off(session);
    debug_log("the lock on process %d is ours%s", pid,
              session->beside ? "; vmwssd has a panel there, which is kept off" : "");
    if (session->plan.method)
        settle_beside(session);
    return 0;
}

void session_yield(struct session *session)
{
    if (session->beside)
        run_lock_give_back(&session->lock);
    else
        run_lock_release(&session->lock);
}

static int begin_pause(void *context, struct error *error)
{
    return guest_pause_begin(context, error);
}

static int end_pause(void *context, uint64_t *paused_ns, bool *cut, struct error *error)
{
    return guest_pause_end(context, paused_ns, cut, error);
}

static int attach_pause(struct session *session, const struct sampling_choice *choice,
                        struct error *error)
{
    int rc;

    if (!session->pause)
        return 0;
    rc = guest_pause_attach(session->pause, &session->subject.guest, choice->guest.uri, error);
    if (rc < 0)
        return error_prefix(error, "--pause"), rc;
    session->pause_hooks = (struct sample_pause){
        .begin = begin_pause, .end = end_pause, .context = session->pause};
    session->plan.pause = &session->pause_hooks;
    return 0;
}

static int check_fine(const struct session *session, struct error *error)
{
    const struct target target = subject_target(&session->subject);

    return session->fine > 0 ? fine_check(&target, error) : 0;
}

/* Finds the guest and its RAM, chooses and proves the method, and makes the plan. Close the session
 * in both cases. */
static int session_open(struct session *session, const struct sampling_choice *choice,
                        struct error *error)
{
    *session = (struct session){
        .choice = choice, .lock = RUN_LOCK_NONE, .wait_s = choice->wait_s, .fine = choice->fine};
    catch_signals();

    int rc = fsroot_open_host(&session->root, error);

    if (rc == 0 && choice->pause_ms)
        rc = guest_pause_start(&session->pause, choice->pause_ms, error);
    if (rc == 0)
        rc = open_guest(session, choice, error);
    if (rc == 0)
        rc = lock_guest(session, error);
    if (rc == 0)
        rc = check_fine(session, error);
    if (rc == 0)
        rc = session_choose_method(session, choice, error);
    if (rc == 0)
        session_make_plan(session, choice);
    if (rc == 0)
        settle_beside(session);
    if (rc == 0)
        rc = attach_pause(session, choice, error);
    return rc;
}

static void session_close(struct session *session)
{
    guest_pause_stop(session->pause);
    session_yield(session);
    neighbour_free(&session->neighbour);
    run_lock_sweep(&session->root);
    ram_config_free(&session->new_ram);
    if (session->found)
        subject_close(&session->subject);
    fsroot_close(&session->root);
}

/* --- RAM that comes and goes ------------------------------------------------------------------ */

/* Queries libvirt for the present RAM. False if there is no answer, or if the answer is about
 * another process. */
static bool ask_for_ram(const struct session *session, struct ram_config *ram)
{
    struct guest guest;

    if (guest_choice_open_unhurried(&session->choice->guest, &interrupted, &guest, NULL) < 0)
        return false;

    bool same = guest.process.pid == session->subject.guest.process.pid;

    if (same)
        ram_config_move(ram, &guest.ram);
    guest_close(&guest);
    return same;
}

bool session_ram_changed(struct session *session, const struct resident_now *now)
{
    struct subject *subject = &session->subject;

    if (!session->choice->guest.domain || !subject_in_doubt(subject, now))
        return false;

    struct ram_config ram = {0};

    if (!ask_for_ram(session, &ram))
        return false;
    subject_answered(subject, now);
    if (ram_config_equal(&ram, &subject->guest.ram)) {
        ram_config_free(&ram);
        return false;
    }
    ram_config_move(&session->new_ram, &ram);
    return true;
}

int session_relocate(struct session *session, struct resident_now *now, struct error *error)
{
    int rc = subject_relocate(&session->subject, &session->new_ram, error);

    if (rc == 0)
        keep_off(session);
    if (rc == 0)
        rc = check_fine(session, error);
    if (rc == 0)
        rc = session_choose_method(session, session->choice, error);
    if (rc == 0)
        settle_beside(session);
    return rc == 0 ? subject_refresh(&session->subject, now, error) : rc;
}

/* --- sampling --------------------------------------------------------------------------------- */

int session_ready(struct session *session, struct resident_now *now, bool *relocated,
                  struct error *error)
{
    int rc = lock_guest(session, error);

    *relocated = false;
    session->subject.guest.jobs = 0;
    if (rc == 0)
        rc = subject_refresh(&session->subject, now, error);
    if (rc == 0 && session_ram_changed(session, now)) {
        *relocated = true;
        rc = session_relocate(session, now, error);
    }
    return rc;
}

/* Another program touches the guest's memory, or takes its accessed bits: an automatic choice is
 * then a method that counts touches by vCPUs, if there is one. */
static void leave_disputed_method(struct session *session)
{
    const struct sampling_choice *choice = session->choice;

    if (!session->disputed || choice->method || choice->same_pages ||
        !session->plan.method->sees_qemu || session_choose_method(session, choice, NULL) < 0)
        return;
    session->plan.census = session_wants_census(session, choice);
    settle_beside(session);
}

/* @p set: NULL: a set is drawn here. */
static int run(struct session *session, struct page_set *set, struct sample_result *result,
               struct fine_result *fine, struct error *error)
{
    const struct target target = subject_target(&session->subject);
    const struct sample_plan *plan = &session->plan;
    int rc;

    progress_init(&session->progress, "measuring");
    session->progress.enabled &= !session->choice->quiet;
    if (set)
        rc = sample_run_set(&target, plan, set, result, error);
    else if (session->fine > 0)
        rc = fine_run(&target, plan, session->fine, result, fine, error);
    else
        rc = sample_run(&target, plan, result, error);
    progress_clear(&session->progress);
    return rc;
}

static int measure(struct session *session, struct page_set *set, struct resident_now *now,
                   struct sample_record *record, struct error *error)
{
    struct sample_plan *plan = &session->plan;
    struct sample_result result;
    struct fine_result fine;
    int rc = run(session, set, &result, &fine, error);

    if (rc == 0)
        rc = subject_refresh(&session->subject, now, error);
    if (rc == 0)
        session_learn(session, &result.windows[plan->n_windows - 1].tally);
    if (rc == 0)
        rc = sample_record_fill(record, &session->subject, plan, &result, error);
    if (rc == 0)
        flag_memory_apply_own(record);
    if (rc == 0 && method_sees_writes(plan->method))
        write_record_take(record);
    session->disputed |= rc == 0 && (record->flags & FLAG_DISPUTED);
    session->subject.guest.migrating = false; /* the value from the opening */
    if (rc == 0 && session->fine > 0)
        rc = sample_record_add_fine(record, &session->subject.ram, plan, &result, &fine);
    if (rc == 0)
        rc = qemu_process_verify(&session->root, &session->subject.guest.process, error);
    return rc;
}

int session_measure(struct session *session, struct sample_record *record, struct error *error)
{
    struct resident_now now = {0};
    bool relocated;
    int rc = session_ready(session, &now, &relocated, error);

    if (rc < 0)
        return rc;
    leave_disputed_method(session);
    session_size_panel(session, &now);
    session->plan.seed = random_seed();
    return measure(session, NULL, &now, record, error);
}

int session_draw(struct session *session, const struct resident_now *now, struct page_set *set,
                 struct error *error)
{
    const struct target target = subject_target(&session->subject);

    session_size_panel(session, now);
    session->plan.seed = random_seed();
    return sample_make_set(&target, &session->plan, set, error);
}

int session_measure_pages(struct session *session, struct page_set *set, struct resident_now *now,
                          struct sample_record *record, struct error *error)
{
    session_size_panel(session, now);
    return measure(session, set, now, record, error);
}

/* poll(2) takes an int. */
#define POLL_MAX_MS 60000

void session_wait(const struct session *session, uint64_t until_ns)
{
    for (uint64_t now = clock_ns(); now < until_ns && !interrupted; now = clock_ns()) {
        struct pollfd end = {.fd = session->subject.guest.process.pidfd, .events = POLLIN};

        uint64_t wait_ms = (until_ns - now) / 1000000 + 1;

        if (poll(&end, 1, wait_ms < POLL_MAX_MS ? (int)wait_ms : POLL_MAX_MS) > 0)
            return;
    }
}

/* --- ending ----------------------------------------------------------------------------------- */

static int exit_code(const struct session *session, int rc, const struct error *error)
{
    if (rc == 0)
        return EXIT_DONE;
    if (rc == -EINTR)
        return EXIT_INTERRUPTED;
    if (rc == -EPIPE)
        return EXIT_PIPE;

    struct error gone = {0};

    /* a guest that was never found did not vanish */
    if (session->found)
        qemu_process_verify(&session->root, &session->subject.guest.process, &gone);
    if (gone.code == -ESTALE) {
        command_error("%s", gone.text);
        return EXIT_CANNOT;
    }
    if (gone.code < 0) {
        command_error("%s%sprocess %d: the guest vanished meanwhile", session->subject.guest.name,
                      *session->subject.guest.name ? ", " : "", session->subject.guest.process.pid);
        return EXIT_VANISHED;
    }
    command_error("%s", *error->text ? error->text : strerror(-rc));
    return session->found && rc == -ESRCH ? EXIT_VANISHED : EXIT_CANNOT;
}

int session_run(const struct sampling_choice *choice,
                int (*work)(struct session *session, const void *options, struct error *error),
                const void *options)
{
    struct session session;
    struct error error = {0};
    int rc = session_open(&session, choice, &error);

    if (rc == 0)
        rc = work(&session, options, &error);

    int code = exit_code(&session, rc, &error);

    session_close(&session);
    return code;
}
