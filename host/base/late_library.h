// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file late_library.h  A shared library that is loaded when the first of its functions is called.
 *
 * Each function is defined under its own name, with the type that the library's header gives it,
 * and passes its arguments on. A program that has these definitions is not linked with the library.
 * A call costs one load and one branch more than a call through the linker.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

struct late_library {
    const char *soname;
    _Atomic(void *) handle; /* handle from dlopen(3); NULL: not loaded yet */
};

/** The address of symbol @p name, which is kept in @p at. Loads the library permanently, if
 * necessary. A program whose library is missing ends with status 127 and the loader's message, as
 * the dynamic linker would have ended it at its start. */
void *late_library_find(struct late_library *library, const char *name, _Atomic(void *) *at);

/** Defines the function @p name. @p result is its type, @p parameters and @p arguments are in
 * parentheses. It is not exported, so that only this program calls it. */
#define LATE_FUNCTION(library, result, name, parameters, arguments)                           \
    __attribute__((visibility("hidden"))) result name parameters                              \
    {                                                                                         \
        static _Atomic(void *) at;                                                            \
        void *found = atomic_load_explicit(&at, memory_order_acquire);                        \
        __typeof__(&(name)) real = found ? found : late_library_find(&(library), #name, &at); \
                                                                                              \
        return real arguments;                                                                \
    }
