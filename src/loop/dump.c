/* SPDX-License-Identifier: MIT */
/* A snapshot of a loop for people. It reads only what any thread may read, so it can be taken at
 * any time from anywhere, and stops nobody; figures that belong together may be of slightly
 * different moments. */
#include "actor/info.h"
#include "actor/loop.h"
#include "base/log.h"
#include "file/uring.h"
#include "loop/wait_text.h"
#include "process/process.h"
#include "sched/crew.h"
#include "super/super.h"
#include "super/tree.h"
#include "typed/registry.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 256u

/* Actors that are shown: those that have most mail; and those that do not return. */
#define SHOWN_MAX 16u
#define WAIT_KINDS 32u /* there are fewer */

struct dump {
    jzx_dump_fn line;
    void *ctx;
};

__attribute__((format(printf, 2, 3))) static void print(const struct dump *dump, const char *format,
                                                        ...) {
    char text[JZX__LOG_LINE_SIZE];
    va_list args;
    va_start(args, format);
    (void)jzx__log_format(text, sizeof text, format, args);
    va_end(args);
    dump->line(dump->ctx, text);
}

/* The same for lines of the other parts. */
static void print_line(void *ctx, const char *line) {
    print(ctx, "%s", line);
}

typedef unsigned long long ull; /* what printf takes on every system */

static void print_books(const struct dump *dump, const jzx_loop *loop) {
    jzx_stats stats = {.size = sizeof stats};
    jzx_loop_stats(loop, &stats);
    print(dump, "actors    %llu alive, %llu spawned, %llu ended, %llu of them failed",
          (ull)(stats.spawned > stats.exited ? stats.spawned - stats.exited : 0),
          (ull)stats.spawned, (ull)stats.exited, (ull)stats.failed);
    print(dump, "messages  %llu accepted, %llu handled, %llu dead, %llu waiting",
          (ull)stats.accepted, (ull)stats.handled, (ull)stats.dead, (ull)stats.waiting);
    print(dump,
          "refused   %llu full, %llu no such actor, %llu closed, %llu invalid, %llu no memory",
          (ull)stats.refused_full, (ull)stats.refused_no_actor, (ull)stats.refused_closed,
          (ull)stats.refused_invalid, (ull)stats.refused_no_memory);
    print(dump, "global    %u actors wait for a worker", jzx__global_count(&loop->sched.global));
}

/* Which back end serves files, and how often it had to pass. */
static void print_files(const struct dump *dump, const jzx_loop *loop) {
    struct jzx__urings_books books;
    if (jzx__urings_look(loop, &books))
        print(dump, "files     io_uring: %llu requests taken, %llu refused, %llu left undone",
              (ull)books.taken, (ull)books.refused, (ull)books.undone);
    else
        print(dump, "files     threads: io_uring is not used");
}

/* "; 3 steps, started at 7 ms, parent 2.1", as far as the process keeps account. */
static void describe_account(const jzx_actor_info *info, char *text, size_t size) {
    text[0] = '\0';
    if (info->is_partial ||
        (info->steps == 0 && info->started_ns == 0 && info->parent == JZX_NOBODY))
        return;
    int length = snprintf(text, size, "; %llu steps, started at %llu ms", (ull)info->steps,
                          (ull)(info->started_ns / 1000000u));
    if (info->parent != JZX_NOBODY)
        snprintf(text + length, size - (size_t)length, ", parent %u.%u", jzx_id_index(info->parent),
                 jzx_id_generation(info->parent));
}

static void print_processes(const struct dump *dump, jzx_loop *loop) {
    jzx_process_info info = {.size = sizeof info};
    uint64_t cursor = 0;
    char account[LINE_SIZE / 2];
    print(dump, "processes %u", jzx__process_count(loop));
    for (uint32_t i = 0; i < SHOWN_MAX && jzx_process_next(loop, &cursor, &info) == JZX_OK; i++) {
        describe_account(&info.actor, account, sizeof account);
        print(dump, "  process %u.%u%s%s is %s%s", jzx_id_index(info.id),
              jzx_id_generation(info.id), info.actor.name[0] == '\0' ? "" : " ", info.actor.name,
              jzx_process_state_name(info.state), account);
    }
}

