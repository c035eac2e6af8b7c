/* Native kernels over large arrays in threads that need no interpreter: each works on a share of one dimension.

   A share is what NumPy would call the loop with for the same part of the operands, so that bits do not depend on it. */
#include "kernels.h"
#include "threads.h"
#define NO_IMPORT_UFUNC
#include <numpy/dtype_api.h>
#include <numpy/ufuncobject.h>

#ifdef HAS_THREADS
#define MOST_CORE 8 /* dimensions that a kernel has names for */

/* A call of a kernel. The outer dimensions are those of the loop, the core ones those that its signature names. */
typedef struct {
    PyArrayMethod_StridedLoop *loop;
    int operands, inputs, outer, core;
    char *data[MOST_OF_KERNEL];
    npy_intp sizes[NPY_MAXDIMS + MOST_CORE]; /* of outer dimensions, then of core ones */
    npy_intp strides[NPY_MAXDIMS][MOST_OF_KERNEL];
    npy_intp core_strides[MOST_OF_KERNEL * MOST_CORE]; /* as loops take them */
    npy_intp cut_strides[MOST_OF_KERNEL];              /* of the dimension that is shared */
    int cut;                                          /* its place among sizes */
    int failed;
} Call;

/* Put an operand's dimensions into the call; whether they fit those of the operands before. */
static int add_operand(Call *call, const PyUFuncObject *ufunc, PyArrayObject *array, int i, npy_intp **core_stride) {
    int named = ufunc->core_num_dims == NULL ? 0 : ufunc->core_num_dims[i], own = PyArray_NDIM(array) - named;
    if (own < 0 || own > call->outer) return 0;
    call->data[i] = PyArray_BYTES(array);
    for (int d = 0; d < call->outer; d++) {
        int from = d - (call->outer - own);
        npy_intp size = from < 0 ? 1 : PyArray_DIM(array, from);
        if (size != 1 && call->sizes[d] == 1 && i < call->inputs) call->sizes[d] = size;
        if (size != call->sizes[d] && (size != 1 || i >= call->inputs)) return 0;
        call->strides[d][i] = size == 1 ? 0 : PyArray_STRIDE(array, from);
    }
    for (int k = 0; k < named; k++) {
        npy_intp *known = call->sizes + call->outer + ufunc->core_dim_ixs[ufunc->core_offsets[i] + k];
        if (*known < 0) *known = PyArray_DIM(array, own + k);
        if (*known != PyArray_DIM(array, own + k)) return 0;
        *(*core_stride)++ = PyArray_STRIDE(array, own + k);
        if (known == call->sizes + call->cut) call->cut_strides[i] = PyArray_STRIDE(array, own + k);
    }
    return 1;
}

/* The outer dimensions are those of the operand that has most of them. */
static int count_outer(const PyUFuncObject *ufunc, PyArrayObject **arrays, int operands) {
    int most = 0;
    for (int i = 0; i < operands; i++) {
        int own = PyArray_NDIM(arrays[i]) - (ufunc->core_num_dims == NULL ? 0 : ufunc->core_num_dims[i]);
        if (own > most) most = own;
    }
    return most;
}

/* Lay the call out; whether the operands fit the kernel. ``dim`` is an outer dimension, or ~ a core one. */
static int lay_out(Call *call, const PyUFuncObject *ufunc, PyArrayObject **arrays, int dim) {
    call->operands = ufunc->nargs;
    call->inputs = ufunc->nin;
    call->outer = count_outer(ufunc, arrays, call->operands);
    call->core = ufunc->core_enabled ? ufunc->core_num_dim_ix : 0;
    call->cut = dim >= 0 ? dim : call->outer + ~dim;
    if (call->core > MOST_CORE || (dim >= 0 ? dim >= call->outer : ~dim >= call->core)) return 0;
    for (int d = 0; d < call->outer; d++) call->sizes[d] = 1;
    for (int k = 0; k < call->core; k++) call->sizes[call->outer + k] = -1;
    npy_intp *core_stride = call->core_strides;
    for (int i = 0; i < call->operands; i++) {
        call->cut_strides[i] = 0;
        if (!add_operand(call, ufunc, arrays[i], i, &core_stride)) return 0;
        if (dim >= 0) call->cut_strides[i] = call->strides[dim][i];
    }
    return 1;
}

/* Whether a result may share memory with another operand, save element by element: NumPy then copies one. */
static int overlaps(const PyUFuncObject *ufunc, PyArrayObject **arrays) {
    for (int o = ufunc->nin; o < ufunc->nargs; o++) {
        for (int i = 0; i < ufunc->nargs; i++) {
            if (i == o || (i < ufunc->nin && !ufunc->core_enabled && same_places(arrays[i], arrays[o]))) continue;
            if (may_overlap(arrays[i], arrays[o])) return 1;
        }
    }
    return 0;
}

