// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_publish.c  What is published: when it is worth it, the element's text, and what
 * libvirt makes of it. */
#include "guest/domain/domain_mark.h"
#include "guest/domain/domain_metadata.h"
#include "guest/domain/xml_tree.h"
#include "kept.h"
#include "programs/vmwssd/sinks/publish.h"
#include "show/wss_element.h"

#include "fixture.h"

#include <errno.h>

/* --- when it is worth it ---------------------------------------------------------------------- */

static struct sample_record published, now;

/* WSS 100 MiB, of 99.5 to 101, and twice that; 512 MiB are resident. */
static void setup_records(void)
{
    published = kept_record("web1", UUID_1, 0, 100).sample;
    published.time = (struct timespec){.tv_sec = 1767323045, .tv_nsec = 678999999};
    now = published;
    now.time.tv_sec += 30;
}

static bool is_news(void)
{
    return publish_is_news(&published, &now);
}

FIXTURE(news, .setup = setup_records);

TEST(news, the_first_is_news_and_the_same_is_not)
{
    ck_assert(publish_is_news(NULL, &now));
    ck_assert(!is_news());
}

TEST(news, a_move_out_of_the_interval_is_news)
{
    now.windows[0].wss_bytes = published.windows[0].wss_high_bytes;
    ck_assert(!is_news());
    now.windows[0].wss_bytes = 102 * MIB;
    ck_assert(is_news());
    now.windows[0].wss_bytes = 98 * MIB;
    ck_assert(is_news());
    now.windows[0] = published.windows[0];
    now.windows[1].wss_bytes = 210 * MIB;
    ck_assert(is_news());
}

TEST(news, what_a_census_moves_by_less_than_a_percent_is_not)
{
    published.windows[0].unit_low_bytes = published.windows[0].wss_high_bytes = 100 * MIB;
    now.windows[0] = published.windows[0];
    now.windows[0].wss_bytes = 100 * MIB + 4096;
    ck_assert(!is_news());
    now.windows[0].wss_bytes = 102 * MIB;
    ck_assert(is_news());
}

TEST(news, another_precision_is_news)
{
    published.windows[0].unit_low_bytes = 80 * MIB;
    published.windows[0].wss_high_bytes = 120 * MIB;
    now.windows[0].unit_low_bytes = 85 * MIB;
    now.windows[0].wss_high_bytes = 115 * MIB;
    ck_assert(!is_news());
    now.windows[0].unit_low_bytes = 95 * MIB;
    now.windows[0].wss_high_bytes = 105 * MIB;
    ck_assert(is_news());
    /* Twice as wide, but by next to nothing. */
    published.windows[0].unit_low_bytes = 100 * MIB;
    published.windows[0].wss_high_bytes = 101 * MIB;
    now.windows[0].unit_low_bytes = 99 * MIB;
    now.windows[0].wss_high_bytes = 102 * MIB;
    ck_assert(!is_news());
}

TEST(news, other_circumstances_are_news)
{
    now.method = "zap";
    ck_assert(is_news());
    now.method = published.method;
    now.flags |= FLAG_SWAP;
    ck_assert(is_news());
    now.flags = published.flags | FLAG_NEW_PANEL;
    ck_assert(!is_news());
    now.flags = published.flags;
    now.resident_bytes += 5 * MIB;
    ck_assert(!is_news());
    now.resident_bytes += 10 * MIB;
    ck_assert(is_news());
    now.resident_bytes = published.resident_bytes;
    now.n_windows = 1;
    ck_assert(is_news());
    now.n_windows = 2;
    now.windows[1].window_s = 600;
    ck_assert(is_news());
}

TEST(news, a_number_is_renewed_before_it_looks_dead)
{
    now.time.tv_sec = published.time.tv_sec + PUBLISH_AGAIN_S - 1;
    ck_assert(!is_news());
    now.time.tv_sec++;
    ck_assert(is_news());
    now.time.tv_sec = published.time.tv_sec - 1; /* the clock was set back */
    ck_assert(is_news());
}

