/* SPDX-License-Identifier: MIT */
/* Commands of sockets and files: each of them good and failing. */
#include "filing.h"
#include "scripting.h"

/* ---- one command after another ---- */

/* A command, its argument, and how it completes; then takes note of a handle that it brings. The
 * argument is read when its turn has come. */
struct ask {
    uint16_t command;
    const void *arg;
    size_t len;
    jzx_err wanted;
    const char *text; /* what it brings, if that is text */
    void (*then)(jzx_loop *loop, const struct seen *seen);
};

static const struct ask *asks; /* of the test that runs */
static uint32_t ask_count;

static jzx_err ask_in_order(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    uint32_t i = script->count;
    if (!JZX_EXPECT_EQ(script->steps, i + 1))
        return JZX_ERR_FAILED;
    if (i > 0) {
        const struct ask *asked = &asks[i - 1];
        const struct seen *seen = &script->seen[i - 1];
        if (seen->error != asked->wanted)
            printf("ask %u, command %u\n", i - 1, asked->command);
        JZX_EXPECT_EQ(seen->tag, UINT64_MAX - i);
        JZX_EXPECT_EQ(seen->error, asked->wanted);
        if (asked->text != NULL)
            expect_seen(script, i - 1, UINT64_MAX - i, asked->wanted, asked->text);
        if (asked->then != NULL)
            asked->then(ctx->loop, seen);
    }
    if (i == ask_count)
        return jzx_out_done(out, NULL, 0);
    return jzx_out_yield(out, UINT64_MAX - i - 1, asks[i].command, asks[i].arg, asks[i].len);
}

static void run_asks(const struct ask *all, size_t size) {
    struct script script = {.plan = ask_in_order};
    asks = all;
    ask_count = (uint32_t)(size / sizeof *all);
    assert_true(ask_count < SEEN_MAX);
    run_script(&script);
    JZX_EXPECT_EQ(script.count, ask_count);
}

/* One that works, and one that does not. */
#define ASK(number, argument, ...)                                                                 \
    { .command = (number), .arg = &(argument), .len = sizeof(argument), __VA_ARGS__ }
#define FAILS(number, argument, error) ASK(number, argument, .wanted = (error), .text = "")
#define SOCKET(what) JZX_COMMAND_SOCKET_##what
#define FILE_(what) JZX_COMMAND_FILE_##what

static const uint64_t nothing = 0;
static const uint64_t stale = UINT64_MAX;

/* ---- sockets ---- */

static char address[JZX_ADDRESS_MAX];
static jzx_listener listener;
static jzx_stream near_end;
static jzx_command_socket_listen listen_at = {.address = address};
static jzx_command_socket_connect connect_to = {.address = address};
static jzx_command_socket_read from_far;
static jzx_command_socket_read line_of_far;
static jzx_command_socket_read short_line_of_far;
static jzx_command_socket_read word_of_far;
static jzx_command_socket_read from_near;
static jzx_command_socket_write to_far;
static jzx_command_socket_write to_near;

static void note_listener(jzx_loop *loop, const struct seen *seen) {
    listener = handle_of(seen);
    if (address[0] != '@') /* the port that the system has chosen */
        JZX_EXPECT_EQ(jzx_listener_address(loop, listener, address, sizeof address), JZX_OK);
}

static void note_near(jzx_loop *loop, const struct seen *seen) {
    (void)loop;
    near_end = handle_of(seen);
    to_far = (jzx_command_socket_write){near_end, "a line\nwords", 12};
    from_near = (jzx_command_socket_read){.stream = near_end, .len = 1};
}

static void note_far(jzx_loop *loop, const struct seen *seen) {
    jzx_stream far_end = handle_of(seen);
    (void)loop;
    from_far = (jzx_command_socket_read){.stream = far_end, .len = 40};
    line_of_far = (jzx_command_socket_read){.stream = far_end, .len = 40, .delimiter = '\n'};
    short_line_of_far = (jzx_command_socket_read){.stream = far_end, .len = 3, .delimiter = '\n'};
    word_of_far = (jzx_command_socket_read){.stream = far_end, .len = 4};
    to_near = (jzx_command_socket_write){far_end, "yes", 3};
}

