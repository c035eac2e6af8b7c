/* Views of NumPy's arrays that have elements, by dims: parts of them, and their dims in another order. The strides are
   those that NumPy's own views have. */
#include "fast_paths.h"

/* What a view is to be: beside its dims and strides how far behind the array it begins. */
typedef struct {
    int ndim;
    npy_intp itemsize, dims[MOST_DIMS], strides[MOST_DIMS], offset;
} Geometry;

/* The geometry of an array itself, if it has elements and not too many dims; whether that is so. */
static int read_geometry(PyObject *given, Geometry *to) {
    if (!is_array(given)) return 0;
    PyArrayObject *array = (PyArrayObject *)given;
    to->ndim = PyArray_NDIM(array);
    to->offset = 0;
    to->itemsize = PyArray_ITEMSIZE(array);
    if (to->ndim >= MOST_DIMS || PyArray_SIZE(array) == 0) return 0;
    for (int i = 0; i < to->ndim; i++) {
        to->dims[i] = PyArray_DIM(array, i);
        to->strides[i] = PyArray_STRIDE(array, i);
    }
    return 1;
}

static PyObject *view_of(PyObject *given, Geometry *of) {
    PyArrayObject *array = (PyArrayObject *)given;
    int flags = PyArray_FLAGS(array) & (NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED);
    Py_INCREF(PyArray_DESCR(array));
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(array), of->ndim, of->dims, of->strides,
                                          PyArray_BYTES(array) + of->offset, flags, NULL);
    if (view != NULL && PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef(given)) < 0) Py_CLEAR(view);
    return view;
}

/* The axis that a dim is of ``dims``; -1 where it is none.
   Repeats kernels/dims.py: wrap_dim. Compared by test_kernels.py: test_kernels. */
int axis_of(PyObject *dim, int dims) {
    int overflow;
    if (!PyLong_CheckExact(dim)) return -1;
    long axis = PyLong_AsLongAndOverflow(dim, &overflow);
    if (overflow || axis < -dims || axis >= dims) return -1;
    return (int)(axis < 0 ? axis + dims : axis);
}

static void insert(Geometry *to, int axis, npy_intp size, npy_intp stride) {
    for (int i = to->ndim++; i > axis; i--) {
        to->dims[i] = to->dims[i - 1];
        to->strides[i] = to->strides[i - 1];
    }
    to->dims[axis] = size;
    to->strides[axis] = stride;
}

static void drop(Geometry *to, int axis) {
    to->ndim--;
    for (int i = axis; i < to->ndim; i++) {
        to->dims[i] = to->dims[i + 1];
        to->strides[i] = to->strides[i + 1];
    }
}

/* Each of these gives NULL without an exception where it is for Python to say. */

/* With a dim of size 1 before another one; it has that one's whole extent as its stride.
   Repeats kernels/views.py: with_dim. Compared by test_kernels.py: test_kernels. */
PyObject *with_dim(PyObject *array, PyObject *dim) {
    Geometry g;
    if (!read_geometry(array, &g)) return NULL;
    int axis = axis_of(dim, g.ndim + 1);
    if (axis < 0) return NULL;
    insert(&g, axis, 1, axis == g.ndim ? g.itemsize : g.dims[axis] * g.strides[axis]);
    return view_of(array, &g);
}

/* Without a dim of size 1; with another one it is as it was.
   Repeats kernels/views.py: without_dim. Compared by test_kernels.py: test_kernels. */
PyObject *without_dim(PyObject *array, PyObject *dim) {
    Geometry g;
    if (!read_geometry(array, &g)) return NULL;
    int axis = axis_of(dim, g.ndim);
    if (axis < 0) return NULL;
    if (g.dims[axis] == 1) drop(&g, axis);
    return view_of(array, &g);
}

/* With two dims exchanged.
   Repeats kernels/views.py: with_dims_exchanged. Compared by test_kernels.py: test_kernels. */
