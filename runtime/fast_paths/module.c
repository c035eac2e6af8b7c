/* The module: what runtime/fast_paths/__init__.py calls. */
#define OWNS_ARRAY_API
#include "kernels.h"
#include "machine.h"
#include "threads.h"

PyObject *zero, *one, *out_names, *str_enabled, *str_apply, *str_release, *str_of_array, *str_locked, *str_inference, *required,
    *str_layout_policy;

static PyMethodDef functions[] = {
    {"lay_out", machine_lay_out, METH_O, NULL},
    {"offset", machine_offset, METH_VARARGS, NULL},
    {"switch", machine_switch, METH_O, NULL},
    {"add_loop", machine_add_loop, METH_VARARGS, NULL},
    {"add_columns", machine_add_columns, METH_VARARGS, NULL},
#ifdef HAS_THREADS
    {"run_shares", machine_run_shares, METH_VARARGS, NULL},
#endif
    {"run", (PyCFunction)(void (*)(void))engine_run, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "machine", .m_size = -1, .m_methods = functions,
};

static int make_constants(void) {
    zero = PyLong_FromLong(0);
    one = PyLong_FromLong(1);
    out_names = Py_BuildValue("(N)", PyUnicode_InternFromString("out"));
    str_enabled = PyUnicode_InternFromString("enabled");
    str_layout_policy = PyUnicode_InternFromString("layout_policy");
    str_apply = PyUnicode_InternFromString("apply");
    str_release = PyUnicode_InternFromString("release");
    str_of_array = PyUnicode_InternFromString("of_array");
    str_locked = PyUnicode_InternFromString("locked");
    str_inference = PyUnicode_InternFromString("inference");
    required = PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type);
    return zero && one && out_names && str_enabled && str_apply && str_release && str_of_array && str_locked && str_inference && str_layout_policy && required ? 0 : -1;
}

/* A dictionary with one more entry, to which ``value`` is given; NULL, and nothing is held, where that failed. */
static PyObject *with(PyObject *found, const char *name, PyObject *value) {
    if (value == NULL || found == NULL || PyDict_SetItemString(found, name, value) < 0) Py_CLEAR(found);
    Py_XDECREF(value);
    return found;
}

/* Of the operations by name: the number, the operands, what they do to the stack, the same where they jump. */
static PyObject *operations(void) {
    PyObject *found = PyDict_New();
#define OPERATION(name, operands, stack, jump, meaning) \
    found = with(found, #name, Py_BuildValue("(isss)", OP_##name, operands, stack, jump));
#include "operations.def"
    return found;
}

/* The numbers of other words, by kind and word. */
static PyObject *numbers(void) {
    PyObject *binary = PyDict_New(), *unary = PyDict_New(), *comparison = PyDict_New(), *kept = PyDict_New(), *results = PyDict_New();
    int binaries = 0, unaries = 0, comparisons = 0;
#define BINARY(symbol, function, ufunc) binary = with(binary, symbol, PyLong_FromLong(binaries++));
#define UNARY(symbol, function, ufunc) unary = with(unary, symbol, PyLong_FromLong(unaries++));
#define COMPARISON(symbol, number) comparison = with(comparison, symbol, PyLong_FromLong(comparisons++));
#define KEPT(name, meaning) kept = with(kept, #name, PyLong_FromLong(KEEP_##name));
#define RESULTS(name, number, meaning) results = with(results, #name, PyLong_FromLong(number));
#include "operations.def"
    PyObject *found = PyDict_New();
    found = with(found, "binary", binary);
    found = with(found, "unary", unary);
    found = with(found, "comparison", comparison);
    found = with(found, "kept", kept);
    return with(found, "results", results);
}

static int add(PyObject *module, const char *name, PyObject *value) {
    int failed = value == NULL || PyModule_AddObjectRef(module, name, value) < 0;
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

/* One interpreter only: what this module knows of the classes is static. */
static int is_usable(void) {
#ifdef Py_GIL_DISABLED
    PyErr_SetString(PyExc_ImportError, "this Python has no global interpreter lock");
    return 0;
#else
    if (PyInterpreterState_Get() == PyInterpreterState_Main()) return 1;
    PyErr_SetString(PyExc_ImportError, "this is a subinterpreter");
    return 0;
#endif
}

PyMODINIT_FUNC PyInit_machine(void) {
    if (!is_usable()) return NULL;
    import_array();
    if (ufunc_import() < 0 || kernels_import() < 0) return NULL;
#ifdef HAS_THREADS
    if (threads_import() < 0) return NULL;
#endif
    if (make_constants() < 0 || PyType_Ready(&WithFastPath_Type) < 0 || PyType_Ready(&Guard_Type) < 0 || PyType_Ready(&Program_Type) < 0) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) return NULL;
    if (add(module, "WithFastPath", Py_NewRef((PyObject *)&WithFastPath_Type)) < 0 || add(module, "operations", operations()) < 0 ||
        add(module, "Guard", Py_NewRef((PyObject *)&Guard_Type)) < 0 || add(module, "Program", Py_NewRef((PyObject *)&Program_Type)) < 0 ||
        add(module, "numbers", numbers()) < 0 ||
        add(module, "REQUIRED", Py_NewRef(required)) < 0 || add(module, "deepest", PyLong_FromLong(DEEPEST - 3)) < 0 ||
        add(module, "most_locals", PyLong_FromLong(MOST_LOCALS)) < 0 ||
        add(module, "sources", PyLong_FromUnsignedLong(SOURCES)) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
