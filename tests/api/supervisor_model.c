/* SPDX-License-Identifier: MIT */
/* Random trees under random events against a small model of what the documentation says: after
 * every event each child is in the state that the model says, has a new id if and only if the model
 * restarted it, what started and ended did so in the model's order, and a listener of the whole
 * tree was told of exactly that. A seed that fails prints the line that reruns it. */
#include "listening.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { SUPERS_MAX = 2048, FAMILY_MAX = 24, SPECS_MAX = 40, ADDED_MAX = 64, OPERATIONS = 60 };

struct m_super;

struct m_child {
    const jzx_child_spec *spec;
    uint64_t number;
    jzx_child_state state;
    jzx_actor_id id;
    bool is_changed; /* the id that the runtime has must be another */
    bool wanted;
    uint32_t attempt;
    uint32_t restarts;
    uint64_t ran_from_ms;
    uint64_t due_ms; /* WAITING by itself; else 0 */
    struct m_super *below;
};

struct m_super {
    const jzx_supervisor_opts *opts;
    struct m_super *above;
    struct m_child *as_child;
    struct m_child children[FAMILY_MAX];
    size_t count;
    uint64_t next_number;
    uint64_t failures_ms[256];
    size_t failure_count;
    bool plan_waits;
    uint64_t plan_from;
    uint64_t plan_due_ms;
};

static struct {
    struct timing timing;
    jzx_actor_id root_id;
    uint64_t random;
    struct m_super supers[SUPERS_MAX];
    size_t super_count;
    struct m_super *root;
    char trace[8192];
    char told[8192]; /* what the listener hears: see heard_text */
    jzx_actor_id listener;
    bool is_over;      /* the root has given up */
    bool is_unordered; /* this event starts or ends several at the same time */
    uint32_t escalations;
    bool all_held;
    jzx_child_spec specs[SPECS_MAX];
    jzx_supervisor_opts opts[SPECS_MAX];
    char names[SPECS_MAX + ADDED_MAX][8];
    size_t spec_count;
    size_t opts_count;
    size_t added;
    jzx_child_spec added_specs[ADDED_MAX];
} m;

static void expect(bool held) {
    m.all_held = m.all_held && held;
}

