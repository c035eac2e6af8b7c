/* Running fast paths: a small stack machine, whose instructions are larger than Python's.

   A fast path is what a generated function does in the usual case, made of the same expressions. Until it gives its
   result it changes nothing that would not be taken back, so that it can be left anywhere. */
#include "fast_paths.h"
#include "machine.h"

static int push(Frame *frame, PyObject *value) {
    if (value == NULL) return RAISED;
    *frame->top++ = value;
    return NEXT;
}

/* -- calls ---------------------------------------------------------------------------------------------------- */

/* After a call that failed: Python says it better, unless it was an interrupt or the like. */
static int failed_call(void) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return RAISED;
    PyErr_Clear();
    return LEFT;
}

static int replace_top(Frame *frame, Py_ssize_t count, PyObject *result) {
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *used = *--frame->top;
        Py_DECREF(used);
    }
    if (result == NULL) return failed_call();
    return push(frame, result);
}

/* A call from Python, of what gives an array where that is asked for. */
static PyObject *pythons(PyObject **arguments, Py_ssize_t count, int out) {
    PyObject *result = PyObject_Vectorcall(arguments[-1], arguments, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (!out || result == NULL || is_array(result)) return result;
    PyObject *made = PyArray_FROM_O(result);
    Py_DECREF(result);
    return made;
}

/* A ufunc. What NumPy has to be asked for is left to Python's function, where the warnings of NumPy's belong, unless that
   would call a kernel again. */
static int call_ufunc(Frame *frame, Py_ssize_t count, int out) {
    PyObject **arguments = frame->top - count;
    PyObject *result = ufunc_result(arguments[-1], arguments, count);
    if (result == NULL && PyErr_Occurred()) return RAISED;
    if (result == NULL && !out && count > 1 && ufunc_into(arguments[-1], arguments, count - 1, arguments[count - 1])) {
        result = Py_NewRef(arguments[count - 1]);
    }
    if (result == NULL && !frame->called) return LEFT;
    return replace_top(frame, count + 1, result != NULL ? result : pythons(arguments, count, out));
}

static int call(Frame *frame, Py_ssize_t count, int out) {
    PyObject **arguments = frame->top - count;
    if (out || is_ufunc(arguments[-1])) return call_ufunc(frame, count, out);
    frame->called = 1;
    return replace_top(frame, count + 1, pythons(arguments, count, 0));
}

/* The method of the Type that runs, whose result is the fast path's: its exceptions go to the caller. */
static int call_method(Frame *frame, const Instruction *at) {
    PyObject **arguments = frame->top - at->number;
    if (frame->type == NULL) return LEFT;
    /* The place before the arguments is free: the stack begins with one. */
    PyObject *before = arguments[-1];
    arguments[-1] = frame->type;
    PyObject *result = PyObject_VectorcallMethod(at->key, arguments - 1, (size_t)at->number + 1, NULL);
    arguments[-1] = before;
    return push(frame, result);
}

/* What lies below the arguments, or its method, gives the fast path's result: its exceptions go to the caller. */
static int invoke(Frame *frame, const Instruction *at) {
    PyObject **arguments = frame->top - at->number, *result;
    size_t count = (size_t)at->number;
    if (at->operation == OP_invoke) result = PyObject_Vectorcall(arguments[-1], arguments, count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    else result = PyObject_VectorcallMethod(at->key, arguments - 1, (count + 1), NULL);
    return push(frame, result);
}

/* In place of ``count`` values what was made of them; without an exception Python has to be asked. */
static int put(Frame *frame, Py_ssize_t count, PyObject *result) {
    if (result == NULL && !PyErr_Occurred()) return LEFT;
    return replace_top(frame, count, result);
}

static int compute(Frame *frame, const Instruction *at) {
    PyObject **top = frame->top;
    switch (at->operation) {
        case OP_rows:
            return put(frame, at->number + 3, rows_result(top[-at->number - 3], top - at->number - 2, at->number, top[-2], top[-1]));
        case OP_length_of_rows: return put(frame, 1, rows_length(frame->local[at->number], top[-1]));
        case OP_number_like: return put(frame, 1, number_like(frame->local[at->number], top[-1]));
        case OP_view: return put(frame, 4, is_array(top[-3]) ? plain_view(top[-4], top[-3], top[-2], top[-1] == Py_True) : NULL);
        case OP_scale: return put(frame, 2, scaled(top[-2], top[-1]));
        case OP_reshape: return put(frame, 2, reshaped(top[-2], top[-1]));
        case OP_join: return put(frame, 2, joined(top[-2], top[-1], 0));
        case OP_stack: return put(frame, 2, joined(top[-2], top[-1], 1));
        case OP_with_dim: return put(frame, 2, with_dim(top[-2], top[-1]));
        case OP_without_dim: return put(frame, 2, without_dim(top[-2], top[-1]));
        case OP_with_dims_exchanged: return put(frame, 3, with_dims_exchanged(top[-3], top[-2], top[-1]));
        case OP_with_dims_ordered: return put(frame, 2, with_dims_ordered(top[-2], top[-1]));
        case OP_expand: return put(frame, 2, expanded(top[-2], top[-1]));
        case OP_at_index: return put(frame, 3, at_index(top[-3], top[-2], top[-1]));
        case OP_in_range: return put(frame, 5, in_range(top[-5], top[-4], top[-3], top[-2], top[-1]));
        case OP_restride: return put(frame, 4, restrided(top[-4], top[-3], top[-2], top[-1]));
        case OP_at_key: return put(frame, 2, at_key(top[-2], top[-1]));
        case OP_each_along: return put(frame, 2, each_along(top[-2], top[-1]));
        default: return put(frame, 3, parts_along(top[-3], top[-2], top[-1]));
    }
}

/* Whether what is computed of an operand is NumPy's. */
static int is_numpys(PyObject *operand) { return PyArray_Check(operand) || PyArray_CheckScalar(operand); }

static PyObject *power(PyObject *a, PyObject *b) { return PyNumber_Power(a, b, Py_None); }

static PyObject *logical_not(PyObject *a) {
    int truth = PyObject_Not(a);
    return truth < 0 ? NULL : PyBool_FromLong(truth);
}

#define NONE -1 /* no ufunc */

/* Have a float beside an array of floats be an array, too, as NumPy does; whether there is no exception. */
static int level(PyObject **operands) {
    for (int i = 0; i < 2; i++) {
        if (!PyFloat_CheckExact(operands[i])) continue;
        PyObject *made = number_like(operands[1 - i], operands[i]);
        if (made != NULL) Py_SETREF(operands[i], made);
        else if (PyErr_Occurred()) return 0;
    }
    return 1;
}

static int binary(Frame *frame, int number) {
    static const struct { binaryfunc function; int ufunc; } operators[] = {
#define BINARY(symbol, function, ufunc) {function, ufunc},
#include "operations.def"
    };
    PyObject **operands = frame->top - 2;
    if (!is_numpys(operands[0]) && !is_numpys(operands[1])) {
        return replace_top(frame, 2, operators[number].function(operands[0], operands[1]));
    }
    int place = operators[number].ufunc;
    if (place != NONE && !level(operands)) return RAISED;
    PyObject *result = place == NONE ? NULL : ufunc_result(PyTuple_GET_ITEM(layout.ufuncs, place), operands, 2);
    if (result == NULL && PyErr_Occurred()) return RAISED;
    if (result == NULL && !frame->called) return LEFT;
    return replace_top(frame, 2, result != NULL ? result : operators[number].function(operands[0], operands[1]));
}

static int unary(Frame *frame, int number) {
    static const struct { unaryfunc function; int ufunc; } operators[] = {
#define UNARY(symbol, function, ufunc) {function, ufunc},
#include "operations.def"
    };
    PyObject **operand = frame->top - 1;
    unaryfunc function = operators[number].function;
    if (function == logical_not || !is_numpys(*operand)) return replace_top(frame, 1, function(*operand));
    int place = operators[number].ufunc;
    PyObject *result = place == NONE ? NULL : ufunc_result(PyTuple_GET_ITEM(layout.ufuncs, place), operand, 1);
    if (result == NULL && PyErr_Occurred()) return RAISED;
    if (result == NULL && !frame->called) return LEFT;
    return replace_top(frame, 1, result != NULL ? result : function(*operand));
}

static int compare(Frame *frame, int number) {
    PyObject **operands = frame->top - 2;
    if (!frame->called && (is_numpys(operands[0]) || is_numpys(operands[1]))) return LEFT;
    static const int kinds[] = {
#define COMPARISON(symbol, number) number,
#include "operations.def"
    };
    return replace_top(frame, 2, PyObject_RichCompare(operands[0], operands[1], kinds[number]));
}

/* -- what is pushed ------------------------------------------------------------------------------------------- */

/* Whether two versions are the same number. */
static int same_version(PyObject *now, PyObject *version) {
    if (now == NULL || version == NULL || !PyLong_CheckExact(now) || !PyLong_CheckExact(version)) return 0;
    return now == version || PyObject_RichCompareBool(now, version, Py_EQ) == 1;
}

/* The array of a Tensor that a Node has saved, where it was not written to since. */
static int push_saved(Frame *frame, const Instruction *at) {
    PyObject *tensor = READ_OWN(frame->local[0], at, at->offset), *version = READ_OWN(frame->local[0], at, at->second);
    if (tensor == Py_None && at->operation == OP_saved_or_none) return push(frame, Py_NewRef(tensor));
    PyObject *storage = READ_TENSOR(tensor, storage), *array = READ_TENSOR(tensor, array);
    if (storage == NULL || version == NULL || !is_array(array)) return LEFT;
    if (storage != Py_None && !same_version(READ(storage, Storage, version), version)) return LEFT;
    return push(frame, Py_NewRef(array));
}

static int push_saved_result(Frame *frame, const Instruction *at) {
    PyObject *array = READ_OWN(frame->local[0], at, at->offset);
    if (!is_array(array) || SLOT(frame->local[0], at->second) != Py_None) return LEFT;
    return push(frame, Py_NewRef(array));
}

/* What a Type keeps for a number: a 0 that is not negative has a place of its own. NULL where that is for Python to say, or
   with an exception. */
static PyObject *kept_number(PyObject *numbers, PyObject *number) {
    PyObject *found = PyDict_GetItemWithError(numbers, number);
    if (found != NULL || PyErr_Occurred()) return Py_XNewRef(found);
    int is_zero = (PyFloat_CheckExact(number) && PyFloat_AS_DOUBLE(number) == 0 && !signbit(PyFloat_AS_DOUBLE(number))) ||
                  number == zero;
    if (is_zero) {
        PyObject *classes = READ(numbers, Numbers, classes);
        if (classes != NULL && PyAnySet_Check(classes) && PySet_Contains(classes, (PyObject *)Py_TYPE(number)) == 1) {
            return Py_XNewRef(SLOT(numbers, layout.zero));
        }
    }
    return PyObject_GetItem(numbers, number);
}

/* The array that a Type keeps for a number. */
static int keep_number(Frame *frame, const Instruction *at) {
    PyObject *type = at->operation == OP_number_of_node ? READ_OWN(frame->local[0], at, layout.node_type) : frame->local[0];
    PyObject *numbers = READ_TYPE(type, numbers);
    if (numbers == NULL || !PyDict_Check(numbers)) return LEFT;
    PyObject *number = *--frame->top;
    Py_INCREF(numbers);
    PyObject *found = kept_number(numbers, number);
    Py_DECREF(numbers);
    Py_DECREF(number);
    if (found == NULL) return PyErr_Occurred() ? failed_call() : LEFT;
    return push(frame, found);
}

static int fetch(Frame *frame, const FastPath *path, const Instruction *at, const Instruction **next) {
    PyObject *found = PyDict_GetItemWithError(at->object, at->key);
    if (found == NULL) return PyErr_Occurred() ? RAISED : LEFT;
    if (at->operation == OP_fetch_kernel && found == Py_None) {
        *next = path->code + at->target;
        return NEXT;
    }
    return push(frame, Py_NewRef(found));
}

/* The Type that a result is of: a new reference. */
static PyObject *type_of_result(const Frame *frame, const Instruction *at, PyObject *array) {
    PyObject *type = frame->local[0];
    if (at->operation == OP_wrap_part) return Py_XNewRef(READ_TENSOR(frame->local[at->number], type));
    if (at->operation == OP_wrap_as) return PyObject_GetAttr(type, at->key);
    if (at->operation == OP_wrap || (PyObject *)PyArray_DESCR((PyArrayObject *)array) == READ_TYPE(type, dtype)) {
        return Py_NewRef(type);
    }
    return PyObject_CallMethodOneArg(type, str_of_array, array);
}

static int wrap(Frame *frame, const Instruction *at) {
    PyObject *array = *--frame->top, *out = NULL, *type = type_of_result(frame, at, array);
    int is_view = at->operation == OP_wrap_view || at->operation == OP_wrap_part;
    if (type != NULL) {
        out = is_view ? wrap_view(frame->local[at->number], array, type, 0) : wrap_array(array, type);
        Py_DECREF(type);
    }
    Py_DECREF(array);
    return push(frame, out);
}

static int as_array(Frame *frame) {
    PyObject *given = frame->top[-1];
    if (is_array(given) || given == Py_None) return NEXT;
    PyObject *made = PyArray_FROM_O(given);
    return replace_top(frame, 1, made);
}

/* Views of the Tensor in a local, of the Type in local 0. */
static int wrap_views(Frame *frame, const Instruction *at) {
    PyObject *arrays = frame->top[-1];
    if (!PyTuple_CheckExact(arrays)) return LEFT;
    PyObject *made = PyTuple_New(PyTuple_GET_SIZE(arrays));
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_GET_SIZE(made); i++) {
        PyObject *array = PyTuple_GET_ITEM(arrays, i), *view = NULL;
        if (is_array(array)) view = wrap_view(frame->local[at->number], array, frame->local[0], 1);
        if (view == NULL) Py_CLEAR(made);
        else PyTuple_SET_ITEM(made, i, view);
    }
    if (made == NULL) return PyErr_Occurred() ? RAISED : LEFT;
    return replace_top(frame, 1, made);
}

static int push_tuple(Frame *frame, Py_ssize_t count) {
    PyObject *made = PyTuple_New(count);
    if (made == NULL) return RAISED;
    frame->top -= count;
    for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(made, i, frame->top[i]);
    return push(frame, made);
}

static int unpack(Frame *frame, Py_ssize_t count) {
    PyObject *items = *--frame->top;
    int fits = PyTuple_Check(items) && PyTuple_GET_SIZE(items) == count;
    for (Py_ssize_t i = count; fits && i > 0; i--) *frame->top++ = Py_NewRef(PyTuple_GET_ITEM(items, i - 1));
    Py_DECREF(items);
    return fits ? NEXT : LEFT;
}

static int push_bounds(Frame *frame, PyObject *value) {
    if (value == NULL || !PySlice_Check(value)) return LEFT;
    PySliceObject *slice = (PySliceObject *)value;
    PyObject *step = slice->step == Py_None ? one : slice->step;
    int usual = (slice->start == Py_None || PyLong_CheckExact(slice->start)) && PyLong_CheckExact(step) &&
                (slice->stop == Py_None || PyLong_CheckExact(slice->stop)) && (slice->start != Py_None || slice->stop != Py_None);
    int overflow;
    if (!usual || PyLong_AsLongAndOverflow(step, &overflow) < 1 || overflow) return LEFT;
    *frame->top++ = Py_NewRef(slice->start);
    *frame->top++ = Py_NewRef(slice->stop);
    return push(frame, Py_NewRef(step));
}

/* A tuple of the arguments that *args has from one on. */
static int push_rest(Frame *frame, const FastPath *path, Py_ssize_t first) {
    Py_ssize_t count = frame->given > first ? frame->given - first : 0;
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyTuple_SET_ITEM(made, i, Py_NewRef(frame->local[path->loose + first + i]));
    }
    return push(frame, made);
}

