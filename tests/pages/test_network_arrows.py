"""Arrows lead downwards, beside the boxes."""

from hypothesis import given
from hypothesis import strategies as st

from ensemblage.pages import draw_network
from pages.test_network_rows import networks


def points_on(arrow, steps=40):
    for curve in arrow.curves:
        for t in (step / steps for step in range(steps + 1)):
            weights = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
            pairs = list(zip(weights, curve, strict=True))
            yield sum(w * x for w, (x, _) in pairs), sum(w * y for w, (_, y) in pairs)


def test_an_arrow_past_a_row_takes_the_gutter():
    parents = {"class": [], "a": ["class"], "b": ["class"], "c": ["a", "b"], "d": ["c", "a"]}
    drawing = draw_network(parents, "class")
    (long,) = [arrow for arrow in drawing.arrows if (arrow.parent, arrow.child) == ("a", "d")]
    assert len(long.stops) == 4
    assert long.stops[1][0] == long.stops[2][0]
    assert [arrow.from_target for arrow in drawing.arrows].count(True) == 2


@given(networks(), st.sampled_from([350.0, 900.0]))
def test_every_arrow_points_downwards_and_passes_no_box(parents, width):
    drawing = draw_network(parents, "class", width)
    boxes = {box.name: box for box in drawing.boxes}
    assert len(drawing.arrows) == sum(map(len, parents.values()))
    for arrow in drawing.arrows:
        heights = [y for _, y in arrow.stops]
        assert heights == sorted(heights)
        assert arrow.stops[0][1] == boxes[arrow.parent].bottom
        assert arrow.stops[-1][1] == boxes[arrow.child].top
        others = [box for name, box in boxes.items() if name not in (arrow.parent, arrow.child)]
        for x, y in points_on(arrow):
            assert not any(
                abs(x - box.x) < box.width / 2 - 1 and abs(y - box.y) < box.height / 2 - 1
                for box in others
            )
