"""Generators: seeds and states."""

from __future__ import annotations

import copy
import pickle

import pytest

import tengen


def draw(generator=None):
    return tengen.rand([3], generator=generator).tolist()


def test_seeded_generators_agree():
    a, b = tengen.Generator(), tengen.Generator("cpu")
    assert a.initial_seed() == b.initial_seed() == 67280421310721 and a.device == tengen.device("cpu")
    assert draw(a) == draw(b) != draw(a)
    assert a.manual_seed(3) is a
    first = draw(a)
    assert draw(a.manual_seed(3)) == first != draw(a.manual_seed(4))


@pytest.mark.parametrize(("seed", "kept"), [(-1, 2**64 - 1), (2**64 - 1, 2**64 - 1), (-(2**63), 2**63)])
def test_range_of_seeds(seed, kept):
    assert tengen.Generator().manual_seed(seed).initial_seed() == kept


def test_seed_errors():
    generator = tengen.Generator()
    for wrong in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            generator.manual_seed(wrong)
    with pytest.raises(RuntimeError, match="manual_seed expected a long, but got float"):
        generator.manual_seed(1.5)
    with pytest.raises(RuntimeError, match="meta has no random number generators"):
        tengen.Generator("meta")


def test_without_a_device_it_has_numbers_under_any_default_device(m):
    with m.device("meta"):
        generator = m.Generator()
        assert m.rand(2, generator=generator).device.type == "meta"
    assert generator.device.type == "cpu" and m.rand(2, generator=generator).shape == (2,)


def test_states():
    generator = tengen.Generator().manual_seed(5)
    tengen.randint(0, 10, [3], generator=generator)  # leaves half a word behind
    state = generator.get_state()
    assert state.dtype is tengen.uint8
    copies = [
        generator.clone_state(),
        copy.deepcopy(generator),
        pickle.loads(pickle.dumps(generator)),
        tengen.Generator().set_state(state),
    ]
    expected = draw(generator)
    assert all(draw(other) == expected for other in copies)
    assert all(other.initial_seed() == 5 for other in copies)


def test_state_errors():
    generator = tengen.Generator()
    with pytest.raises(TypeError, match=r"expected a tengen.ByteTensor, but got list"):
        generator.set_state([1])
    with pytest.raises(TypeError, match=r"RNG state must be a tengen.ByteTensor"):
        generator.set_state(tengen.tensor([1]))
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        generator.set_state(tengen.tensor([1], dtype=tengen.uint8))


def test_the_default_generator():
    state = tengen.get_rng_state()
    try:
        assert tengen.manual_seed(7) is tengen.default_generator and tengen.initial_seed() == 7
        first = draw()
        tengen.manual_seed(7.5)
        assert draw() == first == draw(tengen.Generator().manual_seed(7))
        with tengen.random.fork_rng():
            inside = draw()
        assert draw() == inside
        assert tengen.seed() == tengen.initial_seed()
    finally:
        tengen.set_rng_state(state)
