"""The algebra of the gradient imbalance, derived by sympy for a row of the softmax.

A row has the positive's logit s, the own hard negative's h, and e_1 ... e_n of easy negatives; p is its
softmax, rho = p_h / (1 - p_s) the hard negative's share, m a margin added to h.
"""

from typing import NamedTuple

import sympy
from sympy import Expr

EASY = 3  # easy negatives of the row that the identities are proven for


class Identity(NamedTuple):
    """What is said, in LaTeX, and its two sides as they were derived."""

    says: str
    left: Expr
    right: Expr

    def holds(self) -> bool:
        """Whether the difference of the sides simplifies to 0."""
        return sympy.simplify(self.left - self.right) == 0


positive, own, margin = sympy.symbols("s h m", real=True)
easy = sympy.symbols(f"e_1:{EASY + 1}", real=True)


def loss(*, margin: Expr | int = 0, copies: int = 1) -> Expr:
    """The row's cross-entropy, -log p_s, with a margin or with copies of the hard negative."""
    negatives = copies * sympy.exp(own + margin) + sum(map(sympy.exp, easy))
    return -positive + sympy.log(sympy.exp(positive) + negatives)


def identities() -> dict[str, Identity]:
    """What the paper's method rests on, by name; every derivative is sympy's."""
    plain, moved = loss(), loss(margin=margin)
    pull, push, pushed = (sympy.diff(plain, of) for of in (positive, own, easy[0]))
    easy_sum = sum(sympy.diff(plain, of) for of in easy)
    share = push / (push + easy_sum)
    share_moved = sympy.diff(moved, own) / -sympy.diff(moved, positive)
    k = 7
    return {
        "equation 3": Identity(
            r"\left|\frac{\partial L}{\partial s}\right| = 1 - p_s = p_h + \sum_j p_{e_j}",
            -pull,
            push + easy_sum,
        ),
        "the positive is no part of the share": Identity(
            r"\frac{\partial \rho}{\partial s} = 0", sympy.diff(share, positive), sympy.Integer(0)
        ),
        "the share under a margin": Identity(
            r"\tilde\rho = \frac{e^m \rho}{1 - \rho + e^m \rho}",
            share_moved,
            sympy.exp(margin) * share / (1 - share + sympy.exp(margin) * share),
        ),
        "easy negatives under a margin": Identity(
            r"\tilde p_{e_j} = \frac{p_{e_j}}{1 + p_h (e^m - 1)}",
            sympy.diff(moved, easy[0]),
            pushed / (1 + push * (sympy.exp(margin) - 1)),
        ),
        "how fast a margin moves the share": Identity(
            r"\frac{\partial \tilde\rho}{\partial m} = \tilde\rho\,(1 - \tilde\rho)",
            sympy.diff(share_moved, margin),
            share_moved * (1 - share_moved),
        ),
        "a margin is copies": Identity(
            r"L(m = \ln k) = L(k \text{ copies of the hard negative})",
            moved.subs(margin, sympy.log(k)),
            loss(copies=k),
        ),
        "no margin": Identity(r"L(m = 0) = L(\text{InfoNCE})", moved.subs(margin, 0), plain),
        "a margin of minus infinity": Identity(
            r"\lim_{m \to -\infty} L(m) = L(\text{without the hard negative})",
            sympy.limit(moved, margin, -sympy.oo),
            loss(copies=0),
        ),
    }
