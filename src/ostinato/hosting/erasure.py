"""Erasure of a user's sessions, artifacts, memories and spans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from ..artifacts.base_artifact_service import BaseArtifactService
from ..sessions.base_session_service import BaseSessionService, check_name


@runtime_checkable
class EraseUser(Protocol):
    """A store that can delete all data of a user."""

    async def erase_user(self, app_name: str | None, user_id: str) -> int:
        """Delete all data of a user, in transactions of bounded size.

        Args:
          app_name: the app; None for all apps.
          user_id: the user.

        Returns:
          How many sessions, artifacts, memories or spans were deleted.
        """
        ...


class ErasableServices(Protocol):
    """The services that hold a user's data, such as `ostinato.server.server_services.Services`."""

    @property
    def sessions(self) -> BaseSessionService:
        """The sessions, with events, state, journal, inbox and search index."""
        ...

    @property
    def artifacts(self) -> Any:
        """The artifact service, or None."""
        ...

    @property
    def memories(self) -> Any:
        """The memory service, or None."""
        ...

    @property
    def spans(self) -> Any:
        """The span store, or None."""
        ...


@dataclass(slots=True)
class ErasureReport:
    """What an erasure deleted.

    Attributes:
      sessions, artifacts, memories, spans: how many of each were deleted.
      not_erased: class names of the services that cannot delete a user's data, or only for one app;
        they still hold the data.
    """

    sessions: int = 0
    artifacts: int = 0
    memories: int = 0
    spans: int = 0
    not_erased: list[str] = field(default_factory=list[str])


async def erase_user(
    services: ErasableServices, app_name: str | None, user_id: str
) -> ErasureReport:
    """Delete a user's data from all services; docs/durability.md says what logs may still hold.

    It may be repeated. A run of the user that is in progress fails with SessionNotFoundError: end
    it first, or erase again afterwards.

    Args:
      services: where the data is kept.
      app_name: the app; None for all apps.
      user_id: the user.

    Returns:
      The counts of deleted records, and the services that could not delete.

    Raises:
      InputValidationError: a name breaks its rule.
      StoreError: a service cannot be reached or written; the services before it are erased.
    """
    check_name("user id", user_id)
    if app_name is not None:
        check_name("app name", app_name)
    report = ErasureReport()
    # Other services find data by the user's sessions, so the sessions are deleted after them.
    report.artifacts = await _erase_artifacts(services, app_name, user_id, report)
    report.memories = await _erase_from(services.memories, app_name, user_id, report)
    report.sessions = await _erase_sessions(services.sessions, app_name, user_id, report)
    report.spans = await _erase_from(services.spans, app_name, user_id, report)
    return report


async def _erase_from(
    service: Any, app_name: str | None, user_id: str, report: ErasureReport
) -> int:
    if isinstance(service, EraseUser):
        return await service.erase_user(app_name, user_id)
    if service is not None:
        report.not_erased.append(type(service).__name__)
    return 0


async def _erase_sessions(
    service: BaseSessionService, app_name: str | None, user_id: str, report: ErasureReport
) -> int:
    if isinstance(service, EraseUser) or app_name is None:
        return await _erase_from(service, app_name, user_id, report)
    found = await service.list_sessions(app_name=app_name, user_id=user_id)
    await service.delete_user(app_name, user_id)
    return len(found.sessions)


async def _erase_artifacts(
    services: ErasableServices, app_name: str | None, user_id: str, report: ErasureReport
) -> int:
    service = services.artifacts
    if not isinstance(service, BaseArtifactService) or isinstance(service, EraseUser):
        return await _erase_from(service, app_name, user_id, report)
    if app_name is None:
        report.not_erased.append(type(service).__name__)
        return 0
    # Such a service cannot find artifacts of sessions that were deleted before.
    names = {"app_name": app_name, "user_id": user_id}
    listed = await services.sessions.list_sessions(**names)
    count = 0
    for session_id in [*(one.id for one in listed.sessions), None]:
        for name in await service.list_artifact_keys(**names, session_id=session_id):
            await service.delete_artifact(**names, session_id=session_id, filename=name)
            count += 1
    return count
