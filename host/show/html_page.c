// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/html_page.h"

#include "base/text/units.h"
#include "show/html.h"
#include "show/html_assets.h"
#include "show/whole_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define POLICY_BEFORE "<meta http-equiv=\"Content-Security-Policy\" content=\""

void html_page_begin(FILE *out, const char *title, double now_s)
{
    unsigned long long nonce[2] = {0};

    if (getrandom(nonce, sizeof(nonce), 0) != (ssize_t)sizeof(nonce))
        nonce[0] = (unsigned long long)(now_s * 1e6);
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n" POLICY_BEFORE
            "default-src 'none'; "
            "style-src 'unsafe-inline'; script-src 'nonce-%016llx%016llx'; base-uri 'none'; "
            "form-action 'none'\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n"
            "<meta name=\"generator\" content=\"vmwss " VMWSS_VERSION "\">\n<title>vmwss: ",
            nonce[0], nonce[1]);
    html_text(out, title);
    fputs("</title>\n<style>\n", out);
    fputs(html_page_css, out);
    fprintf(out, "</style>\n<script nonce=\"%016llx%016llx\">\n", nonce[0], nonce[1]);
    fputs(html_page_js, out);
    fputs("</script>\n</head>\n", out);
}

void html_page_end(FILE *out, const char *manual, double now_s)
{
    fputs("</main>\n<footer><p>Made by vmwss " VMWSS_VERSION " at ", out);
    html_time(out, now_s);
    fprintf(out,
            ". See <cite>%s</cite>(1) for what the figures mean.</p></footer>\n</body></html>\n",
            manual);
}

void html_time(FILE *out, double time_s)
{
    char machine[40];
    char text[40];

    show_time(machine, sizeof(machine), time_s, 0);
    snprintf(text, sizeof(text), "%.10s %.5s UTC", machine, machine + 11);
    fprintf(out, "<time datetime=\"%s\">%s</time>", machine, text);
}

static void draw_bar(FILE *out, const struct html_bar *bar, double scale)
{
    fprintf(
        out,
        "<tr><th scope=\"row\">%s</th><td class=\"n\">%s</td><td class=\"wide\"><svg class=\"bar\" "
        "viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
        "class=\"%s\" width=\"%.0f\" height=\"10\"/></svg></td><td>%s</td></tr>\n",
        bar->name, bar->text ? bar->text : BYTES_TEXT((uint64_t)bar->value), bar->style,
        1000 * bar->value / scale, bar->note);
}

void html_bars(FILE *out, const struct html_bars *bars)
{
    double scale = 0;

    for (size_t i = 0; i < bars->n; i++)
        scale = fmax(scale, bars->bars[i].value);
    fprintf(out,
            "<table class=\"bars\"><caption>%s</caption><thead><tr><th scope=\"col\">What</th>"
            "<th scope=\"col\" class=\"n\">%s</th><th scope=\"col\" class=\"wide\"><span "
            "class=\"hidden\">As a bar</span></th><th scope=\"col\">Which is</th></tr></thead>\n"
            "<tbody>\n",
            bars->caption, bars->value_name);
    for (size_t i = 0; i < bars->n; i++)
        draw_bar(out, &bars->bars[i], scale > 0 ? scale : 1);
    fputs("</tbody></table>\n", out);
}

int html_page_policy(const char *page, char *policy, size_t size)
{
    static const char before[] = POLICY_BEFORE;
    const char *begin = strstr(page, before);
    const char *end = begin ? strchr(begin + sizeof(before) - 1, '"') : NULL;
    size_t n;

    if (!end)
        return -EINVAL;
    begin += sizeof(before) - 1;
    n = (size_t)(end - begin);
    if (n >= size)
        return -EINVAL;
    memcpy(policy, begin, n);
    policy[n] = '\0';
    return 0;
}

int html_page_text(int (*draw)(FILE *out, const void *context), const void *context, char **text,
                   size_t *size, struct error *error)
{
    FILE *out;
    int rc;

    *text = NULL;
    *size = 0;
    out = open_memstream(text, size);
    rc = out ? draw(out, context) : -ENOMEM;
    if (out && fclose(out) != 0)
        rc = -ENOMEM;
    if (rc == 0)
        return 0;
    free(*text);
    *text = NULL;
    return error_set(error, rc, "out of memory for the page");
}

int html_page_write(const char *path, int (*draw)(FILE *out, const void *context),
                    const void *context, struct error *error)
{
    char *text;
    size_t size;
    int rc = html_page_text(draw, context, &text, &size, error);

    if (rc < 0)
        return rc;
    rc = whole_file_write(path, text, size, error);
    free(text);
    return rc;
}
