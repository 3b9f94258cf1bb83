"""Cross-entropy over the rows and the columns of one similarity matrix: one product, one exponential.

R pictures, C captions, D embedding width. Row i's positive is column i, and the first R columns are queries
too. M entries of the matrix, the own hard negatives, have a margin.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

TILE_ROWS = 512
KEPT_ENTRIES = 2**28  # R x C that are kept for the backward pass: 1 GB in float32
LOWEST = -60  # a sum above e^-60 of the exponential that its tile shares has lost nothing in float32


class Own(NamedTuple):
    """Entries (M,), in host memory and in the order of their rows, and their margins, in logits, in the
    softmax of their row and in that of their column.
    """

    row: Tensor
    column: Tensor
    row_margin: Tensor
    column_margin: Tensor


def two_way_cross_entropy(
    image: Tensor, text: Tensor, own: Own, *, decoupled: bool = False, stream: bool | None = None
) -> Tensor:
    """Half the mean cross-entropy of the rows and half that of the first R columns.

    image: (R, D), the logit scale multiplied in. text: (C, D), C >= R; where C > R, the own entries lie right
    of the queries. decoupled: a positive is no candidate of its own query (DCL). stream: hold `TILE_ROWS`
    rows at a time and compute them again in the backward pass; None does so above `KEPT_ENTRIES`. Both are
    exact. Returns a scalar, once differentiable in image, text and margins.
    """
    if stream is None:
        stream = len(image) * len(text) > KEPT_ENTRIES
    return _TwoWayCrossEntropy.apply(image, text, *own, decoupled, stream)


class _Sums(NamedTuple):
    """Logarithms of the sums of exponentials of the rows and of the columns, (R,); the positives' logits,
    (R,), and the own entries', (M,); what was taken off a row's logits, (R,), None where nothing was.
    """

    row: Tensor
    column: Tensor
    positive: Tensor
    score: Tensor
    shift: Tensor | None


class _TwoWayCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, image, text, row, column, row_margin, column_margin, decoupled, stream) -> Tensor:
        own = Own(row, column, row_margin, column_margin)
        kept = None if stream else image.new_empty(len(image), len(text))
        with torch.autocast(image.device.type, enabled=False):
            matrix = _Matrix(image, text, own, decoupled, kept)
            # Whether it was safe to share an exponential is a question that would stall an accelerator.
            sums = _sums(matrix, share=True) if image.device.type == "cpu" else None
            sums = sums or _sums(matrix, share=False)
        ctx.decoupled = decoupled
        ctx.save_for_backward(image, text, *own, kept, *sums)
        return (sums.row + sums.column - 2 * sums.positive).sum() / (2 * len(image))

    @staticmethod
    @once_differentiable
    def backward(ctx, weight: Tensor) -> tuple[Tensor | None, ...]:
        image, text, *own, kept = ctx.saved_tensors[:7]
        with torch.autocast(image.device.type, enabled=False):
            matrix = _Matrix(image, text, Own(*own), ctx.decoupled, kept)
            gradients = _gradients(matrix, _Sums(*ctx.saved_tensors[7:]))
        of_image, of_text, *of_margins = (part.mul_(weight / (2 * len(image))) for part in gradients)
        return of_image, of_text, None, None, *of_margins, None, None


class _Matrix:
    """The logits, `TILE_ROWS` rows at a time, kept or written over by the next tile."""

    def __init__(self, image: Tensor, text: Tensor, own: Own, decoupled: bool, kept: Tensor | None):
        self.image, self.text, self.own, self.decoupled, self.kept = image, text, own, decoupled, kept
        self.row, self.column = own.row.to(image.device), own.column.to(image.device)
        self.buffer = image.new_empty(min(TILE_ROWS, len(image)), len(text)) if kept is None else None

    def tiles(self) -> Iterator[tuple[slice, slice]]:
        """The rows of each tile, and which own entries lie in it."""
        bounds = [*range(0, len(self.image), TILE_ROWS), len(self.image)]
        entries = torch.searchsorted(self.own.row, torch.tensor(bounds)).tolist()
        for tile in range(len(bounds) - 1):
            yield slice(*bounds[tile : tile + 2]), slice(*entries[tile : tile + 2])

    def where(self, rows: slice, mine: slice) -> tuple[Tensor, Tensor]:
        """The own entries of a tile, as its index."""
        return self.row[mine] - rows.start, self.column[mine]

    def logits(self, rows: slice, mine: slice) -> tuple[Tensor, Tensor, Tensor]:
        """A tile where what has no part in its sums is -inf; its positives' logits and own entries'."""
        tile = self.buffer[: rows.stop - rows.start] if self.kept is None else self.kept[rows]
        torch.mm(self.image[rows], self.text.T, out=tile)
        where = self.where(rows, mine)
        positive, score = tile.diagonal(rows.start).clone(), tile[where]
        tile[where] = -torch.inf
        if self.decoupled:
            tile.diagonal(rows.start).fill_(-torch.inf)
        return tile, positive, score


def _sums(matrix: _Matrix, *, share: bool) -> _Sums | None:
    """The sums; with `share` by one exponential for both, or None where that would lose digits."""
    image, own, queries = matrix.image, matrix.own, len(matrix.image)
    row, positive, shift = (image.new_empty(queries) for _ in range(3))
    column, score = image.new_full((queries,), -torch.inf), image.new_empty(len(own.row))
    for rows, mine in matrix.tiles():
        tile, positive[rows], score[mine] = matrix.logits(rows, mine)
        where = matrix.where(rows, mine)
        of_row, of_column = score[mine] + own.row_margin[mine], score[mine] + own.column_margin[mine]
        if share:
            top = torch.cat([tile.max().view(1), of_row, of_column]).max()
            shift[rows] = top
            tile.sub_(top).exp_()
            of_rows, of_columns = tile.sum(1), tile.sum(0)
            of_rows.index_add_(0, where[0], of_row.sub_(top).exp_())
            of_columns.index_add_(0, where[1], of_column.sub_(top).exp_())
            row[rows] = of_rows.log_().add_(top)
            column = column.logaddexp(of_columns[:queries].log_().add_(top))
        else:
            tile[where] = of_row
            row[rows] = tile.logsumexp(1)
            tile[where] = of_column
            column = column.logaddexp(tile[:, :queries].logsumexp(0))
            tile[where] = -torch.inf
    if not share:
        return _Sums(row, column, positive, score, None)
    safe = (row - shift).min() > LOWEST and column.min() - shift.max() > LOWEST
    return _Sums(row, column, positive, score, shift) if safe else None


def _gradients(matrix: _Matrix, sums: _Sums) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of the sum over all queries in image, text and the two margins: softmax minus target."""
    image, text, own, queries = matrix.image, matrix.text, matrix.own, len(matrix.image)
    of_image, of_text = torch.empty_like(image), torch.zeros_like(text)
    of_row = (sums.score + own.row_margin - sums.row[matrix.row]).exp_()
    of_column = torch.zeros_like(of_row)
    if len(text) == queries:
        of_column = (sums.score + own.column_margin - sums.column[matrix.column]).exp_()
    for rows, mine in matrix.tiles():
        tile = matrix.logits(rows, mine)[0] if matrix.kept is None else matrix.kept[rows]
        if sums.shift is None:
            change = (tile - sums.row[rows, None]).exp_()
            change[:, :queries] += (tile[:, :queries] - sums.column).exp_()
        else:
            top = sums.shift[rows.start]
            if matrix.kept is None:
                tile.sub_(top).exp_()
            of_columns = pad((top - sums.column).exp_(), (0, len(text) - queries))
            change = ((top - sums.row[rows, None]).exp_() + of_columns).mul_(tile)
        change[matrix.where(rows, mine)] = of_row[mine] + of_column[mine]
        change.diagonal(rows.start).sub_(2)
        of_image[rows] = change @ text
        of_text.addmm_(change.T, image[rows])
    return of_image, of_text, of_row, of_column
