"""What OpenAPI documents cost to read: seconds of CPU, number of tools, size of their schemas.

    .venv/bin/python bench/openapi_documents.py api.github.com.json swagger.json ...

The documents of GitHub are in the npm package `@octokit/openapi`, those of Kubernetes in
`kubernetes-client` (`lib/specs`), small ones with oddities in `@readme/oas-examples`.
"""

import json
import sys
import time
from pathlib import Path

from ostinato.tools.openapi.openapi_toolset import OpenAPIToolset
from ostinato.tools.openapi.spec_document import read_text


def main() -> None:
    print(f"{'document':<40} {'read s':>7} {'tools s':>8} {'tools':>6} {'mean':>7} {'largest':>8}")
    for path in map(Path, sys.argv[1:]):
        text = path.read_text(encoding="utf-8")
        began = time.process_time()
        document = read_text(text, "json" if path.suffix == ".json" else "yaml")
        read = time.process_time()
        tools = OpenAPIToolset(spec_dict=document, strict=False).tools
        made = time.process_time()
        sizes = [len(json.dumps(tool.make_arguments_schema())) for tool in tools] or [0]
        print(
            f"{path.name:<40} {read - began:>7.2f} {made - read:>8.2f} {len(tools):>6} "
            f"{sum(sizes) // len(sizes):>7} {max(sizes):>8}"
        )


if __name__ == "__main__":
    main()
