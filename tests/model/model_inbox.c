/* SPDX-License-Identifier: BSD-3-Clause */
/** @file model_inbox.c  The library's inbox, tiny: two writers, of whom one may be killed anywhere,
 * and the reader. */
#include "transport/shm/inbox.h"

#include "transport/shm/inbox.c"

#define CELL 64u
#define FIRST 0xffffffffu /* positions pass 2^32 on the way */

static struct shm_inbox b;
static int each_of[2];
static bool may_die; /* thread 0 */
static int published[2], delivered[2];
static uint32_t inbox_pos;

static void setup(uint32_t cells, int first, int second)
{
    struct shm_inbox_geo g = {cells, CELL};
    wio_shm_inbox_place(&b, &g, mm_arena());
    inbox_pos = FIRST;
    atomic_init(&b.head->tail, FIRST);
    mm_name(&b.head->tail, "tail");
    for (uint32_t i = 0; i < cells; i++) {
        struct shm_cell *c = shm_inbox_cell(&b, FIRST + i);
        atomic_init(&c->word, shm_word(FIRST + i, 0, SHM_FREE));
        mm_name(&c->word, "cell[%u]", (unsigned)((FIRST + i) & (cells - 1)));
    }
    each_of[0] = first;
    each_of[1] = second;
    memset(published, 0, sizeof published);
    memset(delivered, 0, sizeof delivered);
    may_die = false;
}

/* As inbox_put() of tx.c. */
static void writer(void)
{
    uint32_t me = (uint32_t)mm_self(), owner = shm_owner(me, 3);
    for (int i = 0; i < each_of[me]; i++) {
        uint32_t pos;
        struct shm_cell *c;
        while ((c = wio_shm_inbox_claim(&b, owner, &pos)) == NULL)
            mm_spin(NULL);
        if (mm_mutated("put: publish before filling"))
            shm_inbox_publish(c, pos, owner);
        uint8_t msg[WIO_MSG_BYTES];
        memset(msg, 16 * (int)(me + 1) + i, sizeof msg);
        c->info = shm_info(SHM_MESSAGE, SHM_INLINE, 8);
        memcpy(c->msg, msg, WIO_MSG_BYTES);
        memcpy(c->data, msg, 8);
        if (!mm_mutated("put: publish before filling"))
            shm_inbox_publish(c, pos, owner);
        published[me]++;
    }
}

static void deliver(const struct shm_cell *c, uint64_t word)
{
    uint32_t who = shm_owner_slot(shm_word_owner(word));
    uint8_t msg[WIO_MSG_BYTES], data[8];
    uint32_t info = c->info;
    memcpy(msg, c->msg, WIO_MSG_BYTES);
    memcpy(data, c->data, 8);
    if (who > 1)
        mm_fail("a cell of nobody");
    uint8_t want = (uint8_t)(16 * (who + 1) + (uint32_t)delivered[who]);
    if (info != shm_info(SHM_MESSAGE, SHM_INLINE, 8) || msg[0] != want || msg[39] != want ||
        data[0] != want || data[7] != want)
        mm_fail("thread %u: message %d expected, %02x read", (unsigned)who, delivered[who],
                (unsigned)msg[0]);
    delivered[who]++;
}

static bool death(void)
{
    return may_die && mm_dead(0);
}

static bool mourned;
static uint32_t eof_pos;

/* As wio_shm_link_eof() and wio_shm_settle_dead() of link.c: what the dead one left is read up to
 * where the tail stands. */
static bool all_read(void)
{
    if (death() && !mourned) {
        mourned = true;
        mm_mourn(0);
        eof_pos = atomic_load_explicit(&b.head->tail, memory_order_acquire);
    }
    bool first = mourned ? (int32_t)(eof_pos - inbox_pos) <= 0 : delivered[0] == each_of[0];
    return first && delivered[1] == each_of[1];
}

/* As wio_shm_rx_inbox() of rx.c with unfinished() and head_cell(). */
static void reader(void)
{
    mourned = false;
    while (!all_read()) {
        struct shm_cell *c = shm_inbox_cell(&b, inbox_pos);
        uint64_t word = atomic_load_explicit(&c->word, memory_order_acquire);
        bool here = shm_word_pos(word) == inbox_pos;
        bool writing = here && shm_word_state(word) == SHM_CLAIMED;
        bool gone = mourned && shm_owner_slot(shm_word_owner(word)) == 0;
        if (mm_mutated("read: skip what is only claimed"))
            gone = true;
        if (word == shm_word(inbox_pos, 0, SHM_FREE) || (writing && !gone)) {
            mm_spin(mourned ? NULL : death);
            continue;
        }
        bool early = mm_mutated("read: free before copy");
        if (early)
            shm_inbox_free(&b, c, inbox_pos);
        if (here && shm_word_state(word) == SHM_FULL)
            deliver(c, word);
        else if (!writing)
            mm_fail("the cell at %x says %llx", (unsigned)inbox_pos, (unsigned long long)word);
        if (!early)
            shm_inbox_free(&b, c, inbox_pos);
        inbox_pos++;
    }
}

static void finish(void)
{
    for (int i = 0; i < 2; i++)
        if (delivered[i] != published[i])
            mm_fail("%d messages of thread %d were published, %d delivered", published[i], i,
                    delivered[i]);
}

static void setup_wrap(void)
{
    setup(2, 2, 1);
}
static void setup_one_cell(void)
{
    setup(1, 1, 1);
}
static void setup_death(void)
{
    setup(2, 1, 1);
    may_die = true;
}

static const struct mm_program programs[] = {
    {.name = "inbox: two writers, one cell",
     .threads = 3,
     .setup = setup_one_cell,
     .body = {writer, writer, reader},
     .finish = finish},
    {.name = "inbox: a writer is killed",
     .threads = 3,
     .mortal = 1,
     .setup = setup_death,
     .body = {writer, writer, reader},
     .finish = finish},
    {.name = "inbox: three messages, two cells",
     .threads = 3,
     .setup = setup_wrap,
     .body = {writer, writer, reader},
     .finish = finish},
};
static const char *const mutants[] = {"put: publish before filling", "read: free before copy",
                                      "read: skip what is only claimed", NULL};
static const char *const needless[] = {
    /* the end of a process was read from its socket: the system has ordered everything before */
    "all_read: load(&b.head->tail) without acquire", NULL};
static const char *const either[] = {
    /* a word never returns: load and exchange read the same store, either may acquire */
    "wio_shm_inbox_claim: load(&c->word) without acquire",
    "wio_shm_inbox_claim: cas(&c->word) without acquire", NULL};

int main(int argc, char **argv)
{
    static const struct mm_suite s = {"inbox", programs, sizeof programs / sizeof programs[0],
                                      mutants, needless, either};
    return mm_main(&s, argc, argv);
}
