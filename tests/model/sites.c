/* SPDX-License-Identifier: MIT */
/* Sites, their weakenings, and the trace. Sites live as long as the program; what they are keyed by
 * is the source position, as one inline function expands in many files. */
#include "sites.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_SIZE 4096
#define EVENTS_MAX (MODEL_STEPS_MAX + 64)
#define PRINTED_MAX 200
#define SPECS_MAX 4

static struct model_site sites[MODEL_SITES_MAX];
static size_t site_count;

/* From the address of a file name and a line to a site, so that the common case needs no strcmp. */
static struct {
    const char *file;
    int line;
    struct model_site *site;
} cache[CACHE_SIZE];

static struct {
    char where[128]; /* FILE:LINE or FUNCTION/OPERATION/OPERAND */
    char how[32];    /* empty: the first one-step weakening */
} specs[SPECS_MAX];
static size_t spec_count;

static const char *const op_names[MODEL_OPS] = {"load", "store", "exchange", "add",
                                                "sub",  "or",    "and",      "cas"};
static const char *const order_names[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};

const char *model_order_name(enum model_order order) {
    return order_names[order];
}

const char *model_site_file(const struct model_site *site) {
    const char *last = strstr(site->file, "/src/");
    if (last == NULL)
        last = strstr(site->file, "/tests/");
    return last == NULL ? site->file : last + 1;
}

void model_site_print(FILE *out, const struct model_site *site) {
    fprintf(out, "%s:%d %s %s %s(%s)", model_site_file(site), site->line, site->function,
            op_names[site->op], model_order_name(site->order), site->text);
}

/* ---- weakening ---- */

size_t model_site_weakenings(const struct model_site *site, struct model_weakening *out) {
    size_t count = 0;
    bool is_load = site->op == MODEL_LOAD;
    bool is_store = site->op == MODEL_STORE;
    if (site->order == MODEL_SEQ_CST) {
        out[count++].order = is_load ? MODEL_ACQUIRE : is_store ? MODEL_RELEASE : MODEL_ACQ_REL;
    } else if (site->order == MODEL_ACQ_REL) {
        out[count++].order = MODEL_ACQUIRE;
        out[count++].order = MODEL_RELEASE;
    } else if (site->order != MODEL_RELAXED) {
        out[count++].order = MODEL_RELAXED;
    }
    for (size_t i = 0; i < count; i++)
        out[i].on_failure = false;
    if (site->op == MODEL_CAS && site->order_failed == MODEL_ACQUIRE)
        out[count++] = (struct model_weakening){.order = MODEL_RELAXED, .on_failure = true};
    return count;
}

void model_site_weaken(struct model_site *site, struct model_weakening weakening) {
    if (weakening.on_failure)
        site->used_failed = weakening.order;
    else
        site->used = weakening.order;
}

void model_sites_restore(void) {
    for (size_t i = 0; i < site_count; i++) {
        sites[i].used = sites[i].order;
        sites[i].used_failed = sites[i].order_failed;
    }
}

/* True if text ends with word, and word is not the rest of a longer one. */
static bool ends_with_word(const char *text, const char *word) {
    size_t skip = strlen(text) - strlen(word);
    if (strlen(word) > strlen(text) || strcmp(text + skip, word) != 0)
        return false;
    return skip == 0 || strchr(">./&", text[skip - 1]) != NULL;
}

bool model_site_is(const struct model_site *site, const char *name) {
    char where[128];
    snprintf(where, sizeof where, "%s", name);
    char *line = strrchr(where, ':');
    if (line != NULL) {
        *line = '\0';
        return atoi(line + 1) == site->line && ends_with_word(site->file, where);
    }
    char *op = strchr(where, '/');
    char *operand = op == NULL ? NULL : strchr(op + 1, '/');
    if (operand == NULL)
        return false;
    *op = *operand = '\0';
    return strcmp(where, site->function) == 0 && strcmp(op + 1, op_names[site->op]) == 0 &&
           ends_with_word(site->text, operand + 1);
}

static bool find_order(const char *name, enum model_order *order) {
    for (size_t i = 0; i < sizeof order_names / sizeof *order_names; i++) {
        if (strcmp(name, order_names[i]) == 0) {
            *order = (enum model_order)i;
            return true;
        }
    }
    return false;
}

static void weaken_if_named(struct model_site *site) {
    struct model_weakening possible[3];
    if (model_site_weakenings(site, possible) == 0)
        return;
    for (size_t i = 0; i < spec_count; i++) {
        if (!model_site_is(site, specs[i].where))
            continue;
        if (specs[i].how[0] == '\0')
            model_site_weaken(site, possible[0]);
        else if (!find_order(specs[i].how, &site->used))
            site->used_failed = MODEL_RELAXED; /* "failed" */
        if (site->used == MODEL_RELAXED)
            site->used_failed = MODEL_RELAXED;
    }
}

