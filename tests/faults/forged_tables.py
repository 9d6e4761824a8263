"""Invalid tables, studies and networks, and a separate process to read them in.

Run as ``python -m faults.forged_tables <folder>``: one line of JSON for each file. Only files whose
name begins with ``fine`` are valid.
"""

import gzip
import json
import resource
import sys
import time
import warnings
from pathlib import Path

ROWS = "a,b,class\n" + "".join(f"{i},{i % 7},{'yes' if i % 2 else 'no'}\n" for i in range(40))
ARFF = "@relation r\n@attribute a numeric\n@attribute class {x,y}\n@data\n1,x\n2,y\n"
STUDY = 'name = "s"\nfolds = 5\n[[datasets]]\nname = "iris"\n[[methods]]\nname = "majority"\n'
BIF = (
    "network n {\n}\nvariable a {\n type discrete [ 2 ] { x, y };\n}\n"
    "probability ( a ) {\n table 0.5, 0.5;\n}\n"
)
XML = (
    "<BIF VERSION='0.3'><NETWORK><NAME>n</NAME><VARIABLE TYPE='nature'><NAME>a</NAME>"
    "<OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE><DEFINITION><FOR>a</FOR>"
    "<TABLE>0.5 0.5</TABLE></DEFINITION></NETWORK></BIF>"
)


def _tables():
    yield "empty.csv", ""
    yield "header.csv", "a,b,class\n"
    yield "one column.csv", "a\n1\n2\n"
    yield "ragged.csv", ROWS + "1,2\n" * 3
    yield "open quote.csv", ROWS + '1,"2,no\n' * 3
    yield "zeros.csv", bytes(1000)
    yield "binary.csv", bytes(range(256)) * 40
    yield "one class.csv", ROWS.replace("yes", "no")
    yield "one line.csv", "a," * 1_000_000
    yield "one value.csv", "a" * 5_000_000
    yield "newlines.csv", "\n" * 1_000_000
    yield "spaces.csv", " " * 2_000_000 + "\n1 2\n"
    yield "quotes.csv", '"' * 1_000_001
    yield "fine commas.csv", ROWS.replace("\n", "," * 50 + "\n")
    yield "fine nul.csv", ROWS.replace("39", "3\x009")
    yield "fine names.csv", ROWS.replace("a,b", "=cmd|' /C calc'!A0,\u202eb")
    yield "fine long value.csv", ROWS.replace("39,", "9" * 100_000 + ",")
    yield "fine infinite.csv", ROWS.replace("39,", "1e999,")
    yield "fine many columns.csv", _wide(20_000)
    yield "too many columns.csv", _wide(1_000_000, 4)
    yield "too many columns.tsv", "# title\n" + _wide(1_000_000, 4).replace(",", "\t")
    yield "too many columns.txt", _wide(1_000_000, 4).replace(",", " ")
    yield "bomb.csv.gz", gzip.compress(bytes(100_000_000))
    yield "no declaration.arff", "1,x\n2,y\n"
    yield "no data.arff", ARFF.partition("@data")[0]
    yield "undeclared.arff", ARFF + "3,z\n"
    yield "short.arff", ARFF + "3\n"
    yield "long.arff", ARFF + "3,x,4\n"
    yield "open brace.arff", ARFF.replace("{x,y}", "{x,y")
    yield "open quote.arff", ARFF.replace("attribute a", "attribute 'a")
    yield "relational.arff", ARFF.replace("numeric", "relational")
    yield "no kind.arff", ARFF.replace(" numeric", "")
    yield "many spaces.arff", ARFF.replace(" a numeric", " a" + " " * 200_000 + "numerix")
    yield "many attributes.arff", "@relation r\n" + "@attribute a numeric\n" * 50_000
    yield "sparse.arff", ARFF + "{99999999999 x}\n"
    yield "sparse negative.arff", ARFF + "{-5 x}\n"
    yield "bad date.arff", ARFF.replace("numeric", "date 'yyyy-qq'")
    yield "cut.parquet", b"PAR1" + bytes(100) + b"PAR1"
    yield "text.parquet", "hello"
    yield "text.xlsx", "hello"
    yield "zip.xlsx", b"PK\x03\x04" + bytes(100)
    yield "unknown.json", "{}"


def _wide(n_columns, n_rows=12):
    header = ",".join(f"c{j}" for j in range(n_columns)) + ",class\n"
    rows = (",".join(str((i * j) % 5) for j in range(n_columns)) for i in range(n_rows))
    return header + "".join(f"{row},{'ab'[i % 2]}\n" for i, row in enumerate(rows))


def _studies():
    yield "empty.toml", ""
    yield "none.toml", "\x00"
    yield "latin.toml", STUDY.encode().replace(b'"s"', b'"\xff"')
    yield "cut.toml", STUDY[:-5]
    yield "nested.toml", "a = " + "[" * 100_000
    yield "nested tables.toml", "[" + "a." * 50_000 + "a]\n"
    yield "no methods.toml", STUDY.partition("[[methods]]")[0]
    yield "no datasets.toml", STUDY.replace('[[datasets]]\nname = "iris"\n', "")
    yield "negative folds.toml", STUDY.replace("folds = 5", "folds = -5")
    yield "many folds.toml", STUDY.replace("folds = 5", "folds = 100000000000")
    yield "many repeats.toml", STUDY.replace("folds = 5", "folds = 5\nrepeats = 1000000000000")
    yield "text.toml", STUDY.replace("folds = 5", 'folds = "five"')
    yield "infinite.toml", STUDY.replace("folds = 5", "folds = inf")
    yield "unknown key.toml", STUDY + "surprise = 1\n"
    yield "unknown method.toml", STUDY.replace("majority", "nobody")
    yield "unknown data.toml", STUDY.replace("iris", "nowhere.csv")
    yield "twice.toml", STUDY + '[[methods]]\nname = "majority"\n'
    yield (
        "a grid.toml",
        STUDY
        + "[methods.grid]\n"
        + "".join(f"p{k} = [{', '.join(map(str, range(100)))}]\n" for k in range(4)),
    )
    yield "a date.toml", STUDY.replace("folds = 5", "folds = 2020-01-01")