/* C7 of sched/crew.h. */
static bool is_unattended(const jzx_loop *loop, uint32_t worker) {
    struct jzx__crew *crew = (struct jzx__crew *)(uintptr_t)&loop->sched.crew;
    struct jzx__visit visit;
    jzx__visit_begin(&visit); /* S4 of seat.h */
    jzx__lock_acquire(&crew->lock);
    bool unattended = loop->sched.workers[worker]->is_unattended;
    jzx__lock_release(&crew->lock);
    jzx__visit_end(&visit);
    return unattended;
}

static void print_worker(const struct dump *dump, const jzx_loop *loop, uint32_t worker) {
    jzx_worker_stats stats = {.size = sizeof stats};
    uint32_t tag = 0;
    jzx_loop_worker_stats(loop, worker, &stats);
    jzx_actor_id running = jzx__loop_running_on(loop, worker, &tag);
    /* relaxed: a picture of the moment */
    uint64_t tick = jzx__atomic_load_relaxed(&loop->sched.workers[worker]->tick_at_ns);
    uint64_t now = jzx_loop_now(loop);
    char doing[LINE_SIZE / 2] = "between turns";
    char who[JZX__LABEL_SIZE];
    if (running != JZX_NOBODY)
        snprintf(doing, sizeof doing, "runs %s, tag %u, last tick %llu us ago",
                 jzx__loop_label(loop, running, who, sizeof who), tag,
                 (ull)(now > tick ? (now - tick) / 1000u : 0));
    else if (stats.is_parked)
        snprintf(doing, sizeof doing, "asleep");
    else if (is_unattended(loop, worker))
        snprintf(doing, sizeof doing, "stands still: no thread is left to drive it");
    print(dump, "worker %-3u %s; %u ready, %u on offer", worker, doing, stats.ready_depth,
          stats.public_depth);
    print(dump,
          "  turns %llu, messages %llu, injected %llu, submitted %llu, parked %llu, woken %llu",
          (ull)stats.turns, (ull)stats.handled, (ull)stats.injected, (ull)stats.submitted,
          (ull)stats.parked, (ull)stats.woken);
    print(dump,
          "  crossed %llu, published %llu, reclaimed %llu, stolen %llu, explored %llu, gathered "
          "%llu, followed %llu, placed %llu, stalls %llu, handovers %llu",
          (ull)stats.crossed, (ull)stats.published, (ull)stats.reclaimed, (ull)stats.stolen,
          (ull)stats.explored, (ull)stats.gathered, (ull)stats.followed, (ull)stats.placed,
          (ull)stats.stalls, (ull)stats.handovers);
}

static void print_lost_turns(const struct dump *dump, jzx_loop *loop) {
    struct jzx__lost_turn turns[SHOWN_MAX];
    struct jzx__visit visit;
    jzx__visit_begin(&visit); /* S4 of seat.h */
    uint32_t count = jzx__crew_lost_turns(&loop->sched, turns, SHOWN_MAX);
    jzx__visit_end(&visit);
    uint64_t now = jzx_loop_now(loop);
    char who[JZX__LABEL_SIZE];
    for (uint32_t i = 0; i < count; i++)
        print(dump, "no worker  runs %s, tag %u, for %llu ms",
              jzx__loop_label(loop, turns[i].id, who, sizeof who), turns[i].tag,
              (ull)(now > turns[i].since_ns ? (now - turns[i].since_ns) / 1000000u : 0));
}

/* Keeps the deepest ones, deepest first. */
static void keep(jzx_actor_info *shown, uint32_t *count, const jzx_actor_info *info) {
    uint32_t place = *count;
    while (place > 0 && shown[place - 1].depth < info->depth)
        place--;
    if (place == SHOWN_MAX)
        return;
    uint32_t moved = (*count < SHOWN_MAX ? *count : SHOWN_MAX - 1) - place;
    memmove(&shown[place + 1], &shown[place], moved * sizeof *shown);
    shown[place] = *info;
    if (*count < SHOWN_MAX)
        ++*count;
}

