/* Small arrays through a ufunc's inner loop, without what NumPy does around it.

   NumPy chooses a loop, allocates, and calls the loop; for a dozen elements the choice is most of the time. Where all
   operands are contiguous arrays of one floating-point type and one shape, or have no dimension, the choice is known:
   the loop whose inputs are of that type. The loop is the same, and so are the bits. Where the processor's
   floating-point flags say that NumPy would warn, a new result is thrown away, and Python's function, where such a
   warning belongs, has NumPy do it again. At those of native kernels of elements, which add_loop tells, NumPy does not
   look. */
#include "kernels.h"
#include <numpy/dtype_api.h>
#include <numpy/ufuncobject.h>

#define MOST_OPERANDS 3
/* What more numbers than these are set aside in is not on the stack. */
#define MOST_ON_STACK 64
/* So many elements at most: NumPy's choice costs little beside more. */
#define MOST_ELEMENTS 4096
/* And of rows whose elements are apart; from there on another kernel goes over columns: STRIDED_ROWS of core/costs.py. */
#define MOST_OF_STRIDED_ROWS (1 << 10)

/* A loop of a ufunc, and the type of its result. */
typedef struct {
    PyUFuncGenericFunction function; /* NumPy's, or NULL */
    void *data;
    PyArrayMethod_StridedLoop *native; /* a kernel's, or NULL */
    int result;
} Loop;

/* Of a native kernel of elements its loop for a type. */
static int find_native_loop(PyObject *ufunc, int type, Loop *loop) {
    Native native;
    if (!find_native(ufunc, &native) || native.operands) return 0;
    *loop = (Loop){NULL, NULL, (PyArrayMethod_StridedLoop *)native.loops[type == NPY_DOUBLE], type};
    return loop->native != NULL;
}

/* The loop of a ufunc with one result whose inputs all are of a type; whether there is one. */
static int find_loop(PyObject *function, Py_ssize_t count, int type, Loop *loop) {
    const PyUFuncObject *ufunc = (PyUFuncObject *)function;
    if (ufunc->nin != count || ufunc->nout != 1 || ufunc->core_enabled || count > MOST_OPERANDS) return 0;
    for (int i = 0; i < ufunc->ntypes; i++) {
        const char *types = ufunc->types + i * ufunc->nargs;
        int same = 1;
        for (int k = 0; k < ufunc->nin; k++) same = same && types[k] == type;
        if (same) {
            *loop = (Loop){ufunc->functions[i], ufunc->data == NULL ? NULL : ufunc->data[i], NULL, types[count]};
            return 1;
        }
    }
    return find_native_loop(function, type, loop);
}

/* Whether two arrays have one shape. */
static int alike(PyArrayObject *a, PyArrayObject *b) {
    return PyArray_NDIM(a) == PyArray_NDIM(b) && PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a));
}

/* The operand that has the result's shape; NULL where they do not fit together. */
static PyArrayObject *shape_giver(PyObject *const *operands, Py_ssize_t count, int type) {
    PyArrayObject *giver = NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!is_array(operands[i])) return NULL;
        PyArrayObject *array = (PyArrayObject *)operands[i];
        if (PyArray_TYPE(array) != type || !PyArray_ISCARRAY_RO(array)) return NULL;
        if (giver == NULL || (PyArray_NDIM(giver) == 0 && PyArray_NDIM(array))) giver = array;
        else if (PyArray_NDIM(array) && !alike(array, giver)) return NULL;
    }
    npy_intp size = giver == NULL ? 0 : PyArray_SIZE(giver);
    return size == 0 || size > MOST_ELEMENTS ? NULL : giver;
}

static PyArrayObject *new_result(PyArrayObject *giver, int type) {
    PyArray_Descr *descr = PyArray_TYPE(giver) == type ? PyArray_DESCR(giver) : NULL;
    if (descr != NULL) Py_INCREF(descr);
    else descr = PyArray_DescrFromType(type);
    if (descr == NULL) return NULL;
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(giver), PyArray_DIMS(giver), NULL,
                                                 NULL, 0, NULL);
}

