/* A generated function with a fast path: called, it runs the fast path, and else the function. In everything else it is
   the function: attributes, those set too, and even its class are the function's. */
#include "fast_paths.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function;
    PyObject *owner;    /* the class of a Node whose method it is, until the fast path is made; else None or NULL */
    PyObject *prepare;  /* called with this once, before the fast path is needed, or NULL */
    FastPath *path;
    PyObject *references;
} WithFastPath;

/* Whether fast paths run at all: tests and benchmarks stop them for a while. */
static int running = 1;

PyObject *machine_switch(PyObject *Py_UNUSED(module), PyObject *on) {
    int before = running, now = PyObject_IsTrue(on);
    if (now < 0) return NULL;
    running = now;
    return PyBool_FromLong(before);
}

static PyObject *call_function(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
    return PyObject_Vectorcall(((WithFastPath *)self)->function, args, flags, names);
}

static PyObject *call_fast_path(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
    WithFastPath *self_path = (WithFastPath *)self;
    if (!running) return call_function(self, args, flags, names);
    PyObject *result = fast_path_run(self_path->path, args, PyVectorcall_NARGS(flags), names);
    if (result != NULL || PyErr_Occurred()) return result;
    return PyObject_Vectorcall(self_path->function, args, flags, names);
}

/* The first call has the fast path made; whatever that raises but interrupts, the function is called instead. */
static PyObject *call_first(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
    WithFastPath *self_path = (WithFastPath *)self;
    PyObject *prepare = Py_XNewRef(self_path->prepare);
    if (prepare != NULL) {
        PyObject *done = PyObject_CallOneArg(prepare, self);
        Py_DECREF(prepare);
        if (done == NULL && !PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
        if (done == NULL) PyErr_Clear();
        Py_XDECREF(done);
    }
    if (self_path->vectorcall != call_first) return self_path->vectorcall(self, args, flags, names);
    return call_function(self, args, flags, names);
}

/* self_path.run(fast path): from now on the fast path runs; None: the function. */
static PyObject *set_fast_path(PyObject *self, PyObject *source) {
    WithFastPath *self_path = (WithFastPath *)self;
    if (self_path->vectorcall != call_first) Py_RETURN_NONE; /* another thread was first */
    FastPath *path = source == Py_None ? NULL : fast_path_new(source);
    if (path == NULL && PyErr_Occurred()) return NULL;
    self_path->path = path;
    self_path->vectorcall = path == NULL ? call_function : call_fast_path;
    Py_CLEAR(self_path->owner);
    Py_CLEAR(self_path->prepare);
    Py_RETURN_NONE;
}

/* WithFastPath(function, owner, prepare) */
static PyObject *new_with_fast_path(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *function, *owner, *prepare;
    if (keywords != NULL && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "WithFastPath() takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "O!OO", &PyFunction_Type, &function, &owner, &prepare)) return NULL;
    WithFastPath *made = (WithFastPath *)type->tp_alloc(type, 0);
    if (made == NULL) return NULL;
    made->vectorcall = call_first;
    made->function = Py_NewRef(function);
    made->owner = Py_NewRef(owner);
    made->prepare = Py_NewRef(prepare);
    return (PyObject *)made;
}

static int traverse(PyObject *self, visitproc visit, void *arg) {
    WithFastPath *self_path = (WithFastPath *)self;
    Py_VISIT(self_path->function);
    Py_VISIT(self_path->owner);
    Py_VISIT(self_path->prepare);
    if (self_path->path != NULL) Py_VISIT(self_path->path->source);
    return 0;
}

/* The fast path goes only with the callable: it may be running. What it holds may hold the callable, through the
   function's namespace, which is cleared as part of a cycle too. */
static int clear(PyObject *self) {
    WithFastPath *self_path = (WithFastPath *)self;
    Py_CLEAR(self_path->owner);
    Py_CLEAR(self_path->prepare);
    return 0;
}

static void deallocate(PyObject *self) {
    WithFastPath *self_path = (WithFastPath *)self;
    PyObject_GC_UnTrack(self);
    if (self_path->references != NULL) PyObject_ClearWeakRefs(self);
    clear(self);
    Py_CLEAR(self_path->function);
    fast_path_free(self_path->path);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *bind(PyObject *self, PyObject *instance, PyObject *Py_UNUSED(type)) {
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

static int is_own(PyObject *name) {
    static const char *const own[] = {"run", "owner", "function", "__reduce__", "__reduce_ex__", "__get__", "__call__"};
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
        if (PyUnicode_CompareWithASCIIString(name, own[i]) == 0) return 1;
    }
    return 0;
}

static PyObject *get_attribute(PyObject *self, PyObject *name) {
    if (is_own(name)) return PyObject_GenericGetAttr(self, name);
    return PyObject_GetAttr(((WithFastPath *)self)->function, name);
}

static int set_attribute(PyObject *self, PyObject *name, PyObject *value) {
    return PyObject_SetAttr(((WithFastPath *)self)->function, name, value);
}

static PyObject *represent(PyObject *self) { return PyObject_Repr(((WithFastPath *)self)->function); }

/* A function is pickled, and copied, by its name. */
static PyObject *reduce(PyObject *self, PyObject *Py_UNUSED(protocol)) {
    return PyObject_GetAttrString(((WithFastPath *)self)->function, "__qualname__");
}

static PyObject *get_owner(PyObject *self, void *Py_UNUSED(closure)) {
    PyObject *owner = ((WithFastPath *)self)->owner;
    return Py_NewRef(owner == NULL ? Py_None : owner);
}

static PyObject *get_function(PyObject *self, void *Py_UNUSED(closure)) {
    return Py_NewRef(((WithFastPath *)self)->function);
}

/* help() asks for it past the attributes of the instance. */
static PyObject *get_doc(PyObject *self, void *Py_UNUSED(closure)) {
    return PyObject_GetAttrString(((WithFastPath *)self)->function, "__doc__");
}

static PyMethodDef methods[] = {
    {"run", set_fast_path, METH_O, NULL},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {"__reduce_ex__", reduce, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"owner", get_owner, NULL, NULL, NULL},
    {"function", get_function, NULL, NULL, NULL},
    {"__doc__", get_doc, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject WithFastPath_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "tengen.fast_paths.WithFastPath",
    .tp_basicsize = sizeof(WithFastPath),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_new = new_with_fast_path,
    .tp_dealloc = deallocate,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(WithFastPath, vectorcall),
    .tp_weaklistoffset = offsetof(WithFastPath, references),
    .tp_descr_get = bind,
    .tp_getattro = get_attribute,
    .tp_setattro = set_attribute,
    .tp_repr = represent,
    .tp_methods = methods,
    .tp_getset = attributes,
};
