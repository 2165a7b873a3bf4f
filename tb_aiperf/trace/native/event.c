#include "event.h"

/* The keys that matter. */
enum {
    PH = FIRST_KEY, TS, CAT, DUR, PID, TID, NAME, ARGS,
    CORRELATION = FIRST_KEY, INPUT_DIMS, SEQUENCE_NUMBER, FORWARD_THREAD, MODULE,
    COLLECTIVE, GROUP, GROUP_ID, GROUP_SEQUENCE, ELEMENTS, DTYPE,
    ADDRESS = FIRST_KEY, SIZE, DEVICE, DEVICE_TYPE, RESERVED, ALLOCATED,
};

static int find_event_key(const struct span *key)
{
    switch (key->length) {
    case 2:
        return IS(*key, "ph") ? PH : IS(*key, "ts") ? TS : KEY_OTHER;
    case 3:
        return IS(*key, "cat") ? CAT : IS(*key, "dur") ? DUR : IS(*key, "pid") ? PID : IS(*key, "tid") ? TID : KEY_OTHER;
    case 4:
        return IS(*key, "name") ? NAME : IS(*key, "args") ? ARGS : KEY_OTHER;
    default:
        return KEY_OTHER;
    }
}

static int find_span_key(const struct span *key)
{
    static const struct {
        const char *name;
        int key;
    } keys[] = {
        {"correlation", CORRELATION},      {"Input Dims", INPUT_DIMS},   {"Sequence number", SEQUENCE_NUMBER},
        {"Fwd thread id", FORWARD_THREAD}, {"Python module id", MODULE}, {"Collective name", COLLECTIVE},
        {"Process Group Name", GROUP},     {"Process Group ID", GROUP_ID}, {"Seq", GROUP_SEQUENCE},
        {"In msg nelems", ELEMENTS},       {"dtype", DTYPE},
    };

    for (size_t index = 0; index < sizeof keys / sizeof *keys; index++)
        if (strlen(keys[index].name) == key->length && !memcmp(keys[index].name, key->start, key->length))
            return keys[index].key;
    return KEY_OTHER;
}
static const char OTHER_PHASES[] = "BEICbnestfPNODRcVvaSTpFM()";

static const struct span_arguments NO_SPAN_ARGUMENTS = {
    .correlation = -1, .sequence = -1, .forward_thread = -1, .module = -1
};
static const struct memory_arguments NO_MEMORY_ARGUMENTS = {.address = -1, .device = -1, .allocated = -1, .reserved = -1};

static place read_integer(place p, place end, int64_t *value)
{
    struct number number;

    p = read_number(p, end, &number);
    if (!p || !number.integer || number.count > MAX_DIGITS
        || number.digits > (uint64_t)INT64_MAX + (uint64_t)number.negative)
        return NULL;
    *value = number.negative ? (int64_t)(0 - number.digits) : (int64_t)number.digits;
    return p;
}

/* A string, an integer or null, of those that `integer` and `string` allow. */
static place read_label(place p, place end, int integer, int string, struct value *value)
{
    struct span text;
    int64_t number;
    place start = p;

    if (*p == 'n') {
        value->start = NULL;
        value->length = 0;
        return read_word(p, end, "null", 4);
    }
    if (*p == '"')
        p = string ? read_string(p, end, &text) : NULL;
    else
        p = integer ? read_integer(p, end, &number) : NULL;
    if (!p)
        return NULL;
    value->start = start;
    value->length = (size_t)(p - start);
    return p;
}

/* `args` of a complete event. */
static place read_span_arguments(struct form *form, place p, place end, struct span_arguments *arguments)
{
    struct collective *collective = &arguments->collective;
    unsigned step = form->span_step, seen = 0;
    int key, first = 1;

    *arguments = NO_SPAN_ARGUMENTS;
    if (*p != '{')
        return NULL;
    for (p++;; first = 0) {
        p = next_key(&form->layout, &step, p, end, first, find_span_key, &key);
        if (!p || key == KEY_END)
            return p;
        if (key != KEY_OTHER) {
            if (seen & 1u << key)
                return NULL;
            seen |= 1u << key;
        }
        switch (key) {
        case CORRELATION:
            p = read_integer(p, end, &arguments->correlation);
            break;
        case INPUT_DIMS:
            arguments->shapes.start = p;
            p = skip_value(p, end);
            if (p)
                arguments->shapes.length = (size_t)(p - arguments->shapes.start);
            break;
        case SEQUENCE_NUMBER:
            p = read_integer(p, end, &arguments->sequence);
            break;
        case FORWARD_THREAD:
            p = read_integer(p, end, &arguments->forward_thread);
            break;
        case MODULE:
            p = read_integer(p, end, &arguments->module);
            break;
        case COLLECTIVE:
            p = read_label(p, end, 0, 1, &collective->name);
            break;
        case GROUP:
            p = read_label(p, end, 1, 1, &collective->group);
            break;
        case GROUP_ID:
            p = read_label(p, end, 1, 1, &collective->group_id);
            break;
        case GROUP_SEQUENCE:
            p = read_label(p, end, 1, 0, &collective->sequence);
            break;
        case ELEMENTS:
            p = read_label(p, end, 1, 0, &collective->elements);
            break;
        case DTYPE:
            p = read_label(p, end, 0, 1, &collective->dtype);
            break;
        default:
            p = skip_value(p, end);
        }
        if (!p)
            return NULL;
    }
}

