/* BLAS products whose terms are added in an order that depends on the sizes and on how the operands lie in memory.

   Any BLAS may do so, and some do: what compares two such sums with == fails with this one on every machine, in one order
   or another; TENGEN_TEST_ORDER, a number, is which. It stands before that of NumPy's wheels (LD_PRELOAD):
   python dev.py machines reordered1 reordered2. */
#ifndef NUMBER
#include <complex.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef int64_t Size;
enum { ROWS_FIRST = 101, PLAIN = 111, CONJUGATED = 113, UPPER = 121 };

/* What decides the order: the terms of a block, which one is the first, and whether the next is the one before. */
typedef struct {
    Size block, first;
    int backwards;
} Order;

static Order order_of(Size terms, Size a, Size b, int kind) {
    const char *given = getenv("TENGEN_TEST_ORDER");
    uint64_t hash = ((uint64_t)terms << 8 ^ (given == NULL ? 0 : (uint64_t)atoi(given))) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ (hash >> 29) ^ (uint64_t)a * 0xBF58476D1CE4E5B9u) * 0x94D049BB133111EBu;
    hash = (hash ^ (hash >> 31) ^ (uint64_t)b * 0x2545F4914F6CDD1Du ^ (uint64_t)kind) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    /* Blocks of about the root of many terms: no sum is much less accurate than others. */
    Size block = terms < 64 ? 1 + (Size)(hash % 4) : 16 + (Size)(hash % 32);
    return (Order){block, terms > 0 ? (Size)((hash >> 8) % (uint64_t)terms) : 0, hash >> 40 & 1};
}

static Size place(Order order, Size terms, Size number) {
    Size at = (order.first + number) % terms;
    return order.backwards ? terms - 1 - at : at;
}

#define JOINED(a, b, c) a##b##c
#define NAMED(letter, name) JOINED(scipy_cblas_, letter, name##64_)

#define NUMBER float
#define LETTER s
#define GIVEN float
#define VALUE(given) (given)
#define CONJ(x) (x)
#include "reordered.c"
#define NUMBER double
#define LETTER d
#define GIVEN double
#define VALUE(given) (given)
#define CONJ(x) (x)
#include "reordered.c"
#define IS_COMPLEX
#define NUMBER float complex
#define LETTER c
#define GIVEN const void *
#define VALUE(given) (*(const NUMBER *)(given))
#define CONJ(x) conjf(x)
#include "reordered.c"
#define NUMBER double complex
#define LETTER z
#define GIVEN const void *
#define VALUE(given) (*(const NUMBER *)(given))
#define CONJ(x) conj(x)
#include "reordered.c"

#else /* for each of the types */

#define OWN_(letter, name) JOINED(letter, _, name)
#define OWN(letter, name) OWN_(letter, name)
#define BLAS(letter, name) NAMED(letter, name)

/* The sum of products of two vectors: blocks of terms, then what these come to. */
static NUMBER OWN(LETTER, sum)(Order order, Size terms, const NUMBER *a, Size step_a, int conj_a, const NUMBER *b, Size step_b,
                               int conj_b) {
    NUMBER total = 0, block = 0;
    for (Size i = 0; i < terms; i++) {
        Size at = place(order, terms, i);
        NUMBER x = a[at * step_a], y = b[at * step_b];
        block += (conj_a ? CONJ(x) : x) * (conj_b ? CONJ(y) : y);
        if ((i + 1) % order.block == 0) {
            total += block;
            block = 0;
        }
    }
    return total + block;
}

static const NUMBER *OWN(LETTER, start)(const NUMBER *x, Size count, Size step) { return step < 0 ? x - (count - 1) * step : x; }

static void OWN(LETTER, put)(NUMBER *to, NUMBER found, GIVEN alpha, GIVEN beta) {
    *to = VALUE(beta) == 0 ? VALUE(alpha) * found : VALUE(alpha) * found + VALUE(beta) * *to;
}

