// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/xml_tree.h"

#include <errno.h>
#include <libxml/parser.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Called at "<!DOCTYPE": the text that follows could declare entities, and no domain XML contains
 * it. */
static void refuse_dtd(void *context, const xmlChar *name, const xmlChar *external,
                       const xmlChar *system)
{
    (void)name;
    (void)external;
    (void)system;
    xmlStopParser(context);
}

/* Writes the parser's last message on one line. */
static void parser_words(xmlParserCtxtPtr parser, char *text, size_t size)
{
    const xmlError *last = xmlCtxtGetLastError(parser);

    if (!last || !last->message) {
        snprintf(text, size, "not XML");
        return;
    }
    snprintf(text, size, "line %d: %s", last->line, last->message);
    text[strcspn(text, "\n")] = '\0';
}

int xml_tree_parse(const char *xml, size_t length, xmlDocPtr *out, struct error *error)
{
    xmlParserCtxtPtr parser = length <= INT_MAX ? xmlNewParserCtxt() : NULL;
    char words[200];

    if (!parser)
        return error_set(error, -ENOMEM, "XML: out of memory");
    parser->sax->internalSubset = refuse_dtd;
    xmlDocPtr doc = xmlCtxtReadMemory(parser, xml, (int)length, NULL, NULL,
                                      XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    bool stopped = parser->errNo == XML_ERR_USER_STOP;

    parser_words(parser, words, sizeof(words));
    xmlFreeParserCtxt(parser);
    if (stopped) {
        xmlFreeDoc(doc);
        return error_set(error, -EINVAL, "XML: has a document type declaration, which is refused");
    }
    if (!doc)
        return error_set(error, -EINVAL, "XML: %s", words);
    *out = doc;
    return 0;
}

static const xmlNode *find_from(const xmlNode *node, const char *name)
{
    for (; node; node = node->next)
        if (node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0)
            return node;
    return NULL;
}

const xmlNode *xml_child(const xmlNode *parent, const char *name)
{
    return parent ? find_from(parent->children, name) : NULL;
}

const xmlNode *xml_next(const xmlNode *node)
{
    return find_from(node->next, (const char *)node->name);
}

/* Trims @p value, copies it and frees it. */
static int put_text(xmlChar *value, char *text, size_t size)
{
    static const char blanks[] = " \t\r\n";
    const char *from = (const char *)value;

    if (!value)
        return 0;
    from += strspn(from, blanks);
    size_t length = strlen(from);

    while (length > 0 && strchr(blanks, from[length - 1]))
        length--;
    bool fits = length < size;

    if (!fits)
        length = size - 1;
    memcpy(text, from, length);
    text[length] = '\0';
    xmlFree(value);
    return fits ? 1 : -EOVERFLOW;
}

int xml_text(const xmlNode *node, char *text, size_t size)
{
    return node ? put_text(xmlNodeGetContent(node), text, size) : 0;
}

int xml_attribute(const xmlNode *node, const char *name, char *text, size_t size)
{
    return node ? put_text(xmlGetNoNsProp(node, (const xmlChar *)name), text, size) : 0;
}

bool xml_attribute_is(const xmlNode *node, const char *name, const char *value)
{
    char text[64];

    return xml_attribute(node, name, text, sizeof(text)) == 1 && strcmp(text, value) == 0;
}

/* Bytes of one unit; 0 if it is not a unit. */
static uint64_t unit_bytes(const char *unit)
{
    static const char prefixes[] = "kmgtpe";
    const char *at = unit[0] ? strchr(prefixes, unit[0] | 0x20) : NULL;
    uint64_t base = 1024;
    uint64_t bytes = 1;

    if (strcasecmp(unit, "b") == 0 || strcasecmp(unit, "bytes") == 0)
        return 1;
    if (!at)
        return 0;
    if (strcasecmp(unit + 1, "b") == 0)
        base = 1000;
    else if (unit[1] && strcasecmp(unit + 1, "ib") != 0)
        return 0;
    for (const char *p = prefixes; p <= at; p++)
        bytes *= base;
    return bytes;
}

int xml_scaled_bytes(const xmlNode *node, const char *number, uint64_t *bytes)
{
    char unit[16] = "KiB";
    char *end;

    if (number[0] < '0' || number[0] > '9' || xml_attribute(node, "unit", unit, sizeof(unit)) < 0)
        return -EINVAL;
    errno = 0;
    uint64_t value = strtoull(number, &end, 10);
    uint64_t scale = unit_bytes(unit);

    if (errno)
        return -ERANGE;
    if (*end || scale == 0)
        return -EINVAL;
    return __builtin_mul_overflow(value, scale, bytes) ? -ERANGE : 0;
}
