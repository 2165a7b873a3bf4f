/* Times of events, from the decimal text to whole nanoseconds. */
#ifndef TB_AIPERF_TIMES_H
#define TB_AIPERF_TIMES_H

#include "json.h"

enum time_result {
    TIME_USABLE,
    TIME_IMPOSSIBLE, /* a counter that overflowed, not a measurement */
    TIME_NEGATIVE,   /* of durations */
    TIME_REFUSED,    /* too many digits, or no number that a trace may hold */
};

/* Nanoseconds of a moment in microseconds: to the nearest, halves to even.
 *
 * Below 2^43 µs it is the double next to the number that is rounded, as where Python has decoded it; with up to three
 * decimals that makes no difference.
 */
enum time_result read_moment(const struct number *number, int64_t *nanoseconds);

/* Nanoseconds of a duration in microseconds: its double times 1000 to the nearest, halves to even. */
enum time_result read_duration(const struct number *number, int64_t *nanoseconds);

#endif
