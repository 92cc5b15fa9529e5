// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/balloond/config.h"

#include "base/bytes.h"
#include "base/option.h"
#include "base/parse.h"
#include "base/service/ini_file.h"
#include "decide/journal/journal.h"
#include "guest/domain/domain_memory.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define SECTION "vmwss-balloond"
#define GUEST_PREFIX "guest "
#define OTHERS "*" /* every guest without a section */

void balloond_config_init(struct balloond_config *config)
{
    *config = (struct balloond_config){
        .user = BALLOOND_USER,
        .connect = "qemu:///system",
        .database = STORE_DEFAULT_PATH,
        .journal = JOURNAL_DEFAULT_PATH,
        .interval_s = 10,
        .windows = decide_windows_default,
        .others.statistics_s = 10,
    };
    control_policy_init(&config->policy);
    config->policy.decide.past.day_min_s = 86400;
    config->policy.decide.past.needed = true;
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
    return &config->others;
}

bool balloond_config_acts(const struct balloond_config *config,
                          const struct balloond_guest_config *guest)
{
    return guest->act == ACT_DEFAULT ? config->act : guest->act == ACT_YES;
}

bool balloond_config_acts_at_all(const struct balloond_config *config)
{
    bool acts = balloond_config_acts(config, &config->others);

    for (size_t i = 0; i < config->n_guests; i++)
        acts = acts || balloond_config_acts(config, &config->guests[i]);
    return acts;
}

uint64_t balloond_config_reservation(const struct balloond_guest_config *guest,
                                     uint64_t assigned_bytes)
{
    uint64_t share = (uint64_t)((double)assigned_bytes * guest->reserved_share);

    return larger(guest->reserved_bytes, share);
}

/* --- keys with a form of their own -------------------------------------------------------------
 */

static int set_reclaim(void *at, const char *value)
{
    struct balloond_config *config = at;

    if (strcmp(value, "no") != 0 && strcmp(value, "zram") != 0 && strcmp(value, "swap") != 0)
        return -EINVAL;
    config->policy.reclaim.on = strcmp(value, "no") != 0;
    config->reclaim_any_swap = !strcmp(value, "swap");
    return 0;
}

static void dump_reclaim(const void *at, const char *key, FILE *out)
{
    const struct balloond_config *config = at;
    const char *to = config->reclaim_any_swap ? "swap" : "zram";

    fprintf(out, "%s = %s\n", key, config->policy.reclaim.on ? to : "no");
}

/* Prints as many as were given: one or two stand for the others, too. */
static void dump_window(const void *at, const char *key, FILE *out)
{
    const struct decide_windows *windows = at;

    fprintf(out, "%s = %.10g", key, windows->short_s);
    if (windows->mid_s != windows->short_s)
        fprintf(out, ",%.10g", windows->mid_s);
    if (windows->long_s != windows->mid_s)
        fprintf(out, ",%.10g", windows->long_s);
    fputc('\n', out);
}

static int set_reservation(void *at, const char *value)
{
    struct balloond_guest_config *guest = at;
    uint64_t bytes = 0;
    double percent = 0;
    int rc = 0;

    if (strcmp(value, "none") != 0)
        rc = strchr(value, '%') ? parse_percent(value, 100, &percent) : parse_size(value, &bytes);
    guest->reserved_bytes = bytes;
    guest->reserved_share = percent / 100;
    return rc;
}

static void dump_reservation(const void *at, const char *key, FILE *out)
{
    const struct balloond_guest_config *guest = at;

    if (guest->reserved_share > 0)
        fprintf(out, "%s = %.10g%%\n", key, guest->reserved_share * 100);
    else if (guest->reserved_bytes > 0)
        fprintf(out, "%s = %llu\n", key, (unsigned long long)guest->reserved_bytes);
    else
        fprintf(out, "%s = none\n", key);
}

/* "start": what the guest had then; "assigned": all of it. */
static int set_limit(void *at, const char *value)
{
    uint64_t *bytes = at;

    *bytes = !strcmp(value, "start") ? 0 : UINT64_MAX;
    return !strcmp(value, "start") || !strcmp(value, "assigned") ? 0 : parse_size(value, bytes);
}

