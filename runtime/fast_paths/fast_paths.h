/* What the files of the C machine share: the layout of tengen's classes, fast paths, and who runs them.

   The classes stay Python's. Their slots are read and written by the offsets of their member descriptors, which
   layout.c finds once. A FastPath is what one generated function does in the usual case (machine.c); whatever is
   unusual, it leaves to that function, which stays the only place that says what happens then. */
#ifndef TENGEN_FAST_PATHS_H
#define TENGEN_FAST_PATHS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#if PY_VERSION_HEX < 0x030C0000
#include <structmember.h>
#define Py_T_OBJECT_EX T_OBJECT_EX
#endif
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tengen_machine_array_api
#define PY_UFUNC_UNIQUE_SYMBOL tengen_machine_ufunc_api
#ifndef OWNS_ARRAY_API
#define NO_IMPORT_ARRAY
#endif
#include <fenv.h>
#include <stddef.h>
#include <numpy/arrayobject.h>

#define MOST_KNOWN 4 /* classes of Types that are known at once */
#define MOST_DIMS 32 /* of arrays that are looked at */

/* -- the layout of classes: layout.c ------------------------------------------------------------------------- */

typedef struct {
    Py_ssize_t array, type, requires_grad, edge, storage, base, meta;                     /* of Tensor */
    Py_ssize_t extra, next_edges, sequence_nr, shape, node_type;                          /* of Node */
    Py_ssize_t dtype, unsettled, recording, numbers, weak, backend;                       /* of Type */
    Py_ssize_t zero, classes;                                                             /* of Numbers */
    Py_ssize_t version, views;                                                            /* of Storage */
    Py_ssize_t accumulator, creation, grad, meta_slots[16];                               /* of AutogradMeta */
    Py_ssize_t leaf, lock, pinned;                                                        /* of AccumulateGrad */
    PyTypeObject *TensorBase, *Tensor, *Node, *Type, *Storage, *AutogradMeta, *AccumulateGrad;
    PyObject *active, *plain, *missing, *grad_mode, *gradient_edge, *sequence, *storage_of, *written, *as_view;
    PyTypeObject *ViewList, *Numbers;
    PyObject *fresh_meta; /* an AutogradMeta as it is at first */
    int meta_count;       /* how many slots it has */
    PyObject *ufuncs; /* of +, -, *, /, and of the sign: a tuple */
    PyTypeObject *known[MOST_KNOWN]; /* classes of Types, held for good, as they were met */
    Py_ssize_t limit; /* of ViewList */
    Py_ssize_t large;
} Layout;

extern Layout layout;
extern PyObject *zero, *one, *out_names, *str_enabled, *str_apply, *str_release, *str_of_array, *str_locked, *str_inference,
    *str_layout_policy;

/* The slot of an object at an offset; NULL where it was never set. Of an object that was made here, or that READ has looked
   at: others may be of any class. */
#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* Whether an object is of a class, or of one that is derived from it; NULL is of none. */
static inline int is_of(PyObject *object, PyTypeObject *cls) { return object != NULL && PyObject_TypeCheck(object, cls); }

/* What an object has in a slot of a class, whoever may have put it there; NULL where that was never set or is deleted, and
   of an object of another class: then Python decides. It is borrowed: user code can let go of it, which every call of
   Python's runs, and every allocation of what the garbage collector tracks. */
#define READ_AT(object, cls, offset) (is_of(object, cls) ? SLOT(object, offset) : NULL)
#define READ(object, cls, name) READ_AT(object, layout.cls, layout.name)
/* The same of a slot of Type: most are of a class that was seen before. */
#define READ_TYPE(object, name) (is_type(object) ? SLOT(object, layout.name) : NULL)

