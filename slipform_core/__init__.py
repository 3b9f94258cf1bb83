"""Slipform: concreteness-aware hard negatives for CLIP, and the training that uses them."""