static void dump_limit(const void *at, const char *key, FILE *out)
{
    const uint64_t bytes = *(const uint64_t *)at;

    if (bytes == 0 || bytes == UINT64_MAX)
        fprintf(out, "%s = %s\n", key, bytes == 0 ? "start" : "assigned");
    else
        fprintf(out, "%s = %llu\n", key, (unsigned long long)bytes);
}

static int set_own_limit(void *at, const char *value)
{
    struct balloond_guest_config *guest = at;

    guest->has_limit = true;
    return set_limit(&guest->limit_bytes, value);
}

static void dump_own_limit(const void *at, const char *key, FILE *out)
{
    const struct balloond_guest_config *guest = at;

    if (guest->has_limit)
        dump_limit(&guest->limit_bytes, key, out);
}

#define LIMIT_EXPECTED "start, assigned, or a size, as in 512M"

/* --- all of them ------------------------------------------------------------------------------ */

static const char *const mode_words[] = {"lazy", "proactive", NULL};
static const char *const without_words[] = {"yes", "no", NULL};
static const char *const restore_words[] = {"before", "max", "hold", NULL};

#define AT(member) .offset = offsetof(struct balloond_config, member)
#define TEXT(member) AT(member), .size = sizeof(((struct balloond_config *)NULL)->member)

static const struct option_line keys[] = {
    {OPTION_COPY, .name = "user", TEXT(user), .expect = "the name of a user"},
    {OPTION_COPY, .name = "connect", TEXT(connect), .expect = "a libvirt URI"},
    {OPTION_COPY, .name = "database", TEXT(database), .expect = "the path of vmwssd's history"},
    {OPTION_COPY, .name = "journal", TEXT(journal), .expect = "a path"},
    {OPTION_YES, .name = "mode", AT(policy.proactive), .words = mode_words,
     .expect = "lazy or proactive"},
    {OPTION_YES, .name = "act", AT(act)},
    {OPTION_WORD, .name = "restore", AT(restore), .words = restore_words,
     .expect = "before, max or hold"},
    {OPTION_KEY, .name = "reclaim", .set = set_reclaim, .dump = dump_reclaim,
     .expect = "no, zram or swap"},
    {OPTION_YES, .name = "virtio-mem", AT(uses[ACTUATOR_VIRTIO_MEM])},
    {OPTION_YES, .name = "qemu-statistics", AT(qemu_statistics)},
    {OPTION_SIZE, .name = "high", AT(policy.levels.high_bytes), .none = "size",
     .expect = "a number, as in 2G, or size: by the host's size"},
    {OPTION_SIZE, .name = "hard", AT(policy.levels.hard_bytes), .none = "share",
     .expect = "a number, as in 512M, or share: 32 % of high"},
    {OPTION_KEY, .name = "limit", AT(limit_bytes), .set = set_limit, .dump = dump_limit,
     .expect = LIMIT_EXPECTED},
    {OPTION_SECONDS, .name = "interval", AT(interval_s)},
    {OPTION_KEY, .name = "window", AT(windows), .set = decide_windows_parse, .dump = dump_window,
     .expect = DECIDE_WINDOWS_EXPECTED},
    {OPTION_SECONDS, .name = "shrink-after", AT(policy.decide.down_after_s)},
    {OPTION_SECONDS, .name = "min-uptime", AT(policy.decide.young_s)},
    {OPTION_SECONDS, .name = "min-history", AT(policy.decide.past.day_min_s), .none = "0",
     .max = (uint64_t)DECIDE_PAST_S, .expect = "a time of at most 36 days, as in 1d, or 0"},
    {OPTION_SHARE, .name = "max-exceeded", AT(policy.decide.past.exceeded_max),
     .expect = "a percentage above 0, as in 0.1%"},
    {OPTION_SECONDS, .name = "prove-after", AT(policy.balloon.return_s)},
    {OPTION_SECONDS, .name = "pause-after-panic", AT(policy.decide.panic_pause_s)},
    {OPTION_SECONDS, .name = "pause-after-growth", AT(policy.decide.turn_pause_s)},
    {OPTION_YES, .name = "shrink-without-statistics", AT(policy.decide.needs_statistics),
     .words = without_words},
    {.type = OPTION_END},
};

