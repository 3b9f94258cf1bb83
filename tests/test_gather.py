"""1, 2 and 3 gloo ranks against a single process: the loss and the gradients of every objective."""

import dataclasses
from pathlib import Path

import pytest
import torch
from torch import distributed, multiprocessing, nn
from torch.nn.functional import normalize
from torch.nn.parallel import DistributedDataParallel

from slipform_core.loss import LOSSES, CementLoss, Pairs, gather_pairs, make_objective

PAIRS, WIDTH, INSIDE = 6, 5, 4
NAMES = [*LOSSES, "cement, a negative missing", "CementLoss"]


class Towers(nn.Module):
    """Two linear towers and a scale, all weights drawn from one seed."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.image, self.text = (nn.Linear(INSIDE, WIDTH, dtype=torch.float64) for _ in range(2))
        self.log_scale = nn.Parameter(torch.tensor(2.0, dtype=torch.float64))

    def forward(self, raw: dict[str, torch.Tensor]) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        towers = {name: self.image if "image" in name else self.text for name in raw}
        return {name: normalize(towers[name](raw[name]), dim=-1) for name in raw}, self.log_scale.exp()


def batch(name: str) -> tuple[dict[str, torch.Tensor], torch.Tensor, torch.Tensor | None]:
    generator = torch.Generator().manual_seed(1)
    names = ("image", "text", "negative_image", "negative_text", "positive_text")
    raw = {n: torch.randn(PAIRS, INSIDE, generator=generator, dtype=torch.float64) for n in names}
    words = 3.5 + torch.rand(PAIRS, generator=generator, dtype=torch.float64)
    mask = torch.tensor([[True]] * 4 + [[False], [True]]) if "missing" in name else None
    return raw, words, mask


def loss_of(name: str, model: nn.Module, rows: slice) -> torch.Tensor:
    raw, words, mask = batch(name)
    features, scale = model({key: value[rows] for key, value in raw.items()})
    if name == "CementLoss":
        image, text = (
            torch.cat([features[part], features[f"negative_{part}"]]) for part in ("image", "text")
        )
        return CementLoss()(image, text, scale, words[rows])
    pairs = Pairs(**features, concreteness=words[rows], mask=None if mask is None else mask[rows])
    still = {key: value.detach().flip(-1) for key, value in features.items()}
    pairs = dataclasses.replace(pairs, teacher=Pairs(**still))
    kind = name.partition(",")[0]
    objective = make_objective(kind, **({"negatives": 1} if kind == "ce_clip" else {}))
    return objective(gather_pairs(pairs), scale)


def results(name: str, model: nn.Module, rows: slice) -> list[torch.Tensor]:
    model.zero_grad()
    loss = loss_of(name, model, rows)
    loss.backward()
    return [loss.detach(), *(weight.grad.clone() for weight in model.parameters())]


def rank_main(rank: int, ranks: int, folder: Path) -> None:
    torch.set_num_threads(1)
    store = distributed.FileStore(str(folder / "store"), ranks)
    distributed.init_process_group("gloo", rank=rank, world_size=ranks, store=store)
    model = DistributedDataParallel(Towers())
    rows = slice(rank * PAIRS // ranks, (rank + 1) * PAIRS // ranks)
    torch.save({name: results(name, model, rows) for name in NAMES}, folder / f"{rank}.pt")
    distributed.destroy_process_group()


@pytest.fixture(scope="module", params=[1, 2, 3])
def ranks(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"ranks-{request.param}")
    multiprocessing.spawn(rank_main, (request.param, folder), nprocs=request.param)
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(request.param)]


@pytest.mark.parametrize("name", NAMES)
def test_ranks_compute_what_one_process_does(ranks, name):
    expected = results(name, Towers(), slice(PAIRS))
    for rank in ranks:
        torch.testing.assert_close(rank[name], expected, rtol=1e-10, atol=1e-12)


def test_without_a_process_group_the_pairs_are_as_they_are():
    pairs = Pairs(torch.eye(3), torch.eye(3))
    assert gather_pairs(pairs) is pairs
