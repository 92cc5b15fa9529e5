// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_scan_message.c  What crosses the wall between vmwssd's halves, and what does not. */
#include "daemon/scanner/scan_message.h"
#include "estimate/wss.h"

#include "fixture.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UUID "00000000-0000-4000-8000-000000000001"

static struct scan_request request;
static struct scan_reply reply;

static bool request_valid(void)
{
    return scan_request_valid(&request, scan_request_size(request.op));
}

static bool reply_valid(void)
{
    return scan_reply_valid(&reply, scan_reply_size(reply.op), reply.op);
}

static void fill_domain(struct scan_domain *domain)
{
    strcpy(domain->pid_dir, "run/libvirt/qemu");
    strcpy(domain->name, "web1");
    strcpy(domain->uuid, UUID);
}

static void setup(void)
{
    memset(&request, 0, sizeof(request));
    memset(&reply, 0, sizeof(reply));
}

START_TEST(of_each_kind_there_is_one_size)
{
    for (unsigned op = 0; op < N_SCAN_OPS; op++) {
        size_t size = scan_request_size(op);

        ck_assert_uint_gt(size, 0);
        ck_assert_uint_le(size, sizeof(request));
        ck_assert_uint_gt(scan_reply_size(op), 0);
        ck_assert_uint_le(scan_reply_size(op), sizeof(reply));
        request.op = reply.op = op;
        ck_assert(!scan_request_valid(&request, size - 1));
        ck_assert(!scan_request_valid(&request, size + 1));
        ck_assert(!scan_reply_valid(&reply, scan_reply_size(op) - 1, op));
        ck_assert(!scan_reply_valid(&reply, scan_reply_size(op), (op + 1) % N_SCAN_OPS));
    }
    request.op = N_SCAN_OPS;
    ck_assert(!scan_request_valid(&request, sizeof(request)));
    ck_assert(!scan_request_valid(&request, 0));
    ck_assert_uint_eq(scan_request_size(UINT32_MAX), 0);
}
END_TEST

START_TEST(a_domain_leads_nowhere_else)
{
    request.op = SCAN_FIND;
    fill_domain(&request.find);
    ck_assert(request_valid());
    strcpy(request.find.pid_dir, "run/../etc");
    ck_assert(!request_valid());
    strcpy(request.find.pid_dir, "/run");
    ck_assert(!request_valid());
    fill_domain(&request.find);
    strcpy(request.find.name, "a/b");
    ck_assert(!request_valid());
    fill_domain(&request.find);
    memset(request.find.name, 'x', sizeof(request.find.name)); /* without an end */
    ck_assert(!request_valid());
    fill_domain(&request.find);
    strcpy(request.find.uuid, "short");
    ck_assert(!request_valid());
}
END_TEST

START_TEST(a_process_has_a_number)
{
    request.op = SCAN_START;
    ck_assert(!request_valid());
    request.pid = -1;
    ck_assert(!request_valid());
    request.pid = 1;
    ck_assert(request_valid());
}
END_TEST

START_TEST(ram_is_no_more_than_there_can_be)
{
    struct scan_backend *backends = request.open.ram.backends;

    request.op = SCAN_OPEN;
    fill_domain(&request.open.domain);
    request.open.ram.n_backends = 2;
    backends[0].size_bytes = backends[1].size_bytes = RAM_CONFIG_MAX_BYTES / 2;
    ck_assert(request_valid());
    backends[1].size_bytes++;
    ck_assert(!request_valid());
    backends[1].size_bytes = 0;
    ck_assert(!request_valid());
    backends[1].size_bytes = 1;
    backends[1].source = RAM_SOURCE_FILE + 1;
    ck_assert(!request_valid());
    backends[1].source = 0;
    backends[1].dimm = 2;
    ck_assert(!request_valid());
    backends[1].dimm = 1;
    ck_assert(request_valid());
    request.open.ram.n_backends = RAM_CONFIG_MAX_BACKENDS + 1;
    ck_assert(!request_valid());
    request.open.pid = 42; /* then there is no domain to be looked at */
    ck_assert(request_valid());
    request.open.pid = -1;
    ck_assert(!request_valid());
}
END_TEST