/* Put outer dimensions, the farthest apart first, and as one where that is the same, into ``axes``; how many. */
static int order(const Call *call, const npy_intp *sizes, int *axes, npy_intp *lengths) {
    const int out = call->operands - 1;
    int count = 0;
    for (int d = 0; d < call->outer; d++) {
        if (sizes[d] == 1) continue;
        int at = count++;
        for (; at > 0 && call->strides[axes[at - 1]][out] < call->strides[d][out]; at--) axes[at] = axes[at - 1];
        axes[at] = d;
    }
    int merged = 0;
    for (int at = 0; at < count; at++) {
        int one = merged > 0;
        for (int i = 0; i < call->operands && one; i++) {
            one = call->strides[axes[merged - 1]][i] == call->strides[axes[at]][i] * sizes[axes[at]];
        }
        lengths[one ? merged - 1 : merged] = one ? lengths[merged - 1] * sizes[axes[at]] : sizes[axes[at]];
        axes[one ? merged - 1 : merged++] = axes[at];
    }
    return merged;
}

/* Call the loop for a share: along the dimension whose elements are nearest, for each place in the others. */
static void run_share(void *argument, Py_ssize_t begin, Py_ssize_t end) {
    Call *call = argument;
    char *data[MOST_OF_KERNEL];
    npy_intp sizes[NPY_MAXDIMS + MOST_CORE], lengths[NPY_MAXDIMS], place[NPY_MAXDIMS] = {0}, inner[1 + MOST_CORE];
    npy_intp strides[MOST_OF_KERNEL * (1 + MOST_CORE)] = {0};
    int axes[NPY_MAXDIMS];
    memcpy(sizes, call->sizes, sizeof(sizes));
    sizes[call->cut] = end - begin;
    for (int i = 0; i < call->operands; i++) data[i] = call->data[i] + begin * call->cut_strides[i];
    int loops = order(call, sizes, axes, lengths) - 1; /* around that along the last one */
    inner[0] = loops < 0 ? 1 : lengths[loops];
    memcpy(inner + 1, sizes + call->outer, call->core * sizeof(*sizes));
    if (loops >= 0) memcpy(strides, call->strides[axes[loops]], call->operands * sizeof(*strides));
    memcpy(strides + call->operands, call->core_strides, MOST_OF_KERNEL * MOST_CORE * sizeof(*strides));
    for (;;) {
        char *given[MOST_OF_KERNEL]; /* which loops may change */
        memcpy(given, data, sizeof(given));
        if (call->loop(NULL, given, inner, strides, NULL) != 0) __atomic_store_n(&call->failed, 1, __ATOMIC_RELAXED);
        int d = loops - 1;
        for (; d >= 0 && ++place[d] == lengths[d]; d--) {
            place[d] = 0;
            for (int i = 0; i < call->operands; i++) data[i] -= (lengths[d] - 1) * call->strides[axes[d]][i];
        }
        if (d < 0) return;
        for (int i = 0; i < call->operands; i++) data[i] += call->strides[axes[d]][i];
    }
}

/* The operands as arrays that loops can be called with, owned; whether they are such. */
static int as_arrays(const PyUFuncObject *ufunc, PyObject *operands, PyArrayObject **arrays, int *held) {
    for (; *held < ufunc->nargs; ++*held) {
        PyObject *operand = PyTuple_GET_ITEM(operands, *held), *array = NULL;
        if (is_array(operand)) array = Py_NewRef(operand);
        else if (*held < ufunc->nin && PyArray_CheckScalar(operand)) array = PyArray_FromScalar(operand, NULL);
        if (array == NULL) return 0;
        arrays[*held] = (PyArrayObject *)array;
        if (!PyArray_ISBEHAVED_RO(arrays[*held]) || PyArray_SIZE(arrays[*held]) == 0) {
            ++*held;
            return 0;
        }
        if (*held >= ufunc->nin && !PyArray_ISWRITEABLE(arrays[*held])) {
            ++*held;
            return 0;
        }
    }
    return 1;
}

/* run_shares(kernel, operands and results, dim, share, threads, whether to wake some): whether that was done. Where it is
   not, which is so for all that NumPy would convert, copy or complain of, nothing was written.
   Repeats kernels/parallel.py: in_threads. Compared by test_shares.py: test_every_kernel,
   test_operators_give_the_same_bits_with_any_number_of_threads. */
PyObject *machine_run_shares(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *kernel, *operands;
    int dim, threads, wakes, held = 0;
    Py_ssize_t share;
    PyArrayObject *arrays[MOST_OF_KERNEL];
    Call call = {.failed = 0};
    if (!PyArg_ParseTuple(arguments, "O!O!inip", &PyUFunc_Type, &kernel, &PyTuple_Type, &operands, &dim, &share, &threads,
                          &wakes)) {
        return NULL;
    }
    const PyUFuncObject *ufunc = (PyUFuncObject *)kernel;
    int fit = ufunc->nargs == PyTuple_GET_SIZE(operands) && ufunc->nargs <= MOST_OF_KERNEL && share > 0 &&
              as_arrays(ufunc, operands, arrays, &held) && !overlaps(ufunc, arrays);
    if (fit) call.loop = (PyArrayMethod_StridedLoop *)native_loop(kernel, arrays, ufunc->nargs);
    fit = fit && call.loop != NULL && lay_out(&call, ufunc, arrays, dim);
    if (fit) {
        Py_BEGIN_ALLOW_THREADS
        in_threads(run_share, &call, call.sizes[call.cut], share, threads, wakes);
        Py_END_ALLOW_THREADS
    }
    while (held > 0) Py_DECREF(arrays[--held]);
    if (PyErr_Occurred()) return NULL;
    if (call.failed) return PyErr_Format(PyExc_RuntimeError, "the kernel %s failed", ufunc->name);
    return PyBool_FromLong(fit);
}

#endif
