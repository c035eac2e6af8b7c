/* Tensors that are made of arrays, and the Nodes that record how: what generated methods do with their results. */
#include "fast_paths.h"

/* -- handles -------------------------------------------------------------------------------------------------- */

static PyObject *new_handle(PyObject *array, PyObject *type, PyObject *storage, PyObject *base) {
    PyObject *out = layout.Tensor->tp_alloc(layout.Tensor, 0);
    if (out == NULL) return NULL;
    set_new(out, layout.array, array);
    set_new(out, layout.type, type);
    set_new(out, layout.storage, storage);
    set_new(out, layout.base, base);
    set_new(out, layout.meta, Py_None);
    set_new(out, layout.edge, Py_None);
    set_new(out, layout.requires_grad, Py_False);
    return out;
}

/* A new Tensor over an array, without history.
   Repeats dispatch/type.py: Type.wrap. Compared by test_same.py: test_every_operator. */
PyObject *wrap_array(PyObject *array, PyObject *type) { return new_handle(array, type, Py_None, Py_None); }

/* The Storage of a tensor, a new reference; NULL with an exception, or without one where it is no Storage. */
static PyObject *storage_of(PyObject *tensor) {
    PyObject *found = READ_TENSOR(tensor, storage);
    found = found == Py_None ? PyObject_CallOneArg(layout.storage_of, tensor) : Py_XNewRef(found);
    if (found != NULL && !is_of(found, layout.Storage)) Py_CLEAR(found);
    return found;
}

/* What the thread's grad_mode says: 1, 0, or -1 with an exception. */
int mode_has(PyObject *name) {
    PyObject *found = PyObject_GetAttr(layout.grad_mode, name);
    if (found == NULL) return -1;
    int on = found == Py_True ? 1 : found == Py_False ? 0 : PyObject_IsTrue(found);
    Py_DECREF(found);
    return on;
}

/* 1 where Nodes are recorded in this thread, 0 where not, -1 with an exception. */
static int recording_is_on(void) { return mode_has(str_enabled); }

/* How a view is made, as the constants of runtime/autograd/autograd_meta.py say. */
enum { PLAIN_VIEW, MULTI_OUTPUT_VIEW, NO_GRAD_VIEW, CUSTOM_VIEW, INFERENCE_VIEW };

/* How a view of a tensor is made; -1 where that is for Python to say, or with an exception. */
static int creation_of(PyObject *source, int multi) {
    if (multi) return MULTI_OUTPUT_VIEW;
    PyObject *meta = READ_TENSOR(source, meta);
    if (meta != Py_None) {
        PyObject *creation = READ(meta, AutogradMeta, creation);
        if (creation == NULL || !PyLong_CheckExact(creation)) return -1;
        int overflow;
        long number = PyLong_AsLongAndOverflow(creation, &overflow);
        if (overflow || number < PLAIN_VIEW || number > INFERENCE_VIEW) return -1;
        if (number != PLAIN_VIEW && READ_TENSOR(source, base) != Py_None) return (int)number;
    }
    int on = recording_is_on();
    if (on != 0) return on < 0 ? -1 : PLAIN_VIEW;
    int inference = mode_has(str_inference);
    return inference < 0 ? -1 : inference ? INFERENCE_VIEW : NO_GRAD_VIEW;
}

/* An AutogradMeta of a new view. */
static PyObject *new_meta(int creation) {
    PyObject *made = layout.AutogradMeta->tp_alloc(layout.AutogradMeta, 0), *number = PyLong_FromLong(creation);
    if (made == NULL || number == NULL) {
        Py_XDECREF(made);
        Py_XDECREF(number);
        return NULL;
    }
    for (int i = 0; i < layout.meta_count; i++) {
        SLOT(made, layout.meta_slots[i]) = Py_XNewRef(SLOT(layout.fresh_meta, layout.meta_slots[i]));
    }
    set_slot(made, layout.creation, number);
    Py_DECREF(number);
    return made;
}

/* How many views a list may have; -1 where that is for Python to say. */
static Py_ssize_t limit_of(PyObject *views) {
    PyObject *limit = READ(views, ViewList, limit);
    int overflow;
    if (limit == NULL || !PyLong_CheckExact(limit)) return -1;
    long number = PyLong_AsLongAndOverflow(limit, &overflow);
    return overflow ? -1 : number;
}