static void fill_sample(void)
{
    request.op = SCAN_SAMPLE;
    request.sample = (struct scan_sample){
        .samples = 2000, .n_windows = 2, .window_s = {10, 60}, .tick_s = 30, .method = 1};
}

START_TEST(a_scan_has_windows_that_ascend)
{
    fill_sample();
    ck_assert(request_valid());
    request.sample.window_s[1] = 10;
    ck_assert(!request_valid());
    request.sample.window_s[1] = NAN;
    ck_assert(!request_valid());
    request.sample.window_s[1] = HUGE_VAL;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.window_s[0] = 0;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.n_windows = RUN_MAX_WINDOWS + 1;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.n_windows = 0;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.samples = SCAN_MAX_SAMPLES + 1;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.method = 200;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.jobs = 1U << 31;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.anew = 2;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.ring = 1;
    ck_assert(request_valid());
    request.sample.ring = 2;
    ck_assert(!request_valid());
}
END_TEST

START_TEST(agents_are_reached_and_nobody_else)
{
    request.op = SCAN_CONNECT;
    ck_assert(!request_valid()); /* vsock, of the host itself */
    request.connect.vsock_cid = 2;
    ck_assert(!request_valid());
    request.connect.vsock_cid = 3;
    ck_assert(request_valid());
    strcpy(request.connect.path, "/run/libvirt/qemu/channel/1-web1/org.vmwss.agent.0");
    ck_assert(!request_valid()); /* whose? */
    strcpy(request.connect.uuid, UUID);
    ck_assert(request_valid());
    strcpy(request.connect.path, "/var/lib/libvirt/qemu/domain-1-web1/monitor.sock");
    ck_assert(!request_valid());
    strcpy(request.connect.path, "/run/libvirt/qemu/channel/1-web1/org.qemu.guest_agent.0");
    ck_assert(!request_valid());
    strcpy(request.connect.path, "relative");
    ck_assert(!request_valid());
}
END_TEST

START_TEST(ram_comes_back_as_it_went)
{
    struct ram_config config = {.locked = true, .in_guest_memfd = "TDX"};
    const struct ram_backend backends[] = {
        {.id = "pc.ram", .size_bytes = 1ULL << 30, .source = RAM_SOURCE_MEMFD, .hugetlb = true},
        {.id = "memdimm0", .size_bytes = 128ULL << 20, .dimm = true},
    };
    struct ram_config back;

    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(ram_config_add(&config, &backends[i]), 0);
    request.op = SCAN_HAS_RAM;
    ck_assert_int_eq(scan_ram_put(&request.has_ram, &config), 0);
    ck_assert(request_valid());
    ck_assert_int_eq(scan_ram_take(&request.has_ram, &back), 0);
    ck_assert(ram_config_equal(&config, &back));
    ck_assert_uint_eq(back.total_bytes, config.total_bytes);
    ck_assert_str_eq(back.in_guest_memfd, "TDX");
    ram_config_free(&config);
    ram_config_free(&back);
}
END_TEST

static struct ages_record record_of(void)
{
    struct ages_record record = {.n_bins = 2};

    record.sample = (struct sample_record){.pid = 42,
                                           .method = method_idle.name,
                                           .accel = ACCEL_KVM,
                                           .n_windows = 1,
                                           .ram_bytes = 1 << 30,
                                           .resident_bytes = 1 << 29};
    strcpy(record.sample.domain, "web1");
    record.sample.windows[0] = (struct window_record){
        .window_s = 10, .est_window_s = 10, .wss_bytes = 5, .wss_high_bytes = 6};
    record.bins[0].to_s = record.bins[1].from_s = 10;
    record.bins[1].to_s = HUGE_VAL;
    return record;
}

static void put(const struct ages_record *record)
{
    reply.sampled.record = *record;
    scan_record_put(&reply.sampled);
}

