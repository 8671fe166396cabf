"""Records of credentials: keys, bearer tokens, service accounts; their JSON."""

import json

from google.adk.auth import AuthCredential, AuthCredentialTypes, OAuth2Auth
from google.adk.auth.auth_credential import HttpAuth, HttpCredentials
from showing import show

for credential in (
    AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k"),
    AuthCredential(
        auth_type=AuthCredentialTypes.HTTP,
        http=HttpAuth(scheme="bearer", credentials=HttpCredentials(token="t")),
    ),
    AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2, oauth2=OAuth2Auth(client_id="c", access_token="t")
    ),
):
    raw = json.loads(credential.model_dump_json(exclude_none=True, by_alias=True))
    print(json.dumps(raw, sort_keys=True))
    show(same=AuthCredential.model_validate(raw) == credential)
    show(copy=credential.model_copy(deep=True) == credential)
