// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fuzz_wire_number.c  Numbers at their ends, in every field of the wire and in both
 * directions: each is read as exactly what its text says, or is refused.
 *
 * The first byte chooses the field, the second one of the texts below or that the rest is the text,
 * by the letters of an alphabet that leaves JSON's structure alone. What a text means is worked out
 * here, without jansson. The first call goes through all fields and texts.
 */
#include "base/wire/wire.h"
#include "fuzz.h"
#include "guest/agent/agent_message.h"
#include "guest/agent/agent_report_json.h"
#include "guest/agent/agent_tables.h"
#include "guest/domain/ram_config.h"
#include "no_report.h"
#include "proc/keyed.h"
#include "serve/question.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define RAM (1ULL << 30)
#define TEXT 64

static const char *const ends[] = {
    "0", "-0", "1", "-1", "00", "01", "+1", "1.", ".5", "1e5", "1E+5", "1e-5", "1e", "--1",
    /* 2^53, 2^63, 2^64, -2^63, beside them, and far beyond */
    "9007199254740991", "9007199254740992", "9007199254740993", "9223372036854775806",
    "9223372036854775807", "9223372036854775808", "18446744073709551614", "18446744073709551615",
    "18446744073709551616", "-9223372036854775808", "-9223372036854775809", "99999999999999999999",
    "100000000000000000000000000000000000000000", "0.10000000000000000000000000000000001",
    /* reals */
    "0.0", "-0.0", "-0e9", "1e308", "1e309", "1.7976931348623157e308", "-1e308", "1e-320", "5e-324",
    "1e-400", "-1e-400", "1e99999999999999999999", "NaN", "nan", "Infinity", "-inf", "0x10",
    "1e308e1",
    /* the limits of a field */
    "100", "100.0", "100.00000000000001", "100.000000000000001", "4000000000", "4000000000.5",
    "4000000001", "1073741824", "1073741825", "1125899906842624", "1125899906842625", "4194304",
    "4194305", "65535", "65536"};

/* An object of the wire; the field's name and value go between its halves. */
static const struct place {
    const char *before, *after;
    const struct agent_fields *fields;
    size_t offset;
} places[] = {
    {"{\"seq\":1,\"hello\":{\"protocol\":1,", "}}", &agent_hello_fields,
     offsetof(struct agent_message, hello)},
    {"{\"seq\":1,\"report\":{\"memory\":{", "}}}", &agent_memory_fields,
     offsetof(struct agent_message, report.memory)},
    {"{\"seq\":1,\"report\":{\"pressure\":{\"io\":{\"full\":{", "}}}}}", &agent_stalled_fields,
     offsetof(struct agent_message, report.io_pressure.full)},
    {"{\"seq\":1,\"report\":{\"paging\":{", "}}}", &agent_paging_fields,
     offsetof(struct agent_message, report.paging)},
    {"{\"seq\":1,\"report\":{\"processes\":[{", "}]}}", &agent_process_fields,
     offsetof(struct agent_message, top.process)},
    {"{\"seq\":1,\"report\":{\"working_set\":{", "}}}", &agent_working_set_fields,
     offsetof(struct agent_message, report.working_set)},
    {"{\"seq\":1,\"report\":{", "}}", &agent_report_fields, offsetof(struct agent_message, report)},
    {"{\"stall\":{", ",\"resource\":\"io\",\"kind\":\"full\"}}", &agent_stall_fields,
     offsetof(struct agent_message, stall)},
};

/* --- the meaning of a text -------------------------------------------------------------------- */

struct meaning {
    bool number, whole; /* JSON's grammar; without a fraction and an exponent */
    bool minus;
    unsigned __int128 digits; /* of a whole one; no more than 2^100 */
    double real;
};

static const char *skip_digits(const char *text)
{
    return text + strspn(text, "0123456789");
}

static struct meaning meaning_of(const char *text)
{
    struct meaning meaning = {.minus = *text == '-', .whole = true};
    const char *first = text + meaning.minus, *at = skip_digits(first);
    bool good = at > first && (*first != '0' || at == first + 1);

    for (const char *digit = first; digit < at; digit++)
        if (meaning.digits < (unsigned __int128)1 << 100)
            meaning.digits = meaning.digits * 10 + (unsigned)(*digit - '0');
    if (*at == '.') {
        const char *fraction = at + 1;

        at = skip_digits(fraction);
        good = good && at > fraction;
        meaning.whole = false;
    }
    if (*at == 'e' || *at == 'E') {
        const char *exponent = at + 1 + (at[1] == '+' || at[1] == '-');

        at = skip_digits(exponent);
        good = good && at > exponent;
        meaning.whole = false;
    }
    meaning.number = good && !*at;
    meaning.real = meaning.number ? strtod(text, NULL) : NAN;
    return meaning;
}

static bool is_whole_within(const struct meaning *meaning, uint64_t min, uint64_t max)
{
    return meaning->number && meaning->whole && (!meaning->minus || meaning->digits == 0) &&
           meaning->digits >= min && meaning->digits <= max;
}

/* A whole number of JSON is one of 64 bits, also where a real one is asked for. */
static bool is_real_within(const struct meaning *meaning, double max)
{
    return meaning->number && (!meaning->whole || meaning->digits <= INT64_MAX) &&
           meaning->real >= 0 && meaning->real <= max;
}

