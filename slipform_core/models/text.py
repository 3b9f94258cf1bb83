"""open_clip's causal text tower over no more tokens than there are."""

from torch import Tensor, nn


def _tower(model: nn.Module) -> nn.Module:
    """open_clip's CLIP holds the parts of its text tower itself, its CustomTextCLIP in `text`."""
    return getattr(model, "text", model)


def is_causal(model: nn.Module) -> bool:
    """Whether a token sees only what is before it and the features are read at the highest id, the end."""
    tower = _tower(model)
    if getattr(tower, "cls_emb", None) is not None:  # CoCa's, read at a token behind the text
        return False
    pool = getattr(tower, "pool_type", getattr(tower, "text_pool_type", None))
    return getattr(tower, "attn_mask", None) is not None and pool == "argmax"


def encode_cut(model: nn.Module, tokens: Tensor) -> Tensor:
    """Features (B, D) of tokens (B, L), L as long as the longest text or longer."""
    tower, length = _tower(model), tokens.shape[1]
    states = tower.token_embedding(tokens) + tower.positional_embedding[:length]
    states = tower.ln_final(tower.transformer(states, attn_mask=tower.attn_mask[:length, :length]))
    features = states.take_along_dim(tokens.argmax(dim=-1)[:, None, None], dim=1)[:, 0]
    if isinstance(tower.text_projection, nn.Linear):
        return tower.text_projection(features)
    return features if tower.text_projection is None else features @ tower.text_projection
