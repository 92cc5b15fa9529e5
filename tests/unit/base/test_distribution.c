// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_distribution.c  Where each distribution has a kernel that measures. */
#include "base/distribution.h"

#include "fixture.h"

#include <string.h>
#include <sys/stat.h>

static const char *dir;
static struct fsroot root;
static char text[DISTRIBUTION_TEXT];

static void setup(void)
{
    dir = unit_dir();

    const char *path = TEXT_OF(64, "%s/etc", dir);

    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert_int_eq(fsroot_open(&root, dir), 0);
}

static void teardown(void)
{
    fsroot_close(&root);
}

static const char *remedy(const char *os_release)
{
    FILE *file;
    const char *path = TEXT_OF(64, "%s/etc/os-release", dir);

    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(os_release, file);
    fclose(file);
    return distribution_remedy(&root, text);
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST(cases, those_that_are_known)
{
    static const struct {
        const char *os_release, *begins, *has;
    } all[] = {
        {"PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian\"\nID=debian\n",
         "Debian GNU/Linux 12 (bookworm): no kernel of Debian has page_idle", "linux-image-6.12"},
        {"ID=ubuntu\nID_LIKE=debian\nPRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\n",
         "Ubuntu 24.04.1 LTS: its generic kernels have page_idle", "linux-generic"},
        {"NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nPRETTY_NAME='Rocky "
         "Linux 9.4'\n",
         "Rocky Linux 9.4: its own kernels have page_idle", "dnf install kernel"},
        {"ID=fedora\n", "fedora: no kernel of Fedora", "zap"},
        {"ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\nPRETTY_NAME=\"openSUSE Leap 15.6\"",
         "openSUSE Leap 15.6: no kernel of SUSE", "zap"},
    };

    for (size_t i = 0; i < COUNT(all); i++) {
        ck_assert_msg(strncmp(remedy(all[i].os_release), all[i].begins, strlen(all[i].begins)) == 0,
                      "%s", text);
        ck_assert_ptr_nonnull(strstr(text, all[i].has));
        ck_assert_uint_lt(strlen(text), DISTRIBUTION_TEXT - 1);
    }
}

TEST(cases, those_that_are_not)
{
    ck_assert_str_eq(distribution_remedy(&root, text), ""); /* no such file */
    ck_assert_str_eq(remedy(""), "");
    ck_assert_str_eq(remedy("ID=nixos\nID_LIKE=\"\"\n"), "");
    ck_assert_str_eq(remedy("XID=debian\nID_LIKE=debianish\nBUILD_ID=debian\n"), "");
    ck_assert_str_eq(remedy("ID=deb\n"), "");
    ck_assert_ptr_null(strchr(remedy("ID=fedora\nPRETTY_NAME=\"a\033[2Jb\"\n"), '\033'));
}
