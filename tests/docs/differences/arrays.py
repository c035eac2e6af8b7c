"""The claims of the section "Arrays from outside"."""

from __future__ import annotations

from pickle import UnpicklingError

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
NUMPY_FILE = """
import io
file = io.BytesIO()
m.save(np.arange(2.0), file)
file.seek(0)
m.load(file).tolist()
"""
DAMAGED_FILE = """
import io
file = io.BytesIO()
m.save(m.tensor([1.0]), file)
data = file.getvalue()
m.load(io.BytesIO(data.replace(b"\\0\\0\\x80?", b"\\0\\0\\0@"))).tolist()
"""
COMPRESSED_FILE = """
import io, zipfile
file, other = io.BytesIO(), io.BytesIO()
m.save(m.ones(2), file)
with zipfile.ZipFile(file) as found, zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as made:
    for name in found.namelist():
        made.writestr(name, found.read(name))
other.seek(0)
m.load(other).tolist()
"""
OLD_FILE = """
import io
file = io.BytesIO()
m.save(m.ones(2), file, _use_new_zipfile_serialization=False)
file.seek(0)
m.load(file).tolist()
"""
HUB = """
import inspect
inspect.signature(m.hub.load_state_dict_from_url).parameters["weights_only"].default
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
    Claim("Files", NUMPY_FILE, [0.0, 1.0], UnpicklingError),
    Claim("Files", DAMAGED_FILE, UnpicklingError, [2.0]),
    Claim("Files", COMPRESSED_FILE, UnpicklingError, [1.0, 1.0]),
    Claim("Files", OLD_FILE, RuntimeError, [1.0, 1.0]),
    Claim("Files", HUB, True, False),
    Claim("Files", SHARING, True, False),
]
