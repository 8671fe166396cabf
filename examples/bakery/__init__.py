"""A bakery whose agents are described in YAML.

Try:
- Which breads are there?
- I want to order 3 rye
"""
