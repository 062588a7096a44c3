"""The file of own questions: what is taken as it is, and the one line that tells each flaw."""

import json
import os
from pathlib import Path

import pytest

from rsi_master.programs.sealed.own import file
from rsi_master.programs.sealed.own.file import BadFile, parse, read

GOOD = b'{"prompt": "2 + 2", "answer": "4"}'
OTHER = b'{"prompt": "2 + 3", "answer": "5", "task": "sums"}'


def flaw(data: bytes) -> str:
    with pytest.raises(BadFile) as bad:
        parse(data)
    assert bad.value.code == "BENCHMARK_FILE"
    assert bad.value.exit_code == 2
    assert "\n" not in bad.value.message
    return bad.value.message


@pytest.mark.parametrize(
    "data",
    [
        GOOD + b"\n" + OTHER,
        GOOD + b"\n" + OTHER + b"\n\n",
        GOOD + b"\r\n" + OTHER + b"\r\n",
        b"\xef\xbb\xbf" + GOOD + b"\n" + OTHER,
        b"\n  \n" + GOOD + b"\n" + OTHER,
        GOOD + b"\n" + GOOD + b"\n" + OTHER,
    ],
    ids=["plain", "empty lines", "CRLF", "BOM", "leading lines", "a repeat"],
)
def test_line_ends_marks_and_repeats_do_not_matter(data: bytes) -> None:
    found = [(entry.task, entry.prompt, entry.answer) for entry in parse(data)]
    assert found == [("own", "2 + 2", "4"), ("sums", "2 + 3", "5")]


def test_texts_are_kept_as_they_are_but_for_their_line_ends() -> None:
    (entry,) = parse(json.dumps({"prompt": "a\r\nb\t", "answer": " Z\u0308 ", "id": 3}).encode())
    assert (entry.number, entry.prompt, entry.answer) == (1, "a\nb\t", " Z\u0308 ")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (b"{", 'row 2: "{" is not JSON: '),
        (b"prompt,answer", 'row 2: "prompt,answer" is not JSON: '),
        (b'{"prompt": "a", "answer": "b"} {}', "is not JSON: Extra data"),
        (b'{"prompt": "a", "prompt": "b", "answer": "c"}', "a field stands twice"),
        (b"[" * 100_000, "is not JSON: "),
        (b"[1]", 'row 2: "[1]" is a list, no object; write one object a line, as {"prompt": '),
        (b"7", 'row 2: "7" is a number, no object'),
        (b'{"answer": "4"}', 'row 2: field "prompt" is missing; it has "answer"; add it'),
        (b'{"question": "a", "answer": "4"}', 'it has "question", "answer"; add it'),
        (b'{"prompt": "a"}', 'row 2: field "answer" is missing; it has "prompt"; add it'),
        (b"{}", "it has nothing; add it"),
        (b'{"pro\\u001b[31mmpt": "a", "answer": "4"}', 'it has "pro\\u001b[31mmpt", "answer"; add'),
        (b'{"pro\xe2\x80\xaempt": "a", "answer": "4"}', 'it has "pro\\u202empt", "answer"; add'),
        (b'{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}', '"g", "h" …; add it'),
        (b'{"prompt": "a", "answer": ' + b"7" * 5_000 + b"}", "77…, a number; write text in quot"),
        (b"7" * 5_000, "is a number, no object"),
        (b'{"prompt": "a", "answer": 4}', 'row 2: field "answer" is 4, a number; write text'),
        (b'{"prompt": "a", "answer": NaN}', "is not JSON: NaN is no JSON"),
        (b'{"prompt": null, "answer": "4"}', 'field "prompt" is null, nothing; write text'),
        (b'{"prompt": ["a"], "answer": "4"}', "a list; write text in quotation marks"),
        (b'{"prompt": {"a": 1}, "answer": "4"}', "an object; write text"),
        (b'{"prompt": "a", "answer": true}', "is true, true or false; write text"),
        (b'{"prompt": " \\n", "answer": "4"}', 'row 2: field "prompt" is empty; fill it in'),
        (b'{"prompt": "a", "answer": ""}', 'row 2: field "answer" is empty; fill it in'),
        (b'{"prompt": "a", "answer": "\\u200b"}', 'field "answer" is '),
        (b'{"prompt": "a", "answer": "see\\n#### "}', "which gives no answer; write the answer"),
        (b'{"prompt": "\\ud800", "answer": "4"}', 'field "prompt" holds U+D800, which is no text'),
        (b'{"prompt": "a\\u0000", "answer": "4"}', "holds U+0000, which is no text; remove it"),
        (b'{"prompt": "\xef\xbf\xbd", "answer": "4"}', "holds U+FFFD"),
        (b'{"prompt": "a", "answer": "4", "task": 3}', 'field "task" is 3, a number'),
        (b'{"prompt": "a", "answer": "4", "task": " x"}', "without space around it"),
        (b'{"prompt": "\xe9", "answer": "4"}', "row 2: byte 13 (0xe9) is not UTF-8; save the"),
        (b'{"prompt": "2  + 2", "answer": "5"}', 'row 2: prompt "2  + 2" has answer "5", in row 1'),
    ],
)
def test_a_flaw_is_told_with_row_field_value_and_fix(row: bytes, told: str) -> None:
    assert told in flaw(GOOD + b"\n" + row + b"\n" + OTHER)


def test_a_number_of_any_length_is_no_flaw_where_it_is_left_alone() -> None:
    long = b"9" * 5_000
    row = b'{"prompt": "2 + 2", "answer": "4", "id": -' + long + b', "ids": [' + long + b"]}"
    (entry,) = parse(row)
    assert (entry.prompt, entry.answer) == ("2 + 2", "4")


def test_other_encodings_and_empty_files_are_told() -> None:
    assert "row 1: byte 1 (0xff) is not UTF-8" in flaw(GOOD.decode().encode("utf-16"))
    for data in (b"", b"\n\n", b"\xef\xbb\xbf"):
        assert flaw(data).startswith("it holds no rows; ")


def test_a_long_value_is_cut() -> None:
    assert len(flaw(b"{" * 5_000)) < 300


def test_answers_that_are_equal_in_form_are_one() -> None:
    (entry,) = parse(GOOD + b'\n{"prompt": "2 + 2", "answer": "4.0"}')
    assert entry.answer == "4"


def test_what_is_no_file_of_fair_size_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "LIMIT", 40)
    good, large, pipe = tmp_path / "good", tmp_path / "large", tmp_path / "pipe"
    good.write_bytes(GOOD)
    with large.open("wb") as sparse:
        sparse.truncate(2 << 30)
    os.mkfifo(pipe)
    assert read(good) == GOOD
    told = {
        large: "it has 2,147,483,648 bytes; at most 40 are taken",
        tmp_path: "it is a folder; name a JSONL file",
        pipe: "it is no plain file; name a JSONL file",
        tmp_path / "none": "it cannot be read: No such file or directory; name a JSONL file",
    }
    for path, words in told.items():
        with pytest.raises(BadFile) as bad:
            read(path)
        assert words in bad.value.message