/* Note a view in the list of those over a Storage, which may sweep those out that are gone: 0; or -1, with an exception or
   where that is for Python to do. */
static int note_view(PyObject *storage, PyObject *view) {
    PyObject *views = Py_XNewRef(SLOT(storage, layout.views));
    if (views == Py_None) {
        Py_SETREF(views, PyObject_CallNoArgs((PyObject *)layout.ViewList));
        if (views != NULL) set_slot(storage, layout.views, views);
    }
    Py_ssize_t limit = limit_of(views);
    PyObject *reference = limit < 0 ? NULL : PyWeakref_NewRef(view, NULL);
    int failed = reference == NULL || PyList_Append(views, reference) < 0;
    Py_XDECREF(reference);
    if (!failed && PyList_GET_SIZE(views) > limit) {
        PyObject *swept = PyObject_CallMethod(views, "sweep", NULL);
        failed = swept == NULL;
        Py_XDECREF(swept);
    }
    Py_XDECREF(views);
    return failed ? -1 : 0;
}

/* Tell a new view of which base it is, how it was made, and the Storage that it is there: 0; or -1, with an exception or
   where that is for Python to do. */
static int make_view(PyObject *view, PyObject *source, PyObject *storage, int creation) {
    PyObject *base = READ_TENSOR(source, base);
    if (base == NULL) return -1;
    set_slot(view, layout.base, base == Py_None ? source : base);
    if (creation != PLAIN_VIEW) {
        PyObject *meta = new_meta(creation);
        if (meta == NULL) return -1;
        set_slot(view, layout.meta, meta);
        Py_DECREF(meta);
    }
    return note_view(storage, view);
}

/* A Tensor over a view of the array of ``source``, without history. NULL without an
   exception where it is not as any other.
   Repeats autograd/view.py: as_view. Compared by test_kernels.py: test_how_a_view_is_made. */
PyObject *plain_view(PyObject *source, PyObject *array, PyObject *type, int multi) {
    PyObject *recording = READ_TYPE(type, recording);
    if ((recording != Py_True && recording != Py_False) || READ_TENSOR(source, base) == NULL) return NULL;
    int creation = recording == Py_True ? creation_of(source, multi) : PLAIN_VIEW;
    PyObject *storage = creation < 0 ? NULL : storage_of(source);
    if (storage == NULL) return NULL;
    PyObject *out = new_handle(array, type, storage, Py_None);
    if (out != NULL && recording == Py_True && make_view(out, source, storage, creation) < 0) Py_CLEAR(out);
    Py_DECREF(storage);
    return out;
}

/* The same, of any kind. */
PyObject *wrap_view(PyObject *source, PyObject *array, PyObject *type, int multi) {
    PyObject *out = plain_view(source, array, type, multi);
    if (out != NULL || PyErr_Occurred()) return out;
    return PyObject_CallFunctionObjArgs(layout.as_view, source, array, type, multi ? Py_True : Py_False, NULL);
}

/* -- lists of Tensors ----------------------------------------------------------------------------------------- */

/* Whether all Tensors of a list or tuple have one Type, borrowed, and nothing overrides what they do: 1, 0, or -1 where that
   is for Python to say, or with an exception. */
int one_type(PyObject *list, PyObject **found) {
    PyObject *one = *found = NULL;
    if (!PyTuple_CheckExact(list) && !PyList_CheckExact(list)) return 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); i++) {
        PyObject *tensor = PySequence_Fast_GET_ITEM(list, i);
        int plain = is_plain(tensor);
        if (plain <= 0) return plain;
        PyObject *type = SLOT(tensor, layout.type);
        if (type == NULL) return -1;
        if (one != NULL && type != one) return 0;
        one = type;
    }
    *found = one;
    return one != NULL;
}

/* Whether a list or tuple has Tensors with arrays of NumPy's, at least one and nothing else. */
int are_tensors(PyObject *list) {
    if ((!PyTuple_CheckExact(list) && !PyList_CheckExact(list)) || !PySequence_Fast_GET_SIZE(list)) return 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); i++) {
        if (!is_array(READ_TENSOR(PySequence_Fast_GET_ITEM(list, i), array))) return 0;
    }
    return 1;
}

