// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_kernel_number.c  Numbers in text of the kernel, with a sign, as a counter below 0
 * that was printed as unsigned, too large, or a word: by the helper, and by each reader of the
 * host. */
#include "base/kernel_number.h"

#include "base/host_file.h"
#include "base/meminfo.h"
#include "base/proc_pid.h"
#include "fake_kernel.h"
#include "fixture.h"
#include "guest/domain/qemu_io.h"
#include "guest/domain/qemu_vcpus.h"
#include "guest/ram/resident.h"
#include "measure/cache/cpu_caches.h"
#include "measure/kernel/lru_gen.h"
#include "measure/kernel/memcg.h"
#include "measure/kernel/swap_ins.h"
#include "measure/kernel/swaps.h"
#include "measure/kernel/trace_event.h"
#include "measure/kernel/vmstat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct fake_kernel fake;

static void setup(void)
{
    fake_kernel_make(&fake, 1);
}

FIXTURE(reader_tests, .setup = setup);

/* None of them is an amount. */
static const char *const no_amounts[] = {"-1",
                                         "-0",
                                         "+1",
                                         "18446744073709551615",
                                         "18446744073709551552",
                                         "9223372036854775808",
                                         "18446744073709551616",
                                         "max",
                                         "",
                                         "x1"};

TEST_EACH(plain, an_amount_has_no_sign, 0, COUNT(no_amounts))
{
    uint64_t value = 7;

    ck_assert_str_eq(kernel_u64(" \t12kB", &value), "kB");
    ck_assert_uint_eq(value, 12);
    ck_assert_str_eq(kernel_u64("9223372036854775807", &value), "");
    ck_assert_uint_eq(value, INT64_MAX);
    value = 7;
    ck_assert_ptr_null(kernel_u64(no_amounts[_i], &value));
    ck_assert_ptr_null(kernel_kib(no_amounts[_i], &value));
    ck_assert_int_eq(kernel_whole_u64(no_amounts[_i], &value), -EINVAL);
    ck_assert_ptr_null(kernel_kib("9007199254740993", &value));
    ck_assert_int_eq(kernel_whole_u64("1 ", &value), -EINVAL);
    ck_assert_int_eq(kernel_whole_u64(" 1", &value), -EINVAL);
    ck_assert_uint_eq(value, 7);
    ck_assert_str_eq(kernel_kib(" 3 kB", &value), " kB");
    ck_assert_uint_eq(value, 3072);
}

TEST(plain, a_counter_keeps_its_sign)
{
    static const struct {
        const char *text;
        int64_t value;
    } counters[] = {{"-2064 x", -2064},
                    {"18446744073709551552", -64},
                    {"18446744073709551615", -1},
                    {"-9223372036854775808", INT64_MIN},
                    {"9223372036854775807", INT64_MAX},
                    {"-0", 0},
                    {" 5", 5}};
    static const char *const none[] = {"-",
                                       "- 1",
                                       "--1",
                                       "+1",
                                       "-18446744073709551615",
                                       "18446744073709551616",
                                       "-9223372036854775809",
                                       "max"};
    int64_t value;

    for (size_t i = 0; i < COUNT(counters); i++) {
        value = 99;
        ck_assert_ptr_nonnull(kernel_s64(counters[i].text, &value));
        ck_assert_int_eq(value, counters[i].value);
    }
    value = 99;
    for (size_t i = 0; i < COUNT(none); i++)
        ck_assert_msg(!kernel_s64(none[i], &value), "%s", none[i]);
    ck_assert_ptr_null(kernel_s64(NULL, &value));
    ck_assert_int_eq(value, 99);
}

TEST(plain, bits_have_all_64)
{
    uint64_t value = 7;

    ck_assert_str_eq(kernel_bits("ffffffffff600000-", 16, &value), "-");
    ck_assert_uint_eq(value, 0xffffffffff600000);
    ck_assert_ptr_nonnull(kernel_bits("18446744073709551615", 10, &value));
    ck_assert_uint_eq(value, UINT64_MAX);
    ck_assert_ptr_null(kernel_bits("-1", 16, &value));
    ck_assert_ptr_null(kernel_bits("1ffffffffffffffff", 16, &value));
    ck_assert_ptr_null(kernel_bits("", 10, &value));
    ck_assert_ptr_null(kernel_bits(NULL, 10, &value));
}

TEST(plain, a_line_is_found_by_its_whole_name)
{
    static const char text[] = "pgscan_kswapd 7\npgscan 5\nlast\t3";

    ck_assert_uint_eq(kernel_line_u64(text, "pgscan"), 5);
    ck_assert_uint_eq(kernel_line_u64(text, "last"), 3);
    ck_assert_uint_eq(kernel_line_u64(text, "kswapd"), 0);
    ck_assert_ptr_null(kernel_line(text, "las"));
    ck_assert_ptr_null(kernel_line("", "pgscan"));
}