PyObject *with_dims_exchanged(PyObject *array, PyObject *dim0, PyObject *dim1) {
    Geometry g;
    if (!read_geometry(array, &g)) return NULL;
    int a = axis_of(dim0, g.ndim), b = axis_of(dim1, g.ndim);
    if (a < 0 || b < 0) return NULL;
    npy_intp dim = g.dims[a], stride = g.strides[a];
    g.dims[a] = g.dims[b];
    g.strides[a] = g.strides[b];
    g.dims[b] = dim;
    g.strides[b] = stride;
    return view_of(array, &g);
}

/* With the dims in an order that a tuple or list says.
   Repeats kernels/views.py: with_dims_ordered. Compared by test_kernels.py: test_kernels. */
PyObject *with_dims_ordered(PyObject *array, PyObject *order) {
    Geometry g, made;
    if (!read_geometry(array, &g) || (!PyTuple_CheckExact(order) && !PyList_CheckExact(order))) return NULL;
    if (PySequence_Fast_GET_SIZE(order) != g.ndim) return NULL;
    unsigned long seen = 0;
    made.ndim = g.ndim;
    made.offset = 0;
    for (int i = 0; i < g.ndim; i++) {
        int axis = axis_of(PySequence_Fast_GET_ITEM(order, i), g.ndim);
        if (axis < 0 || (seen >> axis & 1)) return NULL;
        seen |= 1ul << axis;
        made.dims[i] = g.dims[axis];
        made.strides[i] = g.strides[axis];
    }
    return view_of(array, &made);
}

/* Broadcast to sizes, a tuple in which -1 keeps one: with strides of 0. A new dim of size 1 has the next one's extent as its
   stride.
   Repeats kernels/views.py: expand_to. Compared by test_kernels.py: test_kernels. */
PyObject *expanded(PyObject *array, PyObject *sizes) {
    Geometry g, made;
    if (!read_geometry(array, &g) || !PyTuple_CheckExact(sizes) || PyTuple_GET_SIZE(sizes) > MOST_DIMS) return NULL;
    made.ndim = (int)PyTuple_GET_SIZE(sizes);
    made.offset = 0;
    int missing = made.ndim - g.ndim;
    for (int d = made.ndim - 1; d >= 0; d--) {
        PyObject *size = PyTuple_GET_ITEM(sizes, d);
        int overflow;
        if (missing < 0 || !PyLong_CheckExact(size)) return NULL;
        long n = PyLong_AsLongAndOverflow(size, &overflow);
        if (overflow || n == 0 || n < (d < missing ? 1 : -1) || n > INT_MAX) return NULL;
        int same = d >= missing && (n == -1 || n == g.dims[d - missing]);
        if (d >= missing && !same && g.dims[d - missing] != 1) return NULL;
        made.dims[d] = same ? g.dims[d - missing] : n;
        made.strides[d] = same ? g.strides[d - missing] : 0;
        if (d < missing && n == 1 && g.ndim) made.strides[d] = d + 1 < made.ndim ? made.dims[d + 1] * made.strides[d + 1] : g.itemsize;
    }
    return missing < 0 ? NULL : view_of(array, &made);
}

/* An index along an axis; whether it is in range. */
static int select_index(Geometry *g, int axis, PyObject *index) {
    int overflow;
    if (axis < 0 || axis >= g->ndim || !PyLong_CheckExact(index)) return 0;
    long number = PyLong_AsLongAndOverflow(index, &overflow);
    if (overflow || number < -g->dims[axis] || number >= g->dims[axis]) return 0;
    g->offset += (number < 0 ? number + g->dims[axis] : number) * g->strides[axis];
    drop(g, axis);
    return 1;
}

/* What stands at an index along a dim.
   Repeats kernels/views.py: at_index. Compared by test_kernels.py: test_kernels. */
PyObject *at_index(PyObject *array, PyObject *dim, PyObject *index) {
    Geometry g;
    if (!read_geometry(array, &g) || !select_index(&g, axis_of(dim, g.ndim), index)) return NULL;
    return view_of(array, &g);
}