static void print_mail(const struct dump *dump, const jzx_actor_info *shown, uint32_t count) {
    if (count != 0)
        print(dump, "actors with most mail that they have not taken in yet:");
    for (uint32_t i = 0; i < count; i++)
        print(dump, "  %u.%u %s: %u of %u, worker %d", jzx_id_index(shown[i].id),
              jzx_id_generation(shown[i].id), shown[i].name, shown[i].depth, shown[i].mailbox_cap,
              shown[i].worker == JZX_NONE ? -1 : (int)shown[i].worker);
}

/* Those whose code waits: how many for what, and who waits for longest. */
struct waits {
    uint64_t counts[WAIT_KINDS];
    jzx_actor_info shown[SHOWN_MAX]; /* longest first */
    uint32_t count;
};

static void keep_wait(struct waits *waits, const jzx_actor_info *info) {
    uint32_t place = waits->count;
    if ((unsigned)info->wait < WAIT_KINDS)
        waits->counts[info->wait]++;
    while (place > 0 && waits->shown[place - 1].wait_since_ns > info->wait_since_ns)
        place--;
    if (place == SHOWN_MAX)
        return;
    uint32_t moved = (waits->count < SHOWN_MAX ? waits->count : SHOWN_MAX - 1) - place;
    memmove(&waits->shown[place + 1], &waits->shown[place], moved * sizeof *info);
    waits->shown[place] = *info;
    waits->count += waits->count < SHOWN_MAX;
}

static void print_waits(const struct dump *dump, const jzx_loop *loop, const struct waits *waits) {
    char what[JZX__WAIT_TEXT_SIZE];
    for (uint32_t i = 1; i < WAIT_KINDS; i++) {
        if (waits->counts[i] != 0)
            print(dump, "fibers    %llu wait for %s", (ull)waits->counts[i],
                  jzx_wait_name((jzx_wait_kind)i));
    }
    for (uint32_t i = 0; i < waits->count; i++) {
        const jzx_actor_info *info = &waits->shown[i];
        print(dump, "  %u.%u %s: waits for %s", jzx_id_index(info->id), jzx_id_generation(info->id),
              info->name, jzx__loop_wait_text(loop, info, what, sizeof what));
    }
}

static void print_actors(const struct dump *dump, const jzx_loop *loop) {
    jzx_actor_info shown[SHOWN_MAX];
    struct waits waits = {.count = 0};
    uint32_t count = 0;
    /* acquire: pairs with the release in mint */
    uint32_t minted = jzx__atomic_load_acquire(&loop->table.minted);
    for (uint32_t i = 0; i < minted; i++) {
        jzx_actor_info info;
        if (!jzx__actor_glance(jzx__table_slot(&loop->table, i), &info))
            continue;
        if (info.depth != 0)
            keep(shown, &count, &info);
        if (info.wait != JZX_WAIT_NONE)
            keep_wait(&waits, &info);
    }
    print_mail(dump, shown, count);
    print_waits(dump, loop, &waits);
}

jzx_err jzx_loop_dump(const jzx_loop *loop, jzx_dump_fn line, void *ctx) {
    if (loop == NULL || line == NULL)
        return JZX_ERR_INVALID_ARG;
    struct dump dump = {line, ctx};
    static const char *const states[] = {"open", "stopping", "stopped"};
    print(&dump, "loop      %s, %u workers, %u of them awake, %u CPUs",
          states[jzx__sched_stop_state(&loop->sched)], loop->sched.worker_count,
          /* relaxed: a picture of the moment */
          jzx__atomic_load_relaxed(&loop->sched.active), loop->sched.cpu_count);
    print_books(&dump, loop);
    print_processes(&dump, (jzx_loop *)(uintptr_t)loop);
    print_files(&dump, loop);
    for (uint32_t i = 0; i < loop->sched.worker_count; i++)
        print_worker(&dump, loop, i);
    print_lost_turns(&dump, (jzx_loop *)(uintptr_t)loop);                     /* takes a lock */
    jzx__supers_print((struct jzx_loop *)(uintptr_t)loop, print_line, &dump); /* takes its lock */
    jzx__types_print((struct jzx_loop *)(uintptr_t)loop, print_line, &dump);  /* likewise */
    print_actors(&dump, loop);
    return JZX_OK;
}
