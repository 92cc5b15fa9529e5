// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file config.c  See config.h. */
#include "programs/balloond/config.h"

#include "base/cleanup.h"
#include "base/parse.h"
#include "decide/journal/journal.h"

#include <errno.h>
#include <ini.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define SECTION "vmwss-balloond"
#define GUEST_PREFIX "guest "

void balloond_config_init(struct balloond_config *config)
{
    *config = (struct balloond_config){
        .user = BALLOOND_USER,
        .connect = "qemu:///system",
        .database = STORE_DEFAULT_PATH,
        .journal = JOURNAL_DEFAULT_PATH,
        .interval_s = 10,
        .windows = decide_windows_default,
    };
    control_policy_init(&config->policy);
}

bool balloond_config_is_of(const struct balloond_guest_config *section, const char *name,
                           const char *uuid)
{
    return !strcmp(section->name, name) || !strcasecmp(section->name, uuid);
}

bool balloond_config_is_ambiguous(const struct balloond_config *config, const char *name,
                                  const char *uuid)
{
    size_t n = 0;

    for (size_t i = 0; i < config->n_guests; i++)
        n += balloond_config_is_of(&config->guests[i], name, uuid);
    return n > 1;
}

const struct balloond_guest_config *balloond_config_guest(const struct balloond_config *config,
                                                          const char *name, const char *uuid)
{
    for (size_t i = 0; i < config->n_guests; i++)
        if (balloond_config_is_of(&config->guests[i], name, uuid))
            return &config->guests[i];
    return NULL;
}

/* --- values ----------------------------------------------------------------------------------- */

/* The number of the word in the list. */
static int set_word(unsigned *out, const char *const *words, unsigned n, const char *value)
{
    for (unsigned i = 0; i < n; i++)
        if (!strcmp(words[i], value)) {
            *out = i;
            return 0;
        }
    return -EINVAL;
}

/* --- keys ------------------------------------------------------------------------------------- */

static int set_user(struct balloond_config *config, const char *value)
{
    return parse_text(value, config->user, sizeof(config->user));
}

static int set_connect(struct balloond_config *config, const char *value)
{
    return parse_text(value, config->connect, sizeof(config->connect));
}

static int set_database(struct balloond_config *config, const char *value)
{
    return parse_text(value, config->database, sizeof(config->database));
}

static int set_journal(struct balloond_config *config, const char *value)
{
    return parse_text(value, config->journal, sizeof(config->journal));
}

static int set_mode(struct balloond_config *config, const char *value)
{
    static const char *const words[] = {"lazy", "proactive"};
    unsigned number = 0;
    int rc = set_word(&number, words, 2, value);

    config->policy.proactive = number == 1;
    return rc;
}

static int set_act(struct balloond_config *config, const char *value)
{
    return parse_yes(value, &config->act);
}

static int set_restore(struct balloond_config *config, const char *value)
{
    static const char *const words[] = {"before", "max", "hold"};
    unsigned number = 0;
    int rc = set_word(&number, words, 3, value);

    config->restore = (enum control_restore)number;
    return rc;
}

static int set_reclaim(struct balloond_config *config, const char *value)
{
    static const char *const words[] = {"no", "zram", "swap"};
    unsigned number = 0;
    int rc = set_word(&number, words, 3, value);

    config->policy.reclaim.on = number > 0;
    config->reclaim_any_swap = number == 2;
    return rc;
}

static int set_virtio_mem(struct balloond_config *config, const char *value)
{
    return parse_yes(value, &config->virtio_mem);
}

static int set_interval(struct balloond_config *config, const char *value)
{
    return parse_seconds(value, &config->interval_s);
}

static int set_window(struct balloond_config *config, const char *value)
{
    return decide_windows_parse(&config->windows, value);
}

static int set_after(struct balloond_config *config, const char *value)
{
    return parse_seconds(value, &config->policy.decide.down_after_s);
}

static int set_min_uptime(struct balloond_config *config, const char *value)
{
    return parse_seconds(value, &config->policy.decide.young_s);
}

static int set_prove_after(struct balloond_config *config, const char *value)
{
    return parse_seconds(value, &config->policy.balloon.return_s);
}

static int set_after_panic(struct balloond_config *config, const char *value)
{
    struct decide_policy *policy = &config->policy.decide;
    double most = policy->panic_pause_max_s / policy->panic_pause_s;
    int rc = parse_seconds(value, &policy->panic_pause_s);

    policy->panic_pause_max_s = most * policy->panic_pause_s;
    return rc;
}

static int set_after_growth(struct balloond_config *config, const char *value)
{
    return parse_seconds(value, &config->policy.decide.turn_pause_s);
}

static int set_without_statistics(struct balloond_config *config, const char *value)
{
    bool allowed = false;
    int rc = parse_yes(value, &allowed);

    config->policy.decide.needs_statistics = !allowed;
    return rc;
}