void BLAS(LETTER, gemm)(int order, int trans_a, int trans_b, Size m, Size n, Size k, GIVEN alpha, const NUMBER *a, Size lda,
                        const NUMBER *b, Size ldb, GIVEN beta, NUMBER *c, Size ldc) {
    int by_rows = order == ROWS_FIRST, rows_a = by_rows == (trans_a == PLAIN), rows_b = by_rows == (trans_b == PLAIN);
    Order chosen = order_of(k, m * 4 + trans_a, n * 4 + trans_b, 1);
    for (Size i = 0; i < m; i++) {
        for (Size j = 0; j < n; j++) {
            NUMBER found = OWN(LETTER, sum)(chosen, k, a + i * (rows_a ? lda : 1), rows_a ? 1 : lda, trans_a == CONJUGATED,
                                            b + j * (rows_b ? 1 : ldb), rows_b ? ldb : 1, trans_b == CONJUGATED);
            OWN(LETTER, put)(c + (by_rows ? i * ldc + j : j * ldc + i), found, alpha, beta);
        }
    }
}

void BLAS(LETTER, gemv)(int order, int trans, Size m, Size n, GIVEN alpha, const NUMBER *a, Size lda, const NUMBER *x, Size step_x,
                        GIVEN beta, NUMBER *y, Size step_y) {
    Size rows = trans == PLAIN ? m : n, terms = trans == PLAIN ? n : m;
    int along = (order == ROWS_FIRST) == (trans == PLAIN);
    Order chosen = order_of(terms, rows * 4 + trans, step_x, 2);
    x = OWN(LETTER, start)(x, terms, step_x);
    y = (NUMBER *)OWN(LETTER, start)(y, rows, step_y);
    for (Size i = 0; i < rows; i++) {
        NUMBER found = OWN(LETTER, sum)(chosen, terms, a + i * (along ? lda : 1), along ? 1 : lda, trans == CONJUGATED, x, step_x, 0);
        OWN(LETTER, put)(y + i * step_y, found, alpha, beta);
    }
}

void BLAS(LETTER, syrk)(int order, int uplo, int trans, Size n, Size k, GIVEN alpha, const NUMBER *a, Size lda, GIVEN beta,
                        NUMBER *c, Size ldc) {
    int by_rows = order == ROWS_FIRST, along = by_rows == (trans == PLAIN);
    Order chosen = order_of(k, n * 4 + trans, lda, 3);
    Size next = along ? lda : 1, step = along ? 1 : lda;
    for (Size i = 0; i < n; i++) {
        for (Size j = uplo == UPPER ? i : 0; j < (uplo == UPPER ? n : i + 1); j++) {
            NUMBER found = OWN(LETTER, sum)(chosen, k, a + i * next, step, 0, a + j * next, step, 0);
            OWN(LETTER, put)(c + (by_rows ? i * ldc + j : j * ldc + i), found, alpha, beta);
        }
    }
}

static NUMBER OWN(LETTER, of_vectors)(Size n, const NUMBER *x, Size step_x, int conj_x, const NUMBER *y, Size step_y) {
    Order chosen = order_of(n, step_x, step_y, 4);
    return OWN(LETTER, sum)(chosen, n, OWN(LETTER, start)(x, n, step_x), step_x, conj_x, OWN(LETTER, start)(y, n, step_y), step_y, 0);
}

#ifdef IS_COMPLEX
void BLAS(LETTER, dotu_sub)(Size n, const NUMBER *x, Size step_x, const NUMBER *y, Size step_y, NUMBER *to) {
    *to = OWN(LETTER, of_vectors)(n, x, step_x, 0, y, step_y);
}
void BLAS(LETTER, dotc_sub)(Size n, const NUMBER *x, Size step_x, const NUMBER *y, Size step_y, NUMBER *to) {
    *to = OWN(LETTER, of_vectors)(n, x, step_x, 1, y, step_y);
}
#else
NUMBER BLAS(LETTER, dot)(Size n, const NUMBER *x, Size step_x, const NUMBER *y, Size step_y) {
    return OWN(LETTER, of_vectors)(n, x, step_x, 0, y, step_y);
}
#endif

#undef NUMBER
#undef LETTER
#undef GIVEN
#undef VALUE
#undef CONJ
#undef OWN
#undef OWN_
#undef BLAS
#endif