/* What a slot of the Tensor at a place of a list or tuple has, which may have become shorter. */
#define READ_ITEM(list, place, name) \
    ((place) < PySequence_Fast_GET_SIZE(list) ? READ_TENSOR(PySequence_Fast_GET_ITEM(list, place), name) : NULL)

/* The arrays of a list or tuple of Tensors; NULL with an exception, or without one where these are not such any more. */
PyObject *arrays_of(PyObject *list) {
    if (!PyTuple_CheckExact(list) && !PyList_CheckExact(list)) return NULL;
    PyObject *made = PyList_New(PySequence_Fast_GET_SIZE(list));
    for (Py_ssize_t i = 0; made != NULL && i < PyList_GET_SIZE(made); i++) {
        PyObject *array = READ_ITEM(list, i, array);
        if (array == NULL) Py_CLEAR(made);
        else PyList_SET_ITEM(made, i, Py_NewRef(array));
    }
    return made;
}

/* -- writes --------------------------------------------------------------------------------------------------- */

/* Whether a tensor requires its gradient: 1, 0, or -1 where that is for Python to say. */
static int requires_grad(PyObject *tensor) {
    PyObject *found = READ_TENSOR(tensor, requires_grad);
    return found == Py_True ? 1 : found == Py_False ? 0 : -1;
}

/* 1 where what is made of a tensor is recorded, 0 where not; -1 where that is for Python to say, or with an exception. */
int is_recorded(PyObject *tensor) {
    int wanted = requires_grad(tensor);
    return wanted > 0 ? recording_is_on() : wanted;
}

/* 1 where a value may be written into a tensor and nothing is to be recorded; 0 where not, or where that is for Python to
   say; -1 with an exception.
   Repeats autograd/variable_type_utils.py: writes_freely. Compared by test_same.py: test_every_operator, test_uses. */
int may_write(PyObject *tensor) {
    PyObject *array = READ_TENSOR(tensor, array), *base = READ_TENSOR(tensor, base);
    if (PyList_GET_SIZE(layout.active) || !is_array(array) || base == NULL) return 0;
    PyArrayObject *written = (PyArrayObject *)array;
    for (int i = 0; i < PyArray_NDIM(written); i++) {
        if (PyArray_STRIDE(written, i) == 0) return 0;
    }
    int own = requires_grad(tensor), of_base = base == Py_None ? 0 : requires_grad(base);
    if (own < 0 || of_base < 0) return 0;
    if (!own && !of_base) return 1;
    int on = recording_is_on();
    return on < 0 ? -1 : !on;
}

/* Count a Storage's version on: 0; or -1, with an exception or where that is for Python to do. */
static int add_to_version(PyObject *storage, PyObject *by) {
    PyObject *version = SLOT(storage, layout.version);
    PyObject *now = version == NULL || !PyLong_CheckExact(version) ? NULL : PyNumber_Add(version, by);
    if (now == NULL) return -1;
    set_slot(storage, layout.version, now);
    Py_DECREF(now);
    return 0;
}

/* Count a write before it is done; the Storage, a new reference. NULL with an exception, or without one where that is for
   Python to do.
   Repeats core/storage.py: begin_write. Compared by test_leaves.py: test_as_in_python. */
PyObject *begin_write(PyObject *tensor) {
    PyObject *storage = storage_of(tensor);
    if (storage != NULL && add_to_version(storage, one) < 0) Py_CLEAR(storage);
    return storage;
}

/* The write was not done. */
int take_back_write(PyObject *storage) {
    PyObject *minus_one = PyLong_FromLong(-1);
    int failed = minus_one == NULL || add_to_version(storage, minus_one) < 0;
    Py_XDECREF(minus_one);
    return failed ? -1 : 0;
}

/* -- edges ---------------------------------------------------------------------------------------------------- */

/* The edge to a leaf whose accumulator is there; NULL without an exception where it is not. */
static PyObject *edge_of_leaf(PyObject *tensor) {
    PyObject *accumulator = READ(READ_TENSOR(tensor, meta), AutogradMeta, accumulator);
    if (accumulator == NULL || !Py_IS_TYPE(accumulator, layout.AccumulateGrad)) return NULL;
    Py_INCREF(accumulator);
    PyObject *edge = PyTuple_Pack(3, accumulator, zero, tensor);
    Py_DECREF(accumulator);
    return edge;
}

/* Where the gradient of a tensor goes, or None: a new reference; NULL with an exception, or without one where that is for
   Python to say.
   Repeats autograd/edge.py: gradient_edge. Compared by test_same.py: test_every_operator. */