def _networks():
    yield "empty.bif", ""
    yield "text.bif", "hello"
    yield "cut.bif", BIF[:-20]
    yield "open comment.bif", BIF + "/*"
    yield "no numbers.bif", BIF.replace("0.5, 0.5", "x, y")
    yield "nan.bif", BIF.replace("0.5, 0.5", "nan, nan")
    yield "infinite.bif", BIF.replace("0.5, 0.5", "1e999, 0")
    yield "negative.bif", BIF.replace("0.5, 0.5", "-1, 2")
    yield "too many.bif", BIF.replace("0.5, 0.5", "0.5, 0.25, 0.25")
    yield "no node.bif", BIF.replace("( a )", "( | )")
    yield "own parent.bif", BIF.replace("( a )", "( a | a )")
    yield "unknown parent.bif", BIF.replace("( a )", "( a | b )")
    yield "twice.bif", BIF + BIF
    yield "no states.bif", BIF.replace("[ 2 ] { x, y }", "[ 0 ] { }")
    yield "wrong count.bif", BIF.replace("[ 2 ]", "[ 1000000000000 ]")
    yield "many parents.bif", _parents(28)
    yield "cycle.bif", _cycle()
    yield "long name.bif", BIF.replace("variable a", "variable " + "a" * 3_000_000)
    yield "semicolons.bif", BIF + ";" * 1_000_000
    yield "braces.bif", BIF + "{" * 1_000_000
    yield "empty.xmlbif", ""
    yield "text.xmlbif", "hello"
    yield "cut.xmlbif", XML[:-20]
    yield "bomb.xmlbif", _entity_bomb()
    yield (
        "foreign entity.xmlbif",
        (
            '<?xml version="1.0"?><!DOCTYPE b [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
            + XML.replace("<NAME>a", "<NAME>&x;")
        ),
    )
    yield "nested.xmlbif", "<a>" * 200_000
    yield "no network.xmlbif", "<BIF/>"
    yield "no numbers.xmlbif", XML.replace("0.5 0.5", "x y")
    yield "nan.xmlbif", XML.replace("0.5 0.5", "nan nan")
    yield "too few.xmlbif", XML.replace("0.5 0.5", "1")
    yield "own parent.xmlbif", XML.replace("</FOR>", "</FOR><GIVEN>a</GIVEN>")
    yield "unknown parent.xmlbif", XML.replace("</FOR>", "</FOR><GIVEN>q</GIVEN>")
    yield "two names.xmlbif", XML.replace("</NAME><OUT", "</NAME><NAME>b</NAME><OUT")
    yield "long name.xmlbif", XML.replace("<NAME>a", "<NAME>" + "a\n" * 1_500_000)
    yield "many outcomes.xmlbif", XML.replace("<OUTCOME>x", "<OUTCOME>z</OUTCOME>" * 200_000)


def _parents(count):
    names = [f"v{j}" for j in range(count + 1)]
    variables = "".join(
        f"variable {name} {{\n type discrete [ 2 ] {{ x, y }};\n}}\n" for name in names
    )
    return (
        f"network n {{\n}}\n{variables}probability ( v0 | {', '.join(names[1:])} ) {{\n"
        " default 0.5, 0.5;\n}\n"
    )


def _cycle():
    kinds = "".join(f"variable {n} {{\n type discrete [ 2 ] {{ x, y }};\n}}\n" for n in "ab")
    rows = " (x) 0.5, 0.5;\n (y) 0.5, 0.5;\n"
    tables = f"probability ( a | b ) {{\n{rows}}}\nprobability ( b | a ) {{\n{rows}}}\n"
    return "network n {\n}\n" + kinds + tables


def _entity_bomb():
    entities = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10 if k else "ha"}">' for k in range(10))
    return f'<?xml version="1.0"?><!DOCTYPE b [{entities}]>' + XML.replace("<NAME>a", "<NAME>&e9;")


def write_files(folder):
    """Write all files; return their number."""
    files = [*_tables(), *_studies(), *_networks()]
    for name, content in files:
        data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        (folder / name).write_bytes(data)
    return len(files)


def read(path):
    """Read a file as the command line does."""
    from ensemblage.bayes import BayesNetwork
    from ensemblage.datasets import open_dataset
    from ensemblage.studies import read_study

    if path.suffix == ".toml":
        return read_study(path)
    if path.suffix == ".bif":
        return BayesNetwork.from_bif(path.read_text(encoding="utf-8"))
    if path.suffix == ".xmlbif":
        return BayesNetwork.from_xmlbif(path.read_text(encoding="utf-8"))
    return open_dataset(str(path))


def main(folder):
    """Read each file and print the outcome."""
    warnings.simplefilter("ignore")
    import ensemblage.studies  # noqa: F401  so that its import is not measured

    for path in sorted(Path(folder).iterdir()):
        # of this process only
        before, start = _memory(), time.process_time()
        outcome = {"file": path.name, "error": ""}
        try:
            read(path)
        except ValueError as error:
            outcome["error"] = str(error) or "empty"
        outcome |= {"seconds": time.process_time() - start, "bytes": _memory() - before}
        print(json.dumps(outcome), flush=True)  # noqa: T201


def _memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
