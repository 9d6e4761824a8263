"""Tables as they are found in the world: read right, or refused in one sentence."""

import datetime as dt
import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from ensemblage.datasets import open_dataset, read_table
from ensemblage.persistence import load, save
from ensemblage.studies import compare, predict, read_rows, train

HERE = Path(__file__).parent
SIZES = [1.5, 2.25, 1234.5, 4.75, 1250.75, 6.0, 2345.25, 8.5]
DAYS = [
    f"2021-{month:02}-{day:02}"
    for day, month in [(3, 4), (13, 5), (1, 12), (25, 1), (9, 9), (10, 10), (30, 6), (2, 2)]
]
KINDS = {"n": "numeric", "w": "categorical", "d": "date"}


class Expected(NamedTuple):
    """What a file holds: its kinds by their letters, its names, some notes, its target."""

    kinds: str
    names: str
    notes: tuple[str, ...] = ()
    target: str = "class"


def dates(how=""):
    return f"dates{how}; they become days since 1970-01-01."


def left_out(what):
    return f"{what} left out"


UNNAMED = "There is no header line; the columns are called column_1 to column_"
READ = {
    "germany.csv": Expected("ndww", "Größe|Aufnahme|Beruf|class", (
        "Read with ';' between values, ',' as decimal mark, '.' between thousands and Latin-1 as",
        dates(" (day first)"))),
    "france.csv": Expected("ndww", "taille|arrivée|métier|class", (
        "Read with ';' between values, ',' as decimal mark and ' ' between thousands.",
        dates(" (day first)"))),
    "switzerland.csv": Expected("ndww", "Grösse|Datum|Beruf|class", (
        "Read with ';' between values, \"'\" between thousands and Latin-1 as encoding.",
        dates(" (day first)"))),
    "sweden.csv": Expected("ndww", "längd|datum|yrke|class", (
        "Read with tabs between values, ',' as decimal mark and ' ' between thousands.", dates())),
    "united-states.csv": Expected("ndww", "size|when|job|class", (
        "Read with ',' between thousands.", dates(" (month first)"))),
    "spain.txt": Expected("ndww", "size|when|job|class", (
        "Read with '|' between values, ',' as decimal mark and '.' between thousands.",
        dates(" (day first)"))),
    "poland.csv": Expected("ndww", "wielkość|data|zawód|class", (
        "Read with ';' between values, ',' as decimal mark and ' ' between thousands.",
        dates(" (day first)"))),
    "india.csv": Expected("ndww", "size|when|job|class", (
        "Read with ',' between thousands.", dates(" (day first)"))),
    "euro.csv": Expected("nw", "cena|class", (
        "'.' between thousands and Windows-1252 as", "Column 'cena' is read without its '€'.")),
    "comma-in-header.csv": Expected("nnw", "height, cm|weight|class", (
        "Read with ';' between values and ',' as decimal mark.",)),
    "quoted-newlines.csv": Expected("nww", "size|remark of the day|class"),
    "blanks.dat": Expected("nww", "size|job|class", ("Read with blanks between values.",)),
    "auto.data": Expected("nnnw", "column_1|column_2|column_3|column_4", (
        "Read with blanks between values.", UNNAMED + "4."), "column_3"),
    "said-separator.csv": Expected("nnw", "x|y|class", ("Read with ';' between values.",)),
    "semicolons-in-words.csv": Expected("nww", "size|likes|class"),
    "inches.csv": Expected("wnw", "screen|price|class"),
    "old-mac.csv": Expected("nw", "size|class"),
    "no-header.data": Expected(
        "nnww", "column_1|column_2|column_3|column_4", (UNNAMED + "4.",), "column_4"),
    "no-header-words.data": Expected(
        "www", "column_1|column_2|column_3", (UNNAMED + "3.",), "column_3"),
    "years.csv": Expected("wnnnw", "country|2019|2020|2021|class"),
    "title.csv": Expected("nww", "size|job|class", (
        left_out("1 line above the table"), left_out("1 line below the table"))),
    "padded-title.csv": Expected("nww", "size|job|class", (
        left_out("1 line above the table"), left_out("without values"))),
    "comments.csv": Expected("nww", "size|job|class"),
    "commented-header.txt": Expected("nnn", "size|weight|class", ("Read with blanks",)),
    "units.csv": Expected("nnw", "size|weight|class", ("looks like units ([cm], [kg]); it is",)),
    "row-names.csv": Expected("nnww", "row|size|job|class", ("one value more than the header",)),
    "index.csv": Expected("nnw", "column_1|size|class"),
    "equal-names.csv": Expected("nnnw", "size|size_2|column_3|class", ("numbered: 'size_2'.",)),
    "empty-columns.csv": Expected("nww", "size|job|class", ("2 columns without a name and",)),
    "names.csv": Expected("nww", "the size|📏 emoji|class"),
    "gap-words.csv": Expected("nnww", "size|age|grade|class", (
        "Read as missing in columns 'size', 'age': '#N/A', '-', '.', 'NULL', 'None', 'n/a'",)),
    "mixed.csv": Expected("ww", "size|class"),
    "percent.csv": Expected("nnw", "share|price|class", ("without its '%'", "without its '$'")),
    "all-missing.csv": Expected("nnnw", "size|empty|marks|class"),
    "thousand-or-not.csv": Expected("nw", "size|class", (
        "Read with ';' between values and ',' as decimal mark.",
        "'1,050' may stand for 1050 or for 1.050; it is read as the second")),
    "day-or-month.csv": Expected("dw", "seen|class", (
        dates(" (month first)"), "Nothing in 'seen' tells whether day or month comes first")),
    "times.csv": Expected("ddw", "seen|logged|class", (dates(),)),
    "truth.csv": Expected("wwnn", "ok|flag|size|class"),
    "one-row-per-class.csv": Expected("nw", "size|class", target=""),
    "versions.csv": Expected("wnw", "version|code|class"),
    "weka.arff": Expected("nwnw", "size|job|the age|class"),
    "codes.arff": Expected("www", "stage|lost|class"),
    "dates.arff": Expected("dw", "seen|class"),
    "umlaut.arff": Expected("nww", "Größe|Beruf|class", ("Read with Latin-1 as encoding.",)),
    "keel.dat": Expected("nw", "Size|Class", target="Class"),
}  # fmt: skip
REFUSED = {
    "refused-empty.csv": "is empty: a header line and at least one row are needed.",
    "refused-header-only.csv": "has a header line but no rows.",
    "refused-ragged.csv": "Line 3 of refused-ragged.csv has 2 values, but the header has 3: every",
    "refused-open-quote.csv": "Line 2 of refused-open-quote.csv cannot be read",
    "refused-binary.csv": "is not text: give a CSV",
    "refused-undeclared.arff": "has 'smith' for 'job'; declared are: cook.",
    "refused-relational.arff": "declares tables inside rows, which are not read: flatten them.",
    "refused-short.arff": "Line 6 of refused-short.arff has 1 value, but 2 attributes are declared",
    "refused-no-declaration.arff": "Line 1 of refused-no-declaration.arff is not an ARFF",
    "refused-suffix.json": "is of no known format: the name must end in .csv",
}
COUNTRIES = ["germany", "france", "switzerland", "sweden", "united-states", "poland"]


