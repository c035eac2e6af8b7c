"""What work costs: how much of it is a block, is worth a thread, or is worth another way of doing it.

The figures were measured on usual x86-64 processors. Which way a kernel goes depends on dtype, shape and
layout alone, by these. Counts are of elements where nothing else is said.
"""

from __future__ import annotations

from typing import Final

# -- blocks, and what is worth a thread ------------------------------------------------------------

#: Arrays of so many elements are computed in blocks by generated code, where that is worth it.
LARGE: Final = 1 << 17
#: Blocks are multiples of so many elements, or columns: an element shares its vector register with the same
#: others as it does without blocks, and a line of the cache.
VECTOR: Final = 64
#: The bytes of a block of the widest operand. As few as leave room in the cache for what is computed of them,
#: and as many as make what Python does for each block not count.
BLOCK_BYTES: Final = 1 << 18
#: Where blocks are counted in elements, so many: of five arrays, as updates of optimisers have, they fill
#: half of a usual second-level cache. So many elements of such work are worth a thread, or a block of a scan.
CHUNK: Final = 1 << 15
GRAIN: Final = 1 << 16
#: Native kernels: the elements of which one sum of all is formed.
NATIVE_GRAIN: Final = 1 << 17
#: So many elements of native kernels that compute functions or wait for what they read are worth waking a
#: thread of Python's, which takes some 60 us. So many are shared out to those of the C machine's threads that
#: are awake, as they are for 0.2 ms after some work; so many are worth waking them.
NATIVE_THREAD: Final = 1 << 18
NATIVE_SHARED: Final = 1 << 16
NATIVE_WAKES: Final = 3 << 16
#: Of kernels that take little longer than memory does so many times more are.
LIGHT: Final = 4
#: A thread takes about so many shares.
SHARES: Final = 4
#: Work on rows: arrays with more elements go in blocks.
ROWS_LARGE: Final = 1 << 16
#: So few elements NumPy adds as fast as native kernels do.
SUM_WHOLE: Final = 2048
#: Sums of columns without a native kernel: the longest chain of additions.
SUM_ROWS: Final = 512
#: Up to so many rows OpenBLAS is faster, with its kernels for AVX-512 by two to three times, if the weight of
#: ``linear`` is the first factor; for products of fewer multiplications than these it has a way of its own.
LINEAR_FEW_ROWS: Final = 32
LINEAR_LEAST: Final = 1 << 18
#: Before the first product with a matrix of so many elements the memory of BLAS is touched.
BLAS_TOUCHED_FROM: Final = 1 << 11
#: Columns of a convolution; however many rows they have, so many are multiplied at once.
COLUMNS_CHUNK: Final = 1 << 18
COLUMNS_LEAST: Final = 64
#: Of pooled windows that see so few elements altogether the maxima are found one by one.
WINDOWS_FEW: Final = 1 << 12
#: From so many channels on it pays that these stand last.
COLUMNS_CHANNELS: Final = 8

# -- what BLAS does in the thread that calls it ------------------------------------------------------
# More it shares among its threads, and where it cuts decides of the last bits.

#: The elements of a matrix, or of vectors, that are multiplied by a vector.
GEMV_ALONE: Final = 8192

#: Bytes that come from memory together. Copies of transposed arrays go in strips as wide where the elements
#: of a column are multiples of a period apart, for which caches have few places, or on more pages than
#: processors find at once: of so many bytes, a page being two periods.
CACHE_LINE: Final = 64
CACHE_PERIOD: Final = 1 << 11
MAPPED: Final = 5 << 20
#: Up to so many elements native kernels go along rows that are not contiguous; of more these are copied.
STRIDED_ROWS: Final = 1 << 10

# -- from where on another way pays --------------------------------------------------------------------

#: Scans of so many elements may run side by side: so many lanes, or the parts of lanes that are as long, are
#: faster than ``accumulate``.
SCAN_LARGE: Final = 1 << 13
LANES: Final = 128
#: What costs more to set up than a stable sort pays: sorting by keys, unstable sorts, partitions.
SORT_LARGE: Final = 1 << 10
#: Lanes of at most this many elements are put in order by keys, to find the first few.
SORT_SHORT: Final = 1 << 14
#: Finding flat positions first pays, and so do native kernels that read and write at indices.
INDEX_LARGE: Final = 1 << 12
#: SciPy's loops for scattered additions are loaded, which takes a tenth of a second.
SCATTER_LOAD: Final = 1 << 15
#: A choice by arithmetic on bits is faster than ``np.where``.
SELECT_LARGE: Final = 4096
#: Rows in several parts, as channels of batches are, are done where they lie if parts have so many places.
CHANNEL_PLACES: Final = 16
#: Larger gradients are reduced at once: memory is what they cost, not calls.
DEFERRED_SMALL: Final = 1 << 14
#: Gradients of up to so many elements are put together for their norm, for a call costs more than that.
NORM_SMALL: Final = 4096