static bool is_taken(const struct meaning *meaning, enum agent_value value)
{
    switch (value) {
    case VALUE_RAM_BYTES:
        return is_whole_within(meaning, 0, RAM);
    case VALUE_BYTES:
        return is_whole_within(meaning, 0, RAM_CONFIG_MAX_BYTES);
    case VALUE_COUNT:
        return is_whole_within(meaning, 0, INT64_MAX);
    case VALUE_PID:
        return is_whole_within(meaning, 1, 1 << 22);
    case VALUE_PERCENT:
        return is_real_within(meaning, 100);
    case VALUE_SECONDS:
        return is_real_within(meaning, 4e9);
    case VALUE_TEXT:
    case VALUE_FLAG:
    case VALUE_OBJECT:
        break;
    }
    return false;
}

/* --- the host's side -------------------------------------------------------------------------- */

static void check_value(const struct agent_field *field, const struct agent_message *message,
                        size_t offset, const struct meaning *meaning)
{
    const char *at = (const char *)message + offset + field->offset;
    double real;
    uint64_t whole;

    if (field->value == VALUE_PERCENT || field->value == VALUE_SECONDS) {
        memcpy(&real, at, sizeof(real));
        CLAIM(real == meaning->real && !signbit(real));
    } else {
        memcpy(&whole, at, sizeof(whole));
        CLAIM(whole == (uint64_t)meaning->digits);
    }
}

/* A number that is stored and read again is the same to the last bit. */
static void check_again(const struct agent_message *message, const struct place *place,
                        const struct agent_field *field, const struct meaning *meaning)
{
    struct agent_message again;
    struct error error = {0};
    char *line;
    json_t *json;

    if (message->kind != AGENT_MESSAGE_REPORT)
        return;
    json = json_pack("{siso}", "seq", 1, "report",
                     agent_report_json(&message->report, &message->top));
    line = json_dumps(json, JSON_COMPACT);
    CLAIM(agent_message_parse(line, strlen(line), RAM, &again, &error) == 0);
    check_value(field, &again, place->offset, meaning);
    free(line);
    json_decref(json);
}

static void check_field(const struct place *place, const struct agent_field *field,
                        const char *text)
{
    static struct agent_message message;
    struct meaning meaning = meaning_of(text);
    struct error error = {0};
    char line[512];
    int length = snprintf(line, sizeof(line), "%s\"%s\":%s%s", place->before, field->key, text,
                          place->after);
    int rc = agent_message_parse(line, (size_t)length, RAM, &message, &error);

    CLAIM((rc == 0) == is_taken(&meaning, field->value));
    if (rc < 0)
        return;
    check_value(field, &message, place->offset, &meaning);
    check_again(&message, place, field, &meaning);
}

/* --- the agent's side ------------------------------------------------------------------------- */

static void check_question(const char *text)
{
    struct meaning meaning = meaning_of(text);
    struct question question;
    char line[128];
    int length = snprintf(line, sizeof(line), "{\"seq\":%s,\"ask\":\"report\"}", text);
    bool taken = question_parse(&question, line, (size_t)length);

    CLAIM(taken == is_whole_within(&meaning, 0, INT64_MAX));
    if (!taken)
        return;

    struct agent_message message;
    struct error error = {0};
    json_t *answer = question_answer(&question, NULL, NULL);
    char *said = json_dumps(answer, JSON_COMPACT);

    CLAIM(agent_message_parse(said, strlen(said), RAM, &message, &error) == 0);
    CLAIM(message.seq == (uint64_t)meaning.digits);
    free(said);
    json_decref(answer);
}

/* The kernel's numbers, which the agent passes on: exactly, or not at all. */
static void check_counter(const char *text)
{
    static const struct keyed_field fields[] = {{"bytes", 0}, {"kib", sizeof(uint64_t)}};
    struct meaning meaning = meaning_of(text);
    uint64_t value[2];
    char lines[2 * TEXT + 32];

    if (*skip_digits(text + (*text == '-')) || !isdigit((unsigned char)text[*text == '-']))
        return;
    snprintf(lines, sizeof(lines), "bytes %s\nkib: %s kB\n", text, text);
    keyed_parse(lines, fields, COUNT(fields), value);
    CLAIM(value[0] ==
          (meaning.minus || meaning.digits > INT64_MAX ? KEYED_UNKNOWN : (uint64_t)meaning.digits));
    CLAIM(value[1] == (meaning.minus || meaning.digits > INT64_MAX / 1024
                           ? KEYED_UNKNOWN
                           : (uint64_t)meaning.digits * 1024));
}

/* --- all -------------------------------------------------------------------------------------- */

static void check_all(void)
{
    for (size_t i = 0; i < COUNT(ends); i++) {
        for (size_t p = 0; p < COUNT(places); p++)
            for (size_t f = 0; f < places[p].fields->n; f++)
                check_field(&places[p], &places[p].fields->field[f], ends[i]);
        check_question(ends[i]);
        check_counter(ends[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char alphabet[] = "0123456789--+..eENaI";
    static bool done;
    char text[TEXT] = "";
    size_t n = 0, field;

    if (!done)
        check_all();
    done = true;
    if (size < 2)
        return 0;
    field = data[0];
    if (data[1] < COUNT(ends))
        n = (size_t)snprintf(text, sizeof(text), "%s", ends[data[1]]);
    for (size_t i = 2; i < size && n + 1 < sizeof(text); i++)
        text[n++] = alphabet[data[i] % (sizeof(alphabet) - 1)];
    text[n] = '\0';
    if (n == 0)
        return 0;
    check_question(text);
    check_counter(text);
    for (size_t p = 0; p < COUNT(places); p++) {
        if (field < places[p].fields->n)
            check_field(&places[p], &places[p].fields->field[field], text);
        field -= places[p].fields->n;
    }
    return 0;
}
