// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_resctrl.c  A monitoring group over a tree that behaves as resctrl: who is in it, what
 * is read, and that nothing of it is left. */
#include "base/array.h"
#include "base/run_lock.h"
#include "fake_resctrl.h"
#include "measure/cache/resctrl.h"

#include <signal.h>
#include <sys/wait.h>

static pid_t tids[] = {101, 102};
static const struct qemu_process process = {.pid = FAKE_PID, .vcpus = tids, .n_vcpus = 2};

static struct resctrl_group *group;
static struct cache_seen seen;
static struct error error;
static struct cpu_caches caches;
static struct cpu_facts facts;

static void begin_case(void)
{
    fake_host();
    group = NULL;
    memset(&seen, 0, sizeof(seen));
    memset(&error, 0, sizeof(error));
    place_thread(101, "/", "");
    place_thread(102, "/", "");
    cpu_facts_read(&fake.root, &facts);
    ck_assert_int_eq(cpu_caches_read(&fake.root, &caches, &error), 0);
}

static void end_case(void)
{
    resctrl_group_close(group);
    ck_assert(!exists(OUR_GROUP));
    ck_assert(exists(RESCTRL_TREE "/mon_groups/others/tasks"));
}

static int open_group(void)
{
    return resctrl_group_open(&fake.root, &facts, &process, &group, &error);
}

static void begin_group(void)
{
    ck_assert_msg(open_group() == 0, "%s", error.text);
    ck_assert_msg(resctrl_group_begin(group, &caches, &seen, &error) == 0, "%s", error.text);
}

/* Threads are where they were put. */
static void follow(const char *control, const char *monitor)
{
    place_thread(101, control, monitor);
    place_thread(102, control, monitor);
}

static void assert_tasks(const char *path, const char *expected)
{
    char text[256] = "";

    ck_assert_int_ge(fsroot_read(&fake.root, text, sizeof(text), "%s/tasks", path), 0);
    ck_assert_str_eq(text, expected);
}

FIXTURE(cases, .setup = begin_case, .teardown = end_case);

TEST(cases, the_group_has_the_vcpus_and_goes)
{
    begin_group();
    assert_tasks(OUR_GROUP, "101\n102");
    assert_tasks(RESCTRL_TREE "/mon_groups/others", "77");
    follow("/", OUR_NAME);
    ck_assert(seen.monitored);
    ck_assert_uint_eq(seen.n_caches, 2);
    ck_assert_uint_eq(seen.caches[1].id, 1);
    ck_assert_uint_eq(seen.caches[0].bytes, MIB);
    ck_assert_uint_eq(seen.caches[0].usable_bytes, MIB);
    set_counter(OUR_GROUP, 0, "mbm_total_bytes", "1500000");
    set_counter(OUR_GROUP, 0, "mbm_local_bytes", "1400000");
    set_counter(OUR_GROUP, 0, "llc_occupancy", "524288");
    resctrl_group_sample(group, &seen);
    resctrl_group_end(group, &seen);
    ck_assert_uint_eq(seen.flags, 0);
    ck_assert_uint_eq(seen.caches[0].loaded_bytes, 500000);
    ck_assert_uint_eq(seen.caches[0].local_bytes, 400000);
    ck_assert_uint_eq(seen.caches[0].occupied_bytes, 524288);
    ck_assert_uint_eq(seen.caches[0].loaded_while_full_bytes, CACHE_UNKNOWN);
    ck_assert_uint_eq(seen.caches[1].loaded_bytes, 0);
}

TEST(cases, below_the_control_group_that_they_are_in)
{
    fake_write(&fake, RESCTRL_TREE "/db/tasks", "101\n102\n");
    fake_write(&fake, RESCTRL_TREE "/db/cpus_list", "0\n");
    fake_write(&fake, RESCTRL_TREE "/db/size", "    L3:0=262144;1=1048576\n");
    fake_write(&fake, RESCTRL_TREE "/db/mon_groups/theirs/tasks", "");
    follow("db", "");
    begin_group();
    assert_tasks(RESCTRL_TREE "/db/mon_groups/" OUR_NAME, "101\n102");
    ck_assert_uint_eq(seen.caches[0].usable_bytes, MIB / 4);
    ck_assert_uint_eq(seen.flags, 0);
    resctrl_group_close(group);
    group = NULL;
    ck_assert(!exists(RESCTRL_TREE "/db/mon_groups/" OUR_NAME));
    ck_assert(exists(RESCTRL_TREE "/db/mon_groups/theirs"));
}

/* --- groups of others ------------------------------------------------------------------------- */