/* Each test of a reader runs once for each of no_amounts[], which its file holds at each %s. */
static void write_with(const char *path, const char *format, const char *number)
{
    const char *text = TEXT_OF(1024, format, number, number);

    fake_write(&fake, path, text);
}

TEST_EACH(reader_tests, a_file_of_one_number, 0, COUNT(no_amounts))
{
    struct host_file file = {.path = "sys/number"};
    uint64_t value = 7;

    write_with("sys/number", "%s\n", no_amounts[_i]);
    ck_assert_int_eq(fsroot_read_u64(&fake.root, &value, "sys/number"), -EINVAL);
    ck_assert_int_eq(host_file_read_u64(&file, &fake.root, &value), -EINVAL);
    ck_assert_uint_eq(value, 7);
}

TEST_EACH(reader_tests, memory_of_the_host, 0, COUNT(no_amounts))
{
    struct host_memory memory;
    struct error error = {0};

    write_with("proc/meminfo", "MemTotal: 1024 kB\nMemAvailable: 512 kB\nAnonHugePages: %s kB\n",
               no_amounts[_i]);
    ck_assert_int_eq(meminfo_read(&fake.root, &memory, &error), -EINVAL);
    write_with("proc/meminfo", "MemTotal: 1024 kB\nMemAvailable: %s kB\n", no_amounts[_i]);
    ck_assert_int_eq(meminfo_read(&fake.root, &memory, &error), -EINVAL);
    fake_write(&fake, "proc/meminfo", "MemTotal: 1024 kB\nMemAvailable: 512 kB\n");
    ck_assert_int_eq(meminfo_read(&fake.root, &memory, &error), 0);
    ck_assert_uint_eq(memory.available_bytes, 512 << 10);
}

TEST_EACH(reader_tests, counters_of_the_host_and_of_a_group, 0, COUNT(no_amounts))
{
    static const char *const names[] = {"pgscan_kswapd", "pgscan_direct", NULL};

    write_with("proc/vmstat", "pgscan_kswapd %s\npgscan_direct 5\n", no_amounts[_i]);
    ck_assert_uint_eq(vmstat_sum(&fake.root, names), 5);
    ck_assert_uint_eq(vmstat_read(&fake.root, "pgscan_kswapd"), 0);

    const char *text = TEXT_OF(128, "pgscan %s\npgrefill 5\n", no_amounts[_i]);

    ck_assert_uint_eq(kernel_line_u64(text, "pgscan"), 0);
    ck_assert_uint_eq(kernel_line_u64(text, "pgrefill"), 5);
}

TEST_EACH(reader_tests, swap, 0, COUNT(no_amounts))
{
    static const char heading[] = "Filename Type Size Used Priority\n";
    struct swap_room room;
    const char *text = TEXT_OF(512, "%s/a file 8 %s -2\n/b file %s 0 -3\n/c file 16 4 -4\n",
                               heading, no_amounts[_i], no_amounts[_i]);

    fake_write(&fake, "proc/swaps", text);
    write_with("proc/meminfo", "SwapTotal: %s kB\n", no_amounts[_i]);
    ck_assert_int_eq(swap_room(&fake.root, true, &room), 0);
    ck_assert_uint_eq(room.total_bytes, 16 << 10);
    ck_assert_uint_eq(room.free_bytes, 12 << 10);

    struct swap_devices devices = swap_devices_read(&fake.root);

    ck_assert_uint_eq(devices.listed_bytes, 24 << 10);
    ck_assert_uint_eq(devices.total_bytes, 0);
}

/* Where zram's own numbers are none, all of the device counts. */
TEST_EACH(reader_tests, zram, 0, COUNT(no_amounts))
{
    struct swap_room room;

    fake_write(&fake, "proc/swaps",
               "Filename Type Size Used Priority\n/dev/zram0 partition 1024 24 100\n");
    write_with("sys/block/zram0/mm_stat", "4096 74 12288 %s 0 0 0 0 0\n", no_amounts[_i]);
    ck_assert_int_eq(swap_room(&fake.root, false, &room), 0);
    ck_assert_uint_eq(room.total_bytes, 1024 << 10);
    fake_write(&fake, "sys/block/zram0/mm_stat", "4096 74 12288 524288 -7 0 0 0 0\n");
    ck_assert_int_eq(swap_room(&fake.root, false, &room), 0);
    ck_assert_uint_eq(room.total_bytes, 512 << 10);
}

