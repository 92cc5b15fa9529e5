// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/html.h"

#include "base/utf8.h"

void html_text(FILE *out, const char *text)
{
    char clean[1024];

    utf8_printable_copy(clean, sizeof(clean), text);
    for (const char *c = clean; *c; c++) {
        if (*c == '&')
            fputs("&amp;", out);
        else if (*c == '<')
            fputs("&lt;", out);
        else if (*c == '>')
            fputs("&gt;", out);
        else if (*c == '"')
            fputs("&quot;", out);
        else if (*c == '\'')
            fputs("&#39;", out);
        else
            fputc(*c, out);
    }
}

void html_name(FILE *out, const char *before, const char *name, const char *after)
{
    fprintf(out, "%s<bdi>", before);
    html_text(out, name);
    fprintf(out, "</bdi>%s", after);
}
