"""Real-world tables: read correctly, or refused in one sentence."""

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
KINDS = {"n": "numeric", "c": "categorical", "d": "date"}


class Expected(NamedTuple):
    """Expected kinds (by letter), column names, notes and target of a file."""

    kinds: str
    names: str
    notes: tuple[str, ...] = ()
    target: str = "class"


def dates(how=""):
    return f"dates{how}, converted to days since 1970-01-01."


UNNAMED = "No header found; the columns are named column_1 to column_"
READ = {
    "germany.csv": Expected("ndcc", "Größe|Aufnahme|Beruf|class", (
        "Read with separator ';', decimal mark ',', thousands separator '.' and encoding Latin-1.",
        dates(" (day first)"))),
    "france.csv": Expected("ndcc", "taille|arrivée|métier|class", (
        "Read with separator ';', decimal mark ',' and thousands separator ' '.",
        dates(" (day first)"))),
    "switzerland.csv": Expected("ndcc", "Grösse|Datum|Beruf|class", (
        "Read with separator ';', thousands separator \"'\" and encoding Latin-1.",
        dates(" (day first)"))),
    "sweden.csv": Expected("ndcc", "längd|datum|yrke|class", (
        "Read with separator tab, decimal mark ',' and thousands separator ' '.", dates())),
    "united-states.csv": Expected("ndcc", "size|when|job|class", (
        "Read with thousands separator ','.", dates(" (month first)"))),
    "spain.txt": Expected("ndcc", "size|when|job|class", (
        "Read with separator '|', decimal mark ',' and thousands separator '.'.",
        dates(" (day first)"))),
    "poland.csv": Expected("ndcc", "wielkość|data|zawód|class", (
        "Read with separator ';', decimal mark ',' and thousands separator ' '.",
        dates(" (day first)"))),
    "india.csv": Expected("ndcc", "size|when|job|class", (
        "Read with thousands separator ','.", dates(" (day first)"))),
    "euro.csv": Expected("nc", "cena|class", (
        "thousands separator '.' and encoding Windows-1252",
        "Removed the sign '€' from the values of column 'cena'.")),
    "comma-in-header.csv": Expected("nnc", "height, cm|weight|class", (
        "Read with separator ';' and decimal mark ','.",)),
    "quoted-newlines.csv": Expected("ncc", "size|remark of the day|class"),
    "whitespace.dat": Expected("ncc", "size|job|class", ("Read with separator whitespace.",)),
    "auto.data": Expected("nnnc", "column_1|column_2|column_3|column_4", (
        "Read with separator whitespace.", UNNAMED + "4."), "column_3"),
    "separator-line.csv": Expected("nnc", "x|y|class", ("Read with separator ';'.",)),
    "semicolons-in-text.csv": Expected("ncc", "size|likes|class"),
    "inches.csv": Expected("cnc", "screen|price|class"),
    "old-mac.csv": Expected("nc", "size|class"),
    "no-header.data": Expected(
        "nncc", "column_1|column_2|column_3|column_4", (UNNAMED + "4.",), "column_4"),
    "no-header-categorical.data": Expected(
        "ccc", "column_1|column_2|column_3", (UNNAMED + "3.",), "column_3"),
    "years.csv": Expected("cnnnc", "country|2019|2020|2021|class"),
    "title.csv": Expected("ncc", "size|job|class", (
        "Skipped 1 line above the table", "Skipped 1 line below the table")),
    "padded-title.csv": Expected("ncc", "size|job|class", (
        "Skipped 1 line above the table", "without name and values")),
    "comments.csv": Expected("ncc", "size|job|class"),
    "commented-header.txt": Expected("nnn", "size|weight|class", ("separator whitespace",)),
    "units.csv": Expected("nnc", "size|weight|class", ("which looks like units ([cm], [kg]).",)),
    "row-names.csv": Expected("nncc", "row|size|job|class", ("one value more than the header",)),
    "index.csv": Expected("nnc", "column_1|size|class"),
    "duplicate-names.csv": Expected("nnnc", "size|size_2|column_3|class", ("renamed: 'size_2'.",)),
    "empty-columns.csv": Expected("ncc", "size|job|class", ("Dropped 2 columns without",)),
    "names.csv": Expected("ncc", "the size|📏 emoji|class"),
    "missing-values.csv": Expected("nncc", "size|age|grade|class", (
        "Read as missing in columns 'size', 'age': '#N/A', '-', '.', 'NULL', 'None', 'n/a'",)),
    "mixed.csv": Expected("cc", "size|class"),
    "percent.csv": Expected("nnc", "share|price|class", ("the sign '%'", "the sign '$'")),
    "all-missing.csv": Expected("nnnc", "size|empty|marks|class"),
    "thousand-or-not.csv": Expected("nc", "size|class", (
        "Read with separator ';' and decimal mark ','.",
        "'1,050' is ambiguous (1050 or 1.050); read as 1.050.")),
    "day-or-month.csv": Expected("dc", "seen|class", (
        dates(" (month first)"), "The order of day and month in 'seen' is ambiguous")),
    "times.csv": Expected("ddc", "seen|logged|class", (dates(),)),
    "boolean.csv": Expected("ccnn", "ok|flag|size|class"),
    "one-row-per-class.csv": Expected("nc", "size|class", target=""),
    "versions.csv": Expected("cnc", "version|code|class"),
    "weka.arff": Expected("ncnc", "size|job|the age|class"),
    "codes.arff": Expected("ccc", "stage|lost|class"),
    "dates.arff": Expected("dc", "seen|class"),
    "umlaut.arff": Expected("ncc", "Größe|Beruf|class", ("Read with encoding Latin-1.",)),
    "keel.dat": Expected("nc", "Size|Class", target="Class"),
}  # fmt: skip
REFUSED = {
    "refused-empty.csv": "is empty: expected a header and at least one row.",
    "refused-header-only.csv": "has a header but no rows.",
    "refused-ragged.csv": "Line 3 of refused-ragged.csv has 2 values, but the header has 3: every",
    "refused-open-quote.csv": "Line 2 of refused-open-quote.csv cannot be parsed",
    "refused-binary.csv": "is not a text file: expected a CSV",
    "refused-undeclared.arff": "has 'smith' in column 'job'; declared categories: cook.",
    "refused-relational.arff": "declares a relational attribute, which is not supported: flatten",
    "refused-short.arff": "Line 6 of refused-short.arff has 1 value, but 2 attributes are declared",
    "refused-no-declaration.arff": "Line 1 of refused-no-declaration.arff is not an ARFF",
    "refused-suffix.json": "has an unknown format: expected the suffix .csv",
}
COUNTRIES = ["germany", "france", "switzerland", "sweden", "united-states", "poland"]