/* Copy an array into another of the same dtype: 0, or -1 with an exception. */
static int copy_into(PyArrayObject *to, PyArrayObject *from) {
    npy_intp size = PyArray_SIZE(to), step = PyArray_ITEMSIZE(to);
    int simple = PyArray_NDIM(from) == 0 && size <= 4096 && PyArray_ISCARRAY(to) && !PyDataType_REFCHK(PyArray_DESCR(to));
    if (!simple) return PyArray_CopyInto(to, from);
    if (size == 0) return 0;
    memcpy(PyArray_BYTES(to), PyArray_DATA(from), (size_t)step);
    for (npy_intp done = 1; done < size; done *= 2) { /* what is there is copied behind itself */
        npy_intp count = done < size - done ? done : size - done;
        memcpy(PyArray_BYTES(to) + done * step, PyArray_BYTES(to), (size_t)(count * step));
    }
    return 0;
}

/* Whether an array may be written into another as it is: it has the dtype, and the shape or none. */
static int fits_into(PyObject *to, PyObject *from) {
    if (!is_array(to) || !is_array(from)) return 0;
    PyArrayObject *a = (PyArrayObject *)to, *b = (PyArrayObject *)from;
    if (PyArray_DESCR(a) != PyArray_DESCR(b)) return 0;
    if (PyArray_NDIM(b) == 0) return 1;
    return PyArray_NDIM(a) == PyArray_NDIM(b) && PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a));
}

