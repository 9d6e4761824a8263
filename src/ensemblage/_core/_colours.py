"""Colours of figures; pages have the same ones in ``report/templates/page.css``."""

# Drawn in the page's own text colour: black on a light page, light on a dark one.
THEMED_INK = "#010203"
INK = "#1c2128"
QUIET = "#5b636e"
FAINT = "#c2bdb0"
# What is this library's, or the target's, and the inside of its boxes.
ACCENT = "#1a5f6e"
ACCENT_FILL = "#d5e4e4"
FILL = "#f5f3ee"
# What is pointed at.
WARM = "#a4481c"
BLUE = "#2a6f97"
RED = "#c23b22"
# Of classes, in their order; then they come again.
CLASS_COLOURS = (ACCENT, "#b3541e", "#6b4fa0", "#5d7f1f", "#b13a6f", "#767b83")
