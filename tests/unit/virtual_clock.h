// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file virtual_clock.h  A clock of a test's own, which passes only while the test lets it.
 *
 * Theory of operation. The linker puts what is here between the code under test and each call by
 * which it reads the time or waits for it: CMakeLists.txt lists them. Until virtual_clock_start()
 * they do what they always do. From then on CLOCK_MONOTONIC stands still, in this process and in
 * those that it forks. The thread that started the clock drives it: when that one waits for a time,
 * or calls virtual_clock_pass_ms(), the clock jumps from one moment to the next that any thread
 * waits for. Before each jump all other threads have come to rest, that is, they wait for
 * something, so it makes no difference how long they take to get there: a test has the same result
 * on any machine, and a minute costs it nothing. CPU time is virtual as well: work takes none
 * unless a test says so, or a slow machine would use up the budget.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/** To be called before other threads and processes begin; does nothing when there is a clock. */
void virtual_clock_start(void);

/** Until each thread, of this process and of those it forked, waits for something. What it was
 * asked for it has done by then. */
void virtual_clock_settle(void);

/** So much time passes; when the driving thread calls it all have come to rest after that. */
void virtual_clock_pass_ms(uint64_t ms);

/** All threads together have used so much CPU time. */
void virtual_clock_use_cpu_s(double seconds);

/** Until virtual_clock_clear(@p flag), in this process or in another that has it in shared memory.
 */
void virtual_clock_wait_while(atomic_bool *flag);

void virtual_clock_clear(atomic_bool *flag);

/** The earliest moment at which a thread of this process wakes that waits for @p cond; UINT64_MAX:
 * none does. */
uint64_t virtual_clock_wakes_ns(const pthread_cond_t *cond);

/** NULL, or what is called when a thread is about to wait for @p cond, with its mutex held; it may
 * have it wake at another moment. */
extern void (*virtual_clock_on_wait)(const pthread_cond_t *cond, uint64_t *until_ns);