/* Call a loop whose results go to ``to``, of the shape of ``result``; whether no floating-point flag was raised that NumPy
   would look at. */
static int run_loop(const Loop *loop, PyObject *const *operands, Py_ssize_t count, PyArrayObject *result, char *to) {
    char *data[MOST_OPERANDS + 1];
    npy_intp size = PyArray_SIZE(result), steps[MOST_OPERANDS + 1];
    for (Py_ssize_t i = 0; i < count; i++) {
        PyArrayObject *array = (PyArrayObject *)operands[i];
        data[i] = PyArray_BYTES(array);
        steps[i] = PyArray_NDIM(array) ? PyArray_ITEMSIZE(array) : 0;
    }
    data[count] = to;
    steps[count] = PyArray_ITEMSIZE(result);
    if (loop->native != NULL) {
        loop->native(NULL, data, &size, steps, NULL);
        return 1;
    }
    clear_flags(); /* a native kernel's */
    loop->function(data, &size, steps, loop->data);
    return !fetestexcept(FLAGS);
}

/* The type of operands that are such as loops are called for here; -1 for others. */
static int operand_type(PyObject *function, PyObject *const *operands, Py_ssize_t count) {
    if (!Py_IS_TYPE(function, &PyUFunc_Type) || count < 1 || !is_array(operands[0])) return -1;
    int type = PyArray_TYPE((PyArrayObject *)operands[0]);
    return type == NPY_FLOAT || type == NPY_DOUBLE ? type : -1;
}

/* -- operands that broadcast ---------------------------------------------------------------------------------- */

/* The shape that operands have together, and the strides of each, 0 where it broadcasts; of the result last. */
typedef struct {
    int ndim;
    npy_intp dims[MOST_DIMS], strides[MOST_OPERANDS + 1][MOST_DIMS];
} Spread;

/* Whether it matters for no result's bits which elements a loop is called with at a time: as of what rounds once, of
   comparisons, and of native kernels. */
static int is_exact(PyObject *function, const Loop *loop) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(layout.ufuncs); i++) {
        if (PyTuple_GET_ITEM(layout.ufuncs, i) == function) return 1;
    }
    return loop->native != NULL || loop->result == NPY_BOOL;
}

/* Spread contiguous operands of one type out to their common shape; whether that is possible. */
static int spread(PyObject *const *operands, Py_ssize_t count, int type, Spread *to) {
    to->ndim = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!is_array(operands[i])) return 0;
        PyArrayObject *array = (PyArrayObject *)operands[i];
        if (PyArray_TYPE(array) != type || !PyArray_ISCARRAY_RO(array) || PyArray_NDIM(array) > MOST_DIMS) return 0;
        if (PyArray_NDIM(array) > to->ndim) to->ndim = PyArray_NDIM(array);
    }
    npy_intp size = 1;
    for (int d = 0; d < to->ndim; d++) {
        to->dims[d] = 1;
        for (Py_ssize_t i = 0; i < count; i++) {
            int own = d - to->ndim + PyArray_NDIM((PyArrayObject *)operands[i]);
            npy_intp dim = own < 0 ? 1 : PyArray_DIM((PyArrayObject *)operands[i], own);
            if (dim == 0 || (dim != 1 && to->dims[d] != 1 && dim != to->dims[d])) return 0;
            if (dim != 1) to->dims[d] = dim;
        }
        if (to->dims[d] > MOST_ELEMENTS) return 0;
        size *= to->dims[d];
        if (size > MOST_ELEMENTS) return 0;
    }
    return 1;
}

/* Find the strides of an array that is spread out; it is contiguous. */
static void find_strides(Spread *of, PyArrayObject *array, npy_intp *strides) {
    npy_intp step = PyArray_ITEMSIZE(array);
    for (int d = of->ndim - 1; d >= 0; d--) {
        int own = d - of->ndim + PyArray_NDIM(array);
        npy_intp dim = own < 0 ? 1 : PyArray_DIM(array, own);
        strides[d] = dim == 1 ? 0 : step;
        step *= dim;
    }
}

