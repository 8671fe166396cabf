"""Every error Ostinato raises, in one tree whose branches are named after the one who can mend it.

    OstinatoError
    ├── ModelBehaviorError              the model: its bounded retries are used up
    │   ├── LlmCallsLimitExceededError      more model calls than RunConfig.max_llm_calls
    │   ├── ModelRetriesExceededError       the same mistake too often (tool, arguments, output)
    │   └── BudgetExceededError             an invocation used up what its budget allows
    ├── DeveloperError                  the agent's author
    │   ├── AgentConfigError (ValueError)   a tree, an app or a setting that cannot work
    │   │   ├── AgentFileError                  a file that describes an agent, with the place in it
    │   │   │   ├── AgentFileNotFoundError (FileNotFoundError)  it is not there
    │   │   │   └── CodeReferenceError              a dotted name that is nothing, or not allowed
    │   │   ├── MissingDepsError                a run lacks the deps that its agents ask for
    │   │   └── GraphError                      a graph of nodes that cannot work
    │   ├── NodeError (ValueError)          a workflow node did what a node may not
    │   │   └── NodeSchemaError                 its input, output or answer is of the wrong type
    │   ├── CallbackError (TypeError)       a callback or plugin gave back the wrong type
    │   ├── StateSchemaError (TypeError)    a state write that the declared schema refuses
    │   ├── TemplateError (KeyError)        an instruction names a variable that is not there
    │   ├── ToolResultError (TypeError)     a tool's result that JSON cannot carry
    │   ├── ToolTimeoutError (TimeoutError) a tool that ran longer than its `timeout`
    │   ├── ToolAbortedError                a tool that called sys.exit() or cancelled itself
    │   └── MissingExtraError (ImportError) an optional dependency is not installed
    ├── CallerError                     the caller of the runner or a service
    │   ├── InputValidationError (ValueError)   a name, an id or a value that breaks its rule
    │   │   └── InvalidAnswerError                  an answer that does not fit the call it is for
    │   ├── NotFoundError (ValueError)          what was named does not exist
    │   │   ├── CallNotOpenError                    no such call waits for an answer in the session
    │   │   │   └── RequestWithdrawnError               an answer to a request that was taken back
    │   │   └── SessionNotFoundError
    │   ├── AlreadyExistsError                  what was to be made exists
    │   ├── IdempotencyKeyReusedError (ValueError)  a key that another request was sent with
    │   ├── StaleSessionError (ValueError)      storage moved on since the session was loaded
    │   │   └── LeaseLostError                  another owner takes the session over
    │   │       └── RunHandedOverError              this process gave the run to another one
    │   ├── SessionBusyError                    another invocation runs in the session
    │   ├── RunCancelledError                   a caller cancelled the invocation
    │   ├── GuardrailTrippedError               a guardrail stopped what went in or came out
    │   ├── NoOutputError                       a run that ended without the output that is read
    │   ├── CallAlreadyAnsweredError (ValueError)   a second answer to a call
    │   └── NothingToResumeError (ValueError)   nothing is left to resume
    ├── ProviderError                   the provider or its account
    │   ├── ModelUnavailableError (ValueError)  no adapter, no key, no extra for a model
    │   ├── ModelAuthError                      the provider refused the key
    │   ├── ModelRequestError (ValueError)      it refused the request: name, schema, content, size
    │   ├── ModelRateLimitError                 too many requests, or a quota used up
    │   ├── ModelServerError                    it failed, or is overloaded
    │   ├── ModelTimeoutError (TimeoutError)    it did not answer in time
    │   ├── ModelConnectionError (ConnectionError)  it cannot be reached
    │   └── ModelAnswerError                    its answer is cut off, too large, or not its format
    └── StoreError                      the operator of a store's disk or database

`ModelRetry` is not an error: a tool raises it to hand its message to the model.
"""

from __future__ import annotations

from typing import Any


class OstinatoError(Exception):
    """Base of every error of this package."""

    @property
    def help_command(self) -> str:
        """The command that explains this kind of error."""
        known = next(one for one in type(self).__mro__ if one.__module__ == __name__)
        return f"ostinato docs {known.__name__}"


class ModelBehaviorError(OstinatoError):
    """The model kept doing what it was told not to, until its bounded retries were used up."""


