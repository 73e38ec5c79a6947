/* SPDX-License-Identifier: BSD-3-Clause */
/* Text to values and back. Own number parsers: those of the C library depend on the locale. */
#include "base/config_text.h"

enum parsed { PARSED, MALFORMED, TOO_LARGE };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool equal_words(const char *a, const char *b)
{
    while (*a != '\0' && lower(*a) == lower(*b))
        a++, b++;
    return *a == *b;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/** Digits at *p, at least one; *p moves behind them. */
static enum parsed take_digits(const char **p, uint64_t *value)
{
    uint64_t v = 0;
    if (!is_digit(**p))
        return MALFORMED;
    enum parsed result = PARSED;
    for (; is_digit(**p); ++*p) {
        uint64_t digit = (uint64_t)(**p - '0');
        if (v > (UINT64_MAX - digit) / 10)
            result = TOO_LARGE;
        else
            v = v * 10 + digit;
    }
    *value = v;
    return result;
}

static enum parsed parse_int(const char *text, int64_t *value)
{
    bool negative = *text == '-';
    const char *p = text + (*text == '-' || *text == '+');
    uint64_t magnitude = 0;
    enum parsed r = take_digits(&p, &magnitude);
    if (r == MALFORMED || *p != '\0')
        return MALFORMED;
    if (r == TOO_LARGE || magnitude > INT64_MAX)
        return TOO_LARGE;
    *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return PARSED;
}

/** Power of two that a suffix stands for, -1 for none that is known. */
static int suffix_bits(const char *p)
{
    static const char letters[] = "kmgt";
    int bits = 0;
    const char *letter = *p != '\0' ? strchr(letters, lower(*p)) : NULL;
    if (letter != NULL) {
        bits = 10 * (int)(letter - letters + 1);
        p++;
        if (lower(p[0]) == 'i' && lower(p[1]) == 'b')
            p++;
    }
    if (lower(*p) == 'b')
        p++;
    return *p == '\0' ? bits : -1;
}

static enum parsed parse_size(const char *text, uint64_t *value)
{
    const char *p = text;
    enum parsed r = take_digits(&p, value);
    if (r == MALFORMED)
        return r;
    int bits = suffix_bits(p);
    if (bits < 0)
        return MALFORMED;
    if (r == TOO_LARGE || *value > UINT64_MAX >> bits)
        return TOO_LARGE;
    *value <<= bits;
    return PARSED;
}

/** Decimal with at most 9 digits behind the point that count. */
static enum parsed parse_seconds(const char *text, double *value)
{
    bool negative = *text == '-';
    const char *p = text + (*text == '-' || *text == '+');
    uint64_t whole = 0;
    enum parsed r = PARSED;
    bool digits = is_digit(*p);
    if (digits)
        r = take_digits(&p, &whole);
    double fraction = 0, unit = 1;
    if (*p == '.') {
        for (p++; is_digit(*p); p++, digits = true) {
            unit /= 10;
            fraction += (*p - '0') * unit;
        }
    }
    if (!digits || *p != '\0')
        return MALFORMED;
    if (r == TOO_LARGE)
        return r;
    *value = negative ? -((double)whole + fraction) : (double)whole + fraction;
    return PARSED;
}

static enum parsed parse_bool(const char *text, bool *value)
{
    static const char *const words[] = {"0", "1", "no", "yes", "false", "true", "off", "on"};
    for (size_t i = 0; i < WIO_ARRAY_LEN(words); i++)
        if (equal_words(text, words[i])) {
            *value = i % 2 == 1;
            return PARSED;
        }
    return MALFORMED;
}

static int fail(int i, const char *name, const char *text, const char *what)
{
    return wio_fail(WAITIO_ERR_CONFIG, "%s=%.80s: %s (%s)", name, text, what,
                    wio_config_row(i)->range);
}

static int set_int(void *to, int i, const char *name, const char *text, bool checked)
{
    const struct wio_config_def *def = &wio_config_defs[i];
    int64_t v = 0;
    enum parsed r = parse_int(text, &v);
    if (r == MALFORMED)
        return fail(i, name, text, "not a whole number");
    bool outside = (v < def->min || v > def->max) && !(def->zero && v == 0);
    if (r == TOO_LARGE || (checked && outside))
        return fail(i, name, text, "out of range");
    memcpy(to, &v, sizeof v);
    return 0;
}

static int set_size(void *to, int i, const char *name, const char *text, bool checked)
{
    const struct wio_config_def *def = &wio_config_defs[i];
    uint64_t v = 0;
    enum parsed r = parse_size(text, &v);
    if (r == MALFORMED)
        return fail(i, name, text, "not a size such as 65536, 64K or 1G");
    bool outside = (v < def->umin || v > def->umax) && !(def->zero && v == 0);
    if (r == TOO_LARGE || (checked && outside))
        return fail(i, name, text, "out of range");
    memcpy(to, &v, sizeof v);
    return 0;
}

static int set_seconds(void *to, int i, const char *name, const char *text, bool checked)
{
    const struct wio_config_def *def = &wio_config_defs[i];
    double v = 0;
    enum parsed r = parse_seconds(text, &v);
    if (r == MALFORMED)
        return fail(i, name, text, "not a number of seconds such as 30 or 0.5");
    bool outside = (v < def->dmin || v > def->dmax) && !(def->zero && v == 0);
    if (r == TOO_LARGE || (checked && outside))
        return fail(i, name, text, "out of range");
    memcpy(to, &v, sizeof v);
    return 0;
}

static int set_enum(void *to, int i, const char *name, const char *text)
{
    const char *const *values = wio_config_defs[i].values;
    int n = 0;
    for (; values[n] != NULL; n++)
        if (equal_words(text, values[n])) {
            memcpy(to, &n, sizeof n);
            return 0;
        }
    const char *near = wio_nearest(text, values, n);
    if (near == NULL)
        return fail(i, name, text, "unknown word");
    return wio_fail(WAITIO_ERR_CONFIG, "%s=%.80s: unknown word, did you mean %s? (%s)", name, text,
                    near, wio_config_row(i)->range);
}

static int set_string(char *to, int i, const char *name, const char *text)
{
    size_t n = strlen(text);
    if (n >= WIO_CFG_TEXT)
        return fail(i, name, text, "too long");
    for (size_t k = 0; k < n; k++)
        if ((unsigned char)text[k] < 0x20)
            return wio_fail(WAITIO_ERR_CONFIG, "%s: byte %zu is a control character", name, k);
    memcpy(to, text, n + 1);
    return 0;
}

/** Cut blanks at both ends. False when the rest is too long to be any number or word of ours. */
static bool trim(const char *text, char out[64])
{
    while (*text == ' ' || *text == '\t')
        text++;
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL)
        n--;
    if (n >= 64)
        return false;
    memcpy(out, text, n);
    out[n] = '\0';
    return true;
}