static void run_sockets(const char *at) {
    static const struct ask all[] = {
        ASK(SOCKET(LISTEN), listen_at, .then = note_listener),
        FAILS(SOCKET(LISTEN), listen_at, JZX_ERR_ADDRESS_IN_USE),
        ASK(SOCKET(CONNECT), connect_to, .then = note_near),
        ASK(SOCKET(ACCEPT), listener, .then = note_far),
        ASK(SOCKET(WRITE), to_far, .text = ""),
        FAILS(SOCKET(READ_UNTIL), short_line_of_far, JZX_ERR_TOO_LONG),
        ASK(SOCKET(READ_UNTIL), line_of_far, .text = "a line\n"),
        ASK(SOCKET(READ_EXACT), word_of_far, .text = "word"),
        ASK(SOCKET(READ), from_far, .text = "s"),
        ASK(SOCKET(SHUTDOWN), near_end, .text = ""),
        FAILS(SOCKET(SHUTDOWN), near_end, JZX_ERR_INVALID_STATE),
        FAILS(SOCKET(WRITE), to_far, JZX_ERR_INVALID_STATE),
        FAILS(SOCKET(READ), from_far, JZX_ERR_END),
        FAILS(SOCKET(READ_EXACT), word_of_far, JZX_ERR_END),
        FAILS(SOCKET(READ_UNTIL), line_of_far, JZX_ERR_END),
        ASK(SOCKET(WRITE), to_near, .text = ""),
        ASK(SOCKET(READ), from_near, .text = "y"),
        ASK(SOCKET(CLOSE), near_end, .text = ""),
        FAILS(SOCKET(CLOSE), near_end, JZX_ERR_CLOSED),
        FAILS(SOCKET(READ), from_near, JZX_ERR_CLOSED),
        FAILS(SOCKET(READ_EXACT), from_near, JZX_ERR_CLOSED),
        FAILS(SOCKET(READ_UNTIL), from_near, JZX_ERR_CLOSED),
        FAILS(SOCKET(WRITE), to_far, JZX_ERR_CLOSED),
        FAILS(SOCKET(SHUTDOWN), near_end, JZX_ERR_CLOSED),
        FAILS(SOCKET(ACCEPT), near_end, JZX_ERR_CLOSED),
        ASK(SOCKET(CLOSE), listener, .text = ""),
        FAILS(SOCKET(CLOSE), listener, JZX_ERR_CLOSED),
        FAILS(SOCKET(ACCEPT), listener, JZX_ERR_CLOSED),
        FAILS(SOCKET(CONNECT), connect_to, JZX_ERR_REFUSED),
    };
    snprintf(address, sizeof address, "%s", at);
    run_asks(all, sizeof all);
}

JZX_TEST(a_process_uses_tcp_by_commands, "D+reg") {
    run_sockets("127.0.0.1:0");
}

JZX_TEST(a_process_uses_unix_sockets_by_commands, "D+reg") {
    char name[48];
    snprintf(name, sizeof name, "@jzx_process_io_%ld", (long)getpid());
    run_sockets(name);
}

JZX_TEST(wrong_arguments_of_socket_commands_complete_with_errors, "D+reg", "D+hdl") {
    static const jzx_command_socket_listen no_address;
    static const jzx_command_socket_listen bad_address = {.address = "nowhere"};
    static const jzx_command_socket_connect no_peer;
    static const jzx_command_socket_connect bad_peer = {.address = "127.0.0.1:99999"};
    static const jzx_command_socket_read no_room = {.stream = 1};
    static const jzx_command_socket_read a_delimiter = {.stream = 1, .len = 1, .delimiter = 7};
    static const jzx_command_socket_read no_byte = {.stream = 1, .len = 1, .delimiter = 256};
    static const jzx_command_socket_read of_nobody = {.stream = 0, .len = 1};
    static const jzx_command_socket_write no_data = {.stream = 1, .len = 1};
    static const struct ask all[] = {
        FAILS(SOCKET(LISTEN), no_address, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(LISTEN), bad_address, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(LISTEN), nothing, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(CONNECT), no_peer, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(CONNECT), bad_peer, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(CONNECT), nothing, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(ACCEPT), nothing, JZX_ERR_CLOSED),
        FAILS(SOCKET(ACCEPT), stale, JZX_ERR_CLOSED),
        FAILS(SOCKET(ACCEPT), no_peer, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(READ), no_room, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(READ), a_delimiter, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(READ), of_nobody, JZX_ERR_CLOSED),
        FAILS(SOCKET(READ), nothing, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(READ_EXACT), no_room, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(READ_EXACT), a_delimiter, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(READ_EXACT), nothing, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(READ_UNTIL), no_room, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(READ_UNTIL), no_byte, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(READ_UNTIL), nothing, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(WRITE), no_data, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(WRITE), nothing, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(SHUTDOWN), stale, JZX_ERR_CLOSED),
        FAILS(SOCKET(SHUTDOWN), no_data, JZX_ERR_INVALID_ARG),
        FAILS(SOCKET(CLOSE), nothing, JZX_ERR_CLOSED),
        FAILS(SOCKET(CLOSE), stale, JZX_ERR_CLOSED),
        FAILS(SOCKET(CLOSE), no_data, JZX_ERR_INVALID_ARG),
    };
    run_asks(all, sizeof all);
}

