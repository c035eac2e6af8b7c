"""The version of tengen, and what PyTorch's programs look for there."""

__version__ = "0.1.0"

#: The version of PyTorch whose behaviour this is.
torch_version = "2.13.0"
#: CUDA, ROCm and Intel's libraries that were built against: none.
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
debug = False
git_version = "Unknown"