/* Make one dim of the last two as long as all arrays lie so that they can be, and none of those of size 1. */
static void merge_dims(Spread *of, int arrays) {
    int to = 0;
    for (int d = 0; d < of->ndim; d++) {
        if (of->dims[d] == 1) continue;
        int merges = to > 0;
        for (int i = 0; merges && i < arrays; i++) merges = of->strides[i][to - 1] == of->strides[i][d] * of->dims[d];
        if (!merges) to++;
        of->dims[to - 1] = merges ? of->dims[to - 1] * of->dims[d] : of->dims[d];
        for (int i = 0; i < arrays; i++) of->strides[i][to - 1] = of->strides[i][d];
    }
    of->ndim = to;
}

/* The same for each row of what is spread out. */
static int run_spread(const Loop *loop, PyObject *const *operands, Py_ssize_t count, PyArrayObject *result, char *to, Spread *of) {
    char *data[MOST_OPERANDS + 1];
    npy_intp steps[MOST_OPERANDS + 1], place[MOST_DIMS] = {0}, one = 1;
    int arrays = (int)count + 1;
    for (int i = 0; i < arrays; i++) {
        PyArrayObject *array = i < count ? (PyArrayObject *)operands[i] : result;
        data[i] = i < count ? PyArray_BYTES(array) : to;
        find_strides(of, array, of->strides[i]);
    }
    merge_dims(of, arrays);
    int inner = of->ndim - 1;
    for (int i = 0; i < arrays; i++) steps[i] = inner < 0 ? 0 : of->strides[i][inner];
    clear_flags();
    for (;;) {
        char *at[MOST_OPERANDS + 1];
        memcpy(at, data, sizeof(at));
        if (loop->native != NULL) loop->native(NULL, at, inner < 0 ? &one : of->dims + inner, steps, NULL);
        else loop->function(at, inner < 0 ? &one : of->dims + inner, steps, loop->data);
        int d = inner - 1;
        for (; d >= 0; d--) {
            for (int i = 0; i < arrays; i++) data[i] += of->strides[i][d];
            if (++place[d] < of->dims[d]) break;
            for (int i = 0; i < arrays; i++) data[i] -= of->strides[i][d] * of->dims[d];
            place[d] = 0;
        }
        if (d < 0) break;
    }
    return loop->native != NULL || !fetestexcept(FLAGS);
}

/* The ufunc of operands that broadcast. */
static PyArrayObject *spread_result(const Loop *loop, PyObject *const *operands, Py_ssize_t count, int type) {
    Spread of;
    if (!spread(operands, count, type, &of)) return NULL;
    PyArray_Descr *descr = PyArray_DescrFromType(loop->result);
    PyArrayObject *result = descr == NULL ? NULL : (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, descr, of.ndim, of.dims, NULL, NULL, 0, NULL);
    if (result != NULL && !run_spread(loop, operands, count, result, PyArray_BYTES(result), &of)) Py_CLEAR(result);
    return result;
}

/* The ufunc of the operands as a new array; NULL without an exception where NumPy has to be asked. */
PyObject *ufunc_result(PyObject *function, PyObject *const *operands, Py_ssize_t count) {
    Loop loop;
    int type = operand_type(function, operands, count);
    if (type < 0 || !find_loop(function, count, type, &loop)) return NULL;
    PyArrayObject *giver = shape_giver(operands, count, type);
    if (giver == NULL) return is_exact(function, &loop) ? (PyObject *)spread_result(&loop, operands, count, type) : NULL;
    PyArrayObject *result = new_result(giver, loop.result);
    if (result != NULL && !run_loop(&loop, operands, count, result, PyArray_BYTES(result))) Py_CLEAR(result);
    return (PyObject *)result;
}

/* Run a loop whose results go to an array that may be an operand; whether no flag was raised, else nothing is written: what
   NumPy would warn of must not have been when it does it again. */
