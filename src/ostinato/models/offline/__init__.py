"""Parts of the offline model, a rule-based stand-in for a model. `offline_llm` uses them."""
