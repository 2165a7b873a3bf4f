#include "texts.h"

#include <stdlib.h>

#define FIRST_SLOTS 1024
/* More steps than this, at most half of the slots being taken, are no accident. */
#define MAX_STEPS 256
#define MAX_TEXTS (INT32_MAX / 4)

static uint64_t mix(uint64_t hash, uint64_t bytes)
{
    hash = (hash ^ bytes) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

static uint64_t hash_text(place start, size_t length, uint64_t seed)
{
    uint64_t hash = mix(seed, length), last = 0;

    for (; length >= 8; start += 8, length -= 8)
        hash = mix(hash, load_8(start));
    for (size_t index = 0; index < length; index++)
        last |= (uint64_t)start[index] << 8 * index;
    return mix(mix(hash, last), seed);
}

/* Room for `wanted` units of `size` bytes, at least doubling; NULL and nothing changed if there is no memory. */
static void *grow(void *memory, size_t *room, size_t wanted, size_t size, size_t first)
{
    size_t larger = *room ? *room : first;
    void *moved;

    while (larger < wanted) {
        if (larger > SIZE_MAX / 2 / size)
            return NULL;
        larger *= 2;
    }
    moved = realloc(memory, larger * size);
    if (moved)
        *room = larger;
    return moved;
}

/* Twice the slots, or the first. Returns 0 without memory. */
static int spread(struct texts *texts)
{
    size_t count = texts->slots ? (texts->mask + 1) * 2 : FIRST_SLOTS;
    uint32_t *slots = calloc(count, sizeof *slots);

    if (!slots)
        return 0;
    for (size_t number = 0; number < texts->count; number++) {
        size_t slot = texts->list[number].hash & (count - 1);
        while (slots[slot])
            slot = (slot + 1) & (count - 1);
        slots[slot] = (uint32_t)number + 1;
    }
    free(texts->slots);
    texts->slots = slots;
    texts->mask = count - 1;
    return 1;
}

int32_t number_text(struct texts *texts, place start, size_t length)
{
    uint64_t hash = hash_text(start, length, texts->seed);
    struct text *text;
    size_t slot;

    if ((!texts->slots || texts->count > texts->mask / 2) && !spread(texts))
        return -1;
    slot = hash & texts->mask;
    for (int steps = 0; texts->slots[slot]; slot = (slot + 1) & texts->mask) {
        text = &texts->list[texts->slots[slot] - 1];
        if (text->hash == hash && text->length == length && !memcmp(texts->bytes + text->offset, start, length))
            return (int32_t)texts->slots[slot] - 1;
        if (++steps > MAX_STEPS)
            return -1;
    }
    if (texts->count == MAX_TEXTS || length > SIZE_MAX - texts->used)
        return -1;
    if (texts->count == texts->room) {
        text = grow(texts->list, &texts->room, texts->count + 1, sizeof *text, FIRST_SLOTS / 2);
        if (!text)
            return -1;
        texts->list = text;
    }
    if (!texts->bytes || texts->reserved - texts->used < length) {
        unsigned char *bytes = grow(texts->bytes, &texts->reserved, texts->used + length, 1, 1 << 14);
        if (!bytes)
            return -1;
        texts->bytes = bytes;
    }
    memcpy(texts->bytes + texts->used, start, length);
    text = &texts->list[texts->count];
    text->hash = hash;
    text->offset = texts->used;
    text->length = length;
    text->id = -1;
    texts->used += length;
    texts->slots[slot] = (uint32_t)++texts->count;
    return (int32_t)texts->count - 1;
}

void clear_texts(struct texts *texts)
{
    free(texts->list);
    free(texts->bytes);
    free(texts->slots);
    *texts = (struct texts){.seed = texts->seed};
}
