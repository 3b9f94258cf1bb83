"""The identities that sympy derives, also in numbers: autograd on drawn rows."""

import pytest
import sympy
import torch

from slipform_core import equations
from slipform_core.equations import Identity, identities


@pytest.mark.parametrize("name", identities())
def test_each_identity_holds(name: str) -> None:
    assert identities()[name].holds(), name


@pytest.mark.parametrize("name", identities())
def test_each_identity_holds_in_numbers(name: str) -> None:
    """Both sides at drawn logits, where no simplification is asked for."""
    identity, generator = identities()[name], torch.Generator().manual_seed(1)
    symbols = (equations.positive, equations.own, equations.margin, *equations.easy)
    for _ in range(5):
        drawn = (3 * torch.randn(len(symbols), generator=generator, dtype=torch.float64)).tolist()
        left, right = (
            float(side.subs(dict(zip(symbols, drawn, strict=True))))
            for side in (identity.left, identity.right)
        )
        assert left == pytest.approx(right, rel=1e-9, abs=1e-12)


def test_equation_3_is_what_autograd_finds() -> None:
    values = torch.tensor([1.2, 0.7, -0.4, 0.1, 2.0], dtype=torch.float64, requires_grad=True)
    (values.logsumexp(0) - values[0]).backward()
    identity = identities()["equation 3"]
    symbols = (equations.positive, equations.own, *equations.easy)
    found = float(identity.right.subs(dict(zip(symbols, values.tolist(), strict=True))))
    assert found == pytest.approx(-values.grad[0].item()) == pytest.approx(values.grad[1:].sum().item())


def test_what_is_not_so_does_not_hold() -> None:
    assert not Identity("", sympy.exp(equations.margin), 1 + equations.margin).holds()
