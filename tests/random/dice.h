/* SPDX-License-Identifier: BSD-3-Clause */
/* Chance that repeats: the same keys give the same numbers in every process. */
#ifndef DICE_H
#define DICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

/** A key made of two: who has both has it. */
uint64_t key_of(uint64_t a, uint64_t b);
struct dice dice_of(uint64_t key);
/** 0 to n - 1; n is at least 1. */
int below(struct dice *d, int n);
bool chance(struct dice *d, int percent);
/** A number of bytes: mostly few, sometimes up to most. */
size_t some_size(struct dice *d, size_t most);
/** A permutation of 0 to n - 1. */
void shuffled(struct dice *d, int *order, int n);
/** Bytes from ... of the endless stream of a key. */
void stream_bytes(char *to, uint64_t stream, size_t from, size_t n);

#endif
