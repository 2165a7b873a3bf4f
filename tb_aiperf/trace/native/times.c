#include "times.h"

/* The limits of columns.py. */
#define MAX_MOMENT (UINT64_C(1) << 52)
#define MAX_DURATION (UINT64_C(7) * 86400 * 1000000)
/* That of events.py: doubles from here on do not tell nanoseconds apart. */
#define EXACT_BELOW 8796093022208.0 /* 2^43 */

#define MAX_POWER 19

static const uint64_t POWERS[MAX_POWER + 1] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

/* value to the nearest integer, halves to even; 0 <= value < 2^62. */
static int64_t round_half_even(double value)
{
    int64_t whole = (int64_t)value;
    double rest = value - (double)whole;

    return whole + (rest > 0.5 || (rest == 0.5 && whole % 2));
}

/* The double nearest to whole + rest / divisor, halves to even; whole < 2^53, rest < divisor <= 10^19. */
static double nearest_double(uint64_t whole, uint64_t rest, uint64_t divisor)
{
    uint64_t digits = whole;
    double unit = 1;
    int up;

    if (!whole && !rest)
        return 0;
    /* Long division in base 2 until there are 53 digits. */
    while (digits < UINT64_C(1) << 52) {
        int one = rest >= divisor - rest;
        rest = one ? rest - (divisor - rest) : rest + rest;
        digits = digits << 1 | (uint64_t)one;
        unit /= 2;
    }
    up = rest > divisor - rest || (rest == divisor - rest && digits % 2);
    return (double)(digits + (uint64_t)up) * unit;
}

/* Whether number can be read at all. Integers have to fit into 64 bits, as in events.py. */
static int is_readable(const struct number *number)
{
    return number->count <= MAX_DIGITS && number->exponent < 100 && number->exponent > -100
        && !(number->integer && number->digits > (uint64_t)INT64_MAX + (uint64_t)number->negative);
}

/* The size of a readable number: whole + rest / divisor. Returns 0 for one of too many decimals. */
static int split(const struct number *number, uint64_t *whole, uint64_t *rest, uint64_t *divisor)
{
    ptrdiff_t power = number->decimals - number->exponent;
    uint64_t value = number->digits;

    *rest = 0;
    *divisor = 1;
    if (!value) {
        *whole = 0;
        return 1;
    }
    if (power > MAX_POWER)
        return 0;
    if (power > 0) {
        *divisor = POWERS[power];
        *whole = value / *divisor;
        *rest = value % *divisor;
        return 1;
    }
    /* 2^64 and above is all the same. */
    *whole = -power > MAX_POWER || value > UINT64_MAX / POWERS[-power] ? UINT64_MAX : value * POWERS[-power];
    return 1;
}

/* digits · 10^(3 - decimals), at most `limit`. Returns 0 where it is not that simple. */
static inline int is_simple(const struct number *number, uint64_t limit, int64_t *nanoseconds)
{
    uint64_t scale;

    if (number->decimals > 3 || number->exponent || number->count > MAX_DIGITS)
        return 0;
    scale = POWERS[3 - number->decimals];
    if (number->digits > limit / scale)
        return 0;
    *nanoseconds = (int64_t)(number->digits * scale);
    return 1;
}

/* Nanoseconds of a readable number with so many decimals that it is below 0.1 µs. Returns 0 for others, and where the error of a
 * double could decide how it is rounded.
 */
static int is_tiny(const struct number *number, int64_t *nanoseconds)
{
    const uint64_t one = POWERS[16], half = one / 2, margin = 10000; /* in units of 10^-19 µs */
    ptrdiff_t power = number->decimals - number->exponent - MAX_POWER;
    uint64_t value, rest;

    if (power <= 0)
        return 0;
    value = power > MAX_POWER ? 0 : number->digits / POWERS[power];
    rest = value % one;
    if (rest > half - margin && rest < half + margin)
        return 0;
    *nanoseconds = (int64_t)(value / one) + (rest > half);
    return 1;
}

enum time_result read_moment(const struct number *number, int64_t *nanoseconds)
{
    uint64_t whole, rest, divisor;
    volatile double microseconds, fraction; /* volatile: a double, not a wider register */
    int64_t below;

    if (is_simple(number, (MAX_MOMENT - 1) * 1000, nanoseconds)
        || (is_readable(number) && is_tiny(number, nanoseconds))) {
        if (number->negative)
            *nanoseconds = -*nanoseconds;
        return TIME_USABLE;
    }
    if (!is_readable(number) || !split(number, &whole, &rest, &divisor))
        return TIME_REFUSED;
    if (whole > MAX_MOMENT)
        return TIME_IMPOSSIBLE;
    microseconds = nearest_double(whole, rest, divisor);
    if (microseconds > (double)MAX_MOMENT)
        return TIME_IMPOSSIBLE;
    if (microseconds >= EXACT_BELOW) {
        *nanoseconds = (int64_t)(whole * 1000);
        if (divisor <= 1000) {
            *nanoseconds += (int64_t)(rest * (1000 / divisor));
        } else {
            uint64_t unit = divisor / 1000, left = rest % unit;
            int64_t more = (int64_t)(rest / unit);

            *nanoseconds += more + (left > unit - left || (left == unit - left && more % 2));
        }
        if (number->negative)
            *nanoseconds = -*nanoseconds;
        return TIME_USABLE;
    }
    if (number->negative)
        microseconds = -microseconds;
    below = (int64_t)microseconds;
    if ((double)below > microseconds)
        below--;
    fraction = microseconds - (double)below;
    fraction = fraction * 1000;
    *nanoseconds = below * 1000 + round_half_even(fraction);
    return TIME_USABLE;
}

enum time_result read_duration(const struct number *number, int64_t *nanoseconds)
{
    uint64_t whole, rest, divisor;
    volatile double microseconds;

    *nanoseconds = 0;
    if (!number->negative && is_simple(number, MAX_DURATION * 1000, nanoseconds))
        return TIME_USABLE;
    if (!is_readable(number))
        return TIME_REFUSED;
    if (number->negative && number->digits)
        return TIME_NEGATIVE;
    if (is_tiny(number, nanoseconds))
        return TIME_USABLE;
    if (!split(number, &whole, &rest, &divisor))
        return TIME_REFUSED;
    if (whole > MAX_DURATION)
        return TIME_IMPOSSIBLE;
    microseconds = nearest_double(whole, rest, divisor);
    if (microseconds > (double)MAX_DURATION)
        return TIME_IMPOSSIBLE;
    microseconds = microseconds * 1000;
    *nanoseconds = round_half_even(microseconds);
    return TIME_USABLE;
}
