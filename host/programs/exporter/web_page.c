// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/exporter/web_page.h"

#include "programs/exporter/message.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define NS 1000000000ULL

struct web_page {
    web_page_make make;
    void *context;
    uint64_t (*clock)(void);
    int ends_fd; /* an eventfd, readable when making must end */
    pthread_t thread;
    int logged; /* for message_outcome(); used only by the thread */
    pthread_mutex_t mutex;
    /* Protected by the mutex: */
    pthread_cond_t wanted;
    bool making; /* requested, but not done yet */
    bool ends;
    uint64_t
        asked_ns; /* when the current or the last page was requested: its age counts from there */
    struct body *body; /* the newest page, if it could be made */
    uint64_t body_ns;
    struct error failure; /* the newest failure; code 0: the newest page was made */
    uint64_t failure_ns;  /* time of the failure */
};

/* --- the thread ------------------------------------------------------------------------------- */

static bool await_demand(struct web_page *page)
{
    bool ends;

    pthread_mutex_lock(&page->mutex);
    while (!page->making && !page->ends)
        pthread_cond_wait(&page->wanted, &page->mutex);
    ends = page->ends;
    pthread_mutex_unlock(&page->mutex);
    return !ends;
}

/* Returns NULL if it could not be made, with the reason in @p error. */
static struct body *make_body(struct web_page *page, struct error *error)
{
    char *text = NULL;
    size_t size = 0;
    struct body *body;

    if (page->make(page->context, page->ends_fd, &text, &size, error) < 0)
        return NULL;
    body = body_new(text, size);
    if (!body)
        error_set(error, -ENOMEM, "out of memory for the page");
    return body;
}

static void note_outcome(struct web_page *page, struct body *body, const struct error *error)
{
    struct body *old;

    pthread_mutex_lock(&page->mutex);
    old = page->body;
    page->body = body;
    page->body_ns = page->asked_ns;
    page->failure = *error;
    page->failure_ns = page->clock();
    page->making = false;
    pthread_mutex_unlock(&page->mutex);
    body_release(old);
}

static void *make_pages(void *context)
{
    struct web_page *page = context;

    while (await_demand(page)) {
        struct error error = {0};
        struct body *body = make_body(page, &error);

        if (error.code != -ECANCELED)
            message_outcome(&page->logged, error.code, &error);
        note_outcome(page, body, &error);
    }
    return NULL;
}

/* --- those who ask ---------------------------------------------------------------------------- */

/* A later attempt may fail for another reason. */
static bool failure_stands(struct web_page *page, uint64_t now_ns)
{
    if (!page->failure.code)
        return false;
    if (now_ns < page->failure_ns + WEB_PAGE_RETRY_S * NS)
        return true;
    page->failure = (struct error){0};
    return false;
}

static bool is_younger(const struct web_page *page, uint64_t now_ns, uint64_t seconds)
{
    return page->body && now_ns - page->body_ns < seconds * NS;
}

/* Call it with the mutex held. @p old: to be released without it. */
static int choose(struct web_page *page, uint64_t now_ns, struct body **body, struct body **old,
                  struct error *error)
{
    if (failure_stands(page, now_ns))
        return error_set(error, page->failure.code, "%s", page->failure.text);
    if (!page->making && !is_younger(page, now_ns, WEB_PAGE_FRESH_S)) {
        page->making = true;
        page->asked_ns = now_ns;
        pthread_cond_signal(&page->wanted);
    }
    if (is_younger(page, now_ns, WEB_PAGE_OLD_S)) {
        *body = body_hold(page->body);
        return 0;
    }
    *old = page->body;
    page->body = NULL;
    return -EAGAIN;
}

int web_page_ask(struct web_page *page, uint64_t now_ns, struct body **body, struct error *error)
{
    struct body *old = NULL;
    int rc;

    pthread_mutex_lock(&page->mutex);
    rc = choose(page, now_ns, body, &old, error);
    pthread_mutex_unlock(&page->mutex);
    body_release(old);
    return rc;
}

/* --- start and end ---------------------------------------------------------------------------- */

static void free_page(struct web_page *page)
{
    body_release(page->body);
    if (page->ends_fd >= 0)
        close(page->ends_fd);
    pthread_cond_destroy(&page->wanted);
    pthread_mutex_destroy(&page->mutex);
    free(page);
}

int web_page_start(struct web_page **out, web_page_make make, void *context,
                   uint64_t (*clock)(void), struct error *error)
{
    struct web_page *page = calloc(1, sizeof(*page));
    int rc;

    if (!page)
        return error_set(error, -ENOMEM, "out of memory");
    page->make = make;
    page->context = context;
    page->clock = clock;
    pthread_mutex_init(&page->mutex, NULL);
    pthread_cond_init(&page->wanted, NULL);
    page->ends_fd = eventfd(0, EFD_CLOEXEC);
    rc = page->ends_fd < 0 ? errno : pthread_create(&page->thread, NULL, make_pages, page);
    if (rc) {
        free_page(page);
        return error_set(error, -rc, "a thread for the page: %s", strerror(rc));
    }
    *out = page;
    return 0;
}

void web_page_stop(struct web_page *page)
{
    if (!page)
        return;
    pthread_mutex_lock(&page->mutex);
    page->ends = true;
    pthread_cond_signal(&page->wanted);
    pthread_mutex_unlock(&page->mutex);
    eventfd_write(page->ends_fd, 1); /* fails only if the counter is full */
    pthread_join(page->thread, NULL);
    free_page(page);
}
