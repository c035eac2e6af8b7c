/* Programs as they are kept: made of the tuples that assembler.py writes, and checked. */
#include "machine.h"

/* Whether an operation reads the Node in local 0. */
static int is_of_node(int operation) {
    static const char *const operands[] = {
#define OPERATION(name, operands, stack, jump, meaning) operands,
#include "operations.def"
    };
    return strncmp(operands[operation], "own", 3) == 0;
}

static int read_instruction(Instruction *to, PyObject *source, Py_ssize_t count) {
    PyObject *object, *key;
    if (!PyTuple_Check(source)) {
        PyErr_SetString(PyExc_TypeError, "an instruction is a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(source, "iiinnOO", &to->operation, &to->number, &to->target, &to->offset, &to->second, &object, &key))
        return -1;
    if (to->operation < 0 || to->operation >= OPERATION_COUNT || to->target < 0 || to->target >= count || to->number < 0) {
        PyErr_SetString(PyExc_ValueError, "an instruction is out of bounds");
        return -1;
    }
    to->object = object;
    to->key = key;
    if ((to->operation == OP_fetch || to->operation == OP_fetch_kernel) && !PyDict_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "a fetch is from a dictionary");
        return -1;
    }
    if (is_of_node(to->operation) && (!PyType_Check(key) || !PyType_IsSubtype((PyTypeObject *)key, layout.Node))) {
        PyErr_SetString(PyExc_TypeError, "slots are read of a class of Nodes");
        return -1;
    }
    if (to->operation != OP_record) return 0;
    to->recipe = recipe_new(object);
    return to->recipe == NULL ? -1 : 0;
}

void fast_path_free(FastPath *path) {
    if (path == NULL) return;
    for (Py_ssize_t i = 0; i < path->count; i++) {
        if (path->code[i].recipe != NULL) recipe_free(path->code[i].recipe);
    }
    Py_XDECREF(path->source);
    PyMem_Free(path);
}

/* Of a tuple (instructions, names of the parameters, their defaults, how many may be positional, the first that
   *args fill or -1, how many further locals there are). The caller has checked the depth of the stack. */
FastPath *fast_path_new(PyObject *source) {
    PyObject *code, *names, *defaults;
    int positional, loose, locals;
    if (!PyTuple_Check(source)) {
        PyErr_SetString(PyExc_TypeError, "a fast path is a tuple");
        return NULL;
    }
    if (!PyArg_ParseTuple(source, "O!O!O!iii", &PyTuple_Type, &code, &PyTuple_Type, &names, &PyTuple_Type, &defaults,
                          &positional, &loose, &locals))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(code), parameters = PyTuple_GET_SIZE(names);
    if (parameters != PyTuple_GET_SIZE(defaults) || positional > parameters || locals < 0 || parameters + locals > MOST_LOCALS || count == 0) {
        PyErr_SetString(PyExc_ValueError, "a fast path has other parameters than defaults, or too many");
        return NULL;
    }
    FastPath *path = PyMem_Calloc(1, sizeof(FastPath) + (size_t)count * sizeof(Instruction));
    if (path == NULL) return (FastPath *)PyErr_NoMemory();
    path->source = Py_NewRef(source);
    path->names = names;
    path->defaults = defaults;
    path->parameters = (int)parameters;
    path->positional = positional;
    path->loose = loose;
    path->locals = locals;
    path->count = count;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (read_instruction(path->code + i, PyTuple_GET_ITEM(code, i), count) < 0) {
            fast_path_free(path);
            return NULL;
        }
        if (path->code[i].operation == OP_store && path->code[i].number < path->parameters) {
            PyErr_SetString(PyExc_ValueError, "a parameter, which the caller holds, is stored to");
            fast_path_free(path);
            return NULL;
        }
    }
    return path;
}