PyObject *edge_of(PyObject *tensor) {
    PyObject *edge = READ_TENSOR(tensor, edge);
    if (edge != Py_None) return Py_XNewRef(edge);
    int wanted = requires_grad(tensor);
    if (wanted <= 0) return wanted < 0 ? NULL : Py_NewRef(Py_None);
    edge = edge_of_leaf(tensor);
    if (edge != NULL || PyErr_Occurred()) return edge;
    return PyObject_CallOneArg(layout.gradient_edge, tensor);
}

/* -- Nodes ---------------------------------------------------------------------------------------------------- */

typedef struct {
    unsigned int needed; /* the edges for which it is kept, a bit each; 0: always */
    int what, local;
    Py_ssize_t offset, version;
} Kept;

struct Recipe {
    int inputs, input[8];     /* the locals that have gradients; of lists of Tensors -1 less their number */
    int own_type;             /* whether only results of the Type that runs have a history */
    int results;              /* RESULTS_one, RESULTS_views, or how many there are in a tuple */
    unsigned int outputs;     /* of several those that have a history, a bit each */
    unsigned int constants;   /* and those whose versions are noted although they have none */
    PyObject *complete;       /* gives the rest, when it is first needed; the fast path holds it */
    PyObject *rest;           /* what it gave, or NULL */
    PyTypeObject *node;
    Py_ssize_t result_versions; /* the offset of that slot, or 0 */
    Py_ssize_t num_inputs;      /* the same, of Nodes of a tuple of views */
    Py_ssize_t kept;
    Kept *keeps;
};

/* Of a tuple (inputs, whether only results of the own Type have a history, results, outputs, constants, what gives the
   rest). */
Recipe *recipe_new(PyObject *source) {
    PyObject *inputs, *complete;
    int own_type, results;
    unsigned int outputs, constants;
    if (!PyTuple_Check(source)) {
        PyErr_SetString(PyExc_TypeError, "a recipe is a tuple");
        return NULL;
    }
    if (!PyArg_ParseTuple(source, "O!iiIIO", &PyTuple_Type, &inputs, &own_type, &results, &outputs, &constants, &complete))
        return NULL;
    if (PyTuple_GET_SIZE(inputs) > 8) {
        PyErr_SetString(PyExc_ValueError, "a recipe has at most 8 inputs");
        return NULL;
    }
    Recipe *recipe = PyMem_Calloc(1, sizeof(Recipe));
    if (recipe == NULL) return (Recipe *)PyErr_NoMemory();
    recipe->inputs = (int)PyTuple_GET_SIZE(inputs);
    recipe->own_type = own_type;
    recipe->results = results;
    recipe->outputs = outputs;
    recipe->constants = constants;
    recipe->complete = complete;
    for (int i = 0; i < recipe->inputs; i++) recipe->input[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(inputs, i));
    if (!PyErr_Occurred()) return recipe;
    PyMem_Free(recipe);
    return NULL;
}

void recipe_free(Recipe *recipe) {
    Py_XDECREF(recipe->rest);
    PyMem_Free(recipe->keeps);
    PyMem_Free(recipe);
}

static Kept *read_keeps(PyObject *source, Py_ssize_t count) {
    Kept *keeps = PyMem_Calloc((size_t)count + 1, sizeof(Kept));
    if (keeps == NULL) return (Kept *)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        Kept *kept = keeps + i;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(source, i), "Iiinn", &kept->needed, &kept->what, &kept->local,
                              &kept->offset, &kept->version)) {
            PyMem_Free(keeps);
            return NULL;
        }
    }
    return keeps;
}

/* Ask for the class of the Node, what it keeps, and the offsets of its result_versions and num_inputs: 0, or -1 with an
   exception. */