class LlmCallsLimitExceededError(ModelBehaviorError):
    """An invocation asked for more model calls than `RunConfig.max_llm_calls` (Spec 2 §5.5)."""


class ModelRetriesExceededError(ModelBehaviorError):
    """The model made the same kind of mistake more often than `RunConfig.max_model_retries`."""


class BudgetExceededError(ModelBehaviorError):
    """An invocation used up its budget of tokens, tool calls, time or cost.

    Attributes:
      cuts_call: whether a model or a tool ran when the time was up, and was cancelled.
    """

    cuts_call: bool = False


class DeveloperError(OstinatoError):
    """The agent's code or configuration has to change."""


class AgentConfigError(DeveloperError, ValueError):
    """An agent tree, an app or a setting that cannot work."""


class AgentFileError(AgentConfigError):
    """A file that describes an agent cannot be used; the message names file, line and field.

    Args:
      problem: what is wrong and what to do; of several faults, one per line.
      file: the file, from its own folder on.
      line: the line, from 1, or None if no line is at fault.
      column: the column, from 1.
      field: the field, such as `tools[0].name`; empty for the whole file.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str = "",
        line: int | None = None,
        column: int | None = None,
        field: str = "",
    ) -> None:
        super().__init__(problem)
        self.file, self.line, self.column, self.field = file, line, column, field


class AgentFileNotFoundError(AgentFileError, FileNotFoundError):
    """A file that was to describe an agent is not there."""


class CodeReferenceError(AgentFileError):
    """A dotted name in a file leads to nothing, or to code that such files may not use."""


class MissingDepsError(AgentConfigError):
    """A run was not given the deps that its agents ask for, or deps of another type."""


class GraphError(AgentConfigError):
    """A graph of nodes that cannot work; the message names the edge or the node (FEATURES A.25)."""


class NodeError(DeveloperError, ValueError):
    """A workflow node did what a node may not; the message names its path (FEATURES A.25)."""


class NodeSchemaError(NodeError):
    """A node's input or output, or a person's answer, is not of the declared type."""


class CallbackError(DeveloperError, TypeError):
    """A callback or plugin hook gave back a value of the wrong type."""


class StateSchemaError(DeveloperError, TypeError):
    """A state write that the declared `state_schema` refuses (Spec 4 §3)."""


class TemplateError(DeveloperError, KeyError):
    """An instruction template names a state key or artifact that does not exist."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ToolResultError(DeveloperError, TypeError):
    """A tool returned something that JSON cannot carry."""


class ToolTimeoutError(DeveloperError, TimeoutError):
    """A tool ran longer than the `timeout` it was declared with."""

    cuts_call = True


class ToolAbortedError(DeveloperError):
    """A tool, model, code executor or node raised SystemExit, GeneratorExit, or CancelledError
    without being cancelled.

    Such an exit must not end the program that serves other users. The exception is its `__cause__`.
    """


class MissingExtraError(DeveloperError, ImportError):
    """An optional dependency is not installed; the message holds the install line."""


class CallerError(OstinatoError):
    """The call to a runner or service has to change.

    Args:
      message: what was wrong with it.
    """

    def __init__(self, message: str = "This cannot be done as it was asked for.") -> None:
        super().__init__(message)
        self.message = message


class InputValidationError(CallerError, ValueError):
    """A name, an id or a value that breaks its rule."""


class InvalidAnswerError(InputValidationError):
    """An answer that does not fit the call it is for: not JSON, edited arguments that break the
    tool's schema, a tool that the agent no longer has. The call stays open."""


class CallAlreadyAnsweredError(CallerError, ValueError):
    """A call that waits for a person was answered before; nothing runs for the later answer.

    Args:
      message: names the call.
      call_id: the call.
      answer: the first answer, without secrets; None if it is not kept.
      answered_at: when it was accepted, in seconds since 1970; None if that is not kept.
    """

    def __init__(
        self,
        message: str,
        *,
        call_id: str = "",
        answer: dict[str, Any] | None = None,
        answered_at: float | None = None,
    ) -> None:
        super().__init__(message)
        self.call_id, self.answer, self.answered_at = call_id, answer, answered_at


class NotFoundError(CallerError, ValueError):
    """What was named does not exist."""


class CallNotOpenError(NotFoundError):
    """No such call waits for an answer: never asked by the runtime, another session's, withdrawn,
    expired or imported."""