/* --- the element ------------------------------------------------------------------------------ */

TEST(news, windows_have_names)
{
    static const struct {
        double window_s;
        const char *name;
    } all[] = {{0.25, "0.25s"}, {1, "1s"},    {59, "59s"},   {60, "1m"},    {90, "90s"},
               {600, "10m"},    {3600, "1h"}, {5400, "90m"}, {86400, "1d"}, {90000, "25h"}};
    char text[32];

    for (size_t i = 0; i < COUNT(all); i++)
        ck_assert_str_eq(wss_element_window(text, sizeof(text), all[i].window_s), all[i].name);
}

TEST(news, the_text)
{
    cleanup_free char *text = wss_element_text(&now, 0.02187);

    ck_assert_str_eq(
        text, "<wss at=\"2026-01-02T03:04:35.678Z\" host=\"testhost\" method=\"idle\" "
              "precision=\"0.0219\" windows=\"10s 1m\" wss-10s=\"104857600\" low-10s=\"104333312\" "
              "high-10s=\"105906176\" wss-1m=\"209715200\" low-1m=\"209190912\" "
              "high-1m=\"210763776\" ram=\"1073741824\" resident=\"536870912\" "
              "reclaimable=\"326107136\" flags=\"thp,partial\"/>");
}

/* The history and the metadata read them back: the text of all of them must fit wherever it is
 * kept. */
TEST(news, all_flags_fit)
{
    char text[SAMPLE_FLAGS_TEXT];
    unsigned all = 0;

    for (unsigned i = 0; sample_flag_name(i); i++)
        all |= 1U << i;
    sample_flags_text(text, sizeof(text), all);
    ck_assert_uint_lt(strlen(text) + 1, sizeof(text)); /* room to spare: it was not cut */
    ck_assert_uint_eq(names_bits_parse(&sample_flag_names, text), all);
    now.flags = all;

    cleanup_free char *element = wss_element_text(&now, 0.02187);

    ck_assert_ptr_nonnull(strstr(element, text));
}

TEST(news, nothing_to_reclaim_is_not_negative)
{
    uint64_t bytes = 1;

    now.windows[1].wss_high_bytes = now.resident_bytes + 1;
    ck_assert(sample_reclaimable(&now, &bytes));
    ck_assert_uint_eq(bytes, 0);
}

/* An hour may need memory that a minute did not touch. */
TEST(news, nothing_is_told_to_reclaim_before_the_longest_window)
{
    uint64_t bytes;

    now.flags |= FLAG_YOUNG_PANEL;
    ck_assert(!sample_reclaimable(&now, &bytes));

    cleanup_free char *text = wss_element_text(&now, 0.02187);

    ck_assert_ptr_null(strstr(text, "reclaimable"));
    ck_assert_ptr_nonnull(strstr(text, "flags=\"thp,partial,young-panel\""));
}

static void host_becomes(const char *host, const char *expected)
{
    struct error error = {0};
    char value[256];
    xmlDocPtr doc;
    cleanup_free char *text;

    snprintf(now.host, sizeof(now.host), "%s", host);
    text = wss_element_text(&now, 0.02);
    ck_assert_ptr_nonnull(text);
    ck_assert_msg(xml_tree_parse(text, strlen(text), &doc, &error) == 0, "%s: %s", text,
                  error.text);
    ck_assert_int_eq(xml_attribute(xmlDocGetRootElement(doc), "host", value, sizeof(value)), 1);
    ck_assert_str_eq(value, expected);
    xmlFreeDoc(doc);
}

TEST(news, a_host_of_any_name)
{
    host_becomes("a\" wss-1m=\"1", "a\" wss-1m=\"1");
    host_becomes("</wss><x/>&amp;<", "</wss><x/>&amp;<");
    host_becomes("esc\033[2J\x01\n\xff\xc3\xa4", "esc?[2J?????");
}

