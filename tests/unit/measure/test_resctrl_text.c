// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_resctrl_text.c  resctrl's text, as the kernel writes it, and as it does not. */
#include "measure/cache/cpu_caches.h"
#include "measure/cache/resctrl.h"
#include "measure/cache/resctrl_text.h"

#include "fake_kernel.h"
#include "fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

TEST(plain, a_counter_is_a_number_or_none)
{
    static const char *const bad[] = {"",
                                      "-1",
                                      " 1",
                                      "1 ",
                                      "1e9",
                                      "0x1",
                                      "+1",
                                      "nan",
                                      "1\n2",
                                      "unavailable",
                                      "18446744073709551615",
                                      "99999999999999999999",
                                      "Error "};
    uint64_t value = 7;

    ck_assert_int_eq(resctrl_parse_counter("0", &value), 0);
    ck_assert_uint_eq(value, 0);
    ck_assert_int_eq(resctrl_parse_counter("18446744073709551614", &value), 0);
    ck_assert_uint_eq(value, UINT64_MAX - 1);
    value = 7;
    ck_assert_int_eq(resctrl_parse_counter("Unavailable", &value), -ENODATA);
    ck_assert_int_eq(resctrl_parse_counter("Unassigned", &value), -ENODATA);
    ck_assert_int_eq(resctrl_parse_counter("Error", &value), -EIO);
    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(resctrl_parse_counter(bad[i], &value) == -EBADMSG, "'%s'", bad[i]);
    ck_assert_uint_eq(value, 7);
}

TEST(plain, where_a_thread_is)
{
    struct resctrl_place place;

    ck_assert_int_eq(resctrl_parse_place("res:/\nmon:", &place), 0);
    ck_assert_str_eq(place.control, "");
    ck_assert_str_eq(place.monitor, "");
    ck_assert_int_eq(resctrl_parse_place("res:/\nmon:mon0", &place), 0);
    ck_assert_str_eq(place.monitor, "mon0");
    ck_assert_int_eq(resctrl_parse_place("res:qemu-1-web\nmon:vcpus_0-1\n", &place), 0);
    ck_assert_str_eq(place.control, "qemu-1-web");
    ck_assert_str_eq(place.monitor, "vcpus_0-1");
    ck_assert_int_eq(resctrl_parse_place("res:mon:\nmon:x", &place), 0);
    ck_assert_str_eq(place.control, "mon:");
    ck_assert_str_eq(place.monitor, "x");
    ck_assert_int_eq(resctrl_parse_place("res:\nmon:", &place), -ENODEV);
}

TEST(plain, names_that_lead_elsewhere_are_refused)
{
    static const char *const bad[] = {"",
                                      "res:/",
                                      "mon:x",
                                      "res:..\nmon:",
                                      "res:/\nmon:..",
                                      "res:/\nmon:a/../b",
                                      "res:/x\nmon:",
                                      "res:a/b\nmon:",
                                      "xres:/\nmon:",
                                      "res:/\nxmon:",
                                      "res:.\nmon:x"};
    struct resctrl_place place;
    char text[600];

    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(resctrl_parse_place(bad[i], &place) == -EBADMSG, "'%s'", bad[i]);
    memset(text, 'a', sizeof(text));
    memcpy(text, "res:/\nmon:", 10);
    text[10 + RESCTRL_NAME_BYTES] = '\0';
    ck_assert_int_eq(resctrl_parse_place(text, &place), -EBADMSG);
    text[10 + RESCTRL_NAME_BYTES - 1] = '\0';
    ck_assert_int_eq(resctrl_parse_place(text, &place), 0);
}

TEST(plain, tasks_are_one_a_line)
{
    pid_t tids[3];

    ck_assert_int_eq(resctrl_parse_tasks("", tids, 3), 0);
    ck_assert_int_eq(resctrl_parse_tasks("12\n13\n", tids, 3), 2);
    ck_assert_int_eq(tids[0], 12);
    ck_assert_int_eq(tids[1], 13);
    ck_assert_int_eq(resctrl_parse_tasks("1\n2\n3\n4\n", tids, 3), -E2BIG);
    ck_assert_int_eq(resctrl_parse_tasks("1 2", tids, 3), -EBADMSG);
    ck_assert_int_eq(resctrl_parse_tasks("-1\n", tids, 3), -EBADMSG);
    ck_assert_int_eq(resctrl_parse_tasks("0\n", tids, 3), -EBADMSG);
    ck_assert_int_eq(resctrl_parse_tasks("4294967296\n", tids, 3), -EBADMSG);
    ck_assert_int_eq(resctrl_parse_tasks("1\n\n2", tids, 3), -EBADMSG);
}

