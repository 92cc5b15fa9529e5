// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_kpage_shared.c  One file for all, open for as long as somebody has it. */
#include "measure/kernel/kpage_shared.h"

#include "fake_kernel.h"
#include "fixture.h"

#include <fcntl.h>
#include <unistd.h>

static struct fake_kernel fake;

static void setup(void)
{
    fake_kernel_make(&fake, 1);
    fake_set_u64(&fake, "proc/kpageflags", 0, 0);
    fake_set_u64(&fake, "proc/kpagecount", 0, 0);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

FIXTURE(tests, .setup = setup);

TEST(tests, all_read_through_one_file)
{
    fake.root.live = true;

    int flags[2] = {kpageflags_share(&fake.root, NULL), kpageflags_share(&fake.root, NULL)};
    int count = kpagecount_share(&fake.root, NULL);
    int fd = flags[0];

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(flags[1], fd);
    ck_assert_int_ne(count, fd);
    kpage_release(&flags[0]);
    ck_assert_int_eq(flags[0], -1);
    kpage_release(&flags[0]); /* which gives nothing back a second time */
    ck_assert(is_open(fd));
    kpage_release(&flags[1]);
    ck_assert(!is_open(fd));
    ck_assert(is_open(count));
    kpage_release(&count);
    ck_assert_int_eq(count, -1);
}

TEST(tests, it_is_opened_again)
{
    fake.root.live = true;
    for (int i = 0; i < 2; i++) {
        int fd = kpageflags_share(&fake.root, NULL);

        ck_assert(is_open(fd));
        kpage_release(&fd);
    }
}

TEST(tests, a_captured_tree_is_not_mixed_with_another)
{
    int first = kpageflags_share(&fake.root, NULL);
    int second = kpageflags_share(&fake.root, NULL);
    int left = second;

    ck_assert_int_ge(first, 0);
    ck_assert_int_ne(first, second);
    kpage_release(&second);
    ck_assert(!is_open(left));
    ck_assert(is_open(first));
    kpage_release(&first);
}

TEST(tests, what_cannot_be_opened_is_nobodys)
{
    struct error why;

    fake.root.live = true;
    ck_assert_int_eq(unlinkat(fake.root.dirfd, "proc/kpageflags", 0), 0);

    int fd = kpageflags_share(&fake.root, &why);

    ck_assert_int_lt(fd, 0);
    kpage_release(&fd);
    fake_write(&fake, "proc/kpageflags", "");
    fd = kpageflags_share(&fake.root, &why);
    ck_assert(is_open(fd));
    kpage_release(&fd);
}
