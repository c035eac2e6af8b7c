/* The loop of the engine over arrays, where nobody looks on: run() in runtime/autograd/engine.py, in C. */
#include "fast_paths.h"

typedef struct {
    PyObject *task, *buffers, *order, *needed, *deferred;
    PyObject *run_slow, *deliver_fitted, *add, *settle;
    int keep;
} Pass;

/* Let other threads run now and then, and see interrupts. */
static int breathe(Py_ssize_t count) {
    if (count % 1024 == 1023) {
        Py_BEGIN_ALLOW_THREADS
        Py_END_ALLOW_THREADS
    }
    return PyErr_CheckSignals();
}

/* Take the gradient of a Node out of the buffers: a new reference, to None where there is none. */
static PyObject *take_gradient(const Pass *pass, PyObject *node) {
    PyObject *grad = Py_XNewRef(PyDict_GetItemWithError(pass->buffers, node));
    if (grad == NULL) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    if (PyDict_DelItem(pass->buffers, node) < 0) Py_CLEAR(grad);
    return grad;
}

/* What waits for the Node, added to what has come: steals the gradient.
   Repeats autograd/deferred.py: settle. Compared by test_same.py: test_every_operator. */
static PyObject *settled(const Pass *pass, PyObject *node, PyObject *grad) {
    int waits = PyDict_GET_SIZE(pass->deferred) ? PyDict_Contains(pass->deferred, node) : 0;
    if (waits == 0) return grad;
    PyObject *sum = waits < 0 ? NULL : PyObject_CallFunctionObjArgs(pass->settle, pass->deferred, node, grad, NULL);
    Py_DECREF(grad);
    return sum;
}

/* The same of another library's array: 1, 0, or -1 with an exception. */
static int other_fits(PyObject *value, PyObject *shape, PyObject *dtype) {
    Py_INCREF(shape);
    PyObject *own_shape = PyObject_GetAttrString(value, "shape");
    PyObject *own_dtype = own_shape == NULL ? NULL : PyObject_GetAttrString(value, "dtype");
    int found = own_dtype == NULL ? -1 : own_dtype == dtype;
    if (found == 1) found = PyObject_RichCompareBool(own_shape, shape, Py_EQ);
    Py_XDECREF(own_shape);
    Py_XDECREF(own_dtype);
    Py_DECREF(shape);
    return found;
}

/* Whether the array is what the Node awaits as its only gradient: 1, 0, or -1 with an exception. */
static int fits(PyObject *value, PyObject *target) {
    if (!is_of(target, layout.Node)) return 0;
    PyObject *shape = SLOT(target, layout.shape), *dtype = READ_TYPE(SLOT(target, layout.node_type), dtype);
    if (shape == NULL || !PyTuple_CheckExact(shape) || dtype == NULL) return 0;
    if (!is_array(value)) return other_fits(value, shape, dtype);
    PyArrayObject *array = (PyArrayObject *)value;
    if ((PyObject *)PyArray_DESCR(array) != dtype) return 0;
    if (PyTuple_GET_SIZE(shape) != PyArray_NDIM(array)) return 0;
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        PyObject *size = PyTuple_GET_ITEM(shape, i);
        if (!PyLong_Check(size)) return 0;
        Py_ssize_t known = PyLong_AsSsize_t(size);
        if (known == -1 && PyErr_Occurred()) PyErr_Clear();
        if (known != PyArray_DIM(array, i)) return 0;
    }
    return 1;
}