def rows_of_texts():
    """The plain table, which other files contain in other formats."""
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


def many_categories():
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
    "many-categories.csv": lambda: many_categories().encode(),
    "book.xlsx": spreadsheet,
    "stored.parquet": parquet,
}


@pytest.fixture(params=[*READ, *MADE])
def awkward(request, tmp_path):
    """A readable file and the name of its target."""
    if request.param in READ:
        return HERE / request.param, READ[request.param].target
    path = tmp_path / request.param
    make = MADE[request.param]
    make(path) if path.suffix in {".xlsx", ".parquet"} else path.write_bytes(make())
    return path, "class"


def test_every_file_is_listed():
    files = {path.name for path in HERE.iterdir() if path.suffix not in {".py", ".pyc"}}
    assert files - {"__pycache__"} == {*READ, *REFUSED}
    assert len(READ) + len(REFUSED) + len(MADE) > 60


@pytest.mark.parametrize("name", READ)
def test_files_are_read_correctly(name):
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
def test_tables_of_all_locales_are_equal(country):
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
    assert column("missing-values.csv", "grade")[:3] == ["-", "n/a", "A"]
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


def test_encodings_and_compression_give_equal_tables(tmp_path):
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
def test_train_and_predict(awkward, tmp_path):
    path, target = awkward
    if not target:
        with pytest.raises(ValueError, match="no class has that many rows"):
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
def test_methods_fit(awkward, method):
    path, target = awkward
    if target:
        dataset = open_dataset(str(path), target)
        result = compare(dataset, methods=[method], n_splits=2, quick=True, n_jobs=1)
        assert result.methods[0].failures == {}
