"""Meta kernels that the declarations around the bad ones name. Never imported."""


def meta_cat(tensors, dim): ...


def meta_softplus_forward(self, beta): ...


def meta_softplus_backward(grad_output, self, beta): ...
