/* SPDX-License-Identifier: MIT */
/*
 * Opens libjzx at run time, as a plug-in or a language binding does, again and again. A thread that
 * was there before the library uses it as well: its thread-locals must have found room.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 20 };

static const char *path;
static sem_t go;
static sem_t done;

/* ISO C has no cast from an object to a function pointer; POSIX promises that the bits fit. */
union symbol {
    void *object;
    const char *(*version)(void);
    void *(*create)(const void *config);
    int (*run_or_destroy)(void *loop);
};

static union symbol find(void *library, const char *name) {
    union symbol found = {.object = dlsym(library, name)};

    if (found.object == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static void use_once(void) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *loop;

    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    loop = find(library, "jzx_loop_create").create(NULL);
    if (loop == NULL || find(library, "jzx_loop_run").run_or_destroy(loop) != 0)
        exit(1);
    if (find(library, "jzx_loop_destroy").run_or_destroy(loop) != 0)
        exit(1);
    if (find(library, "jzx_version").version()[0] == '\0')
        exit(1);
    dlclose(library);
}

static void *use_on_an_older_thread(void *ctx) {
    (void)ctx;
    for (int i = 0; i < ROUNDS; i++) {
        sem_wait(&go);
        use_once();
        sem_post(&done);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t older;

    if (argc != 2)
        return 2;
    path = argv[1];
    sem_init(&go, 0, 0);
    sem_init(&done, 0, 0);
    if (pthread_create(&older, NULL, use_on_an_older_thread, NULL) != 0)
        return 1;
    for (int i = 0; i < ROUNDS; i++) {
        use_once();
        sem_post(&go);
        sem_wait(&done);
    }
    pthread_join(older, NULL);
    printf("opened and closed %d times\n", 2 * ROUNDS);
    return 0;
}