static uint64_t next_random(void) {
    uint64_t z = (m.random += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t bound) {
    return next_random() % bound;
}

static uint64_t now_ms(void) {
    return jzx_clock_now(m.timing.clock) / JZX_MS(1);
}

static void m_trace(char sign, const char *name, char letter) {
    size_t length = strlen(m.trace);
    snprintf(m.trace + length, sizeof m.trace - length, letter ? "%c%s%c " : "%c%s ", sign, name,
             letter);
}

/* The end of a child: its reason, the mark of its state and "?" if it was asked to. */
static void m_tell_end(const struct m_child *child, char reason, const char *state) {
    size_t length = strlen(m.told);
    snprintf(m.told + length, sizeof m.told - length, "-%s%c%s ", child->spec->name, reason, state);
}

static void m_tell_restart(const struct m_child *child) {
    size_t length = strlen(m.told);
    snprintf(m.told + length, sizeof m.told - length, "+%s ", child->spec->name);
}

/* ---- the model: starting and stopping ---- */

static void m_start(struct m_super *super, struct m_child *child);

static struct m_super *m_super_new(const jzx_supervisor_opts *opts, struct m_super *above,
                                   struct m_child *as_child) {
    assert_true(m.super_count < SUPERS_MAX);
    struct m_super *super = &m.supers[m.super_count++];
    super->opts = opts;
    super->above = above;
    super->as_child = as_child;
    super->count = 0;
    super->next_number = 0;
    super->failure_count = 0;
    super->plan_waits = false;
    for (size_t i = 0; i < opts->child_count; i++)
        super->children[super->count++] = (struct m_child){
            .spec = &opts->children[i], .number = super->next_number++, .wanted = true};
    for (size_t i = 0; i < super->count; i++)
        m_start(super, &super->children[i]);
    return super;
}

static void m_start(struct m_super *super, struct m_child *child) {
    bool again = child->is_changed;
    if (again)
        child->restarts++;
    child->state = JZX_CHILD_RUNNING;
    child->due_ms = 0;
    child->ran_from_ms = now_ms();
    if (child->spec->supervisor != NULL)
        child->below = m_super_new(child->spec->supervisor, super, child);
    else
        m_trace('+', child->spec->name, 0);
    if (again)
        m_tell_restart(child);
}

static size_t m_running(const struct m_super *super) {
    size_t running = 0;
    for (size_t i = 0; i < super->count; i++)
        running += super->children[i].state == JZX_CHILD_RUNNING;
    return running;
}

static void m_close(struct m_super *super);

/* It runs, and ends because its supervisor wants it. */
static void m_stop(struct m_child *child, jzx_child_state then) {
    if (child->below != NULL)
        m_close(child->below);
    else
        m_trace('-', child->spec->name, 'S');
    child->below = NULL;
    child->is_changed = true;
    child->state = then;
    m_tell_end(child, 'S', then == JZX_CHILD_WAITING ? "~?" : ".?");
}

static bool is_temporary(const struct m_child *child) {
    return child->spec->mode == JZX_TEMPORARY;
}

/* From that number on. All that close do not start again, others do if they are not temporary. */
static void m_stop_all(struct m_super *super, uint64_t from, bool closes) {
    if (super->opts->strategy == JZX_DYNAMIC && m_running(super) > 1)
        m.is_unordered = true;
    for (size_t i = super->count; i-- > 0;)
        if (super->children[i].number >= from && super->children[i].state == JZX_CHILD_RUNNING)
            m_stop(&super->children[i], closes || is_temporary(&super->children[i])
                                            ? JZX_CHILD_STOPPED
                                            : JZX_CHILD_WAITING);
}

static void m_close(struct m_super *super) {
    m_stop_all(super, 0, true);
}

static void m_forget(struct m_super *super, size_t index) {
    super->count--;
    memmove(&super->children[index], &super->children[index + 1],
            (super->count - index) * sizeof super->children[0]);
    for (size_t i = index; i < super->count; i++)
        if (super->children[i].below != NULL)
            super->children[i].below->as_child = &super->children[i];
}

static void m_start_plan(struct m_super *super) {
    super->plan_waits = false;
    for (size_t i = 0; i < super->count; i++) {
        struct m_child *child = &super->children[i];
        if (child->number >= super->plan_from && child->wanted && child->state != JZX_CHILD_RUNNING)
            m_start(super, child);
    }
}

/* ---- the model: failures ---- */

static uint64_t m_delay_ms(const jzx_backoff *backoff, uint32_t n) {
    if (backoff->initial_delay_ns == 0)
        return 0;
    uint64_t delay = backoff->initial_delay_ns;
    for (uint32_t i = 0; i < n && delay < backoff->max_delay_ns; i++)
        delay = backoff->kind == JZX_BACKOFF_CONSTANT ? delay + backoff->step_ns : delay * 2;
    return (delay < backoff->max_delay_ns ? delay : backoff->max_delay_ns) / JZX_MS(1);
}

static bool m_too_many(struct m_super *super) {
    uint32_t recent = 0;
    if (super->opts->intensity == JZX_UNLIMITED)
        return false;
    assert_true(super->failure_count < 256);
    super->failures_ms[super->failure_count++] = now_ms();
    for (size_t i = 0; i < super->failure_count; i++)
        recent += JZX_MS(now_ms() - super->failures_ms[i]) <= super->opts->period_ns;
    return recent > (super->opts->intensity == JZX_NONE ? 0 : super->opts->intensity);
}

static void m_ended(struct m_super *super, struct m_child *child, jzx_exit_reason reason);

static void m_give_up(struct m_super *super) {
    m.escalations++;
    m_close(super);
    if (super->above == NULL) {
        m.is_over = true;
        return;
    }
    struct m_child *child = super->as_child;
    child->below = NULL;
    m_ended(super->above, child, JZX_EXIT_FAIL);
}

static void m_plan(struct m_super *super, const struct m_child *child, uint64_t delay_ms) {
    uint64_t from = super->opts->strategy == JZX_ONE_FOR_ALL ? 0 : child->number;
    if (!super->plan_waits || from < super->plan_from)
        super->plan_from = from;
    m_stop_all(super, super->plan_from, false);
    for (size_t i = super->count; i-- > 0;) /* the temporary ones do not come back */
        if (super->children[i].number >= super->plan_from && is_temporary(&super->children[i]) &&
            super->children[i].state == JZX_CHILD_STOPPED)
            m_forget(super, i);
    super->plan_waits = delay_ms != 0;
    super->plan_due_ms = now_ms() + delay_ms;
    if (delay_ms == 0)
        m_start_plan(super);
}

static bool is_forgettable(const struct m_super *super, const struct m_child *child) {
    return is_temporary(child) || super->opts->strategy == JZX_DYNAMIC;
}

/* It has ended by itself, and is not started again. */
static void m_retire(struct m_super *super, struct m_child *child, jzx_exit_reason reason,
                     jzx_child_state state) {
    child->state = state;
    child->wanted = false;
    m_tell_end(child, reason_letter(reason), state == JZX_CHILD_EXITED ? "x" : "!");
    if (is_forgettable(super, child))
        m_forget(super, (size_t)(child - super->children));
}

/* It has ended by itself. */
static void m_ended(struct m_super *super, struct m_child *child, jzx_exit_reason reason) {
    jzx_child_mode mode = child->spec->mode;
    bool is_failure = mode == JZX_PERMANENT || (mode == JZX_TRANSIENT && reason != JZX_EXIT_NORMAL);
    child->is_changed = true;
    if (!is_failure) {
        m_retire(super, child, reason,
                 reason == JZX_EXIT_NORMAL ? JZX_CHILD_EXITED : JZX_CHILD_FAILED);
        return;
    }
    const jzx_child_spec *spec = child->spec;
    if (JZX_MS(now_ms() - child->ran_from_ms) >=
        (spec->stable_ns != 0 ? spec->stable_ns : super->opts->stable_ns))
        child->attempt = 0;
    uint64_t delay_ms = m_delay_ms(&spec->backoff, child->attempt++);
    if (spec->max_attempts != 0 && child->attempt > spec->max_attempts) {
        m_retire(super, child, reason, JZX_CHILD_FAILED);
        return;
    }
    bool gives_up = !spec->service && m_too_many(super);
    child->state = gives_up ? JZX_CHILD_FAILED : JZX_CHILD_WAITING;
    m_tell_end(child, reason_letter(reason), gives_up ? "!" : "~");
    if (gives_up) {
        m_give_up(super);
        return;
    }
    if (super->opts->strategy == JZX_ONE_FOR_ALL || super->opts->strategy == JZX_REST_FOR_ONE)
        m_plan(super, child, delay_ms);
    else if (delay_ms == 0)
        m_start(super, child);
    else
        child->due_ms = now_ms() + delay_ms;
}

/* ---- comparing ---- */

static int compare_words(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The same words, in any order: both texts are cut up and sorted. */
static bool same_words(char *a, char *b) {
    static char *words[2][4096];
    size_t counts[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        char *rest = NULL;
        for (char *word = strtok_r(k ? b : a, " ", &rest); word != NULL;
             word = strtok_r(NULL, " ", &rest))
            words[k][counts[k]++] = word;
        qsort(words[k], counts[k], sizeof words[k][0], compare_words);
    }
    bool same = counts[0] == counts[1];
    for (size_t i = 0; same && i < counts[0]; i++)
        same = strcmp(words[0][i], words[1][i]) == 0;
    return same;
}

static void compare_texts(const char *what, const char *is, const char *should_be) {
    static char real[sizeof trace];
    static char model[sizeof m.trace];
    if (strcmp(is, should_be) == 0)
        return;
    snprintf(real, sizeof real, "%s", is);
    snprintf(model, sizeof model, "%s", should_be);
    if (!m.is_unordered || !same_words(real, model)) {
        print_error("%s is \"%s\", the model's \"%s\"\n", what, is, should_be);
        expect(JZX_EXPECT(false && "it is as the model says"));
    }
}

/* When the root has given up the loop closes, and the listener with it: it has the beginning. */
static void compare_told(void) {
    static char told[sizeof trace];
    told[0] = '\0';
    for (uint32_t i = 0; i < heard_count; i++) {
        char text[128];
        heard_text(&heard[i], text, sizeof text);
        snprintf(told + strlen(told), sizeof told - strlen(told), "%s", text);
    }
    if (m.is_over && !m.is_unordered)
        m.told[strlen(told)] = '\0';
    if (!m.is_over || !m.is_unordered)
        compare_texts("what the listener heard", told, m.told);
    heard_count = 0;
    m.told[0] = '\0';
}

static void compare_trace(void) {
    compare_texts("the trace", trace, m.trace);
    compare_told();
    trace_clear();
    m.trace[0] = '\0';
    m.is_unordered = false;
}

static void compare_super(struct m_super *super, jzx_actor_id id) {
    jzx_supervisor_info family = family_of(&m.timing, id);
    expect(JZX_EXPECT_EQ(family.children, super->count));
    expect(JZX_EXPECT_EQ(family.running, m_running(super)));
    expect(JZX_EXPECT_EQ(family.closing, false));
    for (size_t i = 0; i < super->count && m.all_held; i++) {
        struct m_child *child = &super->children[i];
        jzx_child_info info = info_of(&m.timing, id, i);
        expect(JZX_EXPECT_EQ(strcmp(info.name, child->spec->name), 0));
        expect(JZX_EXPECT_EQ(info.state, child->state));
        expect(JZX_EXPECT_EQ(info.attempt, child->attempt));
        expect(JZX_EXPECT_EQ(info.restarts, child->restarts));
        expect(JZX_EXPECT_EQ(info.id != JZX_NOBODY, child->state == JZX_CHILD_RUNNING));
        if (child->id != JZX_NOBODY && info.id != JZX_NOBODY)
            expect(JZX_EXPECT_EQ(info.id != child->id, child->is_changed));
        if (child->id != JZX_NOBODY && child->is_changed)
            expect(JZX_EXPECT(!lives(&m.timing, child->id)));
        if (info.id != JZX_NOBODY) {
            child->id = info.id;
            child->is_changed = false;
        }
        if (child->below != NULL && m.all_held)
            compare_super(child->below, info.id);
    }
}

static void step_and_compare(void) {
    jzx_err err = jzx_loop_step(m.timing.loop, JZX_NEVER);
    expect(JZX_EXPECT_EQ(err, m.is_over ? JZX_ERR_ESCALATED : JZX_OK));
    compare_trace();
    expect(JZX_EXPECT_EQ(escalations, m.escalations));
    if (!m.is_over && m.all_held)
        compare_super(m.root, m.root_id);
}

/* ---- events ---- */

/* Some supervisor that runs, and its id. */
static struct m_super *pick_super(jzx_actor_id *id) {
    struct m_super *super = m.root;
    *id = m.root_id;
    while (below(3) != 0 && super->count > 0) {
        const struct m_child *child = &super->children[below(super->count)];
        if (child->below == NULL)
            break;
        *id = child->id;
        super = child->below;
    }
    return super;
}

static void hit_child(struct m_super *super, struct m_child *child) {
    jzx_exit_reason reason = JZX_EXIT_FAIL;
    if (child->state != JZX_CHILD_RUNNING)
        return;
    switch (below(child->below != NULL ? 2 : 4)) {
    case 0: expect(JZX_EXPECT_EQ(jzx_actor_fail(m.timing.loop, child->id), JZX_OK)); break;
    case 1:
        reason = JZX_EXIT_NORMAL;
        expect(JZX_EXPECT_EQ(jzx_actor_stop(m.timing.loop, child->id, JZX_STOP_AFTER_MESSAGE),
                             JZX_OK));
        break;
    case 2:
        reason = JZX_EXIT_KILLED;
        expect(JZX_EXPECT_EQ(jzx_actor_stop(m.timing.loop, child->id, JZX_STOP_KILL), JZX_OK));
        break;
    default: fixture_send(m.timing.loop, child->id, TOY_EXIT_FAIL); break;
    }
    if (child->below != NULL)
        m_close(child->below);
    else
        m_trace('-', child->spec->name, reason_letter(reason));
    child->below = NULL;
    m_ended(super, child, reason);
}

static bool in_plan(const struct m_super *super, const struct m_child *child) {
    return super->plan_waits && child->number >= super->plan_from;
}

static void restart_child(struct m_super *super, jzx_actor_id id, struct m_child *child) {
    expect(JZX_EXPECT_EQ(jzx_supervisor_restart(m.timing.loop, id, child->spec->name), JZX_OK));
    child->wanted = true;
    if (in_plan(super, child))
        return; /* which starts it */
    child->attempt = 0;
    if (child->state == JZX_CHILD_RUNNING)
        m_stop(child, JZX_CHILD_WAITING);
    m_start(super, child);
}

static void stop_child(struct m_super *super, jzx_actor_id id, struct m_child *child) {
    expect(JZX_EXPECT_EQ(jzx_supervisor_stop_child(m.timing.loop, id, child->spec->name), JZX_OK));
    bool is_new = child->state == JZX_CHILD_UNKNOWN;
    child->wanted = false;
    child->due_ms = 0;
    if (child->state == JZX_CHILD_RUNNING)
        m_stop(child, JZX_CHILD_STOPPED);
    if (child->state == JZX_CHILD_WAITING)
        child->state = JZX_CHILD_STOPPED;
    if (is_new || is_forgettable(super, child))
        m_forget(super, (size_t)(child - super->children));
}

static void remove_child(struct m_super *super, jzx_actor_id id, struct m_child *child) {
    expect(JZX_EXPECT_EQ(jzx_supervisor_remove(m.timing.loop, id, child->spec->name), JZX_OK));
    if (child->state == JZX_CHILD_RUNNING)
        m_stop(child, JZX_CHILD_STOPPED);
    m_forget(super, (size_t)(child - super->children));
}

static jzx_child_spec random_leaf(char *name, size_t number) {
    static const uint32_t delays_ms[] = {0, 0, 10, 30};
    jzx_child_spec spec = {TOY(name)};
    snprintf(name, 8, "c%zu_", number);
    spec.mode = (jzx_child_mode)below(3);
    spec.backoff =
        (jzx_backoff){.initial_delay_ns = JZX_MS(delays_ms[below(4)]), .max_delay_ns = JZX_MS(200)};
    if (spec.backoff.initial_delay_ns == 0)
        spec.backoff.max_delay_ns = 0;
    if (spec.backoff.initial_delay_ns != 0 && below(2)) {
        spec.backoff.kind = JZX_BACKOFF_CONSTANT;
        spec.backoff.step_ns = JZX_MS(20);
    }
    if (below(4) == 0)
        spec.max_attempts = 1 + (uint32_t)below(3);
    if (below(4) == 0)
        spec.stable_ns = JZX_MS(20);
    if (spec.backoff.initial_delay_ns != 0 && below(2)) {
        spec.service = true;
        spec.stable_ns = JZX_MS(below(2) ? 30 : 100);
        spec.jitter_percent = JZX_NONE;
    }
    return spec;
}

static void add_child(struct m_super *super, jzx_actor_id id) {
    if (super->count == FAMILY_MAX || m.added == ADDED_MAX)
        return;
    size_t index = m.added++;
    m.added_specs[index] = random_leaf(m.names[SPECS_MAX + index], SPECS_MAX + index);
    expect(JZX_EXPECT_EQ(jzx_supervisor_add(m.timing.loop, id, &m.added_specs[index],
                                            sizeof(jzx_child_spec), JZX_NOBODY),
                         JZX_OK));
    struct m_child *child = &super->children[super->count++];
    *child = (struct m_child){
        .spec = &m.added_specs[index], .number = super->next_number++, .wanted = true};
    if (!super->plan_waits)
        m_start(super, child);
}

/* ---- time ---- */

static uint64_t next_due(const struct m_super *super) {
    uint64_t due = super->plan_waits ? super->plan_due_ms : UINT64_MAX;
    for (size_t i = 0; i < super->count; i++) {
        const struct m_child *child = &super->children[i];
        uint64_t other = child->below != NULL ? next_due(child->below)
                         : child->due_ms != 0 ? child->due_ms
                                              : UINT64_MAX;
        if (child->due_ms != 0 && child->due_ms < other)
            other = child->due_ms;
        due = other < due ? other : due;
    }
    return due;
}

static void fire_due(struct m_super *super) {
    for (size_t i = 0; i < super->count; i++) {
        struct m_child *child = &super->children[i];
        if (child->below != NULL)
            fire_due(child->below);
        if (child->state == JZX_CHILD_WAITING && child->due_ms != 0 && child->due_ms <= now_ms())
            m_start(super, child);
    }
    if (super->plan_waits && super->plan_due_ms <= now_ms())
        m_start_plan(super);
}

/* Up to the next time at which something is due. */
static void advance(void) {
    uint64_t due = next_due(m.root);
    uint64_t most = due == UINT64_MAX ? 400 : due - now_ms();
    uint64_t step = below(2) ? most : below(most / 10 + 1) * 10; /* meets the edges of periods */
    expect(JZX_EXPECT_EQ(jzx_clock_advance(m.timing.clock, JZX_MS(step)), JZX_OK));
    m.is_unordered = true; /* several may be due in one millisecond */
    fire_due(m.root);
}

/* ---- the run ---- */

static const jzx_supervisor_opts *random_tree(unsigned depth) {
    static const uint32_t intensities[] = {JZX_NONE, 1, 2, 5, JZX_UNLIMITED};
    jzx_supervisor_opts *opts = &m.opts[m.opts_count++];
    size_t count = depth == 0 ? 1 + below(5) : below(4);
    jzx_child_spec *specs = &m.specs[m.spec_count];
    if (m.spec_count + count > SPECS_MAX)
        count = 0;
    m.spec_count += count;
    *opts = JZX_SUPERVISOR_OPTS(.strategy = (jzx_strategy)below(4),
                                .intensity = intensities[depth == 0 ? 2 + below(3) : below(5)],
                                .period_ns = JZX_MS(below(2) ? 60 : 1000),
                                .stable_ns = JZX_MS(below(2) ? 30 : 300), .children = specs,
                                .child_count = count, .child_size = sizeof specs[0],
                                .listener = m.listener);
    for (size_t i = 0; i < count; i++) {
        size_t number = (size_t)(&specs[i] - m.specs);
        specs[i] = random_leaf(m.names[number], number);
        if (depth < 3 && below(3) == 0) {
            specs[i].behavior = NULL;
            specs[i].init = NULL;
            specs[i].cleanup = NULL;
            specs[i].supervisor = random_tree(depth + 1);
        }
    }
    return opts;
}

static void operate(void) {
    jzx_actor_id id = JZX_NOBODY;
    struct m_super *super = pick_super(&id);
    uint64_t what = below(16);
    if (what < 4) {
        advance();
    } else if (what == 4) {
        add_child(super, id);
    } else if (super->count > 0) {
        struct m_child *child = &super->children[below(super->count)];
        if (what == 5)
            remove_child(super, id, child);
        else if (what == 6)
            restart_child(super, id, child);
        else if (what == 7)
            stop_child(super, id, child);
        else
            hit_child(super, child);
    }
    step_and_compare();
}

static bool check_seed(uint64_t seed) {
    m.random = seed;
    m.super_count = m.spec_count = m.opts_count = m.added = 0;
    m.is_over = m.is_unordered = false;
    m.escalations = 0;
    m.all_held = true;
    m.trace[0] = '\0';
    m.told[0] = '\0';
    m.timing = nursery_open();
    m.listener = listener_spawn(&m.timing, 1);
    const jzx_supervisor_opts *opts = random_tree(0);
    JZX_EXPECT_EQ(jzx_spawn_supervisor(m.timing.loop, opts, &m.root_id), JZX_OK);
    m.root = m_super_new(opts, NULL, NULL);
    step_and_compare();
    for (uint32_t i = 0; i < OPERATIONS && m.all_held && !m.is_over; i++)
        operate();
    if (m.all_held && !m.is_over && below(2)) { /* else they end with the loop */
        m_close(m.root);
        stop_supervisor(&m.timing, m.root_id);
        compare_trace();
        expect(JZX_EXPECT(!jzx_loop_alive(m.timing.loop)));
        expect(JZX_EXPECT_EQ(timing_pending(m.timing.loop), 0));
    }
    timing_close(&m.timing);
    return m.all_held;
}

JZX_TEST(random_trees_answer_random_events_as_a_small_model_says, "C21", "C22", "C27", "C+sup",
         "C+inv", "C+sys", "D+sup", "E+sem") {
    const char *only = getenv("JZX_SEED");
    uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
    uint64_t last = only != NULL ? first : jzx_test_rounds(2000, 100000);
    for (uint64_t seed = first; seed <= last; seed++)
        if (!check_seed(seed))
            fail_msg("rerun with: JZX_SEED=%" PRIu64 " %s %s", seed, program_invocation_name,
                     "random_trees_answer_random_events_as_a_small_model_says");
}
