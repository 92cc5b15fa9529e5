// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_process.h  A QEMU process, pinned so that another process is never mistaken for it.
 *
 * The pid is pinned by a pidfd and identified by start time (field 22 of /proc/PID/stat,
 * proc_pid_stat(5)) and executable; qemu_process_verify() is called before every touch of the MMU.
 *
 * A process is not its address space: QEMU's live update (cpr-exec, QEMU 11.1) replaces it by
 * exec(2), and pid, start time and executable stay. Files that were opened below /proc/PID before
 * then belong to memory that is gone, and read as empty. So one such file, pagemap, is kept open:
 * it reads as empty once its address space has no user (fs/proc/task_mmu.c pagemap_read()). Because
 * another user such as vhost may still hold the old address space, the address of the stack (field
 * 28), which is random, is compared as well.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "guest/domain/qemu.h"

/**
 * Opens process @p pid and proves that it is a QEMU system emulator, or (other_vmm) another program
 * with a virtual machine of KVM's.
 * @return 0; -ESRCH no such process; -EPERM or -EACCES not permitted; -ENOEXEC neither;
 *         -EOPNOTSUPP another program with a virtual machine, in a captured tree;
 *         -EINVAL its command line cannot be understood. The caller closes it with
 * qemu_process_close().
 */
int qemu_process_open(const struct fsroot *root, pid_t pid, struct qemu_process *out,
                      struct error *error);
void qemu_process_close(struct qemu_process *process);

/** Exchanges the members, except the config, of @p process and of @p fresh, the same process opened
 * again. Close @p fresh afterwards. */
void qemu_process_renew(struct qemu_process *process, struct qemu_process *fresh);

/** Verifies that it is still the same process, alive, and not a zombie. -ESRCH when it is gone or
 * was replaced; -ESTALE when it is the same process, still a QEMU, with another address space. */
int qemu_process_verify(const struct fsroot *root, const struct qemu_process *process,
                        struct error *error);

/** True when the process is stopped by a signal or a tracer (state T or t). */
bool qemu_process_stopped(const struct fsroot *root, const struct qemu_process *process);

/** Returns true if the process's executable is a QEMU system emulator, whatever its name. */
bool qemu_process_is_qemu(const struct fsroot *root, pid_t pid);

/**
 * Checks that @p pid is now a QEMU system emulator whose command line has this -uuid. libvirt gives
 * one to every QEMU.
 * @return 0; -ESRCH no such process; -ENOEXEC it is another program, or another guest's QEMU (the
 * message names it)
 */
int qemu_process_is_of(const struct fsroot *root, pid_t pid, const char *uuid, struct error *error);

/**
 * Checks that the socket that this QEMU has bound to @p path may belong to its virtserialport of
 * the name @p port, by qemu_socket_may_be_port().
 * @return 0; -EACCES it has another purpose; or the reason why the command line cannot be read
 */
int qemu_process_check_port(const struct fsroot *root, pid_t pid, const char *path,
                            const char *port, struct error *error);

/** Finds every QEMU system emulator below /proc. @p others: also every other program with a KVM
 * virtual machine. @p pids is allocated, the caller frees; returns the count. */
ssize_t qemu_process_find_all(const struct fsroot *root, bool others, pid_t **pids);
