/* Where the slots of tengen's classes are, found once by their member descriptors. */
#include "fast_paths.h"

Layout layout;

/* Whether an object is a Type whose class is not the first that was met. */
int is_other_type(PyObject *object) {
    PyTypeObject *cls = Py_TYPE(object);
    int known = 0;
    for (; known < MOST_KNOWN && layout.known[known] != NULL; known++) {
        if (layout.known[known] == cls) return 1;
    }
    if (!PyType_IsSubtype(cls, layout.Type)) return 0;
    if (known < MOST_KNOWN) layout.known[known] = (PyTypeObject *)Py_NewRef((PyObject *)cls);
    return 1;
}

/* The offset of a slot that holds an object; 0 with an exception where the class has no such slot. */
Py_ssize_t slot_offset(PyObject *cls, const char *name) {
    PyObject *found = PyObject_GetAttrString(cls, name);
    if (found == NULL) return 0;
    Py_ssize_t offset = 0;
    if (Py_IS_TYPE(found, &PyMemberDescr_Type)) {
        PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
        if (member->type == Py_T_OBJECT_EX) offset = member->offset;
    }
    Py_DECREF(found);
    if (offset == 0) PyErr_Format(PyExc_TypeError, "%R has no slot %s", cls, name);
    return offset;
}

PyObject *machine_offset(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *cls;
    const char *name;
    if (!PyArg_ParseTuple(arguments, "Os", &cls, &name)) return NULL;
    Py_ssize_t offset = slot_offset(cls, name);
    return offset == 0 ? NULL : PyLong_FromSsize_t(offset);
}

/* An object of the namespace, held for good: what is laid out once is used as long as the process lives. */
static PyObject *taken(PyObject *namespace, const char *name) {
    PyObject *found = PyDict_GetItemString(namespace, name);
    if (found == NULL) PyErr_Format(PyExc_KeyError, "%s", name);
    return Py_XNewRef(found);
}

static PyTypeObject *taken_class(PyObject *namespace, const char *name) {
    PyObject *found = taken(namespace, name);
    if (found != NULL && !PyType_Check(found)) {
        PyErr_Format(PyExc_TypeError, "%s is no class", name);
        Py_CLEAR(found);
    }
    return (PyTypeObject *)found;
}

static int take_objects(PyObject *namespace) {
    return (layout.TensorBase = taken_class(namespace, "TensorBase")) && (layout.Tensor = taken_class(namespace, "Tensor")) &&
           (layout.Node = taken_class(namespace, "Node")) && (layout.Type = taken_class(namespace, "Type")) &&
           (layout.Storage = taken_class(namespace, "Storage")) &&
           (layout.AutogradMeta = taken_class(namespace, "AutogradMeta")) &&
           (layout.AccumulateGrad = taken_class(namespace, "AccumulateGrad")) &&
           (layout.Numbers = taken_class(namespace, "Numbers")) && (layout.ViewList = taken_class(namespace, "ViewList")) &&
           (layout.ufuncs = taken(namespace, "ufuncs")) &&
           (layout.active = taken(namespace, "active")) && (layout.plain = taken(namespace, "plain")) &&
           (layout.missing = taken(namespace, "MISSING")) && (layout.grad_mode = taken(namespace, "grad_mode")) &&
           (layout.gradient_edge = taken(namespace, "gradient_edge")) &&
           (layout.sequence = taken(namespace, "sequence")) && (layout.storage_of = taken(namespace, "storage_of")) &&
           (layout.written = taken(namespace, "written")) && (layout.as_view = taken(namespace, "as_view"));
}