def rows_of_texts():
    """The plain table that others here are written in other ways."""
    head = ["size", "when", "job", "class"]
    jobs = ["cook", "smith", "cook", "baker", "smith", "baker", "cook", "smith"]
    labels = ["yes", "no"] * 4
    sizes = [str(size) for size in SIZES]
    return [head, *map(list, zip(sizes, DAYS, jobs, labels, strict=True))]


def as_text():
    return "\n".join(",".join(row) for row in rows_of_texts()) + "\n"


def many_columns():
    head = [f"c{j}" for j in range(500)] + ["class"]
    rows = [[str(i * j % 7) for j in range(500)] + ["yn"[i % 2]] for i in range(8)]
    return "\n".join(",".join(row) for row in [head, *rows])


def many_words():
    lines = [f"w{i},{i % 7},{'yn'[i % 2]}" for i in range(3000)]
    return "\n".join(["name,size,class", *lines])


def spreadsheet(path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    head, *rows = rows_of_texts()
    book = openpyxl.Workbook()
    for row in [head, *([float(s), dt.date.fromisoformat(d), j, c] for s, d, j, c in rows)]:
        book.active.append(row)
    book.save(path)


def parquet(path):
    pa = pytest.importorskip("pyarrow")
    head, *rows = rows_of_texts()
    sizes, days, jobs, labels = zip(*rows, strict=True)
    columns = [
        pa.array(map(float, sizes)),
        pa.array(map(dt.date.fromisoformat, days)),
        pa.array(jobs).dictionary_encode(),
        pa.array(labels),
    ]
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns, names=head), path)


MADE = {
    "utf-8-mark.csv": lambda: as_text().encode("utf-8-sig"),
    "utf-16.csv": lambda: as_text().encode("utf-16"),
    "utf-16-unmarked.csv": lambda: as_text().encode("utf-16-le"),
    "packed.csv.gz": lambda: gzip.compress(as_text().encode()),
    "windows.csv": lambda: as_text().replace("\n", "\r\n").encode(),
    "many-columns.csv": lambda: many_columns().encode(),
    "many-words.csv": lambda: many_words().encode(),
    "book.xlsx": spreadsheet,
    "stored.parquet": parquet,
}


