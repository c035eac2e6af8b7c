"""Kernels of the backend Meta: shapes only."""

from tengen.kernels.meta.backend import empty

from splines.kernels.scaling import check_dimensions


def same_shape(self, *others):
    """As the tensor itself."""
    return empty(self.shape, self.dtype)


def scaled_shapes(self):
    """What ``rms_scale_forward`` gives."""
    check_dimensions(self)
    return empty(self.shape, self.dtype), empty((*self.shape[:-1], 1), self.dtype)
