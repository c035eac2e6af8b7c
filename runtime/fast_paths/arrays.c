/* What kernels do with NumPy's arrays in the usual case, without what NumPy asks itself before: views in another shape,
   arrays one behind the other, sums of all elements. The bits are those of NumPy's functions. */
#include "fast_paths.h"

/* Whether the strides of an array are those that a new one in C's order has, those of sizes of 1 too. */
int is_packed(PyArrayObject *array) {
    npy_intp step = PyArray_ITEMSIZE(array);
    for (int i = PyArray_NDIM(array) - 1; i >= 0; i--) {
        if (PyArray_STRIDE(array, i) != step) return 0;
        step *= PyArray_DIM(array, i);
    }
    return 1;
}

/* The addresses that an array's elements, of which there are some, are within. */
static void extent(PyArrayObject *array, const char **first, const char **end) {
    *first = *end = PyArray_BYTES(array);
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        npy_intp last = (PyArray_DIM(array, d) - 1) * PyArray_STRIDE(array, d);
        if (last < 0) *first += last;
        else *end += last;
    }
    *end += PyArray_ITEMSIZE(array);
}

/* Whether two arrays may have an element's memory in common. */
int may_overlap(PyArrayObject *a, PyArrayObject *b) {
    const char *first_a, *end_a, *first_b, *end_b;
    extent(a, &first_a, &end_a);
    extent(b, &first_b, &end_b);
    return first_a < end_b && first_b < end_a;
}

/* Whether two arrays are the same elements in the same places. */
int same_places(PyArrayObject *a, PyArrayObject *b) {
    if (PyArray_DATA(a) != PyArray_DATA(b) || PyArray_NDIM(a) != PyArray_NDIM(b)) return 0;
    for (int d = 0; d < PyArray_NDIM(a); d++) {
        if (PyArray_DIM(a, d) != PyArray_DIM(b, d)) return 0;
        if (PyArray_DIM(a, d) != 1 && PyArray_STRIDE(a, d) != PyArray_STRIDE(b, d)) return 0;
    }
    return 1;
}

/* Whether an array of floats or doubles has dims and elements, in C's order.
   Repeats kernels/bodies.py: run_body. Compared by test_kernels.py: test_kernels. */
int are_rows(PyObject *given) {
    if (!is_array(given)) return 0;
    PyArrayObject *array = (PyArrayObject *)given;
    int type = PyArray_TYPE(array);
    return (type == NPY_FLOAT || type == NPY_DOUBLE) && PyArray_ISCARRAY_RO(array) && PyArray_NDIM(array) > 0 && PyArray_SIZE(array) > 0;
}

/* Whether an array of bools or integers has dims and elements.
   Repeats kernels/bodies.py: run_body. Compared by test_kernels.py: test_kernels. */
int are_integers(PyObject *given) {
    if (!is_array(given)) return 0;
    PyArrayObject *array = (PyArrayObject *)given;
    return (PyArray_ISINTEGER(array) || PyArray_ISBOOL(array)) && PyArray_NDIM(array) > 0 && PyArray_SIZE(array) > 0;
}

/* Whether the last dim of an array that are_rows has the only size in a tuple.
   Repeats kernels/dims.py: axes_of_rows. Compared by test_kernels.py: test_kernels. */
int have_rows_of(PyObject *array, PyObject *shape) {
    if (!PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != 1 || !are_rows(array)) return 0;
    PyObject *size = PyTuple_GET_ITEM(shape, 0);
    if (!PyLong_CheckExact(size)) return 0;
    Py_ssize_t length = PyLong_AsSsize_t(size);
    if (length == -1) PyErr_Clear();
    return length == PyArray_DIM((PyArrayObject *)array, PyArray_NDIM((PyArrayObject *)array) - 1);
}

/* A float of Python's as an array without dims that has the dtype of another, which has floats or doubles. NULL without an
   exception where it is for Python to say.
   Repeats kernels/pointwise.py: within. Compared by test_kernels.py: test_kernels. */
PyObject *number_like(PyObject *given, PyObject *number) {
    if (!is_array(given) || !PyFloat_CheckExact(number)) return NULL;
    PyArray_Descr *descr = PyArray_DESCR((PyArrayObject *)given);
    if (descr->type_num != NPY_FLOAT && descr->type_num != NPY_DOUBLE) return NULL;
    double value = PyFloat_AS_DOUBLE(number);
    if (!(value > -1e30 && value < 1e30)) return NULL;
    Py_INCREF(descr);
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, descr, 0, NULL, NULL, NULL, 0, NULL);
    if (made == NULL) return NULL;
    if (descr->type_num == NPY_FLOAT) *(float *)PyArray_DATA((PyArrayObject *)made) = (float)value;
    else *(double *)PyArray_DATA((PyArrayObject *)made) = value;
    return made;
}