@pytest.fixture(params=[*READ, *MADE])
def awkward(request, tmp_path):
    """A file that can be read, and the name of its target."""
    if request.param in READ:
        return HERE / request.param, READ[request.param].target
    path = tmp_path / request.param
    make = MADE[request.param]
    make(path) if path.suffix in {".xlsx", ".parquet"} else path.write_bytes(make())
    return path, "class"


def test_every_file_here_is_expected():
    files = {path.name for path in HERE.iterdir() if path.suffix not in {".py", ".pyc"}}
    assert files - {"__pycache__"} == {*READ, *REFUSED}
    assert len(READ) + len(REFUSED) + len(MADE) > 60


@pytest.mark.parametrize("name", READ)
def test_files_are_read_right(name):
    table, expected = read_table(HERE / name), READ[name]
    assert table.kinds == tuple(KINDS[letter] for letter in expected.kinds)
    assert table.names == tuple(expected.names.split("|"))
    assert len(table.notes) == len(expected.notes)
    assert [
        part for part, note in zip(expected.notes, table.notes, strict=True) if part not in note
    ] == []
    assert table.n_rows == 8


@pytest.mark.parametrize("name", REFUSED)
def test_files_are_refused_in_one_sentence(name):
    with pytest.raises(ValueError) as caught:
        read_table(HERE / name)
    assert REFUSED[name] in str(caught.value)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("country", COUNTRIES)
def test_countries_write_the_same_table(country):
    table = read_table(HERE / f"{country}.csv")
    assert table.columns[0].tolist() == SIZES
    assert np.datetime_as_string(table.columns[1], "D").tolist() == DAYS


def test_values_of_single_files():
    def column(file, name):
        return read_table(HERE / file).column(name).tolist()

    assert column("india.csv", "size")[2] == 102345.5
    assert column("euro.csv", "cena") == SIZES
    assert column("comma-in-header.csv", "height, cm") == SIZES
    assert column("quoted-newlines.csv", "remark of the day")[0] == 'first, line\nsecond "0"'
    assert column("auto.data", "column_4")[:2] == ["ford  cook 0", "ford  smith 1"]
    assert column("inches.csv", "screen")[:2] == ['20" wide', '21" wide']
    assert column("thousand-or-not.csv", "size")[:2] == [1.05, 2.15]
    assert column("gap-words.csv", "grade")[:3] == ["-", "n/a", "A"]
    assert column("mixed.csv", "size")[1:3] == ["2.25", "big"]
    assert column("percent.csv", "share")[:2] == [0.5, 1.5]
    assert column("codes.arff", "lost")[:4] == ["NA", "?", "none", None]
    assert column("weka.arff", "job") == [
        "cook", "smith", "cook", "baker ", "smith", "cook", "smith", None,
    ]  # fmt: skip
    assert read_table(HERE / "codes.arff").categories["lost"] == ("NA", "?", "none")
    times = read_table(HERE / "times.csv")
    assert times.column("seen")[1] == np.datetime64("2021-02-03T10:11", "ms")
    assert times.column("logged")[1] == np.datetime64("2021-03-02T13:01", "ms")


def test_tables_in_other_packing_are_the_same(tmp_path):
    for name in [
        "utf-8-mark.csv",
        "utf-16.csv",
        "utf-16-unmarked.csv",
        "packed.csv.gz",
        "windows.csv",
    ]:
        (tmp_path / name).write_bytes(MADE[name]())
        table = read_table(tmp_path / name)
        assert table.names == ("size", "when", "job", "class")
        assert table.column("size").tolist() == SIZES
        assert np.datetime_as_string(table.column("when"), "D").tolist() == DAYS
        assert len(table.notes) == 1 + name.startswith("utf-16")


@pytest.mark.filterwarnings("ignore")
def test_a_model_is_trained_on_it_and_predicts_it(awkward, tmp_path):
    path, target = awkward
    if not target:
        with pytest.raises(ValueError, match="No class has as many rows"):
            compare(open_dataset(str(path), "class"), methods=["majority"], n_splits=2)
        return
    dataset = open_dataset(str(path), target)
    trained = train(dataset, "majority", n_splits=2, n_jobs=1)
    save(
        trained.model, tmp_path / "m.skops", columns=dataset.feature_names, kinds=dataset.kinds,
        target=target,
    )  # fmt: skip
    saved = load(tmp_path / "m.skops")
    rows = read_rows(saved, path)
    assert rows.X.shape == dataset.X.shape
    assert len(predict(saved.model, rows.X).y_pred) == len(dataset.y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["logistic", "forest", "boosting", "bayesnet"])
def test_methods_take_it(awkward, method):
    path, target = awkward
    if target:
        dataset = open_dataset(str(path), target)
        result = compare(dataset, methods=[method], n_splits=2, quick=True, n_jobs=1)
        assert result.methods[0].failures == {}
