/* Events of a trace, from their JSON to rows, without Python.
 *
 * A window of text is taken as a whole or not at all: at the slightest doubt about any of its events it is refused, and
 * events.py decodes it, repairs it and tells what was wrong. What is taken must come out as it would there.
 */
#ifndef TB_AIPERF_SCAN_H
#define TB_AIPERF_SCAN_H

#include "event.h"
#include "texts.h"

/* Groups of rows, in the order in which columns.py takes them out of a window. */
enum group {
    OPERATORS,
    LEGACY_OPERATORS,
    ANNOTATIONS,
    RUNTIME,
    KERNELS,
    LEGACY_KERNELS,
    MEMCPYS,
    MEMSETS,
    PYTHON,
    OVERHEAD,
    GROUPS,
    /* Categories without rows. */
    LEGACY = GROUPS,
    UNKNOWN,
    IGNORED,
};

/* A complete event. Texts are numbers in the tables of the scanner; -1 where there is none. */
struct row {
    int64_t start, end; /* nanoseconds */
    int64_t correlation, sequence, forward_thread, module;
    int32_t name, thread, shapes;
    int32_t collective; /* index into the window's collectives */
};

/* A memory event. */
struct memory_row {
    int64_t time;
    struct memory_arguments memory;
    int32_t thread;
};

struct rows {
    void *list; /* of struct row, or struct memory_row */
    size_t count, room;
    int64_t unfinished; /* events that count as instants */
    int64_t impossible; /* events that were dropped */
};

/* The kind of a category and how often it came in this window. */
struct category {
    int kind; /* enum group, or -1 until the caller has told */
    int64_t count;
};

struct scanner {
    struct texts names, threads, shapes; /* threads: two values with a NUL between them */
    struct texts categories;
    struct category *kinds; /* of the categories */
    size_t kinds_room;
    struct form form;

    /* The window. */
    place at, end;
    struct rows groups[GROUPS];
    struct rows memory;
    struct collective *collectives;
    size_t collectives_count, collectives_room;
    int32_t *unknown; /* numbers of the unknown categories in it, in order of appearance */
    size_t unknown_count, unknown_room;
    int32_t new_category;

    /* The event before: what the next one usually has too. */
    struct value last_pid, last_tid;
    int32_t last_thread;
    struct span last_category;
    int32_t last_category_number;
};

enum scan_result {
    SCAN_TAKEN,
    SCAN_REFUSED,
    SCAN_CATEGORY, /* set the kind of `new_category` and go on */
};

/* Begin a window. text[length] is NUL, and the text stays where it is until its rows have been used. */
void begin_window(struct scanner *scanner, place text, size_t length);

/* Scan until the end of the window or a new category. */
enum scan_result scan_window(struct scanner *scanner);

/* Free everything. */
void clear_scanner(struct scanner *scanner);

#endif
