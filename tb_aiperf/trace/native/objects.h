/* Texts of JSON that have been found valid, as objects of Python's. All return NULL with an exception. */
#ifndef TB_AIPERF_OBJECTS_H
#define TB_AIPERF_OBJECTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "json.h"

/* The str of a string without its quotes. */
PyObject *string_object(place start, size_t length);

/* A string, an integer of at most 20 characters or, without text, None. */
PyObject *value_object(place start, size_t length);

/* Two values with a NUL between them as a tuple. */
PyObject *pair_object(place start, size_t length);

PyObject *bytes_object(place start, size_t length);

#endif
