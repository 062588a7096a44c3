"""How to check the record, take the champion out, and do it all again."""

import shlex
from collections.abc import Iterator

from rsi_master.core.run import RunOpened
from rsi_master.interfaces.ending import head
from rsi_master.interfaces.report.document import (
    Block,
    Code,
    Commands,
    Row,
    Section,
    Table,
    cut,
    paragraph,
)
from rsi_master.interfaces.report.subject import Subject

NEVER_THE_SAME = (
    "A new run under the same contract draws other sealed items, and its roles may choose "
    "otherwise. A recorded training repeats bit by bit on one type of processor, with one thread "
    "count and the versions below."
)


def reproduce(subject: Subject) -> Section:
    """The section."""
    blocks = (
        paragraph(
            "RUN is the folder of this run, which may have been moved; rsi lies where RSI-Master "
            "is installed, in a checkout in .venv/bin."
        ),
        Commands(tuple(_commands(subject))),
        paragraph(NEVER_THE_SAME),
        *_signed(subject),
        *_versions(subject),
    )
    return Section("How to reproduce", "reproduce", blocks)


def _commands(subject: Subject) -> Iterator[str]:
    state = subject.record.state
    yield f"RUN={shlex.quote(subject.record.folder.path.name)}"
    yield "# the record against its signed heads"
    yield 'rsi verify "$RUN"'
    yield "# who tried what; any recorded thing in full, here the first event"
    yield 'rsi graph "$RUN"'
    yield 'rsi show @0 --run "$RUN"'
    if state.finished is None:
        yield "# go on with it"
        yield 'rsi resume "$RUN"'
    elif state.finished.champion is not None:
        yield "# base and champion asked side by side, with a prompt of your own"
        yield 'rsi try "$RUN" "PROMPT"'
        yield "# the champion's weights and tokenizer, for transformers"
        yield 'rsi show champion --run "$RUN" --out champion'
    yield "# a new run under the same contract"
    yield 'rsi run "$RUN"/contract.toml'
    yield "# this report"
    yield 'rsi report "$RUN"'


def _signed(subject: Subject) -> Iterator[Block]:
    """The newest note, which whoever holds it can hold against the record later."""
    found = head(subject.record.folder)
    if found is None:
        yield paragraph("The record has no signed head.")
        return
    yield paragraph(
        f"The newest signed head covers {found.size:,} events, root ",
        Code(found.root),
        ". Keep it: a record that is cut or changed later does not agree with it.",
    )
    yield Commands(found.signatures)


def _versions(subject: Subject) -> Iterator[Block]:
    opened = subject.record.state.opened
    if opened is None:
        return
    rows = (
        ("base", opened.base.digest),
        ("sealed set", opened.sealed.digest),
        ("protocol of the evaluator", opened.sealed.protocol),
        ("platform", opened.platform),
        *((f"recipe {name}", digest) for name, digest in opened.recipes.items()),
        *opened.versions.items(),
    )
    table = tuple(Row(((cut(label),), (Code(cut(found)),))) for label, found in rows)
    cite = subject.refs.event(RunOpened)
    yield paragraph("What it ran on. ", *cite)
    yield Table("Digests and versions at the opening.", ("what", "which"), table)
