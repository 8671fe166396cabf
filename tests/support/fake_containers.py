"""FakeContainers: a program that stands for docker or podman, notes how it is called, and runs what
a container would run on this machine, in a folder of its own in place of `/tmp`."""

from __future__ import annotations

import sys
from pathlib import Path

_SCRIPT = r"""#!/bin/sh
F={folder}
printf '%s\0' "$@" >"$F/calls/$$.part"
mv "$F/calls/$$.part" "$F/calls/$(date +%s%N)-$$"
[ "$1" = --host ] || [ "$1" = --url ] && shift 2
tr '\0' '\n' </proc/$$/environ >"$F/environment-$1"
[ -f "$F/answers/$1" ] && . "$F/answers/$1"
translate() {{
  mkdir -p "$F/box/$name/tmp"
  count=$#
  while [ $count -gt 0 ]; do
    word=$1; shift
    case $word in {python}) ;; /tmp/*) word="$F/box/$name$word" ;; esac
    set -- "$@" "$word"
    count=$((count - 1))
  done
  "$@" <&0
}}
case $1 in
run)
  while [ "$1" != --entrypoint ]; do
    [ "$1" = --name ] && name=$2
    shift
  done
  echo $$ >"$F/running/$name"
  program=$2; shift 3
  [ "$program" = python3 ] && program={python}
  translate "$program" "$@"
  status=$?
  rm -f "$F/running/$name"
  exit $status ;;
exec)
  while [ "$1" != --workdir ]; do shift; done
  folder=$2; name=$3; shift 3
  [ -f "$F/running/$name" ] || {{ echo "Error: No such container: $name" >&2; exit 1; }}
  cd "$F/box/$name$folder" || exit 1
  translate "$@" ;;
rm)
  for name do :; done
  [ -f "$F/running/$name" ] || {{ echo "Error: No such container: $name" >&2; exit 1; }}
  group=$(cat "$F/running/$name")
  rm "$F/running/$name"
  kill -9 "-$group" ;;
ps)
  ls "$F/running" ;;
esac
"""


class FakeContainers:
    """The program, and what became of it.

    Args:
      folder: an empty folder for it.
      name: `docker` or `podman`.

    Attributes:
      program: its path.
    """

    def __init__(self, folder: Path, name: str = "docker") -> None:
        self.folder = folder
        for part in ("calls", "answers", "running", "box"):
            (folder / part).mkdir(parents=True)
        self.program = folder / name
        self.program.write_text(_SCRIPT.format(folder=folder, python=sys.executable))
        self.program.chmod(0o755)

    def answer(self, command: str, script: str) -> None:
        """Have a command do this shell script first, which may `exit`."""
        (self.folder / "answers" / command).write_text(script + "\n")

    def fail(self, command: str, said: str, status: int = 1) -> None:
        """Have a command fail."""
        self.answer(command, f"echo '{said}' >&2; exit {status}")

    @property
    def calls(self) -> list[list[str]]:
        """The arguments of all calls, in order."""
        found = sorted(one for one in (self.folder / "calls").iterdir() if one.suffix != ".part")
        return [one.read_text().split("\0")[:-1] for one in found]

    def called(self, command: str) -> list[list[str]]:
        """The arguments of a command's calls."""
        return [call for call in self.calls if command in call[:3]]

    def environment(self, command: str) -> dict[str, str]:
        """The environment in which a command was called last."""
        text = (self.folder / f"environment-{command}").read_text()
        return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)

    @property
    def running(self) -> list[str]:
        """The names of the containers that there are."""
        return sorted(one.name for one in (self.folder / "running").iterdir())
