// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_owner.c  Owners of guests by their control groups and command lines, as each manager
 * writes them. Where each text comes from stands beside it. */
#include "guest/domain/domain_xml.h"
#include "guest/domain/owner.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define PODS "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
#define POD_SLICE "0b7632a2_a56e_4278_987a_22de18008dbe"
#define POD_UID "0b7632a2-a56e-4278-987a-22de18008dbe"
#define ID64 "849df14c6065931adedb9d18bc9260a6d896f1814a8c5cfa239865772f1b7a5f"

/* Arguments are separated by "|". */
static const struct {
    const char *cgroup, *cmdline;
    const char *manager, *name;
} cases[] = {
    /* kubevirt/user-guide, virt-launcher's processes; kubernetes pkg/kubelet/cm/cgroup_manager.go
     */
    {PODS POD_SLICE ".slice/crio-" ID64 ".scope\n",
     "/usr/libexec/qemu-kvm|-name|guest=default_vmi-ephemeral,debug-threads=on|-S|-object|"
     "{\"qom-type\":\"secret\",\"id\":\"masterKey0\",\"format\":\"raw\",\"file\":\"/var/run/"
     "kubevirt-private/libvirt/qemu/lib/domain-1-default_vmi-ephemera/master-key.aes\"}",
     "kubevirt", "default/vmi-ephemeral"},
    /* the same, of a Guaranteed pod with cgroupfs and version 1 */
    {"12:memory:/kubepods/pod" POD_UID "/" ID64 "\n1:name=systemd:/kubepods/pod" POD_UID "/" ID64
     "\n",
     "/usr/bin/qemu-system-x86_64|-name|guest=prod.a_db-1,debug-threads=on", "kubevirt",
     "prod.a/db-1"},
    /* the reader's own control group namespace hides the path */
    {"0::/../..\n",
     "/usr/libexec/qemu-kvm|-name|guest=ns_vm,debug-threads=on|-object|file=/var/run/"
     "kubevirt-private/libvirt/qemu/lib/x/master-key.aes",
     "kubevirt", "ns/vm"},
    /* in a pod, and not of KubeVirt: the pod */
    {PODS POD_SLICE ".slice/cri-containerd-" ID64 ".scope\n",
     "cloud-hypervisor|--api-socket|/run/x", "kubernetes", POD_UID},
    {"0::/kubepods/burstable/pod" POD_UID "/" ID64 "\n", "qemu-system-x86_64|-name|a_b_c",
     "kubernetes", POD_UID},
    {"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" POD_SLICE
     ".slice/cri-containerd-" ID64 ".scope\n",
     "qemu-system-x86_64|-name|x", "kubernetes", POD_UID},
    /* kata-containers: govmm's command line */
    {"0::/kata_overhead/" ID64 "\n",
     "/opt/kata/bin/qemu-system-x86_64|-name|sandbox-" ID64 ",debug-threads=on|-uuid|"
     "6bec458e-1da7-4847-a5d7-5ab31d4d2465",
     "kata", "849df14c6065"},
    {"0::/kata_overhead/" ID64 "\n",
     "/opt/kata/bin/cloud-hypervisor|--api-socket|/run/vc/vm/" ID64 "/clh-api.sock", "kata",
     "849df14c6065"},
    /* incus internal/server/instance/drivers/driver_qemu.go start(), project.Instance() */
    {"0::/system.slice/incus.service\n",
     "/opt/incus/bin/qemu-system-x86_64|-S|-name|web|-uuid|83a8be7b-f64f-4537-9a3f-8d1af7edaf1c|"
     "-daemonize|-readconfig|/run/incus/shop_floor_web/qemu.conf|-pidfile|"
     "/run/incus/shop_floor_web/qemu.pid|-D|/var/log/incus/shop_floor_web/qemu.log",
     "incus", "shop_floor/web"},
    {"0::/\n", "qemu-system-x86_64|-S|-name|web|-pidfile|/run/incus/web/qemu.pid", "incus", "web"},
    /* LXD as a snap */
    {"0::/system.slice/snap.lxd.daemon.service\n",
     "/snap/lxd/24918/bin/qemu-system-x86_64|-S|-name|juju-lxd|-pidfile|"
     "/var/snap/lxd/common/lxd/logs/juju-lxd/qemu.pid|-runas|lxd",
     "lxd", "juju-lxd"},
    /* proxmox qemu-server src/test/cfg2cmd/simple1.conf.cmd, src/PVE/QemuServer/CGroup.pm */
    {"0::/qemu.slice/8006.scope\n",
     "/usr/bin/kvm|-id|8006|-name|simple,debug-threads=on|-pidfile|/var/run/qemu-server/8006.pid",
     "proxmox", "8006"},
    {"0::/qemu.slice/100.scope\n", "/usr/bin/kvm|-id|100|-name|a,debug-threads=on", "proxmox",
     "100"},
    /* lima pkg/driver/qemu/qemu.go */
    {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n",
     "qemu-system-x86_64|-name|lima-default|-pidfile|/home/me/.lima/default/qemu.pid", "lima",
     "default"},
    /* quickemu 4.9.8 vm_boot() */
    {"0::/user.slice\n",
     "qemu-system-x86_64|-name|fedora-40,process=fedora-40|-pidfile|fedora-40/fedora-40.pid",
     "quickemu", "fedora-40"},
    {"0::/user.slice\n", "qemu-system-x86_64|-name|a,process=a|-pidfile|/run/b.pid", "", ""},
    /* multipass, as a snap */
    {"0::/system.slice/snap.multipass.multipassd.service\n",
     "/snap/multipass/1/usr/bin/qemu-system-x86_64|-drive|file=/var/snap/multipass/common/data/"
     "multipassd/vault/instances/primary/ubuntu-22.04-server-cloudimg-amd64.img,if=none",
     "multipass", "primary"},
    /* libvirt src/util/virsystemd.c virSystemdMakeScopeName() */
    {"0::/machine.slice/machine-qemu\\x2d1\\x2ddebian12\\x2d1.scope/libvirt/emulator\n",
     "/usr/bin/qemu-system-x86_64|-name|guest=debian12-1,debug-threads=on", "libvirt",
     "debian12-1"},
    /* systemd src/vmspawn/vmspawn-scope.c (256); machined's scope */
    {"0::/user.slice/sd-vmspawn-3021-my\\x2dvm.scope\n", "qemu-system-x86_64|-smp|1", "vmspawn",
     "my-vm"},
    /* systemd units/systemd-vmspawn@.service.in: --keep-unit */
    {"0::/machine.slice/system-systemd\\x2dvmspawn.slice/systemd-vmspawn@my\\x2dvm.service\n",
     "qemu-system-x86_64|-smp|1", "vmspawn", "my-vm"},
    {"0::/machine.slice/machine-my\\x2dvm.scope/payload\n", "qemu-system-x86_64", "machined",
     "my-vm"},
    {"0::/machine.slice/fedora.scope\n", "qemu-system-x86_64", "machined", "fedora"},
    /* containers */
    {"0::/machine.slice/libpod-" ID64 ".scope/container\n", "qemu-system-x86_64", "podman",
     "849df14c6065"},
    {"0::/libpod_parent/libpod-" ID64 "\n", "qemu-system-x86_64", "podman", "849df14c6065"},
    {"0::/system.slice/docker-" ID64 ".scope\n", "qemu-system-x86_64", "docker", "849df14c6065"},
    {"4:memory:/docker/" ID64 "\n", "qemu-system-x86_64", "docker", "849df14c6065"},
    {"0::/lxc.payload.c1/init.scope\n", "qemu-system-x86_64|-name|x", "lxc", "c1"},
    /* nobody */
    {"0::/user.slice\n", "qemu-system-x86_64|-name|vm|-pidfile|/run/vm.pid", "", ""},
    {"", "", "", ""},
    {"0::/\n", "|||", "", ""},
    /* hostile */
    {"0::/qemu.slice/../../etc.scope\n", "kvm", "", ""},
    {"0::/qemu.slice/1\033[2J.scope\n", "kvm", "", ""},
    {PODS "/x.slice\n", "kvm|-name|guest=_a", "", ""},
    {"0::/\n",
     "kvm|-name|lima-\xe2\x80\xae"
     "b|-pidfile|/x/qemu.pid",
     "", ""},
    {"0::/machine.slice/machine-\\x.scope\n", "kvm", "machined", "\\x"},
    {"0::/machine.slice/machine-\\x1b.scope\n", "kvm", "", ""},
};

