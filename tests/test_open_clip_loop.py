"""A training loop written for open_clip, with one line changed."""

import pytest
import torch
from torch.nn.functional import normalize

import slipform_core.torchvision_import  # noqa: F401
from slipform_core.loss import CementLoss, Pairs, cement, info_nce, static_margin

CONFIG = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 16, "patch_size": 8, "width": 32, "layers": 1, "head_width": 16},
    "text_cfg": {"context_length": 8, "vocab_size": 50, "width": 32, "heads": 2, "layers": 1},
}


def features(n=4, parts=4):
    generator = torch.Generator().manual_seed(0)
    return normalize(torch.randn(parts, n, 6, generator=generator), dim=-1)


def test_it_is_cement_and_without_a_margin_clip_s_loss():
    import open_clip  # after our models, see torchvision_import

    image, text, negative_image, negative_text = features()
    words = torch.tensor([5.0, 4.1, 3.9, 2])
    images, texts = torch.cat([image, negative_image]), torch.cat([text, negative_text])
    expected = cement(Pairs(image, text, negative_image, negative_text, words), 9.0)
    assert torch.equal(CementLoss()(images, texts, torch.tensor(9.0), words), expected)
    captions = cement(Pairs(image, text, None, negative_text, words), 9.0)
    assert torch.equal(CementLoss()(image, texts, 9.0, words), captions)
    theirs = open_clip.loss.ClipLoss()(images, texts, 9.0)
    torch.testing.assert_close(CementLoss(static_margin(0))(images, texts, 9.0, words), theirs)
    one_way = CementLoss(directions="image_to_text")(images, texts, 9.0, words)
    assert one_way != expected
    torch.testing.assert_close(theirs, info_nce(Pairs(images, texts), 9.0))


def test_a_loop_for_open_clip_learns_with_one_line_changed():
    import open_clip  # after our models, see torchvision_import

    torch.manual_seed(0)
    model = open_clip.model.CLIP(**CONFIG, output_dict=True)
    images, tokens = torch.randn(8, 3, 16, 16), torch.randint(1, 49, (8, 8))
    tokens[:, -1] = 49
    words = torch.tensor([5.0, 4.5, 3.0, 2.0])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = CementLoss()  # was open_clip.loss.ClipLoss()
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        out = model(images, tokens)
        loss = sum(criterion(**out, concreteness=words, output_dict=True).values())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize(
    ("images", "texts", "words", "more", "message"),
    [
        (8, 8, 3, {}, r"8 pictures and 8 captions with 3 words: expected 6 \(or 3\) and 6"),
        (8, 4, 4, {}, "8 pictures and 4 captions"),
        (4, 8, 4, {"logit_bias": torch.tensor(-10.0)}, "logit_bias belongs to SigLIP"),
    ],
)
def test_other_sizes_are_named(images, texts, words, more, message):
    with pytest.raises(ValueError, match=message):
        CementLoss()(torch.ones(images, 6), torch.ones(texts, 6), 9.0, torch.full((words,), 3.0), **more)
