"""What CLIP's authors make prompts with, of the sets that torchvision reads; SVHN's are clip-benchmark's.

Source: github.com/openai/CLIP, data/prompts.md, and github.com/LAION-AI/CLIP_benchmark; both MIT.
"""

SOURCE = (
    "names of torchvision's classes (EuroSAT's of openai/CLIP, digits by their figures), templates of "
    "openai/CLIP or, for SVHN, of clip-benchmark"
)
BOTH = ("a photo of a {}.", "a photo of the {}.")
OBJECTS = tuple(
    form.replace("_", article)
    for article in ("a", "the")
    for form in (
        "a photo of _ {}.",
        "a blurry photo of _ {}.",
        "a black and white photo of _ {}.",
        "a low contrast photo of _ {}.",
        "a high contrast photo of _ {}.",
        "a bad photo of _ {}.",
        "a good photo of _ {}.",
        "a photo of _ small {}.",
        "a photo of _ big {}.",
    )
)
TEXTURES = tuple(
    f"a photo of {article} {{}} {thing}."
    for article in ("a", "the")
    for thing in ("texture", "pattern", "thing", "object")
)
NUMBERS = (
    "a photo of the number {} written on a sign",
    "an outdoor house number {}",
    "the number {} in the center of the image",
    "an outdoor number {} writte on a sign",
    "an outdoor number {}",
    "a centered image of the number {}",
)
BY_SET = {
    "cifar10": OBJECTS,
    "cifar100": OBJECTS,
    "dtd": TEXTURES,
    "eurosat": tuple(f"a centered satellite photo of {article}{{}}." for article in ("", "a ", "the ")),
    "fgvc-aircraft": ("a photo of a {}, a type of aircraft.", "a photo of the {}, a type of aircraft."),
    "flowers": ("a photo of a {}, a type of flower.",),
    "food101": ("a photo of {}, a type of food.",),
    "mnist": ('a photo of the number: "{}".',),
    "pets": ("a photo of a {}, a type of pet.",),
    "stl10": BOTH,
    "sun397": BOTH,
    "svhn": NUMBERS,
}