static bool add_spec(const char *text, size_t length) {
    enum model_order ignored;
    char *where = specs[spec_count].where;
    char *how = specs[spec_count].how;
    if (spec_count == SPECS_MAX || length >= sizeof specs[0].where)
        return false;
    memcpy(where, text, length);
    where[length] = how[0] = '\0';
    char *colon = strrchr(where, ':');
    if (colon != NULL && (find_order(colon + 1, &ignored) || strcmp(colon + 1, "failed") == 0)) {
        snprintf(how, sizeof specs[0].how, "%s", colon + 1);
        *colon = '\0';
    }
    spec_count++;
    return strchr(where, ':') != NULL || strchr(where, '/') != NULL;
}

bool model_sites_weaken_by_spec(const char *text) {
    spec_count = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (!add_spec(text, length))
            return false;
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    model_sites_restore();
    for (size_t i = 0; i < site_count; i++)
        weaken_if_named(&sites[i]);
    return true;
}

/* ---- finding ---- */

static struct model_site *find_by_name(enum model_op op, enum model_order order, const char *text,
                                       const char *file, int line) {
    for (size_t i = 0; i < site_count; i++) {
        struct model_site *site = &sites[i];
        if (site->line == line && site->op == op && site->order == order &&
            strcmp(site->text, text) == 0 && strcmp(site->file, file) == 0)
            return site;
    }
    return NULL;
}

struct model_site *model_site_find(enum model_op op, enum model_order order,
                                   enum model_order order_failed, MODEL_HERE_PARAMS) {
    size_t slot = ((uintptr_t)file * 31 + (uintptr_t)text * 7 + (unsigned)line) % CACHE_SIZE;
    struct model_site *site = cache[slot].site;
    if (site == NULL || cache[slot].file != file || cache[slot].line != line || site->op != op ||
        site->order != order || strcmp(site->text, text) != 0) {
        site = find_by_name(op, order, text, file, line);
        if (site == NULL) {
            if (site_count == MODEL_SITES_MAX)
                model_fail("more than %d sites", MODEL_SITES_MAX);
            site = &sites[site_count++];
            *site = (struct model_site){.file = file,
                                        .line = line,
                                        .function = function,
                                        .text = text,
                                        .op = op,
                                        .order = order,
                                        .order_failed = order_failed,
                                        .used = order,
                                        .used_failed = order_failed};
            weaken_if_named(site);
        }
        cache[slot].file = file;
        cache[slot].line = line;
        cache[slot].site = site;
    }
    site->met = true;
    return site;
}

size_t model_site_count(void) {
    return site_count;
}

struct model_site *model_site_at(size_t index) {
    return &sites[index];
}

void model_sites_forget_met(void) {
    for (size_t i = 0; i < site_count; i++)
        sites[i].met = false;
}

/* ---- the trace ---- */

static struct model_event events[EVENTS_MAX];
static size_t event_count;

void model_trace_clear(void) {
    event_count = 0;
}

void model_trace_add(const struct model_event *event) {
    if (event_count < EVENTS_MAX)
        events[event_count++] = *event;
}

static void print_values(FILE *out, const struct model_event *event) {
    enum model_op op = event->site->op;
    if (op != MODEL_STORE)
        fprintf(out, " read %" PRIx64, event->read);
    if (op == MODEL_STORE || event->stored)
        fprintf(out, " wrote %" PRIx64, event->written);
    if (op == MODEL_CAS && !event->stored)
        fprintf(out, " (not exchanged)");
    if (event->newer != 0)
        fprintf(out, " [%u newer]", event->newer);
}

void model_trace_print(FILE *out) {
    size_t first = event_count > PRINTED_MAX ? event_count - PRINTED_MAX : 0;
    for (size_t i = first; i < event_count; i++) {
        const struct model_event *event = &events[i];
        fprintf(out, "%4zu  %*sT%u  ", i, (int)event->thread * 2, "", event->thread);
        if (event->site == NULL) {
            fprintf(out, "%s %p\n", event->words, (const void *)(uintptr_t)event->address);
            continue;
        }
        const struct model_site *site = event->site;
        fprintf(out, "%s %s %s:", op_names[site->op], model_order_name(site->used), site->text);
        print_values(out, event);
        fprintf(out, "  (%s %s:%d)\n", site->function, model_site_file(site), site->line);
    }
}
