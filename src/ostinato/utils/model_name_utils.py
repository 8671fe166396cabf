"""Face: what a model's name says, at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.models.model_names import extract_model_name as extract_model_name
    from ostinato.models.model_names import is_gemini_1_model as is_gemini_1_model
    from ostinato.models.model_names import is_gemini_3_1_flash_live as is_gemini_3_1_flash_live
    from ostinato.models.model_names import (
        is_gemini_3_5_live_translate as is_gemini_3_5_live_translate,
    )
    from ostinato.models.model_names import (
        is_gemini_eap_or_2_or_above as is_gemini_eap_or_2_or_above,
    )
    from ostinato.models.model_names import is_gemini_model as is_gemini_model
    from ostinato.models.model_names import (
        is_gemini_model_id_check_disabled as is_gemini_model_id_check_disabled,
    )

__getattr__, __dir__, __all__ = attach(__name__)
