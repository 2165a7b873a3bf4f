/* The Python side: `Scanner` and `parents`. What they do is documented in _native.pyi. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "nesting.h"
#include "objects.h"
#include "scan.h"

#include <stdlib.h>

/* Names of `Kind`. */
static const struct {
    const char *name;
    int group;
} KINDS[] = {
    {"operator", OPERATORS}, {"annotation", ANNOTATIONS}, {"runtime", RUNTIME}, {"kernel", KERNELS},
    {"memcpy", MEMCPYS},     {"memset", MEMSETS},         {"python", PYTHON},   {"overhead", OVERHEAD},
    {"legacy", LEGACY},      {"ignored", IGNORED},        {"unknown", UNKNOWN},
};

/* Tables of rows, in the order in which the caller has them. */
enum table { OPERATOR_TABLE, ANNOTATION_TABLE, RUNTIME_TABLE, DEVICE_TABLE, PYTHON_TABLE, OVERHEAD_TABLE, MEMORY_TABLE };

static const struct {
    enum table table;
    int8_t category; /* of device work, as in table.py */
} TABLES[GROUPS] = {
    [OPERATORS] = {OPERATOR_TABLE, 0},
    [LEGACY_OPERATORS] = {OPERATOR_TABLE, 0},
    [ANNOTATIONS] = {ANNOTATION_TABLE, 0},
    [RUNTIME] = {RUNTIME_TABLE, 0},
    [KERNELS] = {DEVICE_TABLE, 0},
    [LEGACY_KERNELS] = {DEVICE_TABLE, 0},
    [MEMCPYS] = {DEVICE_TABLE, 1},
    [MEMSETS] = {DEVICE_TABLE, 2},
    [PYTHON] = {PYTHON_TABLE, 0},
    [OVERHEAD] = {OVERHEAD_TABLE, 0},
};

typedef struct {
    PyObject_HEAD
    struct scanner scanner;
    PyObject *kind_of, *names, *threads, *shapes;
    PyObject *text; /* of the window that has been scanned and not committed, or NULL */
    PyThread_type_lock lock;
} Scanner;

/* Rows to columns */

/* The caller's number of a text, from its dictionary. Returns 0 with an exception. */
static int look_up(struct texts *texts, int32_t *number, PyObject *dictionary, PyObject *(*make)(place, size_t))
{
    struct text *text = &texts->list[*number];

    if (text->id < 0) {
        PyObject *key = make(texts->bytes + text->offset, text->length), *value;
        long id;

        if (!key)
            return 0;
        value = PyObject_GetItem(dictionary, key);
        Py_DECREF(key);
        if (!value)
            return 0;
        id = PyLong_AsLong(value);
        Py_DECREF(value);
        if (id < 0 || id > INT32_MAX) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_OverflowError, "too many distinct texts");
            return 0;
        }
        text->id = (int32_t)id;
    }
    *number = text->id;
    return 1;
}

/* Append the arguments of a collective to a list and set *index to its place behind the `before` that there are. */
static int add_collective(struct scanner *scanner, int32_t *index, PyObject *list, Py_ssize_t before)
{
    const struct collective *collective = &scanner->collectives[*index];
    const struct value *values[] = {&collective->name,     &collective->group,    &collective->group_id,
                                    &collective->sequence, &collective->elements, &collective->dtype};
    PyObject *arguments = PyTuple_New(6);

    if (!arguments)
        return 0;
    for (int field = 0; field < 6; field++) {
        PyObject *value = value_object(values[field]->start, values[field]->length);
        if (!value) {
            Py_DECREF(arguments);
            return 0;
        }
        PyTuple_SET_ITEM(arguments, field, value);
    }
    before += PyList_GET_SIZE(list);
    if (before > INT32_MAX || PyList_Append(list, arguments) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_OverflowError, "too many collectives");
        Py_DECREF(arguments);
        return 0;
    }
    Py_DECREF(arguments);
    *index = (int32_t)before;
    return 1;
}

/* Put the caller's numbers into the rows of a group, column by column as columns.py does. */
static int number_rows(Scanner *self, int group, PyObject *collectives, Py_ssize_t before)
{
    struct scanner *scanner = &self->scanner;
    struct row *rows = scanner->groups[group].list;
    size_t count = scanner->groups[group].count;

    for (size_t index = 0; index < count; index++)
        if (!look_up(&scanner->names, &rows[index].name, self->names, string_object))
            return 0;
    for (size_t index = 0; index < count; index++)
        if (!look_up(&scanner->threads, &rows[index].thread, self->threads, pair_object))
            return 0;
    for (size_t index = 0; index < count; index++) {
        struct row *row = &rows[index];

        if (row->shapes >= 0) {
            if (!look_up(&scanner->shapes, &row->shapes, self->shapes, bytes_object))
                return 0;
            row->shapes--; /* number 0 is the empty text */
        }
        if (row->collective >= 0 && !add_collective(scanner, &row->collective, collectives, before))
            return 0;
    }
    return 1;
}