static int find_slots(void) {
    const struct { Py_ssize_t *to; PyTypeObject *cls; const char *name; } slots[] = {
        {&layout.array, layout.TensorBase, "_array"},
        {&layout.type, layout.TensorBase, "_type"},
        {&layout.requires_grad, layout.TensorBase, "_requires_grad"},
        {&layout.edge, layout.TensorBase, "_edge"},
        {&layout.storage, layout.TensorBase, "_storage"},
        {&layout.base, layout.TensorBase, "_base"},
        {&layout.meta, layout.TensorBase, "_meta"},
        {&layout.extra, layout.Node, "extra"},
        {&layout.next_edges, layout.Node, "next_edges"},
        {&layout.sequence_nr, layout.Node, "sequence_nr"},
        {&layout.shape, layout.Node, "shape"},
        {&layout.node_type, layout.Node, "type"},
        {&layout.dtype, layout.Type, "dtype"},
        {&layout.unsettled, layout.Type, "unsettled"},
        {&layout.recording, layout.Type, "recording"},
        {&layout.numbers, layout.Type, "numbers"},
        {&layout.weak, layout.Type, "weak"},
        {&layout.backend, layout.Type, "backend"},
        {&layout.zero, layout.Numbers, "zero"},
        {&layout.classes, layout.Numbers, "classes"},
        {&layout.version, layout.Storage, "version"},
        {&layout.views, layout.Storage, "views"},
        {&layout.accumulator, layout.AutogradMeta, "accumulator"},
        {&layout.creation, layout.AutogradMeta, "creation"},
        {&layout.grad, layout.AutogradMeta, "grad"},
        {&layout.leaf, layout.AccumulateGrad, "leaf"},
        {&layout.lock, layout.AccumulateGrad, "lock"},
        {&layout.pinned, layout.AccumulateGrad, "pinned"},
        {&layout.limit, layout.ViewList, "limit"},
    };
    for (size_t i = 0; i < sizeof(slots) / sizeof(*slots); i++) {
        *slots[i].to = slot_offset((PyObject *)slots[i].cls, slots[i].name);
        if (*slots[i].to == 0) return 0;
    }
    return 1;
}

/* Classes whose instances are made here must be made as object.__new__ makes them. */
static int is_made_simply(PyTypeObject *cls) {
    if (cls->tp_new == PyBaseObject_Type.tp_new && cls->tp_itemsize == 0) return 1;
    PyErr_Format(PyExc_TypeError, "%R makes its instances itself", cls);
    return 0;
}

/* What a new AutogradMeta has in its slots, which are all that its instances have. */
static int read_meta(void) {
    PyObject *names = PyObject_GetAttrString((PyObject *)layout.AutogradMeta, "__slots__");
    layout.fresh_meta = names == NULL ? NULL : PyObject_CallNoArgs((PyObject *)layout.AutogradMeta);
    if (layout.fresh_meta == NULL || !PyTuple_Check(names) || PyTuple_GET_SIZE(names) > 16) {
        Py_XDECREF(names);
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "AutogradMeta has other slots than expected");
        return 0;
    }
    layout.meta_count = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
        Py_ssize_t offset = name == NULL ? 0 : slot_offset((PyObject *)layout.AutogradMeta, name);
        layout.meta_slots[layout.meta_count++] = offset;
        if (offset == 0) break;
    }
    Py_DECREF(names);
    return !PyErr_Occurred();
}

/* lay_out(namespace): the classes and objects by the names that runtime/ has for them. TypeError for a class that
   is not as expected, KeyError for a name that is missing. */
PyObject *machine_lay_out(PyObject *Py_UNUSED(module), PyObject *namespace) {
    if (!PyDict_Check(namespace)) {
        PyErr_SetString(PyExc_TypeError, "lay_out() takes a dictionary");
        return NULL;
    }
    if (!take_objects(namespace) || !find_slots()) return NULL;
    if (!is_made_simply(layout.Storage) || !is_made_simply(layout.AutogradMeta) || !read_meta()) return NULL;
    if (!PyList_CheckExact(layout.active) || !PySet_CheckExact(layout.plain) || !PyIter_Check(layout.sequence)) {
        PyErr_SetString(PyExc_TypeError, "what intercepts calls, plain classes or sequence numbers are not as expected");
        return NULL;
    }
    if (!PyTuple_CheckExact(layout.ufuncs) || PyTuple_GET_SIZE(layout.ufuncs) != 5) {
        PyErr_SetString(PyExc_TypeError, "the ufuncs of operators are not as expected");
        return NULL;
    }
    PyObject *large = PyDict_GetItemString(namespace, "LARGE");
    layout.large = large == NULL ? -1 : PyLong_AsSsize_t(large);
    if (layout.large < 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_KeyError, "LARGE");
        return NULL;
    }
    Py_RETURN_NONE;
}
