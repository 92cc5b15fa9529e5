// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file shared_memory.c  Processes that share an address space; see processes.h. */
#include "proc/processes.h"

#include "base/cleanup.h"
#include "proc/hidden.h"

#include <linux/kcmp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns 0 if they share an address space, 1 or 2 if not (by an order among address
 * spaces), -1 if it is not known. */
static long compare_threads(pid_t a, pid_t b)
{
    return syscall(SYS_kcmp, a, b, KCMP_VM, 0UL, 0UL);
}

bool memory_sharing_known(const struct fsroot *root)
{
    return process_self(root) == getpid() && compare_threads(getpid(), getpid()) == 0;
}

/* Sorts processes that share an address space next to each other, in the order of the array. */
static int by_memory(const void *a, const void *b)
{
    const struct process *x = *(struct process *const *)a, *y = *(struct process *const *)b;
    long order = compare_threads(x->thread, y->thread);

    if (order == 1 || order == 2)
        return order == 1 ? -1 : 1;
    return (x > y) - (x < y);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = (*(struct process *const *)a)->size_bytes;
    uint64_t y = (*(struct process *const *)b)->size_bytes;

    return (x > y) - (x < y);
}

static void mark_sharing(struct process *const *process, size_t n)
{
    const struct process *first = process[0];

    for (size_t i = 1; i < n; i++)
        if (compare_threads(first->thread, process[i]->thread) == 0)
            process[i]->shares_with = first->pid;
        else
            first = process[i];
}

/* Processes that share an address space have the same size. */
static bool is_any_size_equal(struct process **process, size_t n)
{
    bool found = false;

    qsort(process, n, sizeof(struct process *), by_size);
    for (size_t i = 1; i < n; i++)
        found |= process[i - 1]->size_bytes == process[i]->size_bytes;
    return found;
}

void processes_find_sharing(const struct fsroot *root, struct processes *processes)
{
    cleanup_free struct process **list = calloc(processes->n + 1, sizeof(struct process *));
    bool known = memory_sharing_known(root);
    size_t n = 0;

    for (size_t i = 0; list && i < processes->n; i++) {
        struct process *process = &processes->process[i];

        /* if a process cannot be compared with itself, its page tables cannot be read either */
        if (!known || compare_threads(process->thread, process->thread) == 0)
            list[n++] = process;
    }
    processes->sharing_unknown = !list || (!known && is_any_size_equal(list, n));
    if (known && n > 1) {
        qsort(list, n, sizeof(struct process *), by_memory);
        mark_sharing(list, n);
    }
}

bool process_is_counted(const struct process *process, const struct process *others, size_t n)
{
    for (size_t i = 0; process->shares_with && i < n; i++)
        if (others[i].pid == process->shares_with || others[i].shares_with == process->shares_with)
            return true;
    return false;
}
