/* What machine.c and tests.c share. */
#ifndef TENGEN_MACHINE_H
#define TENGEN_MACHINE_H

#include "accelerator.h"
#include "operations.h"

#define NUMBERED(name) OP_##name,
enum { OPERATIONS(NUMBERED) OPERATION_COUNT };
#undef NUMBERED

/* Those before it are tests. */
#define FIRST_STEP OP_runs

/* Whether a test holds: 1, 0, or -1 with an exception. */
int test(const Frame *frame, const Instruction *at);

#endif
