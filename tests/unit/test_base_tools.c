/* SPDX-License-Identifier: BSD-3-Clause */
/* Small tools: text, lists, pools, nearest words, hashes, checksum, byte order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/crc32c.h"
#include "os/os.h"

static int failing_after;

/** Fail every allocation but the first @p failing_after ones. */
static int fail_memory(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_MEM && failing_after-- <= 0 ? -12 : 0;
}

static int no_faults(void **state)
{
    (void)state;
    wio_os_fault = NULL;
    return 0;
}

static void test_strbuf(void **state)
{
    (void)state;
    struct wio_strbuf sb = {0};
    char expected[4001];
    for (int i = 0; i < 1000; i++) {
        wio_strbuf_add(&sb, "%04d", i);
        wio_text(expected + 4 * i, 5, "%04d", i);
    }
    assert_false(sb.failed);
    assert_int_equal(sb.len, 4000);
    assert_string_equal(sb.text, expected);
    failing_after = 0;
    wio_os_fault = fail_memory;
    for (int i = 0; i < 5; i++)
        wio_strbuf_add(&sb, "%s", expected);
    assert_true(sb.failed);
    assert_true(sb.len % 4000 == 0 && strlen(sb.text) == sb.len); /* never half an addition */
    wio_strbuf_free(&sb);
    assert_null(sb.text);
}

static void test_text(void **state)
{
    (void)state;
    char buf[4] = "zzz";
    assert_int_equal(wio_text(buf, 0, "abc"), 0);
    assert_string_equal(buf, "zzz");
    assert_int_equal(wio_text(buf, sizeof buf, "ab"), 2);
    assert_int_equal(wio_text(buf, sizeof buf, "abcdef"), 3);
    assert_string_equal(buf, "abc");
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const words[] = {"socket", "shm", "file", "hybrid"};
    assert_string_equal(wio_nearest("SOCKT", words, 4), "socket");
    assert_string_equal(wio_nearest("sokcet", words, 4), "socket");
    assert_string_equal(wio_nearest("shm", words, 4), "shm");
    assert_string_equal(wio_nearest("hybrit", words, 4), "hybrid");
    assert_string_equal(wio_nearest("sock", words, 4), "socket");
    static const char *const short_words[] = {"ba"};
    assert_string_equal(wio_nearest("ab", short_words, 1), "ba"); /* exchanged: one edit, not two */
    assert_null(wio_nearest("", words, 4));
    assert_null(wio_nearest("xyz", words, 4)); /* three edits, but nothing of it is left */
    assert_null(wio_nearest("ethernet", words, 4));
    char big[300];
    memset(big, 's', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    assert_null(wio_nearest(big, words, 4));
    const char *const long_candidate[] = {big};
    assert_null(wio_nearest("socket", long_candidate, 1));
}

struct item {
    int value;
    struct wio_list link;
};

static void test_list(void **state)
{
    (void)state;
    struct wio_list head;
    struct item items[4] = {{.value = 0}, {.value = 1}, {.value = 2}, {.value = 3}};
    wio_list_init(&head);
    assert_true(wio_list_empty(&head));
    assert_null(wio_list_pop(&head));
    assert_false(wio_list_linked(&items[0].link));
    wio_list_remove(&items[0].link);
    for (int i = 1; i < 4; i++)
        wio_list_push(&head, &items[i].link);
    wio_list_push_front(&head, &items[0].link);
    int expected = 0;
    WIO_LIST_FOR_SAFE(it, next, &head)
    {
        assert_int_equal(WIO_CONTAINER(it, struct item, link)->value, expected);
        if (expected++ == 2)
            wio_list_remove(it);
    }
    assert_int_equal(expected, 4);
    assert_false(wio_list_linked(&items[2].link));
    assert_ptr_equal(wio_list_pop(&head), &items[0].link);
    assert_ptr_equal(wio_list_pop(&head), &items[1].link);
    assert_ptr_equal(wio_list_first(&head), &items[3].link);
}

static void test_pool(void **state)
{
    (void)state;
    enum { BLOCKS = 100 };
    struct wio_pool p;
    unsigned char *blocks[BLOCKS];
    wio_pool_init(&p, 25, 8);
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = wio_pool_get(&p);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], i, 25);
    }
    for (int i = 0; i < BLOCKS; i++)
        for (int k = 0; k < 25; k++)
            assert_int_equal(blocks[i][k], i);
    assert_int_equal(p.used, BLOCKS);
    size_t bytes = p.bytes;
    assert_true(bytes >= (size_t)BLOCKS * 25);
    for (int i = 0; i < BLOCKS; i++)
        wio_pool_put(&p, blocks[i]);
    wio_pool_put(&p, NULL);
    assert_int_equal(p.used, 0);
    for (int i = 0; i < BLOCKS; i++)
        assert_non_null(wio_pool_get(&p));
    assert_int_equal(p.bytes, bytes); /* the same blocks again */
    wio_pool_free(&p);
    assert_int_equal(p.bytes, 0);
    assert_true(wio_list_empty(&p.slabs));
}