static int complete(Recipe *recipe) {
    PyObject *node, *keeps, *rest = PyObject_CallNoArgs(recipe->complete);
    Py_ssize_t versions, num_inputs;
    if (rest == NULL || recipe->node != NULL) { /* another thread was first */
        Py_XDECREF(rest);
        return rest == NULL ? -1 : 0;
    }
    Kept *read = NULL;
    if (PyArg_ParseTuple(rest, "O!O!nn", &PyType_Type, &node, &PyTuple_Type, &keeps, &versions, &num_inputs)) {
        if (PyType_IsSubtype((PyTypeObject *)node, layout.Node) && ((PyTypeObject *)node)->tp_new == PyBaseObject_Type.tp_new) {
            read = read_keeps(keeps, PyTuple_GET_SIZE(keeps));
        } else {
            PyErr_Format(PyExc_TypeError, "%R is no Node that can be made here", node);
        }
    }
    if (read == NULL) {
        Py_DECREF(rest);
        return -1;
    }
    recipe->rest = rest;
    recipe->keeps = read;
    recipe->kept = PyTuple_GET_SIZE(keeps);
    recipe->result_versions = versions;
    recipe->num_inputs = num_inputs;
    recipe->node = (PyTypeObject *)node;
    return 0;
}

/* NULL with an exception, or without one where it is no array of NumPy's. */
static PyObject *shape_of(PyObject *array) {
    npy_intp sizes[NPY_MAXDIMS]; /* the array may be gone when there is a tuple */
    if (!is_array(array)) return NULL;
    int ndim = PyArray_NDIM((PyArrayObject *)array);
    for (int i = 0; i < ndim; i++) sizes[i] = PyArray_DIM((PyArrayObject *)array, i);
    PyObject *shape = PyTuple_New(ndim);
    for (int i = 0; shape != NULL && i < ndim; i++) {
        PyObject *size = PyLong_FromSsize_t(sizes[i]);
        if (size == NULL) Py_CLEAR(shape);
        else PyTuple_SET_ITEM(shape, i, size);
    }
    return shape;
}

/* The same of a list or tuple of Tensors. */
static PyObject *shapes_of(PyObject *list) {
    if (!PyTuple_CheckExact(list) && !PyList_CheckExact(list)) return NULL;
    PyObject *made = PyTuple_New(PySequence_Fast_GET_SIZE(list));
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_GET_SIZE(made); i++) {
        PyObject *shape = shape_of(READ_ITEM(list, i, array));
        if (shape == NULL) Py_CLEAR(made);
        else PyTuple_SET_ITEM(made, i, shape);
    }
    return made;
}

/* All of these give -1 with an exception, or without one where it is for Python to keep it. */

/* Put a new object into the slot. */
static int keep_new(PyObject *node, const Kept *kept, PyObject *made) {
    if (made == NULL) return -1;
    SLOT(node, kept->offset) = made;
    return 0;
}

static int keep_tensor(PyObject *node, const Kept *kept, PyObject *tensor) {
    PyObject *storage = tensor == Py_None ? Py_None : READ_TENSOR(tensor, storage);
    PyObject *version = storage == Py_None ? zero : READ(storage, Storage, version);
    if (version == NULL) return -1;
    set_new(node, kept->offset, tensor);
    set_new(node, kept->version, version);
    return 0;
}

static int keep(PyObject *node, const Kept *kept, PyObject *out, PyObject *const *local, int needed) {
    PyObject *value = local[kept->local];
    if (!needed || value == NULL) {
        set_new(node, kept->offset, Py_None);
        if (kept->what == KEEP_tensor) set_new(node, kept->version, zero);
        return 0;
    }
    switch (kept->what) {
        case KEEP_tensor: return keep_tensor(node, kept, value);
        case KEEP_result: value = READ_TENSOR(out, array); break;
        case KEEP_type: value = value == Py_None ? value : READ_TENSOR(value, type); break;
        case KEEP_shapes: return keep_new(node, kept, shapes_of(value));
        case KEEP_shape:
            if (value != Py_None) return keep_new(node, kept, shape_of(READ_TENSOR(value, array)));
    }
    if (value == NULL) return -1;
    set_new(node, kept->offset, value);
    return 0;
}

/* The Tensors of an input, which may be a list of them, and how many there are. */
static PyObject *const *tensors_of(const Recipe *recipe, int input, PyObject *const *local, Py_ssize_t *count) {
    int number = recipe->input[input];
    *count = 1;
    if (number >= 0) return local + number;
    *count = PySequence_Fast_GET_SIZE(local[-1 - number]);
    return PySequence_Fast_ITEMS(local[-1 - number]);
}

static Py_ssize_t count_edges(const Recipe *recipe, PyObject *const *local) {
    Py_ssize_t found = 0, count;
    for (int i = 0; i < recipe->inputs; i++) {
        tensors_of(recipe, i, local, &count);
        found += count;
    }
    return found;
}

