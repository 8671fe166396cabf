"""Face: the base of the records of evaluation files at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.evaluation.eval_base_model import EvalBaseModel as EvalBaseModel

__getattr__, __dir__, __all__ = attach(__name__)