#define N_CASES ((int)COUNT(cases))

static void find(const char *cgroup, const char *cmdline, struct guest_owner *owner)
{
    char bytes[4096];
    const size_t n = strlen(cmdline);

    ck_assert_uint_lt(n, sizeof(bytes));
    memcpy(bytes, cmdline, n + 1);
    for (char *c = bytes; *c; c++)
        if (*c == '|')
            *c = '\0';
    owner_find(&(struct owner_facts){cgroup, bytes, n}, owner);
}

TEST_EACH(plain, owner_by_process, 0, N_CASES)
{
    struct guest_owner owner;

    find(cases[_i].cgroup, cases[_i].cmdline, &owner);
    ck_assert_msg(!strcmp(owner.manager, cases[_i].manager) && !strcmp(owner.name, cases[_i].name),
                  "%s: '%s' '%s'", cases[_i].cmdline, owner.manager, owner.name);
}

TEST(plain, a_name_that_is_too_long_is_none)
{
    char cgroup[600] = "0::/machine.slice/machine-";
    struct guest_owner owner;

    memset(cgroup + strlen(cgroup), 'a', 300);
    strcat(cgroup, ".scope");
    find(cgroup, "kvm", &owner);
    ck_assert_str_eq(owner.manager, "");
}

static void of_xml(const char *name, const char *metadata, struct guest_owner *owner)
{
    char xml[2048];
    struct domain_description description;

    snprintf(xml, sizeof(xml),
             "<domain type='kvm'><name>%s</name><memory>262144</memory><metadata>%s</metadata>"
             "</domain>",
             name, metadata);
    ck_assert_int_eq(domain_xml_parse(xml, strlen(xml), &description, NULL), 0);
    *owner = description.owner;
    domain_description_free(&description);
}

