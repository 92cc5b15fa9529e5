// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_lru_gen.c  MGLRU's generations, whose lines name control groups as anybody may have
 * called them. */
#include "measure/kernel/lru_gen.h"

#include "fuzz.h"

#include <errno.h>
#include <string.h>

static void check_node(const struct lru_gen_node *node)
{
    CLAIM(node->n > 0 && node->n <= LRU_GEN_MAX);
    for (unsigned i = 1; i < node->n; i++)
        CLAIM(node->generations[i].number > node->generations[i - 1].number);
    CLAIM(lru_gen_youngest(node)->number < UINT64_MAX);
    CLAIM(lru_gen_walked(node, node) == (!node->has_leaves  ? UINT64_MAX
                                         : node->leaves_sum ? 0
                                                            : node->leaves));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct lru_gen gens;
    char *text = malloc(size + 1);

    CLAIM(text);
    memcpy(text, data, size);
    text[size] = '\0';

    int rc = lru_gen_parse(text, "/guest", &gens);

    CLAIM(rc == 0 || rc == -ENOENT || rc == -EBADMSG);
    if (rc == 0)
        CLAIM(gens.n_nodes > 0 && gens.n_nodes <= LRU_GEN_MAX_NODES);
    for (unsigned i = 0; rc == 0 && i < gens.n_nodes; i++)
        check_node(&gens.nodes[i]);
    free(text);
    return 0;
}
