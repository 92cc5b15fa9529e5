// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_map_over.c  vmwss map over a session that is made up: which periods are left out, and
 * that no picture is lost in silence. */
#include "fixture.h"
#include "programs/vmwss/sampling.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (1ULL << 20)

volatile int interrupted;

/* How a measurement ends. */
enum step {
    MEASURED,
    NOTHING_SEEN,       /* by the method, of a guest that ran */
    NOTHING_MEASURABLE, /* of its pages: sample_record_fill() */
    NO_METHOD,          /* whose own -ENODATA means that there is none to come */
    LAST,               /* measured, and then comes Ctrl-C */
};

static const enum step *steps;
static struct guest_ram ram;
static struct ram_block block;
static int rc;
static struct error error;

/* --- the session ------------------------------------------------------------------------------ */

char *sampling_names_following(char *text, size_t size)
{
    snprintf(text, size, "none");
    return text;
}

int guest_choice_set_pid(void *choice, const char *value)
{
    (void)choice, (void)value;
    return 0;
}

int sampling_set_windows(void *choice, const char *value)
{
    (void)choice, (void)value;
    return 0;
}

int sampling_set_method(void *choice, const char *value)
{
    (void)choice, (void)value;
    return 0;
}

int sampling_check(struct sampling_choice *choice, int argc, char **argv)
{
    (void)choice, (void)argc, (void)argv;
    return 0;
}

int sampling_needs_pages(const struct session *session, struct error *why)
{
    (void)session, (void)why;
    return 0;
}

int session_ready(struct session *session, struct resident_now *now, bool *relocated,
                  struct error *why)
{
    (void)session, (void)now, (void)why;
    *relocated = false;
    return 0;
}

int session_draw(struct session *session, const struct resident_now *now, struct page_set *set,
                 struct error *why)
{
    (void)session, (void)now, (void)why;
    ck_assert_int_eq(page_set_census(set, &ram), 0);
    memset(set->state, PAGE_TOUCHED, set->n);
    return 0;
}

/* As in a session, the pages are counted before it is known whether they make a number. */
int session_measure_pages(struct session *session, struct page_set *set, struct resident_now *now,
                          struct sample_record *record, struct error *why)
{
    const enum step step = *steps++;

    (void)now;
    if (step == NOTHING_SEEN)
        return error_set(why, -ENOMSG, "the method saw nothing");
    if (step == NO_METHOD)
        return error_set(why, -ENODATA, "no page is resident");
    session->plan.collected(set, 0, session->plan.collected_context);
    *record = (struct sample_record){
        .method = "idle", .census = true, .n_windows = 1, .windows[0].window_s = 1};
    if (step == NOTHING_MEASURABLE)
        return error_set(why, -ENODATA, "all are unmeasurable");
    record->vcpu_s = 1;
    interrupted = step == LAST;
    return 0;
}

int session_measure(struct session *session, struct sample_record *record, struct error *why)
{
    struct page_set set;
    int measured = session_draw(session, NULL, &set, why);

    if (measured == 0)
        measured = session_measure_pages(session, &set, NULL, record, why);
    for (size_t w = 1; w < session->choice->n_windows && measured == 0; w++)
        session->plan.collected(&set, w, session->plan.collected_context);
    page_set_free(&set);
    return measured;
}

int sampling_run(const struct sampling_choice *choice,
                 int (*work)(struct session *session, const void *options, struct error *why),
                 const void *options)
{
    static const struct method method = {.name = "idle", .needs_pages = true};
    struct session session = {.choice = choice, .plan.method = &method, .subject.ram = ram};

    ck_assert_int_eq(fsroot_open(&session.root, FIXTURES), 0);
    signal(SIGPIPE, SIG_IGN);
    rc = work(&session, options, &error);
    fsroot_close(&session.root);
    return 0;
}

/* --- running it ------------------------------------------------------------------------------- */

static const char *dir;
static char svg[64];
static char said[16384]; /* on standard error */
static char shown[65536];

static void setup(void)
{
    block = (struct ram_block){.bytes = 8 * MIB, .page_bytes = base_page_bytes()};
    ram = (struct guest_ram){
        .n_blocks = 1, .blocks = &block, .bytes = 8 * MIB, .n_pages = 8 * MIB / base_page_bytes()};
    dir = unit_dir();
    snprintf(svg, sizeof(svg), "%s/map.svg", dir);
}

static void read_back(int fd, char *text, size_t size)
{
    ssize_t n = pread(fd, text, size - 1, 0);

    text[n < 0 ? 0 : n] = '\0';
    close(fd);
}

/* With standard output to @p out, and what is said on standard error in said. */
static void run(int out, const enum step *how, char **argv)
{
    const int err = memfd_create("err", MFD_CLOEXEC);
    const int before[] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    int argc = 0;

    while (argv[argc])
        argc++;
    ck_assert(err >= 0 && before[0] >= 0 && before[1] >= 0 && fflush(stdout) == 0);
    steps = how;
    error = (struct error){0};
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    cmd_map(argc, argv);
    fflush(stdout);
    dup2(before[0], STDOUT_FILENO);
    dup2(before[1], STDERR_FILENO);
    close(before[0]);
    close(before[1]);
    read_back(err, said, sizeof(said));
}