TEST(cases, a_group_of_others_is_read_and_left_alone)
{
    set_group(RESCTRL_TREE "/mon_groups/vcpus_0-1", "101\n102\n");
    follow("/", "vcpus_0-1");
    begin_group();
    ck_assert_uint_eq(seen.flags, CACHE_FOREIGN_GROUP);
    ck_assert(!exists(OUR_GROUP));
    set_counter(RESCTRL_TREE "/mon_groups/vcpus_0-1", 1, "mbm_total_bytes", "1000007");
    resctrl_group_sample(group, &seen);
    resctrl_group_end(group, &seen);
    ck_assert_uint_eq(seen.caches[1].loaded_bytes, 7);
    ck_assert_uint_eq(seen.flags, CACHE_FOREIGN_GROUP);
    resctrl_group_close(group);
    group = NULL;
    assert_tasks(RESCTRL_TREE "/mon_groups/vcpus_0-1", "101\n102");
}

TEST(cases, one_that_has_other_threads_is_flagged)
{
    set_group(RESCTRL_TREE "/mon_groups/all", "101\n102\n103\n");
    follow("/", "all");
    begin_group();
    ck_assert_uint_eq(seen.flags, CACHE_FOREIGN_GROUP | CACHE_OTHER_CODE);
}

TEST(cases, no_thread_is_taken_out_of_a_group_of_others)
{
    set_group(RESCTRL_TREE "/mon_groups/one", "102\n");
    place_thread(102, "/", "one");
    ck_assert_int_eq(open_group(), -EBUSY);
    ck_assert_msg(strstr(error.text, "'one'") != NULL, "%s", error.text);
    assert_tasks(RESCTRL_TREE "/mon_groups/one", "102");
    place_thread(101, "/", "two");
    ck_assert_int_eq(open_group(), -EBUSY);
}

/* It was in none when the group was made. */
TEST(cases, nor_one_that_was_just_put_there)
{
    ck_assert_int_eq(open_group(), 0);
    place_thread(102, "/", "others");
    ck_assert_error(resctrl_group_begin(group, &caches, &seen, &error), -EBUSY, "102");
    assert_tasks(OUR_GROUP, "101");
}

TEST(cases, several_control_groups_are_refused)
{
    place_thread(102, "db", "");
    ck_assert_int_eq(open_group(), -EBUSY);
    ck_assert_msg(strstr(error.text, "several control groups") != NULL, "%s", error.text);
}

TEST(cases, hostile_places_are_refused)
{
    place_thread(101, "/", "../../../etc");
    ck_assert_int_eq(open_group(), -EBADMSG);
    place_thread(101, "..", "");
    ck_assert_int_eq(open_group(), -EBADMSG);
    place_thread(101, "", "");
    ck_assert_int_eq(open_group(), -ENOTSUP);
}

/* --- what is doubtful ------------------------------------------------------------------------- */

static const struct {
    const char *path, *text;
    unsigned flags;
} configs[] = {
    {RESCTRL_TREE "/size", "    L3:0=262144;1=1048576\n", 0},
    {RESCTRL_TREE "/size", "  L3DATA:0=1048576;1=1048576\n  L3CODE:0=1048576;1=1048576\n",
     CACHE_CDP},
    {RESCTRL_TREE "/schemata", "    MB:0=100;1=50\n", CACHE_MBA},
    {RESCTRL_TREE "/schemata", "    MB:0=100;1=x\n", CACHE_MBA},
    {RESCTRL_TREE "/schemata", "    MB:0=4294967295;1=4294967295\n", 0},
    {RESCTRL_TREE "/schemata", "    L3:0=fff\n", 0},
    {"proc/mounts", "resctrl /sys/fs/resctrl resctrl rw,mba_MBps 0 0\n", CACHE_MBA},
    {RESCTRL_TREE "/db/cpus_list", "0-1\n", CACHE_CPU_GROUPS},
    {RESCTRL_TREE "/db/cpus_list", "0-1,3,5,7,9,11,13,15,17\n", CACHE_CPU_GROUPS},
    {RESCTRL_TREE "/db/cpus_list", "\n", 0},
    {RESCTRL_TREE "/.db/cpus_list", "0-1\n", CACHE_CPU_GROUPS},
    {RESCTRL_TREE "/info/L3_MON/mbm_total_bytes_config", "0=0x7f;1=0x15\n", CACHE_MBM_FILTERED},
    {RESCTRL_TREE "/info/L3_MON/mbm_total_bytes_config", "0=0x7f;1=0x7f\n", 0},
    {RESCTRL_TREE "/info/L3_MON/event_configs/mbm_total_bytes/event_filter", "local_reads\n",
     CACHE_MBM_FILTERED},
};

