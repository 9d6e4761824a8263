import gzip

import pytest

from ensemblage.datasets._encoding import Decoded, decode, detect_piecewise, unpack

TEXT = "naïve,œuvre,Straße\n1,2,3\n"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (TEXT.encode(), "UTF-8"),
        (TEXT.encode("utf-8-sig"), "UTF-8"),
        (TEXT.encode("utf-16"), "UTF-16"),
        (TEXT.encode("utf-16-le"), "UTF-16"),
        (TEXT.encode("utf-16-be"), "UTF-16"),
        (TEXT.encode("utf-32"), "UTF-32"),
        (TEXT.encode("cp1252"), "Windows-1252"),
    ],
)
def test_encodings_are_found(data, encoding):
    assert decode(data, "a.csv") == Decoded(TEXT, encoding)


def test_latin_1_has_no_letters_between_128_and_160():
    assert decode("é".encode("latin-1"), "a.csv") == Decoded("é", "Latin-1")
    assert decode("é€".encode("cp1252"), "a.csv") == Decoded("é€", "Windows-1252")


def test_lines_end_in_one_way():
    assert decode(b"a\r\nb\rc\n\x1a", "a.csv").text == "a\nb\nc\n"


def test_an_encoding_that_is_said_is_taken():
    assert decode("é".encode("cp850"), "a.csv", "cp850") == Decoded("é", "cp850")
    with pytest.raises(ValueError, match=r"Line 2 of a\.csv is not UTF-8 text \(byte 0xe9\): name"):
        decode(b"x\n\xe9\n", "a.csv", "utf-8")
    with pytest.raises(ValueError, match="is not Windows-1252 text"):
        decode(b"x\n\xe9\x81\n", "a.csv")


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x00\x00\x00\rIHDR", b"\x01\x02\x03\xff" * 50, b"a,b\n\x00,1\n"]
)
def test_what_is_no_text_is_refused(data):
    with pytest.raises(ValueError, match=r"a\.csv is not text"):
        decode(data, "a.csv")


def test_packed_bytes_are_unpacked_or_refused():
    packed = gzip.compress(b"x,y\n1,2\n" * 100)
    assert unpack(packed, "a.csv.gz") == b"x,y\n1,2\n" * 100
    assert unpack(b"x,y", "a.csv") == b"x,y"
    for damaged in (packed[:-9], packed[:20] + b"x" + packed[21:]):
        with pytest.raises(ValueError, match=r"a\.csv\.gz is truncated or damaged"):
            unpack(damaged, "a.csv.gz")
    with pytest.raises(ValueError, match="unpacks to more than 100 times its size"):
        unpack(gzip.compress(bytes(65 * 2**20)), "a.csv.gz")


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1"])
def test_pieces_tell_the_encoding_of_the_whole(size, encoding):
    data = TEXT.replace("œ", "o" if encoding == "latin-1" else "œ").encode(encoding)
    # a mark stands in the first piece, which is never that short
    pieces = [data[:4], *(data[i : i + size] for i in range(4, len(data), size))]
    assert detect_piecewise(pieces) == encoding


def test_some_bytes_take_the_whole_to_tell():
    assert detect_piecewise([TEXT.encode("utf-16-le")]) is None
    assert detect_piecewise([bytes(range(1, 256))]) is None
    assert detect_piecewise(["ö".encode()[:1]]) == "latin-1"
