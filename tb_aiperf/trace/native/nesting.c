#include "nesting.h"

void find_parents(const int64_t *start, const int64_t *end, const int32_t *thread, int64_t *parent, int64_t *stop,
                  size_t count)
{
    /* The innermost open range; those around it are its parents, so no stack is needed. */
    int64_t open = -1;

    for (size_t place = 0; place < count; place++) {
        int closes_all = place && thread[place] != thread[place - 1];

        while (open >= 0 && (closes_all || end[open] <= start[place])) {
            stop[open] = (int64_t)place;
            open = parent[open];
        }
        parent[place] = open;
        open = (int64_t)place;
    }
    for (; open >= 0; open = parent[open])
        stop[open] = (int64_t)count;
}
