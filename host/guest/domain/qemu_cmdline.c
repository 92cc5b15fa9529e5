// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_cmdline.c  See qemu_cmdline.h.
 *
 * The options are read into struct reading, in any order, from the command line and the files that
 * it names; then qemu_blocks.c selects the memory backends that are the guest's RAM.
 */
#include "guest/domain/qemu_cmdline.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "guest/domain/qemu_cmdline_private.h"
#include "guest/domain/qemu_config_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_FILES 16

#define cleanup_option __attribute__((cleanup(qemu_option_close)))

static const char *const accels[] = {
    [ACCEL_UNKNOWN] = "unknown",
    [ACCEL_KVM] = "kvm",
    [ACCEL_TCG] = "tcg",
};
const struct names accel_names = NAMES(accels);

const char *accel_name(enum accel accel)
{
    return accels[accel];
}

/* Takes the first of a colon-separated list, which QEMU tries first. */
static enum accel accel_of(const char *list)
{
    size_t length = strcspn(list, ":");

    if (length == 3 && memcmp(list, "kvm", 3) == 0)
        return ACCEL_KVM;
    if (length == 3 && memcmp(list, "tcg", 3) == 0)
        return ACCEL_TCG;
    return ACCEL_UNKNOWN;
}

static void read_machine(struct reading *r, const struct qemu_option *option)
{
    char accel[64];
    char flash[2];

    qemu_option_get(option, "type", "type", r->out->machine, sizeof(r->out->machine));
    /* a version of Proxmox VE's: "pc-q35-9.2+pve1" */
    r->out->machine[strcspn(r->out->machine, "+")] = '\0';
    reading_merge_size(option, "max-ram-below-4g", 1, &r->out->max_ram_below_4g_bytes);
    r->out->cxl |= qemu_option_is_on(option, "cxl");
    r->out->firmware |= qemu_option_get(option, "type", "pflash0", flash, sizeof(flash)) != 0;
    r->mte |= qemu_option_is_on(option, "mte");
    r->secure |= qemu_option_is_on(option, "secure");
    reading_merge_size(option, "memory.size", 1, &r->machine_memory.size_bytes);
    reading_merge_size(option, "memory.max-size", 1, &r->machine_memory.max_bytes);
    reading_merge_size(option, "memory.slots", 1, &r->machine_memory.slots);
    if (r->machine_memory.size_bytes > RAM_CONFIG_MAX_BYTES)
        error_set(&r->error, -EINVAL, "QEMU option -machine memory.size: not a memory size");
    if (!r->accel_option && qemu_option_get(option, "type", "accel", accel, sizeof(accel)) == 1)
        r->out->accel = accel_of(accel);
    if (qemu_option_get(option, "type", "memory-backend", r->machine_backend,
                        sizeof(r->machine_backend)) < 0)
        error_set(&r->error, -EINVAL, "QEMU option -machine: the memory-backend's id is too long");
}

static void read_accel(struct reading *r, const struct qemu_option *option)
{
    char accel[64];

    if (!r->accel_option && qemu_option_get(option, "accel", "accel", accel, sizeof(accel)) == 1)
        r->out->accel = accel_of(accel);
    r->accel_option = true; /* among several -accel QEMU tries the first one first */
}

static void read_enable_kvm(struct reading *r, const struct qemu_option *option)
{
    (void)option;
    if (!r->accel_option)
        r->out->accel = ACCEL_KVM;
}

static void read_cpu(struct reading *r, const struct qemu_option *option)
{
    qemu_option_get(option, "model", "vendor", r->out->cpu_vendor, sizeof(r->out->cpu_vendor));
}

static void read_global(struct reading *r, const struct qemu_option *option)
{
    static const char *const names[] = {"q35-pcihost.pci-hole64-size",
                                        "i440FX-pcihost.pci-hole64-size"};
    char property[32];
    uint64_t bytes = 0;

    if (qemu_option_get(option, NULL, "property", property, sizeof(property)) == 1 &&
        strcmp(property, "pci-hole64-size") == 0)
        bytes = reading_size(option, "value", 1);
    reading_add_global_graphics(r, option);
    for (size_t i = 0; bytes == 0 && i < COUNT(names); i++)
        bytes = reading_size(option, names[i], 1);
    if (bytes > 0)
        r->out->pci_hole64_bytes = bytes;
}

static void read_firmware(struct reading *r, const struct qemu_option *option)
{
    (void)option;
    r->out->firmware = true;
}

static void read_drive(struct reading *r, const struct qemu_option *option)
{
    char interface[16];

    if (qemu_option_get(option, NULL, "if", interface, sizeof(interface)) == 1)
        r->out->firmware |= strcmp(interface, "pflash") == 0;
}

static void read_mem_path(struct reading *r, const struct qemu_option *option)
{
    r->mem_path = true;
    snprintf(r->path, sizeof(r->path), "%s", option->text);
}

static void read_overcommit(struct reading *r, const struct qemu_option *option)
{
    char lock[16];

    if (qemu_option_get(option, NULL, "mem-lock", lock, sizeof(lock)) == 1)
        r->out->ram.locked = strcmp(lock, "off") != 0; /* "on", since QEMU 9.2 also "on-fault" */
}

