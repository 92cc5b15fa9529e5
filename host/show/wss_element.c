// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file wss_element.c  See wss_element.h. libxml2 writes the element, so that values are
 * escaped. */
#include "show/wss_element.h"

#include "base/array.h"
#include "base/text/units.h"

#include <inttypes.h>
#include <libxml/tree.h>
#include <math.h>
#include <string.h>

char *wss_element_window(char *text, size_t size, double window_s)
{
    static const struct {
        double seconds;
        char letter;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}};

    for (size_t i = 0; i < COUNT(units); i++)
        if (window_s >= units[i].seconds && fmod(window_s, units[i].seconds) == 0) {
            snprintf(text, size, "%.0f%c", window_s / units[i].seconds, units[i].letter);
            return text;
        }
    snprintf(text, size, "%.10gs", window_s);
    return text;
}

static bool put_attribute(xmlNodePtr node, const char *name, const char *value)
{
    return xmlNewProp(node, (const xmlChar *)name, (const xmlChar *)value) != NULL;
}

static bool put_bytes(xmlNodePtr node, const char *name, uint64_t bytes)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRIu64, bytes);
    return put_attribute(node, name, text);
}

/* A host's name may be any bytes, but XML can represent only some of them. */
static bool put_host(xmlNodePtr node, const char *host)
{
    char text[sizeof(((struct sample_record *)NULL)->host)];
    size_t n = strnlen(host, sizeof(text) - 1);

    for (size_t i = 0; i < n; i++)
        text[i] = host[i] >= ' ' && host[i] <= '~' ? host[i] : '?';
    text[n] = '\0';
    return put_attribute(node, "host", text);
}

/* Milliseconds, rounded down as in JSON and in the history, so that a record has the same time
 * everywhere. */
static bool put_time(xmlNodePtr node, const struct timespec *time)
{
    double milliseconds = floor((double)time->tv_nsec / 1e6);
    char text[64];

    show_time(text, sizeof(text), (double)time->tv_sec + milliseconds / 1e3, 3);
    return put_attribute(node, "at", text);
}

static bool put_precision(xmlNodePtr node, double precision)
{
    char text[32];

    snprintf(text, sizeof(text), "%.4f", precision);
    return put_attribute(node, "precision", text);
}

/* "1m 10m 1h" */
static bool put_names(xmlNodePtr node, const struct sample_record *record)
{
    char text[RUN_MAX_WINDOWS * 32] = "";
    char name[32];
    size_t used = 0;

    for (size_t w = 0; w < record->n_windows; w++)
        used += (size_t)snprintf(
            text + used, sizeof(text) - used, "%s%s", w ? " " : "",
            wss_element_window(name, sizeof(name), record->windows[w].window_s));
    return put_attribute(node, "windows", text);
}

static bool put_window(xmlNodePtr node, const struct window_record *window)
{
    const struct {
        const char *what;
        uint64_t bytes;
    } parts[] = {{"wss", window->wss_bytes},
                 {"low", window->wss_low_bytes},
                 {"high", window->wss_high_bytes}};
    char window_name[32];
    bool ok = true;

    wss_element_window(window_name, sizeof(window_name), window->window_s);
    for (size_t i = 0; i < COUNT(parts); i++) {
        char name[48];

        snprintf(name, sizeof(name), "%s-%s", parts[i].what, window_name);
        ok = ok && put_bytes(node, name, parts[i].bytes);
    }
    return ok;
}

/* Omitted if it is not known. */
static bool put_reclaimable(xmlNodePtr node, const struct sample_record *record)
{
    uint64_t bytes;

    return !sample_reclaimable(record, &bytes) || put_bytes(node, "reclaimable", bytes);
}

static bool put_all(xmlNodePtr node, const struct sample_record *record, double precision)
{
    bool ok = put_time(node, &record->time) && put_host(node, record->host) &&
              put_attribute(node, "method", record->method) && put_precision(node, precision) &&
              put_names(node, record);

    for (size_t w = 0; ok && w < record->n_windows; w++)
        ok = put_window(node, &record->windows[w]);
    return ok && put_bytes(node, "ram", record->ram_bytes) &&
           put_bytes(node, "resident", record->resident_bytes) && put_reclaimable(node, record) &&
           put_attribute(node, "flags", SAMPLE_FLAGS(record->flags));
}

char *wss_element_text(const struct sample_record *record, double precision)
{
    xmlNodePtr node = xmlNewNode(NULL, (const xmlChar *)"wss");
    xmlBufferPtr buffer = xmlBufferCreate();
    char *text = NULL;

    if (node && buffer && put_all(node, record, precision) &&
        xmlNodeDump(buffer, NULL, node, 0, 0) > 0)
        text = strdup((const char *)xmlBufferContent(buffer));
    xmlFreeNode(node);
    xmlBufferFree(buffer);
    return text;
}
