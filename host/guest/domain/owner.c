// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/owner.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_CGROUP_BYTES (64UL << 10)
#define MAX_CMDLINE_BYTES (8UL << 20)

/* The text in which a clue is searched for. */
enum place {
    CGROUP,
    NAME,     /* value of -name: the name alone */
    NAMES,    /* value of -name: all of it */
    PIDFILE,  /* value of -pidfile */
    ARGUMENT, /* each argument */
    N_PLACES
};

/* "^" at the beginning: only at the beginning of the text; "$" at the end: only at its end. */
struct clue {
    enum place place;
    const char *before, *after; /* of the name; after "": it ends at a slash or with the text */
};

/* Turns the text that was found into a name. Returns false if it is not one of this manager. */
typedef bool form(char text[OWNER_NAME_BYTES]);

/* --- forms of names --------------------------------------------------------------------------- */

static bool has_only(const char *text, const char *allowed)
{
    return *text && strspn(text, allowed) == strlen(text);
}

#define DIGITS "0123456789"
#define HEX DIGITS "abcdef"
#define DNS DIGITS "abcdefghijklmnopqrstuvwxyz.-"

static bool any(char text[OWNER_NAME_BYTES])
{
    return *text;
}

static bool number(char text[OWNER_NAME_BYTES])
{
    return has_only(text, DIGITS);
}

/* The id of a container: 64 hexadecimal digits, of which its programs show 12. */
static bool container(char text[OWNER_NAME_BYTES])
{
    if (strlen(text) != 64 || !has_only(text, HEX))
        return false;
    text[12] = '\0';
    return true;
}

/* Neither a namespace nor a name has an underscore (RFC 1123). */
bool owner_namespaced(char text[OWNER_NAME_BYTES])
{
    char *underscore = strchr(text, '_');

    if (!underscore || underscore == text || !has_only(underscore + 1, DNS))
        return false;
    *underscore = '\0';

    bool is_namespace = has_only(text, DNS);

    *underscore = '/';
    return is_namespace;
}

static bool namespaced(char text[OWNER_NAME_BYTES])
{
    return owner_namespaced(text);
}

/* PROJECT_INSTANCE, or an instance of the project "default"; only a project's name may have an
 * underscore itself. */
static bool project(char text[OWNER_NAME_BYTES])
{
    char *underscore = strrchr(text, '_');

    if (underscore && (underscore == text || !underscore[1]))
        return false;
    if (underscore)
        *underscore = '/';
    return *text;
}

/* A pod's UID, whose dashes are underscores in the name of a slice. */
static bool pod(char text[OWNER_NAME_BYTES])
{
    for (char *c = text; *c; c++)
        if (*c == '_')
            *c = '-';
    return strlen(text) >= 32 && has_only(text, HEX "-");
}

/* A unit's name: "\x2d" is "-" (systemd.unit(5)). */
static bool unit(char text[OWNER_NAME_BYTES])
{
    char *to = text;
    unsigned byte;

    for (const char *from = text; *from; to++) {
        const bool escaped = from[0] == '\\' && from[1] == 'x' &&
                             isxdigit((unsigned char)from[2]) && isxdigit((unsigned char)from[3]);

        if (escaped && sscanf(from + 2, "%2x", &byte) == 1)
            *to = (char)byte;
        else
            *to = *from;
        from += escaped ? 4 : 1;
    }
    *to = '\0';
    return *text;
}

/* RANDOM-NAME */
static bool after_number(char text[OWNER_NAME_BYTES])
{
    const size_t digits = strspn(text, DIGITS);

    if (!digits || text[digits] != '-')
        return false;
    memmove(text, text + digits + 1, strlen(text + digits));
    return unit(text);
}

/* --- managers --------------------------------------------------------------------------------- */