/* Whether a gradient is wanted of any input; -1 where a list is none of Tensors any more, or where that is for Python to
   say. */
static int is_wanted(const Recipe *recipe, PyObject *const *local) {
    for (int i = 0; i < recipe->inputs; i++) {
        Py_ssize_t count;
        if (recipe->input[i] < 0 && !are_tensors(local[-1 - recipe->input[i]])) return -1;
        PyObject *const *tensors = tensors_of(recipe, i, local, &count);
        for (Py_ssize_t k = 0; k < count; k++) {
            int wanted = tensors[k] == Py_None ? 0 : requires_grad(tensors[k]);
            if (wanted != 0) return wanted;
        }
    }
    return 0;
}

/* The edges of a new Node. Which of them lead somewhere is said by the bits of ``there``, of a list by none. */
static int set_edges(const Recipe *recipe, PyObject *node, PyObject *const *local, unsigned int *there) {
    PyObject *edges = PyTuple_New(count_edges(recipe, local));
    if (edges == NULL) return -1;
    SLOT(node, layout.next_edges) = edges;
    *there = 0;
    Py_ssize_t place = 0;
    for (int i = 0; i < recipe->inputs; i++) {
        Py_ssize_t count;
        PyObject *const *tensors = tensors_of(recipe, i, local, &count);
        for (Py_ssize_t k = 0; k < count; k++) {
            /* of a list edge_of is asked only for those that need their gradients, as gradient_edges does */
            int none = tensors[k] == Py_None || (recipe->input[i] < 0 && requires_grad(tensors[k]) == 0);
            PyObject *edge = none ? Py_NewRef(Py_None) : edge_of(tensors[k]);
            if (edge == NULL) return -1;
            if (edge != Py_None && recipe->input[i] >= 0) *there |= 1u << i;
            PyTuple_SET_ITEM(edges, place++, edge);
        }
    }
    return 0;
}

/* The Types of a tuple of Tensors. */
static PyObject *types_of(PyObject *tensors) {
    PyObject *made = PyTuple_New(PyTuple_GET_SIZE(tensors));
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_GET_SIZE(made); i++) {
        PyObject *type = READ_ITEM(tensors, i, type);
        if (type == NULL) Py_CLEAR(made);
        else PyTuple_SET_ITEM(made, i, Py_NewRef(type));
    }
    return made;
}

/* Say what gradients a new Node gets: of one Tensor, or of a tuple of them. */
static int describe_results(const Recipe *recipe, PyObject *node, PyObject *out) {
    PyObject *shape = recipe->results ? shapes_of(out) : shape_of(READ_TENSOR(out, array));
    PyObject *type = shape == NULL ? NULL : recipe->results ? types_of(out) : Py_XNewRef(READ_TENSOR(out, type));
    SLOT(node, layout.shape) = shape;
    SLOT(node, layout.node_type) = type;
    if (shape == NULL || type == NULL) return -1;
    if (!recipe->num_inputs) return 0;
    SLOT(node, recipe->num_inputs) = PyLong_FromSsize_t(PyTuple_GET_SIZE(out));
    return SLOT(node, recipe->num_inputs) == NULL ? -1 : 0;
}

static PyObject *new_node(const Recipe *recipe, PyObject *out, PyObject *const *local) {
    PyObject *node = recipe->node->tp_alloc(recipe->node, 0);
    if (node == NULL) return NULL;
    PyObject *number = Py_TYPE(layout.sequence)->tp_iternext(layout.sequence);
    SLOT(node, layout.sequence_nr) = number;
    unsigned int there = 0;
    if (number == NULL || describe_results(recipe, node, out) < 0) goto failed;
    set_new(node, layout.extra, Py_None);
    if (set_edges(recipe, node, local, &there) < 0) goto failed;
    if (recipe->result_versions) set_new(node, recipe->result_versions, Py_None);
    for (Py_ssize_t i = 0; i < recipe->kept; i++) {
        const Kept *kept = recipe->keeps + i;
        if (keep(node, kept, out, local, kept->needed == 0 || (kept->needed & there)) < 0) goto failed;
    }
    return node;
failed:
    Py_DECREF(node);
    return NULL;
}

