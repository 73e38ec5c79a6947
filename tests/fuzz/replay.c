/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file replay.c
 * Main program of the fuzz targets where libFuzzer is not: feeds every file of the folders (or the
 * files) named on the command line to the target once, then a fixed set of mutations of each, so
 * that an ordinary test run covers the parsers with any compiler. Same inputs in every run.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define REPLAY_MAX (1U << 20)
#define MUTATIONS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Exact-size heap copy, so that a sanitizer sees a read one byte past the end. */
static void feed(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) {
        abort();
    }
    if (size) {
        memcpy(copy, data, size);
    }
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void mutate(const uint8_t *data, size_t size, uint64_t seed)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) {
        abort();
    }
    for (int i = 0; size && i < MUTATIONS; i++) {
        memcpy(copy, data, size);
        for (uint64_t n = next_random(&seed) % 4 + 1; n; n--) {
            copy[next_random(&seed) % size] = (uint8_t)next_random(&seed);
        }
        feed(copy, size);
        feed(copy, next_random(&seed) % size);
    }
    free(copy);
}

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "replay: cannot open %s\n", path);
        return -1;
    }
    uint8_t *data = malloc(REPLAY_MAX);
    if (!data) {
        abort();
    }
    size_t size = fread(data, 1, REPLAY_MAX, file);
    fclose(file);
    feed(data, size);
    mutate(data, size, 0x9e3779b97f4a7c15U ^ size);
    free(data);
    return 1;
}

static int replay_path(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        return replay_file(path);
    }
    DIR *dir = opendir(path);
    int count = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char name[4096];
        int n = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || n < 0 || (size_t)n >= sizeof name) {
            continue;
        }
        count += replay_file(name) > 0;
    }
    if (dir) {
        closedir(dir);
    }
    return count;
}

int main(int argc, char **argv)
{
    static const uint8_t zeros[256];
    int total = 0;
    feed(zeros, 0);
    mutate(zeros, sizeof zeros, 1);
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) != 0) {
            fprintf(stderr, "replay: no corpus %s: only made-up inputs\n", argv[i]);
            continue;
        }
        int n = replay_path(argv[i]);
        if (n < 0) {
            return 1;
        }
        total += n;
    }
    printf("replayed %d inputs and their mutations\n", total);
    return 0;
}
