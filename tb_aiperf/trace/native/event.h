/* The fields of an event that matter, from its JSON. */
#ifndef TB_AIPERF_EVENT_H
#define TB_AIPERF_EVENT_H

#include "json.h"
#include "layout.h"

/* The text of a JSON value; start is NULL for null and where there is none. */
struct value {
    place start;
    size_t length;
};

/* The arguments of a collective. */
struct collective {
    struct value name, group, group_id, sequence, elements, dtype;
};

/* Whether a text is a literal. */
#define IS(text, literal) ((text).length == sizeof(literal) - 1 && !memcmp((text).start, literal, sizeof(literal) - 1))

/* What a field holds. */
enum type { MISSING, NUMBER, STRING, NOTHING /* null */, OTHER };

/* `args` of a complete event. -1: not recorded. */
struct span_arguments {
    int64_t correlation, sequence, forward_thread, module;
    struct value shapes;
    struct collective collective;
};

/* `args` of an instant event that tells of memory. */
struct memory_arguments {
    int64_t address, size, device_type, device, allocated, reserved;
};

struct event {
    char phase; /* 0 until it is known */
    enum type ts_type, dur_type, cat_type, name_type, pid_type, tid_type;
    struct number ts, dur;
    struct span cat, name;
    struct value pid, tid;
    place args;                 /* where they begin */
    int args_read;
    struct span_arguments span; /* if phase is X, and memory if it is i */
    struct memory_arguments memory;
};

/* How events have been written so far. All zeros is fit for use. */
struct form {
    struct layout layout;
    unsigned event_step, span_step, instant_step; /* where events and their arguments begin */
};

/* Behind the event that begins at p, or NULL if it is not as it should be.
 *
 * Of events of other phases than X and i, only the phase is set. Of those, ts is a number, and types are as events.py
 * wants them, except for cat and dur.
 */
place read_event(struct form *form, place p, place end, struct event *event);

#endif
