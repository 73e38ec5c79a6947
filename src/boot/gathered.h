/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file gathered.h
 * The processes were started together, and a transport has given everybody's card to everybody.
 * Joining without a rendezvous: all make the same table of the same cards, or find the same error.
 * Or the universe forms at the rendezvous, and the cards tell which of its members are among them.
 * Pure.
 */
#ifndef WIO_GATHERED_H
#define WIO_GATHERED_H

#include "boot/boot.h"

/** What a process says of itself, in native byte order: they were started together. */
struct wio_card {
    uint32_t magic;
    uint32_t pid;
    int32_t pbid, npb; /* WAITIO_PBID and WAITIO_NPB; -1: not set */
    int32_t context;   /* which of the programs started together; -1: not known */
    int32_t inside;    /* WAITIO_INSIDE; off where all of the universe gathers */
    int32_t code;      /* 0, or why it cannot join ... */
    char text[232];    /* ... in words */
    char version[16];  /* of the library */
    char host[64];
    uint8_t universe[WIO_UNIVERSE_ID]; /* random; the first process's is taken */
    uint64_t identity;                 /* of the host */
    struct wio_tab_ep ep;
};

#define WIO_NO_NUMBER UINT32_MAX /* of a member without a card */

/** The card of this process, all but its context. */
void wio_card_fill(struct wio_card *card, const struct wio_config *cfg,
                   const struct wio_boot_offer *offer);
/**
 * The table of all cards. Blocks are told by WAITIO_PBID if all processes have it, else by their
 * contexts; ranks in a block follow the order of the cards.
 * @param me  place of this process's card
 * @return 0; JOIN, CONFIG naming who disagrees and the remedy, or a card's own error; NOMEM
 */
int wio_gathered_table(const struct wio_card *cards, uint32_t n, uint32_t me,
                       struct wio_table **out);

/**
 * Which members of a universe that has formed have given a card: by what each has published, its
 * token.
 * @param caps  bits of the address table that those members have
 * @param[out] number  place of each member's card, or WIO_NO_NUMBER; owned by the caller
 * @return 0; JOIN: this process is not among them, or two of them cannot be told apart; VERSION,
 * NOMEM
 */
int wio_gathered_numbers(const struct wio_card *cards, uint32_t n, const struct wio_table *t,
                         uint16_t caps, uint32_t **number);

#endif
