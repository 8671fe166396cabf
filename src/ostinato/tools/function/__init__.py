"""Functions as tools: signatures, schemas, contexts and worker threads."""