START_TEST(a_record_comes_back_without_names)
{
    const struct ages_record record = record_of();
    const struct ages_record *back;

    reply.op = SCAN_SAMPLE;
    reply.sampled.method = scan_method_put(&method_idle);
    put(&record);
    ck_assert(reply_valid());
    back = scan_record_take(&reply.sampled);
    ck_assert_str_eq(back->sample.method, "idle");
    ck_assert_str_eq(back->sample.domain, "");
    ck_assert_uint_eq(back->sample.windows[0].wss_bytes, 5);
    ck_assert_uint_eq(back->n_bins, 2);
}
END_TEST

/* Shares of three strata add up to a little more than 1, as floating point goes. */
START_TEST(a_guest_that_touches_all_is_believed)
{
    static const uint64_t sizes[] = {4096, 65536, 2 << 20};
    static const uint64_t draws[] = {134, 200, 32};
    const struct wss_memory memory = {
        .ram_bytes = 1 << 30, .resident_bytes = 1 << 29, .population_bytes = 1 << 29};
    struct ages_record record = record_of();
    struct wss_estimate estimate;
    struct tally tally = {0};

    for (size_t i = 0; i < 3; i++)
        tally.strata[tally.n_strata++] = (struct stratum){.granularity_bytes = sizes[i],
                                                          .draws = draws[i],
                                                          .units = draws[i],
                                                          .touched_units = draws[i]};
    ck_assert_int_eq(wss_estimate(&tally, &memory, &estimate), 0);
    ck_assert(estimate.touched_fraction == 1);
    ck_assert_uint_gt(estimate.unit_low_bytes, 9 * (memory.population_bytes / 10));
    ck_assert_uint_le(estimate.unit_low_bytes, memory.population_bytes);
    record.sample.windows[0].touched_fraction = estimate.touched_fraction;
    reply.op = SCAN_SAMPLE;
    put(&record);
    ck_assert(reply_valid());
}
END_TEST

START_TEST(an_impossible_record_is_none)
{
    const struct ages_record record = record_of();
    struct ages_record *crossed = &reply.sampled.record;

    reply.op = SCAN_SAMPLE;
    put(&record);
    crossed->sample.windows[0].touched_fraction = NAN;
    ck_assert(!reply_valid());
    put(&record);
    crossed->sample.n_windows = RUN_MAX_WINDOWS + 1;
    ck_assert(!reply_valid());
    put(&record);
    crossed->n_bins = RUN_MAX_WINDOWS + 2;
    ck_assert(!reply_valid());
    put(&record);
    crossed->sample.method = "a pointer of another process";
    ck_assert(!reply_valid());
    put(&record);
    crossed->bins[0].to_s = NAN;
    ck_assert(!reply_valid());
    put(&record);
    reply.rc = 1;
    ck_assert(!reply_valid());
    reply.rc = 0;
    memset(reply.error, 'x', sizeof(reply.error));
    ck_assert(!reply_valid());
}
END_TEST

START_TEST(no_list_is_longer_than_its_room)
{
    reply.op = SCAN_LIST;
    reply.list.n = 1;
    ck_assert(!reply_valid()); /* of process 0 */
    reply.list.pids[0] = 1;
    ck_assert(reply_valid());
    reply.list.n = SCAN_MAX_PROCESSES + 1;
    ck_assert(!reply_valid());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scan_message");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, of_each_kind_there_is_one_size);
    tcase_add_test(tcase, a_domain_leads_nowhere_else);
    tcase_add_test(tcase, a_process_has_a_number);
    tcase_add_test(tcase, ram_is_no_more_than_there_can_be);
    tcase_add_test(tcase, a_scan_has_windows_that_ascend);
    tcase_add_test(tcase, agents_are_reached_and_nobody_else);
    tcase_add_test(tcase, ram_comes_back_as_it_went);
    tcase_add_test(tcase, a_record_comes_back_without_names);
    tcase_add_test(tcase, a_guest_that_touches_all_is_believed);
    tcase_add_test(tcase, an_impossible_record_is_none);
    tcase_add_test(tcase, no_list_is_longer_than_its_room);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
