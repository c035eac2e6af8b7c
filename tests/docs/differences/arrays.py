"""The claims of the section "Arrays from outside"."""

from __future__ import annotations

from differences.claim import Claim

ARRAY = """
class Data:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)
"""
READ_ONLY = """
array = np.arange(3.0)
array.flags.writeable = False
m.from_numpy(array).add_(1).tolist()
"""
SHARING = """
import pickle
x = m.ones(4)
a, b = pickle.loads(pickle.dumps([x, x[1:]]))
a.data_ptr() + 4 == b.data_ptr()
"""
FILE = """
import io
file = io.BytesIO()
m.save(m.ones(2), file)
file.getvalue()[:2]
"""
CLAIMS = [
    Claim("Data", ARRAY + "m.tensor(Data()).tolist()", [0.0, 1.0, 2.0], RuntimeError),
    Claim("bfloat16 arrays", "m.ones(2, dtype=m.bfloat16).numpy().dtype.name", "bfloat16", TypeError),
    Claim(
        "bfloat16 arrays",
        "import ml_dtypes\nm.from_numpy(np.ones(1, ml_dtypes.bfloat16)).tolist()",
        [1.0],
        TypeError,
    ),
    Claim("Read-only memory", READ_ONLY, ValueError, [1.0, 2.0, 3.0]),
    Claim(
        "Read-only memory", "m.frombuffer(b'abc', dtype=m.uint8).add_(1).tolist()", ValueError, [98, 99, 100]
    ),
    Claim("NumPy's comparisons", "np.equal(m.ones(2), m.ones(2)).dtype == m.bool", True, False),
    Claim("Notebooks", "hasattr(m.ones(2), '_repr_html_')", True, False),
    Claim(
        "Hashes",
        "x = m.ones(2)\n[hash(x) == object.__hash__(x), hash(x) == id(x)]",
        [True, False],
        [False, True],
    ),
    Claim("Files", FILE, b"\x80\x04", b"PK"),
    Claim("Files", SHARING, True, False),
]