TEST(plain, shares_of_each_domain)
{
    static const char text[] = "    MB:0=100;1=50\n    L3:0=33554432;1=1048576\nL3CODE:0=1";
    struct resctrl_shares shares;

    ck_assert_int_eq(resctrl_parse_shares(text, "L3", &shares), 0);
    ck_assert_uint_eq(shares.n, 2);
    ck_assert_uint_eq(resctrl_share(&shares, 0), 33554432);
    ck_assert_uint_eq(resctrl_share(&shares, 1), 1048576);
    ck_assert_uint_eq(resctrl_share(&shares, 2), CACHE_UNKNOWN);
    ck_assert_int_eq(resctrl_parse_shares(text, "MB", &shares), 0);
    ck_assert_uint_eq(resctrl_share(&shares, 1), 50);
    ck_assert_int_eq(resctrl_parse_shares(text, "L3CODE", &shares), 0);
    ck_assert_int_eq(resctrl_parse_shares(text, "L3DATA", &shares), -ENOENT);
    ck_assert_int_eq(resctrl_parse_shares("", "L3", &shares), -ENOENT);
}

TEST(plain, shares_that_are_none_are_refused)
{
    static const char *const bad[] = {
        "L3:0",       "L3:0=",   "L3:=1",    "L3:0=1;0=2",      "L3:0=-1",
        "L3:0=1,1=2", "L3:0 =1", "L3:0=0x1", "L3:4294967296=1", "L3:0=1;x"};
    struct resctrl_shares shares;
    char many[8192] = "L3:";

    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(resctrl_parse_shares(bad[i], "L3", &shares) == -EBADMSG, "'%s'", bad[i]);
    for (unsigned i = 0; i <= CACHES_MAX; i++)
        snprintf(many + strlen(many), 16, "%u=1;", i);
    ck_assert_int_eq(resctrl_parse_shares(many, "L3", &shares), -EBADMSG);
}

TEST(plain, what_mbm_is_told_to_count)
{
    ck_assert(resctrl_counts_all_reads("0=0x7f;1=0x7f"));
    ck_assert(resctrl_counts_all_reads("0=0x33"));
    ck_assert(!resctrl_counts_all_reads("0=0x7f;1=0x15"));
    ck_assert(!resctrl_counts_all_reads("0=0x30"));
    ck_assert(!resctrl_counts_all_reads(""));
    ck_assert(!resctrl_counts_all_reads("0=0x7f;x"));
    ck_assert(resctrl_filter_has_reads("local_reads,remote_reads,local_non_temporal_writes,"
                                       "local_reads_slow_memory,remote_reads_slow_memory"));
    ck_assert(!resctrl_filter_has_reads("local_reads,local_reads_slow_memory,"
                                        "remote_reads_slow_memory"));
    ck_assert(!resctrl_filter_has_reads(""));
}

/* --- sizes ------------------------------------------------------------------------------------ */

static void write_index(struct fake_kernel *fake, unsigned cpu, unsigned index, const char *level,
                        const char *type, const char *id, const char *size)
{
    const char *const names[] = {"level", "type", "id", "size"};
    const char *const texts[] = {level, type, id, size};
    char path[128];

    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/cache/index%u/%s", cpu, index,
                 names[i]);
        if (texts[i])
            fake_write(fake, path, texts[i]);
    }
}

