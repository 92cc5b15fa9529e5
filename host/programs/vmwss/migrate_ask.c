// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/migrate_ask.h"

#include "guest/domain/migration_asked.h"

static void ask_libvirt(const struct guest *guest, const char *uri,
                        struct migrate_settings *settings)
{
    struct domain_connection *connection = NULL;
    struct error error = {0};

    if (domain_connect(uri, &connection, &error) < 0)
        return;
    if (domain_allowed_downtime(connection, guest->uuid, &settings->downtime_s, &error) == 0)
        settings->source = "libvirt";
    domain_disconnect(connection);
}

static void ask_qemu(const struct fsroot *root, const struct guest *guest,
                     struct migrate_settings *settings)
{
    struct migration_answers answers;
    struct error error = {0};

    if (qemu_ask_migration(root, &guest->process, &answers, &error) == 0) {
        migrate_settings_read(answers.capabilities, answers.parameters, settings);
        migrate_settings_read_status(answers.status, settings);
        settings->source = "qmp";
    }
    migration_answers_free(&answers);
}

void migrate_ask(const struct fsroot *root, const struct guest *guest, const char *uri,
                 struct migrate_settings *settings)
{
    if (guest->from_libvirt)
        ask_libvirt(guest, uri, settings);
    else
        ask_qemu(root, guest, settings);
}
