// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file xml_tree.h  The few steps in an XML tree that domain XML needs; libxml2's names stay here.
 */
#pragma once

#include "base/error.h"

#include <libxml/tree.h>
#include <stdbool.h>
#include <stdint.h>

/** Parses untrusted bytes: no network, no DTD and so no declared entities. -EINVAL with the
 * parser's message. Free with xmlFreeDoc(). */
int xml_tree_parse(const char *xml, size_t length, xmlDocPtr *out, struct error *error);

/** The first child element of that name; NULL if there is no such child or @p parent is NULL. */
const xmlNode *xml_child(const xmlNode *parent, const char *name);

/** The next sibling element of the same name, or NULL. */
const xmlNode *xml_next(const xmlNode *node);

/** Copies an element's text without surrounding white space: 1; 0 when @p node is NULL; -EOVERFLOW.
 */
int xml_text(const xmlNode *node, char *text, size_t size);

/** As xml_text(), for an attribute's value; 0 if it is absent. */
int xml_attribute(const xmlNode *node, const char *name, char *text, size_t size);

/** Returns true if the attribute exists and is @p value. */
bool xml_attribute_is(const xmlNode *node, const char *name, const char *value);

/**
 * A size as libvirt writes it: a number, and its unit in attribute "unit" of @p node (KiB when
 * absent). Source: libvirt src/util/virutil.c virScaleInteger(): b, bytes, k..E and KiB..EiB count
 * by 1024, KB..EB by 1000, all in either case.
 * @return 0; -EINVAL no such number or unit; -ERANGE larger than 64 bits.
 */
int xml_scaled_bytes(const xmlNode *node, const char *number, uint64_t *bytes);