static int find_instant_key(const struct span *key)
{
    return IS(*key, "Addr")              ? ADDRESS
        : IS(*key, "Bytes")              ? SIZE
        : IS(*key, "Device Id")          ? DEVICE
        : IS(*key, "Device Type")        ? DEVICE_TYPE
        : IS(*key, "Total Reserved")     ? RESERVED
        : IS(*key, "Total Allocated")    ? ALLOCATED
                                         : KEY_OTHER;
}

/* `args` of an instant event. */
static place read_instant_arguments(struct form *form, place p, place end, struct memory_arguments *memory)
{
    int64_t *const values[] = {&memory->address,     &memory->size,     &memory->device,
                               &memory->device_type, &memory->reserved, &memory->allocated};
    unsigned step = form->instant_step, seen = 0;
    int key, first = 1;

    *memory = NO_MEMORY_ARGUMENTS;
    if (*p != '{')
        return NULL;
    for (p++;; first = 0) {
        p = next_key(&form->layout, &step, p, end, first, find_instant_key, &key);
        if (!p || key == KEY_END)
            return p;
        if (key == KEY_OTHER) {
            p = skip_value(p, end);
        } else {
            if (seen & 1u << key)
                return NULL;
            seen |= 1u << key;
            p = read_integer(p, end, values[key - FIRST_KEY]);
        }
        if (!p)
            return NULL;
    }
}

static place read_arguments(struct form *form, place p, place end, struct event *event)
{
    event->args_read = 1;
    if (event->phase == 'X')
        return read_span_arguments(form, p, end, &event->span);
    return read_instant_arguments(form, p, end, &event->memory);
}

/* The number of ts or dur, or what is there instead of it. */
static place read_time(place p, place end, struct number *number, enum type *type)
{
    if (*p == '-' || is_digit(*p)) {
        *type = NUMBER;
        return read_number(p, end, number);
    }
    *type = *p == 'n' ? NOTHING : OTHER;
    return skip_value(p, end);
}

static place read_text(place p, place end, struct span *text, enum type *type)
{
    if (*p == '"') {
        *type = STRING;
        return read_string(p, end, text);
    }
    *type = OTHER;
    return skip_value(p, end);
}

/* pid or tid. Only forms of which no two mean the same are taken, apart from "12" and 12. */
static place read_thread(place p, place end, struct value *value, enum type *type)
{
    struct number number;
    struct span text;
    place start = p;

    *type = STRING;
    if (*p == '"') {
        p = read_string(p, end, &text);
        if (p && text.escaped)
            *type = OTHER;
    } else if (*p == '-' || is_digit(*p)) {
        p = read_number(p, end, &number);
        if (p && (!number.integer || number.count >= MAX_DIGITS || (number.negative && !number.digits)))
            *type = OTHER;
    } else if (*p == 'n') {
        *type = NOTHING;
        return read_word(p, end, "null", 4);
    } else {
        *type = OTHER;
        p = skip_value(p, end);
    }
    value->start = start;
    if (p)
        value->length = (size_t)(p - start);
    return p;
}

/* The fields of an event; a key that matters must not come twice. */
place read_event(struct form *form, place p, place end, struct event *event)
{
    struct span phase;
    unsigned step, seen = 0;
    int key, first = 1;

    if (!form->event_step) {
        form->event_step = begin_layout(&form->layout);
        form->span_step = begin_layout(&form->layout);
        form->instant_step = begin_layout(&form->layout);
    }
    step = form->event_step;
    if (*p != '{')
        return NULL;
    event->phase = 0;
    event->ts_type = event->dur_type = event->cat_type = event->name_type = MISSING;
    event->pid_type = event->tid_type = MISSING;
    event->cat = event->name = (struct span){NULL, 0, 0};
    event->pid = event->tid = (struct value){NULL, 0};
    event->args = NULL;
    event->args_read = 0;
    for (p++;; first = 0) {
        p = next_key(&form->layout, &step, p, end, first, find_event_key, &key);
        if (!p)
            return NULL;
        if (key == KEY_END)
            break;
        if (key != KEY_OTHER) {
            if (seen & 1u << key)
                return NULL;
            seen |= 1u << key;
        }
        switch (key) {
        case PH:
            if (*p != '"' || !(p = read_string(p, end, &phase)) || phase.length != 1)
                return NULL;
            event->phase = (char)*phase.start;
            break;
        case TS:
            p = read_time(p, end, &event->ts, &event->ts_type);
            break;
        case DUR:
            p = read_time(p, end, &event->dur, &event->dur_type);
            break;
        case CAT:
            p = read_text(p, end, &event->cat, &event->cat_type);
            break;
        case NAME:
            p = read_text(p, end, &event->name, &event->name_type);
            break;
        case PID:
            p = read_thread(p, end, &event->pid, &event->pid_type);
            break;
        case TID:
            p = read_thread(p, end, &event->tid, &event->tid_type);
            break;
        case ARGS:
            event->args = p;
            if (event->phase == 'X' || event->phase == 'i')
                p = read_arguments(form, p, end, event);
            else
                p = skip_value(p, end);
            break;
        default:
            p = skip_value(p, end);
        }
        if (!p)
            return NULL;
    }
    if (!event->phase)
        return NULL;
    if (event->phase != 'X' && event->phase != 'i')
        return strchr(OTHER_PHASES, event->phase) ? p : NULL;
    if (event->ts_type != NUMBER || event->name_type == OTHER || event->pid_type == OTHER || event->tid_type == OTHER)
        return NULL;
    if (!event->args) {
        event->span = NO_SPAN_ARGUMENTS;
        event->memory = NO_MEMORY_ARGUMENTS;
    } else if (!event->args_read && !read_arguments(form, event->args, end, event)) {
        return NULL;
    }
    return p;
}
