#include "layout.h"

unsigned begin_layout(struct layout *layout)
{
    if (!layout->count)
        layout->count = 1;
    return layout->count++;
}

/* Behind the colon or the closing brace. */
static place read_key(place p, place end, int first, struct span *name, int *ended)
{
    *ended = 0;
    p = skip_space(p);
    if (*p == '}') {
        *ended = 1;
        return p + 1;
    }
    if (!first) {
        if (*p != ',')
            return NULL;
        p = skip_space(p + 1);
    }
    if (*p != '"' || !(p = read_string(p, end, name)) || name->escaped)
        return NULL;
    p = skip_space(p);
    return *p == ':' ? skip_space(p + 1) : NULL;
}

static void remember(struct layout *layout, unsigned *step, place start, size_t length, int key)
{
    unsigned char *next = layout->steps[*step].next;
    struct step *new;

    *step = 0;
    if (length > 8 * STEP_WORDS || layout->count == MAX_STEPS)
        return;
    for (int way = 0; way < STEP_WAYS; way++) {
        if (next[way])
            continue;
        new = &layout->steps[layout->count];
        new->length = (unsigned char)length;
        new->key = (unsigned char)key;
        for (size_t index = 0; index < length; index++) {
            new->text[index / 8] |= (uint64_t)start[index] << index % 8 * 8;
            new->mask[index / 8] |= UINT64_C(0xFF) << index % 8 * 8;
        }
        next[way] = (unsigned char)layout->count;
        *step = layout->count++;
        return;
    }
}

place learn_key(struct layout *layout, unsigned *step, place p, place end, int first, key_finder *find, int *key)
{
    struct span name;
    place start = p;
    int ended;

    p = read_key(p, end, first, &name, &ended);
    if (!p)
        return NULL;
    *key = ended ? KEY_END : find(&name);
    /* next_key compares no further than the end allows, so it may not have seen what is there. */
    if (*step && end - start > 8 * STEP_WORDS)
        remember(layout, step, start, (size_t)(p - start), *key);
    else
        *step = 0;
    return p;
}
