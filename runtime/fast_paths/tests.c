/* The tests of fast paths: whether arguments are what a generated function takes as they stand. */
#include "machine.h"

/* Where what is asked for is not there, -1 says that the fast path is to be left: the test may be one of which to go on with
   something else. */

static int has_type(const Frame *frame, PyObject *tensor) {
    PyObject *type = READ_TENSOR(tensor, type);
    return type == NULL ? -1 : type == frame->type;
}

static int has_backend(const Frame *frame, PyObject *tensor) {
    PyObject *type = READ_TENSOR(tensor, type);
    PyObject *own = READ_TYPE(frame->type, backend), *backend = type == frame->type ? own : READ_TYPE(type, backend);
    return own == NULL || backend == NULL ? -1 : own == backend;
}

static int is_weak(const Frame *frame, PyObject *kind) {
    PyObject *weak = READ_TYPE(frame->type, weak);
    return weak != NULL && PyAnySet_Check(weak) && PyType_Check(kind) ? is_in(weak, (PyTypeObject *)kind) : -1;
}

static int are_ints(PyObject *value, int many) {
    Py_ssize_t count;
    PyObject **items;
    if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
        count = PySequence_Fast_GET_SIZE(value);
        items = PySequence_Fast_ITEMS(value);
    } else {
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyLong_CheckExact(items[i])) return 0;
    }
    return !many || count != 1;
}

/* An array, or that of a Tensor; NULL where there is none of NumPy's. */
static PyArrayObject *array_of(PyObject *value) {
    PyObject *array = is_array(value) ? value : READ_TENSOR(value, array);
    return is_array(array) ? (PyArrayObject *)array : NULL;
}

/* Of an array Python asks whether all is equal, which is an error. */
static int is_equal(PyObject *value, PyObject *other) {
    if (value == other) return 1;
    int plain = PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyUnicode_CheckExact(value);
    if (plain || PyBool_Check(value)) return PyObject_RichCompareBool(value, other, Py_EQ);
    if (value == Py_None || PyTuple_CheckExact(value) || PyList_CheckExact(value))
        return PyTuple_Check(other) ? -1 : 0;
    /* What compares in a way of its own says it to Python. */
    return Py_TYPE(value)->tp_richcompare == PyBaseObject_Type.tp_richcompare ? 0 : -1;
}

static int is_small(PyObject *value) {
    PyArrayObject *array = array_of(value);
    return array == NULL ? -1 : PyArray_SIZE(array) < layout.large;
}

static int is_contiguous(PyObject *value) {
    PyArrayObject *array = array_of(value);
    return array == NULL ? -1 : !!PyArray_IS_C_CONTIGUOUS(array);
}

static int has_dims(PyObject *value, Py_ssize_t dims) {
    PyArrayObject *array = array_of(value);
    return array == NULL ? -1 : PyArray_NDIM(array) == dims;
}

static int needs_no_grad(PyObject *tensor) {
    PyObject *needs = READ_TENSOR(tensor, requires_grad);
    return needs == Py_False ? 1 : needs == Py_True ? 0 : -1;
}

static int is_settled(PyObject *type) { return READ_TYPE(type, unsettled) == Py_False; }

static int goes(PyObject *node, const Instruction *at) {
    PyObject *edges = READ_OWN(node, at, layout.next_edges);
    if (edges == NULL || !PyTuple_CheckExact(edges) || PyTuple_GET_SIZE(edges) <= at->number) return -1;
    return PyTuple_GET_ITEM(edges, at->number) != Py_None;
}

static int is_apart(const Frame *frame, PyObject *tensor) {
    PyObject *storage = READ_TENSOR(tensor, storage), *own = READ_TENSOR(frame->local[1], storage);
    if (storage == NULL || own == NULL) return -1;
    return tensor == frame->local[1] || storage == Py_None || storage != own;
}

/* Whether an int is an index of the first dim of a Tensor. */
static int is_index(PyObject *tensor, PyObject *index) {
    PyArrayObject *array = array_of(tensor);
    int overflow;
    if (array == NULL || index == NULL || !PyLong_CheckExact(index) || PyArray_NDIM(array) == 0) return 0;
    long number = PyLong_AsLongAndOverflow(index, &overflow);
    return !overflow && -PyArray_DIM(array, 0) <= number && number < PyArray_DIM(array, 0);
}

/* Tests of a Tensor. */
static int test_tensor(const Frame *frame, const Instruction *at, PyObject *value) {
    switch (at->operation) {
        case OP_has_array: return is_array(READ_TENSOR(value, array));
        case OP_is_contiguous: return is_contiguous(value);
        case OP_needs_no_grad: return needs_no_grad(value);
        case OP_has_type: return has_type(frame, value);
        case OP_has_backend: return has_backend(frame, value);
        case OP_is_recorded: return is_recorded(value);
        case OP_is_index: return is_index(value, frame->local[at->offset]);
        case OP_is_apart: return is_apart(frame, value);
        default: return may_write(value);
    }
}

int test(const Frame *frame, const Instruction *at) {
    if (at->operation == OP_not_intercepted) return PyList_GET_SIZE(layout.active) == 0;
    if (at->operation == OP_weak_has) return is_weak(frame, at->object);
    if (at->operation == OP_is_given) return frame->given == at->number;
    if (at->operation == OP_is_more_given) return frame->given > at->number;
    if (at->operation == OP_goes) return goes(frame->local[0], at);
    PyObject *value = frame->local[at->number], *type;
    if (value == NULL) return 0; /* an argument that was not given */
    switch (at->operation) {
        case OP_is_plain: return is_plain(value);
        case OP_is_tensor: return is_tensor(value);
        case OP_is_array: return is_array(value);
        case OP_is_small: return is_small(value);
        case OP_has_dims: return has_dims(value, at->offset);
        case OP_are_rows: return are_rows(value);
        case OP_are_integers: return are_integers(value);
        case OP_have_rows_of: return frame->local[at->offset] != NULL && have_rows_of(value, frame->local[at->offset]);
        case OP_is_type: return is_type(value);
        case OP_is_settled: return is_settled(value);
        case OP_is_weak: return is_weak(frame, (PyObject *)Py_TYPE(value));
        case OP_is_class: return (PyObject *)Py_TYPE(value) == at->object;
        case OP_is_none: return value == Py_None;
        case OP_is_missing: return value == layout.missing;
        case OP_is_same: return value == at->object;
        case OP_is_equal: return is_equal(value, at->object);
        case OP_have_one_type: return one_type(value, &type);
        case OP_have_type: return one_type(value, &type) < 0 ? -1 : type != NULL && type == frame->type;
        case OP_are_tensors: return are_tensors(value);
        case OP_are_ints: return are_ints(value, 0);
        case OP_are_many_ints: return are_ints(value, 1);
        default: return test_tensor(frame, at, value);
    }
}
