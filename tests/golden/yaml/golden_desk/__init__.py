"""Agents in YAML that both packages read; `golden_package` is the kit, bound to one of them."""
