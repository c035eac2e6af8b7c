/* What machine.c and tests.c share. */
#ifndef TENGEN_MACHINE_H
#define TENGEN_MACHINE_H

#include "fast_paths.h"

enum {
#define OPERATION(name, operands, stack, jump, meaning) OP_##name,
#include "operations.def"
    OPERATION_COUNT
};

/* What local 0 has in a slot of the class of Nodes that an instruction is for, or of a base of that. */
#define READ_OWN(node, at, offset) READ_AT(node, (PyTypeObject *)(at)->key, offset)

/* Those before it are tests. */
#define FIRST_STEP OP_runs

/* Whether a test holds: 1, 0, or -1, with an exception or where the fast path is to be left. */
int test(const Frame *frame, const Instruction *at);

#endif
