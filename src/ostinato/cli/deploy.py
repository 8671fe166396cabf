"""The command `ostinato deploy`: writes the files of a deployment and prints the commands to run.

Nothing is built, sent or started.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..version import __version__
from .cli_error import USAGE, CliError
from .project_files import render_layers, write_files

_AGENT_FILES = ("agent.py", "__init__.py", "root_agent.yaml")
_SERVER_EXTRAS = "server,postgres"
_TEXT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*")


@dataclass(frozen=True, slots=True)
class Target:
    """A place to deploy to.

    Attributes:
      layer: the template with its files.
      image: the image's default address, with the fields `{project}`, `{cloud}` and `{region}`.
      list_commands: returns the commands to run, from project, image, region and cloud project.
    """

    layer: str
    image: str
    list_commands: Callable[[str, str, str, str], list[str]]


def main(args: argparse.Namespace) -> int:
    """Write the files and print the commands; return the exit code.

    Raises:
      CliError: the folder holds no agents, or an option is not valid.
    """
    target = _TARGETS[args.target]
    folder = Path(args.path)
    project = project_name(folder.resolve().name)
    region = _check_text("--region", getattr(args, "region", None) or "REGION")
    cloud = _check_text("--project", getattr(args, "project", None) or "PROJECT")
    default = target.image.format(project=project, cloud=cloud, region=region)
    image = _check_text("--image", args.image or default)
    values = {**describe_image(folder), "image": image}
    texts = render_layers(("deploy_image", target.layer), values)
    kept = write_files(folder, texts, replace=args.force)
    if written := [name for name in texts if name not in kept]:
        print(f"Wrote {', '.join(written)} in {folder}.")
    if kept:
        names, differ = ", ".join(kept), "differs" if len(kept) == 1 else "differ"
        print(f"Kept {names}, which {differ} from what would be written; --force overwrites.")
    print("Nothing was built or sent. Next, in that folder:")
    for command in target.list_commands(project, image, region, cloud):
        print(f"  {command}")
    return 0


def project_name(name: str) -> str:
    """Return a name that images, services and Kubernetes accept: lower case, digits and dashes."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-")
    if not plain:
        return "agents"
    return plain if plain[0].isalpha() else f"agents-{plain}"


def describe_image(folder: Path) -> dict[str, str]:
    """Return what the Dockerfile of a folder's agents contains, by field of the template.

    Args:
      folder: a project with the folder `agents`, a folder of agents, or the folder of one agent.

    Raises:
      CliError: the folder holds no agent.
    """
    source, target, names = _find_agents(folder)
    project = project_name(folder.resolve().name)
    values = {"name": names[0], "project": project, "source": source, "target": target}
    values["install"] = _install_lines(folder)
    services = [name for name in names if (folder / source / name / "service.py").is_file()]
    return {**values, **serve_values(services[0] if len(services) == 1 else None)}


def serve_values(service: str | None) -> dict[str, str]:
    """Return the image's command and the path of its liveness check.

    Args:
      service: the agent whose module `service` has a FastAPI app; None for `ostinato serve`.
    """
    command = ["ostinato", "serve", "/srv/agents", "--host", "0.0.0.0", "--port", "8000"]
    command += ["--drain-delay", "5", "--log-format", "json"]
    health = "/health"
    if service is not None:
        command = ["uvicorn", "--app-dir", "/srv/agents", f"{service}.service:app"]
        command += ["--host", "0.0.0.0", "--port", "8000", "--timeout-graceful-shutdown", "30"]
    return {"command": ", ".join(map(json.dumps, command)), "health": health}


def install_project() -> str:
    """Return the lines of a Dockerfile that install what a project's pyproject.toml names."""
    return (
        "COPY pyproject.toml README.md ./\n"
        f'RUN python -m pip install --no-cache-dir . "ostinato[{_SERVER_EXTRAS}]>={__version__}"'
    )


def _install_lines(folder: Path) -> str:
    if (folder / "pyproject.toml").is_file():
        lines = install_project()
        return lines if (folder / "README.md").is_file() else lines.replace(" README.md", "")
    install = f'python -m pip install --no-cache-dir "ostinato[{_SERVER_EXTRAS}]>={__version__}"'
    if (folder / "requirements.txt").is_file():
        return f"COPY requirements.txt ./\nRUN {install} -r requirements.txt"
    return f"RUN {install}"


def _find_agents(folder: Path) -> tuple[str, str, list[str]]:
    """Return where the agents are in the folder, where they go in the image, and their names."""
    if not folder.is_dir():
        raise CliError(f"{folder} is not a folder. Name the folder of a project or of agents.")
    if names := _agent_folders(folder / "agents"):
        return "agents/", "/srv/agents/", names
    if any((folder / file).is_file() for file in _AGENT_FILES):
        name = folder.resolve().name
        return "./", f"/srv/agents/{name}/", [name]
    if names := _agent_folders(folder):
        return "./", "/srv/agents/", names
    raise CliError(
        f"{folder} holds no agent: neither agent.py nor root_agent.yaml, nor folders with them in "
        f"{folder / 'agents'} or in {folder}. `ostinato create` makes a project.",
    )


def _agent_folders(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    return sorted(
        one.name
        for one in folder.iterdir()
        if not one.name.startswith(".") and any((one / file).is_file() for file in _AGENT_FILES)
    )


def _check_text(option: str, value: str) -> str:
    if not _TEXT.fullmatch(value):
        raise CliError(
            f"{option} {value!r} is not valid: use letters, digits and . _ - / : only.", USAGE
        )
    return value


def _docker_commands(project: str, image: str, region: str, cloud: str) -> list[str]:
    return [
        "cp compose.env.example .env        # then fill it in: openssl rand -hex 24",
        "docker compose up --build --detach --wait",
        "curl http://127.0.0.1:8000/health/ready",
        "docker compose logs --follow agents",
    ]


def _cloud_run_commands(project: str, image: str, region: str, cloud: str) -> list[str]:
    make = "gcloud secrets create {} --data-file=- --project {}   # paste the value, then Ctrl-D"
    at = f"--project {cloud} --region {region}"
    return [
        "gcloud artifacts repositories create agents --repository-format docker "
        f"--location {region} --project {cloud}",
        f"gcloud builds submit --tag {image} --project {cloud}",
        *(make.format(f"{project}-{name}", cloud) for name in ("token", "db", "model-key")),
        f"gcloud run services replace cloud-run.yaml {at}",
        f"gcloud run services describe {project} {at} --format 'value(status.url)'",
    ]


def _k8s_commands(project: str, image: str, region: str, cloud: str) -> list[str]:
    return [
        f"docker build -t {image} . && docker push {image}",
        f"kubectl create secret generic {project} --from-env-file=secret.env"
        "   # OSTINATO_TOKEN=, OSTINATO_DB=, GOOGLE_API_KEY=",
        "kubectl apply -k k8s",
        f"kubectl rollout status deployment/{project}",
    ]


_TARGETS = {
    "docker": Target("deploy_docker", "{project}", _docker_commands),
    "cloud-run": Target(
        "deploy_cloud_run",
        "{region}-docker.pkg.dev/{cloud}/agents/{project}:1",
        _cloud_run_commands,
    ),
    "k8s": Target("deploy_k8s", "registry.example.com/{project}:1", _k8s_commands),
}