/* ---- files ---- */

static char path[128];
static char other_path[128];
static const char *path_at = path;
static const char *other_path_at = other_path;
static jzx_file file;
static jzx_command_file_write write_there;
static jzx_command_file_write write_here;
static jzx_command_file_read read_here;
static jzx_command_file_read read_there;
static jzx_command_file_read read_beyond;
static jzx_command_file_sync sync_all;
static jzx_command_file_sync sync_data;
static jzx_command_file_truncate cut;

static void note_file(jzx_loop *loop, const struct seen *seen) {
    (void)loop;
    file = handle_of(seen);
    write_there = (jzx_command_file_write){file, "0123456789", 10, 0};
    write_here = (jzx_command_file_write){file, "ab", 2, JZX_FILE_HERE};
    read_here = (jzx_command_file_read){file, 3, JZX_FILE_HERE};
    read_there = (jzx_command_file_read){file, 40, 4};
    read_beyond = (jzx_command_file_read){file, 40, 100};
    sync_all = (jzx_command_file_sync){file, 0};
    sync_data = (jzx_command_file_sync){file, 1};
    cut = (jzx_command_file_truncate){file, 6};
}

static void expect_size(const struct seen *seen, uint64_t bytes) {
    jzx_file_info info;
    JZX_EXPECT_EQ(seen->len, sizeof info);
    memcpy(&info, seen->bytes, sizeof info.bytes); /* its first member */
    JZX_EXPECT_EQ(info.bytes, bytes);
}

static void expect_ten(jzx_loop *loop, const struct seen *seen) {
    (void)loop;
    expect_size(seen, 10);
}

static void expect_six(jzx_loop *loop, const struct seen *seen) {
    (void)loop;
    expect_size(seen, 6);
}

static void expect_written_ten(jzx_loop *loop, const struct seen *seen) {
    (void)loop;
    JZX_EXPECT_EQ(handle_of(seen), 10);
}

