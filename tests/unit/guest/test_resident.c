// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_resident.c  What of guest RAM is mapped and resident, by what QEMU's status says of
 * all of QEMU. */
#include "guest/ram/resident.h"

#include "fake_kernel.h"
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#define MIB (1ULL << 20)
#define RAM_MIB 64
#define FILE_MIB 4

static struct fake_kernel fake;
static struct resident_meter meter;
static struct resident_now now;

static void setup(void)
{
    fake_kernel_make(&fake, RAM_MIB * MIB / base_page_bytes());
}

static void teardown(void)
{
    resident_meter_free(&meter);
}

static void status(uint64_t anon_mib, uint64_t shmem_mib)
{
    char text[256];

    snprintf(text, sizeof(text),
             "Name:\tqemu\nVmSize:\t921600 kB\nRssAnon:\t%" PRIu64 " kB\nRssFile:\t8192 kB\n"
             "RssShmem:\t%" PRIu64 " kB\nHugetlbPages:\t0 kB\n",
             anon_mib * 1024, shmem_mib * 1024);
    fake_write(&fake, "proc/4242/status", text);
}

/* The block is a whole file, which holds FILE_MIB, as if QEMU had mapped it. */
static void put_file(void)
{
    int fd;

    fake.block.backing = RAM_BACKING_SHMEM;
    fake.block.whole_file = true;
    fake.block.first_vma_bytes = fake.block.bytes;

    const char *path = TEXT_OF(128, "proc/4242/map_files/%llx-%llx", (unsigned long long)FAKE_HVA,
                               (unsigned long long)(FAKE_HVA + fake.block.bytes));

    fake_write(&fake, path, "");
    fd = openat(fake.root.dirfd, path, O_RDWR);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(posix_fallocate(fd, 0, FILE_MIB * MIB), 0);
    close(fd);
    fake.root.live = true;
}

static void begin(uint64_t anon_mib, uint64_t shmem_mib)
{
    status(anon_mib, shmem_mib);
    ck_assert_int_eq(resident_meter_init(&meter, &fake.root, FAKE_PID, &fake.ram), 0);
}

static void read_again(void)
{
    ck_assert_int_eq(resident_meter_read_again(&meter, &fake.root, FAKE_PID, &now), 0);
    ck_assert_uint_le(now.mapped_bytes, now.resident_bytes);
}

