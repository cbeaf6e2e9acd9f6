/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 128 };

enum stage { IN_HEAD, IN_BODY, IN_TRAILERS };

struct run {
    const struct driver_options *options;
    struct driver_result *result;
    FILE *out;
    enum stage stage;
    struct jzx__http_head head;
    struct jzx__http_body body;
    struct jzx__http_fields trailers;
    struct jzx__http_field list[FIELDS_MAX];
    struct jzx__http_field trailer_list[FIELDS_MAX];
    size_t begin; /* of the stage: the parser's offset 0, or the next byte of a body */
    size_t body_begin;
    bool is_over;
};

struct driver_options driver_requests(void) {
    return (struct driver_options){
        .kind = JZX__HTTP_REQUEST,
        .limits = jzx__http_limits_default,
        .fields_max = FIELDS_MAX,
    };
}

struct driver_options driver_responses(enum jzx__http_answers answers) {
    struct driver_options options = driver_requests();
    options.kind = JZX__HTTP_RESPONSE;
    options.answers = answers;
    options.closes = true;
    return options;
}

static void put(struct run *run, const char *name, const char *data, struct jzx__http_slice at) {
    fprintf(run->out, " %s=<", name);
    fwrite(data + at.begin, 1, at.len, run->out);
    fputc('>', run->out);
}

static void put_fields(struct run *run, const struct jzx__http_fields *fields, const char *data) {
    for (uint32_t i = 0; i < fields->count; i++) {
        const struct jzx__http_field *field = &fields->list[i];
        put(run, "name", data, field->name);
        put(run, "value", data, field->value);
        fprintf(run->out, " known=%d\n", (int)field->known);
    }
}

static void put_head(struct run *run, const char *data) {
    const struct jzx__http_head *head = &run->head;
    put(run, "method", data, head->method);
    put(run, "target", data, head->target_text);
    put(run, "path", data, head->target.path);
    put(run, "query", data, head->target.query);
    put(run, "host", data, head->host.name);
    put(run, "reason", data, head->reason);
    fprintf(run->out,
            " form=%d port=%d version=1.%d status=%d framing=%d length=%llu expects=%d keeps=%d "
            "upgrade=%d websocket=%d size=%u\n",
            (int)head->target.form, head->host.port, head->minor, head->status, (int)head->framing,
            (unsigned long long)head->content_len, (int)head->expects, head->keeps_alive,
            head->wants_upgrade, head->wants_websocket, head->at);
    put_fields(run, &head->fields, data);
}

static void refused(struct run *run, const struct jzx__http_refusal *refusal, size_t base) {
    run->is_over = true;
    run->result->end = DRIVER_REFUSED;
    run->result->refusal = *refusal;
    run->result->refused_at = base + refusal->offset;
    fprintf(run->out, "\nREFUSED %u %s @%zu\n", refusal->status, refusal->text,
            run->result->refused_at);
}

static void begin_message(struct run *run, size_t at) {
    run->stage = IN_HEAD;
    run->begin = at;
    jzx__http_head_begin(&run->head, run->options->kind, &run->options->limits, run->list,
                         run->options->fields_max);
    run->head.answers = run->options->answers;
}

static void end_message(struct run *run, size_t at) {
    run->result->messages++;
    run->result->consumed = at;
    fprintf(run->out, "\nDONE @%zu\n", at);
    begin_message(run, at);
}

/* Each returns whether the stage is complete, so that the next one may go on. */
static bool feed_head(struct run *run, const char *data, size_t len) {
    const char *begin = data + run->begin;
    enum jzx__http_step step = jzx__http_head_parse(&run->head, begin, len - run->begin);
    if (step == JZX__HTTP_REFUSED)
        refused(run, &run->head.refusal, run->begin);
    if (step != JZX__HTTP_DONE)
        return false;
    put_head(run, begin);
    run->result->keeps_alive = run->result->keeps_alive && run->head.keeps_alive;
    run->result->wants_websocket |= run->head.wants_websocket;
    run->result->expects = run->head.expects;
    run->begin += run->head.at;
    run->body_begin = run->begin;
    run->stage = IN_BODY;
    jzx__http_head_body(&run->head, &run->body);
    if (run->head.framing == JZX__HTTP_TUNNEL) {
        run->is_over = true;
        run->result->messages++;
        run->result->consumed = run->begin;
        run->result->end = DRIVER_TUNNEL;
        fprintf(run->out, "\nTUNNEL @%zu\n", run->begin);
    }
    return !run->is_over;
}