#define OF_GUEST(member) .offset = offsetof(struct balloond_guest_config, member)

static const char *const act_words[] = {"default", "no", "yes", NULL};

static const struct option_line guest_keys[] = {
    {OPTION_WORD, .name = "act", OF_GUEST(act), .words = act_words,
     .expect = "yes, no, or default: as in [" SECTION "]"},
    {OPTION_KEY, .name = "reservation", .set = set_reservation, .dump = dump_reservation,
     .expect = "a size, as in 512M, a share of its memory, as in 25%, or none"},
    {OPTION_COUNT, .name = "shares", OF_GUEST(shares), .min = 1, .max = 1000000000, .none = "",
     .expect = "a number, 1 to 1000000000"},
    {OPTION_KEY, .name = "limit", .set = set_own_limit, .dump = dump_own_limit,
     .expect = LIMIT_EXPECTED},
    {OPTION_COUNT, .name = "statistics", OF_GUEST(statistics_s), .min = 1,
     .max = DOMAIN_MEMORY_MAX_AGE_S / 2, .none = "keep",
     .expect = "keep, or the seconds between two reports, 1 to 30"},
    {OPTION_YES, .name = "exclude", OF_GUEST(excluded)},
    {.type = OPTION_END},
};

void balloond_config_dump(const struct balloond_config *config, FILE *out)
{
    fputs("[" SECTION "]\n", out);
    options_dump(keys, config, out);
    fputs("\n[" GUEST_PREFIX OTHERS "]\n", out);
    options_dump(guest_keys, &config->others, out);
    for (size_t i = 0; i < config->n_guests; i++) {
        fprintf(out, "\n[" GUEST_PREFIX "%s]\n", config->guests[i].name);
        options_dump(guest_keys, &config->guests[i], out);
    }
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
    *guest = config->others;
    if (parse_text(name, guest->name, sizeof(guest->name)) < 0)
        return NULL;
    config->n_guests++;
    return guest;
}

/* Copies the text without the blanks around it. */
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

    trim(guest_name, sizeof(guest_name), section);
    if (!strcmp(guest_name, OTHERS)) /* taken before */
        return 0;
    guest = guest_section(config, guest_name);
    if (!guest)
        return error_set(error, -EINVAL, "guest %s: no name, or more than %d sections", guest_name,
                         BALLOOND_MAX_GUESTS);
    return option_set(guest_keys, guest, name, value, error);
}

/* --- the file --------------------------------------------------------------------------------- */

static int take_key(void *context, const char *section, const char *name, const char *value,
                    struct error *error)
{
    if (!strcmp(section, SECTION))
        return option_set(keys, context, name, value, error);
    if (!strncmp(section, GUEST_PREFIX, strlen(GUEST_PREFIX)))
        return take_guest(context, section + strlen(GUEST_PREFIX), name, value, error);
    return error_set(error, -EINVAL, "section [%s]: there are [" SECTION "] and [guest NAME]",
                     section);
}

/* The sections of guests begin with these settings, wherever in the file they are. */
static int take_others(void *context, const char *section, const char *name, const char *value,
                       struct error *error)
{
    struct balloond_config *config = context;
    char text[8];

    if (strncmp(section, GUEST_PREFIX, strlen(GUEST_PREFIX)) != 0)
        return 0;
    trim(text, sizeof(text), section + strlen(GUEST_PREFIX));
    return strcmp(text, OTHERS) != 0 ? 0
                                     : option_set(guest_keys, &config->others, name, value, error);
}

int balloond_config_load(struct balloond_config *config, const char *path, struct error *error)
{
    struct decide_policy *policy = &config->policy.decide;
    const double longest = policy->panic_pause_max_s / policy->panic_pause_s;
    int rc = ini_file_read(path, take_others, config, error);

    rc = rc < 0 ? rc : ini_file_read(path, take_key, config, error);

    policy->panic_pause_max_s = longest * policy->panic_pause_s;
    config->policy.reclaim.stale_s = fmax(config->policy.reclaim.stale_s, 2 * config->interval_s);
    return rc;
}
