"""A vault whose tool asks for the credential that the message names, and tells its length."""

from ostinato import types
from ostinato.agents import Agent
from ostinato.auth.auth_credential import AuthCredential
from ostinato.auth.auth_tool import AuthConfig
from ostinato.testing import FunctionModel

LOGIN = {
    "authorizationUrl": "https://login.test/authorize",
    "tokenUrl": "https://login.test/token",
    "scopes": {"read": "Read the news"},
}
SCHEMES = {
    "key": {"type": "apiKey", "name": "X-Key", "in": "header"},
    "token": {"type": "http", "scheme": "bearer"},
    "password": {"type": "http", "scheme": "basic"},
    "login": {"type": "oauth2", "flows": {"authorizationCode": LOGIN}},
}
CLIENT = {"clientId": "me", "clientSecret": "hush", "redirectUri": "https://app.test/back"}


def fetch_news(kind: str, tool_context) -> dict:
    """Fetch the news with a credential."""
    login = {"authType": "oauth2", "oauth2": CLIENT}
    raw = AuthCredential.model_validate(login) if kind == "login" else None
    config = AuthConfig(
        auth_scheme=SCHEMES[kind], credential_key=f"news_{kind}", raw_auth_credential=raw
    )
    given = tool_context.get_auth_response(config)
    if given is None:
        tool_context.request_credential(config)
        return {"status": "asked"}
    http = given.http and (given.http.credentials.token or given.http.credentials.password)
    secret = given.api_key or http or given.oauth2.access_token
    return {"length": len(secret)}


def answer(request):
    """Call the tool, or tell its result."""
    last = request.contents[-1].parts[-1]
    if last.function_response is not None:
        return f"Result: {last.function_response.response}"
    return types.Part(function_call=types.FunctionCall(name="fetch_news", args={"kind": last.text}))


root_agent = Agent(name="vault", model=FunctionModel(answer), tools=[fetch_news])
