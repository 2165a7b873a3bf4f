/* Distinct byte strings, numbered from 0 in order of appearance: a hash table. */
#ifndef TB_AIPERF_TEXTS_H
#define TB_AIPERF_TEXTS_H

#include "json.h"

struct text {
    uint64_t hash;
    size_t offset; /* into bytes */
    size_t length;
    int32_t id; /* what the text stands for, -1 until that is known */
};

struct texts {
    struct text *list;
    unsigned char *bytes;
    uint32_t *slots; /* number of the text plus 1, or 0 */
    size_t count, room;
    size_t used, reserved; /* of bytes */
    size_t mask;           /* number of slots less 1 */
    uint64_t seed;
};

/* All zeros is an empty table. Texts of a stranger cannot be made to collide without knowing the seed. */

/* Number of a text, added if it is new; -1 if memory runs out or texts collide too often. */
int32_t number_text(struct texts *texts, place start, size_t length);

static inline place text_start(const struct texts *texts, int32_t number)
{
    return texts->bytes + texts->list[number].offset;
}

/* Back to an empty table. */
void clear_texts(struct texts *texts);

#endif
