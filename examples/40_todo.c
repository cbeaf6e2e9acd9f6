/* SPDX-License-Identifier: MIT */
/* To-do list with undo by replay: the core is an actor of a command processor, which records its
 * inputs. Undo makes a new processor and replays all inputs but the last: the actor needs no code
 * for it.
 *
 *     40_todo add "buy milk" add "call Ada" done 1 undo list */
#include <jzx/jzx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS_MAX = 32, TEXT_MAX = 60 };
enum { ADD = 1, DONE = 2, LIST = 3 };    /* inputs */
enum { LINE = 1, ADDED = 2, WRONG = 3 }; /* outputs */

struct todo {
    jzx_processor_handle to;
    uint32_t count;
    struct item {
        char text[TEXT_MAX];
        bool is_done;
    } items[ITEMS_MAX];
};

/* ---- the core ---- */

static jzx_err create(void *state, jzx_processor_handle self, const void *config, size_t len) {
    struct todo *todo = state;
    (void)self;
    (void)len;
    memcpy(&todo->to, config, sizeof todo->to); /* JZX_PROCESSOR_OUTPUT */
    return JZX_OK;
}

static void say(jzx_actions *out, const struct todo *todo, uint32_t tag, const char *text) {
    (void)jzx_actions_send(out, todo->to, tag, text, strlen(text) + 1);
}

static void list(const struct todo *todo, jzx_actions *out) {
    char line[TEXT_MAX + 16];
    for (uint32_t i = 0; i < todo->count; i++) {
        const struct item *item = &todo->items[i];
        (void)snprintf(line, sizeof line, "%u [%c] %s", i + 1, item->is_done ? 'x' : ' ',
                       item->text);
        say(out, todo, LINE, line);
    }
    if (todo->count == 0)
        say(out, todo, LINE, "nothing to do");
}

static void handle(void *state, const jzx_action *msg, jzx_actions *out) {
    struct todo *todo = state;
    uint32_t number = 0;
    if (msg->tag == LIST) {
        list(todo, out);
    } else if (msg->tag == ADD && todo->count < ITEMS_MAX && msg->len != 0) {
        struct item *item = &todo->items[todo->count++];
        (void)snprintf(item->text, sizeof item->text, "%s", (const char *)msg->data);
        say(out, todo, ADDED, item->text);
    } else if (msg->tag == DONE && msg->len == sizeof number) {
        memcpy(&number, msg->data, sizeof number);
        if (number >= 1 && number <= todo->count)
            todo->items[number - 1].is_done = true;
        else
            say(out, todo, WRONG, "there is no such item");
    }
}

static const jzx_actor_factory todo_actor =
    JZX_ACTOR_FACTORY(.type = "todo", .state_size = sizeof(struct todo), .create = create,
                      .handle = handle);

/* ---- the command line ---- */

static jzx_processor *make(jzx_loop *loop) {
    jzx_processor *processor = NULL;
    if (jzx_processor_create(loop, &JZX_PROCESSOR_OPTS(.root = &todo_actor, .record = true),
                             &processor) != JZX_OK)
        exit(1);
    return processor;
}

/* Prints what the core has put out, or drops it. */
static void drain(jzx_processor *processor, bool is_shown) {
    static const char *const before[] = {"", "", "added: ", "error: "};
    jzx_output *output;
    while (jzx_processor_try_next(processor, &output) == JZX_OK) {
        if (is_shown)
            printf("%s%s\n", before[output->tag], (const char *)output->data);
        jzx_output_free(output);
    }
}

/* A processor that has had all inputs but the last. */
static jzx_processor *undo(jzx_loop *loop, jzx_processor *processor) {
    jzx_recording all;
    if (jzx_processor_recording(processor, &all) != JZX_OK)
        exit(1);
    size_t count = jzx_recording_count(&all);
    if (count == 0)
        return processor;
    const jzx_recording rest = jzx_recording_cut(&all, count - 1);
    jzx_processor *before = make(loop);
    if (jzx_processor_replay(before, &rest) != JZX_OK)
        exit(1);
    drain(before, false); /* it was shown when it happened */
    printf("undone; inputs left: %zu\n", count - 1);
    (void)jzx_processor_destroy(processor);
    return before;
}

/* Shows the list of a copy, so that asking for it is no input to undo. */
static void show(jzx_loop *loop, jzx_processor *processor) {
    jzx_recording all;
    jzx_processor *copy = make(loop);
    if (jzx_processor_recording(processor, &all) != JZX_OK ||
        jzx_processor_replay(copy, &all) != JZX_OK)
        exit(1);
    drain(copy, false);
    (void)jzx_processor_dispatch(copy, LIST, NULL, 0);
    drain(copy, true);
    (void)jzx_processor_destroy(copy);
}

/* One word of the command line, and the next one with it if that is its argument; how many it
 * took, 0 if it is not understood. */
static int obey(jzx_loop *loop, jzx_processor **processor, const char *word, const char *argument) {
    if (strcmp(word, "add") == 0 && argument != NULL) {
        (void)jzx_processor_dispatch(*processor, ADD, argument, strlen(argument) + 1);
        return 2;
    }
    if (strcmp(word, "done") == 0 && argument != NULL) {
        uint32_t number = (uint32_t)strtoul(argument, NULL, 10);
        (void)jzx_processor_dispatch(*processor, DONE, &number, sizeof number);
        return 2;
    }
    if (strcmp(word, "undo") == 0) {
        *processor = undo(loop, *processor);
        return 1;
    }
    if (strcmp(word, "list") == 0) {
        show(loop, *processor);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    static const char *const demo[] = {"add",  "buy milk", "add",         "call Ada", "done",
                                       "1",    "done",     "7",           "undo",     "undo",
                                       "undo", "add",      "write tests", "list"};
    const char *const *words = argc > 1 ? (const char *const *)argv + 1 : demo;
    int count = argc > 1 ? argc - 1 : (int)(sizeof demo / sizeof demo[0]);
    int taken = 1;
    jzx_loop *loop = jzx_loop_create(NULL);
    if (loop == NULL)
        return 1;
    jzx_processor *processor = make(loop);
    for (int i = 0; i < count && taken != 0; i += taken) {
        taken = obey(loop, &processor, words[i], i + 1 < count ? words[i + 1] : NULL);
        drain(processor, true);
    }
    if (taken == 0)
        printf("usage: %s (add TEXT | done NUMBER | undo | list)...\n", argv[0]);
    (void)jzx_processor_destroy(processor);
    return jzx_loop_destroy(loop) == JZX_OK && taken != 0 ? 0 : 1;
}
