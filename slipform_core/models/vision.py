"""open_clip's vision towers up to their projection."""

from torch import Tensor, nn

from slipform_core.mistakes import Mistake


def around_projection(visual: nn.Module, pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Features (B, W) of pixels (B, 3, H, W), pooled and normed, and (B, D), the same times the projection.

    Of a VisionTransformer, and of a timm tower that ends in a linear layer. Raises Mistake for others: in a
    ModifiedResNet the attention pool projects as it pools, some timm towers end in two layers or in none.
    """
    if hasattr(visual, "_pool") and isinstance(visual.proj, nn.Parameter):
        pooled, _ = visual._pool(visual.transformer(visual._embeds(pixels)))
        return pooled, pooled @ visual.proj
    *others, last = list(visual.head) if hasattr(visual, "trunk") and len(visual.head) else [None]
    if isinstance(last, nn.Linear):
        pooled = nn.Sequential(*others)(visual.trunk(pixels))
        return pooled, last(pooled)
    raise Mistake(f"the vision tower {type(visual).__name__} has no projection of its own to stop before")