TEST(plain, owner_by_metadata)
{
    struct guest_owner owner;

    of_xml("instance-00000001",
           "<nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.0'>"
           "<nova:package version='18.1.1'/><nova:name>sample-instance-name</nova:name>"
           "<nova:owner><nova:user uuid='u'>admin</nova:user>"
           "<nova:project uuid='p'>tenant-alpha</nova:project></nova:owner></nova:instance>",
           &owner);
    ck_assert_str_eq(owner.manager, "nova");
    ck_assert_str_eq(owner.name, "tenant-alpha/sample-instance-name");
    of_xml("default_testvm", "<kubevirt xmlns='http://kubevirt.io'><uid>d5a1a7ac</uid></kubevirt>",
           &owner);
    ck_assert_str_eq(owner.manager, "kubevirt");
    ck_assert_str_eq(owner.name, "default/testvm");
    of_xml("a0_41",
           "<x:vm xmlns:x='http://example.org'/>"
           "<ovirt-vm:vm xmlns:ovirt-vm='http://ovirt.org/vm/1.0'/>",
           &owner);
    ck_assert_str_eq(owner.manager, "ovirt");
    ck_assert_str_eq(owner.name, "a0_41");
    of_xml("web", "<vm xmlns='http://example.org'/><vm/>", &owner);
    ck_assert_str_eq(owner.manager, "");
}

TEST(plain, metadata_before_process_before_libvirt)
{
    const struct guest_owner none = {0};
    const struct guest_owner nova = {"nova", "p/n"};
    struct guest_owner owner = {"libvirt", "instance-1"};

    owner_of_domain(&nova, "instance-1", &owner);
    ck_assert_str_eq(owner.name, "p/n");
    owner_of_domain(&none, "instance-1", &owner);
    ck_assert_str_eq(owner.manager, "nova");
    owner = none;
    owner_of_domain(&none, "web", &owner);
    ck_assert_str_eq(owner.manager, "libvirt");
    ck_assert_str_eq(owner.name, "web");
}
