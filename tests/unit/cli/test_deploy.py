"""`ostinato deploy`: files that fit together, of which none holds a secret or replaces a change."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from ostinato.cli.parser import parse_arguments
from tests.unit.cli.conftest import MakeAgent, Ostinato

TARGETS = ("docker", "cloud-run", "k8s")


def read_yaml(path: str) -> list[Any]:
    """Return the documents of a YAML file."""
    return list(yaml.safe_load_all(Path(path).read_text(encoding="utf-8")))


def read_lines(word: str, path: str = "desk/Dockerfile") -> list[str]:
    """Return what follows an instruction of a Dockerfile, line by line."""
    lines = Path(path).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    return [line.removeprefix(word).strip() for line in lines if line.startswith(f"{word} ")]


def check_image_command(path: str = "desk/Dockerfile") -> None:
    """Check that the image starts a server which the command line accepts."""
    (command,) = read_lines("CMD", path)
    args = parse_arguments(json.loads(command)[1:])
    assert (args.command, args.path, args.host, args.port) == (
        "serve", "/srv/agents", "0.0.0.0", 8000,
    )  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_a_created_project_is_deployed(ostinato: Ostinato, target: str) -> None:
    ostinato("create", "desk", "--template", "agent")
    image = Path("desk/Dockerfile").read_bytes()
    done = ostinato("deploy", target, "desk")
    assert done.code == 0, done.err
    assert "Nothing was built or sent." in done.out
    assert "Kept" not in done.out
    assert Path("desk/Dockerfile").read_bytes() == image
    check_image_command()


def test_compose_has_a_healthy_database_and_no_secret(ostinato: Ostinato) -> None:
    ostinato("create", "desk", "--template", "agent")
    ostinato("deploy", "docker", "desk")
    (compose,) = read_yaml("desk/compose.yaml")
    services = compose["services"]
    assert services["agents"]["depends_on"]["db"]["condition"] == "service_healthy"
    assert "pg_isready" in services["db"]["healthcheck"]["test"][1]
    given = [*services["agents"]["environment"], *services["db"]["environment"]]
    for one in given:
        name, _, value = one.partition("=")
        if "TOKEN" in name or "PASSWORD" in name or "KEY" in name:
            assert value == "" or value.startswith("${"), one
    assert services["agents"]["ports"] == ["127.0.0.1:8000:8000"]
    for line in Path("desk/compose.env.example").read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or line.endswith("="), line


@pytest.mark.parametrize("template", ["agent", "service"])
def test_compose_shows_where_own_variables_and_workers_go(
    ostinato: Ostinato, template: str
) -> None:
    ostinato("create", "desk", "--template", template)
    ostinato("deploy", "docker", "desk")
    text = Path("desk/compose.yaml").read_text(encoding="utf-8")
    text = text.replace("# command:", "command:").replace("# - MY_VARIABLE", "- MY_VARIABLE")
    agents = yaml.safe_load(text)["services"]["agents"]
    assert {"MY_VARIABLE", "GOOGLE_API_KEY"} <= set(agents["environment"])
    (command,) = read_lines("CMD")
    assert agents["command"] == [*json.loads(command), "--workers", "2"]


def test_cloud_run_reads_its_secrets_from_the_secret_manager(ostinato: Ostinato) -> None:
    ostinato("create", "desk", "--template", "agent")
    done = ostinato("deploy", "cloud-run", "desk", "--project", "acme", "--region", "europe-west1")
    (service,) = read_yaml("desk/cloud-run.yaml")
    container = service["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "europe-west1-docker.pkg.dev/acme/agents/desk:1"
    assert all("secretKeyRef" in one["valueFrom"] for one in container["env"])
    for one in container["env"]:
        assert f"gcloud secrets create {one['valueFrom']['secretKeyRef']['name']} " in done.out


def test_the_manifests_of_kubernetes_name_each_other(ostinato: Ostinato) -> None:
    ostinato("create", "desk", "--template", "agent")
    done = ostinato("deploy", "k8s", "desk", "--image", "registry.example.com/team/desk:7")
    (index,) = read_yaml("desk/k8s/kustomization.yaml")
    documents = [one for file in index["resources"] for one in read_yaml(f"desk/k8s/{file}")]
    kinds = {one["kind"]: one for one in documents}
    pod = kinds["Deployment"]["spec"]["template"]
    assert kinds["Service"]["spec"]["selector"] == pod["metadata"]["labels"]
    container = pod["spec"]["containers"][0]
    assert container["image"] == "registry.example.com/team/desk:7"
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    secret = container["envFrom"][0]["secretRef"]["name"]
    assert f"kubectl create secret generic {secret} " in done.out


def test_the_service_template_starts_its_own_program(ostinato: Ostinato) -> None:
    ostinato("create", "desk", "--template", "service")
    ostinato("deploy", "k8s", "desk")
    (command,) = read_lines("CMD")
    assert json.loads(command)[:4] == ["uvicorn", "--app-dir", "/srv/agents", "desk.service:app"]


def test_a_changed_file_is_kept_unless_forced(ostinato: Ostinato) -> None:
    ostinato("create", "desk", "--template", "agent")
    Path("desk/Dockerfile").write_text("FROM mine", encoding="utf-8")
    done = ostinato("deploy", "docker", "desk")
    assert done.code == 0
    assert "Kept Dockerfile, which differs from what would be written; --force" in done.out
    Path("desk/.dockerignore").write_text("mine", encoding="utf-8")
    kept = ostinato("deploy", "docker", "desk").out
    assert "Kept Dockerfile, .dockerignore, which differ from what would be written" in kept
    assert Path("desk/Dockerfile").read_text(encoding="utf-8") == "FROM mine"
    ostinato("deploy", "docker", "desk", "--force")
    check_image_command()


def test_an_agent_and_a_folder_of_agents_need_no_project(
    ostinato: Ostinato, make_agent: MakeAgent
) -> None:
    make_agent("root_agent = None", "many/first")
    assert ostinato("deploy", "docker", "many/first").code == 0
    assert "COPY ./ /srv/agents/first/" in Path("many/first/Dockerfile").read_text(encoding="utf-8")
    Path("many/requirements.txt").write_text("rich\n", encoding="utf-8")
    assert ostinato("deploy", "docker", "many").code == 0
    assert read_lines("COPY", "many/Dockerfile") == ["requirements.txt ./", "./ /srv/agents/"]
    check_image_command("many/Dockerfile")


def test_the_keys_of_an_agent_stay_out_of_the_image(ostinato: Ostinato) -> None:
    ostinato("create", "desk", "--template", "agent")
    ignored = Path("desk/.dockerignore").read_text(encoding="utf-8").split()
    assert {"**/.env", "**/*.env"} <= set(ignored)
    ostinato("deploy", "cloud-run", "desk")
    uploaded = Path("desk/.gcloudignore").read_text(encoding="utf-8").split()
    assert {".env", "*.env"} <= set(uploaded)
    assert {".env", "*.env"} <= set(Path("desk/.gitignore").read_text(encoding="utf-8").split())


def test_what_cannot_be_deployed_is_said(ostinato: Ostinato) -> None:
    done = ostinato("deploy", "docker", "nowhere")
    assert done.code == 1 and "nowhere is not a folder" in done.err
    Path("empty").mkdir()
    done = ostinato("deploy", "k8s", "empty")
    assert done.code == 1 and "holds no agent" in done.err
    assert list(Path("empty").iterdir()) == []


@pytest.mark.parametrize("image", ["a b", "x; rm -rf /", "$(id)", "-x", "a\nb", ""])
def test_an_image_cannot_carry_a_command(ostinato: Ostinato, image: str) -> None:
    ostinato("create", "desk", "--template", "agent")
    done = ostinato("deploy", "k8s", "desk", f"--image={image}")
    if image:
        assert done.code == 2 and "--image" in done.err
    else:
        assert shlex.quote("registry.example.com/desk:1") in done.out