/* Such an array times a float, in its own dtype. NULL without an exception where it is for Python to say.
   Repeats kernels/pointwise.py: scaled. Compared by test_kernels.py: test_kernels. */
PyObject *scaled(PyObject *array, PyObject *number) {
    PyObject *operands[] = {array, number_like(array, number)};
    if (operands[1] == NULL) return NULL;
    PyObject *result = ufunc_result(PyTuple_GET_ITEM(layout.ufuncs, 2), operands, 2);
    Py_DECREF(operands[1]);
    return result;
}

/* -- views ---------------------------------------------------------------------------------------------------- */

/* The sizes of a view of ``count`` elements; whether they fit. One may be -1, and none 0.
   Repeats kernels/layout.py: infer_size. Compared by test_kernels.py: test_kernels. */
static int read_sizes(PyObject *sizes, npy_intp count, npy_intp *to) {
    Py_ssize_t given = PyTuple_GET_SIZE(sizes), unknown = -1;
    npy_intp known = 1;
    for (Py_ssize_t i = 0; i < given; i++) {
        PyObject *size = PyTuple_GET_ITEM(sizes, i);
        if (!PyLong_CheckExact(size)) return 0;
        to[i] = PyLong_AsSsize_t(size);
        if (to[i] == -1) {
            if (PyErr_Occurred()) PyErr_Clear();
            else if (unknown < 0) {
                unknown = i;
                continue;
            }
            return 0;
        }
        if (to[i] < 1 || to[i] > count / known) return 0;
        known *= to[i];
    }
    if (unknown >= 0) to[unknown] = count / known;
    return (unknown < 0 ? known : known * to[unknown]) == count;
}

/* Whether a view of a contiguous array in another shape is packed: if its strides are, or the size of its last dim is not
   1. */
static int gives_packed_views(PyArrayObject *array) {
    int ndim = PyArray_NDIM(array);
    return (ndim && PyArray_DIM(array, ndim - 1) != 1) || is_packed(array);
}

/* The strides by which an array that has dims and elements is seen in a shape of as many elements, whether there are such.
   Dims that lie one in the other are a run; each run is cut into dims of its own.
   Repeats kernels/layout.py: view_strides. Compared by test_kernels.py: test_kernels. */
static int strides_in_shape(PyArrayObject *array, int ndim, const npy_intp *dims, npy_intp *strides) {
    int to = ndim - 1;
    npy_intp base = PyArray_STRIDE(array, PyArray_NDIM(array) - 1), run = 1, seen = 1;
    for (int d = PyArray_NDIM(array) - 1; d >= 0; d--) {
        run *= PyArray_DIM(array, d);
        if (d && (PyArray_DIM(array, d - 1) == 1 || PyArray_STRIDE(array, d - 1) == run * base)) continue;
        for (; to >= 0 && (seen < run || dims[to] == 1); to--) {
            strides[to] = seen * base;
            seen *= dims[to];
        }
        if (seen != run) return 0;
        if (d) base = PyArray_STRIDE(array, d - 1);
        run = seen = 1;
    }
    return to < 0;
}

/* The memory of an array, which has elements, in another shape. NULL without an exception where it is for Python to say.
   Repeats kernels/views.py: view. Compared by test_kernels.py: test_kernels. */
PyObject *reshaped(PyObject *given, PyObject *sizes) {
    npy_intp dims[MOST_DIMS], strides[MOST_DIMS];
    if (!is_array(given) || !PyTuple_CheckExact(sizes) || PyTuple_GET_SIZE(sizes) > MOST_DIMS) return NULL;
    PyArrayObject *array = (PyArrayObject *)given;
    npy_intp count = PyArray_SIZE(array);
    int ndim = (int)PyTuple_GET_SIZE(sizes);
    if (count == 0 || !read_sizes(sizes, count, dims)) return NULL;
    int packed = PyArray_IS_C_CONTIGUOUS(array) && gives_packed_views(array);
    if (!packed && (PyArray_NDIM(array) == 0 || !strides_in_shape(array, ndim, dims, strides))) return NULL;
    int flags = PyArray_FLAGS(array) & (NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED);
    Py_INCREF(PyArray_DESCR(array));
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(array), ndim, dims, packed ? NULL : strides,
                                          PyArray_DATA(array), flags, NULL);
    if (view == NULL) return NULL;
    PyArray_UpdateFlags((PyArrayObject *)view, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS);
    if (PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef(given)) < 0) Py_CLEAR(view);
    return view;
}

