// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_subject.c  When the configuration of a guest's RAM is to be asked for again. */
#include "sample/subject.h"

#include "base/clock.h"
#include "fixture.h"

#include <errno.h>
#include <string.h>

#define MIB (1ULL << 20)
#define ELEVEN_SECONDS 11000000000ULL

static struct resident_now with_address_space(uint64_t mib)
{
    return (struct resident_now){.address_bytes = mib * MIB};
}

START_TEST(what_stays_the_same_raises_no_doubt)
{
    struct subject subject = {0};
    struct resident_now now = with_address_space(900);

    ck_assert(!subject_in_doubt(&subject, &now));
    ck_assert(!subject_in_doubt(&subject, &now));
}
END_TEST

START_TEST(a_change_is_doubted_until_it_is_old)
{
    struct subject subject = {0};
    struct resident_now before = with_address_space(900);
    struct resident_now after = with_address_space(1028);

    subject_in_doubt(&subject, &before);
    ck_assert(subject_in_doubt(&subject, &after));
    subject_answered(&subject, &after); /* too early: the device may come after its memory */
    ck_assert(subject_in_doubt(&subject, &after));
    subject.doubted_ns = clock_ns() - ELEVEN_SECONDS;
    subject_answered(&subject, &after);
    ck_assert(!subject_in_doubt(&subject, &after));
    ck_assert(subject_in_doubt(&subject, &before)); /* unplugged */
}
END_TEST

START_TEST(what_was_given_back_needs_no_answer)
{
    struct subject subject = {0};
    struct resident_now before = with_address_space(900);
    struct resident_now stack = with_address_space(908);

    subject_in_doubt(&subject, &before);
    ck_assert(subject_in_doubt(&subject, &stack));
    ck_assert(!subject_in_doubt(&subject, &before));
    ck_assert_uint_eq(subject.doubted_ns, 0);
}
END_TEST

static struct ram_config two_backends(const char *id)
{
    struct ram_backend boot = {.id = "ram-node0", .size_bytes = 256 * MIB};
    struct ram_backend dimm = {.size_bytes = 128 * MIB, .dimm = true};
    struct ram_config config = {0};

    strcpy(dimm.id, id);
    ck_assert_int_eq(ram_config_add(&config, &boot), 0);
    ck_assert_int_eq(ram_config_add(&config, &dimm), 0);
    ck_assert_uint_eq(config.total_bytes, 384 * MIB);
    return config;
}

START_TEST(configurations_differ_by_any_backend)
{
    struct ram_config a = two_backends("memdimm0");
    struct ram_config b = two_backends("memdimm0");
    struct ram_config other = two_backends("memdimm1"); /* one went, another of its size came */

    ck_assert(ram_config_equal(&a, &b));
    ck_assert(!ram_config_equal(&a, &other));
    ram_config_move(&b, &other);
    ck_assert_uint_eq(other.n_backends, 0);
    ck_assert_uint_eq(other.total_bytes, 0);
    ck_assert_str_eq(b.backends[1].id, "memdimm1");
    b.n_backends = 1;
    ck_assert(!ram_config_equal(&a, &b));
    ram_config_free(&a);
    ram_config_free(&b);
}
END_TEST

START_TEST(a_configuration_has_bounds)
{
    const struct ram_backend large = {.size_bytes = RAM_CONFIG_MAX_BYTES};
    const struct ram_backend small = {.size_bytes = 1};
    struct ram_config config = {0};

    ck_assert_int_eq(ram_config_add(&config, &large), 0);
    ck_assert_int_eq(ram_config_add(&config, &small), -E2BIG);
    ck_assert_uint_eq(config.n_backends, 1);
    ram_config_free(&config);
    for (int i = 0; i < RAM_CONFIG_MAX_BACKENDS; i++)
        ck_assert_int_eq(ram_config_add(&config, &small), 0);
    ck_assert_int_eq(ram_config_add(&config, &small), -E2BIG);
    ck_assert_uint_eq(config.total_bytes, RAM_CONFIG_MAX_BACKENDS);
    ram_config_free(&config);
    ck_assert_uint_eq(config.n_backends, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("subject");
    TCase *tcase = tcase_create("subject");

    tcase_add_test(tcase, what_stays_the_same_raises_no_doubt);
    tcase_add_test(tcase, a_change_is_doubted_until_it_is_old);
    tcase_add_test(tcase, what_was_given_back_needs_no_answer);
    tcase_add_test(tcase, configurations_differ_by_any_backend);
    tcase_add_test(tcase, a_configuration_has_bounds);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(suite());
}