static void test_pool_without_memory(void **state)
{
    (void)state;
    struct wio_pool p;
    wio_pool_init(&p, 64, 2);
    failing_after = 1;
    wio_os_fault = fail_memory;
    void *first = wio_pool_get(&p);
    assert_non_null(first);
    assert_non_null(wio_pool_get(&p));
    assert_null(wio_pool_get(&p));
    assert_int_equal(p.used, 2);
    wio_pool_put(&p, first);
    assert_ptr_equal(wio_pool_get(&p), first);
    wio_pool_free(&p);
    wio_pool_init(&p, SIZE_MAX - 3, 2);
    assert_null(wio_pool_get(&p));
    wio_pool_init(&p, SIZE_MAX / 4, 64);
    assert_null(wio_pool_get(&p));
}

/* The sizes are four for each power of two, and a freed buffer comes again. */
static void test_buffers(void **state)
{
    (void)state;
    struct wio_buffers b = {0};
    for (size_t n = 4097; n <= WIO_BUFFER_MOST; n += 1 + n / 17) {
        unsigned char *first = wio_buffer_get(&b, n);
        assert_non_null(first);
        wio_buffer_put(&b, first, n);
        size_t room = b.kept;
        assert_true(room >= n && 4 * room < 5 * n + 5);
        memset(first + sizeof(void *), 1, room - sizeof(void *));
        assert_ptr_equal(wio_buffer_get(&b, room), first);
        assert_int_equal(b.kept, 0);
        wio_os_free(first);
    }
    wio_buffer_put(&b, NULL, 5000);
    wio_buffer_put(&b, wio_buffer_get(&b, 4096), 4096);
    wio_buffer_put(&b, wio_buffer_get(&b, WIO_BUFFER_MOST + 1), WIO_BUFFER_MOST + 1);
    assert_int_equal(b.kept, 0);
    failing_after = 0;
    wio_os_fault = fail_memory;
    assert_null(wio_buffer_get(&b, 4096));
    assert_null(wio_buffer_get(&b, 5000));
    assert_null(wio_buffer_get(&b, SIZE_MAX));
}

/* No more is kept than allowed; and what was not needed between two looks goes back. */
static void test_buffers_are_given_back(void **state)
{
    (void)state;
    enum { SIZE = 3 << 16, MANY = 100 };
    struct wio_buffers b = {0};
    void *buffer[MANY];
    int64_t now = WIO_BUFFERS_TIDY_NS;
    for (int i = 0; i < MANY; i++)
        assert_non_null(buffer[i] = wio_buffer_get(&b, SIZE));
    for (int i = 0; i < MANY; i++)
        wio_buffer_put(&b, buffer[i], SIZE);
    assert_true(b.kept <= WIO_BUFFERS_KEPT && b.kept + SIZE > WIO_BUFFERS_KEPT);
    wio_buffers_tidy(&b, now); /* all were needed just now */
    assert_true(b.kept + SIZE > WIO_BUFFERS_KEPT);
    for (int i = 0; i < 3; i++)
        buffer[i] = wio_buffer_get(&b, SIZE);
    for (int i = 0; i < 3; i++)
        wio_buffer_put(&b, buffer[i], SIZE);
    wio_buffers_tidy(&b, now + WIO_BUFFERS_TIDY_NS / 2); /* too soon */
    assert_true(b.kept + SIZE > WIO_BUFFERS_KEPT);
    wio_buffers_tidy(&b, now + WIO_BUFFERS_TIDY_NS);
    assert_int_equal(b.kept, 3 * SIZE);
    wio_buffers_tidy(&b, now + 2 * WIO_BUFFERS_TIDY_NS);
    assert_int_equal(b.kept, 0);
    wio_buffer_put(&b, wio_buffer_get(&b, SIZE), SIZE);
    wio_buffers_free(&b);
    assert_int_equal(b.kept, 0);
}

