"""Programs of agents in a run on fakes: added, listed, used, denied, and never believed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from rsi_master.app.laws import laws
from rsi_master.core.action import OS
from rsi_master.core.artifact import Row
from rsi_master.core.contract import Contract
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.errors import Misuse, OverBudget, PolicyDenied
from rsi_master.core.event import Event
from rsi_master.core.making import MakingEnded
from rsi_master.core.program import ProgramAdded
from rsi_master.core.run import ActionDenied, ActionSettled, OwnerStarted
from rsi_master.core.state import State
from rsi_master.domains.data.actions import DatasetView, RefusedView
from rsi_master.domains.data.made import FailedRunView
from rsi_master.domains.data.pool import parse
from rsi_master.domains.data.programs import (
    FailedProgramView,
    ProgramsView,
    ProgramView,
    SourceView,
)
from rsi_master.expos.screen import HITS
from rsi_master.testing.rig import Rig, sketch_contract
from rsi_master.testing.sketch import POOL_ROWS

SHORT = """
def transform(row):
    '''Keeps the sums, and says how they are worked out.'''
    if ' add ' not in row['prompt']:
        return None
    return {'prompt': row['prompt'], 'completion': ' so' + row['completion']}
"""
SHORT_TESTS = (
    {
        "row": {"prompt": "Q: add 1 and 2\nA:", "completion": " 3"},
        "made": ({"prompt": "Q: add 1 and 2\nA:", "completion": " so 3"},),
    },
    {"row": {"prompt": "Q: reverse ab\nA:", "completion": " ba"}, "made": ()},
)
VERIFY = """
def verify(prompt, answer):
    asked = prompt.split()
    if asked[1] != 'add':
        return None
    return answer.strip() == str(int(asked[2]) + int(asked[4]))
