// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/qemu_option.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* QEMU also takes strings in single quotes (qobject/json-lexer.c). NULL: out of memory. */
static char *with_double_quotes(const char *text)
{
    char *all = calloc(2, strlen(text) + 1);
    char *at = all;
    char quote = '\0';

    for (; all && *text; text++) {
        const char c = *text;
        const bool is_quote = quote ? c == quote : c == '\'' || c == '"';

        if (is_quote)
            quote = quote ? '\0' : c;
        else if ((quote && c == '\\' && text[1]) || (quote == '\'' && c == '"'))
            *at++ = '\\';
        if (quote && c == '\\' && text[1] && *++text == '\'')
            at--; /* JSON has no \' */
        *at++ = is_quote ? '"' : *text;
    }
    return all;
}

int qemu_option_open(struct qemu_option *option, const char *text)
{
    option->text = text;
    option->json = NULL;
    if (text[0] != '{')
        return 0;

    cleanup_free char *json = with_double_quotes(text);

    option->json = json ? json_loads(json, JSON_REJECT_DUPLICATES, NULL) : NULL;
    return option->json ? 0 : -EINVAL;
}

void qemu_option_close(struct qemu_option *option)
{
    json_decref(option->json);
    option->json = NULL;
}

/* Copies a C string; 1, or -EOVERFLOW when it had to be cut. */
static int put_value(char *value, size_t size, const char *text)
{
    int length = snprintf(value, size, "%s", text);

    return length < 0 || (size_t)length >= size ? -EOVERFLOW : 1;
}

/* A dotted key of the plain syntax is a member of a member in JSON (util/keyval.c). */
static const json_t *json_find(const struct json_t *object, const char *key)
{
    const json_t *item = json_object_get(object, key);
    const char *dot = item ? NULL : strchr(key, '.');

    return dot ? json_find(json_object_getn(object, key, (size_t)(dot - key)), dot + 1) : item;
}

static int json_get(const struct json_t *object, const char *key, char *value, size_t size)
{
    const json_t *item = json_find(object, key);
    char number[32];

    if (json_is_string(item))
        return put_value(value, size, json_string_value(item));
    if (json_is_boolean(item))
        return put_value(value, size, json_is_true(item) ? "on" : "off");
    if (!json_is_integer(item))
        return 0;
    snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(item));
    return put_value(value, size, number);
}

/* The end of the item at @p at: a comma that is not doubled, or the NUL. */
static const char *item_end(const char *at)
{
    while (*at) {
        if (at[0] == ',' && at[1] != ',')
            break;
        at += at[0] == ',' ? 2 : 1;
    }
    return at;
}

/* Copies [from, to) with doubled commas made single. */
static int put_unescaped(char *value, size_t size, const char *from, const char *to)
{
    size_t have = 0;

    for (; from < to; from++) {
        if (have + 1 >= size)
            break;
        value[have++] = *from;
        if (from[0] == ',' && from + 1 < to)
            from++;
    }
    value[have] = '\0';
    return from < to ? -EOVERFLOW : 1;
}

/* Splits the item [at, end) into its key and the begin of its value; a value of NULL is a flag. A
 * first item without '=' belongs to @p implied. */
static const char *item_value(const char *at, const char *end, const char *implied,
                              const char **key, size_t *key_length)
{
    const char *equals = memchr(at, '=', (size_t)(end - at));

    *key = at;
    *key_length = (size_t)((equals ? equals : end) - at);
    if (equals)
        return equals + 1;
    if (!implied)
        return NULL;
    *key = implied;
    *key_length = strlen(implied);
    return at;
}

/* In keys of -machine an underscore is a dash (keyval_dashify()). Elsewhere QEMU takes only one of
 * the two, so that a QEMU that runs was given that one. */
static bool is_key(const char *name, size_t length, const char *key)
{
    size_t i = 0;

    while (i < length && (name[i] == key[i] || (name[i] == '_' && key[i] == '-')))
        i++;
    return i == length && key[i] == '\0';
}

static int text_get(const char *text, const char *implied, const char *key, char *value,
                    size_t size)
{
    int found = 0;

    for (const char *at = text; *at;) {
        const char *end = item_end(at);
        const char *name;
        size_t length;
        const char *from = item_value(at, end, at == text ? implied : NULL, &name, &length);

        if (is_key(name, length, key))
            found = from ? put_unescaped(value, size, from, end) : put_value(value, size, "on");
        at = *end ? end + 1 : end;
    }
    return found;
}

int qemu_option_get(const struct qemu_option *option, const char *implied, const char *key,
                    char *value, size_t size)
{
    if (option->json)
        return json_get(option->json, key, value, size);
    return text_get(option->text, implied, key, value, size);
}

bool qemu_option_is_on(const struct qemu_option *option, const char *key)
{
    static const char *const on[] = {"on", "yes", "true", "y"};
    char value[8];

    if (qemu_option_get(option, NULL, key, value, sizeof(value)) != 1)
        return false;
    for (size_t i = 0; i < COUNT(on); i++)
        if (strcmp(value, on[i]) == 0)
            return true;
    return false;
}

/* Bytes of one @p letter; 0 if it is not a unit. */
static uint64_t unit_bytes(char letter)
{
    static const char letters[] = "bkmgtpe";
    const char *at = letter ? strchr(letters, letter | 0x20) : NULL;

    return at ? 1ULL << (10 * (at - letters)) : 0;
}

/* Digits after the point, as a share of @p unit; enough precision for any size people write. */
static uint64_t fraction_bytes(const char **at, uint64_t unit)
{
    double share = 0;
    double weight = 0.1;

    while (**at >= '0' && **at <= '9') {
        share += weight * (*(*at)++ - '0');
        weight /= 10;
    }
    return (uint64_t)(share * (double)unit + 0.5);
}

/* The unit that ends a size: the letter at @p at with nothing behind it, or no letter. 0 is an
 * error. */
static uint64_t final_unit(const char *at, uint64_t unit)
{
    if (!*at)
        return unit;
    return at[1] ? 0 : unit_bytes(*at);
}

int qemu_size_parse(const char *text, uint64_t unit, uint64_t *bytes)
{
    char *end;

    text += strspn(text, " \t");
    text += *text == '+';

    const bool hex = text[0] == '0' && (text[1] | 0x20) == 'x';

    if (!isdigit((unsigned char)text[text[0] == '.'])) /* ".5G" since QEMU 8.1 */
        return -EINVAL;
    errno = 0;
    uint64_t whole = strtoull(text, &end, hex ? 16 : 10);

    if (errno)
        return -ERANGE;
    const char *after = end;
    const char *point = !hex && *end == '.' ? end + 1 : NULL;

    if (point)
        after = point + strspn(point, "0123456789");
    unit = final_unit(after, unit);
    if (unit == 0)
        return -EINVAL;
    if (__builtin_mul_overflow(whole, unit, &whole))
        return -ERANGE;
    if (point && __builtin_add_overflow(whole, fraction_bytes(&point, unit), &whole))
        return -ERANGE;
    if (whole > INT64_MAX)
        return -ERANGE;
    *bytes = whole;
    return 0;
}
