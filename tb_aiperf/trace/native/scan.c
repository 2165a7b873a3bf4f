#include "scan.h"

#include <stdlib.h>

#include "times.h"

/* Tables of texts are a memory of what came before: they are forgotten when they get larger than this. */
#define MAX_TEXT_BYTES ((size_t)32 << 20)
#define MAX_TEXT_COUNT ((size_t)1 << 20)
/* A process and a thread. */
#define MAX_LABEL_BYTES 400

/* Room for `count` elements; NULL and nothing changed without memory. */
static void *make_room(void *list, size_t *room, size_t count, size_t size)
{
    size_t larger = *room + *room / 2 + 16;
    void *moved;

    if (count <= *room)
        return list;
    if (larger < count)
        larger = count;
    if (larger > SIZE_MAX / size)
        return NULL;
    moved = realloc(list, larger * size);
    if (moved)
        *room = larger;
    return moved;
}

/* A new element at the end, or NULL. */
static void *append(struct rows *rows, size_t size)
{
    void *list = rows->list;

    if (rows->count == rows->room) {
        list = make_room(list, &rows->room, rows->count + 1, size);
        if (!list)
            return NULL;
        rows->list = list;
    }
    return (char *)list + rows->count++ * size;
}

static int same_value(const struct value *a, const struct value *b)
{
    return a->length == b->length && (!a->length || !memcmp(a->start, b->start, a->length));
}

/* Number of the pair of process and thread, or -1. */
static int32_t number_thread(struct scanner *scanner, const struct event *event)
{
    unsigned char pair[MAX_LABEL_BYTES];
    size_t length = event->pid.length + 1 + event->tid.length;
    int32_t number;

    if (scanner->last_thread >= 0 && same_value(&event->pid, &scanner->last_pid)
        && same_value(&event->tid, &scanner->last_tid))
        return scanner->last_thread;
    if (length > sizeof pair)
        return -1;
    if (event->pid.length)
        memcpy(pair, event->pid.start, event->pid.length);
    pair[event->pid.length] = 0;
    if (event->tid.length)
        memcpy(pair + event->pid.length + 1, event->tid.start, event->tid.length);
    number = number_text(&scanner->threads, pair, length);
    scanner->last_thread = number;
    scanner->last_pid = event->pid;
    scanner->last_tid = event->tid;
    return number;
}

/* Number of the category, or -1; a new one has the kind -1. */
static int32_t number_category(struct scanner *scanner, const struct span *category)
{
    static const unsigned char none[] = "";
    place start = category->start ? category->start : none;
    int32_t number;

    if (scanner->last_category_number >= 0 && category->length == scanner->last_category.length
        && !memcmp(start, scanner->last_category.start, category->length))
        return scanner->last_category_number;
    number = number_text(&scanner->categories, start, category->length);
    if (number < 0)
        return -1;
    if (scanner->kinds_room < scanner->categories.count) {
        size_t known = scanner->kinds_room;
        void *kinds = make_room(scanner->kinds, &scanner->kinds_room, scanner->categories.count, sizeof(struct category));

        if (!kinds)
            return -1;
        scanner->kinds = kinds;
        for (; known < scanner->kinds_room; known++)
            scanner->kinds[known] = (struct category){-1, 0};
    }
    scanner->last_category = *category;
    scanner->last_category.start = start;
    scanner->last_category_number = number;
    return number;
}

/* One more event of a category that is not known. Returns 0 without memory. */
static int count_unknown(struct scanner *scanner, int32_t category)
{
    if (!scanner->kinds[category].count) {
        int32_t *unknown = make_room(scanner->unknown, &scanner->unknown_room, scanner->unknown_count + 1, sizeof *unknown);

        if (!unknown)
            return 0;
        scanner->unknown = unknown;
        unknown[scanner->unknown_count++] = category;
    }
    scanner->kinds[category].count++;
    return 1;
}

/* Index of the arguments of a collective, or -1 without memory. */
static int32_t keep_collective(struct scanner *scanner, const struct collective *collective)
{
    struct collective *list = make_room(scanner->collectives, &scanner->collectives_room, scanner->collectives_count + 1,
                                        sizeof *list);

    if (!list || scanner->collectives_count == INT32_MAX)
        return -1;
    scanner->collectives = list;
    list[scanner->collectives_count] = *collective;
    return (int32_t)scanner->collectives_count++;
}

static enum scan_result take_span(struct scanner *scanner, const struct event *event)
{
    enum time_result moment, duration = TIME_NEGATIVE;
    int64_t start, length = 0;
    struct rows *rows;
    struct row *row;
    int32_t category;
    int kind;

    if (event->cat_type == OTHER || event->cat.escaped || event->dur_type == OTHER)
        return SCAN_REFUSED;
    moment = read_moment(&event->ts, &start);
    if (event->dur_type == NUMBER)
        duration = read_duration(&event->dur, &length);
    if (moment == TIME_REFUSED || duration == TIME_REFUSED)
        return SCAN_REFUSED;
    category = number_category(scanner, &event->cat);
    if (category < 0)
        return SCAN_REFUSED;
    kind = scanner->kinds[category].kind;
    if (kind < 0) {
        scanner->new_category = category;
        return SCAN_CATEGORY;
    }
    if (kind == LEGACY) {
        /* The profiler before torch 1.8 wrote no categories. */
        if (IS(event->pid, "\"CPU functions\""))
            kind = LEGACY_OPERATORS;
        else if (IS(event->pid, "\"CUDA functions\""))
            kind = LEGACY_KERNELS;
        else
            return SCAN_TAKEN;
    }
    if (kind == IGNORED)
        return SCAN_TAKEN;
    if (kind == UNKNOWN)
        return count_unknown(scanner, category) ? SCAN_TAKEN : SCAN_REFUSED;

