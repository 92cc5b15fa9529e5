// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file heap.c  Real work for a guest: a heap of objects in generations, as a JVM keeps them.
 *
 * heap [ROOTS]: a table of so many live objects (default 4096), of which one after the other is
 * replaced. New objects are allocated in a nursery of 2 MiB, one behind the other. When it is full,
 * those that are still reachable are copied to the old generation. When that is full, what is
 * reachable of it is marked by copying it to the other half, and the halves change places. Objects
 * are not changed once they are made, so none refers to a younger one, and the roots are all that a
 * collection begins with.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NURSERY_BYTES (2UL << 20)
#define HALF_BYTES (8UL << 20)
#define MAX_DEPTH 3
#define LEAST_WORDS 4
#define MOST_WORDS 64

struct object {
    struct object *moved_to; /* while its space is collected */
    struct object *older;    /* or NULL */
    uint32_t words, depth;
    uint64_t data[];
};

struct space {
    char *begin;
    size_t bytes, used;
};

static struct space nursery, old, other;
static struct object **roots;
static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static size_t size_of(uint32_t words)
{
    return sizeof(struct object) + words * sizeof(uint64_t);
}

static struct object *bump(struct space *space, uint32_t words)
{
    struct object *object = (void *)(space->begin + space->used);

    if (space->used + size_of(words) > space->bytes)
        return NULL;
    space->used += size_of(words);
    return object;
}

static int is_in(const struct space *space, const struct object *object)
{
    return (const char *)object >= space->begin &&
           (const char *)object < space->begin + space->bytes;
}

/* Moves the object and those behind it from @from to @to; at most MAX_DEPTH + 1 deep. */
static struct object *evacuate(struct object *object, const struct space *from, struct space *to)
{
    struct object *copy;

    if (!object || !is_in(from, object))
        return object;
    if (object->moved_to)
        return object->moved_to;
    copy = bump(to, object->words);
    if (!copy) {
        fprintf(stderr, "heap: more is live than the old generation holds\n");
        exit(1);
    }
    memcpy(copy, object, size_of(object->words));
    object->moved_to = copy;
    copy->older = evacuate(object->older, from, to);
    return copy;
}

static void collect(struct space *from, struct space *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        roots[i] = evacuate(roots[i], from, to);
    from->used = 0;
}

static void collect_old(size_t n)
{
    struct space empty = other;

    collect(&old, &empty, n);
    other = old;
    old = empty;
}

/* Before the nursery's survivors could be more than the old generation has room for. Returns
 * whether that was collected. */
static int collect_nursery(size_t n)
{
    int is_full = old.bytes - old.used < nursery.bytes;

    collect(&nursery, &old, n);
    if (is_full)
        collect_old(n);
    return is_full;
}

static void replace(size_t i, size_t n, uint32_t words)
{
    struct object *object = bump(&nursery, words), *older = roots[next_random() % n];

    object->moved_to = NULL;
    object->older = older && older->depth < MAX_DEPTH ? older : NULL;
    object->depth = object->older ? older->depth + 1 : 0;
    object->words = words;
    for (uint32_t word = 0; word < words; word++)
        object->data[word] = word ^ random_state;
    roots[i] = object;
}

static struct space make_space(size_t bytes)
{
    struct space space = {malloc(bytes), bytes, 0};

    if (!space.begin)
        exit(1);
    return space;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 4096;
    int collections = 0;

    nursery = make_space(NURSERY_BYTES);
    old = make_space(HALF_BYTES);
    other = make_space(HALF_BYTES);
    roots = n ? calloc(n, sizeof(struct object *)) : NULL;
    if (!roots)
        return 1;
    for (;;) {
        uint32_t words = LEAST_WORDS + next_random() % (MOST_WORDS - LEAST_WORDS);

        if (nursery.bytes - nursery.used < size_of(words) && collect_nursery(n) &&
            ++collections == 2) {
            puts("vmwss-heap ready");
            fflush(stdout);
        }
        replace(next_random() % n, n, words);
    }
}