"""
VERIFY_TESTS = (
    {"prompt": "Q: add 1 and 2\nA:", "answer": " 3", "points": 1},
    {"prompt": "Q: add 1 and 2\nA:", "answer": " 4", "points": 0},
    {"prompt": "Q: reverse ab\nA:", "answer": " ba", "points": None},
)


def contract(**policy: object) -> Contract:
    sources = ["sketch/clean", "sketch/scraped", "sketch/prompts", "sketch/pairs"]
    return sketch_contract(policy={"programs": 3, "sources": sources, **policy})


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path, contract(), tier="namespaces")
    yield made
    assert [flaw for law in laws(made.objects, made.contract) for flaw in law(made.events())] == []
    made.close()


def add(rig: Rig, kind: str = "transform", source: str = SHORT, **more: Any) -> Any:
    tests = {"transform": SHORT_TESTS, "verifier": VERIFY_TESTS}.get(kind, ())
    given = {"kind": kind, "title": "short", "source": source, "tests": tests, **more}
    main = rig.main()
    return rig.while_working(lambda: main.act("program.add", **given))


def transform(rig: Rig, program: str, dataset: str) -> Any:
    main = rig.main()
    return rig.while_working(lambda: main.act("data.transform", program=program, dataset=dataset))


def rows_of(rig: Rig, dataset: str) -> list[Row]:
    return cast(list[Row], list(parse(rig.objects.get_bytes(dataset))))


def denials(rig: Rig) -> list[str]:
    return [fact.rule for fact in rig.facts(ActionDenied)]


def test_a_program_that_meets_its_tests_gets_an_id(rig: Rig) -> None:
    view = add(rig)
    assert isinstance(view, ProgramView)
    assert (view.kind, view.title, view.by, view.examples) == ("transform", "short", "main", 2)
    (fact,) = rig.facts(ProgramAdded)
    assert rig.state.programs == {view.id: fact}
    (job,) = rig.facts(MakingEnded)
    assert (job.program, job.ending, job.problem) == ("code", "ok", None)
    settled = rig.facts(ActionSettled)[-1]
    assert settled.spent.device_seconds == job.seconds > 0
    listed = cast(ProgramsView, rig.worker("w1").act("program.list"))
    assert listed == ProgramsView(programs=(view,), left=2)
    shown = rig.reviewer("r1").act("program.inspect", program=view.id)
    assert shown == SourceView(**view.model_dump(), source=SHORT)


def test_the_id_is_of_kind_and_text_alone(rig: Rig) -> None:
    first = add(rig)
    with pytest.raises(PolicyDenied, match=f"it is program {first.id[:19]} already"):
        add(rig, title="other")
    both = SHORT + VERIFY
    assert add(rig, "transform", both).id != add(rig, "verifier", both).id


@pytest.mark.parametrize(
    ("kind", "source", "told"),
    [
        (
            "transform",
            "def transform(row):\n    return row\n",
            "test 0: made [{'prompt': 'Q: add 1 and 2\\nA:', 'completion': ' 3'}], not [{'prompt': "
            "'Q: add 1 and 2\\nA:', 'completion': ' so 3'}]",
        ),
        ("transform", "def transform(row):\n    return row['q']\n", "row 0, line 2, KeyError: 'q'"),
        ("transform", "import os\ndef transform(row): os.nothing", "has no attribute 'nothing'"),
        (
            "verifier",
            "def verify(prompt, answer):\n    return 1\n",
            "test 1: gave 1.0 points, not 0.0",
        ),
        (
            "verifier",
            "def verify(prompt, answer):\n    return 2\n",
            "row 0, ValueError: 2 is no number in 0..1 and not None",
        ),
    ],
)
def test_a_test_that_is_not_met_is_told_in_a_line_and_paid(
    rig: Rig, kind: str, source: str, told: str
) -> None:
    view = add(rig, kind, source)
    assert isinstance(view, FailedProgramView)
    assert told in view.failed
    assert "\n" not in view.failed
    assert rig.state.programs == {}
    (job,) = rig.facts(MakingEnded)
    assert job.problem == view.failed
    assert rig.facts(ActionSettled)[-1].spent.device_seconds == job.seconds


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"source": "def transform(row:"}, r"line 1: '\(' was never closed"),
        ({"source": "x = 1"}, r"a transform defines transform\(row\) at its top"),
        ({"tests": ()}, "tests = "),
        ({"tests": VERIFY_TESTS}, "test 0 of a transform has the fields row, made"),
        ({"source": "#" * 16_001}, "at most 16000 characters"),
        ({"kind": "trainer"}, "kind = 'trainer'"),
        ({"title": "A B"}, "title = 'A B'"),
    ],
)
def test_what_is_no_program_is_refused_before_anything_runs(
    rig: Rig, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(Misuse, match=told):
        add(rig, **given)
    assert rig.facts(MakingEnded) == []


def test_a_contract_that_says_nothing_permits_none_and_keeps_its_digest(tmp_path: Path) -> None:
    plain = sketch_contract()
    assert plain.policy.programs == 0
    assert plain.digest() == sketch_contract(policy={"programs": 0}).digest() != contract().digest()
    rig = Rig(tmp_path, plain, tier="namespaces")
    with pytest.raises(PolicyDenied, match="the contract permits no programs"):
        add(rig)
    assert denials(rig) == ["programs"]
    rig.close()


def test_no_more_programs_than_the_contract_permits(tmp_path: Path) -> None:
    rig = Rig(tmp_path, contract(programs=1), tier="landlock")
    add(rig)
    with pytest.raises(PolicyDenied, match="permits 1 programs and all are added"):
        add(rig, "verifier", VERIFY)
    rig.close()


def test_without_walls_nothing_of_an_agent_runs(tmp_path: Path) -> None:
    rig = Rig(tmp_path, contract(), tier="none")
    with pytest.raises(PolicyDenied, match="and here holds 'none'"):
        add(rig)
    assert denials(rig) == ["walls"]
    rig.close()


def test_the_walls_are_those_of_the_present_owner(rig: Rig) -> None:
    short, data = add(rig).id, rig.add()
    for tier in ("none", "landlock"):
        came = OwnerStarted.model_validate({"resumed": True, "tier": tier, "platform": "rig"})
        rig.ledger.append(OS, (came,)).wait()
        if tier == "none":
            with pytest.raises(PolicyDenied, match="and here holds 'none'"):
                rig.main().act("data.transform", dataset=data, program=short)
    assert denials(rig) == ["walls"]
    assert add(rig, "verifier", VERIFY).kind == "verifier"


def test_a_finalised_worker_adds_and_uses_none(rig: Rig) -> None:
    node = rig.open_worker(rig.add())
    rig.finalise(node)
    given = {"kind": "transform", "title": "a", "source": SHORT, "tests": SHORT_TESTS}
    with pytest.raises(PolicyDenied, match="finalised"):
        rig.worker(node).act("program.add", **given)


def test_what_the_budget_does_not_cover_is_not_tested(tmp_path: Path) -> None:
    rig = Rig(tmp_path, contract(), tier="namespaces")
    rig.state.books.hold("rest", rig.state.books.left())
    with pytest.raises(OverBudget, match=r"device_seconds 10\.0"):
        add(rig)
    rig.close()


def test_each_job_of_a_program_is_one_of_the_submissions(tmp_path: Path) -> None:
    rig = Rig(tmp_path, contract(submissions=4), tier="namespaces")
    data = rig.add()
    counts = [rig.state.submissions]
    for source in ("def transform(row):\n    return row\n", SHORT):
        program = add(rig, source=source)
        counts.append(rig.state.submissions)
    made = transform(rig, program.id, data)
    assert [*counts, rig.state.submissions] == [1, 2, 3, 4]
    with pytest.raises(PolicyDenied, match="allows 4 data submissions") as denied:
        add(rig, "verifier", VERIFY)
    assert denied.value.code == "SUBMISSIONS"
    with pytest.raises(PolicyDenied, match="allows 4 data submissions") as denied:
        transform(rig, program.id, data)
    assert denied.value.code == "SUBMISSIONS"
    assert isinstance(made, DatasetView)
    assert State.replay(rig.contract, rig.events()).submissions == 4
    rig.close()


def test_programs_leave_enough_to_verify_what_may_be_selected(rig: Rig) -> None:
    """The training takes 10 seconds, its scoring 20, and a job of a program just over 10."""
    data, short, judge = rig.add(), add(rig).id, add(rig, "verifier", VERIFY).id
    _, name = rig.explored(data)
    held, total = rig.state.books.reserved(), rig.contract.budget.device_seconds
    spent = rig.state.books.spent
    main = rig.main()
    asked: dict[str, dict[str, Any]] = {
        "data.transform": {"dataset": data, "program": short},
        "data.filter": {"dataset": data, "verified": True, "verifier": judge},
        "program.add": {
            "kind": "transform",
            "title": "a",
            "source": SHORT + VERIFY,
            "tests": SHORT_TESTS,
        },
    }
    left = total - held.device_seconds
    rig.state.books.spent = spent.model_copy(update={"device_seconds": left - 40})
    for action, arguments in asked.items():
        with pytest.raises(PolicyDenied, match=f"not cover the verification of {name}") as denied:
            main.act(action, **arguments)
        assert denied.value.code == "VERIFICATION"
    rig.state.books.spent = spent.model_copy(update={"device_seconds": left - 41})
    assert transform(rig, short, data).rows == POOL_ROWS // 2
    rig.state.books.spent = State.replay(rig.contract, rig.events()).books.spent


def stem_of(rig: Rig) -> str:
    """A sealed question that is found among other words."""
    return next(item.stem for item in rig.items() if item.task == "add")


def hidden(stem: str) -> tuple[str, ...]:
    """Programs that hold a sealed question: as text, in a comment, put together of constants."""
    one, two = stem[:6], stem[6:]  # within a number, so that the text itself does not hold it
    place = "def transform(row):\n    return {{'prompt': {}}}\n"
    return (
        place.format(repr(stem)),
        place.format("'a'") + f"# {stem}\n",
        place.format(f"{one!r} + {two!r}"),
        place.format(f"''.join([{one!r}, {two!r}])"),
        place.format(f"{stem[::-1]!r}[::-1]"),
        place.format(f'f"{{{one!r}}}{{{two!r}}}"'),
        place.format(repr(list(stem))),
    )


@pytest.mark.parametrize("way", range(7))
def test_a_program_that_holds_a_sealed_question_is_denied_and_counted(rig: Rig, way: int) -> None:
    stem = stem_of(rig)
    with pytest.raises(PolicyDenied) as denied:
        add(rig, source=hidden(stem)[way])
    assert denied.value.code == "SEALED_TEXT"
    assert stem not in denied.value.message
    (fact,) = rig.facts(ActionDenied)
    assert (fact.rule, fact.arguments) == ("screen", {"withheld": "the text repeats a sealed item"})
    assert rig.state.screened == {"main": 1}
    assert rig.facts(MakingEnded) == []


def test_a_test_that_holds_a_sealed_question_is_denied(rig: Rig) -> None:
    row = {"prompt": rig.items()[0].prompt}
    with pytest.raises(PolicyDenied) as denied:
        add(rig, tests=({"row": row, "made": (row,)},))
    assert denied.value.code == "SEALED_TEXT"


def test_a_transform_makes_a_dataset_that_says_of_what(rig: Rig) -> None:
    data, program = rig.add(), add(rig).id
    view = transform(rig, program, data)
    assert isinstance(view, DatasetView)
    assert (view.origin, view.parents, view.rows) == ("sketch/clean", (data,), POOL_ROWS // 2)
    fact = rig.state.datasets[view.id]
    assert fact.source.operation == {"transform": program}
    assert all(row.completion.startswith(" so ") for row in rows_of(rig, view.id))
    again = transform(rig, program, data)
    assert again.id == view.id


def test_what_a_transform_makes_is_scanned(rig: Rig) -> None:
    """A program that puts a sealed question together where no constant shows it."""
    stem = stem_of(rig)
    codes = [ord(letter) + 1 for letter in stem]
    source = (
        f"CODES = {codes}\n"
        "def transform(row):\n"
        "    return {'prompt': ''.join(chr(one - 1) for one in CODES)}\n"
        "def unused(): pass\n"
    ).replace("chr(one - 1)", "chr(one - 1) if len(row['prompt']) > 3 else 'x'")
    tests = ({"row": {"prompt": "a"}, "made": ({"prompt": "x" * len(codes)},)},)
    program = add(rig, source=source, tests=tests).id
    view = transform(rig, program, rig.add())
    assert isinstance(view, RefusedView)
    (fact,) = rig.facts(DatasetRefused)
    assert fact.dropped == {"SEALED_PROMPT": POOL_ROWS}
    assert rig.state.screened == {"main": 1}


def test_rows_of_two_kinds_are_no_dataset(rig: Rig) -> None:
    source = "def transform(row):\n    return [row, {'prompt': row['prompt']}]\n"
    row = {"prompt": "a", "completion": "b"}
    program = add(rig, source=source, tests=({"row": row, "made": (row, {"prompt": "a"})},)).id
    view = transform(rig, program, rig.add())
    assert isinstance(view, FailedRunView)
    assert view.failed.startswith("sketch/clean holds prompts and rows")
    assert len(rig.facts(DatasetRegistered)) == 1


def test_a_program_that_fails_on_a_row_makes_nothing_and_is_paid(rig: Rig) -> None:
    source = "def transform(row):\n    return {'prompt': row['prompt'][:90 // (len(row) - 1)]}\n"
    row = {"prompt": "a", "completion": "b"}
    program = add(rig, source=source, tests=({"row": row, "made": ({"prompt": "a"},)},)).id
    view = transform(rig, program, rig.add("sketch/prompts"))
    assert isinstance(view, FailedRunView)
    assert view.failed.startswith("row 0, line 2, ZeroDivisionError")
    assert rig.facts(MakingEnded)[-1].problem == view.failed
    assert rig.state.submissions == 3  # the pool, the program, and the transform that failed


def test_words_that_repeat_a_sealed_item_are_withheld_and_counted(rig: Rig) -> None:
    stem = stem_of(rig)
    source = (
        f"CODES = {[ord(letter) + 1 for letter in stem]}\n"
        "def transform(row):\n"
        "    if 'Q' in row['prompt']:\n"
        "        raise ValueError(''.join(chr(one - 1) for one in CODES))\n"
        "    return row\n"
    )
    program = add(rig, source=source, tests=({"row": {"prompt": "a"}, "made": ({"prompt": "a"},)},))
    view = transform(rig, program.id, rig.add())
    assert view.failed == "the program failed, with words that repeat a sealed item"
    assert not [event for event in rig.events() if stem.encode() in event.to_bytes()]
    assert rig.state.screened == {"main": 1}


def test_without_the_sealed_process_nothing_is_made_and_the_job_is_paid(rig: Rig) -> None:
    data, program = rig.add(), add(rig).id
    rig.sealed.die()
    view = transform(rig, program, data)
    rig.sealed.restart()
    assert view.failed == "the sealed process gave no answer, so nothing was made; ask again"
    assert rig.facts(ActionSettled)[-1].spent.device_seconds == rig.facts(MakingEnded)[-1].seconds
    assert len(rig.facts(DatasetRegistered)) == 1


def test_only_a_program_of_its_kind_is_used(rig: Rig) -> None:
    data, verifier, short = rig.add(), add(rig, "verifier", VERIFY).id, add(rig).id
    with pytest.raises(PolicyDenied, match="is a verifier, and a transform is needed"):
        transform(rig, verifier, data)
    with pytest.raises(PolicyDenied, match="is a transform, and a verifier is needed"):
        rig.main().act("data.filter", dataset=data, verified=True, verifier=short)
    with pytest.raises(PolicyDenied, match=r"is not in the run; see program\.list"):
        transform(rig, "sha256:" + "0" * 64, data)
    with pytest.raises(Misuse, match=r"is not in the run; see program\.list"):
        rig.main().act("program.inspect", program=data)


def test_a_verifier_takes_the_place_of_the_benchmarks(rig: Rig) -> None:
    """The sketch benchmark has none."""
    pairs, program = rig.add("sketch/pairs"), add(rig, "verifier", VERIFY).id
    main = rig.main()
    with pytest.raises(PolicyDenied, match="name a program as verifier"):
        main.act("data.filter", dataset=pairs, verified=True)

    def kept(**more: object) -> Any:
        return rig.while_working(
            lambda: main.act("data.filter", dataset=pairs, verified=True, verifier=program, **more)
        )

    assert kept().rows == POOL_ROWS
    known = kept(unknown="drop")
    assert known.rows == POOL_ROWS // 2
    operation = rig.state.datasets[known.id].source.operation
    assert operation["filter"] == {"verified": True, "verifier": program, "unknown": "drop"}
    assert all(" add " in row.prompt for row in rows_of(rig, known.id))
    with pytest.raises(Misuse, match="set verified too"):
        main.act("data.filter", dataset=pairs, verifier=program, limit=3)


def test_a_node_that_repeated_sealed_items_too_often_has_no_program_run_on_rows(rig: Rig) -> None:
    """What a program says when it fails is screened, so each run could ask about one more text."""
    data, short, judge = rig.add(), add(rig).id, add(rig, "verifier", VERIFY).id
    main = rig.main()
    rig.state.screened["main"] = HITS
    for action, arguments in (
        ("data.transform", {"dataset": data, "program": short}),
        ("data.filter", {"dataset": data, "verified": True, "verifier": judge}),
    ):
        with pytest.raises(PolicyDenied, match="repeated sealed items 3 times") as denied:
            main.act(action, **arguments)
        assert denied.value.code == "SCREEN_CAP"
    assert main.act("data.filter", dataset=data, limit=3)
    assert len(rig.facts(MakingEnded)) == 2, "the self-tests"


def test_kinds_are_told_before_the_scan_so_that_they_tell_nothing_of_it(rig: Rig) -> None:
    """Else a sealed prompt among rows would show by what is left being of one kind."""
    source = (
        f"CODES = {[ord(letter) + 1 for letter in stem_of(rig)]}\n"
        "def transform(row):\n"
        "    asked = ''.join(chr(one - 1) for one in CODES)\n"
        "    return [row, {'prompt': asked}] if len(row['prompt']) > 1 else row\n"
    )
    row = {"prompt": "a", "completion": "b"}
    program = add(rig, source=source, tests=({"row": row, "made": (row,)},)).id
    view = transform(rig, program, rig.add())
    assert isinstance(view, FailedRunView)
    assert view.failed.startswith("sketch/clean holds prompts and rows")


@pytest.mark.parametrize("use", ["data.transform", "data.filter"])
def test_a_record_that_uses_a_program_it_never_added_is_flawed(rig: Rig, use: str) -> None:
    data, short, verifier = rig.add(), add(rig).id, add(rig, "verifier", VERIFY).id
    main = rig.main()
    asked = {
        "data.transform": {"dataset": data, "program": short},
        "data.filter": {"dataset": data, "verified": True, "verifier": verifier},
    }
    rig.while_working(lambda: main.act(use, **asked[use]))
    events = rig.events()
    without = [event for event in events if not isinstance(event.fact, ProgramAdded)]
    assert [flaw for law in laws(rig.objects, rig.contract) for flaw in law(events)] == []
    (flaw,) = [flaw for law in laws(rig.objects, rig.contract) for flaw in law(without)]
    assert flaw.code == "PROGRAM_UNKNOWN"


def test_the_record_says_it_again(rig: Rig) -> None:
    data, program = rig.add(), add(rig).id
    view = transform(rig, program, data)
    events: tuple[Event, ...] = rig.events()
    again = State.replay(rig.contract, events)
    assert again.programs == rig.state.programs
    assert set(again.datasets) == {data, view.id}
    assert again.books.spent == rig.state.books.spent
    (added,) = [event.fact for event in events if isinstance(event.fact, ProgramAdded)]
    assert rig.objects.check(added.artifact.digest) is None
    assert rig.objects.check(added.tests.digest) is None
