/* What is known of native kernels: kernels.c. */
#ifndef TENGEN_KERNELS_H
#define TENGEN_KERNELS_H

#include "fast_paths.h"

/* Operands and results of a native kernel of rows at most, and of any. */
#define MOST_ROWS 10
#define MOST_OF_KERNEL 32

/* What small arrays need: the loops for floats and doubles alone, of a kernel over elements with one result or over rows,
   of which each operand and result is a row or a number, and results may be of a type of their own. */
typedef struct {
    void *loops[2];
    void *columns[2]; /* the same of rows side by side, of another kernel; NULL where none is known */
    npy_intp most; /* so many elements are for threads */
    int operands, results; /* 0 of one over elements */
    char is_row[MOST_ROWS];
    int types[MOST_ROWS]; /* -1: floats or doubles */
} Native;

int kernels_import(void);
int find_native(PyObject *ufunc, Native *found);
void *native_loop(PyObject *ufunc, PyArrayObject *const *arrays, int operands);

#endif