/* -- joins ---------------------------------------------------------------------------------------------------- */

/* So many bytes at most: NumPy's questions cost little beside more. */
#define MOST_JOINED (1 << 16)

/* Whether an array may stand beside the first along an axis, or along a new one: -1. */
static int fits(PyObject *given, PyArrayObject *first, int axis) {
    if (!is_array(given)) return 0;
    PyArrayObject *array = (PyArrayObject *)given;
    if (PyArray_DESCR(array) != PyArray_DESCR(first) || PyArray_NDIM(array) != PyArray_NDIM(first)) return 0;
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        if (i != axis && PyArray_DIM(array, i) != PyArray_DIM(first, i)) return 0;
    }
    return PyArray_SIZE(array) > 0 && is_packed(array);
}

static npy_intp product(const npy_intp *sizes, int from, int to) {
    npy_intp found = 1;
    for (int i = from; i < to; i++) found *= sizes[i];
    return found;
}

/* Copy arrays beside each other into a new one of ``rows`` rows: all dims before the axis. */
static void copy_beside(PyObject *const *arrays, Py_ssize_t count, npy_intp rows, PyArrayObject *to) {
    npy_intp step = PyArray_NBYTES(to) / rows;
    char *column = PyArray_BYTES(to);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyArrayObject *array = (PyArrayObject *)arrays[i];
        npy_intp length = PyArray_NBYTES(array) / rows;
        const char *from = PyArray_BYTES(array);
        for (npy_intp k = 0; k < rows; k++) memcpy(column + k * step, from + k * length, (size_t)length);
        column += length;
    }
}

/* How long the arrays of a list are together along an axis, or along a new one, if they are such as stand beside each
   other; else 0. */
static npy_intp length_of(PyObject *const *arrays, Py_ssize_t count, int axis, int new_dim) {
    PyArrayObject *first = (PyArrayObject *)arrays[0];
    npy_intp bytes = 0, length = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!fits(arrays[i], first, new_dim ? -1 : axis)) return 0;
        bytes += PyArray_NBYTES((PyArrayObject *)arrays[i]);
        if (bytes > MOST_JOINED) return 0;
        length += new_dim ? 1 : PyArray_DIM((PyArrayObject *)arrays[i], axis);
    }
    return length;
}

/* Arrays of one dtype, packed and small, one behind the other along a dim, or side by side along a new one. NULL without
   an exception where it is for Python to say.
   Repeats kernels/shape.py: cat, stack. Compared by test_kernels.py: test_kernels,
   test_tensors_of_other_sizes_are_not_joined. */
PyObject *joined(PyObject *list, PyObject *dim, int new_dim) {
    if (!PyTuple_CheckExact(list) && !PyList_CheckExact(list)) return NULL;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
    PyObject *const *arrays = PySequence_Fast_ITEMS(list);
    if (count == 0 || !is_array(arrays[0])) return NULL;
    PyArrayObject *first = (PyArrayObject *)arrays[0];
    int ndim = PyArray_NDIM(first) + new_dim, axis = axis_of(dim, ndim);
    if (axis < 0 || ndim > MOST_DIMS || PyDataType_REFCHK(PyArray_DESCR(first))) return NULL;
    /* Images of one channel, or of one pixel, may be channels-last though they are contiguous. */
    if (!new_dim && ndim > 3 && PyArray_STRIDE(first, 1) <= PyArray_STRIDE(first, ndim - 1)) return NULL;
    npy_intp length = length_of(arrays, count, axis, new_dim), dims[MOST_DIMS];
    if (length == 0) return NULL;
    for (int i = 0; i < ndim; i++) dims[i] = i == axis ? length : PyArray_DIM(first, i - (new_dim && i > axis));
    Py_INCREF(PyArray_DESCR(first));
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(first), ndim, dims, NULL, NULL, 0, NULL);
    if (made != NULL) copy_beside(arrays, count, product(dims, 0, axis), (PyArrayObject *)made);
    return made;
}
