// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_subject.c  When the configuration of a guest's RAM is to be asked for again. */
#include "sample/subject.h"

#include "base/clock.h"
#include "fixture.h"

#include <stdlib.h>
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

START_TEST(configurations_differ_by_any_backend)
{
    struct ram_config *a = calloc(1, sizeof(*a));
    struct ram_config *b = calloc(1, sizeof(*b));

    ck_assert(a && b);
    a->n_backends = 2;
    a->total_bytes = 384 * MIB;
    a->backends[0] = (struct ram_backend){.id = "ram-node0", .size_bytes = 256 * MIB};
    a->backends[1] = (struct ram_backend){.id = "memdimm0", .size_bytes = 128 * MIB, .dimm = true};
    *b = *a;
    ck_assert(ram_config_equal(a, b));
    strcpy(b->backends[1].id, "memdimm1"); /* one went, another of its size came */
    ck_assert(!ram_config_equal(a, b));
    *b = *a;
    b->n_backends = 1;
    ck_assert(!ram_config_equal(a, b));
    free(a);
    free(b);
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
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(suite());
}