TEST(plain, the_last_level_is_the_cache)
{
    struct fake_kernel fake;
    struct cpu_caches caches;
    struct error error = {0};

    fake_kernel_make(&fake, 1);
    ck_assert_int_eq(cpu_caches_read(&fake.root, &caches, &error), -ENOENT);
    for (unsigned cpu = 0; cpu < 4; cpu++) {
        write_index(&fake, cpu, 0, "1", "Data", "0", "32K\n");
        write_index(&fake, cpu, 1, "2", "Unified", "0", "512K\n");
        write_index(&fake, cpu, 2, "3", "Unified", cpu < 2 ? "0" : "4", "32768K\n");
    }
    fake_write(&fake, "sys/devices/system/cpu/cpufreq/boost", "1");
    ck_assert_int_eq(cpu_caches_read(&fake.root, &caches, &error), 0);
    ck_assert_uint_eq(caches.level, 3);
    ck_assert_uint_eq(caches.n, 2);
    ck_assert_uint_eq(cpu_caches_bytes(&caches, 0), 32ULL << 20);
    ck_assert_uint_eq(cpu_caches_bytes(&caches, 4), 32ULL << 20);
    ck_assert_uint_eq(cpu_caches_bytes(&caches, 1), CACHE_UNKNOWN);
    write_index(&fake, 3, 2, NULL, NULL, NULL, "16384K\n");
    ck_assert_int_eq(cpu_caches_read(&fake.root, &caches, &error), 0);
    ck_assert_uint_eq(cpu_caches_bytes(&caches, 4), CACHE_UNKNOWN);
    write_index(&fake, 2, 2, NULL, NULL, NULL, "99999999999999999999K");
    write_index(&fake, 3, 2, NULL, NULL, NULL, "-1K");
    ck_assert_int_eq(cpu_caches_read(&fake.root, &caches, &error), 0);
    ck_assert_uint_eq(cpu_caches_bytes(&caches, 4), CACHE_UNKNOWN);
}

TEST(plain, facts_of_the_cpu)
{
    struct fake_kernel fake;
    struct cpu_facts facts;

    fake_kernel_make(&fake, 1);
    cpu_facts_read(&fake.root, &facts);
    ck_assert_int_eq(facts.level, COUNTED_UNKNOWN);
    fake_write(&fake, "proc/cpuinfo",
               "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: AuthenticAMD hypervisor\n"
               "flags\t\t: fpu cqm_llc cqm_occup_llc cqm_mbm_total cqm_mbm_local\nbugs\t\t:\n\n");
    cpu_facts_read(&fake.root, &facts);
    ck_assert(facts.intel && !facts.amd && !facts.nested && facts.occupancy && facts.bandwidth);
    ck_assert_int_eq(facts.level, COUNTED_LLC);
    fake_write(&fake, "proc/cpuinfo",
               "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu hypervisor "
               "cqm_occup_llcx\n\n");
    cpu_facts_read(&fake.root, &facts);
    ck_assert(facts.amd && facts.nested && !facts.occupancy && !facts.bandwidth);
    ck_assert_int_eq(facts.level, COUNTED_L2);
}

static void assert_missing(const struct fake_kernel *fake, const char *word)
{
    struct cpu_facts facts;
    struct error error = {0};

    cpu_facts_read(&fake->root, &facts);
    ck_assert_int_eq(resctrl_check(&fake->root, &facts, &error), -ENOTSUP);
    ck_assert_msg(strncmp(error.text, "resctrl: ", 9) == 0 && strstr(error.text, word), "%s",
                  error.text);
}

TEST(plain, what_is_missing_is_named)
{
    static const char features[] = "sys/fs/resctrl/info/L3_MON/mon_features";
    struct fake_kernel fake;
    struct cpu_facts facts = {0};

    fake_kernel_make(&fake, 1);
    assert_missing(&fake, "cqm_occup_llc");
    fake_write(&fake, "proc/cpuinfo", "vendor_id\t: x\nflags\t\t: cqm_occup_llc cqm_mbm_total\n");
    assert_missing(&fake, "CONFIG_X86_CPU_RESCTRL");
    fake_write(&fake, "proc/filesystems", "nodev\tsysfs\nnodev\tresctrl\n");
    assert_missing(&fake, "mount -t resctrl");
    fake_write(&fake, "sys/fs/resctrl/tasks", "");
    assert_missing(&fake, "without monitoring");
    fake_write(&fake, features, "llc_occupancy\n");
    assert_missing(&fake, "memory bandwidth");
    fake_write(&fake, features, "llc_occupancy\nmbm_total_bytes\n");
    ck_assert_ok(resctrl_check(&fake.root, &facts, &error));
}
