/* The tests of programs: whether arguments are what a generated function takes as they stand. */
#include "machine.h"

static PyObject *type_of(PyObject *tensor) { return SLOT(tensor, layout.type); }

static int has_backend(const Frame *frame, PyObject *tensor) {
    PyObject *type = type_of(tensor);
    if (type == frame->type) return 1;
    if (type == NULL || frame->type == NULL) return 0;
    if (!PyObject_TypeCheck(type, layout.Type) || !PyObject_TypeCheck(frame->type, layout.Type)) return 0;
    return SLOT(type, layout.backend) == SLOT(frame->type, layout.backend);
}

static int is_weak(const Frame *frame, PyObject *kind) {
    if (frame->type == NULL || !PyObject_TypeCheck(frame->type, layout.Type)) return 0;
    PyObject *weak = SLOT(frame->type, layout.weak);
    if (weak == NULL || !PyAnySet_Check(weak)) return 0;
    return PySet_Contains(weak, kind);
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

static int is_equal(PyObject *value, PyObject *other) {
    if (value == other) return 1;
    if (!PyLong_CheckExact(value) && !PyFloat_CheckExact(value) && !PyUnicode_CheckExact(value)) return 0;
    return PyObject_RichCompareBool(value, other, Py_EQ);
}

static int is_small(PyObject *value) {
    PyObject *array = is_array(value) ? value : SLOT(value, layout.array);
    return is_array(array) && PyArray_SIZE((PyArrayObject *)array) < layout.large;
}

static int is_contiguous(PyObject *value) {
    PyObject *array = is_array(value) ? value : SLOT(value, layout.array);
    return is_array(array) && PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array);
}

static int has_dims(PyObject *value, Py_ssize_t dims) {
    PyObject *array = is_array(value) ? value : SLOT(value, layout.array);
    return is_array(array) && PyArray_NDIM((PyArrayObject *)array) == dims;
}

static int is_settled(PyObject *type) {
    return PyObject_TypeCheck(type, layout.Type) && SLOT(type, layout.unsettled) == Py_False;
}

static int goes(PyObject *node, int number) {
    PyObject *edges = SLOT(node, layout.next_edges);
    if (edges == NULL || !PyTuple_CheckExact(edges) || PyTuple_GET_SIZE(edges) <= number) return 0;
    return PyTuple_GET_ITEM(edges, number) != Py_None;
}

static int is_apart(const Frame *frame, PyObject *tensor) {
    PyObject *storage = SLOT(tensor, layout.storage);
    if (tensor == frame->local[1] || storage == Py_None) return 1;
    return storage != SLOT(frame->local[1], layout.storage);
}

/* Whether an int is an index of the first dim of a Tensor. */
static int is_index(PyObject *tensor, PyObject *index) {
    PyArrayObject *array = (PyArrayObject *)SLOT(tensor, layout.array);
    int overflow;
    if (index == NULL || !PyLong_CheckExact(index) || PyArray_NDIM(array) == 0) return 0;
    long number = PyLong_AsLongAndOverflow(index, &overflow);
    return !overflow && -PyArray_DIM(array, 0) <= number && number < PyArray_DIM(array, 0);
}

/* Tests of what is certainly a Tensor, a Type or a Node, as an instruction before has seen. */
static int test_tensor(const Frame *frame, const Instruction *at, PyObject *value) {
    switch (at->operation) {
        case OP_has_array: return is_array(SLOT(value, layout.array));
        case OP_is_contiguous: return is_contiguous(value);
        case OP_needs_no_grad: return SLOT(value, layout.requires_grad) == Py_False;
        case OP_has_type: return type_of(value) != NULL && type_of(value) == frame->type;
        case OP_has_backend: return has_backend(frame, value);
        case OP_is_recorded: return is_recorded(value);
        case OP_is_index: return is_index(value, frame->local[at->number + 1]);
        case OP_is_apart: return is_apart(frame, value);
        default: return may_write(value);
    }
}

int test(const Frame *frame, const Instruction *at) {
    if (at->operation == OP_not_intercepted) return PyList_GET_SIZE(layout.active) == 0;
    if (at->operation == OP_weak_has) return is_weak(frame, at->object);
    if (at->operation == OP_is_given) return frame->given == at->number;
    if (at->operation == OP_is_more_given) return frame->given > at->number;
    if (at->operation == OP_goes) return goes(frame->local[0], at->number);
    PyObject *value = frame->local[at->number];
    if (value == NULL) return 0; /* an argument that was not given */
    switch (at->operation) {
        case OP_is_plain: return is_plain(value);
        case OP_is_tensor: return is_tensor(value);
        case OP_is_array: return is_array(value);
        case OP_is_small: return is_small(value);
        case OP_has_dims: return has_dims(value, at->offset);
        case OP_are_rows: return frame->local[at->offset] != NULL && are_rows(value, frame->local[at->offset]);
        case OP_have_rows_of: return frame->local[at->offset] != NULL && have_rows_of(value, frame->local[at->offset]);
        case OP_is_type: return PyObject_TypeCheck(value, layout.Type);
        case OP_is_settled: return is_settled(value);
        case OP_is_weak: return is_weak(frame, (PyObject *)Py_TYPE(value));
        case OP_is_class: return (PyObject *)Py_TYPE(value) == at->object;
        case OP_is_none: return value == Py_None;
        case OP_is_missing: return value == layout.missing;
        case OP_is_same: return value == at->object;
        case OP_is_equal: return is_equal(value, at->object);
        case OP_have_one_type: return one_type(value) != NULL;
        case OP_have_type: return frame->type != NULL && one_type(value) == frame->type;
        case OP_are_tensors: return are_tensors(value);
        case OP_are_ints: return are_ints(value, 0);
        case OP_are_many_ints: return are_ints(value, 1);
        default: return test_tensor(frame, at, value);
    }
}