JZX_TEST(a_process_uses_files_by_commands, "D+reg") {
    static const jzx_command_file_open how_new = {
        path, JZX_FILE_READ | JZX_FILE_WRITE | JZX_FILE_CREATE | JZX_FILE_NEW, 0600};
    static const jzx_command_file_open how_old = {other_path, JZX_FILE_READ, 0};
    static const jzx_command_file_rename rename_it = {path, other_path};
    static const struct ask all[] = {
        ASK(FILE_(OPEN), how_new, .then = note_file),
        FAILS(FILE_(OPEN), how_new, JZX_ERR_EXISTS),
        FAILS(FILE_(OPEN), how_old, JZX_ERR_NOT_FOUND),
        ASK(FILE_(WRITE), write_there, .then = expect_written_ten),
        ASK(FILE_(SYNC), sync_all, .text = ""),
        ASK(FILE_(SYNC), sync_data, .text = ""),
        ASK(FILE_(STAT), file, .then = expect_ten),
        ASK(FILE_(READ), read_here, .text = "012"),
        ASK(FILE_(WRITE), write_here, .then = NULL),
        ASK(FILE_(READ), read_there, .text = "b56789"),
        FAILS(FILE_(READ), read_beyond, JZX_ERR_END),
        ASK(FILE_(TRUNCATE), cut, .text = ""),
        ASK(FILE_(STAT), file, .then = expect_six),
        ASK(FILE_(RENAME), rename_it, .text = ""),
        FAILS(FILE_(RENAME), rename_it, JZX_ERR_NOT_FOUND),
        FAILS(FILE_(REMOVE), path_at, JZX_ERR_NOT_FOUND),
        ASK(FILE_(REMOVE), other_path_at, .text = ""),
        ASK(FILE_(CLOSE), file, .text = ""),
        FAILS(FILE_(CLOSE), file, JZX_ERR_CLOSED),
        FAILS(FILE_(READ), read_here, JZX_ERR_CLOSED),
        FAILS(FILE_(WRITE), write_here, JZX_ERR_CLOSED),
        FAILS(FILE_(SYNC), sync_all, JZX_ERR_CLOSED),
        FAILS(FILE_(STAT), file, JZX_ERR_CLOSED),
        FAILS(FILE_(TRUNCATE), cut, JZX_ERR_CLOSED),
    };
    folder_open();
    snprintf(path, sizeof path, "%s", in_folder("one"));
    snprintf(other_path, sizeof other_path, "%s", in_folder("two"));
    run_asks(all, sizeof all);
    JZX_EXPECT_EQ(count_names(), 0);
    folder_close();
}

JZX_TEST(wrong_arguments_of_file_commands_complete_with_errors, "D+reg", "D+hdl") {
    static const char *no_path;
    static const jzx_command_file_open open_nothing = {.how = JZX_FILE_READ};
    static const jzx_command_file_open open_nohow = {.path = "/tmp"};
    static const jzx_command_file_read no_room = {.file = 1};
    static const jzx_command_file_read of_nobody = {.file = UINT64_MAX, .len = 1};
    static const jzx_command_file_write no_data = {.file = 1, .len = 1};
    static const jzx_command_file_sync no_truth = {.file = 1, .data_only = 2};
    static const jzx_command_file_truncate too_long = {.file = 1, .len = UINT64_MAX};
    static const jzx_command_file_rename no_names;
    static const struct ask all[] = {
        FAILS(FILE_(OPEN), open_nothing, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(OPEN), open_nohow, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(OPEN), nothing, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(READ), no_room, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(READ), of_nobody, JZX_ERR_CLOSED),
        FAILS(FILE_(READ), nothing, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(WRITE), no_data, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(WRITE), nothing, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(SYNC), no_truth, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(SYNC), nothing, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(CLOSE), nothing, JZX_ERR_CLOSED),
        FAILS(FILE_(CLOSE), no_room, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(STAT), stale, JZX_ERR_CLOSED),
        FAILS(FILE_(STAT), no_room, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(TRUNCATE), too_long, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(TRUNCATE), nothing, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(RENAME), no_names, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(RENAME), nothing, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(REMOVE), no_path, JZX_ERR_INVALID_ARG),
        FAILS(FILE_(REMOVE), no_names, JZX_ERR_INVALID_ARG),
    };
    run_asks(all, sizeof all);
}

static jzx_err open_in_vain(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    static const jzx_command_file_open how = {"/no such file", JZX_FILE_READ, 0};
    (void)ctx;
    return script->steps == 1 ? jzx_out_yield(out, 1, FILE_(OPEN), &how, sizeof how) : JZX_OK;
}

static jzx_process_state state_of_only(jzx_loop *loop) {
    jzx_process_info info = {.size = sizeof info};
    uint64_t cursor = 0;
    JZX_EXPECT_EQ(jzx_process_next(loop, &cursor, &info), JZX_OK);
    return info.state;
}

JZX_TEST(a_process_whose_command_on_a_file_is_complete_is_blocked_no_more, "D12", "D+st") {
    struct script script = {.plan = open_in_vain};
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &script_ops, .state = &script));
    while (script.count == 0)
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    expect_seen(&script, 0, 1, JZX_ERR_NOT_FOUND, "");
    JZX_EXPECT_EQ(state_of_only(loop), JZX_PROCESS_IDLE);
    fixture_destroy(loop);
}
