#include "objects.h"

static Py_ssize_t put_utf8(char *out, int code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

PyObject *string_object(place start, size_t length)
{
    place end = start + length;
    Py_ssize_t used = 0;
    PyObject *result;
    char *plain;

    if (!length || !memchr(start, '\\', length))
        return PyUnicode_DecodeUTF8((const char *)start, (Py_ssize_t)length, "strict");
    plain = PyMem_Malloc(length); /* an escape is never shorter than what it means */
    if (!plain)
        return PyErr_NoMemory();
    while (start < end) {
        int code;

        if (*start != '\\') {
            plain[used++] = (char)*start++;
            continue;
        }
        switch (start[1]) {
        case 'b': code = '\b'; break;
        case 'f': code = '\f'; break;
        case 'n': code = '\n'; break;
        case 'r': code = '\r'; break;
        case 't': code = '\t'; break;
        case 'u': code = read_hex(start + 2); break;
        default: code = start[1];
        }
        start += start[1] == 'u' ? 6 : 2;
        if (code >= 0xD800 && code <= 0xDBFF) {
            code = 0x10000 + ((code - 0xD800) << 10) + (read_hex(start + 2) - 0xDC00);
            start += 6;
        }
        used += put_utf8(plain + used, code);
    }
    result = PyUnicode_DecodeUTF8(plain, used, "strict");
    PyMem_Free(plain);
    return result;
}

PyObject *value_object(place start, size_t length)
{
    char digits[24];

    if (!length)
        Py_RETURN_NONE;
    if (*start == '"')
        return string_object(start + 1, length - 2);
    if (length >= sizeof digits) {
        PyErr_SetString(PyExc_SystemError, "an integer that is too long");
        return NULL;
    }
    memcpy(digits, start, length);
    digits[length] = 0;
    return PyLong_FromString(digits, NULL, 10);
}

PyObject *pair_object(place start, size_t length)
{
    place between = memchr(start, 0, length);
    PyObject *process = value_object(start, (size_t)(between - start)), *thread, *pair = NULL;

    if (!process)
        return NULL;
    thread = value_object(between + 1, length - (size_t)(between - start) - 1);
    if (thread)
        pair = PyTuple_Pack(2, process, thread);
    Py_DECREF(process);
    Py_XDECREF(thread);
    return pair;
}

PyObject *bytes_object(place start, size_t length)
{
    return PyBytes_FromStringAndSize((const char *)start, (Py_ssize_t)length);
}
