/* SPDX-License-Identifier: MIT */
/* Text without printf: freestanding. */
#include "schedule/core/dump.h"

#include "schedule/core/life.h"

struct writer {
    jzx__dump_write_fn write;
    void *ctx;
};

static void text(const struct writer *w, const char *words) {
    size_t len = 0;
    while (words[len] != '\0')
        len++;
    w->write(w->ctx, words, len);
}

/* Right-aligned in `width` columns; 0: as wide as it is. */
static void number(const struct writer *w, uint64_t value, unsigned width) {
    char digits[32];
    unsigned at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (width < sizeof digits && sizeof digits - at < width)
        digits[--at] = ' ';
    w->write(w->ctx, digits + at, sizeof digits - at);
}

static void line(const struct writer *w, const char *name, uint64_t value) {
    text(w, name);
    number(w, value, 0);
    text(w, "\n");
}

static const char *mode_text(enum jzx__job_mode mode) {
    static const char *const texts[] = {"one-shot   ", "fixed-rate ", "fixed-delay"};
    return texts[mode];
}

static void job_line(const struct writer *w, const struct jzx__job *job) {
    number(w, job->id, 12);
    text(w, "  ");
    text(w, mode_text(job->mode));
    number(w, job->batch.missed_runs, 10);
    if (job->batch.runs > 0)
        number(w, job->last_fire, 12);
    else
        text(w, "       never");
    number(w, job->deadline, 12);
    text(w, job->is_in_flight ? "  in flight\n" : "  waiting\n");
}

/* The jobs of one sort, by record. */
static void jobs(const struct writer *w, const struct jzx__schedule *s, bool periodic,
                 uint32_t count) {
    line(w, periodic ? "periodic_jobs     " : "one_shot_jobs     ", count);
    if (count > 0)
        text(w, "      job_id  mode          backlog   last_fire    deadline  state\n");
    for (uint32_t i = 0; count > 0 && i < s->table.count; i++) {
        const struct jzx__job *job = &s->table.records[i];
        if (job->is_registered && jzx__job_is_periodic(job) == periodic) {
            job_line(w, job);
            count--;
        }
    }
}

static uint32_t count_one_shots(const struct jzx__schedule *s) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->table.count; i++) {
        const struct jzx__job *job = &s->table.records[i];
        count += job->is_registered && !jzx__job_is_periodic(job);
    }
    return count;
}

/* Kind, load in thousandths and name of each. */
static void probes(const struct writer *w, const struct jzx__gauge *gauge) {
    static const char *const kinds[] = {"  mailbox     ", "  dispatcher  ", "  runtime     "};
    line(w, "load              ", gauge->load);
    for (uint32_t i = 0; i < gauge->count; i++) {
        text(w, kinds[gauge->probes[i].kind]);
        number(w, gauge->samples[i], 4);
        text(w, "  ");
        text(w, gauge->probes[i].name);
        text(w, "\n");
    }
}

static const char *pressure_text(enum jzx__backpressure_state state) {
    static const char *const texts[] = {"normal", "driver backpressured", "gauge backpressured",
                                        "backpressure", "rejecting"};
    return texts[state];
}

/* The owner alone takes commands out, so the list can be walked while others push in front. */
static uint32_t count_commands(const struct jzx__schedule *s) {
    uint32_t count = 0;
    /* acquire: pairs with jzx__mpsc_push; the nodes are visible */
    const struct jzx__mpsc_node *node = jzx__atomic_load_acquire(&s->commands.head);
    for (; node != NULL; node = node->next)
        count++;
    return count;
}

struct jzx__schedule_shape jzx__schedule_shape_of(struct jzx__schedule *s) {
    return (struct jzx__schedule_shape){.wheel_offset = s->places.now,
                                        .active_slots = s->places.slots.used,
                                        .overflow_size = s->places.overflow.count,
                                        .periodic_jobs = s->metrics.periodic_total,
                                        .one_shot_jobs = count_one_shots(s),
                                        .close_tasks = (uint32_t)s->close.heap.count,
                                        .pending_commands = count_commands(s)};
}

void jzx__schedule_dump(struct jzx__schedule *s, jzx__dump_write_fn write, void *ctx) {
    struct writer w = {write, ctx};
    struct jzx__schedule_shape shape = jzx__schedule_shape_of(s);
    struct jzx__schedule_metrics metrics = jzx__schedule_metrics_of(s);
    line(&w, "wheel_offset      ", shape.wheel_offset);
    line(&w, "active_slots      ", shape.active_slots);
    line(&w, "overflow_size     ", shape.overflow_size);
    line(&w, "active_total      ", metrics.active_total);
    line(&w, "pending_commands  ", shape.pending_commands);
    line(&w, "tick_backlog      ", metrics.tick_backlog);
    line(&w, "catch_ups         ", metrics.catch_ups);
    line(&w, "dropped_total     ", metrics.dropped_total);
    line(&w, "diagnostics_lost  ", metrics.diagnostics_dropped_total);
    text(&w, "overload          ");
    text(&w, pressure_text(s->pressure.state));
    text(&w, "\ndriver            ");
    text(&w, s->driver.name != NULL ? s->driver.name : "none");
    text(&w, "\n");
    probes(&w, &s->gauge);
    line(&w, "close_tasks       ", shape.close_tasks);
    jobs(&w, s, false, shape.one_shot_jobs);
    jobs(&w, s, true, shape.periodic_jobs);
}