/* store() in runtime/autograd/variable_type_utils.py. Counting the write may run Python's code. */
static int write_array(Frame *frame, const Instruction *at) {
    PyObject *tensor = frame->local[at->number], *from = *--frame->top;
    PyObject *to = Py_XNewRef(READ_TENSOR(tensor, array));
    int result = LEFT;
    if (fits_into(to, from)) {
        frame->writing = begin_write(tensor);
        if (frame->writing == NULL) result = RAISED;
        else if (READ_TENSOR(tensor, array) == to && fits_into(to, from)) {
            result = copy_into((PyArrayObject *)to, (PyArrayObject *)from) < 0 ? failed_call() : NEXT;
        }
    }
    Py_XDECREF(to);
    Py_DECREF(from);
    return result;
}

static int end_write(Frame *frame, const Instruction *at) {
    PyObject *tensor = frame->local[at->number], *views = READ(frame->writing, Storage, views);
    Py_CLEAR(frame->writing);
    if (views == Py_None) return push(frame, Py_NewRef(tensor));
    return push(frame, PyObject_CallOneArg(layout.written, tensor));
}

/* -- steps ---------------------------------------------------------------------------------------------------- */

static int jump_by_top(Frame *frame, const FastPath *path, const Instruction *at, const Instruction **next) {
    PyObject *value = frame->top[-1];
    int truth = value == Py_True ? 1 : value == Py_False || value == Py_None ? 0 : PyObject_IsTrue(value);
    if (truth < 0) return failed_call();
    int jumps = at->operation == OP_jump_or_pop ? truth : !truth;
    if (jumps) *next = path->code + at->target;
    if (!jumps || at->operation == OP_jump_if_not) {
        frame->top--;
        Py_DECREF(value);
    }
    return NEXT;
}

