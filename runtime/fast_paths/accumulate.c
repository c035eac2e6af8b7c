/* The gradient that comes to a leaf: AccumulateGrad.apply in runtime/autograd/accumulate_grad.py, of small arrays in
   C's order. Whatever else there is, that function does. */
#include "fast_paths.h"

/* What a weak reference is to, a new reference; None where that is gone. */
static PyObject *referent(PyObject *reference) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *found = NULL;
    if (PyWeakref_GetRef(reference, &found) < 0) PyErr_Clear();
    return found == NULL ? Py_NewRef(Py_None) : found;
#else
    return Py_XNewRef(PyWeakref_GetObject(reference));
#endif
}

/* The leaf of an accumulator, a new reference, where its gradient is wanted; NULL where Python has to look.
   Repeats autograd/accumulate_grad.py: AccumulateGrad._wanted. Compared by test_leaves.py:
   test_a_leaf_that_became_a_result_is_an_error, test_a_leaf_that_wants_none_any_more_gets_none. */
static PyObject *wanted_leaf(PyObject *node) {
    PyObject *reference = READ(node, AccumulateGrad, leaf);
    if (reference == NULL || !PyWeakref_CheckRef(reference) || SLOT(node, layout.pinned) != Py_None) return NULL;
    PyObject *leaf = referent(reference);
    if (is_tensor(leaf) && SLOT(leaf, layout.edge) == Py_None && SLOT(leaf, layout.requires_grad) == Py_True &&
        is_of(SLOT(leaf, layout.meta), layout.AutogradMeta)) {
        return leaf;
    }
    Py_DECREF(leaf);
    return NULL;
}

/* Whether another thread is about to add to the leaf's gradient: 1, 0, or -1 with an exception. */
static int is_locked(PyObject *node) {
    PyObject *lock = Py_XNewRef(SLOT(node, layout.lock));
    PyObject *answer = lock == NULL ? Py_NewRef(Py_True) : PyObject_CallMethodNoArgs(lock, str_locked);
    Py_XDECREF(lock);
    if (answer == NULL) return -1;
    int locked = answer != Py_False;
    Py_DECREF(answer);
    return locked;
}

/* The array that a leaf keeps of its first gradient: the one that came, if the engine alone holds it. */
static PyObject *own_array(PyObject *grad) {
    PyArrayObject *array = (PyArrayObject *)grad;
    if (Py_REFCNT(grad) == 1 && PyArray_BASE(array) == NULL && PyArray_NDIM(array) && PyArray_IS_C_CONTIGUOUS(array)) {
        return Py_NewRef(grad);
    }
    return PyArray_NewCopy(array, NPY_CORDER);
}

/* The first gradient of a leaf. One in another order is kept in it where no policy says otherwise: by Python.
   Repeats autograd/accumulate_grad.py: copy_like. Compared by test_leaves.py: test_as_in_python,
   test_a_gradient_that_is_given_is_copied. */
static int set_gradient(PyObject *node, PyObject *type, PyObject *meta, PyObject *grad) {
    if (!PyArray_IS_C_CONTIGUOUS((PyArrayObject *)grad)) {
        int policy = mode_has(str_layout_policy);
        if (policy <= 0) return policy < 0 ? RAISED : LEFT;
    }
    PyObject *own = own_array(grad);
    PyObject *handle = own == NULL ? NULL : wrap_array(own, type);
    Py_XDECREF(own);
    if (handle == NULL) return RAISED;
    int locked = is_locked(node); /* from here on no other thread runs */
    int taken = locked == 0 && SLOT(meta, layout.grad) == Py_None;
    if (taken) set_slot(meta, layout.grad, handle);
    Py_DECREF(handle);
    return locked < 0 ? RAISED : taken ? NEXT : LEFT;
}

/* A further gradient of a leaf, added in place.
   Repeats autograd/writes.py: add_into. Compared by test_leaves.py: test_as_in_python. */
static int add_gradient(PyObject *node, PyObject *type, PyObject *total, PyObject *grad) {
    if (READ_TENSOR(total, type) != type) return LEFT;
    PyObject *storage = begin_write(total);
    if (storage == NULL) return PyErr_Occurred() ? RAISED : LEFT;
    int locked = is_locked(node);
    PyObject *pair[2] = {READ_TENSOR(total, array), grad};
    int added = locked == 0 && pair[0] != grad && ufunc_into(PyTuple_GET_ITEM(layout.ufuncs, 0), pair, 2, pair[0]);
    int failed = !added && take_back_write(storage) < 0 && PyErr_Occurred();
    Py_DECREF(storage);
    return locked < 0 || failed ? RAISED : added ? NEXT : LEFT;
}

/* Bring a gradient, which the engine alone may hold, to a leaf: NEXT; LEFT where Python has to; or RAISED.
   Repeats autograd/accumulate_grad.py: AccumulateGrad.apply. Compared by test_leaves.py: test_as_in_python. */
int accumulate(PyObject *node, PyObject *grad) {
    PyObject *type = READ(node, AccumulateGrad, node_type), *dtype = READ_TYPE(type, dtype);
    if (!is_array(grad) || (PyObject *)PyArray_DESCR((PyArrayObject *)grad) != dtype) return LEFT; /* or of any dtype */
    PyObject *leaf = wanted_leaf(node);
    if (leaf == NULL) return LEFT;
    PyObject *array = SLOT(leaf, layout.array), *meta = Py_NewRef(SLOT(leaf, layout.meta));
    int result = LEFT;
    if (is_array(array) && PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array)) {
        PyObject *total = Py_XNewRef(SLOT(meta, layout.grad));
        Py_INCREF(type);
        if (total == Py_None) result = set_gradient(node, type, meta, grad);
        else if (total != NULL) result = add_gradient(node, type, total, grad);
        Py_DECREF(type);
        Py_XDECREF(total);
    }
    Py_DECREF(meta);
    Py_DECREF(leaf);
    return result;
}
