"""Colours of figures; pages have the same ones in ``report/templates/page.css``."""

# Placeholder for the page's text colour: black on a light page, light on a dark one.
THEMED_INK = "#010203"
# Text.
INK = "#1c2128"
# Secondary text.
QUIET = "#5b636e"
# Grid lines.
FAINT = "#c2bdb0"
# Methods of this library, and the target.
ACCENT = "#1a5f6e"
# Background of their boxes.
ACCENT_FILL = "#d5e4e4"
# Background of other boxes.
FILL = "#f5f3ee"
# Highlighted element.
WARM = "#a4481c"
BLUE = "#2a6f97"
RED = "#c23b22"
# Classes in their order, repeated cyclically.
CLASS_COLOURS = (ACCENT, "#b3541e", "#6b4fa0", "#5d7f1f", "#b13a6f", "#767b83")