static int operate(Frame *frame, const Instruction *at) {
    PyObject **top = frame->top;
    switch (at->operation) {
        case OP_binary: return binary(frame, at->number);
        case OP_unary: return unary(frame, at->number);
        case OP_compare: return compare(frame, at->number);
        case OP_attribute: return replace_top(frame, 1, PyObject_GetAttr(top[-1], at->key));
        case OP_item: return replace_top(frame, 2, PyObject_GetItem(top[-2], top[-1]));
        case OP_as_tuple: return replace_top(frame, 1, PySequence_Tuple(top[-1]));
        case OP_as_float: return replace_top(frame, 1, PyNumber_Float(top[-1]));
        case OP_none_on_top: return replace_top(frame, 1, PyBool_FromLong(top[-1] == Py_None));
        default: return push_tuple(frame, at->number);
    }
}

static int load(Frame *frame, const Instruction *at) {
    PyObject *value = NULL;
    switch (at->operation) {
        case OP_local: value = frame->local[at->number]; break;
        case OP_type: value = frame->type; break;
        case OP_array: value = READ_TENSOR(frame->local[at->number], array); break;
        case OP_slot: value = READ_OWN(frame->local[0], at, at->offset); break;
        default: value = at->object;
    }
    return value == NULL ? LEFT : push(frame, Py_NewRef(value));
}