/* Make a new Tensor the result of this number of a Node: 0, or -1 with an exception. */
static int attach(PyObject *tensor, PyObject *node, Py_ssize_t number) {
    PyObject *place = PyLong_FromSsize_t(number);
    PyObject *edge = place == NULL ? NULL : PyTuple_Pack(2, node, place);
    Py_XDECREF(place);
    if (edge == NULL) return -1;
    set_slot(tensor, layout.edge, edge);
    Py_DECREF(edge);
    set_slot(tensor, layout.requires_grad, Py_True);
    return 0;
}

/* Note the versions of results that have no history: {number: ((storage, 0),)}.
   Repeats autograd/node_support.py: record_node. Compared by test_kernels.py: test_a_node_of_several_results. */
static int note_versions(const Recipe *recipe, PyObject *node, PyObject *out) {
    PyObject *versions = PyDict_New();
    for (Py_ssize_t i = 0; versions != NULL && i < PyTuple_GET_SIZE(out); i++) {
        if (!(recipe->constants >> i & 1)) continue;
        PyObject *storage = storage_of(PyTuple_GET_ITEM(out, i));
        PyObject *number = PyLong_FromSsize_t(i), *pairs = storage == NULL ? NULL : Py_BuildValue("((Oi))", storage, 0);
        if (pairs == NULL || number == NULL || PyDict_SetItem(versions, number, pairs) < 0) Py_CLEAR(versions);
        Py_XDECREF(storage);
        Py_XDECREF(number);
        Py_XDECREF(pairs);
    }
    if (versions == NULL) return -1;
    set_slot(node, recipe->result_versions, versions);
    Py_DECREF(versions);
    return 0;
}

static int attach_node(Recipe *recipe, PyObject *out, PyObject *const *local) {
    PyObject *node = new_node(recipe, out, local);
    if (node == NULL) return RAISED;
    int failed = recipe->results == RESULTS_one && attach(out, node, 0) < 0;
    for (Py_ssize_t i = 0; recipe->results && !failed && i < PyTuple_GET_SIZE(out); i++) {
        if (recipe->results == RESULTS_views || (recipe->outputs >> i & 1)) failed = attach(PyTuple_GET_ITEM(out, i), node, i) < 0;
    }
    if (!failed && recipe->constants) failed = note_versions(recipe, node, out) < 0;
    Py_DECREF(node);
    return failed ? RAISED : NEXT;
}

/* The same where lists are among the inputs: tuples in their place stay as they are, whoever changes the lists. */
static int attach_node_of_lists(Recipe *recipe, PyObject *out, PyObject *const *local) {
    PyObject *own[MOST_LOCALS], *held[8] = {NULL};
    int result = NEXT;
    memcpy(own, local, sizeof(own));
    for (int i = 0; i < recipe->inputs && result == NEXT; i++) {
        if (recipe->input[i] >= 0) continue;
        PyObject **list = own - 1 - recipe->input[i];
        held[i] = PySequence_Tuple(*list);
        if (held[i] == NULL) result = RAISED;
        else if (!are_tensors(held[i])) result = LEFT;
        else *list = held[i];
    }
    if (result == NEXT) result = attach_node(recipe, out, own);
    for (int i = 0; i < recipe->inputs; i++) Py_XDECREF(held[i]);
    return result;
}

static int has_lists(const Recipe *recipe) {
    for (int i = 0; i < recipe->inputs; i++) {
        if (recipe->input[i] < 0) return 1;
    }
    return 0;
}

/* Give a new Tensor the history that the recipe says, where an input needs its gradient: NEXT; LEFT where Python says
   what becomes of it; or RAISED.
   Repeats autograd/node_support.py: record_node. Compared by test_same.py: test_every_operator. */
int record(Recipe *recipe, PyObject *out, PyObject *const *local) {
    int wanted = is_wanted(recipe, local);
    if (wanted <= 0) return wanted < 0 ? LEFT : NEXT;
    int on = recording_is_on();
    if (on <= 0) return on < 0 ? RAISED : NEXT;
    if (recipe->results && !PyTuple_CheckExact(out)) return LEFT;
    if (recipe->own_type && READ_TENSOR(out, type) != local[0]) return LEFT;
    if (recipe->node == NULL && complete(recipe) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) return RAISED;
        PyErr_Clear();
        return LEFT;
    }
    return has_lists(recipe) ? attach_node_of_lists(recipe, out, local) : attach_node(recipe, out, local);
}
