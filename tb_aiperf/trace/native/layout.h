/* The keys of objects, found by what came behind the same key before.
 *
 * A profiler writes all events in one form: the same keys in the same order with the same white space. What lies between
 * two values, `,\n    "pid": `, is remembered once it has been read, and from then on compared in one go.
 */
#ifndef TB_AIPERF_LAYOUT_H
#define TB_AIPERF_LAYOUT_H

#include "json.h"

/* The number of a key; of others than these, KEY_OTHER. */
enum key { KEY_END, KEY_OTHER, FIRST_KEY };

/* The number of a key by its name. */
typedef int key_finder(const struct span *name);

#define STEP_WORDS 5
#define STEP_WAYS 4
#define MAX_STEPS 250

/* What leads from one value to the next, or to the end of the object. */
struct step {
    uint64_t text[STEP_WORDS], mask[STEP_WORDS];
    unsigned char length;
    unsigned char key;
    unsigned char next[STEP_WAYS]; /* steps that came behind this one; 0 ends the list */
};

/* Steps from 1 on are in use. All zeros is an empty layout. */
struct layout {
    struct step steps[MAX_STEPS];
    unsigned count;
};

/* A new step without text, at which an object begins. */
unsigned begin_layout(struct layout *layout);

/* Read up to the next key and remember how; see next_key. */
place learn_key(struct layout *layout, unsigned *step, place p, place end, int first, key_finder *find, int *key);

/* To the next value of an object, or behind the object's end, in which case *key is KEY_END.
 *
 * p is behind the brace (if `first`) or behind a value; *step is where that was. Keys with escapes are not taken.
 */
static inline place next_key(struct layout *layout, unsigned *step, place p, place end, int first, key_finder *find,
                             int *key)
{
    if (end - p > 8 * STEP_WORDS) {
        const unsigned char *next = layout->steps[*step].next;

        for (int way = 0; way < STEP_WAYS && next[way]; way++) {
            const struct step *candidate = &layout->steps[next[way]];

            if ((load_8(p) ^ candidate->text[0]) & candidate->mask[0])
                continue;
            if ((load_8(p + 8) ^ candidate->text[1]) & candidate->mask[1])
                continue;
            if (candidate->length > 16
                && (((load_8(p + 16) ^ candidate->text[2]) & candidate->mask[2])
                    | ((load_8(p + 24) ^ candidate->text[3]) & candidate->mask[3])
                    | ((load_8(p + 32) ^ candidate->text[4]) & candidate->mask[4])))
                continue;
            *step = next[way];
            *key = candidate->key;
            return *key == KEY_END ? p + candidate->length : skip_space(p + candidate->length);
        }
    }
    return learn_key(layout, step, p, end, first, find, key);
}

#endif