/* Have a Type run, borrowed; leave where there is none. */
static int have_run(Frame *frame, PyObject *type) {
    if (type == NULL) return LEFT;
    Py_XSETREF(frame->type, Py_NewRef(type));
    return NEXT;
}

static int change(Frame *frame, const Instruction *at) {
    PyObject *found;
    switch (at->operation) {
        case OP_runs: return have_run(frame, READ_TENSOR(frame->local[at->number], type));
        case OP_runs_all:
            if (frame->local[at->number] == NULL || one_type(frame->local[at->number], &found) <= 0) return LEFT;
            return have_run(frame, found);
        case OP_runs_itself: return have_run(frame, frame->local[at->number]);
        case OP_free:
            found = READ_OWN(frame->local[0], at, at->offset);
            if (found == NULL) return LEFT;
            if (found != Py_None) set_slot(frame->local[0], at->offset, at->object);
            break;
        case OP_pop: frame->top--; Py_DECREF(*frame->top); break;
        case OP_begin_write:
            frame->writing = begin_write(frame->local[at->number]);
            return frame->writing == NULL ? RAISED : NEXT;
        default: /* store */
            frame->top--;
            Py_XSETREF(frame->local[at->number], *frame->top);
    }
    return NEXT;
}

static int step(Frame *frame, const FastPath *path, const Instruction *at, const Instruction **next) {
    switch (at->operation) {
        case OP_local: case OP_type: case OP_array: case OP_constant: case OP_slot: return load(frame, at);
        case OP_arrays: return push(frame, arrays_of(frame->local[at->number]));
        case OP_saved: case OP_saved_or_none: return push_saved(frame, at);
        case OP_rest: return push_rest(frame, path, at->number);
        case OP_unpack: return unpack(frame, at->number);
        case OP_write: return write_array(frame, at);
        case OP_saved_result: return push_saved_result(frame, at);
        case OP_number: case OP_number_of_node: return keep_number(frame, at);
        case OP_fetch: case OP_fetch_kernel: return fetch(frame, path, at, next);
        case OP_call: return call(frame, at->number, 0);
        case OP_call_out: return call(frame, at->number, 1);
        case OP_binary: case OP_unary: case OP_compare: case OP_attribute: case OP_item: case OP_tuple:
        case OP_as_tuple: case OP_as_float: case OP_none_on_top: return operate(frame, at);
        case OP_as_array: return as_array(frame);
        case OP_jump: *next = path->code + at->target; return NEXT;
        case OP_jump_if_not: case OP_jump_or_pop: case OP_jump_or_pop_not: return jump_by_top(frame, path, at, next);
        case OP_wrap: case OP_wrap_as: case OP_wrap_by_dtype: case OP_wrap_view: case OP_wrap_part:
            return is_array(frame->top[-1]) ? wrap(frame, at) : LEFT;
        case OP_wrap_views: return wrap_views(frame, at);
        case OP_record: return record(at->recipe, frame->top[-1], frame->local);
        case OP_method: return call_method(frame, at);
        case OP_invoke: case OP_invoke_method: return invoke(frame, at);
        case OP_rows: case OP_length_of_rows: case OP_number_like: case OP_view: case OP_scale: case OP_reshape:
        case OP_join: case OP_stack:
        case OP_with_dim: case OP_without_dim: case OP_with_dims_exchanged: case OP_with_dims_ordered: case OP_at_index:
        case OP_in_range: case OP_expand: case OP_at_key: case OP_each_along: case OP_parts_along:
        case OP_restride: return compute(frame, at);
        case OP_end_write: return end_write(frame, at);
        case OP_bounds: return push_bounds(frame, frame->local[at->number]);
        case OP_leave: return LEFT;
        default: return change(frame, at);
    }
}

