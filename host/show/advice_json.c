// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file advice_json.c  See advice.h: makes one object for each guest. */
#include "show/advice.h"

#include "base/text/json.h"
#include "base/text/units.h"
#include "decide/advice/words.h"

#include <math.h>

static void set_bytes(json_t *object, const char *key, uint64_t bytes)
{
    json_object_set_new(object, key,
                        bytes == DECIDE_UNKNOWN ? json_null() : json_integer((json_int_t)bytes));
}

static void set_number(json_t *object, const char *key, double number)
{
    json_object_set_new(object, key, isfinite(number) ? json_real(number) : json_null());
}

static void set_time(json_t *object, const char *key, double unix_s)
{
    char text[40];

    json_object_set_new(object, key, json_string(show_time(text, sizeof(text), unix_s, 0)));
}

static void set_bits(json_t *object, const char *key, unsigned bits,
                     const char *(*name)(unsigned number))
{
    json_t *array = json_array();

    for (unsigned b = 0; name(b); b++)
        if (bits & 1U << b)
            json_array_append_new(array, json_string(name(b)));
    json_object_set_new(object, key, array);
}

static json_t *window_json(const struct decide_wss *wss, double wanted_s, double factor,
                           uint64_t demand_bytes)
{
    json_t *object = json_object();
    bool known = wss->window_s > 0;

    set_number(object, "wanted_s", wanted_s);
    set_number(object, "window_s", known ? wss->window_s : NAN);
    set_bytes(object, "wss_low_bytes", known ? wss->low_bytes : DECIDE_UNKNOWN);
    set_bytes(object, "wss_high_bytes", known ? wss->high_bytes : DECIDE_UNKNOWN);
    set_number(object, "factor", factor);
    set_bytes(object, "demand_bytes", known ? demand_bytes : DECIDE_UNKNOWN);
    return object;
}

static json_t *windows_json(const struct advice *advice)
{
    const struct decide_policy *policy = &decide_policy_default;
    const struct decide_input *input = &advice->input;
    const struct decide_decision *decision = &advice->decision;
    json_t *array = json_array();

    json_array_append_new(array, window_json(&input->short_wss, advice->windows.short_s,
                                             policy->short_factor, decision->demand_short_bytes));
    json_array_append_new(array, window_json(&input->mid_wss, advice->windows.mid_s,
                                             policy->mid_factor, decision->demand_mid_bytes));
    json_array_append_new(array, window_json(&input->long_wss, advice->windows.long_s,
                                             policy->long_factor, decision->demand_long_bytes));
    return array;
}

static void set_sizes(json_t *object, const struct advice *advice)
{
    const struct decide_input *input = &advice->input;
    const struct decide_decision *decision = &advice->decision;

    set_number(object, "age_s", input->age_s);
    set_number(object, "up_s", input->up_s);
    set_bytes(object, "assigned_bytes", input->assigned_bytes);
    set_bytes(object, "actual_bytes", input->actual_bytes);
    set_bytes(object, "resident_bytes", input->resident_bytes);
    set_bytes(object, "unmeasurable_bytes", input->unmeasurable_bytes);
    set_bytes(object, "target_bytes", decision->target_bytes);
    set_bytes(object, "give_back_bytes", decision->give_back_bytes);
    json_object_set_new(object, "action", json_string(decide_action_name(decision->action)));
    json_object_set_new(object, "term", json_string(decide_term_name(decision->term)));
    json_object_set_new(object, "confidence",
                        json_string(decide_confidence_name(decision->confidence)));
}

static void set_terms(json_t *object, const struct advice *advice)
{
    const struct decide_input *input = &advice->input;
    const struct decide_decision *decision = &advice->decision;
    bool used = decision->floor_kind != FLOOR_HALF;

    json_object_set_new(object, "windows", windows_json(advice));
    set_bytes(object, "day_p99_bytes", input->day_s > 0 ? input->day_bytes : DECIDE_UNKNOWN);
    set_number(object, "day_s", input->day_s);
    set_bytes(object, "demand_bytes", decision->measured ? decision->demand_bytes : DECIDE_UNKNOWN);
    set_bytes(object, "reserve_bytes", decision->reserve_bytes);
    json_object_set_new(object, "floor", json_string(decide_floor_name(decision->floor_kind)));
    json_object_set_new(object, "statistics", json_string(guest_stats_source_name(advice->source)));
    set_bytes(object, "used_bytes", used ? decision->used_bytes : DECIDE_UNKNOWN);
    set_bytes(object, "swappable_bytes", used ? decision->droppable_bytes : DECIDE_UNKNOWN);
    set_bytes(object, "floor_bytes", decision->floor_bytes);
    set_bytes(object, "learned_bytes", decision->learned_bytes);
    set_bytes(object, "wanted_bytes", decision->wanted_bytes);
    set_bytes(object, "band_bytes", decision->band_bytes);
    set_number(object, "rho", decision->rho);
}

int advice_print_json(const struct advice *advice)
{
    const struct decide_decision *decision = &advice->decision;
    json_t *object = json_object();
    char why[DECIDE_WHY_TEXT];

    json_object_set_new(object, "schema", json_string("vmwss.advice.v1"));
    set_time(object, "time", advice->time_s);
    json_object_set_new(object, "host", json_text(advice->guest.host));
    json_object_set_new(object, "domain", json_text(advice->guest.name));
    json_object_set_new(object, "uuid", json_text(advice->guest.uuid));
    set_sizes(object, advice);
    set_bits(object, "vetoes", decision->vetoes, decide_veto_name);
    set_bits(object, "panics", decision->panics, decide_panic_name);
    set_bits(object, "unsure", decision->unsure, decide_unsure_name);
    json_object_set_new(
        object, "why",
        json_text(decide_why(why, sizeof(why), &decide_policy_default, &advice->input, decision)));
    set_terms(object, advice);
    return json_print_line(object);
}

/* --- the past --------------------------------------------------------------------------------- */

static void set_count(json_t *object, const char *key, uint64_t n)
{
    json_object_set_new(object, key, json_integer((json_int_t)n));
}

int replayed_print_json(const struct replayed *replayed)
{
    const struct backtest_result *result = &replayed->result;
    json_t *object = json_object();

    json_object_set_new(object, "schema", json_string("vmwss.backtest.v1"));
    json_object_set_new(object, "host", json_text(replayed->guest.host));
    json_object_set_new(object, "domain", json_text(replayed->guest.name));
    json_object_set_new(object, "uuid", json_text(replayed->guest.uuid));
    set_time(object, "from", replayed->from_s);
    set_time(object, "to", replayed->to_s);
    set_number(object, "horizon_s", replayed->horizon_s);
    set_number(object, "replayed_s", result->replayed_s);
    set_count(object, "decisions", result->decisions);
    set_count(object, "vetoed", result->vetoed);
    set_count(object, "scored", result->scored);
    set_count(object, "exceeded", result->exceeded);
    set_number(object, "exceeded_share",
               result->scored ? (double)result->exceeded / (double)result->scored : NAN);
    set_count(object, "size_exceeded", result->size_exceeded);
    set_bytes(object, "worst_bytes", result->worst_bytes);
    set_number(object, "saved_byte_seconds", result->saved_byte_s);
    set_number(object, "saved_mean_bytes",
               result->replayed_s > 0 ? result->saved_byte_s / result->replayed_s : NAN);
    set_count(object, "changes", result->changes);
    set_count(object, "shrinks", result->shrinks);
    set_count(object, "grows", result->grows);
    set_count(object, "reversals", result->reversals);
    return json_print_line(object);
}
