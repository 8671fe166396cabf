"""The command-line arguments of `ostinato create`, `deploy` and `completion`."""

from __future__ import annotations

import argparse
from typing import Any

_RAW = argparse.RawDescriptionHelpFormatter

#: Templates of projects, each with a sentence about it.
TEMPLATES = {
    "agent": "An agent with one tool.",
    "multi-agent": "A help desk that hands conversations to two specialists.",
    "workflow": "A workflow that asks a person before it books large expenses.",
    "service": "An agent behind a FastAPI service that keeps its sessions in PostgreSQL.",
    "mcp-server": "An agent that MCP clients, such as editors, use as a tool.",
    "evaluation": "An agent with an eval set that pytest and `ostinato eval` run.",
}

SHELLS = ("bash", "zsh", "fish")

_CREATE_EXAMPLES = f"""\
Without --template it creates a small agent: four files in one folder. With it, it creates a
project with tests, README, Dockerfile and a CI file. Without NAME it asks.

templates:
{chr(10).join(f"  {name:12} {summary}" for name, summary in TEMPLATES.items())}

examples:
  ostinato create my_agent                        an agent to start from
  ostinato create help_desk --template service    a project
  ostinato create                                 ask for name and template
"""

_DEPLOY_EXAMPLES = """\
It writes files into FOLDER and prints the commands to run; it builds, sends and starts nothing.
Files that you changed are kept, unless --force is given.

  docker      Dockerfile, compose.yaml with PostgreSQL, health checks, compose.env.example
  cloud-run   Dockerfile, cloud-run.yaml; secrets from Secret Manager
  k8s         Dockerfile, k8s/ with Deployment, Service and disruption budget; one Secret

examples:
  ostinato deploy docker
  ostinato deploy cloud-run --project my-project --region europe-west1
  ostinato deploy k8s help_desk --image registry.example.com/help-desk:1
"""

_COMPLETION_EXAMPLES = """\
examples:
  ostinato completion bash > ~/.local/share/bash-completion/completions/ostinato
  ostinato completion zsh > "${fpath[1]}/_ostinato"
  ostinato completion fish > ~/.config/fish/completions/ostinato.fish
"""


def add_create(commands: Any) -> None:
    """Add the command `create`."""
    create = commands.add_parser(
        "create",
        help="create the folder of a new agent, or a project from a template",
        description="Create a small working agent, or a project, to start from.",
        epilog=_CREATE_EXAMPLES,
        formatter_class=_RAW,
    )
    create.add_argument(
        "name", metavar="NAME", nargs="?", help="folder to create; also the agent's name"
    )
    create.add_argument(
        "--template", metavar="TEMPLATE", choices=tuple(TEMPLATES), help="create a project"
    )
    create.add_argument("--model", metavar="NAME", help="the agent's model")


def add_deploy(commands: Any) -> None:
    """Add the command `deploy`."""
    deploy = commands.add_parser(
        "deploy",
        help="write the files of a deployment, and print the commands",
        description="Write the files that deploy agents with Docker, Cloud Run or Kubernetes.",
        epilog=_DEPLOY_EXAMPLES,
        formatter_class=_RAW,
    )
    targets = deploy.add_subparsers(dest="target", metavar="TARGET", required=True)
    for name, what in (
        ("docker", "an image and a compose file with PostgreSQL"),
        ("cloud-run", "an image and a Cloud Run service"),
        ("k8s", "an image and Kubernetes manifests"),
    ):
        target = targets.add_parser(name, help=f"files for {what}")
        target.add_argument(
            "path", metavar="FOLDER", nargs="?", default=".", help="the project (default: .)"
        )
        target.add_argument("--image", metavar="NAME", help="name of the image, with its registry")
        if name == "cloud-run":
            target.add_argument("--project", metavar="ID", help="the Google Cloud project")
            target.add_argument("--region", metavar="NAME", help="such as europe-west1")
        target.add_argument("--force", action="store_true", help="overwrite files you changed")


def add_completion(commands: Any) -> None:
    """Add the command `completion`."""
    completion = commands.add_parser(
        "completion",
        help="print a script that completes commands in your shell",
        description="Print a script that completes commands and options in your shell.",
        epilog=_COMPLETION_EXAMPLES,
        formatter_class=_RAW,
    )
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")
