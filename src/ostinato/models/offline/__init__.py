"""The parts of the offline model: how it reads a request, chooses a tool, fills in arguments and
puts results into words. Only `ostinato.models.offline_llm` uses them.
"""
