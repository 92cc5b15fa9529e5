// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/order.h"

#include "base/cleanup.h"
#include "decide/plan/price.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct ordered_move {
    struct plan_move move;
    size_t leader;  /* of its unit, which has: */
    bool waits;     /* an hour of its own */
    double total_s; /* infinite: not known */
    size_t index;   /* before */
};

static int compare(const void *a, const void *b)
{
    const struct ordered_move *x = a, *y = b;

    if (x->waits != y->waits)
        return x->waits ? 1 : -1;
    if (x->total_s != y->total_s)
        return x->total_s < y->total_s ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* If one guest of a unit has no price, or may not converge, the price of the unit is unknown. */
static void set_key(const struct plan_fleet *fleet, struct ordered_move *moves, size_t n, size_t i)
{
    for (size_t m = 0; m < n; m++) {
        const struct plan_price *price = plan_price_of(fleet, moves[m].move.guest);

        if (moves[m].leader != moves[i].leader)
            continue;
        moves[i].waits |= price && price->hour != PLAN_ANY_HOUR;
        moves[i].total_s += price && isfinite(price->total_s.value) ? price->total_s.value
                                                                    : INFINITY;
    }
}

static void order(const struct plan_state *state, struct plan_move *moves, size_t n,
                  struct ordered_move *draft)
{
    for (size_t m = 0; m < n; m++)
        draft[m] = (struct ordered_move){
            .move = moves[m], .leader = state->unit[moves[m].guest].leader, .index = m};
    for (size_t m = 0; m < n; m++)
        set_key(state->fleet, draft, n, m);
    qsort(draft, n, sizeof(*draft), compare);
    for (size_t m = 0; m < n; m++)
        moves[m] = draft[m].move;
}

int plan_order_moves(const struct plan_state *state, struct plan_moves *moves)
{
    cleanup_free struct ordered_move *draft = calloc(moves->n + 1, sizeof(*draft));
    size_t end;

    if (!draft)
        return -ENOMEM;
    for (size_t first = 0; first < moves->n; first = end) {
        const struct plan_move *of = &moves->move[first];

        for (end = first + 1; end < moves->n && moves->move[end].from == of->from &&
                              moves->move[end].why == of->why;)
            end++;
        order(state, &moves->move[first], end - first, draft);
    }
    return 0;
}
