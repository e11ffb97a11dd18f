"""What models are made of: pydantic, or the stand-in of `plain` where the command chose it for speed."""

from typing import TYPE_CHECKING

from k3triage.model import plain

if TYPE_CHECKING or not plain.chosen:
    from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
else:
    from k3triage.model.plain import (
        AfterValidator,
        BaseModel,
        ConfigDict,
        Field,
        ValidationError,
        model_validator,
    )

__all__ = ["AfterValidator", "BaseModel", "ConfigDict", "Field", "ValidationError", "model_validator"]