TEST_EACH(cases, what_rules_over_the_group_is_flagged, 0, COUNT(configs))
{
    fake_write(&fake, configs[_i].path, configs[_i].text);
    begin_group();
    ck_assert_uint_eq(seen.flags, configs[_i].flags);
}

TEST(plain, sizes_that_cannot_be_are_unknown)
{
    static const char *const bad[] = {"L3:0=2097152;1=1048576", "L3:0=x", "L3:1=1048576"};

    for (size_t i = 0; i < 3; i++) {
        begin_case();
        fake_write(&fake, RESCTRL_TREE "/size", bad[i]);
        begin_group();
        ck_assert_uint_eq(seen.caches[0].usable_bytes, CACHE_UNKNOWN);
        end_case();
    }
    begin_case();
    fake_write(&fake, RESCTRL_TREE "/size", "MB:0=100\n"); /* no CAT */
    begin_group();
    ck_assert_uint_eq(seen.caches[0].usable_bytes, MIB);
    end_case();
}

TEST(cases, what_a_former_owner_left_is_read_first)
{
    new_occupied = "131072";
    begin_group();
    ck_assert_uint_eq(seen.caches[0].leftover_bytes, 131072);
    ck_assert_uint_eq(seen.caches[1].leftover_bytes, 0);
}

static const char *const gaps[] = {"Unavailable", "Error", "Unassigned", "999999", "-5", ""};

TEST_EACH(cases, a_gap_in_the_bandwidth_is_never_filled, 0, COUNT(gaps))
{
    begin_group();
    follow("/", OUR_NAME);
    set_counter(OUR_GROUP, 0, "mbm_total_bytes", gaps[_i]);
    resctrl_group_sample(group, &seen);
    set_counter(OUR_GROUP, 0, "mbm_total_bytes", "9000000");
    resctrl_group_sample(group, &seen);
    resctrl_group_end(group, &seen);
    ck_assert_uint_eq(seen.flags, CACHE_MBM_GAP);
    ck_assert_uint_eq(seen.caches[0].loaded_bytes, CACHE_UNKNOWN);
}

static const char *const local_gaps[] = {"Unavailable", "999999"};

TEST_EACH(cases, nor_one_in_that_of_the_same_node, 0, 2)
{
    begin_group();
    follow("/", OUR_NAME);
    set_counter(OUR_GROUP, 0, "mbm_local_bytes", local_gaps[_i]);
    resctrl_group_sample(group, &seen);
    for (unsigned i = 0; i < 2; i++) {
        set_counter(OUR_GROUP, 0, "mbm_local_bytes", "9000000");
        set_counter(OUR_GROUP, 1, "mbm_local_bytes", "1000001");
        resctrl_group_sample(group, &seen);
        ck_assert_uint_eq(seen.caches[0].local_bytes, CACHE_UNKNOWN);
    }
    resctrl_group_end(group, &seen);
    ck_assert_uint_eq(seen.caches[1].local_bytes, 1);
    ck_assert_uint_eq(seen.caches[0].loaded_bytes, 0);
    ck_assert_uint_eq(seen.flags, 0);
}

TEST(cases, one_that_is_never_there_is_a_gap)
{
    new_total = "Unavailable";
    begin_group();
    resctrl_group_sample(group, &seen);
    ck_assert(seen.flags & CACHE_MBM_GAP);
}

TEST(cases, full_is_counted_from_its_first_reading_on)
{
    static const struct {
        const char *occupied, *total;
        uint64_t since;
    } readings[] = {
        {"900000", "2000000", CACHE_UNKNOWN},
        {"1000000", "3000000", 0},
        {"1048576", "5000000", 2000000},
        {"900000", "6000000", CACHE_UNKNOWN},
        {"1000000", "7000000", 0},
        {"1000000", "7000500", 500},
        {"Unavailable", "8000000", CACHE_UNKNOWN},
    };

    begin_group();
    for (size_t i = 0; i < COUNT(readings); i++) {
        set_counter(OUR_GROUP, 0, "llc_occupancy", readings[i].occupied);
        set_counter(OUR_GROUP, 0, "mbm_total_bytes", readings[i].total);
        resctrl_group_sample(group, &seen);
        ck_assert_uint_eq(seen.caches[0].loaded_while_full_bytes, readings[i].since);
    }
}

static void change_schemata(void)
{
    fake_write(&fake, RESCTRL_TREE "/schemata", "    MB:0=100;1=100\n    L3:0=00f;1=fff\n");
}