/* A bound of a slice, which may be None, within a size; whether it is one. */
static int read_bound(PyObject *bound, npy_intp size, npy_intp otherwise, npy_intp *to) {
    int overflow;
    *to = otherwise;
    if (bound == Py_None) return 1;
    if (!PyLong_CheckExact(bound)) return 0;
    long long number = PyLong_AsLongLongAndOverflow(bound, &overflow);
    if (overflow) number = overflow > 0 ? size : -size;
    if (number < 0) number += size;
    *to = number < 0 ? 0 : number > size ? size : (npy_intp)number;
    return 1;
}

/* ``start:end:step`` along an axis; whether that is usual, and not empty. A step may be None. */
static int select_range(Geometry *g, int axis, PyObject *start, PyObject *end, PyObject *step) {
    int overflow = 0;
    if (axis < 0 || axis >= g->ndim || (step != Py_None && !PyLong_CheckExact(step))) return 0;
    long by = step == Py_None ? 1 : PyLong_AsLongAndOverflow(step, &overflow);
    npy_intp size = g->dims[axis], first, last;
    if (overflow || by < 1 || by > size || !read_bound(start, size, 0, &first) || !read_bound(end, size, size, &last)) return 0;
    if (first >= last) return 0;
    g->offset += first * g->strides[axis];
    g->dims[axis] = (last - first - 1) / by + 1;
    g->strides[axis] *= by;
    return 1;
}

/* ``start:end:step`` along a dim, if it is not empty.
   Repeats kernels/views.py: slice_tensor. Compared by test_kernels.py: test_kernels. */
PyObject *in_range(PyObject *array, PyObject *dim, PyObject *start, PyObject *end, PyObject *step) {
    Geometry g;
    if (step == Py_None || !read_geometry(array, &g) || !select_range(&g, axis_of(dim, g.ndim), start, end, step)) return NULL;
    return view_of(array, &g);
}

/* One key of an index, at an axis, which it moves on; ``dims`` of the array are taken by the keys behind it. */
static int select_key(Geometry *g, int *axis, PyObject *key, int dims) {
    if (PyLong_CheckExact(key)) return select_index(g, *axis, key);
    if (key == Py_Ellipsis) {
        *axis = g->ndim - dims;
        return 1;
    }
    int at = (*axis)++;
    if (PySlice_Check(key)) {
        PySliceObject *slice = (PySliceObject *)key;
        return select_range(g, at, slice->start, slice->stop, slice->step);
    }
    if (key != Py_None || at > g->ndim || g->ndim + 1 >= MOST_DIMS) return 0;
    insert(g, at, 1, at == g->ndim ? g->itemsize : g->dims[at] * g->strides[at]);
    return 1;
}

/* What stands at an int, a slice, None, ``...``, or a tuple of such with at most one ``...``.
   Repeats tensors/indexing.py: _quick. Compared by test_kernels.py: test_kernels. */
PyObject *at_key(PyObject *array, PyObject *key) {
    Geometry g;
    if (!read_geometry(array, &g)) return NULL;
    int axis = 0, tuple = PyTuple_CheckExact(key), taken = 0, dots = 0;
    Py_ssize_t count = tuple ? PyTuple_GET_SIZE(key) : 1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *one = tuple ? PyTuple_GET_ITEM(key, i) : key;
        taken += PyLong_CheckExact(one) || PySlice_Check(one);
        dots += one == Py_Ellipsis;
    }
    if (taken > g.ndim || dots > 1) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *one = tuple ? PyTuple_GET_ITEM(key, i) : key;
        taken -= PyLong_CheckExact(one) || PySlice_Check(one);
        if (!select_key(&g, &axis, one, taken)) return NULL;
    }
    return view_of(array, &g);
}

/* All that stands along a dim: a tuple.
   Repeats kernels/views.py: each_along. Compared by test_kernels.py: test_kernels. */