/* Where each fact was read: host/guest/README.md. */
static const struct manager {
    const char *name;
    struct clue proof; /* its "after" is not used */
    struct clue owner;
    form *form; /* NULL: any text that is also the value of -name */
} managers[] = {
    {"kubevirt", {CGROUP, "kubepods", ""}, {NAME, "^", "$"}, namespaced},
    {"kubevirt", {ARGUMENT, "/kubevirt-private/", ""}, {NAME, "^", "$"}, namespaced},
    {"kata", {NAME, "^sandbox-", ""}, {NAME, "^sandbox-", "$"}, container},
    {"kata", {CGROUP, "/kata_overhead/", ""}, {CGROUP, "/kata_overhead/", ""}, container},
    {"incus", {PIDFILE, "/incus/", ""}, {PIDFILE, "/incus/", "/qemu.pid$"}, project},
    {"lxd", {PIDFILE, "/lxd/", ""}, {PIDFILE, "/lxd/logs/", "/qemu.pid$"}, project},
    {"lxd", {PIDFILE, "/lxd/", ""}, {PIDFILE, "/lxd/", "/qemu.pid$"}, project},
    {"proxmox", {PIDFILE, "/qemu-server/", ""}, {PIDFILE, "/qemu-server/", ".pid$"}, number},
    {"proxmox", {CGROUP, "/qemu.slice/", ""}, {CGROUP, "/qemu.slice/", ".scope"}, number},
    {"multipass", {ARGUMENT, "multipassd/", ""}, {ARGUMENT, "/vault/instances/", ""}, any},
    {"lima", {PIDFILE, "/qemu.pid", ""}, {NAME, "^lima-", "$"}, any},
    {"quickemu", {NAMES, ",process=", ""}, {PIDFILE, "/", ".pid$"}, NULL},
    {"libvirt", {CGROUP, "machine-qemu\\x2d", ""}, {NAME, "^", "$"}, any},
    {"libvirt", {ARGUMENT, "/master-key.aes", ""}, {NAME, "^", "$"}, any},
    {"kubernetes", {CGROUP, "kubepods", ""}, {CGROUP, "-pod", ".slice"}, pod},
    {"kubernetes", {CGROUP, "kubepods", ""}, {CGROUP, "/pod", ""}, pod},
    {"vmspawn", {CGROUP, "/sd-vmspawn-", ""}, {CGROUP, "/sd-vmspawn-", ".scope"}, after_number},
    {"vmspawn", {CGROUP, "/systemd-vmspawn@", ""}, {CGROUP, "/systemd-vmspawn@", ".service"}, unit},
    {"docker", {CGROUP, "docker", ""}, {CGROUP, "/docker-", ".scope"}, container},
    {"docker", {CGROUP, "docker", ""}, {CGROUP, "/docker/", ""}, container},
    {"podman", {CGROUP, "libpod-", ""}, {CGROUP, "/libpod-", ".scope"}, container},
    {"podman", {CGROUP, "libpod-", ""}, {CGROUP, "/libpod-", ""}, container},
    {"machined", {CGROUP, "/machine.slice/", ""}, {CGROUP, "/machine-", ".scope"}, unit},
    {"machined", {CGROUP, "/machine.slice/", ""}, {CGROUP, "/machine.slice/", ".scope"}, unit},
    {"lxc", {CGROUP, "lxc.payload.", ""}, {CGROUP, "/lxc.payload.", ""}, any},
};

/* --- searching -------------------------------------------------------------------------------- */

struct text {
    const char *at;
    size_t bytes;
};

static const char *argument_end(const struct owner_facts *facts, const char *argument)
{
    const char *nul = memchr(argument, '\0',
                             (size_t)(facts->cmdline + facts->cmdline_bytes - argument));

    return nul ? nul : facts->cmdline + facts->cmdline_bytes;
}

/* The value of the last option of that name: QEMU takes the last one, too. */
static struct text option_value(const struct owner_facts *facts, const char *option)
{
    const char *end = facts->cmdline + facts->cmdline_bytes;
    struct text value = {"", 0};
    bool is_next = false;

    for (const char *at = facts->cmdline; at < end; at = argument_end(facts, at) + 1) {
        const size_t bytes = (size_t)(argument_end(facts, at) - at);
        const size_t dashes = bytes > 1 && at[0] == '-' ? 1 + (at[1] == '-') : 0;

        if (is_next)
            value = (struct text){at, bytes};
        is_next = !is_next && dashes && bytes - dashes == strlen(option) &&
                  memcmp(at + dashes, option, strlen(option)) == 0;
    }
    return value;
}

static struct text cut_at(struct text text, char c)
{
    const char *found = memchr(text.at, c, text.bytes);

    if (found)
        text.bytes = (size_t)(found - text.at);
    return text;
}

/* "guest=web,debug-threads=on", "web,process=web" */
static struct text name_alone(struct text names)
{
    static const char key[] = "guest=";
    struct text name = cut_at(names, ',');

    if (name.bytes < sizeof(key) - 1 || memcmp(name.at, key, sizeof(key) - 1) != 0)
        return name;
    return (struct text){name.at + sizeof(key) - 1, name.bytes - (sizeof(key) - 1)};
}