static int number_memory_rows(Scanner *self)
{
    struct memory_row *rows = self->scanner.memory.list;

    for (size_t index = 0; index < self->scanner.memory.count; index++)
        if (!look_up(&self->scanner.threads, &rows[index].thread, self->threads, pair_object))
            return 0;
    return 1;
}

/* `count` more elements of `size` bytes at the end of a column; NULL with an exception. */
static void *extend(PyObject *columns, Py_ssize_t number, size_t count, size_t size)
{
    PyObject *column = number < PyList_GET_SIZE(columns) ? PyList_GET_ITEM(columns, number) : NULL;
    Py_ssize_t used;

    if (!column || !PyByteArray_Check(column)) {
        PyErr_SetString(PyExc_TypeError, "a column is a bytearray");
        return NULL;
    }
    used = PyByteArray_GET_SIZE(column);
    if (PyByteArray_Resize(column, used + (Py_ssize_t)(count * size)) < 0)
        return NULL;
    return PyByteArray_AS_STRING(column) + used;
}

/* Copies one field of each row to a column. */
#define APPEND(number, type, field)                                             \
    do {                                                                        \
        type *column = extend(columns, number, count, sizeof(type));            \
        if (!column)                                                            \
            return 0;                                                           \
        for (size_t index = 0; index < count; index++)                          \
            column[index] = (type)rows[index].field;                            \
    } while (0)

static int append_rows(const struct rows *group, enum table table, int8_t category, PyObject *columns)
{
    const struct row *rows = group->list;
    size_t count = group->count;

    APPEND(0, int32_t, name);
    APPEND(1, int64_t, start);
    APPEND(2, int64_t, end);
    APPEND(3, int32_t, thread);
    switch (table) {
    case OPERATOR_TABLE:
        APPEND(4, int32_t, shapes);
        APPEND(5, int64_t, sequence);
        APPEND(6, int64_t, forward_thread);
        break;
    case RUNTIME_TABLE:
        APPEND(4, int64_t, correlation);
        break;
    case DEVICE_TABLE: {
        char *categories = extend(columns, 4, count, 1);
        if (!categories)
            return 0;
        memset(categories, category, count);
        APPEND(5, int64_t, correlation);
        APPEND(6, int32_t, collective);
        break;
    }
    case PYTHON_TABLE:
        APPEND(4, int64_t, module);
        break;
    default:
        break;
    }
    return 1;
}

static int append_memory_rows(const struct rows *memory, PyObject *columns)
{
    const struct memory_row *rows = memory->list;
    size_t count = memory->count;

    APPEND(0, int64_t, time);
    APPEND(1, int32_t, thread);
    APPEND(2, int64_t, memory.address);
    APPEND(3, int64_t, memory.size);
    APPEND(4, int64_t, memory.device_type);
    APPEND(5, int64_t, memory.device);
    APPEND(6, int64_t, memory.allocated);
    APPEND(7, int64_t, memory.reserved);
    return 1;
}