static bool feed_body(struct run *run, const char *data, size_t len) {
    size_t consumed;
    size_t content;
    enum jzx__http_part part =
        jzx__http_body_next(&run->body, data + run->begin, len - run->begin, &consumed, &content);
    run->begin += consumed;
    fwrite(data + run->begin - content, 1, content, run->out);
    switch (part) {
    case JZX__HTTP_BODY_MORE: return false;
    case JZX__HTTP_BODY_CONTENT: return true;
    case JZX__HTTP_BODY_REFUSED: refused(run, &run->body.refusal, run->body_begin); return false;
    case JZX__HTTP_BODY_TRAILERS:
        run->stage = IN_TRAILERS;
        jzx__http_head_trailers(&run->head, &run->trailers, run->trailer_list,
                                run->options->fields_max);
        return true;
    default: end_message(run, run->begin); return run->begin < len;
    }
}

static bool feed_trailers(struct run *run, const char *data, size_t len) {
    struct jzx__http_refusal refusal;
    const char *begin = data + run->begin;
    enum jzx__http_step step =
        jzx__http_fields_parse(&run->trailers, begin, len - run->begin, &refusal);
    if (step == JZX__HTTP_DONE)
        step = jzx__http_trailers_check(&run->trailers, &refusal);
    if (step == JZX__HTTP_REFUSED)
        refused(run, &refusal, run->begin);
    if (step != JZX__HTTP_DONE)
        return false;
    fprintf(run->out, "\nTRAILERS");
    put_fields(run, &run->trailers, begin);
    end_message(run, run->begin + run->trailers.at);
    return run->begin < len;
}

static void feed(struct run *run, const char *data, size_t len) {
    bool goes_on = true;
    while (goes_on && !run->is_over) {
        switch (run->stage) {
        case IN_HEAD: goes_on = feed_head(run, data, len); break;
        case IN_BODY: goes_on = feed_body(run, data, len); break;
        case IN_TRAILERS: goes_on = feed_trailers(run, data, len); break;
        }
    }
}

static void finish(struct run *run, size_t len) {
    struct driver_result *result = run->result;
    if (run->is_over)
        return;
    result->is_in_message = run->stage != IN_HEAD || run->begin < len;
    if (run->options->closes && run->stage == IN_BODY && jzx__http_body_close(&run->body)) {
        result->messages++;
        result->consumed = len;
        result->end = DRIVER_COMPLETE;
    }
    fprintf(run->out, "\nEND %d in=%d\n", (int)result->end, result->is_in_message);
}

struct driver_result driver_run(const struct driver_options *options, const char *data, size_t len,
                                size_t first, size_t piece) {
    struct driver_result result = {.end = DRIVER_WAITS, .keeps_alive = true};
    struct run *run = calloc(1, sizeof(*run));
    run->options = options;
    run->result = &result;
    run->out = open_memstream(&result.text, &result.text_len);
    begin_message(run, 0);
    size_t fed = first < len ? first : len;
    for (;;) {
        char *block = malloc(fed > 0 ? fed : 1);
        memcpy(block, data, fed);
        feed(run, block, fed);
        free(block);
        if (fed == len || run->is_over)
            break;
        fed = len - fed < piece ? len : fed + piece;
    }
    finish(run, len);
    fclose(run->out);
    free(run);
    return result;
}

void driver_free(struct driver_result *result) {
    free(result->text);
}

bool driver_agrees(const struct driver_options *options, const char *data, size_t len,
                   size_t cuts_max) {
    struct driver_result whole = driver_run(options, data, len, len, 1);
    size_t stride = len / cuts_max + 1;
    bool agrees = true;
    for (size_t cut = 0; cut <= len && agrees; cut += stride) {
        bool by_bytes = cut == 0;
        struct driver_result other = driver_run(options, data, len, cut, by_bytes ? 1 : len);
        agrees =
            other.text_len == whole.text_len && memcmp(other.text, whole.text, whole.text_len) == 0;
        if (!agrees) {
            printf("cut at %zu%s\n--- whole\n%s\n--- cut\n%s\n", cut, by_bytes ? " and 1" : "",
                   whole.text, other.text);
        }
        driver_free(&other);
    }
    driver_free(&whole);
    return agrees;
}