#define RUN(out, how, ...) run((out), (how), (char *[]){"map", __VA_ARGS__, NULL})

static int memory(void)
{
    return memfd_create("out", MFD_CLOEXEC);
}

static int closed_pipe(void)
{
    int fds[2];

    ck_assert_int_eq(pipe(fds), 0);
    close(fds[0]);
    return fds[1];
}

static int full_disk(void)
{
    return open("/dev/full", O_WRONLY | O_CLOEXEC);
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;

    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

/* Rectangles of chunks that were touched; 0 if there is no picture. */
static size_t cells_of_svg(void)
{
    static char picture[262144];
    int fd = open(svg, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    read_back(fd, picture, sizeof(picture));
    return count(picture, "fill=\"#0969da\"");
}

/* --- periods ---------------------------------------------------------------------------------- */

FIXTURE(cases, .setup = setup);

TEST(cases, a_period_without_a_number_is_left_out)
{
    static const enum step how[] = {MEASURED, NOTHING_SEEN, NOTHING_MEASURABLE, LAST};
    const int out = memory();

    RUN(out, how, "--over", "1000", "--csv", "--chunk", "8M");
    read_back(out, shown, sizeof(shown));
    ck_assert_msg(rc == -EINTR, "%d, %s", rc, error.text);
    ck_assert_uint_eq(count(shown, "\r\n"), 3); /* the heading, and two periods */
    ck_assert_uint_eq(count(said, "a period is left out: "), 2);
    ck_assert_ptr_nonnull(strstr(said, "a period is left out: all are unmeasurable"));
}

TEST(cases, what_the_method_cannot_do_ends_it)
{
    static const enum step how[] = {MEASURED, NO_METHOD};
    const int out = memory();

    RUN(out, how, "--over", "1000", "--csv", "--chunk", "8M");
    read_back(out, shown, sizeof(shown));
    ck_assert_int_eq(rc, -ENODATA);
    ck_assert_str_eq(error.text, "no page is resident");
    ck_assert_uint_eq(count(shown, "\r\n"), 2);
}

/* --- pictures --------------------------------------------------------------------------------- */

static const enum step two[] = {MEASURED, LAST};

TEST(cases, interrupted_there_is_a_picture)
{
    const int out = memory();

    RUN(out, two, "--over", "1000", "--chunk", "2M", "--svg", svg);
    read_back(out, shown, sizeof(shown));
    ck_assert_int_eq(rc, -EINTR);
    ck_assert_msg(strstr(shown, "2 periods of 1s") != NULL, "%s", shown);
    ck_assert_uint_eq(cells_of_svg(), 8);
    ck_assert_ptr_null(strstr(said, "No space"));
}

TEST(cases, or_a_word_that_there_is_none)
{
    RUN(memory(), two, "--over", "1000", "--chunk", "2M", "--svg", "/dev/full");
    ck_assert_int_eq(rc, -EINTR);
    ck_assert_msg(strstr(said, "/dev/full: No space left on device") != NULL, "%s", said);
}

TEST(cases, likewise_of_that_in_the_terminal)
{
    RUN(full_disk(), two, "--over", "1000", "--chunk", "2M", "--svg", svg);
    ck_assert_int_eq(rc, -EINTR);
    ck_assert_msg(strstr(said, "standard output: No space left on device") != NULL, "%s", said);
    ck_assert_uint_eq(cells_of_svg(), 8);
}

TEST(cases, a_reader_that_has_gone_does_not_take_the_picture_along)
{
    RUN(closed_pipe(), two, "--over", "1000", "--csv", "--chunk", "2M", "--svg", svg);
    ck_assert_int_eq(rc, -EPIPE);
    ck_assert_uint_eq(cells_of_svg(), 4); /* of the period that nobody read */
    ck_assert_msg(!strstr(said, "standard output"), "%s", said);
}

TEST(cases, nor_that_of_one_measurement)
{
    static const enum step once[] = {MEASURED};

    RUN(closed_pipe(), once, "--csv", "--chunk", "2M", "--svg", svg);
    ck_assert_int_eq(rc, -EPIPE);
    ck_assert_uint_eq(cells_of_svg(), 4 * 4); /* as many windows */
}

TEST(cases, of_two_failures_both_are_said)
{
    static const enum step once[] = {MEASURED};

    RUN(closed_pipe(), once, "--csv", "--chunk", "2M", "--svg", "/dev/full");
    ck_assert_int_eq(rc, -EPIPE);
    ck_assert_msg(strstr(said, "/dev/full: No space left on device") != NULL, "%s", said);
}

TEST(cases, one_alone_is_the_error)
{
    static const enum step once[] = {MEASURED};

    RUN(memory(), once, "--csv", "--chunk", "2M", "--svg", "/dev/full");
    ck_assert_int_eq(rc, -ENOSPC);
    ck_assert_msg(strstr(error.text, "/dev/full: ") == error.text, "%s", error.text);
    ck_assert_ptr_null(strstr(said, "/dev/full"));
}
