// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/ram_config.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int append(struct ram_backend **backends, size_t *n, const struct ram_backend *backend)
{
    if (*n == RAM_CONFIG_MAX_BACKENDS)
        return -E2BIG;
    return array_put(backends, n, backend, sizeof(*backend));
}

int ram_config_add(struct ram_config *config, const struct ram_backend *backend)
{
    int rc = backend->size_bytes > RAM_CONFIG_MAX_BYTES - config->total_bytes
                 ? -E2BIG
                 : append(&config->backends, &config->n_backends, backend);

    if (rc == 0)
        config->total_bytes += backend->size_bytes;
    return rc;
}

int ram_config_add_device(struct ram_config *config, const struct ram_backend *device)
{
    return append(&config->devices, &config->n_devices, device);
}

uint64_t ram_config_bytes(const struct ram_config *config)
{
    bool known = !*config->unknown && !config->assumed;

    for (size_t i = 0; i < config->n_backends; i++)
        known &= !config->backends[i].virtio_mem;
    return known ? config->total_bytes : 0;
}

void ram_config_move(struct ram_config *to, struct ram_config *from)
{
    ram_config_free(to);
    *to = *from;
    *from = (struct ram_config){0};
}

void ram_config_free(struct ram_config *config)
{
    free(config->backends);
    free(config->devices);
    *config = (struct ram_config){0};
}

static bool backend_equal(const struct ram_backend *a, const struct ram_backend *b)
{
    return strcmp(a->id, b->id) == 0 && a->size_bytes == b->size_bytes && a->source == b->source &&
           a->hugetlb == b->hugetlb && a->dimm == b->dimm;
}

bool ram_config_equal(const struct ram_config *a, const struct ram_config *b)
{
    if (a->n_backends != b->n_backends || a->locked != b->locked)
        return false;
    for (size_t i = 0; i < a->n_backends; i++)
        if (!backend_equal(&a->backends[i], &b->backends[i]))
            return false;
    return true;
}

static const struct ram_backend *find_backend(const struct ram_config *config, const char *id)
{
    for (size_t i = 0; i < config->n_backends; i++)
        if (strcmp(config->backends[i].id, id) == 0)
            return &config->backends[i];
    return NULL;
}

/* The memory module is in no XML, as libvirt passed it on from <qemu:commandline>. One with an id
 * of libvirt's has been unplugged, if the XML lacks it. */
static bool is_passed_on(const struct ram_config *xml, const struct ram_backend *backend)
{
    static const char *const libvirts[] = {"memdimm", "memvirtiomem", "memua-"};

    for (size_t i = 0; i < COUNT(libvirts); i++)
        if (strncmp(backend->id, libvirts[i], strlen(libvirts[i])) == 0)
            return false;
    return backend->dimm && !find_backend(xml, backend->id);
}

void ram_config_refine(struct ram_config *xml, const struct ram_config *cmdline)
{
    if (xml->n_backends == 1 && cmdline->n_backends > 0)
        memcpy(xml->backends[0].id, cmdline->backends[0].id, sizeof(xml->backends[0].id));
    for (size_t i = 0; i < xml->n_backends; i++) {
        struct ram_backend *b = &xml->backends[i];
        const struct ram_backend *given = find_backend(cmdline, b->id);

        if (!given || given->size_bytes != b->size_bytes)
            continue;
        b->source = given->source;
        b->hugetlb = given->hugetlb;
        b->node = given->node;
        b->order = given->order;
        memcpy(b->path, given->path, sizeof(b->path));
        b->file_offset = given->file_offset;
    }
    for (size_t i = 0; i < cmdline->n_backends; i++)
        if (is_passed_on(xml, &cmdline->backends[i]))
            ram_config_add(xml, &cmdline->backends[i]);
    for (size_t i = 0; i < cmdline->n_devices; i++)
        ram_config_add_device(xml, &cmdline->devices[i]); /* without it, it counts as unknown */
    xml->locked |= cmdline->locked;
    if (!xml->in_guest_memfd)
        xml->in_guest_memfd = cmdline->in_guest_memfd;
}
