"""The base of every recorded or transmitted value: frozen, closed, and canonical when written."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen record that refuses unknown fields and non-finite surprises at its boundary."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)
