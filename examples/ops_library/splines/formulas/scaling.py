"""What the derivatives of ``rms_scale`` call: functions of tensors, which are differentiated in turn."""


def rms_scale_curvature(a, b, self, rms):
    """The second derivative of ``rms_scale``, applied to two directions."""

    def mean(x):
        return x.mean(-1, keepdim=True)

    linear = mean(a * b) * self + mean(b * self) * a + mean(a * self) * b
    return 3 * mean(a * self) * mean(b * self) * self / rms**5 - linear / rms**3