static int run_aside(const Loop *loop, PyObject *const *operands, Py_ssize_t count, PyArrayObject *result, Spread *of) {
    double few[MOST_ON_STACK];
    size_t bytes = (size_t)PyArray_NBYTES(result);
    char *own = loop->native != NULL ? PyArray_BYTES(result) : (char *)few;
    char *to = loop->native != NULL || bytes <= sizeof(few) ? own : PyMem_Malloc(bytes);
    if (to == NULL) return 0;
    int done = of == NULL ? run_loop(loop, operands, count, result, to) : run_spread(loop, operands, count, result, to, of);
    if (done && loop->native == NULL) memcpy(PyArray_BYTES(result), to, bytes);
    if (to != own) PyMem_Free(to);
    return done;
}

/* Write the ufunc of the operands into an array, which may be one of them; whether that was done. */
int ufunc_into(PyObject *function, PyObject *const *operands, Py_ssize_t count, PyObject *into) {
    Loop loop;
    int type = operand_type(function, operands, count);
    if (type < 0 || !find_loop(function, count, type, &loop) || loop.result != type || !is_array(into)) return 0;
    PyArrayObject *giver = shape_giver(operands, count, type), *result = (PyArrayObject *)into;
    if (PyArray_TYPE(result) != type || !PyArray_ISCARRAY(result) || (giver != NULL && !alike(giver, result))) return 0;
    Spread of;
    if (giver == NULL && (!is_exact(function, &loop) || !spread(operands, count, type, &of))) return 0;
    if (giver == NULL && (of.ndim != PyArray_NDIM(result) || !PyArray_CompareLists(of.dims, PyArray_DIMS(result), of.ndim))) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyArrayObject *operand = (PyArrayObject *)operands[i];
        if (!same_places(operand, result) && may_overlap(operand, result)) return 0;
    }
    return run_aside(&loop, operands, count, result, giver == NULL ? &of : NULL);
}

/* -- native kernels of rows ----------------------------------------------------------------------------------- */

/* Where the rows of a contiguous array are: how many lie before each other and beside each other, their length, and over
   which dims they are. */
typedef struct {
    npy_intp before, length, beside;
    int axis, axes;
} Rows;

/* A dim, counted from the front; -1 where it is none. */
static int wrapped_dim(PyObject *dim, int ndim) {
    int overflow;
    if (!PyLong_CheckExact(dim)) return -1;
    long found = PyLong_AsLongAndOverflow(dim, &overflow);
    if (overflow || found < -ndim || found >= ndim) return -1;
    return (int)(found < 0 ? found + ndim : found);
}

/* Find the rows of an array with dims over an int, or a tuple of ints, one behind the other; over all for None and the
   empty tuple. Whether it is such. */
static int find_rows(PyArrayObject *array, PyObject *dim, Rows *to) {
    int ndim = PyArray_NDIM(array), is_tuple = PyTuple_CheckExact(dim);
    int all = dim == Py_None || (is_tuple && PyTuple_GET_SIZE(dim) == 0);
    to->axes = all ? ndim : is_tuple ? (int)PyTuple_GET_SIZE(dim) : 1;
    if (to->axes > ndim) return 0;
    to->axis = all ? 0 : wrapped_dim(is_tuple ? PyTuple_GET_ITEM(dim, 0) : dim, ndim);
    if (to->axis < 0) return 0;
    for (int i = 1; i < to->axes && !all; i++) {
        if (wrapped_dim(PyTuple_GET_ITEM(dim, i), ndim) != to->axis + i) return 0;
    }
    const npy_intp *sizes = PyArray_DIMS(array);
    to->before = to->length = to->beside = 1;
    for (int d = 0; d < ndim; d++) *(d < to->axis ? &to->before : d < to->axis + to->axes ? &to->length : &to->beside) *= sizes[d];
    return 1;
}

/* How many elements the rows of an array over a dim have, or several. NULL without an exception where it is for Python to say.
   Repeats kernels/native_rows.py: rows_of. Compared by test_kernels.py: test_kernels. */
PyObject *rows_length(PyObject *array, PyObject *dim) {
    Rows rows;
    if (!is_array(array) || PyArray_NDIM((PyArrayObject *)array) == 0 || !find_rows((PyArrayObject *)array, dim, &rows)) return NULL;
    return PyLong_FromSsize_t(rows.length);
}

