"""The fields of an action as its JSON schema gives them: name, type in words, default."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rsi_master.core.action import Action

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Field:
    """One field; `default` is None when it must be given."""

    name: str
    type: str
    default: str | None


@dataclass(frozen=True)
class Form:
    """The fields of an action, and of the models that they are made of, by name."""

    fields: tuple[Field, ...]
    parts: Mapping[str, tuple[Field, ...]]


def form(action: type[Action]) -> Form:
    """The form of an action."""
    schema = action.model_json_schema()
    parts = schema.get("$defs", {})
    return Form(
        fields=_fields(schema),
        parts={name: _fields(part) for name, part in parts.items() if "properties" in part},
    )


def _fields(schema: Schema) -> tuple[Field, ...]:
    required = set(schema.get("required", ()))
    return tuple(
        Field(name, in_words(part), None if name in required else _default(part))
        for name, part in schema.get("properties", {}).items()
    )


def in_words(schema: Schema) -> str:
    """A type with its range."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return f'"{schema["const"]}"'
    if "enum" in schema:
        return " or ".join(f'"{value}"' for value in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(in_words(part) for part in schema[key])
    return _plain(schema)


def _plain(schema: Schema) -> str:
    kind = schema.get("type")
    if kind == "array":
        return f"list of {in_words(schema.get('items', {}))}{_items(schema)}"
    if kind == "string":
        return f"text{_length(schema)}"
    if kind in ("integer", "number"):
        return f"{'whole number' if kind == 'integer' else 'number'}{_range(schema)}"
    return {"null": "nothing", "boolean": "true or false"}.get(str(kind), "object")


def _items(schema: Schema) -> str:
    low, high = schema.get("minItems"), schema.get("maxItems")
    if low is None and high is None:
        return ""
    return f" ({low or 0} to {high})" if high is not None else f" ({low} or more)"


def _length(schema: Schema) -> str:
    if "pattern" in schema:
        return f" like `{schema['pattern']}`"
    low, high = schema.get("minLength"), schema.get("maxLength")
    if high is None:
        return ""
    return f" of {low or 0} to {high} characters"


def _range(schema: Schema) -> str:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    above = "above " if "exclusiveMinimum" in schema else ""
    if low is not None and high is not None:
        return f", {above}{low:g} to {high:g}"
    if low is not None:
        return f", {above}{low:g}" + ("" if above else " or more")
    return f", at most {high:g}" if high is not None else ""


def _default(schema: Schema) -> str:
    value = schema.get("default")
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value).lower()