/* (unfinished, impossible) of the groups that have either, in order; legacy groups belong to the one before. */
static PyObject *counts_of(const struct scanner *scanner)
{
    PyObject *list = PyList_New(0);
    long long unfinished = 0, impossible = 0;

    for (int group = 0; list && group <= GROUPS; group++) {
        const struct rows *rows = group < GROUPS ? &scanner->groups[group] : &scanner->memory;
        PyObject *pair;

        unfinished += rows->unfinished;
        impossible += rows->impossible;
        if (group + 1 == LEGACY_OPERATORS || group + 1 == LEGACY_KERNELS || (!unfinished && !impossible))
            continue;
        pair = Py_BuildValue("(LL)", unfinished, impossible);
        if (!pair || PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
        unfinished = impossible = 0;
    }
    return list;
}

/* (category, count) of what is not known, in order of appearance. */
static PyObject *unknown_of(const struct scanner *scanner)
{
    PyObject *list = PyList_New(0);

    for (size_t index = 0; list && index < scanner->unknown_count; index++) {
        int32_t number = scanner->unknown[index];
        const struct text *text = &scanner->categories.list[number];
        PyObject *pair = Py_BuildValue("(NL)", string_object(scanner->categories.bytes + text->offset, text->length),
                                       (long long)scanner->kinds[number].count);
        if (!pair || PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

/* Ask the caller for the kind of the new category. Returns 0 with an exception. */
static int learn_category(Scanner *self)
{
    struct scanner *scanner = &self->scanner;
    const struct text *text = &scanner->categories.list[scanner->new_category];
    PyObject *category = string_object(scanner->categories.bytes + text->offset, text->length), *kind;
    const char *name;

    if (!category)
        return 0;
    kind = PyObject_CallFunctionObjArgs(self->kind_of, category, NULL);
    Py_DECREF(category);
    name = kind ? PyUnicode_AsUTF8(kind) : NULL;
    for (size_t index = 0; name && index < sizeof KINDS / sizeof *KINDS; index++)
        if (!strcmp(name, KINDS[index].name))
            scanner->kinds[scanner->new_category].kind = KINDS[index].group;
    if (name && scanner->kinds[scanner->new_category].kind < 0)
        PyErr_Format(PyExc_ValueError, "no kind: %s", name);
    Py_XDECREF(kind);
    return !PyErr_Occurred();
}

/* Methods. The lock keeps a second thread out while the first scans without the GIL. */

static int enter(Scanner *self)
{
    if (PyThread_acquire_lock(self->lock, NOWAIT_LOCK))
        return 1;
    PyErr_SetString(PyExc_RuntimeError, "the scanner is at work in another thread");
    return 0;
}

static PyObject *Scanner_scan(Scanner *self, PyObject *text)
{
    enum scan_result result;

    if (!PyBytes_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "text is bytes");
        return NULL;
    }
    if (!enter(self))
        return NULL;
    Py_INCREF(text);
    Py_XSETREF(self->text, text);
    begin_window(&self->scanner, (place)PyBytes_AS_STRING(text), (size_t)PyBytes_GET_SIZE(text));
    do {
        Py_BEGIN_ALLOW_THREADS
        result = scan_window(&self->scanner);
        Py_END_ALLOW_THREADS
    } while (result == SCAN_CATEGORY && learn_category(self));
    if (result != SCAN_TAKEN)
        Py_CLEAR(self->text);
    PyThread_release_lock(self->lock);
    return result == SCAN_CATEGORY ? NULL : PyBool_FromLong(result == SCAN_TAKEN);
}

static int commit_rows(Scanner *self, PyObject *tables, PyObject *collectives, Py_ssize_t before)
{
    struct scanner *scanner = &self->scanner;

    /* Dictionaries may run code of Python's, so no column is being written meanwhile. */
    for (int group = 0; group < GROUPS; group++)
        if (!number_rows(self, group, collectives, before))
            return 0;
    if (!number_memory_rows(self))
        return 0;
    for (int group = 0; group < GROUPS; group++)
        if (scanner->groups[group].count
            && !append_rows(&scanner->groups[group], TABLES[group].table, TABLES[group].category,
                            PyList_GET_ITEM(tables, TABLES[group].table)))
            return 0;
    return !scanner->memory.count || append_memory_rows(&scanner->memory, PyList_GET_ITEM(tables, MEMORY_TABLE));
}

static PyObject *Scanner_commit(Scanner *self, PyObject *arguments)
{
    PyObject *tables, *collectives = NULL, *result = NULL;
    Py_ssize_t before;

    if (!PyArg_ParseTuple(arguments, "O!n:commit", &PyList_Type, &tables, &before))
        return NULL;
    if (PyList_GET_SIZE(tables) != MEMORY_TABLE + 1) {
        PyErr_SetString(PyExc_ValueError, "one list of columns for each table is needed");
        return NULL;
    }
    for (Py_ssize_t table = 0; table <= MEMORY_TABLE; table++)
        if (!PyList_Check(PyList_GET_ITEM(tables, table))) {
            PyErr_SetString(PyExc_TypeError, "columns are a list");
            return NULL;
        }
    if (!enter(self))
        return NULL;
    if (!self->text)
        PyErr_SetString(PyExc_RuntimeError, "no window has been scanned");
    else if ((collectives = PyList_New(0)) && commit_rows(self, tables, collectives, before))
        result = Py_BuildValue("(NNO)", counts_of(&self->scanner), unknown_of(&self->scanner), collectives);
    Py_XDECREF(collectives);
    Py_CLEAR(self->text);
    PyThread_release_lock(self->lock);
    return result;
}

static PyObject *Scanner_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"kind_of", "names", "threads", "shapes", NULL};
    PyObject *kind_of, *name_numbers, *thread_numbers, *shape_numbers, *seed_text;
    Scanner *self;
    Py_hash_t seed;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO!O!O!:Scanner", names, &kind_of, &PyDict_Type, &name_numbers,
                                     &PyDict_Type, &thread_numbers, &PyDict_Type, &shape_numbers))
        return NULL;
    /* Python's hash of a text is secret, as the seed should be. */
    seed_text = PyUnicode_FromString("tb_aiperf");
    if (!seed_text)
        return NULL;
    seed = PyObject_Hash(seed_text);
    Py_DECREF(seed_text);
    self = (Scanner *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->lock = PyThread_allocate_lock();
    if (!self->lock) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->scanner.names.seed = self->scanner.threads.seed = (uint64_t)seed;
    self->scanner.shapes.seed = self->scanner.categories.seed = (uint64_t)seed;
    self->kind_of = Py_NewRef(kind_of);
    self->names = Py_NewRef(name_numbers);
    self->threads = Py_NewRef(thread_numbers);
    self->shapes = Py_NewRef(shape_numbers);
    return (PyObject *)self;
}

