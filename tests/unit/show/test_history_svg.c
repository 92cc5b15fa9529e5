// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_history_svg.c  The picture of vmwss history: gaps are gaps, events stand where they
 * happened, and the title says whose it is. */
#include "show/history_svg.h"

#include "fixture.h"

#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define T0 1773144000.0 /* 2026-03-10T12:00:00Z */
#define MIB 1048576.0

static char path[] = "/tmp/vmwss-history-svg.XXXXXX";
static struct history_guest guest;
static struct history_query query;
static struct history_point points[64];
static struct history_event events[8];
static struct history_picture picture;
static char text[65536];

static void setup(void)
{
    close(mkstemp(path));
    strcpy(guest.name, "web1");
    strcpy(guest.host, "host<1>");
    query = (struct history_query){
        .level_s = 60, .from_s = T0 - 600, .to_s = T0 + 7200, .window_s = 60};
    picture = (struct history_picture){
        .guest = &guest, .query = &query, .points = points, .events = events};
}

static void teardown(void)
{
    unlink(path);
}

/* A minute at @p at_s after T0. */
static void put(double at_s, double period_s)
{
    points[picture.n_points++] = (struct history_point){
        .time_s = T0 + at_s,
        .period_s = period_s,
        .wss_bytes = 100 << 20,
        .wss_low_bytes = 90 << 20,
        .wss_high_bytes = 110 << 20,
        .summary = {.ram_bytes = 1024 * MIB, .resident_bytes = 512 * MIB}};
}

static void put_event(double at_s, enum event_kind kind)
{
    events[picture.n_events++] = (struct history_event){kind, T0 + at_s};
}

/* Writes the picture, which has to be XML, and reads it into text[]. */
static void draw(void)
{
    xmlDoc *doc;
    cleanup_file FILE *file;

    ck_assert_ok(history_svg_write(&picture, path, &error));
    doc = xmlReadFile(path, NULL, XML_PARSE_NONET);
    ck_assert_ptr_nonnull(doc);
    xmlFreeDoc(doc);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
}

static size_t count(const char *what)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST(cases, it_says_whose_and_when)
{
    put(0, 60);
    put(60, 60);
    draw();
    ck_assert_uint_eq(count(">web1 on host&lt;1&gt;<"), 1);
    ck_assert_uint_eq(
        count(">working set over 60s, from 2026-03-10T11:50:00Z to 2026-03-10T14:00:00Z<"), 1);
    ck_assert_uint_eq(count(">assigned<"), 1);
    ck_assert_uint_eq(count(">resident<"), 1);
    ck_assert_uint_eq(count(">12:00<"), 1);
}

TEST(cases, gaps_are_gaps)
{
    for (int minute = 0; minute < 5; minute++)
        put(60 * minute, 60);
    draw();
    ck_assert_uint_eq(count("<polygon"), 1);
    ck_assert_uint_eq(count("<polyline"), 2); /* and what is resident */
    put(3600, 60);
    put(3660, 60);
    draw();
    ck_assert_uint_eq(count("<polygon"), 2);
    ck_assert_uint_eq(count("<polyline"), 4);
}

TEST(cases, seldom_is_no_gap)
{
    for (int quarter = 0; quarter < 5; quarter++)
        put(900 * quarter, 900);
    draw();
    ck_assert_uint_eq(count("<polygon"), 1);
}

TEST(cases, what_happened)
{
    put(0, 60);
    put(7000, 60);
    put_event(-60, EVENT_START);
    put_event(70, EVENT_SUSPEND);
    put_event(6990, EVENT_RESUME);
    put_event(7001, EVENT_END);
    draw();
    ck_assert_uint_eq(count(">suspend<"), 1);
    ck_assert_uint_eq(count(">resume<"), 1);
    ck_assert_uint_eq(count(">start<"), 0); /* before what is drawn */
    ck_assert_uint_eq(count(">end<"), 0);
    ck_assert_uint_eq(count("stroke-dasharray=\"2 3\""), 2);
}

TEST(cases, one_point)
{
    put(0, 60);
    draw();
    ck_assert_uint_eq(count("nan"), 0);
    ck_assert_uint_eq(count("inf"), 0);
}