/* --- libvirt ---------------------------------------------------------------------------------- */

static struct domain_connection *connection;
static struct domain_info *domains;
static struct fsroot root;
static struct error error;

static void setup_libvirt(void)
{
    setup_records();
    ck_assert_int_eq(fsroot_open(&root, "/"), 0);
    ck_assert_msg(domain_connect_writable("test:///default", &connection, &error) == 0, "%s",
                  error.text);
    ck_assert_int_eq(domain_list(connection, &root, &domains, &error), 1);
}

static void teardown_libvirt(void)
{
    free(domains);
    domain_disconnect(connection);
    fsroot_close(&root);
}

static bool has_element(const char *what)
{
    char *xml = NULL;

    ck_assert_int_eq(domain_xml_fetch(connection, domains[0].uuid, &xml, &error), 0);

    bool has = strstr(xml, what) != NULL;

    free(xml);
    return has;
}

FIXTURE(libvirt, .setup = setup_libvirt, .teardown = teardown_libvirt);

TEST(libvirt, libvirt_takes_it_and_gives_it_up)
{
    cleanup_free char *text = wss_element_text(&now, 0.02);

    ck_assert_msg(domain_metadata_set(connection, domains[0].uuid, text, &error) == 0, "%s",
                  error.text);
    ck_assert(
        has_element("<vmwss:wss xmlns:vmwss=\"urn:vmwss:domain:1\" at=\"2026-01-02T03:04:35"));
    ck_assert_int_eq(domain_metadata_clear(connection, &error), 1);
    ck_assert(!has_element("vmwss"));
    ck_assert_int_eq(domain_metadata_clear(connection, &error), 0);
}

static void check_mark(uint64_t before_bytes, uint64_t set_bytes)
{
    struct domain_mark mark = {.before_bytes = 1, .set_bytes = 1};

    ck_assert_msg(domain_mark_get(connection, domains[0].uuid, &mark, &error) == 0, "%s",
                  error.text);
    ck_assert_uint_eq(mark.before_bytes, before_bytes);
    ck_assert_uint_eq(mark.set_bytes, set_bytes);
}

/* Beside the other element, which stays. */
TEST(libvirt, libvirt_keeps_what_a_balloon_had)
{
    struct domain_mark mark = {.before_bytes = UINT64_C(1) << 62, .set_bytes = 900};

    check_mark(0, 0);
    ck_assert_int_eq(domain_metadata_set(connection, domains[0].uuid, "<wss/>", &error), 0);
    ck_assert_int_eq(domain_mark_set(connection, domains[0].uuid, &mark, &error), 0);
    check_mark(UINT64_C(1) << 62, 900);
    mark = (struct domain_mark){.before_bytes = 4096, .set_bytes = 800};
    ck_assert_int_eq(domain_mark_set(connection, domains[0].uuid, &mark, &error), 0);
    check_mark(4096, 800);
    mark.before_bytes = 0;
    ck_assert_int_eq(domain_mark_set(connection, domains[0].uuid, &mark, &error), 0);
    check_mark(0, 0);
    ck_assert_int_eq(domain_mark_set(connection, domains[0].uuid, &mark, &error), 0);
    ck_assert_int_eq(domain_metadata_clear(connection, &error), 1);
    ck_assert_int_eq(domain_mark_set(connection, UUID_1, &mark, &error), -ENOENT);
    ck_assert_int_eq(domain_mark_get(connection, UUID_1, &mark, &error), -ENOENT);
}

TEST(libvirt, libvirt_refuses)
{
    ck_assert_int_eq(domain_metadata_set(connection, UUID_1, "<wss/>", &error), -ENOENT);
    ck_assert_error(domain_metadata_set(connection, domains[0].uuid, "<wss", &error), -EIO,
                    "domain test: ");
}
