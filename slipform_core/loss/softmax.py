"""Cross-entropy over rows and columns of one similarity matrix: one product, on a CPU one exponential.

R pictures, C captions, D embedding width; both come in parts that follow each other, such as positives and
negatives, which are read where they lie. Row i's positive is column i, and the first R columns are queries
too. M entries of the matrix, the own hard negatives, have a margin.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

TILE_ROWS = 256
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
    images: Sequence[Tensor],
    texts: Sequence[Tensor],
    scale: Tensor,
    own: Own,
    *,
    decoupled: bool = False,
    stream: bool | None = None,
) -> Tensor:
    """Half the mean cross-entropy of the rows and half that of the first R columns.

    images: R rows of width D in all. texts: C rows, C >= R; where C > R, the own entries lie right of the
    queries. scale: of the products, a scalar. decoupled: a positive is no candidate of its own query (DCL).
    stream: hold `TILE_ROWS` rows at a time and compute them again in the backward pass; None does so above
    `KEPT_ENTRIES`. Both are exact. Returns a scalar, once differentiable in all but the entries' places.
    """
    if stream is None:
        stream = sum(map(len, images)) * sum(map(len, texts)) > KEPT_ENTRIES
    return _TwoWayCrossEntropy.apply(decoupled, stream, len(images), scale, *own, *images, *texts)


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
    def forward(ctx, decoupled, stream, images, scale, *tensors) -> Tensor:
        own, parts = Own(*tensors[:4]), tensors[4:]
        matrix = _Matrix(parts[:images], parts[images:], scale, own, decoupled)
        kept = None if stream else matrix.keep()
        # Whether it was safe to share an exponential is a question that would stall an accelerator.
        sums = _sums(matrix, share=True) if scale.device.type == "cpu" else None
        sums = sums or _sums(matrix, share=False)
        ctx.decoupled, ctx.images = decoupled, images
        ctx.save_for_backward(kept, *sums, scale, *tensors)
        return (sums.row + sums.column - 2 * sums.positive).sum() / (2 * matrix.queries)

    @staticmethod
    @once_differentiable
    def backward(ctx, weight: Tensor) -> tuple[Tensor | None, ...]:
        kept, *sums, scale = ctx.saved_tensors[:7]
        own, parts = Own(*ctx.saved_tensors[7:11]), ctx.saved_tensors[11:]
        matrix = _Matrix(parts[: ctx.images], parts[ctx.images :], scale, own, ctx.decoupled, kept)
        of_scale, of_margins, of_parts = _gradients(matrix, _Sums(*sums))
        gradients = (part.mul_(weight / (2 * matrix.queries)) for part in (of_scale, *of_margins, *of_parts))
        of_scale, of_row, of_column, *of_parts = gradients
        return None, None, None, of_scale, None, None, of_row, of_column, *of_parts


class _Tile(NamedTuple):
    """Some rows of the matrix, the own entries in them, and their pictures (rows, D)."""

    rows: slice
    own: slice
    image: Tensor


class _Matrix:
    """The logits, `TILE_ROWS` rows at a time, kept or written over by the next tile."""

    def __init__(
        self,
        images: Sequence[Tensor],
        texts: Sequence[Tensor],
        scale: Tensor,
        own: Own,
        decoupled: bool,
        kept: Tensor | None = None,
    ):
        self.images, self.texts, self.scale, self.own, self.decoupled = images, texts, scale, own, decoupled
        self.kept, self.buffer = kept, None
        self.columns = [slice(*ends) for ends in pairwise(accumulate(map(len, texts), initial=0))]
        self.queries, self.captions = sum(map(len, images)), sum(map(len, texts))
        self.row, self.column = own.row.to(scale.device), own.column.to(scale.device)

    def keep(self) -> Tensor:
        """From now on keep the logits, in the tensor that is returned."""
        self.kept = self.scale.new_empty(self.queries, self.captions)
        return self.kept

    def tiles(self) -> Iterator[_Tile]:
        """The matrix from its first row on; no tile lies in two parts."""
        pieces = list(_pieces(self.images))
        bounds = list(accumulate(map(len, pieces), initial=0))
        entries = torch.searchsorted(self.own.row, torch.tensor(bounds)).tolist()
        for piece, rows, own in zip(pieces, pairwise(bounds), pairwise(entries), strict=True):
            yield _Tile(slice(*rows), slice(*own), piece)

    def where(self, tile: _Tile) -> tuple[Tensor, Tensor]:
        """The own entries of a tile, as its index."""
        return self.row[tile.own] - tile.rows.start, self.column[tile.own]

    def logits(self, tile: _Tile) -> tuple[Tensor, Tensor, Tensor]:
        """A tile where what has no part in its sums is -inf; its positives' logits and own entries'."""
        if self.kept is None and self.buffer is None:
            self.buffer = self.scale.new_empty(min(TILE_ROWS, self.queries), self.captions)
        logits = self.buffer[: len(tile.image)] if self.kept is None else self.kept[tile.rows]
        image = self.scale * tile.image
        for columns, text in zip(self.columns, self.texts, strict=True):
            # With out=, as in place, a product is never in the type of an autocast.
            torch.mm(image, text.T, out=logits[:, columns])
        where = self.where(tile)
        positive, score = logits.diagonal(tile.rows.start).clone(), logits[where]
        logits[where] = -torch.inf
        if self.decoupled:
            logits.diagonal(tile.rows.start).fill_(-torch.inf)
        return logits, positive, score


def _pieces(parts: Sequence[Tensor]) -> Iterator[Tensor]:
    """Views of at most `TILE_ROWS` rows of one part each."""
    for part in parts:
        yield from part.split(TILE_ROWS) if len(part) else ()


def _sums(matrix: _Matrix, *, share: bool) -> _Sums | None:
    """The sums; with `share` by one exponential for both, or None where that would lose digits."""
    own, queries, new = matrix.own, matrix.queries, matrix.scale.new_empty
    row, positive, shift, score = new(queries), new(queries), new(queries), new(len(own.row))
    column = matrix.scale.new_full((queries,), -torch.inf)
    for tile in matrix.tiles():
        logits, positive[tile.rows], score[tile.own] = matrix.logits(tile)
        where = matrix.where(tile)
        of_row = score[tile.own] + own.row_margin[tile.own]
        of_column = score[tile.own] + own.column_margin[tile.own]
        if share:
            top = torch.cat([logits.max().view(1), of_row, of_column]).max()
            shift[tile.rows] = top
            logits.sub_(top).exp_()
            of_rows, of_columns = logits.sum(1), logits.sum(0)
            of_rows.index_add_(0, where[0], of_row.sub_(top).exp_())
            of_columns.index_add_(0, where[1], of_column.sub_(top).exp_())
            row[tile.rows] = of_rows.log_().add_(top)
            column = column.logaddexp(of_columns[:queries].log_().add_(top))
        else:
            logits[where] = of_row
            row[tile.rows] = logits.logsumexp(1)
            logits[where] = of_column
            column = column.logaddexp(logits[:, :queries].logsumexp(0))
    if not share:
        return _Sums(row, column, positive, score, None)
    safe = (row - shift).min() > LOWEST and column.min() - shift.max() > LOWEST
    return _Sums(row, column, positive, score, shift) if safe else None


def _gradients(matrix: _Matrix, sums: _Sums) -> tuple[Tensor, tuple[Tensor, Tensor], list[Tensor]]:
    """Gradients of the sum over all queries, softmax minus target: in scale, margins, and the parts."""
    own, queries = matrix.own, matrix.queries
    of_row = (sums.score + own.row_margin - sums.row[matrix.row]).exp_()
    of_column = torch.zeros_like(of_row)
    if matrix.captions == queries:
        of_column = (sums.score + own.column_margin - sums.column[matrix.column]).exp_()
    of_scale = torch.zeros_like(matrix.scale)
    of_images = [torch.empty_like(part) for part in matrix.images]
    of_texts = [torch.zeros_like(part) for part in matrix.texts]
    for tile, of_image in zip(matrix.tiles(), _pieces(of_images), strict=True):
        logits = matrix.logits(tile)[0] if matrix.kept is None else matrix.kept[tile.rows]
        if sums.shift is None:
            change = (logits - sums.row[tile.rows, None]).exp_()
            change[:, :queries] += (logits[:, :queries] - sums.column).exp_()
        else:
            top = sums.shift[tile.rows.start]
            if matrix.kept is None:
                logits.sub_(top).exp_()
            of_columns = pad((top - sums.column).exp_(), (0, matrix.captions - queries))
            change = ((top - sums.row[tile.rows, None]).exp_() + of_columns).mul_(logits)
        change[matrix.where(tile)] = of_row[tile.own] + of_column[tile.own]
        change.diagonal(tile.rows.start).sub_(2)
        of_image.zero_()
        image = matrix.scale * tile.image
        for columns, text, of_text in zip(matrix.columns, matrix.texts, of_texts, strict=True):
            of_image.addmm_(change[:, columns], text)
            of_text.addmm_(change[:, columns].T, image)
        of_scale += (of_image * tile.image).sum()
        of_image.mul_(matrix.scale)
    return of_scale, (of_row, of_column), [*of_images, *of_texts]