/* Whether an operand is a row for each, or a number, of the first one's dtype. */
static int has_shape(PyArrayObject *array, int is_row, PyArrayObject *first, const Rows *rows) {
    int ndim = PyArray_NDIM(first), behind = rows->axis + rows->axes;
    if (PyArray_NDIM(array) != (is_row ? ndim : ndim - rows->axes)) return 0;
    const npy_intp *sizes = PyArray_DIMS(array), *wanted = PyArray_DIMS(first);
    if (is_row) return PyArray_CompareLists(sizes, wanted, ndim);
    return PyArray_CompareLists(sizes, wanted, rows->axis) && PyArray_CompareLists(sizes + rows->axis, wanted + behind, ndim - behind);
}

/* Whether all rows share an operand: a number, or one row. */
static int is_shared(PyArrayObject *array, int is_row, PyArrayObject *first, const Rows *rows) {
    if (PyArray_NDIM(first) == rows->axes || PyArray_NDIM(array) != (is_row ? rows->axes : 0)) return 0;
    return !is_row || PyArray_CompareLists(PyArray_DIMS(array), PyArray_DIMS(first) + rows->axis, rows->axes);
}

/* The data of operands and results, and their steps: from row to row, in rows, and to the rows behind those beside each
   other. Whether the operands are such as the kernel takes; the first is one of rows. */
static int lay_rows(const Native *native, PyObject *const *operands, PyArrayObject **results, const Rows *rows, char **data,
                    npy_intp *steps, npy_intp *leaps) {
    PyArrayObject *first = (PyArrayObject *)operands[0];
    int all = native->operands + native->results, inside = all;
    for (int i = 0; i < all; i++) {
        int is_operand = i < native->operands, is_row = native->is_row[i];
        PyArrayObject *array = is_operand ? (PyArrayObject *)operands[i] : results[i - native->operands];
        npy_intp size = PyArray_ITEMSIZE(array), within = size * rows->beside;
        data[i] = PyArray_BYTES(array);
        steps[i] = rows->beside > 1 || !is_row ? size : size * rows->length;
        leaps[i] = is_row ? within * rows->length : within;
        if (is_operand) {
            if (PyArray_TYPE(array) != PyArray_TYPE(first) || !PyArray_ISCARRAY_RO(array)) return 0;
            if (is_shared(array, is_row, first, rows)) steps[i] = leaps[i] = 0, within = size;
            else if (!has_shape(array, is_row, first, rows)) return 0;
        }
        if (is_row) steps[inside++] = within;
    }
    return 1;
}

/* The same for a kernel of rows side by side, the loop of which has tables of them: the steps from table to table, then
   those in tables. What is no row is shared. */
static int lay_columns(const Native *native, PyObject *const *operands, PyArrayObject **results, const Rows *rows, char **data,
                       npy_intp *steps) {
    PyArrayObject *first = (PyArrayObject *)operands[0];
    int all = native->operands + native->results, inside = all;
    for (int i = 0; i < all; i++) {
        int is_operand = i < native->operands, is_row = native->is_row[i];
        PyArrayObject *array = is_operand ? (PyArrayObject *)operands[i] : results[i - native->operands];
        npy_intp size = PyArray_ITEMSIZE(array), within = size * rows->beside;
        data[i] = PyArray_BYTES(array);
        steps[i] = is_row ? within * rows->length : is_operand ? 0 : within;
        if (is_operand) {
            if (PyArray_TYPE(array) != PyArray_TYPE(first) || !PyArray_ISCARRAY_RO(array)) return 0;
            if (is_row ? !has_shape(array, 1, first, rows) : PyArray_NDIM(array) != 0) return 0;
        }
        if (is_row) steps[inside++] = within;
        if (is_row || !is_operand) steps[inside++] = size;
    }
    return 1;
}

/* New arrays for the results; whether there are such. Those with a number for each row keep the dims if that is asked for,
   with size 1. */
