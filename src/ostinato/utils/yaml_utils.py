"""Face: YAML files, at the path programs import them from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.agent_files.yaml_text import dump_pydantic_to_yaml as dump_pydantic_to_yaml
    from ostinato.agent_files.yaml_text import load_yaml_file as load_yaml_file

__getattr__, __dir__, __all__ = attach(__name__)
