/* Which range lies in which. */
#ifndef TB_AIPERF_NESTING_H
#define TB_AIPERF_NESTING_H

#include <stddef.h>
#include <stdint.h>

/* Parent and stop of n ranges in order of thread, start and falling end; see `Nesting` in nesting.py. */
void find_parents(const int64_t *start, const int64_t *end, const int32_t *thread, int64_t *parent, int64_t *stop,
                  size_t count);

#endif
