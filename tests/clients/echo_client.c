/* SPDX-License-Identifier: MIT */
/* A client for echo servers in any language, on sockets of the system alone.
 *
 *     echo_client PORT PID [SEED [LIMIT]]     the server at 127.0.0.1:PORT, which is that process;
 *                                             it serves at most LIMIT connections at a time
 *
 * Many connections are open at once. Each writes its own bytes, in pieces of random size, and
 * compares what comes back; then it half-closes and expects the end, or closes, or it resets the
 * connection in the middle. Another one writes a burst, half-closes, and reads so slowly that the
 * server must stop reading meanwhile. In the end the server must have closed all of them, and still
 * answer. Of more connections than LIMIT the server opens LIMIT, and serves the others when those
 * are closed. A failure prints the seed. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTIONS = 64,
    LENGTH_MAX = 200000,
    PIECE_MAX = 20000,
    BURST = 8 * 1024 * 1024,
    SLOW_PIECE = 4096,
    SILENCE_MS = 120000, /* nothing at all happens: the server is stuck */
    LAST_TRIES = 100000,
    LIMIT_MAX = 4096,
    BEYOND = 64,   /* connections more than the limit */
    FILES_MORE = 8 /* the server may open for itself; far below the connections of one way */
};

enum way { HALF_CLOSE, CLOSE, RESET, SLOW };

struct connection {
    int fd; /* -1: done */
    enum way way;
    uint64_t seed;
    size_t length;   /* to be written */
    size_t reset_at; /* RESET: bytes that are written before */
    size_t written;
    size_t read;
    bool is_shut;
};

static uint64_t seed = 1;
static uint16_t port;
static char server_files[64]; /* "/proc/PID/fd" */

static void fail(const char *what, const struct connection *it) {
    fprintf(stderr, "seed %llu: %s", (unsigned long long)seed, what);
    if (it != NULL)
        fprintf(stderr, " (way %d, %zu bytes, %zu written, %zu read)", it->way, it->length,
                it->written, it->read);
    fprintf(stderr, ": %s\n", strerror(errno));
    exit(EXIT_FAILURE);
}

static uint64_t random_next(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static size_t random_below(size_t limit) {
    static uint64_t state;
    if (state == 0)
        state = seed;
    return (size_t)(random_next(&state) % limit);
}

/* What a connection writes at that place. */
static unsigned char byte_at(const struct connection *it, size_t place) {
    uint64_t state = it->seed + place / 8;
    return (unsigned char)(random_next(&state) >> (place % 8 * 8));
}

static void fill(const struct connection *it, size_t place, unsigned char *bytes, size_t len) {
    for (size_t i = 0; i < len; i++)
        bytes[i] = byte_at(it, place + i);
}

static int open_socket(int receive_buffer) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || (receive_buffer != 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer,
                                                     sizeof receive_buffer) != 0))
        fail("socket", NULL);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connect", NULL);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        fail("fcntl", NULL);
    return fd;
}

static void begin(struct connection *it, enum way way) {
    *it = (struct connection){.way = way, .seed = random_below(SIZE_MAX)};
    it->fd = open_socket(way == SLOW ? SLOW_PIECE : 0);
    it->length = way == SLOW ? BURST : 1 + random_below(LENGTH_MAX);
    it->reset_at = random_below(it->length);
}

static void end(struct connection *it) {
    close(it->fd);
    it->fd = -1;
}

static void reset(struct connection *it) {
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    if (setsockopt(it->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) != 0)
        fail("SO_LINGER", it);
    end(it);
}

/* ---- one step of a connection ---- */

static void write_some(struct connection *it) {
    static unsigned char piece[PIECE_MAX];
    size_t len = 1 + random_below(PIECE_MAX);
    if (len > it->length - it->written)
        len = it->length - it->written;
    fill(it, it->written, piece, len);
    ssize_t done = send(it->fd, piece, len, MSG_NOSIGNAL);
    if (done < 0 && errno != EAGAIN && errno != EINTR)
        fail("send", it);
    it->written += done > 0 ? (size_t)done : 0;
    if (it->way == RESET && it->written > it->reset_at) {
        reset(it);
    } else if (it->way != CLOSE && it->written == it->length) {
        if (shutdown(it->fd, SHUT_WR) != 0)
            fail("shutdown", it);
        it->is_shut = true;
    }
}

static void at_end(struct connection *it) {
    if (!it->is_shut || it->read != it->length)
        fail("the server ended a connection early", it);
    end(it);
}

