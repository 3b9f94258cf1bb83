"""Sampling that is each row's own: a record draws alike alone and in any batch."""

from collections.abc import Sequence

import torch
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))  # splitmix64's finaliser
_WORD = 1 << 64


class GumbelNoise:
    """A logits processor that adds Gumbel noise, so that the likeliest token is a draw from the softmax.

    The noise of a row depends on its seed, the step and the token alone: it is splitmix64 with a start from
    seed and step, in integers, hence the same on every device. `generate` has one generator for a batch.
    width: tokens of the padded prompts. Source: the Gumbel-max trick.
    """

    def __init__(self, seeds: Sequence[int], width: int):
        self.seeds, self.width = seeds, width

    def __call__(self, tokens: Tensor, scores: Tensor) -> Tensor:
        """Noisy scores (B, V), float64, of the scores (B, V) after the tokens (B, L)."""
        step = tokens.shape[1] - self.width
        starts = [_signed(_mix_int(_mix_int(seed + _GOLDEN) + step + 1)) for seed in self.seeds]
        noisy = scores.double()
        rows, ids = (scores > -torch.inf).nonzero(as_tuple=True)  # few of a large vocabulary, after top_p
        words = torch.tensor(starts, device=scores.device)[rows] + (ids + 1) * _signed(_GOLDEN)
        uniform = (((_mix(words) >> 12) & (1 << 52) - 1).double() + 0.5) / 2**52
        noisy[rows, ids] -= (-uniform.log()).log()
        return noisy


def _mix(words: Tensor) -> Tensor:
    for shift, factor in _MIX:
        # torch shifts in copies of the sign.
        words = (words ^ ((words >> shift) & (1 << 64 - shift) - 1)) * _signed(factor)
    return words


def _mix_int(word: int) -> int:
    for shift, factor in _MIX:
        word %= _WORD
        word = (word ^ (word >> shift)) * factor % _WORD
    return word


def _signed(word: int) -> int:
    return (word + _WORD // 2) % _WORD - _WORD // 2