    rows = &scanner->groups[kind];
    rows->unfinished += duration == TIME_NEGATIVE;
    if (moment == TIME_IMPOSSIBLE || duration == TIME_IMPOSSIBLE) {
        rows->impossible++;
        return SCAN_TAKEN;
    }
    row = append(rows, sizeof *row);
    if (!row)
        return SCAN_REFUSED;
    row->start = start;
    row->end = start + length;
    row->correlation = event->span.correlation;
    row->sequence = event->span.sequence;
    row->forward_thread = event->span.forward_thread;
    row->module = event->span.module;
    row->name = number_text(&scanner->names, event->name.start ? event->name.start : (place) "", event->name.length);
    row->thread = number_thread(scanner, event);
    if (row->name < 0 || row->thread < 0)
        return SCAN_REFUSED;
    row->shapes = row->collective = -1;
    if (kind <= LEGACY_OPERATORS && event->span.shapes.length) {
        row->shapes = number_text(&scanner->shapes, event->span.shapes.start, event->span.shapes.length);
        if (row->shapes < 0)
            return SCAN_REFUSED;
    }
    if (kind >= KERNELS && kind <= MEMSETS && event->span.collective.name.start) {
        row->collective = keep_collective(scanner, &event->span.collective);
        if (row->collective < 0)
            return SCAN_REFUSED;
    }
    return SCAN_TAKEN;
}

static enum scan_result take_instant(struct scanner *scanner, const struct event *event)
{
    enum time_result moment;
    struct memory_row *row;
    int64_t time;

    moment = read_moment(&event->ts, &time);
    if (moment == TIME_REFUSED || event->name.escaped)
        return SCAN_REFUSED;
    if (!IS(event->name, "[memory]"))
        return SCAN_TAKEN;
    if (moment == TIME_IMPOSSIBLE) {
        scanner->memory.impossible++;
        return SCAN_TAKEN;
    }
    row = append(&scanner->memory, sizeof *row);
    if (!row)
        return SCAN_REFUSED;
    row->time = time;
    row->memory = event->memory;
    row->thread = number_thread(scanner, event);
    return row->thread < 0 ? SCAN_REFUSED : SCAN_TAKEN;
}

static void limit_texts(struct texts *texts)
{
    if (texts->used > MAX_TEXT_BYTES || texts->count > MAX_TEXT_COUNT)
        clear_texts(texts);
}

void begin_window(struct scanner *scanner, place text, size_t length)
{
    limit_texts(&scanner->names);
    limit_texts(&scanner->threads);
    limit_texts(&scanner->shapes);
    for (size_t index = 0; index < scanner->unknown_count; index++)
        scanner->kinds[scanner->unknown[index]].count = 0;
    limit_texts(&scanner->categories);
    if (!scanner->categories.count) {
        free(scanner->kinds);
        scanner->kinds = NULL;
        scanner->kinds_room = 0;
    }
    for (int kind = 0; kind < GROUPS; kind++)
        scanner->groups[kind].count = 0, scanner->groups[kind].unfinished = scanner->groups[kind].impossible = 0;
    scanner->memory.count = 0;
    scanner->memory.impossible = 0;
    scanner->collectives_count = scanner->unknown_count = 0;
    scanner->last_thread = scanner->last_category_number = -1;
    scanner->at = text;
    scanner->end = text + length;
}

enum scan_result scan_window(struct scanner *scanner)
{
    struct event event;
    place p = scanner->at, end = scanner->end;

    p = skip_space(p);
    while (p < end) {
        enum scan_result result = SCAN_TAKEN;
        place next;

        next = read_event(&scanner->form, p, end, &event);
        if (!next)
            return SCAN_REFUSED;
        if (event.phase == 'X')
            result = take_span(scanner, &event);
        else if (event.phase == 'i')
            result = take_instant(scanner, &event);
        if (result != SCAN_TAKEN) {
            scanner->at = p;
            return result;
        }
        p = skip_space(next);
        if (*p == ',') {
            p = skip_space(p + 1);
            if (p == end)
                return SCAN_REFUSED;
        } else if (p != end) {
            return SCAN_REFUSED;
        }
    }
    return SCAN_TAKEN;
}

void clear_scanner(struct scanner *scanner)
{
    clear_texts(&scanner->names);
    clear_texts(&scanner->threads);
    clear_texts(&scanner->shapes);
    clear_texts(&scanner->categories);
    free(scanner->kinds);
    for (int kind = 0; kind < GROUPS; kind++)
        free(scanner->groups[kind].list);
    free(scanner->memory.list);
    free(scanner->collectives);
    free(scanner->unknown);
    memset(scanner, 0, sizeof *scanner);
}