static int Scanner_traverse(Scanner *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->kind_of);
    Py_VISIT(self->names);
    Py_VISIT(self->threads);
    Py_VISIT(self->shapes);
    return 0;
}

static int Scanner_clear(Scanner *self)
{
    Py_CLEAR(self->kind_of);
    Py_CLEAR(self->names);
    Py_CLEAR(self->threads);
    Py_CLEAR(self->shapes);
    Py_CLEAR(self->text);
    return 0;
}

static void Scanner_dealloc(Scanner *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    (void)Scanner_clear(self);
    clear_scanner(&self->scanner);
    if (self->lock)
        PyThread_free_lock(self->lock);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMethodDef Scanner_methods[] = {
    {"scan", (PyCFunction)Scanner_scan, METH_O, NULL},
    {"commit", (PyCFunction)Scanner_commit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* Slots hold functions as pointers to objects, which ISO C does not know; Python relies on it. */
static PyType_Slot Scanner_slots[] = {
    {Py_tp_new, (void *)Scanner_new},
    {Py_tp_dealloc, (void *)Scanner_dealloc},
    {Py_tp_traverse, (void *)Scanner_traverse},
    {Py_tp_clear, (void *)Scanner_clear},
    {Py_tp_methods, Scanner_methods},
    {0, NULL},
};

static PyType_Spec Scanner_spec = {
    .name = "tb_aiperf.trace._native.Scanner",
    .basicsize = sizeof(Scanner),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = Scanner_slots,
};

/* The items of a contiguous array; NULL with an exception. */
static void *items(PyObject *array, Py_buffer *view, size_t size, int writable, Py_ssize_t *count)
{
    if (PyObject_GetBuffer(array, view, PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) < 0)
        return NULL;
    if ((size_t)view->itemsize == size && view->ndim == 1 && (*count < 0 || *count == view->len / view->itemsize)) {
        *count = view->len / view->itemsize;
        return view->buf;
    }
    PyBuffer_Release(view);
    PyErr_SetString(PyExc_ValueError, "columns of one length, int64 except for thread, which is int32, are needed");
    return NULL;
}

static PyObject *parents(PyObject *module, PyObject *arguments)
{
    static const size_t sizes[] = {8, 8, 4, 8, 8};
    PyObject *arrays[5];
    Py_buffer views[5];
    void *columns[5];
    Py_ssize_t count = -1;
    int held;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOO:parents", &arrays[0], &arrays[1], &arrays[2], &arrays[3], &arrays[4]))
        return NULL;
    for (held = 0; held < 5; held++) {
        columns[held] = items(arrays[held], &views[held], sizes[held], held >= 3, &count);
        if (!columns[held])
            break;
    }
    if (held == 5) {
        Py_BEGIN_ALLOW_THREADS
        find_parents(columns[0], columns[1], columns[2], columns[3], columns[4], (size_t)count);
        Py_END_ALLOW_THREADS
    }
    for (int index = 0; index < held; index++)
        PyBuffer_Release(&views[index]);
    if (held < 5)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"parents", parents, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &Scanner_spec, NULL);
    int result;

    if (!type)
        return -1;
    result = PyModule_AddObjectRef(module, "Scanner", type);
    Py_DECREF(type);
    return result;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)execute},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
