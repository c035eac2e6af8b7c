/* What calls of compiled functions do beside machine code: compare the tensors that they are given with those that a
   program was made for, and give its functions their memory. */
#include "fast_paths.h"

/* -- guards ---------------------------------------------------------------------------------------------------- */

/* What a tensor must be. */
typedef struct {
    Py_ssize_t number; /* of the argument */
    PyObject *own;     /* the tensor itself, if it is none of them, or None */
    PyTypeObject *cls;
    PyObject *type, *requires_grad;
    int ndim;
    npy_intp dims[MOST_DIMS], strides[MOST_DIMS];
} Expected;

/* What is compared of Python's objects: borrowed from the tuple that the Guard was made of. */
typedef struct {
    PyObject *owner, *first, *second, *third;
} Known;

typedef struct {
    Py_ssize_t count;
    Known *known;
} Facts;

typedef struct {
    PyObject_HEAD
    PyObject *source; /* the tuple that it was made of, which holds all objects */
    Py_ssize_t count;
    Expected *expected;
    PyObject *missing; /* what stands for nothing */
    Facts named, cells, functions, lists, dicts, kinds;
} Guard;

/* Facts of a tuple of tuples. */
static int read_facts(PyObject *source, const char *form, Facts *to) {
    to->count = PyTuple_GET_SIZE(source);
    to->known = PyMem_Calloc((size_t)to->count + 1, sizeof(Known));
    if (to->known == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < to->count; i++) {
        Known *at = to->known + i;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(source, i), form, &at->owner, &at->first, &at->second, &at->third)) return -1;
    }
    return 0;
}

/* Whether it is a class that Python code made. */
static int is_class(PyObject *owner) {
    return PyType_Check(owner) && PyType_HasFeature((PyTypeObject *)owner, Py_TPFLAGS_HEAPTYPE) && ((PyTypeObject *)owner)->tp_dict != NULL;
}

/* Whether what is looked into is what it is taken for. */
static int are_of_kinds(const Guard *guard) {
    int right = 1;
    for (Py_ssize_t i = 0; i < guard->named.count; i++) right &= PyDict_CheckExact(guard->named.known[i].owner) || is_class(guard->named.known[i].owner);
    for (Py_ssize_t i = 0; i < guard->cells.count; i++) right &= PyCell_Check(guard->cells.known[i].owner);
    for (Py_ssize_t i = 0; i < guard->functions.count; i++) right &= PyFunction_Check(guard->functions.known[i].owner);
    for (Py_ssize_t i = 0; i < guard->lists.count; i++)
        right &= PyList_CheckExact(guard->lists.known[i].owner) && PyTuple_Check(guard->lists.known[i].first);
    for (Py_ssize_t i = 0; i < guard->dicts.count; i++) {
        const Known *at = guard->dicts.known + i;
        right &= PyDict_Check(at->owner) && PyTuple_Check(at->first) && PyTuple_Check(at->second);
    }
    if (!right) PyErr_SetString(PyExc_TypeError, "an object is of another kind than it is compared as");
    return right;
}

static int read_sizes(PyObject *sizes, npy_intp *to) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); i++) {
        to[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, i));
        if (to[i] == -1 && PyErr_Occurred()) return -1;
    }
    return 0;
}

/* Of a tuple of (number of the argument, class, Type, whether it requires grad, sizes, strides in bytes, the tensor or
   None), and of what
   compilation/state.py: State has of names in dicts and classes, cells, functions, lists, dicts and classes of objects. */