/* Returns what is mapped now. */
static uint64_t read_now(void)
{
    ck_assert_int_eq(resident_meter_read(&meter, &fake.root, FAKE_PID, &now), 0);
    ck_assert_uint_le(now.mapped_bytes, now.resident_bytes);
    return now.mapped_bytes;
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST(cases, of_anonymous_ram_all_that_changes_is_the_guests)
{
    fake.block.mapped_bytes = 10 * MIB;
    begin(30, 1);
    status(42, 1);
    ck_assert_uint_eq(read_now(), 22 * MIB);
    ck_assert_uint_eq(now.resident_bytes, 22 * MIB);
    status(1000, 1);
    ck_assert_uint_eq(read_now(), RAM_MIB * MIB);
    status(2, 1);
    ck_assert_uint_eq(read_now(), 0);
}

/* QEMU's own: 64 MiB of heap that is there, of which @p pages first ones have a page, @p files of
 * them of a file. */
#define HEAP 0x10000000ULL

static void put_heap(uint64_t pages, uint64_t files)
{
    char maps[256];

    snprintf(maps, sizeof(maps),
             "%llx-%llx rw-p 00000000 00:00 0 [heap]\n%llx-%llx rw-p 00000000 00:00 0 \n", HEAP,
             HEAP + 64 * MIB, FAKE_HVA, FAKE_HVA + fake.block.bytes);
    fake_write(&fake, "proc/4242/maps", maps);
    for (uint64_t i = 0; i < pages; i++)
        fake_set_u64(&fake, "proc/4242/pagemap", base_pages(HEAP) + i,
                     1ULL << 63 | (i < files ? 1ULL << 61 : 0));
}

TEST(cases, of_anonymous_ram_the_heap_does_not_count)
{
    fake.block.mapped_bytes = 10 * MIB;
    put_heap(512, 0);
    begin(12, 1);
    /* 16 MiB of heap, 1 of it of a file, and 3 MiB of RAM. */
    put_heap(512 + 4096, 256);
    status(12 + 15 + 3, 1);
    ck_assert_uint_eq(read_now(), 13 * MIB);
    ck_assert_uint_eq(now.mapped_error_bytes, 0);
    /* A change too small for another scan may belong to either. */
    status(12 + 15 + 3, 1);
    fake_write(&fake, "proc/4242/maps", "");
    ck_assert_uint_eq(read_now(), 13 * MIB);
}

/* Pages of libraries come and go; anonymous RAM has none of files. */
TEST(cases, of_anonymous_ram_files_do_not_count)
{
    fake.block.mapped_bytes = 10 * MIB;
    begin(30, 1);
    fake_write(&fake, "proc/4242/status",
               "Name:\tqemu\nVmSize:\t921600 kB\nRssAnon:\t30720 kB\n"
               "RssFile:\t65536 kB\nRssShmem:\t9216 kB\nHugetlbPages:\t0 kB\n");
    ck_assert_uint_eq(read_now(), 10 * MIB);
}

TEST(cases, per_cpu_counters_have_an_error)
{
    ck_assert_uint_eq(resident_counter_error("6.1.0-42-amd64", 64), 0);
    ck_assert_uint_eq(resident_counter_error("6.12.94+deb13-amd64", 8), MIB);
    ck_assert_uint_eq(resident_counter_error("6.12.94+deb13-amd64", 64), 32 * MIB);
    ck_assert_uint_eq(resident_counter_error("6.2.0", 128), 128 * MIB);
    ck_assert_uint_eq(resident_counter_error("6.18.2", 128), 0);
    ck_assert_uint_eq(resident_counter_error("5.10.0", 128), 0);
    ck_assert_uint_eq(resident_counter_error("", 128), 0);
}

/* QEMU takes or frees shared memory of its own, a display's or that of a backend which no device
 * uses. */
#define OWN_SHMEM 0x20000000ULL

static void put_shmem(uint64_t pages)
{
    char maps[256];

    snprintf(maps, sizeof(maps),
             "%llx-%llx rw-s 00000000 00:01 77 /memfd:memory-backend-memfd (deleted)\n"
             "%llx-%llx rw-s 00000000 00:01 78 /memfd:r (deleted)\n",
             OWN_SHMEM, OWN_SHMEM + 64 * MIB, FAKE_HVA, FAKE_HVA + fake.block.bytes);
    fake_write(&fake, "proc/4242/maps", maps);
    for (uint64_t i = 0; i < pages; i++)
        fake_set_u64(&fake, "proc/4242/pagemap", base_pages(OWN_SHMEM) + i,
                     1ULL << 63 | 1ULL << 61);
}

/* Shared RAM is a whole file (_i: 0) or a part of one; for the part, RssShmem is all that tells
 * what is resident. */
TEST_EACH(cases, of_shared_ram_other_shared_memory_does_not_count, 0, 2)
{
    if (_i == 0)
        put_file();
    fake.block.backing = RAM_BACKING_SHMEM;
    fake.block.shared = true;
    fake.block.mapped_bytes = fake.block.resident_bytes = 2 * MIB;
    put_shmem(1);
    begin(30, 3);
    put_shmem(16 * MIB / base_page_bytes() + 1);
    status(30, 3 + 16 + 1);
    ck_assert_uint_eq(read_now(), 3 * MIB);
    ck_assert_uint_eq(now.mapped_error_bytes, 0);
    if (_i > 0)
        ck_assert_uint_eq(now.resident_bytes, 3 * MIB);
}

/* Memory that cannot be scanned may be QEMU's or the guest's. */
TEST(cases, what_cannot_be_looked_at_is_in_the_error)
{
    fake.block.mapped_bytes = 10 * MIB;
    fake_write(&fake, "proc/4242/maps", "7f00 is no mapping\n");
    begin(30, 1);
    status(42, 1);
    read_now();
    ck_assert_uint_eq(now.mapped_error_bytes, 12 * MIB);
    resident_meter_free(&meter);
    /* More than is looked at of one mapping. */
    fake_write(&fake, "proc/4242/maps", "10000000-200000000 rw-p 00000000 00:00 0 \n");
    fake_set_u64(&fake, "proc/4242/pagemap", 0, 0);
    begin(30, 1);
    status(42, 1);
    read_now();
    ck_assert_uint_eq(now.mapped_error_bytes, 12 * MIB);
}

/* More than the file holds cannot be of it. */
TEST(cases, of_a_whole_file_no_more_is_mapped_than_it_holds)
{
    put_file();
    fake.block.mapped_bytes = MIB;
    begin(30, 1);
    status(30, 60);
    ck_assert_uint_ge(read_now(), FILE_MIB * MIB);
    ck_assert_uint_lt(now.mapped_bytes, (FILE_MIB + 1) * MIB);
    ck_assert_uint_eq(now.resident_bytes, now.mapped_bytes);
}

/* QEMU frees more of its own memory after start-up than a young guest's RAM. */
TEST(cases, of_a_whole_file_qemus_own_memory_does_not_count)
{
    put_file();
    fake.block.mapped_bytes = fake.block.resident_bytes = 2 * MIB;
    begin(30, 3);
    status(20, 4);
    ck_assert_uint_eq(read_now(), 3 * MIB);
    ck_assert_uint_ge(now.resident_bytes, FILE_MIB * MIB);
    ck_assert_uint_lt(now.resident_bytes, (FILE_MIB + 1) * MIB);
    status(60, 4);
    ck_assert_uint_eq(read_now(), 3 * MIB);
}

/* Pages that were swapped out when the RAM was located may be back. */
TEST(cases, what_is_mapped_is_resident)
{
    put_file();
    fake.block.mapped_bytes = MIB;
    fake.block.swapped_bytes = 3 * MIB;
    begin(30, 1);
    status(30, 4);
    ck_assert_uint_eq(read_now(), 4 * MIB);
    ck_assert_uint_eq(now.resident_bytes, 4 * MIB);
}

TEST(cases, of_a_file_and_anonymous_ram_each_follows_its_kind)
{
    struct ram_block blocks[2];

    put_file();
    fake.block.mapped_bytes = (FILE_MIB - 2) * MIB;
    blocks[0] = fake.block;
    blocks[1] = (struct ram_block){.id = "dimm", .hva = FAKE_HVA * 2, .bytes = 32 * MIB};
    fake.ram.blocks = blocks;
    fake.ram.n_blocks = 2;
    fake.ram.bytes += blocks[1].bytes;
    begin(30, 4);
    status(35, 6);
    ck_assert_uint_eq(read_now(), (FILE_MIB + 5) * MIB);
}

/* A panel is read meanwhile: its pages are of no one moment. */
TEST(cases, what_moves_between_two_readings_is_in_the_error)
{
    struct resident_now before;

    fake.block.mapped_bytes = 40 * MIB;
    begin(60, 1);
    read_now();
    before = now;
    read_again();
    ck_assert_uint_eq(now.mapped_bytes, before.mapped_bytes);
    ck_assert_uint_eq(now.mapped_error_bytes, before.mapped_error_bytes);
    status(50, 1);
    read_again();
    ck_assert_uint_eq(now.resident_bytes, before.resident_bytes - 5 * MIB);
    ck_assert_uint_eq(now.mapped_bytes, before.mapped_bytes - 5 * MIB);
    ck_assert_uint_eq(now.resident_error_bytes, before.resident_error_bytes + 5 * MIB);
}

/* Mapped pages are part of the resident ones, also where only one of both counts has moved. */
TEST(cases, both_settle_or_neither)
{
    const struct resident_now before = {.mapped_bytes = 100 * MIB, .resident_bytes = 110 * MIB};
    const uint64_t little = 100ULL << 10;

    now = (struct resident_now){.mapped_bytes = 110 * MIB + little,
                                .resident_bytes = 110 * MIB + little};
    resident_now_settle(&before, &now);
    ck_assert_uint_eq(now.mapped_bytes, 110 * MIB + little);
    ck_assert_uint_eq(now.resident_bytes, 110 * MIB + little);
    now = (struct resident_now){.mapped_bytes = 100 * MIB - little,
                                .resident_bytes = 110 * MIB + little};
    resident_now_settle(&before, &now);
    ck_assert_uint_eq(now.mapped_bytes, 100 * MIB);
    ck_assert_uint_eq(now.resident_bytes, 110 * MIB);
    ck_assert_uint_eq(now.mapped_error_bytes, little);
}

/* A zombie has a status, but no memory. */
TEST(cases, of_a_process_that_is_gone_nothing_is_told)
{
    begin(30, 1);
    fake_write(&fake, "proc/4242/status", "Name:\tqemu\nState:\tZ (zombie)\n");
    ck_assert_int_eq(resident_meter_read(&meter, &fake.root, FAKE_PID, &now), -ESRCH);
}