static void change_tasks(void)
{
    fake_write(&fake, OUR_GROUP "/tasks", "101\n");
}

static void change_place(void)
{
    place_thread(102, "/", "others");
}

static void remove_group(void)
{
    unlinkat(fake.root.dirfd, OUR_GROUP, AT_REMOVEDIR);
}

static void unplug_cache(void)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s/mon_data/mon_L3_01", fake.path, OUR_GROUP);
    nftw(path, remove_below, 8, FTW_DEPTH | FTW_PHYS);
}

static void add_thread(void)
{
    fake_write(&fake, OUR_GROUP "/tasks", "101\n102\n104\n");
}

static const struct {
    void (*change)(void);
    unsigned flag;
} changes[] = {
    {change_schemata, CACHE_GROUP_CHANGED}, {change_tasks, CACHE_GROUP_CHANGED},
    {change_place, CACHE_GROUP_CHANGED},    {remove_group, CACHE_GROUP_CHANGED},
    {unplug_cache, CACHE_GROUP_CHANGED},    {add_thread, CACHE_OTHER_CODE},
};

TEST_EACH(cases, what_changes_meanwhile_is_flagged, 0, COUNT(changes))
{
    begin_group();
    follow("/", OUR_NAME);
    changes[_i].change();
    resctrl_group_sample(group, &seen);
    resctrl_group_end(group, &seen);
    ck_assert_uint_eq(seen.flags, changes[_i].flag);
}

/* --- what cannot be --------------------------------------------------------------------------- */

TEST(cases, no_group_is_left_for_us)
{
    mkdir_errno = ENOSPC;
    ck_assert_int_eq(open_group(), -ENOSPC);
    ck_assert_msg(strstr(error.text, "RMID") != NULL, "%s", error.text);
    mkdir_errno = EACCES;
    ck_assert_int_eq(open_group(), -EACCES);
    ck_assert_msg(strstr(error.text, "root") != NULL, "%s", error.text);
}

/* --- nothing is left -------------------------------------------------------------------------- */

/* Ends a process that has a group by @p number; until its guardian has ended, too. */
static void end_by(int number)
{
    int ends[2];
    int status;
    char word;
    pid_t pid;

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        setpgid(0, 0); /* not the process group of the test */
        children_outlive = true;
        if (open_group() < 0 || resctrl_group_begin(group, &caches, &seen, &error) < 0 ||
            !exists(OUR_GROUP))
            _exit(1);
        raise(number);
        _exit(2);
    }
    close(ends[1]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == number);
    ck_assert_int_eq(read(ends[0], &word, 1), 0);
    close(ends[0]);
}

static const int signals[] = {SIGKILL, SIGTERM, SIGQUIT, SIGINT};

TEST_EACH(cases, a_killed_process_leaves_no_group, 0, COUNT(signals))
{
    end_by(signals[_i]);
    ck_assert(!exists(OUR_GROUP));
}

TEST(cases, what_was_left_by_two_killed_at_once_goes_next_time)
{
    set_group(OUR_GROUP, "101\n102\n");
    follow("/", OUR_NAME);
    set_group(RESCTRL_TREE "/mon_groups/vmwss-cache-77", "");
    set_group(RESCTRL_TREE "/db/mon_groups/vmwss-cache-78", "");
    set_group(RESCTRL_TREE "/mon_groups/vmwss-cache-79x", "");
    set_group(RESCTRL_TREE "/mon_groups/vmwss-cache-079", "");
    set_group(RESCTRL_TREE "/mon_groups/vmwss-cache-80", "");

    /* It is being measured. */
    const struct lock_wait no_wait = {.pidfd = -1};
    struct run_lock lock = RUN_LOCK_NONE;

    fake_write(&fake, "run/x", "");
    ck_assert_msg(run_lock_host(&lock, &fake.root, "cache-80", &no_wait, &error) == 0, "%s",
                  error.text);
    open_group(); /* the threads seem to be where they were */
    ck_assert(!exists(RESCTRL_TREE "/mon_groups/vmwss-cache-77"));
    ck_assert(!exists(RESCTRL_TREE "/db/mon_groups/vmwss-cache-78"));
    ck_assert(exists(RESCTRL_TREE "/mon_groups/vmwss-cache-79x"));
    ck_assert(exists(RESCTRL_TREE "/mon_groups/vmwss-cache-079"));
    ck_assert(exists(RESCTRL_TREE "/mon_groups/vmwss-cache-80"));
    run_lock_release(&lock);
}
