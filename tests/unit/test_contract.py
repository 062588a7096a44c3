"""The contract: errors of one line with a way out, and a digest over every rule."""

from collections.abc import Iterator
from typing import TypeVar, get_origin

import pytest
from pydantic import BaseModel

from rsi_master.core.canonical import digest, encode
from rsi_master.core.contract import ADDED, Contract, parse
from rsi_master.core.errors import Refused

Model = TypeVar("Model", bound=BaseModel)
TEXT = f"""
name = "small"
target = "add numbers"
seed = 3

[base]
name = "nano"
digest = "sha256:{"a" * 64}"

[budget]
device_seconds = 100
wall_seconds = 200.0
evaluations = 10
experiments = 5

[policy]
sources = ["nano/one"]
"""


def refusal(text: str) -> Refused:
    with pytest.raises(Refused) as refused:
        parse(text, "small.toml")
    assert "\n" not in refused.value.message
    assert "small.toml" in refused.value.message
    return refused.value


def test_the_smallest_contract_is_whole() -> None:
    contract = parse(TEXT, "small.toml")
    assert contract.policy.selection == "confirmed"
    assert contract.isolation.floor == "landlock"


@pytest.mark.parametrize(
    ("line", "close"),
    [
        ("experiment = 5", "experiments"),
        ("evalutaions = 10", "evaluations"),
        ("wall_second = 3", "wall_seconds"),
    ],
)
def test_an_unknown_key_is_refused_with_the_close_one(line: str, close: str) -> None:
    problem = refusal(TEXT.replace("[policy]", f"{line}\n[policy]"))
    assert f"budget.{line.split()[0]}" in problem.message
    assert f"did you mean {close!r}?" in problem.message


def test_an_unknown_key_without_a_close_one_is_refused_plainly() -> None:
    assert "did you mean" not in refusal("zzzz = 1\n" + TEXT).message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("evaluations = 10", 'evaluations = "many"', "budget.evaluations = 'many'"),
        ("experiments = 5", "experiments = 0", "budget.experiments = 0"),
        ("device_seconds = 100", "device_seconds = nan", "budget.device_seconds"),
        ("seed = 3", "seed = -1", "seed = -1"),
        ("seed = 3", "seed = 3\ncontract_version = 2", "contract_version = 2"),
        ('name = "small"', 'name = "Small One"', "name = 'Small One'"),
        ('sources = ["nano/one"]', 'sources = "nano/one"', "policy.sources = 'nano/one'"),
        ('sources = ["nano/one"]', "", "key 'policy.sources' is missing"),
        ('target = "add numbers"', "", "key 'target' is missing"),
        ("[policy]", "[policy]\nmerging = 1", "policy.merging = 1"),
    ],
)
def test_a_wrong_value_is_one_line_with_place_and_value(old: str, new: str, words: str) -> None:
    assert old in TEXT
    problem = refusal(TEXT.replace(old, new))
    assert problem.code == "CONTRACT_INVALID"
    assert words in problem.message


def test_what_is_not_toml_is_refused() -> None:
    assert refusal("name = ").code == "CONTRACT_SYNTAX"


def test_comments_order_and_a_byte_order_mark_do_not_change_the_digest() -> None:
    head, base, budget, policy = TEXT.split("\n\n")
    turned = "\n\n".join((head, policy, "# a comment", budget, base)).replace("100", "100.0")
    assert parse("\ufeff" + turned, "b").digest() == parse(TEXT, "a").digest()


def fields(model: type[BaseModel], prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and get_origin(inner) is None and issubclass(inner, BaseModel):
            yield from fields(inner, (*prefix, name))
        else:
            yield (*prefix, name)


def other(value: object) -> object:
    """Another value of the same kind; the closed words have one each."""
    words: dict[object, object] = {
        "exact": "rounded",
        "landlock": "none",
        "playbook": "other",
        "confirmed": "published",
    }
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, tuple):
        return (*value, "another")
    return words.get(value, f"{value}0")


def with_other(model: Model, path: tuple[str, ...]) -> Model:
    """A copy that differs in one field."""
    name, *rest = path
    inner = getattr(model, name)
    return model.model_copy(update={name: with_other(inner, tuple(rest)) if rest else other(inner)})


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_later_keys_at_their_defaults_leave_a_digest_as_it_was() -> None:
    contract = parse(TEXT, "small.toml")
    told = contract.model_dump(mode="json")
    for section, added in ADDED.items():
        for name, default in added.items():
            assert told[section].pop(name) == default
    assert contract.digest() == digest(encode(told))
    spelt = TEXT + "\n[evaluator]\npractice = 8\n\n[research]\nprobes_per_worker = 6\n"
    assert parse(spelt, "small.toml").digest() == contract.digest()
    changed = parse(spelt.replace("practice = 8", "practice = 9"), "small.toml")
    assert changed.digest() != contract.digest()
    assert contract.differences(changed) == ("evaluator.practice: 8 != 9",)


@pytest.mark.parametrize("path", list(fields(Contract)), ids=".".join)
def test_every_rule_and_every_default_is_in_the_digest(path: tuple[str, ...]) -> None:
    contract = parse(TEXT, "a")
    changed = with_other(contract, path)
    assert changed.digest() != contract.digest()
    (difference,) = contract.differences(changed)
    assert difference.startswith(".".join(path) + ": ")
    assert " != " in difference


def test_a_key_that_was_added_later_counts_only_where_it_is_set() -> None:
    contract = parse(TEXT, "a")
    before = contract.model_dump(mode="json")
    for section, added in ADDED.items():
        assert {name: before[section].pop(name) for name in added} == added
    assert contract.digest() == digest(encode(before))
    given = f"sha256:{'b' * 64}"
    items = TEXT.replace("[budget]", f'[evaluator]\nitems = "{given}"\n\n[budget]')
    assert parse(items, "b").digest() != contract.digest()
    path = refusal(items.replace(given, "my.jsonl"))
    assert "evaluator.items = 'my.jsonl'" in path.message


def test_equal_contracts_do_not_differ() -> None:
    assert parse(TEXT, "a").differences(parse(TEXT, "b")) == ()
