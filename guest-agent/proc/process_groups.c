// SPDX-License-Identifier: LGPL-2.1-or-later
#include "proc/process_groups.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fsroot.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* --- names of users --------------------------------------------------------------------------- */

/* Names of users, from /etc/passwd only: a static program cannot use the name service
 * (nsswitch.conf), whose modules are shared objects. Users known only elsewhere (LDAP, another
 * container) are shown as numbers. */

#define USER_NAME_MAX 64

struct user {
    uid_t uid;
    char name[USER_NAME_MAX]; /* printable UTF-8 */
};

struct users {
    struct user *user;
    size_t n;
};

static FILE *open_passwd(const struct fsroot *root)
{
    int fd = fsroot_openf(root, O_RDONLY, "etc/passwd");
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;

    if (!file && fd >= 0)
        close(fd);
    return file;
}

static int append_user(struct users *users, const struct passwd *entry)
{
    struct user *grown = array_grow(users->user, users->n, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    users->user = grown;

    struct user *user = &users->user[users->n++];

    user->uid = entry->pw_uid;
    snprintf(user->name, sizeof(user->name), "%s", entry->pw_name);
    utf8_printable(user->name);
    return 0;
}

static void users_free(struct users *users)
{
    free(users->user);
    *users = (struct users){0};
}

/* Reads all users; none if the file does not exist. 0, then call users_free(); or -ENOMEM. */
static int users_read(const struct fsroot *root, struct users *users)
{
    cleanup_file FILE *file = open_passwd(root);
    int rc = 0;

    *users = (struct users){0};
    while (file && rc == 0) {
        const struct passwd *entry = fgetpwent(file);

        if (!entry)
            break;
        rc = append_user(users, entry);
    }
    if (rc < 0)
        users_free(users);
    return rc;
}

/* Writes the user's name, or the number, to @p name and returns it. */
static char *users_name(const struct users *users, uid_t uid, char name[USER_NAME_MAX])
{
    snprintf(name, USER_NAME_MAX, "%u", (unsigned)uid);
    for (size_t i = 0; i < users->n; i++)
        if (users->user[i].uid == uid) {
            snprintf(name, USER_NAME_MAX, "%s", users->user[i].name);
            break;
        }
    return name;
}

_Static_assert(USER_NAME_MAX <= PROCESS_NAME_MAX, "a user's name fits into a group's");

#define STATUS_MAX ((size_t)1 << 20)

/* A process, and its group. */
struct member {
    char group[PROCESS_NAME_MAX];
    const struct process *process;
};

/* Finds the process's user; the process may have ended since it was read. */
static void user_of(const struct fsroot *root, pid_t pid, const struct users *users,
                    char name[PROCESS_NAME_MAX])
{
    cleanup_free char *text = NULL; /* the file lists up to 65536 groups */
    unsigned effective;
    const char *line = NULL;

    if (fsroot_read_all(root, &text, STATUS_MAX, "proc/%d/status", (int)pid) > 0)
        line = strstr(text, "\nUid:");
    if (line && sscanf(line, "\nUid: %*u %u", &effective) == 1)
        users_name(users, effective, name);
    else
        strcpy(name, "(ended)");
}

static int by_group(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->group, ((const struct member *)b)->group);
}

static struct member *members_of(const struct fsroot *root, const struct processes *processes,
                                 enum process_grouping by, const struct users *users)
{
    struct member *member = calloc(processes->n + 1, sizeof(*member));

    for (size_t i = 0; member && i < processes->n; i++) {
        const struct process *process = &processes->process[i];

        member[i].process = process;
        if (by == GROUP_USER)
            user_of(root, process->pid, users, member[i].group);
        else
            strcpy(member[i].group, process->name);
    }
    if (member && processes->n > 0)
        qsort(member, processes->n, sizeof(*member), by_group);
    return member;
}

static void add_process(struct process_group *group, const struct process *process,
                        enum process_key key)
{
    group->n++;
    group->unread += process->memory.pss_bytes == KEYED_UNKNOWN && !process->counted;
    group->rank += process_rank(process, key);
    process_memory_add(&group->memory, &process->memory);
}

static void begin_group(struct process_groups *groups, const char *name)
{
    struct process_group *group = &groups->group[groups->n++];

    *group = (struct process_group){.memory = PROCESS_MEMORY_UNKNOWN};
    strcpy(group->name, name);
}

static int by_rank(const void *a, const void *b)
{
    const struct process_group *x = a;
    const struct process_group *y = b;

    return x->rank == y->rank ? strcmp(x->name, y->name)
                              : (x->rank < y->rank) - (x->rank > y->rank);
}

/* Members of a group are adjacent. */
static void sum_up(const struct member *member, size_t n, enum process_key key,
                   struct process_groups *groups)
{
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || by_group(&member[i], &member[i - 1]) != 0)
            begin_group(groups, member[i].group);
        add_process(&groups->group[groups->n - 1], member[i].process, key);
    }
    if (groups->n > 0)
        qsort(groups->group, groups->n, sizeof(*groups->group), by_rank);
}

int process_groups_make(const struct fsroot *root, const struct processes *processes,
                        enum process_grouping by, enum process_key key,
                        struct process_groups *groups)
{
    cleanup_free struct member *member = NULL;
    struct users users = {0};

    *groups = (struct process_groups){.group = calloc(processes->n + 1, sizeof(*groups->group))};
    if (groups->group && (by != GROUP_USER || users_read(root, &users) == 0))
        member = members_of(root, processes, by, &users);
    users_free(&users);
    if (!member) {
        process_groups_free(groups);
        return -ENOMEM;
    }
    sum_up(member, processes->n, key, groups);
    return 0;
}

void process_groups_free(struct process_groups *groups)
{
    free(groups->group);
    *groups = (struct process_groups){0};
}
