"""ParsedOperation: what is known of one operation of a document, as a record."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from ...auth.auth_credential import AuthCredential
from ...auth.auth_schemes import AuthScheme
from .api_parameter import ApiParameter
from .spec_record import Operation


class OperationEndpoint(BaseModel):
    """Where an operation is: the server's address, the path below it, and the method."""

    base_url: str
    path: str
    method: str


class ParsedOperation(BaseModel):
    """An operation of a document (OpenAPI 3.1 §4.8.10).

    Attributes:
      name: the tool's name.
      description: what the model is told.
      endpoint: where it is.
      operation: the operation with its references resolved and its schemas read.
      parameters: its arguments.
      return_value: its result.
      auth_scheme: the first security scheme that it requires.
      auth_credential: the credential for it.
      additional_context: `document`: the document's title; `auth_schemes`: the alternatives of its
        security, each a dict of schemes that are required together, by name.
    """

    name: str
    description: str
    endpoint: OperationEndpoint
    operation: Operation
    parameters: list[ApiParameter]
    return_value: ApiParameter
    auth_scheme: AuthScheme | None = None
    auth_credential: AuthCredential | None = None
    additional_context: Any | None = None
