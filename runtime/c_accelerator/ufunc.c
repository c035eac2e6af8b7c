/* Small arrays through a ufunc's inner loop, without what NumPy does around it.

   NumPy chooses a loop, allocates, and calls the loop; for a dozen elements the choice is most of the time. Where all
   operands are contiguous arrays of one floating-point type and one shape, or have no dimension, the choice is known:
   the loop whose inputs are of that type. The loop is the same, and so are the bits. Where the processor's
   floating-point flags say that NumPy would warn, a new result is thrown away, and Python's function, where such a
   warning belongs, has NumPy do it again. Native kernels raise no flags: their loops are told by add_loop. */
#include "accelerator.h"
#include <fenv.h>
#include <numpy/dtype_api.h>
#include <numpy/ufuncobject.h>

#define MOST_OPERANDS 3
#define FLAGS (FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)
/* So many elements at most: NumPy's choice costs little beside more. */
#define MOST_ELEMENTS 4096

/* A loop of a ufunc, and the type of its result. */
typedef struct {
    PyUFuncGenericFunction function; /* NumPy's, or NULL */
    void *data;
    PyArrayMethod_StridedLoop *native; /* a kernel's, or NULL */
    int result;
} Loop;

/* The loops of native kernels for floats and doubles, as bytes, by ufunc. */
static PyObject *native_loops;

/* add_loop(ufunc, type number, address): a native kernel whose operands and result are of that type. */
PyObject *accelerator_add_loop(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *ufunc, *address;
    int type;
    if (!PyArg_ParseTuple(arguments, "O!iO", &PyUFunc_Type, &ufunc, &type, &address)) return NULL;
    void *found = PyLong_AsVoidPtr(address);
    if (found == NULL) return NULL;
    void *loops[2] = {NULL, NULL};
    PyObject *known = PyDict_GetItemWithError(native_loops, ufunc);
    if (known == NULL && PyErr_Occurred()) return NULL;
    if (known != NULL) memcpy(loops, PyBytes_AS_STRING(known), sizeof(loops));
    if (type == NPY_FLOAT || type == NPY_DOUBLE) loops[type == NPY_DOUBLE] = found;
    PyObject *made = PyBytes_FromStringAndSize((const char *)loops, sizeof(loops));
    if (made == NULL || PyDict_SetItem(native_loops, ufunc, made) < 0) {
        Py_XDECREF(made);
        return NULL;
    }
    Py_DECREF(made);
    Py_RETURN_NONE;
}

/* Of a native kernel its loop for a type. */
static int find_native(PyObject *ufunc, int type, Loop *loop) {
    PyObject *known = PyDict_GetItemWithError(native_loops, ufunc);
    if (known == NULL) {
        PyErr_Clear();
        return 0;
    }
    void *loops[2];
    memcpy(loops, PyBytes_AS_STRING(known), sizeof(loops));
    *loop = (Loop){NULL, NULL, (PyArrayMethod_StridedLoop *)loops[type == NPY_DOUBLE], type};
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
    return find_native(function, type, loop);
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

/* Call a loop; whether no floating-point flag was raised that NumPy would look at. */
static int run_loop(const Loop *loop, PyObject *const *operands, Py_ssize_t count, PyArrayObject *result) {
    char *data[MOST_OPERANDS + 1];
    npy_intp size = PyArray_SIZE(result), steps[MOST_OPERANDS + 1];
    for (Py_ssize_t i = 0; i < count; i++) {
        PyArrayObject *array = (PyArrayObject *)operands[i];
        data[i] = PyArray_BYTES(array);
        steps[i] = PyArray_NDIM(array) ? PyArray_ITEMSIZE(array) : 0;
    }
    data[count] = PyArray_BYTES(result);
    steps[count] = PyArray_ITEMSIZE(result);
    if (loop->native != NULL) {
        loop->native(NULL, data, &size, steps, NULL);
        return 1;
    }
    if (fetestexcept(FLAGS)) feclearexcept(FLAGS); /* a native kernel's */
    loop->function(data, &size, steps, loop->data);
    return !fetestexcept(FLAGS);
}

/* The type of operands that are such as loops are called for here; -1 for others. */
static int operand_type(PyObject *function, PyObject *const *operands, Py_ssize_t count) {
    if (!Py_IS_TYPE(function, &PyUFunc_Type) || count < 1 || !is_array(operands[0])) return -1;
    int type = PyArray_TYPE((PyArrayObject *)operands[0]);
    return type == NPY_FLOAT || type == NPY_DOUBLE ? type : -1;
}

/* The ufunc of the operands as a new array; NULL without an exception where NumPy has to be asked. */
PyObject *ufunc_result(PyObject *function, PyObject *const *operands, Py_ssize_t count) {
    Loop loop;
    int type = operand_type(function, operands, count);
    if (type < 0 || !find_loop(function, count, type, &loop)) return NULL;
    PyArrayObject *giver = shape_giver(operands, count, type);
    PyArrayObject *result = giver == NULL ? NULL : new_result(giver, loop.result);
    if (result != NULL && !run_loop(&loop, operands, count, result)) Py_CLEAR(result);
    return (PyObject *)result;
}

/* Whether an operand shares memory with what is written, but is not the same elements in the same places. */
static int overlaps(PyArrayObject *operand, PyArrayObject *written) {
    const char *a = PyArray_BYTES(operand), *b = PyArray_BYTES(written);
    if (a == b && alike(operand, written)) return 0;
    return a < b + PyArray_NBYTES(written) && b < a + PyArray_NBYTES(operand);
}

/* Write the ufunc of the operands into an array, which may be one of them; whether that was done. */
int ufunc_into(PyObject *function, PyObject *const *operands, Py_ssize_t count, PyObject *into) {
    Loop loop;
    int type = operand_type(function, operands, count);
    if (type < 0 || !find_loop(function, count, type, &loop) || loop.result != type || !is_array(into)) return 0;
    PyArrayObject *giver = shape_giver(operands, count, type), *result = (PyArrayObject *)into;
    if (giver == NULL || PyArray_TYPE(result) != type || !PyArray_ISCARRAY(result) || !alike(giver, result)) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (overlaps((PyArrayObject *)operands[i], result)) return 0;
    }
    run_loop(&loop, operands, count, result);
    return 1;
}

int is_ufunc(PyObject *object) { return Py_IS_TYPE(object, &PyUFunc_Type); }

int ufunc_import(void) {
    import_umath1(-1);
    native_loops = PyDict_New();
    return native_loops == NULL ? -1 : 0;
}
