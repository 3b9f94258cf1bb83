"""The word lists behind the roles: our choice, since the paper's rules are not public; all in lower case."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Colours that are never the thing itself in a caption.
COLOURS = _words("""
    red green blue yellow black white brown gray grey purple pink beige turquoise teal crimson maroon scarlet
    golden cyan magenta indigo aqua multicolored multicoloured
""")
# Colours, materials and sizes that are also things: attributes before a noun ("an orange cat").
MODIFIERS = _words("""
    orange gold silver violet lavender tan cream ivory navy olive rose peach bronze copper
    wood metal plastic glass brick stone leather paper concrete steel cotton wool ceramic marble rubber
    granite iron cardboard wicker straw denim silk velvet fur tile porcelain aluminum aluminium bamboo clay
    foam giant miniature mini toy baby
""")
# Prepositions of place: relations whatever their tag, save particles ("turned on").
SPATIAL = _words("""
    above across against along alongside amid amidst among amongst around at atop behind below beneath beside
    between beyond by from in inside into near nearby on onto opposite outside over through throughout toward
    towards under underneath upon within
""")
# Words that are prepositions only where the tagger says so ("down the street", but not "sits down").
PREPOSITIONS = _words(
    "up down off out past after before during without aboard like unlike despite except via"
)
# Nouns and adjectives that tell a place before "of" or after "in", "on", "at", "to", "from" ("on the left").
PLACES = _words("left right top bottom front back middle center centre side")
BEFORE_PLACES = _words("in on at to from toward towards")
DETERMINERS = _words("a an the this that its his her their")
# Relations of several words, and the one that carries their concreteness.
PHRASES = {
    ("next", "to"): "next",
    ("close", "to"): "close",
    ("far", "from"): "far",
    ("away", "from"): "away",
    ("adjacent", "to"): "adjacent",
    ("out", "of"): "out",
    ("inside", "of"): "inside",
    ("outside", "of"): "outside",
    ("in", "between"): "between",
    ("on", "top", "of"): "top",
    ("in", "front", "of"): "front",
}
# Stop words of spaCy's list that do name a thing, a look or an act in captions.
NOT_STOP = PLACES | _words("""
    full empty whole part name amount can show put take give go move see keep make made call serious alone
""")
