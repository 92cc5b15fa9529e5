// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_denial.c  Which denials of AppArmor and SELinux doctor names, and the remedy. */
#include "programs/vmwss/denial.h"

#include "fake_kernel.h"
#include "fixture.h"

#include <string.h>

#define KMSG "4,812,90511,-;audit: type=1400 audit(1764400000.123:45): "
#define GUEST \
    "apparmor=\"DENIED\" operation=\"ptrace\" class=\"ptrace\" profile=\"libvirt-1111\" pid=99 "
#define MASK \
    "comm=\"vmwssd-scanner\" requested_mask=\"readby\" denied_mask=\"readby\" peer=\"vmwssd\"\n"
#define FILE_DENIED                                                             \
    "apparmor=\"DENIED\" operation=\"open\" class=\"file\" profile=\"vmwssd\" " \
    "name=\"/srv/history.db\" pid=7 comm=\"vmwssd\" requested_mask=\"r\" denied_mask=\"r\"\n"
#define AVC                                                                  \
    "type=AVC msg=audit(1764400000.5:9): avc:  denied  { read } for  pid=7 " \
    "comm=\"vmwssd-scanner\" scontext=system_u:system_r:vmwssd_t:s0 tclass=file permissive="

static struct fake_kernel fake;
static char text[DENIAL_TEXT];

static void setup(void)
{
    fake_kernel_make(&fake, 1);
}

FIXTURE(cases, .setup = setup);

static unsigned found(const char *kernel, const char *audit)
{
    fake_write(&fake, "dev/kmsg", kernel);
    fake_write(&fake, "var/log/audit/audit.log", audit);
    return denial_find(&fake.root, text);
}

TEST(cases, no_log)
{
    ck_assert_uint_eq(denial_find(&fake.root, text), 0);
}

TEST(cases, denials_of_others)
{
    ck_assert_uint_eq(found(KMSG "apparmor=\"DENIED\" operation=\"open\" profile=\"cupsd\" "
                                 "name=\"/x\" peer=\"y\"\n6,813,1,-;a line of the kernel\n",
                            AVC "1\n"),
                      0);
    ck_assert_uint_eq(found(KMSG "apparmor=\"ALLOWED\" operation=\"open\" profile=\"vmwssd\"\n",
                            "apparmor=\"DENIED\" operation=\"open\" profile=\"cut off"),
                      0);
}

TEST(cases, the_profile_of_a_guest)
{
    ck_assert_uint_eq(found(KMSG GUEST MASK KMSG GUEST MASK KMSG FILE_DENIED, ""), 3);
    ck_assert_ptr_nonnull(strstr(text, "profile libvirt-1111 denies that vmwssd reads the guest"));
    ck_assert_ptr_nonnull(strstr(text, "/etc/apparmor.d/local/abstractions/libvirt-qemu"));
}

TEST(cases, our_own_profile)
{
    ck_assert_uint_eq(found("", "type=AVC msg=audit(1:2): " FILE_DENIED), 1);
    ck_assert_ptr_nonnull(strstr(text, "profile vmwssd denies open of /srv/history.db"));
    ck_assert_ptr_nonnull(strstr(text, "/etc/apparmor.d/local/vmwssd"));
}

TEST(cases, selinux)
{
    ck_assert_uint_eq(found("", AVC "0\n"), 1);
    ck_assert_ptr_nonnull(strstr(text, "ausearch -m AVC -c vmwssd-scanner"));
}
