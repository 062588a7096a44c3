"""What a training takes of the program that judges for it."""

import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from rsi_master.core.artifact import Problem, Prompt
from rsi_master.core.failure import Drop
from rsi_master.programs.jobs import judge, verifier
from rsi_master.programs.jobs.result import Untrainable

Reply = Callable[[dict[str, object]], str]


@pytest.fixture
def judged(request: pytest.FixtureRequest) -> Iterator[Callable[[Reply], verifier.Verifier]]:
    """A verifier whose judge is a function from an episode to a line."""
    ours, theirs = socket.socketpair()
    threads: list[threading.Thread] = []

    def start(reply: Reply) -> verifier.Verifier:
        def serve() -> None:
            with theirs, theirs.makefile("rb") as lines:
                for line in lines:
                    theirs.sendall(reply(json.loads(line)).encode())

        threads.append(threading.Thread(target=serve))
        threads[0].start()
        prompts = (Problem(prompt="p", answer="four"), Prompt(prompt="q"))
        return judge.load(prompts, ours.detach())

    yield start
    theirs.close()


def test_an_episode_is_asked_and_its_points_are_taken(
    judged: Callable[..., verifier.Verifier],
) -> None:
    seen: list[dict[str, object]] = []

    def reply(episode: dict[str, object]) -> str:
        seen.append(episode)
        return '{"points": [0.5]}\n' if episode["prompt"] == "p" else '{"points": [null]}\n'

    verify = judged(reply)
    assert verify("p", "4") == 0.5
    assert verify("q", "4") is None
    assert seen == [
        {"prompt": "p", "answer": "4", "known": "four"},
        {"prompt": "q", "answer": "4", "known": None},
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"points": [2]}\n', "the program gives no points in 0..1"),
        ('{"points": [NaN]}\n', "the program gives no points in 0..1"),
        ('{"points": [true]}\n', "the program gives no points in 0..1"),
        ('{"points": []}\n', "the program gives no points in 0..1"),
        ('{"points": [1, 1]}\n', "the program gives no points in 0..1"),
        ('{"points": [1], "more": 1}\n', "the program gives no points in 0..1"),
        ("x" * 20_000, "the program gives no points in 0..1"),
        ('{"points": [1]}\n{"points": [1]}\n', "the program gives no points in 0..1"),
        (
            '{"failure": {"row": null, "line": 3, "error": "KeyError: words"}}\n',
            "the program fails at line 3 with KeyError",
        ),
        (
            '{"failure": {"row": null, "line": null, "error": "Words of its own: words"}}\n',
            "the program fails",
        ),
        (
            f'{{"failure": {{"row": null, "line": {10**60}, "error": "KeyError: a"}}}}\n',
            "the program gives no points in 0..1",
        ),
        (
            '{"failure": {"row": null, "line": 0, "error": "KeyError: a"}}\n',
            "the program gives no points in 0..1",
        ),
    ],
)
def test_anything_else_ends_the_training(
    judged: Callable[..., verifier.Verifier], line: str, told: str
) -> None:
    verify = judged(lambda _: line)
    with pytest.raises(Untrainable) as ended:
        verify("p", "4")
    assert (ended.value.failure.code, ended.value.failure.detail) == ("PROGRAM_FAILED", told)


def test_a_prompt_that_was_known_stays_so_or_ends_the_training(
    judged: Callable[..., verifier.Verifier],
) -> None:
    """`q` is unknown throughout; `p` is known with the empty answer of the first question alone."""

    def reply(episode: dict[str, object]) -> str:
        known = episode["prompt"] == "p" and not episode["answer"]
        return f'{{"points": [{0 if known else "null"}]}}\n'

    verify, dropped = judged(reply), Counter[Drop]()
    prompts = (Prompt(prompt="p"), Prompt(prompt="q"))
    assert verifier.known(prompts, verify, dropped) == [Prompt(prompt="p")]
    assert dropped == {"unverifiable": 1}
    assert verify("q", "4") is None
    with pytest.raises(Untrainable) as ended:
        verifier.points(verify, "p", "4")
    assert (ended.value.failure.code, ended.value.failure.detail) == (
        "PROGRAM_FAILED",
        "the program gives no points for a prompt it knew",
    )


def test_silence_ends_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "SECONDS", 0.05)
    ours, theirs = socket.socketpair()
    verify = judge.load((), ours.detach())
    with theirs, pytest.raises(Untrainable, match=r"took over 0\.05 s"):
        verify("p", "4")


def test_a_judge_that_is_gone_ends_the_training() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    verify = judge.load((), ours.detach())
    with pytest.raises(Untrainable, match="the program ended its process"):
        verify("p", "4")