static int new_results(const Native *native, PyArrayObject *first, const Rows *rows, int keep, PyArrayObject **results) {
    int ndim = PyArray_NDIM(first), behind = rows->axis + rows->axes;
    for (int i = 0; i < native->results; i++) {
        int is_row = native->is_row[native->operands + i], type = native->types[native->operands + i], kept = 0;
        npy_intp sizes[MOST_DIMS];
        for (int d = 0; d < ndim; d++) {
            int along = d >= rows->axis && d < behind;
            if (is_row || keep || !along) sizes[kept++] = is_row || !along ? PyArray_DIM(first, d) : 1;
        }
        PyArray_Descr *descr = type < 0 ? PyArray_DESCR(first) : PyArray_DescrFromType(type);
        if (type < 0) Py_INCREF(descr);
        results[i] = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, kept, sizes, NULL, NULL, 0, NULL);
        if (results[i] == NULL) return 0;
    }
    return 1;
}

/* One result, or a tuple of them. */
static PyObject *given_results(PyArrayObject **results, int count) {
    if (count == 1) return Py_NewRef((PyObject *)results[0]);
    PyObject *made = PyTuple_New(count);
    for (int i = 0; made != NULL && i < count; i++) PyTuple_SET_ITEM(made, i, Py_NewRef((PyObject *)results[i]));
    return made;
}

/* Call a loop for all rows: for those beside each other at once, or for all where there are none. */
static void loop_over_rows(PyArrayMethod_StridedLoop *loop, const Rows *rows, int operands, char **data, npy_intp *steps,
                           const npy_intp *leaps) {
    npy_intp dims[] = {rows->beside > 1 ? rows->beside : rows->before, rows->length};
    npy_intp times = rows->beside > 1 ? rows->before : 1;
    for (npy_intp k = 0; k < times; k++) {
        loop(NULL, data, dims, steps, NULL);
        for (int i = 0; i < operands; i++) data[i] += leaps[i];
    }
}

/* What a native kernel makes of the rows of small contiguous arrays over a dim, or several. NULL without an exception where
   it is for Python to say: for NumPy too, which looks at the flags that such a kernel raises.
   Repeats kernels/native_kernels.py: of_rows; kernels/bodies.py: run_body. Compared by test_kernels.py: test_kernels. */
PyObject *rows_result(PyObject *kernel, PyObject *const *operands, Py_ssize_t count, PyObject *dim, PyObject *keep) {
    Native native;
    if (!is_ufunc(kernel) || !find_native(kernel, &native) || native.operands != count || !native.is_row[0]) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!is_array(operands[i])) return NULL;
    }
    PyArrayObject *first = (PyArrayObject *)operands[0], *results[MOST_ROWS] = {NULL};
    int type = operand_type(kernel, operands, count);
    npy_intp size = PyArray_SIZE(first);
    if (type < 0 || PyArray_NDIM(first) == 0 || PyArray_NDIM(first) > MOST_DIMS || size == 0 || size >= native.most) return NULL;
    Rows rows;
    if (!PyBool_Check(keep) || !find_rows(first, dim, &rows)) return NULL;
    int by_columns = rows.beside > 1 && size > MOST_OF_STRIDED_ROWS;
    PyArrayMethod_StridedLoop *loop = (PyArrayMethod_StridedLoop *)(by_columns ? native.columns : native.loops)[type == NPY_DOUBLE];
    if (loop == NULL) return NULL;
    char *data[MOST_ROWS];
    npy_intp steps[3 * MOST_ROWS], leaps[MOST_ROWS];
    PyObject *given = NULL;
    if (new_results(&native, first, &rows, keep == Py_True, results) &&
        (by_columns ? lay_columns(&native, operands, results, &rows, data, steps)
                    : lay_rows(&native, operands, results, &rows, data, steps, leaps))) {
        clear_flags();
        if (by_columns) {
            npy_intp dims[] = {rows.before, rows.length, rows.beside};
            loop(NULL, data, dims, steps, NULL);
        } else {
            loop_over_rows(loop, &rows, native.operands + native.results, data, steps, leaps);
        }
        if (!fetestexcept(FLAGS)) given = given_results(results, native.results);
    }
    for (int i = 0; i < native.results; i++) Py_XDECREF(results[i]);
    return given;
}

int is_ufunc(PyObject *object) { return Py_IS_TYPE(object, &PyUFunc_Type); }

int ufunc_import(void) {
    import_umath1(-1);
    return 0;
}
