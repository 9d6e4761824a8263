"""What the kinds share."""

import numpy as np

from ensemblage.explain._explanation import saved_picture, spread


def test_counts_that_differ_are_a_range():
    assert spread(np.array([3, 3])) == "3"
    assert spread(np.array([5, 3, 4])) == "3 to 5"


def test_a_picture_has_the_format_asked_for():
    class Display:
        class figure_:  # noqa: N801
            @staticmethod
            def savefig(buffer, **options):
                buffer.write(repr(sorted(options.items())).encode())

    assert saved_picture(Display, "svg") == b"[('dpi', 150), ('format', 'svg')]"