static PyObject *guard_new(PyTypeObject *cls, PyObject *arguments, PyObject *Py_UNUSED(keywords)) {
    PyObject *source, *named, *cells, *functions, *lists, *dicts, *kinds, *missing;
    if (!PyArg_ParseTuple(arguments, "O!O!O!O!O!O!O!O", &PyTuple_Type, &source, &PyTuple_Type, &named, &PyTuple_Type, &cells,
                          &PyTuple_Type, &functions, &PyTuple_Type, &lists, &PyTuple_Type, &dicts,
                          &PyTuple_Type, &kinds, &missing))
        return NULL;
    Guard *made = (Guard *)cls->tp_alloc(cls, 0);
    if (made == NULL) return NULL;
    made->source = Py_NewRef(arguments);
    made->missing = missing;
    if (read_facts(named, "OOO", &made->named) < 0 || read_facts(cells, "OO", &made->cells) < 0 ||
        read_facts(functions, "OOOO", &made->functions) < 0 || read_facts(lists, "OO", &made->lists) < 0 ||
        read_facts(dicts, "OOO", &made->dicts) < 0 || read_facts(kinds, "OO", &made->kinds) < 0 || !are_of_kinds(made))
        goto failed;
    made->count = PyTuple_GET_SIZE(source);
    made->expected = PyMem_Calloc((size_t)made->count + 1, sizeof(Expected));
    if (made->expected == NULL) {
        PyErr_NoMemory();
        goto failed;
    }
    for (Py_ssize_t i = 0; i < made->count; i++) {
        Expected *to = made->expected + i;
        PyObject *given, *dims, *strides;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(source, i), "nOOOO!O!O", &to->number, &given, &to->type, &to->requires_grad,
                              &PyTuple_Type, &dims, &PyTuple_Type, &strides, &to->own))
            goto failed;
        if (!PyType_Check(given) || PyTuple_GET_SIZE(dims) > MOST_DIMS || PyTuple_GET_SIZE(dims) != PyTuple_GET_SIZE(strides) || to->number < 0) {
            PyErr_SetString(PyExc_ValueError, "a tensor is described wrongly");
            goto failed;
        }
        to->cls = (PyTypeObject *)given;
        to->ndim = (int)PyTuple_GET_SIZE(dims);
        if (read_sizes(dims, to->dims) < 0 || read_sizes(strides, to->strides) < 0) goto failed;
    }
    return (PyObject *)made;
failed:
    Py_DECREF(made);
    return NULL;
}

static void guard_free(Guard *guard) {
    PyMem_Free(guard->expected);
    PyMem_Free(guard->named.known);
    PyMem_Free(guard->cells.known);
    PyMem_Free(guard->functions.known);
    PyMem_Free(guard->lists.known);
    PyMem_Free(guard->dicts.known);
    PyMem_Free(guard->kinds.known);
    Py_XDECREF(guard->source);
    Py_TYPE(guard)->tp_free((PyObject *)guard);
}

static int is_expected(PyObject *tensor, const Expected *expected) {
    if (!Py_IS_TYPE(tensor, expected->cls) || !is_tensor(tensor) || SLOT(tensor, layout.type) != expected->type) return 0;
    PyObject *array = SLOT(tensor, layout.array);
    if (SLOT(tensor, layout.requires_grad) != expected->requires_grad || !is_array(array)) return 0;
    PyArrayObject *given = (PyArrayObject *)array;
    if (PyArray_NDIM(given) != expected->ndim) return 0;
    for (int d = 0; d < expected->ndim; d++) {
        if (PyArray_DIM(given, d) != expected->dims[d] || PyArray_STRIDE(given, d) != expected->strides[d]) return 0;
    }
    return 1;
}

/* Whether the elements of a tuple are those of a list. */
static int is_list_of(PyObject *list, PyObject *elements) {
    Py_ssize_t count = PyTuple_GET_SIZE(elements);
    if (PyList_GET_SIZE(list) != count) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyList_GET_ITEM(list, i) != PyTuple_GET_ITEM(elements, i)) return 0;
    }
    return 1;
}

/* Whether a dict has these keys and values, in this order. */
static int is_dict_of(PyObject *dict, PyObject *keys, PyObject *values) {
    Py_ssize_t place = 0, count = 0;
    PyObject *key, *value;
    if (PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) return 0;
    while (PyDict_Next(dict, &place, &key, &value)) {
        if (count >= PyTuple_GET_SIZE(keys) || PyTuple_GET_ITEM(keys, count) != key || PyTuple_GET_ITEM(values, count) != value) return 0;
        count++;
    }
    return 1;
}

