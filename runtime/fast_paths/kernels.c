/* The loops of native kernels, by ufunc: what add_loop was told. */
#include "kernels.h"
#define NO_IMPORT_UFUNC
#include <numpy/ufuncobject.h>

/* A loop, by the types of its operands and results. */
typedef struct {
    void *function;
    int types[MOST_OF_KERNEL];
} Record;

/* Bytes by ufunc: a Native, and behind it Records. */
static PyObject *kernels;

static PyObject *known_of(PyObject *ufunc) {
    PyObject *known = PyDict_GetItemWithError(kernels, ufunc);
    if (known == NULL) PyErr_Clear();
    return known;
}

/* What small arrays need of a ufunc; whether something is known of it. */
int find_native(PyObject *ufunc, Native *found) {
    PyObject *known = known_of(ufunc);
    if (known != NULL) memcpy(found, PyBytes_AS_STRING(known), sizeof(Native));
    return known != NULL;
}

/* The loop of a ufunc for arrays of their types; NULL where there is none. */
void *native_loop(PyObject *ufunc, PyArrayObject *const *arrays, int operands) {
    PyObject *known = known_of(ufunc);
    if (known == NULL) return NULL;
    for (Py_ssize_t at = sizeof(Native); at < PyBytes_GET_SIZE(known); at += sizeof(Record)) {
        Record record;
        memcpy(&record, PyBytes_AS_STRING(known) + at, sizeof(record));
        int same = 1;
        for (int i = 0; i < operands && same; i++) same = record.types[i] == PyArray_TYPE(arrays[i]);
        if (same) return record.function;
    }
    return NULL;
}

/* Read the types of a loop; -1 with an exception. */
static int read_types(PyObject *types, int *to) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++) {
        to[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(types, i));
        if (to[i] == -1 && PyErr_Occurred()) return -1;
    }
    return 0;
}

/* Note a loop for small arrays, if it is such a one. */
static void note_small(Native *native, const PyUFuncObject *ufunc, PyObject *rows, const Record *record) {
    int is_rows = PyTuple_Check(rows), first = record->types[0];
    if (is_rows ? ufunc->nargs > MOST_ROWS : ufunc->core_enabled || ufunc->nout != 1) return;
    for (int i = 1; i < ufunc->nargs; i++) {
        int own = is_rows && i >= ufunc->nin && record->types[i] != first;
        if (record->types[i] != first && !own) return;
        if (is_rows) native->types[i] = own ? record->types[i] : -1;
    }
    if (first == NPY_FLOAT || first == NPY_DOUBLE) native->loops[first == NPY_DOUBLE] = record->function;
    if (!is_rows) return;
    native->operands = ufunc->nin;
    native->results = ufunc->nout;
    for (int i = 0; i < ufunc->nargs && i < MOST_ROWS; i++) native->is_row[i] = PyTuple_GET_ITEM(rows, i) == Py_True;
}

/* add_loop(ufunc, rows, type numbers, address, most): a loop of a native kernel, by the types of operands and results.
   ``rows`` is None, or says for each of them whether it is a row; from ``most`` elements on threads share them. */
PyObject *machine_add_loop(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *ufunc, *rows, *types, *address;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(arguments, "O!OO!On", &PyUFunc_Type, &ufunc, &rows, &PyTuple_Type, &types, &address, &most)) return NULL;
    int operands = ((PyUFuncObject *)ufunc)->nargs;
    if (PyTuple_GET_SIZE(types) != operands || (PyTuple_Check(rows) && PyTuple_GET_SIZE(rows) != operands)) {
        return PyErr_Format(PyExc_ValueError, "%s has %d operands", ((PyUFuncObject *)ufunc)->name, operands);
    }
    if (operands > MOST_OF_KERNEL) Py_RETURN_NONE;
    Record record = {PyLong_AsVoidPtr(address), {0}};
    if (PyErr_Occurred() || read_types(types, record.types) < 0) return NULL;
    Native native = {0};
    find_native(ufunc, &native);
    native.most = most;
    note_small(&native, (PyUFuncObject *)ufunc, rows, &record);
    PyObject *known = known_of(ufunc);
    Py_ssize_t before = known == NULL ? 0 : PyBytes_GET_SIZE(known) - (Py_ssize_t)sizeof(Native);
    PyObject *made = PyBytes_FromStringAndSize(NULL, sizeof(Native) + before + sizeof(Record));
    if (made == NULL) return NULL;
    char *to = PyBytes_AS_STRING(made);
    memcpy(to, &native, sizeof(native));
    if (before) memcpy(to + sizeof(native), PyBytes_AS_STRING(known) + sizeof(native), before);
    memcpy(to + sizeof(native) + before, &record, sizeof(record));
    int failed = PyDict_SetItem(kernels, ufunc, made) < 0;
    Py_DECREF(made);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

/* add_columns(ufunc, columns): a kernel of rows, and the one that does the same of rows side by side, whose loops are told. */
PyObject *machine_add_columns(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *ufunc, *columns;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyUFunc_Type, &ufunc, &PyUFunc_Type, &columns)) return NULL;
    PyObject *known = known_of(ufunc), *told = known_of(columns);
    if (known == NULL || told == NULL) Py_RETURN_NONE;
    PyObject *made = PyBytes_FromStringAndSize(PyBytes_AS_STRING(known), PyBytes_GET_SIZE(known));
    if (made == NULL) return NULL;
    Native native;
    memcpy(&native, PyBytes_AS_STRING(made), sizeof(native));
    for (Py_ssize_t at = sizeof(Native); at < PyBytes_GET_SIZE(told); at += sizeof(Record)) {
        Record record;
        memcpy(&record, PyBytes_AS_STRING(told) + at, sizeof(record));
        int type = record.types[0];
        if (type == NPY_FLOAT || type == NPY_DOUBLE) native.columns[type == NPY_DOUBLE] = record.function;
    }
    memcpy(PyBytes_AS_STRING(made), &native, sizeof(native));
    int failed = PyDict_SetItem(kernels, ufunc, made) < 0;
    Py_DECREF(made);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

int kernels_import(void) {
    kernels = PyDict_New();
    return kernels == NULL ? -1 : 0;
}
