"""Dispatch keys, PyTorch's names for what a function is registered for: those that mean something here."""

from __future__ import annotations

from typing import Final

from tengen.generated.backends import BACKENDS

from ..core.device import device

#: A function for all backends that have none of their own.
EXPLICIT: Final = "CompositeExplicitAutograd"
#: A function that is made of operators, which are differentiated, batched and recorded in its place.
IMPLICIT: Final = "CompositeImplicitAutograd"
#: What an operator does where gradients are recorded; with a backend's name behind it, for that one alone.
AUTOGRAD: Final = "Autograd"


def checked(key: str) -> str:
    """The key; RuntimeError for one that means nothing here."""
    if key in (EXPLICIT, IMPLICIT) or key.removeprefix(AUTOGRAD) in ("", *BACKENDS):
        return key
    known = ", ".join((*BACKENDS, AUTOGRAD, *[AUTOGRAD + name for name in BACKENDS], EXPLICIT, IMPLICIT))
    raise RuntimeError(f"could not parse dispatch key: {key} (known: {known})")


def is_alias(key: str) -> bool:
    """Whether it is a key that stands for several: what is registered for it is run for these."""
    return key in (EXPLICIT, IMPLICIT, AUTOGRAD)


def is_key(name: str) -> bool:
    """Whether a name is a key, and not a kind of devices."""
    try:
        checked(name)
    except RuntimeError:
        return False
    return True


def key_of_device(kind: str) -> str:
    """The key of a kind of devices, which is its backend's name; RuntimeError where no backend has them."""
    from ..core.device import DEVICES

    return DEVICES[device(kind).type]


def is_without_data(key: str) -> bool:
    """Whether it is the key of a backend whose tensors have no elements."""
    return key in BACKENDS and not BACKENDS[key]["data"]


def without_data() -> str:
    """The key of the backend whose tensors have no elements: fake functions are its."""
    return next(name for name in BACKENDS if is_without_data(name))