/* The dict of a class, which is borrowed; a dict itself. */
static PyObject *namespace_of(PyObject *owner) {
    return PyType_Check(owner) ? ((PyTypeObject *)owner)->tp_dict : owner;
}

/* Whether Python's objects are the very ones that they were. What is equal is for Python to say. */
static int is_as_it_was(const Guard *guard) {
    for (Py_ssize_t i = 0; i < guard->named.count; i++) {
        const Known *at = guard->named.known + i;
        PyObject *now = PyDict_GetItemWithError(namespace_of(at->owner), at->first);
        if (now == NULL && PyErr_Occurred()) return -1;
        if ((now == NULL ? guard->missing : now) != at->second) return 0;
    }
    for (Py_ssize_t i = 0; i < guard->cells.count; i++) {
        PyObject *now = PyCell_GET(guard->cells.known[i].owner);
        if ((now == NULL ? guard->missing : now) != guard->cells.known[i].first) return 0;
    }
    for (Py_ssize_t i = 0; i < guard->functions.count; i++) {
        const Known *at = guard->functions.known + i;
        PyObject *defaults = PyFunction_GET_DEFAULTS(at->owner), *keywords = PyFunction_GET_KW_DEFAULTS(at->owner);
        if (PyFunction_GET_CODE(at->owner) != at->first) return 0;
        if ((defaults == NULL ? Py_None : defaults) != at->second || (keywords == NULL ? Py_None : keywords) != at->third) return 0;
    }
    for (Py_ssize_t i = 0; i < guard->lists.count; i++) {
        if (!is_list_of(guard->lists.known[i].owner, guard->lists.known[i].first)) return 0;
    }
    for (Py_ssize_t i = 0; i < guard->dicts.count; i++) {
        const Known *at = guard->dicts.known + i;
        if (!is_dict_of(at->owner, at->first, at->second)) return 0;
    }
    for (Py_ssize_t i = 0; i < guard->kinds.count; i++) {
        if ((PyObject *)Py_TYPE(guard->kinds.known[i].owner) != guard->kinds.known[i].first) return 0;
    }
    return 1;
}

/* Whether the tensors in a tuple or list, and Python's objects, are as expected. Where objects are others, which may be
   equal, Python decides: then it is False.
   Repeats compilation/entries.py: Entry.changed. Compared by test_program.py: test_guards. */
static PyObject *guard_fits(Guard *guard, PyObject *given) {
    if (!PyTuple_Check(given) && !PyList_Check(given)) Py_RETURN_FALSE;
    int same = is_as_it_was(guard);
    if (same < 0) return NULL;
    if (!same) Py_RETURN_FALSE;
    for (Py_ssize_t i = 0; i < guard->count; i++) {
        const Expected *expected = guard->expected + i;
        PyObject *tensor = expected->own;
        if (tensor == Py_None) {
            if (expected->number >= PySequence_Fast_GET_SIZE(given)) Py_RETURN_FALSE;
            tensor = PySequence_Fast_GET_ITEM(given, expected->number);
        }
        if (!is_expected(tensor, expected)) Py_RETURN_FALSE;
    }
    Py_RETURN_TRUE;
}

static PyMethodDef guard_methods[] = {{"fits", (PyCFunction)guard_fits, METH_O, NULL}, {NULL, NULL, 0, NULL}};

PyTypeObject Guard_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tengen.fast_paths.machine.Guard",
    .tp_basicsize = sizeof(Guard),
    .tp_dealloc = (destructor)guard_free,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = guard_methods,
    .tp_new = guard_new,
};

/* -- programs -------------------------------------------------------------------------------------------------- */

#define ALIGNED 64

/* What a pointer that functions are given points to. */
enum { INPUT, TABLE, OUTPUT };

typedef struct {
    int kind;
    Py_ssize_t number;
    void *address; /* of a table */
} Pointer;

typedef struct {
    PyArray_Descr *descr;
    PyObject *type; /* of the tensor that is made of it, or None */
    int ndim;
    npy_intp dims[MOST_DIMS];
} Output;

typedef int (*Function)(void **);