static void read_some(struct connection *it) {
    static unsigned char bytes[PIECE_MAX];
    size_t cap = it->way == SLOW ? SLOW_PIECE : 1 + random_below(PIECE_MAX);
    ssize_t len = recv(it->fd, bytes, cap, 0);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len < 0)
        fail("recv", it);
    if (len == 0) {
        at_end(it);
        return;
    }
    if ((size_t)len > it->written - it->read)
        fail("more came back than was sent", it);
    for (size_t i = 0; i < (size_t)len; i++) {
        if (bytes[i] != byte_at(it, it->read + i))
            fail("a wrong byte came back", it);
    }
    it->read += (size_t)len;
    if (it->way == CLOSE && it->read == it->length)
        end(it);
}

/* The slow one reads only when it cannot write: it is the server's turn to wait. */
static short wanted(const struct connection *it) {
    return (short)(POLLIN | (it->written < it->length ? POLLOUT : 0));
}

static void step(struct connection *it, short ready) {
    const short broken = POLLERR | POLLHUP;
    if (ready & POLLOUT)
        write_some(it);
    if (it->fd >= 0 && (ready & (POLLIN | broken)) && !(it->way == SLOW && (ready & POLLOUT)))
        read_some(it);
}

/* Until all of them are done. */
static void run(struct connection *all, size_t count) {
    struct pollfd polls[CONNECTIONS];
    for (;;) {
        size_t left = 0;
        for (size_t i = 0; i < count; i++) {
            polls[i] = (struct pollfd){.fd = all[i].fd, .events = wanted(&all[i])};
            left += all[i].fd >= 0;
        }
        if (left == 0)
            return;
        int ready = poll(polls, count, SILENCE_MS);
        if (ready < 0 && errno != EINTR)
            fail("poll", NULL);
        if (ready == 0)
            fail("the server is silent", NULL);
        for (size_t i = 0; i < count && ready > 0; i++) {
            if (all[i].fd >= 0 && polls[i].revents != 0)
                step(&all[i], polls[i].revents);
        }
    }
}

/* ---- the whole ---- */

static size_t count_files(void) {
    size_t count = 0;
    DIR *folder = opendir(server_files);
    if (folder == NULL)
        fail(server_files, NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static void echo_one(void) {
    struct connection one;
    begin(&one, HALF_CLOSE);
    run(&one, 1);
}

/* What connections have opened in the server is closed: a little later, as it learns of it. */
static void expect_files(size_t count) {
    for (int i = 0; i < LAST_TRIES; i++) {
        if (count_files() <= count + FILES_MORE)
            return;
        echo_one();
    }
    fail("the server keeps connections that are gone", NULL);
}

static void send_byte(int fd) {
    if (send(fd, "x", 1, MSG_NOSIGNAL) != 1)
        fail("send", NULL);
}

static void await_byte(int fd) {
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char byte;
    if (poll(&wait, 1, SILENCE_MS) != 1)
        fail("the server is silent", NULL);
    if (recv(fd, &byte, 1, 0) != 1 || byte != 'x')
        fail("a byte did not come back", NULL);
}

/* The first ones are served, and keep the server busy while the others wait. */
static void expect_limit(size_t limit, size_t files) {
    static int fds[LIMIT_MAX + BEYOND];
    if (limit > LIMIT_MAX)
        fail("LIMIT is too high", NULL);
    for (size_t i = 0; i < limit + BEYOND; i++) {
        fds[i] = open_socket(0);
        send_byte(fds[i]);
    }
    for (size_t i = 0; i < limit; i++)
        await_byte(fds[i]);
    for (size_t i = 0; i < limit; i++) {
        send_byte(fds[i]);
        await_byte(fds[i]);
    }
    if (count_files() > files + limit + FILES_MORE)
        fail("the server has more connections than it may", NULL);
    for (size_t i = 0; i < limit; i++)
        close(fds[i]);
    for (size_t i = limit; i < limit + BEYOND; i++) {
        await_byte(fds[i]);
        close(fds[i]);
    }
    expect_files(files);
}

int main(int argc, char **argv) {
    static struct connection all[CONNECTIONS];
    if (argc < 3 || argc > 5) {
        fprintf(stderr, "usage: %s PORT PID [SEED [LIMIT]]\n", argv[0]);
        return EXIT_FAILURE;
    }
    port = (uint16_t)strtoul(argv[1], NULL, 10);
    snprintf(server_files, sizeof server_files, "/proc/%s/fd", argv[2]);
    seed = argc >= 4 ? strtoull(argv[3], NULL, 0) : seed;
    echo_one();
    size_t files = count_files();
    for (size_t i = 0; i < CONNECTIONS; i++)
        begin(&all[i], (enum way)(i % 3));
    run(all, CONNECTIONS);
    begin(&all[0], SLOW);
    run(all, 1);
    expect_files(files);
    if (argc == 5)
        expect_limit(strtoul(argv[4], NULL, 0), files);
    printf("seed %llu: %d connections\n", (unsigned long long)seed, CONNECTIONS + 1);
    return EXIT_SUCCESS;
}