PyObject *each_along(PyObject *array, PyObject *dim) {
    Geometry g;
    if (!read_geometry(array, &g)) return NULL;
    int axis = axis_of(dim, g.ndim);
    if (axis < 0) return NULL;
    npy_intp step = g.strides[axis];
    PyObject *made = PyTuple_New(g.dims[axis]);
    drop(&g, axis);
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_GET_SIZE(made); i++, g.offset += step) {
        PyObject *view = view_of(array, &g);
        if (view == NULL) Py_CLEAR(made);
        else PyTuple_SET_ITEM(made, i, view);
    }
    return made;
}

/* How long the part of this number is: all have a size, save the last, or each has its own in a tuple. 0 where it has none. */
static npy_intp length_of_part(PyObject *lengths, Py_ssize_t number, npy_intp left) {
    PyObject *length = PyTuple_CheckExact(lengths) ? PyTuple_GET_ITEM(lengths, number) : lengths;
    int overflow;
    if (!PyLong_CheckExact(length)) return 0;
    long size = PyLong_AsLongAndOverflow(length, &overflow);
    if (overflow || size < 1) return 0;
    if (size <= left) return size;
    return PyTuple_CheckExact(lengths) ? 0 : left;
}

/* Parts along a dim, of one size save the last, or of the sizes in a tuple: a tuple. None of them is empty.
   Repeats kernels/views.py: parts_along. Compared by test_kernels.py: test_kernels. */
PyObject *parts_along(PyObject *array, PyObject *lengths, PyObject *dim) {
    Geometry g;
    if (!read_geometry(array, &g)) return NULL;
    int axis = axis_of(dim, g.ndim);
    npy_intp left = axis < 0 ? 0 : g.dims[axis], length;
    if (axis < 0 || (!PyTuple_CheckExact(lengths) && !length_of_part(lengths, 0, left))) return NULL;
    npy_intp size = PyTuple_CheckExact(lengths) ? 0 : length_of_part(lengths, 0, left);
    Py_ssize_t count = size ? (left - 1) / size + 1 : PyTuple_GET_SIZE(lengths);
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++, left -= length) {
        length = g.dims[axis] = length_of_part(lengths, i, left);
        PyObject *view = length ? view_of(array, &g) : NULL;
        if (view == NULL) Py_CLEAR(made);
        else PyTuple_SET_ITEM(made, i, view);
        g.offset += length * g.strides[axis];
    }
    if (left) Py_CLEAR(made);
    return made;
}

/* Numbers of a tuple or list, times ``by``, none below ``least``; how many there are, or -1. */
static int read_numbers(PyObject *numbers, npy_intp least, npy_intp by, npy_intp *to) {
    if (!PyTuple_CheckExact(numbers) && !PyList_CheckExact(numbers)) return -1;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(numbers);
    if (count > MOST_DIMS) return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *number = PySequence_Fast_GET_ITEM(numbers, i);
        int overflow;
        long value = PyLong_CheckExact(number) ? PyLong_AsLongAndOverflow(number, &overflow) : least - 1;
        if (value < least || overflow || value > INT_MAX) return -1;
        to[i] = value * by;
    }
    return (int)count;
}

/* Of sizes and strides, in elements, that begins so many elements behind the first one.
   Repeats kernels/strided.py: restrided. Compared by test_kernels.py: test_kernels. */
PyObject *restrided(PyObject *array, PyObject *sizes, PyObject *strides, PyObject *offset) {
    Geometry g;
    int overflow;
    if (!read_geometry(array, &g) || !PyLong_CheckExact(offset)) return NULL;
    long behind = PyLong_AsLongAndOverflow(offset, &overflow);
    g.ndim = read_numbers(sizes, 1, 1, g.dims);
    if (overflow || g.ndim < 0 || read_numbers(strides, 0, g.itemsize, g.strides) != g.ndim) return NULL;
    g.offset = behind * g.itemsize;
    return view_of(array, &g);
}
