// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/lru_gen.h"

#include "base/cleanup.h"
#include "base/kernel_number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#define LRU_GEN "sys/kernel/debug/lru_gen"
#define MAX_TEXT (64UL << 20)
#define DETAIL_INDENT 12 /* a generation's number ends in column 11 */

unsigned lru_gen_enabled(const struct fsroot *root)
{
    char text[16];

    if (fsroot_read(root, text, sizeof(text), "sys/kernel/mm/lru_gen/enabled") <= 0)
        return 0;
    return (unsigned)strtoul(text, NULL, 16);
}

/* --- parsing ---------------------------------------------------------------------------------- */

/* Takes a number and the character after it: ' ' or a letter; '\n' or '\0' at the end of the
 * line. */
static bool take_number(const char **at, uint64_t *value, char *suffix)
{
    const char *end = kernel_u64(*at, value);

    if (!end)
        return false;
    *suffix = *end;
    *at = end + (*suffix != '\n' && *suffix != '\0');
    return true;
}

static bool add_generation(struct lru_gen_node *node, const struct lru_generation *generation)
{
    if (node->n == LRU_GEN_MAX || generation->number == UINT64_MAX ||
        (node->n > 0 && generation->number <= lru_gen_youngest(node)->number))
        return false;
    node->generations[node->n++] = *generation;
    return true;
}

/* Takes a detail line that lru_gen_full prints below a generation, indented further: the counts of
 * tiers ("0  0R  0T 0", without the letters before Linux 6.12), and last the counts of walks, which
 * begin with the leaves: "128470T 59823Y 264F 127A", "64235L ..." before 6.12. With
 * CONFIG_LRU_GEN_STATS the letters are small and the counts are per generation: a generation has
 * those of the walk that ended it, and the youngest has none. */
static bool take_detail(const char *line, struct lru_gen_node *node)
{
    uint64_t first;
    char suffix;

    if (node->n == 0 || !take_number(&line, &first, &suffix))
        return false;
    if (suffix == '\0' || !strchr("TtLl", suffix))
        return true;
    node->leaves = first;
    node->has_leaves = true;
    node->leaves_sum = suffix == 'T' || suffix == 'L';
    return true;
}

/* Takes the line of a generation (its number, age and two sizes, each possibly followed by an 'x'),
 * or a detail line. Returns false if it is neither. */
static bool take_line(const char *line, struct lru_gen_node *node)
{
    struct lru_generation generation = {0};
    char suffix;

    if (strspn(line, " ") >= DETAIL_INDENT)
        return take_detail(line, node);
    return take_number(&line, &generation.number, &suffix) && suffix == ' ' &&
           take_number(&line, &generation.age_ms, &suffix) && suffix == ' ' &&
           take_number(&line, &generation.anon_pages, &suffix) &&
           take_number(&line, &generation.file_pages, &suffix) && add_generation(node, &generation);
}

/* "node N" */
static bool is_node(const char *line, uint64_t *id)
{
    char suffix;

    line += strspn(line, " ");
    if (strncmp(line, "node ", 5) != 0)
        return false;
    line += 5;
    return take_number(&line, id, &suffix) && *id <= UINT32_MAX;
}

/* "memcg ID PATH" */
static bool is_group(const char *line, const char *path, uint64_t *id)
{
    size_t length = strlen(path);
    char suffix;

    line += strlen("memcg");
    if (!take_number(&line, id, &suffix) || suffix != ' ')
        return false;
    return strcspn(line, "\n") == length && !strncmp(line, path, length);
}

static bool is_memcg(const char *line)
{
    return !strncmp(line, "memcg ", 6);
}

/* Takes the lines of one node after "node N"; returns the end of these lines, or NULL. */
static const char *take_node(const char *line, uint64_t id, struct lru_gen *out)
{
    struct lru_gen_node *node = &out->nodes[out->n_nodes];
    uint64_t other;

    if (out->n_nodes == LRU_GEN_MAX_NODES)
        return NULL;
    *node = (struct lru_gen_node){.id = (unsigned)id};
    for (; *line && !is_memcg(line) && !is_node(line, &other); line = kernel_next_line(line))
        if (!take_line(line, node))
            return NULL;
    out->n_nodes++;
    return node->n > 0 ? line : NULL;
}

static int take_group(const char *line, struct lru_gen *out)
{
    uint64_t id;

    while (line && *line && !is_memcg(line))
        line = is_node(line, &id) ? take_node(kernel_next_line(line), id, out) : NULL;
    return line && out->n_nodes > 0 ? 0 : -EBADMSG;
}

int lru_gen_parse(const char *text, const char *path, struct lru_gen *out)
{
    uint64_t id;
    int rc = -ENOENT;

    out->n_nodes = 0;
    /* The last match counts: removed groups to which pages are still charged come first, under the
     * same path. */
    for (const char *line = text; *line; line = kernel_next_line(line))
        if (is_memcg(line) && is_group(line, path, &id)) {
            out->memcg_id = id;
            out->n_nodes = 0;
            rc = take_group(kernel_next_line(line), out);
        }
    return rc;
}

/* --- reading ---------------------------------------------------------------------------------- */

static ssize_t read_text(const struct fsroot *root, bool leaves, char **text)
{
    ssize_t n = leaves ? fsroot_read_all(root, text, MAX_TEXT, LRU_GEN "_full") : -ENOENT;

    return n == -ENOENT ? fsroot_read_all(root, text, MAX_TEXT, LRU_GEN) : n;
}

int lru_gen_read(const struct fsroot *root, const char *path, bool leaves, struct lru_gen *out,
                 struct error *error)
{
    cleanup_free char *text = NULL;
    ssize_t n = read_text(root, leaves, &text);

    if (n == -ENOENT)
        return error_set(error, -ENOENT,
                         "/" LRU_GEN " is missing: mount -t debugfs none /sys/kernel/debug; "
                         "the kernel needs CONFIG_LRU_GEN=y");
    if (n < 0)
        return error_set(error, (int)n, "/" LRU_GEN ": %s", strerror((int)-n));

    int rc = lru_gen_parse(text, path, out);

    if (rc == -ENOENT)
        return error_set(error, rc, "/" LRU_GEN " has no entry for control group %s", path);
    return rc < 0 ? error_set(error, rc,
                              "/" LRU_GEN ": the entry of control group %s is not understood", path)
                  : 0;
}

/* --- ageing ----------------------------------------------------------------------------------- */

int lru_gen_age(const struct fsroot *root, uint64_t memcg_id, const struct lru_gen_node *node)
{
    char order[80];
    cleanup_close int fd = fsroot_openf(root, O_WRONLY, LRU_GEN);
    int length = snprintf(order, sizeof(order), "+ %" PRIu64 " %u %" PRIu64 " 1 1", memcg_id,
                          node->id, lru_gen_youngest(node)->number);

    if (fd < 0)
        return fd;
    return write(fd, order, (size_t)length) < 0 ? -errno : 0;
}

uint64_t lru_gen_walked(const struct lru_gen_node *before, const struct lru_gen_node *after)
{
    if (!before->has_leaves || !after->has_leaves || before->leaves_sum != after->leaves_sum)
        return UINT64_MAX;
    if (!after->leaves_sum)
        return after->leaves;
    return after->leaves >= before->leaves ? after->leaves - before->leaves : UINT64_MAX;
}
