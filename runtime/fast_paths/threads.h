/* Threads that need no interpreter: threads.c. */
#ifndef TENGEN_THREADS_H
#define TENGEN_THREADS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if !defined(_WIN32) && defined(__GNUC__)
#define HAS_THREADS
#endif

/* Works on the numbers from begin to before end. It must not need the interpreter. */
typedef void (*Work)(void *argument, Py_ssize_t begin, Py_ssize_t end);

/* Work on the numbers below a size in shares of so many, in at most so many threads; on all of them in this one where
   the others have another caller's job. Those that sleep are waked, or not. */
void in_threads(Work work, void *argument, Py_ssize_t size, Py_ssize_t share, int threads, int wakes);
int threads_import(void);

#endif