static void read_name(struct reading *r, const struct qemu_option *option)
{
    qemu_option_get(option, "guest", "guest", r->out->name, sizeof(r->out->name));
}

static void read_uuid(struct reading *r, const struct qemu_option *option)
{
    snprintf(r->out->uuid, sizeof(r->out->uuid), "%s", option->text);
}

/* Reads the UUID that the guest sees; with Proxmox VE it is the only one. -uuid takes precedence,
 * wherever it stands. */
static void read_smbios(struct reading *r, const struct qemu_option *option)
{
    char type[8];
    char uuid[sizeof(r->smbios_uuid)];

    if (qemu_option_get(option, NULL, "type", type, sizeof(type)) == 1 && !strcmp(type, "1") &&
        qemu_option_get(option, NULL, "uuid", uuid, sizeof(uuid)) == 1)
        memcpy(r->smbios_uuid, uuid, sizeof(uuid));
}

static void read_run_with(struct reading *r, const struct qemu_option *option)
{
    char directory[8];

    if (qemu_option_get(option, NULL, "chroot", directory, sizeof(directory)) != 0)
        r->marks |= QEMU_MOVED_ROOT;
}

static void read_readconfig(struct reading *r, const struct qemu_option *option);

struct reader {
    const char *name;
    /* NULL: the option is known for its argument, which may look like an option, or for .marks */
    void (*read)(struct reading *r, const struct qemu_option *option);
    void (*monitor)(struct qemu_monitors *monitors, const struct qemu_option *option);
    unsigned marks; /* what the option says by standing there */
    bool has_argument;
    bool raw; /* the argument is one text, even if it begins with '{' */
    /* it is needed before any other option is read, wherever it stands */
    bool early;
};

static const struct reader readers[] = {
    {"m", .has_argument = true, .read = read_memory},
    {"machine", .has_argument = true, .read = read_machine},
    {"M", .has_argument = true, .read = read_machine},
    {"accel", .has_argument = true, .read = read_accel},
    {"cpu", .has_argument = true, .read = read_cpu},
    {"global", .has_argument = true, .read = read_global},
    {"enable-kvm", .raw = true, .read = read_enable_kvm},
    {"object", .has_argument = true, .read = read_object},
    {"numa", .has_argument = true, .read = read_numa},
    {"device", .has_argument = true, .read = read_device},
    {"nodefaults", .raw = true, .marks = MARK_NO_GRAPHICS},
    {"vga", .has_argument = true, .raw = true, .read = read_vga, .marks = MARK_NO_GRAPHICS},
    {"set", .has_argument = true, .raw = true, .read = read_set},
    {"mem-path", .has_argument = true, .raw = true, .read = read_mem_path},
    {"bios", .has_argument = true, .raw = true, .read = read_firmware},
    {"pflash", .has_argument = true, .raw = true, .read = read_firmware},
    {"drive", .has_argument = true, .read = read_drive},
    {"overcommit", .has_argument = true, .read = read_overcommit},
    {"name", .has_argument = true, .raw = true, .read = read_name},
    {"uuid", .has_argument = true, .raw = true, .read = read_uuid},
    {"smbios", .has_argument = true, .read = read_smbios},
    {"qmp", .has_argument = true, .raw = true, .monitor = qemu_monitors_add_qmp},
    {"qmp-pretty", .has_argument = true, .raw = true, .monitor = qemu_monitors_add_qmp},
    {"chardev", .has_argument = true, .monitor = qemu_monitors_add_chardev},
    {"mon", .has_argument = true, .monitor = qemu_monitors_add_mon},
    {"append", .has_argument = true, .raw = true},
    {"incoming", .has_argument = true, .raw = true, .marks = MARK_INCOMING},
    {"readconfig", .has_argument = true, .raw = true, .read = read_readconfig},
    {"no-user-config", .raw = true, .early = true, .marks = MARK_NO_USER_CONFIG},
    {"nodefconfig", .raw = true, .early = true, .marks = MARK_NO_USER_CONFIG},
    {"daemonize", .raw = true, .early = true, .marks = QEMU_MOVED_DIRECTORY},
    {"chroot", .has_argument = true, .raw = true, .early = true, .marks = QEMU_MOVED_ROOT},
    {"run-with", .has_argument = true, .early = true, .read = read_run_with},
};

/* In any syntax of -netdev, -device and -object. */
#define VHOST_USER "vhost-user"

static const struct reader *reader_by_name(const char *name)
{
    for (size_t i = 0; i < COUNT(readers); i++)
        if (strcmp(name, readers[i].name) == 0)
            return &readers[i];
    return NULL;
}

/* The reader for argument "-x" or "--x", NULL for any other. */
static const struct reader *reader_for(const char *argument)
{
    if (argument[0] != '-')
        return NULL;
    return reader_by_name(argument + (argument[1] == '-' ? 2 : 1));
}

