"""Names of PyTorch's that begin with an underscore, or are in no list, and that packages use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import tengen
from tengen import nn
from tengen.nn.modules.module import _IncompatibleKeys
from tengen.nn.parallel.distributed import DistributedDataParallel, _find_tensors
from tengen.serialization import MAP_LOCATION
from tengen.torch_private import KEPT, MODULES
from tengen.utils import _foreach_utils
from tengen.utils.data import DataLoader, IterableDataset, _utils
from tengen.utils.data.dataloader import (
    _BaseDataLoaderIter,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)


def test_what_load_state_dict_gives() -> None:
    keys = nn.Linear(1, 1).load_state_dict({}, strict=False)
    assert type(keys) is _IncompatibleKeys and keys.missing_keys == ["weight", "bias"]


def test_the_class_of_distributed_training_can_be_named_and_not_made() -> None:
    assert nn.parallel.DistributedDataParallel is DistributedDataParallel
    assert not isinstance(nn.Linear(1, 1), DistributedDataParallel)
    with pytest.raises(RuntimeError, match="init_process_group is not available"):
        DistributedDataParallel(nn.Linear(1, 1))


def test_tensors_are_found_in_what_holds_them() -> None:
    @dataclass
    class Held:
        x: Any
        y: int = 2

    a, b, c = tengen.ones(1), tengen.ones(2), tengen.ones(3)
    assert [t.numel() for t in _find_tensors([a, (b, {"k": Held(c)}), "x", None])] == [1, 2, 3]


class Long(IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter(range(5))

    def __len__(self) -> int:
        return 3


def test_iterators_of_loaders_have_their_classes() -> None:
    made = iter(DataLoader(list(range(5)), batch_size=2))
    assert isinstance(made, _SingleProcessDataLoaderIter) and isinstance(made, _BaseDataLoaderIter)
    assert len(made) == 3 and iter(made) is made and next(made).tolist() == [0, 1]
    loader = DataLoader(list(range(5)), num_workers=1, persistent_workers=True)
    assert isinstance(iter(loader), _MultiProcessingDataLoaderIter)


@pytest.mark.parametrize("workers", [0, 1])
def test_an_iterator_warns_of_more_than_was_promised_in_every_epoch(workers: int) -> None:
    loader = DataLoader(Long(), num_workers=workers, persistent_workers=bool(workers))
    for _ in range(2):
        made = iter(loader)
        assert isinstance(made, _BaseDataLoaderIter) and [int(next(made)) for _ in range(3)] == [0, 1, 2]
        for count in (4, 5):
            with pytest.warns(UserWarning, match=f"reported to be 3 .* but {count} samples"):
                next(made)


def test_functions_of_collation_are_extended() -> None:
    def longest(batch: Any, *, collate_fn_map: Any = None) -> int:
        return max(map(len, batch))

    functions = {**_utils.collate.default_collate_fn_map, str: longest}
    assert _utils.collate.collate(["a", "bcd"], collate_fn_map=functions) == 3
    found = _utils.collate.collate_tensor_fn([tengen.ones(2), tengen.zeros(2)])
    assert found.tolist() == [[1, 1], [0, 0]]


def test_groups_of_tensors() -> None:
    a, b, c = tengen.ones(1), tengen.ones(2, dtype=tengen.float64), tengen.ones(3)
    made = _foreach_utils._group_tensors_by_device_and_dtype([[a, b, c], [None, b, None], []], True)
    cpu = tengen.device("cpu")
    (first, rest, none), at = made[cpu, tengen.float32]
    assert first[0] is a and first[1] is c and rest == [None, None] and none == [] and at == [0, 2]
    assert made[cpu, tengen.float64][1] == [1]
    wrong: list[Any] = [[], [[]], [[a], [a, b]], [[None]]]
    for lists in wrong:
        with pytest.raises(RuntimeError, match="first"):
            _foreach_utils._group_tensors_by_device_and_dtype(lists)
    assert _foreach_utils._has_foreach_support([a, None], cpu)
    assert not _foreach_utils._has_foreach_support([nn.Parameter(a)], cpu)
    assert not _foreach_utils._has_foreach_support([a], tengen.device("meta"))


def test_functions_that_only_a_tracer_reads_are_identities() -> None:
    wrap, compatibility = KEPT["torch.fx"]["wrap"], KEPT["torch.fx._compatibility"]["compatibility"]
    assert wrap(len) is len and wrap("len") == "len"
    assert compatibility(is_backward_compatible=False)(len) is len
    with pytest.raises(RuntimeError, match="callable or string name, got int"):
        wrap(3)


def test_what_module_to_is_asked_for() -> None:
    content = MODULES["torch._C._nn"]
    assert callable(content)
    names = content()
    found = names["_parse_to"]("cpu", tengen.float64, non_blocking=True)
    assert found == (tengen.device("cpu"), tengen.float64, True, None)
    assert names["_parse_to"](tengen.float16)[:2] == (None, tengen.float16)
    assert names["gelu"] is nn.functional.gelu
    annotations = MODULES["torch.jit.annotations"]
    assert callable(annotations) and annotations()["BroadcastingList2"][int]


def test_where_storages_go_has_a_type() -> None:
    assert isinstance("cpu", MAP_LOCATION.__args__[2])  # type: ignore[union-attr]


def test_what_tells_tensors_of_vmap_from_others() -> None:
    content = MODULES["torch._C._functorch"]
    assert callable(content)
    names = content()
    x = tengen.ones(2, 3, 4)
    seen: list[Any] = []

    def look(t: tengen.Tensor) -> tengen.Tensor:
        seen.append([names[f](t) for f in ("maybe_get_bdim", "maybe_get_level", "is_batchedtensor")])
        seen.append(tuple(names["get_unwrapped"](t).shape))
        return t

    tengen.vmap(tengen.vmap(look, 1), 1)(x)
    assert seen == [[1, 2, True], (2, 4)]
    assert [names[f](x) for f in ("maybe_get_bdim", "maybe_get_level", "is_batchedtensor")] == [-1, -1, False]
    with pytest.raises(RuntimeError, match="no wrapper"):
        names["get_unwrapped"](x)


def test_operators_in_cpp_are_not_loaded_and_memory_is_not_pinned() -> None:
    with pytest.raises(OSError, match=r"ops\.load_library.*lib\.so.*libtorch"):
        tengen.ops.load_library("lib.so")
    with pytest.raises(RuntimeError, match="Cannot access accelerator device"):
        tengen.ops.aten._pin_memory.default(tengen.ones(1))