static const struct key {
    const char *name, *expected;
    int (*set)(struct balloond_config *config, const char *value);
} keys[] = {
    {"user", "the name of a user", set_user},
    {"connect", "a libvirt URI", set_connect},
    {"database", "the path of vmwssd's history", set_database},
    {"journal", "a path", set_journal},
    {"mode", "lazy or proactive", set_mode},
    {"act", "yes or no", set_act},
    {"restore", "before, max or hold", set_restore},
    {"reclaim", "no, zram or swap", set_reclaim},
    {"virtio-mem", "yes or no", set_virtio_mem},
    {"interval", PARSE_SECONDS_EXPECTED, set_interval},
    {"window", DECIDE_WINDOWS_EXPECTED, set_window},
    {"shrink-after", PARSE_SECONDS_EXPECTED, set_after},
    {"min-uptime", PARSE_SECONDS_EXPECTED, set_min_uptime},
    {"prove-after", PARSE_SECONDS_EXPECTED, set_prove_after},
    {"pause-after-panic", PARSE_SECONDS_EXPECTED, set_after_panic},
    {"pause-after-growth", PARSE_SECONDS_EXPECTED, set_after_growth},
    {"shrink-without-statistics", "yes or no", set_without_statistics},
};

static int take_own(struct balloond_config *config, const char *name, const char *value,
                    struct error *error)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!strcmp(keys[i].name, name))
            return keys[i].set(config, value) == 0
                       ? 0
                       : error_set(error, -EINVAL, "%s = %s: expected %s", name, value,
                                   keys[i].expected);
    return error_set(error, -EINVAL, "%s: there is no such key", name);
}

static struct balloond_guest_config *guest_section(struct balloond_config *config, const char *name)
{
    struct balloond_guest_config *guest;

    for (size_t i = 0; i < config->n_guests; i++)
        if (!strcmp(config->guests[i].name, name))
            return &config->guests[i];
    if (config->n_guests == BALLOOND_MAX_GUESTS)
        return NULL;
    guest = &config->guests[config->n_guests];
    if (parse_text(name, guest->name, sizeof(guest->name)) < 0)
        return NULL;
    config->n_guests++;
    return guest;
}

/* Without the blanks around it. */
static void trim(char *out, size_t size, const char *text)
{
    size_t length;

    text += strspn(text, " \t");
    length = strlen(text);
    while (length > 0 && strchr(" \t", text[length - 1]))
        length--;
    snprintf(out, size, "%.*s", (int)length, text);
}

static int take_guest(struct balloond_config *config, const char *section, const char *name,
                      const char *value, struct error *error)
{
    char guest_name[sizeof(((struct balloond_guest_config *)NULL)->name)];
    struct balloond_guest_config *guest;
    uint64_t shares = 0;
    int rc;

    trim(guest_name, sizeof(guest_name), section);
    guest = guest_section(config, guest_name);
    if (!guest)
        return error_set(error, -EINVAL, "guest %s: no name, or more than %d sections", guest_name,
                         BALLOOND_MAX_GUESTS);
    if (!strcmp(name, "reservation"))
        rc = parse_size(value, &guest->reserved_bytes);
    else if (!strcmp(name, "exclude"))
        rc = parse_yes(value, &guest->excluded);
    else if (!strcmp(name, "shares"))
        rc = parse_u64(value, 1, 1000000000, &shares);
    else
        return error_set(error, -EINVAL, "%s: a guest has reservation, shares and exclude", name);
    if (shares > 0)
        guest->shares = (double)shares;
    return rc == 0 ? 0
                   : error_set(error, -EINVAL, "%s = %s: expected %s", name, value,
                               !strcmp(name, "exclude") ? "yes or no" : "a number, as in 512M");
}

/* --- the file --------------------------------------------------------------------------------- */

struct loading {
    struct balloond_config *config;
    struct error why; /* the first */
};

static int take_key(void *context, const char *section, const char *name, const char *value)
{
    struct loading *loading = context;

    if (loading->why.code)
        return 0;
    if (!strcmp(section, SECTION))
        return take_own(loading->config, name, value, &loading->why) == 0;
    if (!strncmp(section, GUEST_PREFIX, strlen(GUEST_PREFIX)))
        return take_guest(loading->config, section + strlen(GUEST_PREFIX), name, value,
                          &loading->why) == 0;
    error_set(&loading->why, -EINVAL, "section [%s]: there are [" SECTION "] and [guest NAME]",
              section);
    return 0;
}

int balloond_config_load(struct balloond_config *config, const char *path, struct error *error)
{
    cleanup_file FILE *file = fopen(path, "re");
    struct loading loading = {.config = config};

    if (!file)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));

    int bad_line = ini_parse_file(file, take_key, &loading);

    config->policy.reclaim.stale_s = fmax(config->policy.reclaim.stale_s, 2 * config->interval_s);
    if (bad_line == 0)
        return 0;
    return error_set(error, -EINVAL, "%s:%d: %s", path, bad_line,
                     loading.why.code ? loading.why.text : "neither [section] nor key = value");
}