static PyObject *run(const FastPath *path, Frame *frame) {
    const Instruction *at = path->code;
    for (;;) {
        const Instruction *next = at + 1;
        if (at->operation < FIRST_STEP) {
            int holds = test(frame, at);
            if (holds < 0) return NULL;
            if (holds == (int)at->second) next = path->code + at->target;
        } else if (at->operation == OP_give) {
            return *--frame->top;
        } else if (step(frame, path, at, &next) != NEXT) {
            return NULL;
        }
        at = next;
    }
}

/* -- frames --------------------------------------------------------------------------------------------------- */

/* Put keyword arguments where the parameters of these names are; whether that was possible. -1: an exception. */
static int place_keywords(const FastPath *path, Frame *frame, PyObject *const *values, PyObject *names) {
    if (path->loose >= 0) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        int place = 0;
        while (place < path->parameters && PyTuple_GET_ITEM(path->names, place) != name) place++;
        if (place == path->parameters || frame->local[place] != NULL) return 0;
        frame->local[place] = values[i];
    }
    return 1;
}

/* Fill the parameters; whether the arguments are such as the fast path takes. */
static int place_arguments(const FastPath *path, Frame *frame, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    if (count > path->positional) return 0;
    for (Py_ssize_t i = 0; i < count; i++) frame->local[i] = args[i];
    for (int i = (int)count; i < frame->kept; i++) frame->local[i] = NULL;
    frame->given = path->loose < 0 ? count : count - path->loose;
    if (names != NULL && PyTuple_GET_SIZE(names) && !place_keywords(path, frame, args + count, names)) return 0;
    for (int i = (int)count; i < path->parameters; i++) {
        if (frame->local[i] != NULL) continue;
        PyObject *value = PyTuple_GET_ITEM(path->defaults, i);
        if (value != required) frame->local[i] = value;
        else if (path->loose < 0 || i < path->loose) return 0;
    }
    return 1;
}

PyObject *fast_path_run(FastPath *path, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    Frame frame;
    frame.kept = path->parameters;
    if (!place_arguments(path, &frame, args, count, names)) return NULL;
    for (int i = frame.kept; i < frame.kept + path->locals; i++) frame.local[i] = NULL;
    frame.type = frame.writing = NULL;
    frame.called = 0;
    PyObject **bottom = frame.top = frame.stack + 1; /* a place before it is for call_method */
    PyObject *result = run(path, &frame);
    int failed = 0;
    if (frame.writing != NULL) {
        /* After an interrupt the write may have been done: it stays counted, as in Python. */
        if (!PyErr_Occurred()) failed = take_back_write(frame.writing) < 0;
        Py_CLEAR(frame.writing);
    }
    while (frame.top > bottom) Py_DECREF(*--frame.top);
    for (int i = frame.kept; i < frame.kept + path->locals; i++) Py_XDECREF(frame.local[i]);
    Py_XDECREF(frame.type);
    if (failed) Py_CLEAR(result);
    return result;
}