static inline void set_new(PyObject *object, Py_ssize_t offset, PyObject *value) {
    SLOT(object, offset) = Py_NewRef(value);
}
static inline void set_slot(PyObject *object, Py_ssize_t offset, PyObject *value) {
    PyObject *before = SLOT(object, offset);
    SLOT(object, offset) = Py_NewRef(value);
    Py_XDECREF(before);
}
int is_other_type(PyObject *object);
static inline int is_type(PyObject *object) {
    return object != NULL && (Py_IS_TYPE(object, layout.known[0]) || is_other_type(object));
}
static inline int is_tensor(PyObject *object) {
    return object != NULL && (Py_IS_TYPE(object, layout.Tensor) || PyObject_TypeCheck(object, layout.TensorBase));
}
/* READ of a slot of TensorBase: most are exactly Tensors. */
#define READ_TENSOR(object, name) (is_tensor(object) ? SLOT(object, layout.name) : NULL)

/* Whether a class is in a set; -1 without an exception where its metaclass compares or hashes as it likes: that might run
   any code, and say anything. */
static inline int is_in(PyObject *set, PyTypeObject *cls) {
    const PyTypeObject *meta = Py_TYPE(cls);
    if (meta != &PyType_Type && (meta->tp_hash != PyType_Type.tp_hash || meta->tp_richcompare != PyType_Type.tp_richcompare)) return -1;
    return PySet_Contains(set, (PyObject *)cls);
}
static inline int is_plain(PyObject *value) {
    if (Py_IS_TYPE(value, layout.Tensor)) return 1;
    int found = is_in(layout.plain, Py_TYPE(value));
    return found == 1 && !is_tensor(value) ? -1 : found;
}
static inline int is_array(PyObject *object) { return object != NULL && Py_IS_TYPE(object, &PyArray_Type); }

Py_ssize_t slot_offset(PyObject *cls, const char *name);
PyObject *machine_lay_out(PyObject *module, PyObject *namespace);
PyObject *machine_offset(PyObject *module, PyObject *arguments);

/* -- fast paths: machine.c ------------------------------------------------------------------------------------- */

/* An instruction. What the numbers and the object mean depends on the operation; see machine.c. */
typedef struct {
    int operation, number, target;
    Py_ssize_t offset, second;
    PyObject *object, *key; /* held by the tuple that the fast path was made of */
    struct Recipe *recipe;  /* owned */
} Instruction;

#define MOST_LOCALS 24
#define DEEPEST 24

typedef struct {
    PyObject *source;           /* the tuple that it was made of, which holds all its objects */
    PyObject *names, *defaults; /* of the parameters; a default is REQUIRED where there is none */
    int parameters, positional; /* how many there are, and how many of them may be given by position */
    int loose;                  /* the first parameter that *args fill, or -1 */
    int locals;                 /* how many locals there are besides parameters */
    Py_ssize_t count;
    Instruction code[];
} FastPath;

typedef struct {
    Py_ssize_t given;              /* how many positional arguments there are */
    PyObject *local[MOST_LOCALS];  /* borrowed from the caller where they are parameters, else owned */
    int kept;                      /* the first local that is owned */
    PyObject *stack[DEEPEST];      /* all owned */
    PyObject **top;
    PyObject *type;                /* the Type that runs the operator, owned, or NULL */
    PyObject *writing;             /* the Storage whose version was counted up, owned, or NULL */
    int called;                    /* whether a kernel was called, which Python's function would call again */
} Frame;

extern PyObject *required;