TEST_EACH(reader_tests, memory_of_a_process, 0, COUNT(no_amounts))
{
    uint64_t bytes = 7;

    write_with("proc/4242/status", "Name:\tx\nRssAnon:\t8 kB\nHugetlbPages:\t%s kB\n",
               no_amounts[_i]);
    ck_assert_int_eq(resident_of_process(&fake.root, 4242, &bytes), -EBADMSG);
    ck_assert_uint_eq(bytes, 7);
    fake_write(&fake, "proc/4242/status", "Name:\tx\nRssAnon:\t8 kB\nRssFile:\t4 kB\n");
    ck_assert_int_eq(resident_of_process(&fake.root, 4242, &bytes), 0);
    ck_assert_uint_eq(bytes, 12 << 10);
}

/* Fields that may be below 0, such as the priority, are refused. */
TEST_EACH(reader_tests, times_of_a_process, 0, COUNT(no_amounts))
{
    static const char middle[] = "1 1 1 0 -1 4194560 9 0 0 0";
    static const char end[] = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
    struct proc_stat stat = {.utime_ticks = 7};
    char text[512];

    snprintf(text, sizeof(text), "9 (a ) -1) S %s 11 12 -3 -4 -2 -5 1 0 77 %s 13 0", middle, end);
    ck_assert_int_eq(proc_stat_parse(text, &stat), 0);
    ck_assert_uint_eq(stat.utime_ticks, 11);
    ck_assert_uint_eq(stat.stime_ticks, 12);
    ck_assert_uint_eq(stat.start_ticks, 77);
    ck_assert_uint_eq(stat.guest_ticks, 13);
    ck_assert_int_eq(stat.state, 'S');
    for (int field = 0; field < 4; field++) {
        const char *number[] = {"11", "12", "77", "13"};

        number[field] = no_amounts[_i];
        snprintf(text, sizeof(text), "9 (x) S %s %s %s -3 -4 -2 -5 1 0 %s %s %s 0", middle,
                 number[0], number[1], number[2], end, number[3]);
        if (*no_amounts[_i])
            ck_assert_int_eq(proc_stat_parse(text, &stat), -EINVAL);
    }
    ck_assert_uint_eq(stat.utime_ticks, 11);
}

TEST_EACH(reader_tests, traffic_and_time_of_a_guest, 0, COUNT(no_amounts))
{
    pid_t tid = 4243;
    struct qemu_process process = {.pid = 4242, .vcpus = &tid, .n_vcpus = 1};

    write_with("proc/4242/io", "rchar: 5\nwchar: %s\nsyscr: 1\nsyscw: %s\n", no_amounts[_i]);
    ck_assert_uint_eq(qemu_process_transfers(&fake.root, &process).bytes, 0);
    ck_assert_uint_eq(qemu_process_transfers(&fake.root, &process).calls, 0);
    write_with("proc/4242/task/4243/schedstat", "%s 5 6\n", no_amounts[_i]);
    if (*no_amounts[_i])
        ck_assert_uint_eq(qemu_process_vcpu_ns(&fake.root, &process), 0);
}

TEST_EACH(reader_tests, the_format_of_a_tracepoint, 0, COUNT(no_amounts))
{
    char text[256];
    struct trace_event event = {.format = text};
    uint32_t offset = 7;

    for (int which = 0; which < 2; which++) {
        snprintf(text, sizeof(text), "\tfield:u64 a;\toffset:%s;\tsize:%s;\tsigned:0;\n",
                 which ? "8" : no_amounts[_i], which ? no_amounts[_i] : "8");
        ck_assert_int_eq(trace_event_field(&event, "a", 8, &offset), -EBADMSG);
    }
    snprintf(text, sizeof(text), "\tfield:u64 a;\toffset:4294967304;\tsize:8;\tsigned:0;\n");
    ck_assert_int_eq(trace_event_field(&event, "a", 8, &offset), -EBADMSG);
    ck_assert_uint_eq(offset, 7);
}

TEST_EACH(reader_tests, generations, 0, COUNT(no_amounts))
{
    struct lru_gen generations;
    const char *text = TEXT_OF(256, "memcg 2 /guest\n node 0\n 2 100 %s 3\n", no_amounts[_i]);

    ck_assert_int_eq(lru_gen_parse(text, "/guest", &generations), -EBADMSG);
}

TEST_EACH(reader_tests, sizes_of_caches, 0, COUNT(no_amounts))
{
    struct cpu_caches caches;
    struct error error = {0};

    fake_write(&fake, "sys/devices/system/cpu/cpu0/cache/index3/level", "3\n");
    fake_write(&fake, "sys/devices/system/cpu/cpu0/cache/index3/id", "0\n");
    write_with("sys/devices/system/cpu/cpu0/cache/index3/size", "%sK\n", no_amounts[_i]);
    if (cpu_caches_read(&fake.root, &caches, &error) == 0)
        ck_assert_uint_eq(cpu_caches_bytes(&caches, 0), CACHE_UNKNOWN);
}
