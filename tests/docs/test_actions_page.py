import re
from pathlib import Path

from rsi_master.core.action import Role
from rsi_master.interfaces.act import installed
from rsi_master.interfaces.actions_page import page
from rsi_master.interfaces.fields import form
from rsi_master.interfaces.published import ABSENT, GROUPS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_the_one_that_the_catalogue_makes() -> None:
    written = (DOCS / "actions.md").read_text(encoding="utf-8")
    assert written == page(installed()) + "\n", (
        "run: python -m rsi_master.interfaces.actions_page > docs/actions.md"
    )


def test_every_action_is_documented_with_its_fields() -> None:
    text = page(installed())
    for entry in installed():
        section = text.partition(f"### {entry.action.name}\n")[2].partition("\n###")[0]
        assert entry.action.__doc__, entry.action.name
        assert all(f"`{field.name}`" in section for field in form(entry.action).fields)
        assert f"Effect: {entry.action.effect}." in section
        assert all(role.value in section for role in entry.views if role != Role.OS)


def test_ranges_and_defaults_are_told() -> None:
    text = page(installed())
    assert "| `count` | whole number, 1 to 200 | 50 |" in text
    assert '| `split` | "dev" or "confirm" | confirm |' in text
    assert "| `learning_rate` | number, 1e-07 to 0.1 | 0.0001 |" in text
    assert "| `reason` | text of 1 to 2000 characters | *required* |" in text


def test_the_published_tools_are_all_mapped_to_actions_that_exist() -> None:
    places = {tool: place for tools in GROUPS.values() for tool, place in tools.items()}
    assert {group: len(tools) for group, tools in GROUPS.items()} == {
        "Data": 6,
        "Execution and state": 13,
        "Research and evidence": 8,
        "Review": 4,
    }
    known = {entry.action.name for entry in installed()}
    for tool, place in places.items():
        named = re.findall(r"`([a-z]+\.[a-z]+)`", place)
        assert set(named) <= known, tool
        assert named or ABSENT in place, tool