static void test_crc32c(void **state)
{
    (void)state;
    unsigned char data[600];
    /* published vectors: the digits, and 32 bytes of zeros, of ones, counting up (RFC 3720 B.4) */
    assert_int_equal(wio_crc32c(0, "123456789", 9), 0xe3069283u);
    memset(data, 0, 32);
    assert_int_equal(wio_crc32c(0, data, 32), 0x8a9136aau);
    memset(data, 0xff, 32);
    assert_int_equal(wio_crc32c(0, data, 32), 0x62a8ab43u);
    for (int i = 0; i < 32; i++)
        data[i] = (unsigned char)i;
    assert_int_equal(wio_crc32c(0, data, 32), 0x46dd794eu);
    assert_int_equal(wio_crc32c_plain(0, data, 32), 0x46dd794eu);
    assert_int_equal(wio_crc32c(0, NULL, 0), 0);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)wio_mix64(i);
    for (size_t n = 0; n < sizeof data; n += 7) { /* any length, any alignment, any cut */
        uint32_t whole = wio_crc32c_plain(0, data + 3, n - n % 3);
        uint32_t half = wio_crc32c(0, data + 3, n / 2 - n % 3 / 2);
        size_t cut = n / 2 - n % 3 / 2;
        assert_int_equal(wio_crc32c(half, data + 3 + cut, n - n % 3 - cut), whole);
    }
}

static void test_hash(void **state)
{
    (void)state;
    unsigned char data[40] = {0};
    assert_int_equal(wio_hash_bytes(1, "waitio", 6), wio_hash_bytes(1, "waitio", 6));
    assert_int_not_equal(wio_hash_bytes(1, "waitio", 6), wio_hash_bytes(2, "waitio", 6));
    for (size_t a = 0; a < sizeof data; a++) /* zeros count by their number */
        for (size_t b = 0; b < a; b++)
            assert_true(wio_hash_bytes(0, data, a) != wio_hash_bytes(0, data, b));
    for (size_t bit = 0; bit < 8 * sizeof data; bit++) {
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        uint64_t flipped = wio_hash_bytes(0, data, sizeof data);
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        int changed = __builtin_popcountll(flipped ^ wio_hash_bytes(0, data, sizeof data));
        assert_in_range(changed, 8, 56);
    }
    assert_true(wio_hash64(wio_hash64(0, 1), 2) != wio_hash64(wio_hash64(0, 2), 1));
}

static void test_byte_order(void **state)
{
    (void)state;
    uint8_t b[9] = {0};
    wio_put16(b + 1, 0x1234);
    assert_memory_equal(b, "\0\x34\x12", 3);
    assert_int_equal(wio_get16(b + 1), 0x1234);
    wio_put32(b + 1, 0x89abcdef);
    assert_memory_equal(b, "\0\xef\xcd\xab\x89", 5);
    assert_int_equal(wio_get32(b + 1), 0x89abcdefu);
    wio_put64(b + 1, 0x0123456789abcdefULL);
    assert_memory_equal(b, "\0\xef\xcd\xab\x89\x67\x45\x23\x01", 9);
    assert_true(wio_get64(b + 1) == 0x0123456789abcdefULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_strbuf, no_faults),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_pool),
        cmocka_unit_test_teardown(test_pool_without_memory, no_faults),
        cmocka_unit_test_teardown(test_buffers, no_faults),
        cmocka_unit_test_teardown(test_buffers_are_given_back, no_faults),
        cmocka_unit_test(test_crc32c),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_byte_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