typedef struct {
    PyObject_HEAD
    PyObject *source; /* the tuple that it was made of, which holds all objects */
    Py_ssize_t inputs, pointers, outputs, functions;
    Pointer *pointer;
    Output *output;
    Function *function;
    size_t arena;
    void **unused; /* arenas that no call has: the first word of each is the next */
} Program;

static int read_pointers(Program *to, PyObject *source) {
    to->pointers = PyTuple_GET_SIZE(source);
    to->pointer = PyMem_Calloc((size_t)to->pointers + 1, sizeof(Pointer));
    if (to->pointer == NULL) return -1;
    for (Py_ssize_t i = 0; i < to->pointers; i++) {
        Py_ssize_t address;
        Pointer *at = to->pointer + i;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(source, i), "inn", &at->kind, &at->number, &address)) return -1;
        at->address = (void *)address;
        if (at->number < 0 || (at->kind == INPUT && at->number >= to->inputs)) {
            PyErr_SetString(PyExc_ValueError, "a pointer is out of bounds");
            return -1;
        }
    }
    return 0;
}

static int read_outputs(Program *to, PyObject *source) {
    to->outputs = PyTuple_GET_SIZE(source);
    to->output = PyMem_Calloc((size_t)to->outputs + 1, sizeof(Output));
    if (to->output == NULL) return -1;
    for (Py_ssize_t i = 0; i < to->outputs; i++) {
        Output *at = to->output + i;
        PyObject *dims, *descr;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(source, i), "O!O!O", &PyArrayDescr_Type, &descr, &PyTuple_Type, &dims, &at->type))
            return -1;
        if (PyTuple_GET_SIZE(dims) > MOST_DIMS) {
            PyErr_SetString(PyExc_ValueError, "an output has too many dims");
            return -1;
        }
        at->descr = (PyArray_Descr *)descr;
        at->ndim = (int)PyTuple_GET_SIZE(dims);
        if (read_sizes(dims, at->dims) < 0) return -1;
    }
    return 0;
}

static int read_functions(Program *to, PyObject *source) {
    to->functions = PyTuple_GET_SIZE(source);
    to->function = PyMem_Calloc((size_t)to->functions + 1, sizeof(Function));
    if (to->function == NULL) return -1;
    for (Py_ssize_t i = 0; i < to->functions; i++) {
        Py_ssize_t address = PyLong_AsSsize_t(PyTuple_GET_ITEM(source, i));
        if (address == -1 && PyErr_Occurred()) return -1;
        to->function[i] = (Function)address;
    }
    return 0;
}

/* Of how many inputs there are, the pointers (kind, number, address), the outputs (dtype, sizes, Type or None), the addresses
   of functions and the bytes of an arena. */
static PyObject *program_new(PyTypeObject *cls, PyObject *arguments, PyObject *Py_UNUSED(keywords)) {
    Py_ssize_t inputs, arena;
    PyObject *pointers, *outputs, *functions;
    if (!PyArg_ParseTuple(arguments, "nO!O!O!n", &inputs, &PyTuple_Type, &pointers, &PyTuple_Type, &outputs, &PyTuple_Type,
                          &functions, &arena))
        return NULL;
    Program *made = (Program *)cls->tp_alloc(cls, 0);
    if (made == NULL) return NULL;
    made->source = Py_NewRef(arguments);
    made->inputs = inputs;
    made->arena = (size_t)arena;
    if (read_pointers(made, pointers) < 0 || read_outputs(made, outputs) < 0 || read_functions(made, functions) < 0) {
        if (!PyErr_Occurred()) PyErr_NoMemory();
        Py_DECREF(made);
        return NULL;
    }
    return (PyObject *)made;
}

static void program_free(Program *program) {
    while (program->unused != NULL) {
        void **next = *program->unused;
        PyMem_RawFree(program->unused);
        program->unused = next;
    }
    PyMem_Free(program->pointer);
    PyMem_Free(program->output);
    PyMem_Free(program->function);
    Py_XDECREF(program->source);
    Py_TYPE(program)->tp_free((PyObject *)program);
}

