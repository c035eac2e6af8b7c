"""The base of all distributions: shapes, validation of parameters and values, and what each may give."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tengen.generated.functions import exp

from ..autograd.grad_mode import no_grad
from ..core.size import Size
from ..core.user_stack import program_stacklevel
from ..tensors.tensor import Tensor
from .constraints import Constraint, is_dependent
from .utils import all_valid, lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution, or a batch of them.

    ``batch_shape`` is the shape of the batch, ``event_shape`` that of a sample of one distribution.
    ``validate_args`` says whether parameters and values are checked; None takes the default
    (``set_default_validate_args``), which is True unless Python runs with ``-O``.

    ValueError of parameters that their constraints (``arg_constraints``) do not allow.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions that are not told check parameters and values. ValueError of no bool."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args(): value must be True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Size = Size(),
        event_shape: Size = Size(),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        """ValueError of the first parameter that its constraint does not allow."""
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=program_stacklevel(),
            )
            return
        for name, constraint in arg_constraints.items():
            if is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # what follows from another parameter, and is not computed for this
            value = getattr(self, name)
            if not all_valid(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) "
                    f"of distribution {self!r} to satisfy the constraint {constraint!r}, "
                    f"but found invalid values:\n{value}"
                )

    # -- what there is of a distribution

    def expand(self, batch_shape: Iterable[int], _instance: Any = None) -> Any:
        """The same, expanded to ``batch_shape``: with views of the parameters, which are not checked."""
        raise NotImplementedError

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a sample of one distribution."""
        return self._event_shape

    if TYPE_CHECKING:  # in subclasses these are attributes of the class, or properties
        arg_constraints: Any
        support: Any
    else:

        @property
        def arg_constraints(self) -> dict[str, Constraint]:
            """The constraints of the parameters, by name."""
            raise NotImplementedError

        @property
        def support(self) -> Constraint | None:
            """The constraint of the samples."""
            raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """Where the density, or the probability, is largest. NotImplementedError where no class says so."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each number of a sample."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each number of a sample."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Iterable[int] = Size()) -> Tensor:
        """A sample of shape ``sample_shape + batch_shape + event_shape``, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Iterable[int] = Size()) -> Tensor:
        """As ``sample``, with gradients to the parameters, where ``has_rsample`` is True."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Deprecated: ``sample((n,))``."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            category=FutureWarning,
            stacklevel=program_stacklevel(),
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at ``value``."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of samples up to ``value``."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """Where ``cdf`` is ``value``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dimension.

        The rest of the shape is ``batch_shape + event_shape``; with ``expand=False`` the batch's sizes are 1.
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, of shape ``batch_shape``."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy, of shape ``batch_shape``."""
        return exp(self.entropy())

    # -- what subclasses call

    def _extended_shape(self, sample_shape: Iterable[int] = Size()) -> Size:
        """``sample_shape + batch_shape + event_shape``."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Tensor) -> None:
        """ValueError of a value whose shape does not fit, or that is outside the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, own = value.size(), self._batch_shape + self._event_shape
        if shape[len(shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}."
            )
        for given, expected in zip(reversed(shape), reversed(own), strict=False):
            if given not in (1, expected) and expected != 1:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {own}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=program_stacklevel(),
            )
            return
        if not all_valid(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, "
                f"but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        """What ``expand`` of ``cls`` fills: ``_instance``, or a new instance of the same class.

        NotImplementedError of a subclass with an ``__init__`` of its own: it has to say what it keeps.
        """
        if _instance is not None:
            return _instance
        own = type(self)
        if own.__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {own.__name__} of {cls.__name__} that defines a custom __init__ method "
                "must also define a custom .expand() method."
            )
        return own.__new__(own)

    def __repr__(self) -> str:
        given = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        parts = [f"{name}: {v if v.numel() == 1 else v.size()}" for name, v in given.items()]
        return f"{type(self).__name__}({', '.join(parts)})"
