"""A whole run on own questions with real training, and its base and champion asked afterwards."""

import contextlib
import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rsi_master.app.folder import RunFolder
from rsi_master.app.reader import read
from rsi_master.core.artifact import Problem, Row
from rsi_master.core.run import ClaimScored
from rsi_master.domains.data.pool import parse
from rsi_master.interfaces import trial
from rsi_master.interfaces.cli import main
from rsi_master.interfaces.runs import newest

PROMPT = "Q: is {} fine?\nA:"
WANTED = "quite fine"


class Typed(io.StringIO):
    """A terminal at which nobody types."""

    def isatty(self) -> bool:
        return True


def said(*words: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return code, out.getvalue(), err.getvalue()


def shortened(text: str) -> str:
    """The contract with few trainings, one of them a verification."""
    text = text.replace('["sft", "rejection", "grpo"]', '["sft"]')
    for key, value in {"experiments": 3, "experiments_per_worker": 1, "workers": 4}.items():
        text, found = re.subn(rf"(?m)^{key} = \d+$", f"{key} = {value}", text)
        assert found == 1, key
    return text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with its own installation, and in it a finished run on own questions."""
    folder = tmp_path_factory.mktemp("own place")
    rows = ({"prompt": PROMPT.format(number), "answer": WANTED} for number in range(1000, 2000))
    lines = "".join(json.dumps(row) + "\r\n" for row in rows)
    questions = folder / "drawer 7" / "sécret.jsonl"
    questions.parent.mkdir()
    questions.write_text("\ufeff" + lines, encoding="utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("RSI_HOME", str(folder / "home"))
        patch.delenv("RSI_RUN", raising=False)
        patch.setattr("sys.stdin", io.StringIO())
        code, told, errors = said("init", "mine", "--benchmark", str(questions))
        assert code == 0, errors
        (folder / "init.txt").write_text(told, encoding="utf-8")
        text = Path("mine.toml").read_text(encoding="utf-8")
        Path("mine.toml").write_text(shortened(text), encoding="utf-8")
        code, told, errors = said("run", "mine.toml")
        assert code == 0, told + errors
        (folder / "run.txt").write_text(told, encoding="utf-8")
        yield folder


@pytest.fixture
def run(place: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.chdir(place)
    monkeypatch.setenv("RSI_HOME", str(place / "home"))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    return newest(place / "runs")


def test_what_the_splits_can_show_is_told_before_and_at_the_start(place: Path) -> None:
    told = (place / "init.txt").read_text(encoding="utf-8")
    assert "1,000 rows, 1,000 different questions, 1 task; sealed at the start of a run: " in told
    assert "dev 150, confirm 200, holdout 250; 400 to train on\n" in told
    shown = re.search(r"shows (.* points on dev, .* points on confirm, .* on holdout)\n", told)
    assert shown
    assert shown[1] in (place / "run.txt").read_text(encoding="utf-8")


def test_the_champion_learnt_the_answers_and_no_sealed_question(run: RunFolder) -> None:
    record = read(run)
    claimed = record.state.claimed
    assert isinstance(claimed, ClaimScored)
    assert claimed.result.difference is not None
    assert claimed.result.difference.low > 0.5
    assert claimed.result.difference.n == 250
    opened = record.state.opened
    assert opened is not None
    assert opened.sealed.sizes == {"dev": 150, "confirm": 200, "holdout": 250, "twin": 0}
    stored = {fact.source.origin: digest for digest, fact in record.state.datasets.items()}
    assert set(stored) == {"own/train", "own/prompts"}
    for origin, kind in (("own/train", Row), ("own/prompts", Problem)):
        digest = stored[origin].removeprefix("sha256:")
        rows = parse((run.objects / digest[:2] / digest[2:]).read_bytes())
        assert len(rows) == 400
        assert {type(row) for row in rows} == {kind}


def test_the_record_names_the_file_by_its_digest_alone(run: RunFolder) -> None:
    assert read(run).contract.evaluator.items is not None
    held = [path for path in run.path.rglob("*") if path.is_file()]
    assert held
    for path in held:
        data = path.read_bytes()
        assert b"drawer 7" not in data, path
        assert b"cret.jsonl" not in data, path


def test_a_file_that_was_changed_moved_or_is_not_asked_for_is_told(
    run: RunFolder, place: Path, tmp_path: Path
) -> None:
    questions = place / "drawer 7" / "sécret.jsonl"
    moved = questions.rename(tmp_path / "moved.jsonl")
    try:
        code, _, told = said("run", "mine.toml")
        assert code == 3
        assert told.startswith("rsi: BENCHMARK_FILE_MISSING: evaluator.items = sha256:")
        assert "it lay at" in told
        other = tmp_path / "other.jsonl"
        other.write_bytes(moved.read_bytes() + b"\n")
        code, _, told = said("run", "mine.toml", "--benchmark", str(other))
        assert code == 3
        assert "rsi: BENCHMARK_FILE_DIFFERS: " in told
        assert "write a new contract by `" in told
        text = Path("mine.toml").read_text(encoding="utf-8")
        many = text.replace("holdout = 250", "holdout = 650")
        (tmp_path / "many.toml").write_text(many, encoding="utf-8")
        code, _, told = said("run", str(tmp_path / "many.toml"), "--benchmark", str(moved))
        assert code == 3
        assert 'TOO_FEW_QUESTIONS: task "own" has 1000 different questions' in told
        assert len(list((place / "runs").iterdir())) == 1
    finally:
        moved.rename(questions)
    said("init", "plain")
    code, _, told = said("run", "plain.toml", "--benchmark", str(questions))
    assert (code, "BENCHMARK_FILE_UNUSED" in told) == (2, True)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it holds no rows"),
        (b'{"prompt": "a", "answer": 4}', 'row 1: field "answer" is 4, a number'),
        (b'{"prompt": "a", "answer": "4"}', "it has 1 different question"),
    ],
)
def test_a_file_that_cannot_be_used_writes_no_contract(
    run: RunFolder, tmp_path: Path, data: bytes, words: str
) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_bytes(data)
    code, _, told = said("init", "bad", "--benchmark", str(file))
    assert code == 2
    assert told.startswith(f"rsi: BENCHMARK_FILE: {file}: ")
    assert words in told
    assert told.count("\n") == 1
    assert not Path("bad.toml").exists()


def test_base_and_champion_answer_side_by_side_wherever_the_run_lies(
    run: RunFolder, tmp_path: Path
) -> None:
    moved = shutil.copytree(run.path, tmp_path / "another name")
    prompt = PROMPT.format(777)
    code, told, errors = said("try", str(moved), prompt, "x" * 400, "\udcff", "--json")
    assert code == 2, errors
    answered, refused, odd = (json.loads(line) for line in told.splitlines())
    assert answered["prompt"] == prompt
    assert answered["checkpoint"].strip() == WANTED
    assert answered["base"].strip() != WANTED
    assert refused["problem"] == "the prompt has 400 tokens, the base reads 1 to 255 of them"
    assert odd["problem"] == "the prompt is no Unicode text"


def test_lines_that_are_piped_are_prompts(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    row = json.dumps({"prompt": PROMPT.format(300), "answer": "no matter"})
    monkeypatch.setattr("sys.stdin", io.StringIO(row + "\n\nQ: is 301 fine?\\nA:\n{braces\n"))
    code, told, errors = said("try", str(run.path), "--json", "--tokens", "4")
    assert code == 0, errors
    prompts = [json.loads(line)["prompt"] for line in told.splitlines()]
    assert prompts == [PROMPT.format(300), PROMPT.format(301), "{braces"]


def test_without_prompts_the_data_are_asked_then_the_terminal(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = iter([PROMPT.format(500).replace("\n", "\\n"), " "])

    def line(prompt: str) -> str:
        assert prompt == trial.ASKING
        try:
            return next(typed)
        except StopIteration as end:
            raise EOFError from end

    monkeypatch.setattr("builtins.input", line)
    monkeypatch.setattr("sys.stdin", Typed())
    best = read(run).state.finished
    assert best is not None
    code, told, errors = said("try", str(run.path), "--experiment", str(best.champion)[-8:])
    assert code == 0, errors
    assert told.startswith("4 prompts of the data that this run could use:\n")
    assert len(re.findall(rf"(?m)^data +{WANTED}$", told)) == 4
    assert len(re.findall(rf"(?m)^[0-9a-f]{{8}} +{WANTED}$", told)) == 5
    assert told.count("\nbase ") == 5
    assert "Ctrl-D ends." in errors
    shown = {row.prompt for row in trial.examples(read(run))}
    assert len(shown) == 4
    digests = read(run).state.datasets
    assert {fact.source.origin for fact in digests.values()} == {"own/train", "own/prompts"}


def test_a_record_without_the_bytes_says_what_is_missing(run: RunFolder, tmp_path: Path) -> None:
    copy = RunFolder(shutil.copytree(run.path, tmp_path / "copy"))
    record = read(copy)
    assert record.state.finished is not None
    champion = record.state.experiments[str(record.state.finished.champion)]
    assert champion.checkpoint is not None
    digest = champion.checkpoint.artifact.digest.removeprefix("sha256:")
    manifest = copy.objects / digest[:2] / f"{digest[2:]}.folder"
    blobs = json.loads(manifest.read_bytes())["files"]
    weights = blobs["model.safetensors"].removeprefix("sha256:")
    path = copy.objects / weights[:2] / weights[2:]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    code, _, told = said("try", str(copy.path), "a")
    assert code == 1
    assert told.startswith(f"rsi: ARTIFACT_REPLACED: the checkpoint of {champion.id}: ")
    path.unlink()
    code, _, told = said("try", str(copy.path), "a")
    assert code == 1
    assert "ARTIFACT_MISSING" in told
    assert " verify` checks one" in told


def test_what_has_no_checkpoint_is_told(run: RunFolder) -> None:
    for named, code in (("base", 2), ("w1", 2), ("nothing-like-it", 2)):
        assert said("try", str(run.path), "a", "--experiment", named)[0] == code
    assert said("try", "nowhere", "a")[0] == 2
    assert said("try")[0] == 2
