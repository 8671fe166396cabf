"""Web pages for tools: fetching, text and permitted addresses."""
