/* Strict JSON (RFC 8259) out of a buffer that a NUL byte ends.
 *
 * Every function takes the place of a token and returns the place behind it, or NULL if the text is not valid there.
 * NUL is valid nowhere in JSON, so reading one byte at a time never runs over the end; what reads more at once looks at
 * `end`, the place of the NUL.
 */
#ifndef TB_AIPERF_JSON_H
#define TB_AIPERF_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

/* Arrays and objects inside one another. Deeper text is not taken. */
#define MAX_DEPTH 60

typedef const unsigned char *place;

/* The text of a string without its quotes, or of a value. start is NULL where there is none. */
struct span {
    place start;
    size_t length;
    int escaped; /* holds a backslash */
};

/* A number as written: digits · 10^-decimals · 10^exponent. */
struct number {
    uint64_t digits;
    ptrdiff_t count; /* digits from the first that is not 0; above MAX_DIGITS, `digits` holds the first of them */
    ptrdiff_t decimals;
    int exponent; /* cut off at ±MAX_EXPONENT */
    int negative;
    int integer; /* without point and exponent */
};

#define MAX_DIGITS 19
#define MAX_EXPONENT 1000

#define BYTES(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight bytes, the first lowest. Compilers make one load of it. */
static inline uint64_t load_8(place p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32
        | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

/* Index of the lowest byte of which the highest bit is set; one is. */
static inline unsigned lowest_marked(uint64_t bits)
{
#if defined(__GNUC__) || defined(__clang__)
    return (unsigned)__builtin_ctzll(bits) >> 3;
#elif defined(_MSC_VER) && (defined(_M_X64) || defined(_M_ARM64))
    unsigned long bit;
    _BitScanForward64(&bit, bits);
    return (unsigned)bit >> 3;
#else
    unsigned index = 0;
    while (!(bits & 0x80)) {
        bits >>= 8;
        index++;
    }
    return index;
#endif
}

static inline place skip_space(place p)
{
    while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
        p++;
    return p;
}

static inline int is_digit(unsigned char byte)
{
    return (unsigned char)(byte - '0') < 10;
}

/* Behind one character beyond ASCII in UTF-8 (RFC 3629). */
static inline place skip_utf8(place p)
{
    unsigned char first = p[0];
    unsigned char low = 0x80, high = 0xBF;
    int more;

    if (first >= 0xC2 && first <= 0xDF) {
        more = 1;
    } else if (first >= 0xE0 && first <= 0xEF) {
        more = 2;
        if (first == 0xE0)
            low = 0xA0; /* not shorter */
        else if (first == 0xED)
            high = 0x9F; /* no surrogate */
    } else if (first >= 0xF0 && first <= 0xF4) {
        more = 3;
        if (first == 0xF0)
            low = 0x90;
        else if (first == 0xF4)
            high = 0x8F; /* not above U+10FFFF */
    } else {
        return NULL;
    }
    p++;
    if (*p < low || *p > high)
        return NULL;
    for (p++; --more; p++)
        if ((*p & 0xC0) != 0x80)
            return NULL;
    return p;
}

/* The number that four hexadecimal digits write, or -1. */
static inline int read_hex(place p)
{
    int value = 0;

    for (int index = 0; index < 4; index++) {
        unsigned char byte = p[index];
        if (is_digit(byte))
            byte = (unsigned char)(byte - '0');
        else if (byte >= 'a' && byte <= 'f')
            byte = (unsigned char)(byte - 'a' + 10);
        else if (byte >= 'A' && byte <= 'F')
            byte = (unsigned char)(byte - 'A' + 10);
        else
            return -1;
        value = value << 4 | byte;
    }
    return value;
}

/* Behind an escape, of which p is the backslash. Surrogates have to come in pairs. */
static inline place skip_escape(place p)
{
    int code;

    switch (p[1]) {
    case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
        return p + 2;
    case 'u':
        code = read_hex(p + 2);
        if (code < 0 || (code >= 0xDC00 && code <= 0xDFFF))
            return NULL;
        p += 6;
        if (code < 0xD800 || code > 0xDBFF)
            return p;
        if (p[0] != '\\' || p[1] != 'u')
            return NULL;
        code = read_hex(p + 2);
        return code >= 0xDC00 && code <= 0xDFFF ? p + 6 : NULL;
    default:
        return NULL;
    }
}

/* Behind the closing quote of a string, of which p is the opening one. */
static inline place read_string(place p, place end, struct span *text)
{
    text->start = ++p;
    text->escaped = 0;
    for (;;) {
        while (end - p >= 8) {
            uint64_t bytes = load_8(p);
            uint64_t quote = bytes ^ BYTES('"'), backslash = bytes ^ BYTES('\\');
            /* Marks what is a quote, a backslash, below 32 or above 127. Bytes behind a marked one may be marked too. */
            uint64_t marks = (quote - BYTES(1)) | (backslash - BYTES(1)) | (bytes - BYTES(32)) | bytes;

            marks &= BYTES(0x80);
            if (marks) {
                p += lowest_marked(marks);
                break;
            }
            p += 8;
        }
        while (*p != '"' && *p != '\\' && *p >= 32 && *p < 128)
            p++;
        if (*p == '"') {
            text->length = (size_t)(p - text->start);
            return p + 1;
        }
        if (*p == '\\') {
            text->escaped = 1;
            p = skip_escape(p);
        } else {
            p = *p < 32 ? NULL : skip_utf8(p);
        }
        if (!p)
            return NULL;
    }
}

/* The number that eight bytes write, or -1 if one is no digit. */
static inline int64_t eight_digits(uint64_t bytes)
{
    uint64_t digits = bytes - BYTES('0');

    if (((bytes + BYTES(0x46)) | digits) & BYTES(0x80))
        return -1;
    digits = digits * 10 + (digits >> 8);
    return (int64_t)(((digits & UINT64_C(0x000000FF000000FF)) * (100 + (UINT64_C(1000000) << 32))
                      + ((digits >> 16) & UINT64_C(0x000000FF000000FF)) * (1 + (UINT64_C(10000) << 32)))
                     >> 32);
}

/* Digits, at least one. Zeros in front of the number are not counted; digits above MAX_DIGITS are counted only. */
static inline place read_digits(place p, place end, struct number *number)
{
    if (!is_digit(*p))
        return NULL;
    if (!number->digits)
        while (*p == '0')
            p++;
    while (end - p >= 8 && number->count <= MAX_DIGITS - 8) {
        int64_t value = eight_digits(load_8(p));
        if (value < 0)
            break;
        number->digits = number->digits * 100000000 + (uint64_t)value;
        number->count += 8;
        p += 8;
    }
    for (; is_digit(*p); p++)
        if (number->count++ < MAX_DIGITS)
            number->digits = number->digits * 10 + (uint64_t)(*p - '0');
    return p;
}

/* Behind a number. */
static inline place read_number(place p, place end, struct number *number)
{
    memset(number, 0, sizeof *number);
    number->integer = 1;
    if (*p == '-') {
        number->negative = 1;
        p++;
    }
    if (*p == '0')
        p++;
    else if (!(p = read_digits(p, end, number)))
        return NULL;
    if (*p == '.') {
        place point = p;

        number->integer = 0;
        if (!(p = read_digits(p + 1, end, number)))
            return NULL;
        number->decimals = p - point - 1;
    }
    if (*p == 'e' || *p == 'E') {
        int negative = 0;

        number->integer = 0;
        p++;
        if (*p == '+' || *p == '-')
            negative = *p++ == '-';
        if (!is_digit(*p))
            return NULL;
        for (; is_digit(*p); p++)
            if (number->exponent < MAX_EXPONENT)
                number->exponent = number->exponent * 10 + (*p - '0');
        if (number->exponent > MAX_EXPONENT)
            number->exponent = MAX_EXPONENT;
        if (negative)
            number->exponent = -number->exponent;
    }
    return p;
}

/* Behind a number, whatever it is. */
static inline place skip_number(place p)
{
    if (*p == '-')
        p++;
    if (!is_digit(*p) || (*p == '0' && is_digit(p[1])))
        return NULL;
    while (is_digit(*p))
        p++;
    if (*p == '.') {
        p++;
        if (!is_digit(*p))
            return NULL;
        while (is_digit(*p))
            p++;
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        if (*p == '+' || *p == '-')
            p++;
        if (!is_digit(*p))
            return NULL;
        while (is_digit(*p))
            p++;
    }
    return p;
}

/* Behind a word such as null. */
static inline place read_word(place p, place end, const char *word, size_t length)
{
    return (size_t)(end - p) >= length && !memcmp(p, word, length) ? p + length : NULL;
}

/* Behind a value of any kind. */
static inline place skip_value(place p, place end)
{
    uint64_t objects = 0; /* of the arrays and objects that p is in, innermost lowest: whether it is an object */
    unsigned depth = 0;
    struct span text;

    for (;;) {
        switch (*p) {
        case '"':
            p = read_string(p, end, &text);
            break;
        case '[':
        case '{':
            if (depth++ == MAX_DEPTH)
                return NULL;
            objects = objects << 1 | (*p == '{');
            p = skip_space(p + 1);
            if (*p == (objects & 1 ? '}' : ']'))
                break;
            if (!(objects & 1))
                continue;
            goto key;
        case 't':
            p = read_word(p, end, "true", 4);
            break;
        case 'f':
            p = read_word(p, end, "false", 5);
            break;
        case 'n':
            p = read_word(p, end, "null", 4);
            break;
        default:
            p = skip_number(p);
        }
        if (!p)
            return NULL;
        for (;;) {
            if (!depth)
                return p;
            p = skip_space(p);
            if (*p == ',')
                break;
            if (*p != (objects & 1 ? '}' : ']'))
                return NULL;
            p++;
            objects >>= 1;
            depth--;
        }
        p = skip_space(p + 1);
        if (!(objects & 1))
            continue;
    key:
        if (*p != '"' || !(p = read_string(p, end, &text)))
            return NULL;
        p = skip_space(p);
        if (*p != ':')
            return NULL;
        p = skip_space(p + 1);
    }
}

#endif