class SessionNotFoundError(NotFoundError):
    """The session does not exist and the runner may not create it."""


class AlreadyExistsError(CallerError):
    """What was to be created exists already."""


class IdempotencyKeyReusedError(CallerError, ValueError):
    """An idempotency key was first used for another request, which waits, runs or has ended.

    Nothing runs for the later request, and nothing of it is stored.
    """


class StaleSessionError(CallerError, ValueError):
    """The stored session moved on since this copy of it was loaded (Spec 4 §4)."""


class LeaseLostError(StaleSessionError):
    """Another owner took the session over; the run that held it stops and writes nothing more."""


class RunHandedOverError(LeaseLostError):
    """This process shuts down, and another one that shares its store resumes the run."""


class SessionBusyError(CallerError):
    """Another invocation runs in the session, and the caller did not want to wait."""


class RunCancelledError(CallerError):
    """A caller cancelled the invocation; its log is consistent."""


class GuardrailTrippedError(CallerError):
    """A guardrail with `on_trip="raise"` stopped what went into an agent or came out of it.

    Args:
      message: names guardrail and agent.
      guardrail: name of the guardrail.
      agent: name of the agent.
      stage: `input` or `output`.
    """

    def __init__(
        self, message: str = "", *, guardrail: str = "", agent: str = "", stage: str = ""
    ) -> None:
        super().__init__(message or "A guardrail tripped.")
        self.guardrail, self.agent, self.stage = guardrail, agent, stage


class NoOutputError(CallerError):
    """A run ended without the output that is read: with an error, or it waits for an answer."""


class RequestWithdrawnError(CallNotOpenError):
    """A person answered a request that was taken back: by a rewind, or because the workflow node
    that asked has failed."""


class NothingToResumeError(CallerError, ValueError):
    """A resume was requested, and the session holds nothing to resume."""


class ProviderError(OstinatoError):
    """A model provider, or the account with it, refused or failed.

    The error of the provider's own SDK is its `__context__`; it is not printed with it, because it
    may quote keys.

    Args:
      message: names provider, model and remedy, and no key.
      provider: the provider's name.
      model: the model's name.
      status: the HTTP status, where there was one.
      retry_after: seconds after which the provider asked to be asked again.

    Attributes:
      request_id: the provider's id of the request, empty if no answer named one.
    """

    #: Whether the same request may succeed later.
    retryable: bool = False

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        model: str = "",
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.provider, self.model = provider, model
        self.status, self.retry_after = status, retry_after
        self.request_id = ""


class ModelUnavailableError(ProviderError, ValueError):
    """No adapter, key or extra for the model that was named.

    Args:
      reason: what is missing, in a few words.
    """

    def __init__(
        self, message: str, *, provider: str = "", model: str = "", reason: str = ""
    ) -> None:
        super().__init__(message, provider=provider, model=model)
        self.reason = reason


class ModelAuthError(ProviderError):
    """The provider refused the key, or the key may not use this model."""


class ModelRequestError(ProviderError, ValueError):
    """The provider, or the adapter before it, refused the request.

    A model's name, a schema, a tool's name, a kind of content, a length: a retry does not help.
    """


class ModelRateLimitError(ProviderError):
    """Too many requests for now, or a quota is used up."""

    retryable = True


class ModelServerError(ProviderError):
    """The provider failed, or is overloaded."""

    retryable = True


class ModelTimeoutError(ProviderError, TimeoutError):
    """The provider did not answer in time."""

    retryable = True


class ModelConnectionError(ProviderError, ConnectionError):
    """The provider cannot be reached, or the connection broke before an answer began."""

    retryable = True


class ModelAnswerError(ProviderError):
    """The provider's answer was cut off, is too large, or is not in its format.

    Args:
      retryable: False where the same would come again: a proxy's page, an answer over the limit.
    """

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        model: str = "",
        status: int | None = None,
        retryable: bool = True,
    ) -> None:
        super().__init__(message, provider=provider, model=model, status=status)
        self.retryable = retryable


class StoreError(OstinatoError):
    """A store's file or database cannot be used: missing, full, locked, damaged, too new, closed.

    The message names the file without its folders, and what to do.
    """


class ModelRetry(Exception):
    """Raise this in a tool to hand `message` to the model, which may then call again.

    Bounded by `RunConfig.max_model_retries` per tool and invocation.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
