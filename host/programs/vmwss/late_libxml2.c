// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file late_libxml2.c  The functions of libxml2 that vmwss calls: for a guest of libvirt, and for
 * SVG. libxml2 brings ICU and the C++ library with it, and loading all of them takes three of the
 * six million instructions in which vmwss starts. The daemons are linked with it.
 */
#include "base/late_library.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/uri.h>
#include <libxml/xmlwriter.h>
#include <stdarg.h>

/* 2.14 has a new ABI. */
#if LIBXML_VERSION >= 21400
#define SONAME "libxml2.so.16"
#else
#define SONAME "libxml2.so.2"
#endif

static struct late_library libxml2 = {.soname = SONAME};

LATE_FUNCTION(libxml2, const xmlChar *, xmlBufferContent, (const xmlBuffer *buf), (buf))
LATE_FUNCTION(libxml2, xmlBufferPtr, xmlBufferCreate, (void), ())
LATE_FUNCTION(libxml2, void, xmlBufferFree, (xmlBufferPtr buf), (buf))
LATE_FUNCTION(libxml2, int, xmlBufferLength, (const xmlBuffer *buf), (buf))
LATE_FUNCTION(libxml2, int, xmlCheckUTF8, (const unsigned char *utf), (utf))
LATE_FUNCTION(libxml2, xmlDocPtr, xmlCtxtReadMemory,
              (xmlParserCtxtPtr ctxt, const char *buffer, int size, const char *URL,
               const char *encoding, int options),
              (ctxt, buffer, size, URL, encoding, options))
LATE_FUNCTION(libxml2, xmlNodePtr, xmlDocGetRootElement, (const xmlDoc *doc), (doc))
LATE_FUNCTION(libxml2, void, xmlFreeDoc, (xmlDocPtr cur), (cur))
LATE_FUNCTION(libxml2, void, xmlFreeParserCtxt, (xmlParserCtxtPtr ctxt), (ctxt))
LATE_FUNCTION(libxml2, void, xmlFreeTextWriter, (xmlTextWriterPtr writer), (writer))
LATE_FUNCTION(libxml2, void, xmlFreeURI, (xmlURIPtr uri), (uri))
LATE_FUNCTION(libxml2, xmlChar *, xmlGetNoNsProp, (const xmlNode *node, const xmlChar *name),
              (node, name))
LATE_FUNCTION(libxml2, int, xmlGetUTF8Char, (const unsigned char *utf, int *len), (utf, len))
LATE_FUNCTION(libxml2, xmlParserCtxtPtr, xmlNewParserCtxt, (void), ())
LATE_FUNCTION(libxml2, xmlTextWriterPtr, xmlNewTextWriterMemory,
              (xmlBufferPtr buf, int compression), (buf, compression))
LATE_FUNCTION(libxml2, int, xmlNodeDump,
              (xmlBufferPtr buf, xmlDocPtr doc, xmlNodePtr cur, int level, int format),
              (buf, doc, cur, level, format))
LATE_FUNCTION(libxml2, xmlChar *, xmlNodeGetContent, (const xmlNode *cur), (cur))
LATE_FUNCTION(libxml2, xmlURIPtr, xmlParseURI, (const char *str), (str))
LATE_FUNCTION(libxml2, void, xmlStopParser, (xmlParserCtxtPtr ctxt), (ctxt))
LATE_FUNCTION(libxml2, int, xmlTextWriterEndAttribute, (xmlTextWriterPtr writer), (writer))
LATE_FUNCTION(libxml2, int, xmlTextWriterEndDocument, (xmlTextWriterPtr writer), (writer))
LATE_FUNCTION(libxml2, int, xmlTextWriterEndElement, (xmlTextWriterPtr writer), (writer))
LATE_FUNCTION(libxml2, int, xmlTextWriterStartAttribute,
              (xmlTextWriterPtr writer, const xmlChar *name), (writer, name))
LATE_FUNCTION(libxml2, int, xmlTextWriterStartDocument,
              (xmlTextWriterPtr writer, const char *version, const char *encoding,
               const char *standalone),
              (writer, version, encoding, standalone))
LATE_FUNCTION(libxml2, int, xmlTextWriterStartElement,
              (xmlTextWriterPtr writer, const xmlChar *name), (writer, name))
LATE_FUNCTION(libxml2, int, xmlTextWriterWriteAttribute,
              (xmlTextWriterPtr writer, const xmlChar *name, const xmlChar *content),
              (writer, name, content))
LATE_FUNCTION(libxml2, int, xmlTextWriterWriteString,
              (xmlTextWriterPtr writer, const xmlChar *content), (writer, content))
LATE_FUNCTION(libxml2, char *, xmlURIUnescapeString, (const char *str, int len, char *target),
              (str, len, target))
LATE_FUNCTION(libxml2, int, xmlTextWriterWriteVFormatAttribute,
              (xmlTextWriterPtr writer, const xmlChar *name, const char *format, va_list values),
              (writer, name, format, values))
LATE_FUNCTION(libxml2, int, xmlTextWriterWriteVFormatString,
              (xmlTextWriterPtr writer, const char *format, va_list values),
              (writer, format, values))
/* The error is const from 2.12 on. */
LATE_FUNCTION(libxml2, __typeof__(xmlCtxtGetLastError(NULL)), xmlCtxtGetLastError, (void *ctx),
              (ctx))

__attribute__((visibility("hidden"))) int xmlTextWriterWriteFormatAttribute(xmlTextWriterPtr writer,
                                                                            const xmlChar *name,
                                                                            const char *format, ...)
{
    va_list values;

    va_start(values, format);

    int rc = xmlTextWriterWriteVFormatAttribute(writer, name, format, values);

    va_end(values);
    return rc;
}

__attribute__((visibility("hidden"))) int xmlTextWriterWriteFormatString(xmlTextWriterPtr writer,
                                                                         const char *format, ...)
{
    va_list values;

    va_start(values, format);

    int rc = xmlTextWriterWriteVFormatString(writer, format, values);

    va_end(values);
    return rc;
}

/* This is a variable of the library. */
static void free_late(void *text)
{
    static _Atomic(void *) at;
    const xmlFreeFunc *real = late_library_find(&libxml2, "xmlFree", &at);

    (*real)(text);
}

__attribute__((visibility("hidden"))) xmlFreeFunc xmlFree = free_late;