static struct text text_of(const struct owner_facts *facts, enum place place)
{
    switch (place) {
    case CGROUP:
        return (struct text){facts->cgroup, strlen(facts->cgroup)};
    case NAME:
        return name_alone(option_value(facts, "name"));
    case NAMES:
        return option_value(facts, "name");
    case PIDFILE:
        return option_value(facts, "pidfile");
    default:
        return (struct text){facts->cmdline, facts->cmdline_bytes};
    }
}

/* A name in a path ends at a slash; a name in a list of groups or of arguments ends with its line.
 */
static bool ends_name(char c)
{
    return c == '/' || c == '\n' || c == '\0';
}

/* True if @p after follows the name that begins at @p from and has @p bytes. */
static bool is_followed(struct text text, size_t from, size_t bytes, const char *after)
{
    size_t length = strlen(after);
    const bool at_end = length && after[length - 1] == '$';
    const size_t end = from + bytes;

    length -= at_end;
    if (!*after)
        return end == text.bytes || ends_name(text.at[end]);
    return text.bytes - end >= length && memcmp(text.at + end, after, length) == 0 &&
           (!at_end || end + length == text.bytes);
}

static bool take_name(struct text text, size_t from, const char *after, char name[OWNER_NAME_BYTES])
{
    for (size_t bytes = 0; bytes < OWNER_NAME_BYTES - 1; bytes++) {
        if (bytes && is_followed(text, from, bytes, after)) {
            memcpy(name, text.at + from, bytes);
            name[bytes] = '\0';
            return utf8_is_printable(name);
        }
        if (from + bytes >= text.bytes || ends_name(text.at[from + bytes]))
            return false;
    }
    return false;
}

/* Copies the name to @p name; NULL: only searches for the text before it. */
static bool find_clue(const struct owner_facts *facts, const struct clue *clue, char *name)
{
    const struct text text = text_of(facts, clue->place);
    const bool at_begin = *clue->before == '^';
    const char *before = clue->before + at_begin;
    const size_t length = strlen(before);

    for (size_t at = 0; text.bytes - at >= length && (at == 0 || !at_begin); at++) {
        const char *found = length ? memmem(text.at + at, text.bytes - at, before, length)
                                   : text.at + at;

        if (!found || (at_begin && found != text.at))
            return false;
        at = (size_t)(found - text.at);
        if (!name || take_name(text, at + length, clue->after, name))
            return true;
    }
    return false;
}

static bool has_form(const struct manager *manager, const struct owner_facts *facts,
                     char text[OWNER_NAME_BYTES])
{
    const struct text name = text_of(facts, NAME);

    if (manager->form)
        return manager->form(text);
    return strlen(text) == name.bytes && memcmp(text, name.at, name.bytes) == 0;
}

bool owner_set(struct guest_owner *out, const char *manager, const char *name)
{
    if (!*manager || !*name || strlen(manager) >= sizeof(out->manager) ||
        strlen(name) >= sizeof(out->name) || !utf8_is_printable(name))
        return false;
    strcpy(out->manager, manager);
    strcpy(out->name, name);
    return true;
}

void owner_of_domain(const struct guest_owner *metadata, const char *name,
                     struct guest_owner *of_process)
{
    if (*metadata->manager)
        *of_process = *metadata;
    else if (!*of_process->manager)
        owner_set(of_process, "libvirt", name);
}

void owner_find(const struct owner_facts *facts, struct guest_owner *out)
{
    char name[OWNER_NAME_BYTES];

    *out = (struct guest_owner){0};
    for (size_t i = 0; i < COUNT(managers); i++) {
        const struct manager *manager = &managers[i];

        if (find_clue(facts, &manager->proof, NULL) && find_clue(facts, &manager->owner, name) &&
            has_form(manager, facts, name) && owner_set(out, manager->name, name))
            return;
    }
}

void owner_read(const struct fsroot *root, pid_t pid, struct guest_owner *out)
{
    cleanup_free char *cgroup = NULL;
    cleanup_free char *cmdline = NULL;
    ssize_t n = fsroot_read_all(root, &cgroup, MAX_CGROUP_BYTES, "proc/%d/cgroup", (int)pid);
    ssize_t m = fsroot_read_all(root, &cmdline, MAX_CMDLINE_BYTES, "proc/%d/cmdline", (int)pid);
    const struct owner_facts facts = {n > 0 ? cgroup : "", m > 0 ? cmdline : "",
                                      m > 0 ? (size_t)m : 0};

    owner_find(&facts, out);
}