static void read_one(struct reading *r, const struct reader *reader, const char *argument)
{
    cleanup_option struct qemu_option option = {.text = argument};

    if (!reader->raw && qemu_option_open(&option, argument) < 0) {
        error_set(&r->error, -EINVAL, "QEMU option -%s: malformed JSON: %.200s", reader->name,
                  argument);
        return;
    }
    r->marks |= reader->marks;
    if (reader->read)
        reader->read(r, &option);
    if (reader->monitor)
        reader->monitor(&r->monitors, &option);
}

/* Moves the error of an option to @p error; returns its code. */
static int take_error(struct reading *r, struct error *error)
{
    const struct error found = r->error;

    r->error = (struct error){0};
    return found.code ? error_set(error, found.code, "%s", found.text) : 0;
}

/* --- files ------------------------------------------------------------------------------------ */

/* A section of a file is an option of the same name, but for -m. */
static int read_section(const char *group, const char *argument, void *context, struct error *error)
{
    struct reading *r = context;
    const struct reader *reader = reader_by_name(strcmp(group, "memory") == 0 ? "m" : group);

    r->from_file = true;
    if (reader && reader->has_argument && reader->read != read_readconfig)
        read_one(r, reader, argument);
    return take_error(r, error);
}

/* A file that cannot be read makes the RAM unknown, as it may name it. */
static void read_file(struct reading *r, const char *path, bool optional)
{
    cleanup_free char *text = NULL;
    struct error why = {0};
    ssize_t n = -ENOSYS;
    int rc = 0;

    if (r->n_files++ == MAX_FILES)
        n = error_set(&why, -E2BIG, "more than %d files", MAX_FILES);
    else if (!r->files || !r->files->read)
        error_set(&why, -ENOSYS, "it is not known here");
    else
        n = r->files->read(r->files->context, path,
                           r->marks & (QEMU_MOVED_DIRECTORY | QEMU_MOVED_ROOT), &text, &why);
    if (n == -ENOENT && optional)
        return;
    if (n >= 0)
        rc = qemu_config_text_walk(text, (size_t)n, read_section, r, &why);
    if (n < 0 || rc < 0)
        reading_set_unknown(r,
                            "its options are also in the file %.100s (-readconfig): %.130s; "
                            "start it anew, with a file that stays",
                            path, why.text);
}

static void read_readconfig(struct reading *r, const struct qemu_option *option)
{
    read_file(r, option->text, false);
}

/* --- all -------------------------------------------------------------------------------------- */

/* Only options with a reader have an argument that may begin with '-'. So every other argument that
 * begins with '-' is an option, and this file needs no list of the many options that it does not
 * know. */
static void read_options(struct reading *r, const char *cmdline, size_t length, bool early)
{
    const char *end = cmdline + length;
    const char *at = cmdline + strnlen(cmdline, length) + 1; /* behind argv[0] */

    while (at < end && !r->error.code) {
        const struct reader *reader = reader_for(at);

        at += strlen(at) + 1;
        if (!reader || (reader->has_argument && at >= end))
            continue;

        if (reader->early == early)
            read_one(r, reader, reader->has_argument ? at : "");
        if (reader->has_argument)
            at += strlen(at) + 1;
    }
}

/* In QEMU's order (softmmu/vl.c qemu_init()): the administrator's file, unless switched off, comes
 * before all other options. */
static int read_all(struct reading *r, const char *cmdline, size_t length, struct error *error)
{
    read_options(r, cmdline, length, true);
    if (!r->error.code && !(r->marks & MARK_NO_USER_CONFIG) && r->files && r->files->read)
        read_file(r, QEMU_USER_CONFIG, true);
    read_options(r, cmdline, length, false);
    return take_error(r, error);
}

static void find_monitor(struct reading *r)
{
    const struct qemu_chardev *found = qemu_monitors_find(&r->monitors);

    r->out->qmp_unreachable = found ? found->unreachable : "there is none";
    if (found && !found->unreachable)
        memcpy(r->out->qmp_path, found->path, sizeof(r->out->qmp_path));
}

int qemu_cmdline_parse(const char *cmdline, size_t length, const struct qemu_files *files,
                       struct qemu_cmdline *out, struct error *error)
{
    cleanup_free struct reading *r = calloc(1, sizeof(*r));
    cleanup_free char *copy = malloc(length + 1); /* makes sure that it ends with a NUL */

    if (!r || !copy)
        return error_set(error, -ENOMEM, "QEMU command line: out of memory");
    if (length == 0)
        return error_set(error, -EINVAL, "QEMU command line: empty");
    memcpy(copy, cmdline, length);
    copy[length] = '\0';
    memset(out, 0, sizeof(*out));
    r->out = out;
    r->files = files;

    int rc = read_all(r, copy, length, error);

    if (!*out->uuid)
        memcpy(out->uuid, r->smbios_uuid, sizeof(out->uuid));
    out->incoming = r->marks & MARK_INCOMING;
    out->vhost_user = memmem(cmdline, length, VHOST_USER, strlen(VHOST_USER));
    find_monitor(r);
    if (rc == 0)
        rc = reading_select_blocks(r, error);
    if (rc < 0)
        qemu_cmdline_free(out);
    return rc;
}

void qemu_cmdline_free(struct qemu_cmdline *cmdline)
{
    ram_config_free(&cmdline->ram);
}
