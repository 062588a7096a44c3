"""What a report says of integrity is what the laws say, and what the threat model says."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.told import page, whole

from rsi_master.app.laws import MADE
from rsi_master.expos.books import CHECKS
from rsi_master.expos.order import Flaw
from rsi_master.expos.verify import Report
from rsi_master.interfaces.report.coverage import UNCOVERED
from rsi_master.interfaces.report.integrity import first_sentence
from rsi_master.interfaces.report.subject import Verification

MODEL = (Path(__file__).parents[2] / "docs" / "threat-model.md").read_text(encoding="utf-8")
LEFT_OPEN = re.compile(r"not covered|not scanned|not prevented", re.IGNORECASE)
HEADINGS = re.findall(r"^#+ (.*)$", MODEL, re.MULTILINE)
ATTEMPTS = dict(re.findall(r"^\| ([^|]+?) \| (.+) \|$", MODEL, re.MULTILINE))
CHECKED = Report(origin="r", events=9, signed=9, artifacts=1, root="ab", anchor="signed", flaws=())


def test_every_attempt_that_the_threat_model_leaves_open_is_told() -> None:
    open_ = {attempt for attempt, answer in ATTEMPTS.items() if LEFT_OPEN.search(answer)}
    assert len(open_) > 10
    told = {gap.under for gap in UNCOVERED}
    assert open_ - told == set(), "open in docs/threat-model.md, not in the report"
    assert told - {*ATTEMPTS, *HEADINGS} == set(), "no words of docs/threat-model.md"


def test_what_no_attempt_names_is_told_by_the_sections_that_say_it() -> None:
    sections = re.split(r"^## ", MODEL, flags=re.MULTILINE)[1:]
    listed = re.compile(r"^- Not (?:held|covered):", re.MULTILINE)
    open_ = {text.split("\n")[0] for text in sections if listed.search(text)}
    assert "Isolation tiers" in open_
    assert open_ <= {gap.under for gap in UNCOVERED}


@pytest.mark.parametrize("law", (*CHECKS, *MADE), ids=lambda law: law.__name__)
def test_every_law_says_what_it_is(law: object) -> None:
    assert first_sentence(str(law.__doc__)).endswith(".")


def test_the_report_lists_the_laws_that_were_checked(tmp_path: Path) -> None:
    subject = whole(tmp_path / "run")
    checked = replace(subject, verification=Verification(CHECKED, key="a key"))
    text = page(checked).by_id("integrity").text()
    for law in (*CHECKS, *MADE):
        assert law.__name__.replace("_", " ") in text
    assert "Every intent has one outcome; in a finished run none is open." in text
    assert "no more was spent than the contract allows." in text


def test_laws_that_were_not_checked_are_not_listed(tmp_path: Path) -> None:
    flaw = Flaw(code="LAWS_UNCHECKED", where="ledger", what="events are damaged")
    damaged = CHECKED.model_copy(update={"flaws": (flaw,)})
    subject = whole(tmp_path / "run")
    text = page(replace(subject, verification=Verification(damaged))).by_id("integrity").text()
    assert "The laws of records were not checked" in text
    assert "Every intent has one outcome" not in text


def test_a_sentence_ends_where_the_next_begins() -> None:
    assert first_sentence("One of e.g. two;\n  three. Four.") == "One of e.g. two; three."
    assert first_sentence("θ_in is the base. θ_out is not.") == "θ_in is the base."
    assert first_sentence("") == ""