static int done(PyObject *result) {
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Add an array to what waits for a Node; in place where nobody else holds that.
   Repeats autograd/engine.py: _add. Compared by test_leaves.py: test_a_gradient_that_somebody_holds_is_not_added_to. */
static int add_to(const Pass *pass, PyObject *target, PyObject *value) {
    PyObject *pair[2] = {PyDict_GetItemWithError(pass->buffers, target), value};
    if (pair[0] == NULL && PyErr_Occurred()) return -1;
    if (is_array(pair[0]) && is_array(value) && PyArray_NDIM((PyArrayObject *)value)) {
        int alone = Py_REFCNT(pair[0]) == 1 && PyArray_BASE((PyArrayObject *)pair[0]) == NULL;
        if (alone && ufunc_into(PyTuple_GET_ITEM(layout.ufuncs, 0), pair, 2, pair[0])) return 0;
    }
    return done(PyObject_CallFunctionObjArgs(pass->add, pass->buffers, target, value, NULL));
}

/* Bring one result of a Node to where its edge leads. */
static int deliver(const Pass *pass, PyObject *node, Py_ssize_t number, PyObject *edge, PyObject *value) {
    if (!PyTuple_Check(edge) || PyTuple_GET_SIZE(edge) < 2) {
        PyErr_SetString(PyExc_TypeError, "an edge is no tuple of a Node and a number");
        return -1;
    }
    PyObject *target = PyTuple_GET_ITEM(edge, 0);
    if (pass->needed != Py_None) {
        int wanted = PySet_Contains(pass->needed, target);
        if (wanted <= 0) return wanted;
    }
    int fitting = fits(value, target);
    if (fitting < 0) return -1;
    if (!fitting) {
        PyObject *index = PyLong_FromSsize_t(number);
        if (index == NULL) return -1;
        PyObject *result = PyObject_CallFunctionObjArgs(pass->deliver_fitted, pass->task, pass->buffers, node, index,
                                                        edge, value, NULL);
        Py_DECREF(index);
        return done(result);
    }
    int known = PyDict_Contains(pass->buffers, target);
    if (known < 0) return -1;
    if (!known) return PyDict_SetItem(pass->buffers, target, value);
    return add_to(pass, target, value);
}

/* Deliver the results of a Node one by one. */
static int deliver_all(const Pass *pass, PyObject *node, PyObject *results) {
    PyObject *edges = Py_XNewRef(READ(node, Node, next_edges));
    Py_ssize_t count = edges != NULL && PyTuple_Check(edges) ? PyTuple_GET_SIZE(edges) : 0;
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_GET_SIZE(results); i++) {
        PyObject *value = PyTuple_GET_ITEM(results, i);
        if (value == Py_None) continue;
        if (i >= count) {
            PyErr_SetString(PyExc_RuntimeError, "a Node has fewer edges than results");
            failed = 1;
        } else if (PyTuple_GET_ITEM(edges, i) != Py_None) {
            failed = deliver(pass, node, i, PyTuple_GET_ITEM(edges, i), value) < 0;
        }
    }
    Py_XDECREF(edges);
    return failed ? -1 : 0;
}

/* The results of a Node for its gradient, which this takes over. */
static PyObject *apply(const Pass *pass, PyObject *node, PyObject *grad) {
    PyObject *results;
    int fast = grad != Py_None && !PyList_CheckExact(grad) && READ(node, Node, extra) == Py_None;
    if (fast && Py_IS_TYPE(node, layout.AccumulateGrad)) {
        int done_here = accumulate(node, grad);
        if (done_here != LEFT) {
            Py_DECREF(grad);
            return done_here == RAISED ? NULL : Py_NewRef(Py_None);
        }
    }
    if (fast) {
        PyObject *arguments[] = {node, grad};
        results = PyObject_VectorcallMethod(str_apply, arguments, 2, NULL);
    } else {
        results = PyObject_CallFunctionObjArgs(pass->run_slow, pass->task, pass->buffers, node, grad, NULL);
    }
    Py_DECREF(grad);
    return results;
}

/* Run one Node: its gradient, its results, where they go. */
static int run_node(const Pass *pass, PyObject *node) {
    PyObject *grad = take_gradient(pass, node);
    if (grad != NULL) grad = settled(pass, node, grad);
    PyObject *results = grad == NULL ? NULL : apply(pass, node, grad);
    if (results == NULL || results == Py_None) return done(results);
    int failed = 0;
    if (!pass->keep) {
        PyObject *arguments[] = {node};
        failed = done(PyObject_VectorcallMethod(str_release, arguments, 1, NULL)) < 0;
    }
    PyObject *sequence = failed ? NULL : PySequence_Tuple(results); /* hooks may give a list */
    Py_DECREF(results);
    if (sequence == NULL) return -1;
    failed = deliver_all(pass, node, sequence) < 0;
    Py_DECREF(sequence);
    return failed ? -1 : 0;
}

/* run(task, buffers, order, needed, deferred, keep, run_slow, deliver_fitted, add, settle).
   Repeats autograd/engine.py: _run_all. Compared by test_same.py: test_every_operator, test_uses. */
PyObject *engine_run(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    if (count != 10 || !PyDict_CheckExact(args[1]) || !PyList_CheckExact(args[2]) || !PyDict_CheckExact(args[4]) ||
        (args[3] != Py_None && !PyAnySet_Check(args[3]))) {
        PyErr_SetString(PyExc_TypeError, "run() takes a task, its buffers, order, and what is needed and deferred");
        return NULL;
    }
    Pass pass = {.task = args[0], .buffers = args[1], .order = args[2], .needed = args[3], .deferred = args[4],
                 .keep = args[5] == Py_True, .run_slow = args[6], .deliver_fitted = args[7], .add = args[8],
                 .settle = args[9]};
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pass.order); i++) {
        PyObject *node = Py_NewRef(PyList_GET_ITEM(pass.order, i));
        int failed = run_node(&pass, node) < 0 || breathe(i) < 0;
        Py_DECREF(node);
        if (failed) return NULL;
    }
    Py_RETURN_NONE;
}