/* New arrays for the outputs; NULL with an exception. */
static PyObject *new_outputs(const Program *program) {
    PyObject *made = PyTuple_New(program->outputs);
    for (Py_ssize_t i = 0; made != NULL && i < program->outputs; i++) {
        const Output *output = program->output + i;
        Py_INCREF(output->descr);
        PyObject *array = PyArray_NewFromDescr(&PyArray_Type, output->descr, output->ndim, output->dims, NULL, NULL, 0, NULL);
        if (array == NULL) Py_CLEAR(made);
        else PyTuple_SET_ITEM(made, i, array);
    }
    return made;
}

/* Tensors in the places of arrays that have a Type. */
static int wrap_outputs(const Program *program, PyObject *outputs) {
    for (Py_ssize_t i = 0; i < program->outputs; i++) {
        if (program->output[i].type == Py_None) continue;
        PyObject *array = PyTuple_GET_ITEM(outputs, i), *made = wrap_array(array, program->output[i].type);
        if (made == NULL) return -1;
        PyTuple_SET_ITEM(outputs, i, made);
        Py_DECREF(array);
    }
    return 0;
}

/* The outputs for these tensors, a list of as many as there are inputs, a tuple; None where a function finds something
   wrong. A None is an input that no function reads.
   Repeats compilation/executable.py: Executable.__call__. Compared by test_program.py: test_programs. */
static PyObject *program_run(Program *program, PyObject *given) {
    void *found[64], **pointers = found;
    if (!PyList_Check(given) || PyList_GET_SIZE(given) != program->inputs) {
        PyErr_SetString(PyExc_TypeError, "a program takes a list of its inputs");
        return NULL;
    }
    PyObject *outputs = new_outputs(program);
    if (outputs == NULL) return NULL;
    void **arena = NULL;
    int failed = 0;
    if (program->pointers >= 63) pointers = PyMem_Malloc(((size_t)program->pointers + 1) * sizeof(void *));
    if (pointers == NULL) goto no_memory;
    for (Py_ssize_t i = 0; i < program->pointers; i++) {
        const Pointer *at = program->pointer + i;
        PyObject *array = NULL;
        if (at->kind == TABLE) {
            pointers[i] = at->address;
            continue;
        }
        if (at->kind == OUTPUT) array = PyTuple_GET_ITEM(outputs, at->number);
        else {
            array = PyList_GET_ITEM(given, at->number);
            if (is_tensor(array)) array = SLOT(array, layout.array);
        }
        if (!is_array(array)) {
            PyErr_SetString(PyExc_TypeError, "an input is no array");
            goto error;
        }
        pointers[i] = PyArray_DATA((PyArrayObject *)array);
    }
    arena = program->unused;
    if (arena != NULL) program->unused = *arena;
    else arena = PyMem_RawMalloc(program->arena + 2 * ALIGNED);
    if (arena == NULL) goto no_memory;
    pointers[program->pointers] = (void *)(((uintptr_t)arena + 2 * ALIGNED - 1) / ALIGNED * ALIGNED);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; !failed && i < program->functions; i++) failed = program->function[i](pointers);
    Py_END_ALLOW_THREADS
    *arena = program->unused;
    program->unused = arena;
    if (pointers != found) PyMem_Free(pointers);
    if (failed) {
        Py_DECREF(outputs);
        Py_RETURN_NONE;
    }
    if (wrap_outputs(program, outputs) == 0) return outputs;
    Py_DECREF(outputs);
    return NULL;
no_memory:
    PyErr_NoMemory();
error:
    if (pointers != found) PyMem_Free(pointers);
    Py_DECREF(outputs);
    return NULL;
}

static PyMethodDef program_methods[] = {{"run", (PyCFunction)program_run, METH_O, NULL}, {NULL, NULL, 0, NULL}};

PyTypeObject Program_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tengen.fast_paths.machine.Program",
    .tp_basicsize = sizeof(Program),
    .tp_dealloc = (destructor)program_free,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = program_methods,
    .tp_new = program_new,
};