FastPath *fast_path_new(PyObject *source);
void fast_path_free(FastPath *path);
/* The result; NULL with an exception; or NULL without one, where the Python function is to be called. */
PyObject *fast_path_run(FastPath *path, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* -- what instructions do with tensors: record.c ------------------------------------------------------------ */

PyObject *wrap_array(PyObject *array, PyObject *type);
PyObject *plain_view(PyObject *source, PyObject *array, PyObject *type, int multi);
PyObject *wrap_view(PyObject *source, PyObject *array, PyObject *type, int multi);
PyObject *edge_of(PyObject *tensor);
int one_type(PyObject *list, PyObject **found);
int are_tensors(PyObject *list);
PyObject *arrays_of(PyObject *list);
typedef struct Recipe Recipe;
#define LEFT 0    /* what a step says: leave the fast path */
#define NEXT 1    /* go on */
#define RAISED -1 /* an exception is set */

/* What a slot of a Node keeps. */
enum {
#define KEPT(name, meaning) KEEP_##name,
#include "operations.def"
    KEEP_COUNT
};
/* How many results a recipe is for, where that is no number of a tuple's. */
enum {
#define RESULTS(name, number, meaning) RESULTS_##name = number,
#include "operations.def"
};

Recipe *recipe_new(PyObject *source);
void recipe_free(Recipe *recipe);
int record(Recipe *recipe, PyObject *out, PyObject *const *local);
int may_write(PyObject *tensor);
int is_recorded(PyObject *tensor);
PyObject *begin_write(PyObject *tensor);
int take_back_write(PyObject *storage);

/* -- the gradients of leaves: accumulate.c -------------------------------------------------------------------- */

int accumulate(PyObject *node, PyObject *grad);
/* record.c: what the thread's grad_mode says: 1, 0, or -1 with an exception. */
int mode_has(PyObject *name);

/* -- the processor's floating-point flags, of which NumPy warns ------------------------------------------------- */

#define FLAGS (FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)

static inline void clear_flags(void) {
    if (fetestexcept(FLAGS)) feclearexcept(FLAGS);
}

/* -- small arrays: ufunc.c ------------------------------------------------------------------------------------ */

int ufunc_import(void);
int is_ufunc(PyObject *object);
PyObject *ufunc_result(PyObject *function, PyObject *const *operands, Py_ssize_t count);
int ufunc_into(PyObject *function, PyObject *const *operands, Py_ssize_t count, PyObject *into);
PyObject *rows_length(PyObject *array, PyObject *dim);
PyObject *rows_result(PyObject *kernel, PyObject *const *operands, Py_ssize_t count, PyObject *dim, PyObject *keep);

/* -- native kernels: kernels.c -------------------------------------------------------------------------------- */

PyObject *machine_add_loop(PyObject *module, PyObject *arguments);
PyObject *machine_add_columns(PyObject *module, PyObject *arguments);

/* -- what kernels do with arrays: arrays.c -------------------------------------------------------------------- */

int are_rows(PyObject *array);
int are_integers(PyObject *array);
int have_rows_of(PyObject *array, PyObject *shape);
PyObject *number_like(PyObject *array, PyObject *number);
PyObject *scaled(PyObject *array, PyObject *number);
int is_packed(PyArrayObject *array);
int same_places(PyArrayObject *a, PyArrayObject *b);
int may_overlap(PyArrayObject *a, PyArrayObject *b);
PyObject *reshaped(PyObject *array, PyObject *sizes);
PyObject *joined(PyObject *list, PyObject *dim, int new_dim);

/* -- native kernels over large arrays: shares.c ---------------------------------------------------------------- */

PyObject *machine_run_shares(PyObject *module, PyObject *arguments);

/* -- views of arrays: views.c --------------------------------------------------------------------------------- */

int axis_of(PyObject *dim, int dims);
PyObject *with_dim(PyObject *array, PyObject *dim);
PyObject *without_dim(PyObject *array, PyObject *dim);
PyObject *with_dims_exchanged(PyObject *array, PyObject *dim0, PyObject *dim1);
PyObject *with_dims_ordered(PyObject *array, PyObject *order);
PyObject *expanded(PyObject *array, PyObject *sizes);
PyObject *at_index(PyObject *array, PyObject *dim, PyObject *index);
PyObject *restrided(PyObject *array, PyObject *sizes, PyObject *strides, PyObject *offset);
PyObject *in_range(PyObject *array, PyObject *dim, PyObject *start, PyObject *end, PyObject *step);
PyObject *at_key(PyObject *array, PyObject *key);
PyObject *each_along(PyObject *array, PyObject *dim);
PyObject *parts_along(PyObject *array, PyObject *length, PyObject *dim);

/* -- the callable, and the engine -------------------------------------------------------------------------- */

extern PyTypeObject WithFastPath_Type, Guard_Type, Program_Type;
PyObject *machine_switch(PyObject *module, PyObject *on);
PyObject *engine_run(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