int wio_config_parse(struct wio_config *cfg, int i, const char *name, const char *text,
                     bool checked)
{
    const struct wio_config_def *def = &wio_config_defs[i];
    void *to = (char *)cfg + def->offset;
    if (def->type == WIO_CFG_T_STRING)
        return set_string(to, i, name, text);
    char word[64];
    if (!trim(text, word))
        return fail(i, name, text, "too long");
    switch (def->type) {
    case WIO_CFG_T_INT:
        return set_int(to, i, name, word, checked);
    case WIO_CFG_T_SIZE:
        return set_size(to, i, name, word, checked);
    case WIO_CFG_T_SECONDS:
        return set_seconds(to, i, name, word, checked);
    case WIO_CFG_T_ENUM:
        return set_enum(to, i, name, word);
    default:
        return parse_bool(word, to) == PARSED ? 0 : fail(i, name, word, "neither yes nor no");
    }
}

/** Seconds without what printf makes of the locale's decimal point. */
static void put_seconds(double value, char *buf, size_t n)
{
    int64_t micro = (int64_t)(value * 1e6 + (value < 0 ? -0.5 : 0.5));
    uint64_t magnitude = (uint64_t)(micro < 0 ? -micro : micro);
    char fraction[8];
    wio_text(fraction, sizeof fraction, "%06u", (unsigned)(magnitude % 1000000));
    for (int k = 5; k >= 0 && fraction[k] == '0'; k--)
        fraction[k] = '\0';
    wio_text(buf, n, "%s%llu%s%s", micro < 0 ? "-" : "", (unsigned long long)(magnitude / 1000000),
             fraction[0] != '\0' ? "." : "", fraction);
}

void wio_config_value(const struct wio_config *cfg, int i, char *buf, size_t n)
{
    if (i < 0 || i >= WIO_CFG_VARS) {
        wio_text(buf, n, "%s", "");
        return;
    }
    const struct wio_config_def *def = &wio_config_defs[i];
    const void *from = (const char *)cfg + def->offset;
    switch (def->type) {
    case WIO_CFG_T_INT:
        wio_text(buf, n, "%lld", (long long)*(const int64_t *)from);
        break;
    case WIO_CFG_T_SIZE:
        wio_text(buf, n, "%llu", (unsigned long long)*(const uint64_t *)from);
        break;
    case WIO_CFG_T_SECONDS:
        put_seconds(*(const double *)from, buf, n);
        break;
    case WIO_CFG_T_BOOL:
        wio_text(buf, n, "%d", *(const bool *)from ? 1 : 0);
        break;
    case WIO_CFG_T_ENUM:
        wio_text(buf, n, "%s", def->values[*(const int *)from]);
        break;
    default:
        wio_text(buf, n, "%s", (const char *)from);
    }
}
