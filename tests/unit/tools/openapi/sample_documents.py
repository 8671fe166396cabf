"""Small documents with the oddities of Petstore 2 and 3, GitHub, Stripe and Kubernetes.

They are written for these tests and need nothing but Python, so that the recorder can load them
beside google-adk.
"""

from __future__ import annotations

from typing import Any


def ref(name: str, kind: str = "schemas") -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


def answer(schema: Any, kind: str = "application/json") -> dict[str, Any]:
    return {"description": "Done.", "content": {kind: {"schema": schema}}}


PET: dict[str, Any] = {
    "type": "object",
    "required": ["name", "photoUrls"],
    "properties": {
        "id": {"type": "integer", "format": "int64", "example": 10},
        "name": {"type": "string", "example": "doggie"},
        "category": {"type": "object", "properties": {"id": {"type": "integer"}},
                     "xml": {"name": "category"}},
        "photoUrls": {"type": "array", "xml": {"wrapped": True}, "items": {"type": "string"}},
        "status": {"type": "string", "description": "pet status in the store",
                   "enum": ["available", "pending", "sold"]},
    },
    "xml": {"name": "pet"},
}  # fmt: skip

# A relative server, several media types, two schemes of which one is enough, a header parameter.
PETSTORE_3: dict[str, Any] = {
    "openapi": "3.0.4",
    "info": {"title": "Petstore 3", "version": "1"},
    "servers": [{"url": "/api/v3"}],
    "paths": {
        "/pet": {
            "put": {
                "operationId": "updatePet",
                "summary": "Update an existing pet.",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {"schema": ref("Pet")},
                        "application/xml": {"schema": ref("Pet")},
                    },
                },
                "responses": {"200": answer(ref("Pet")), "default": {"description": "Error."}},
                "security": [{"petstore_auth": ["write:pets"]}],
            }
        },
        "/pet/findByStatus": {
            "get": {
                "operationId": "findPetsByStatus",
                "description": "Multiple status values can be provided.",
                "parameters": [
                    {"name": "status", "in": "query", "explode": True,
                     "schema": {"type": "string", "default": "available",
                                "enum": ["available", "sold"]}},
                    {"name": "class", "in": "query", "schema": {"type": "integer"}},
                ],
                "responses": {"200": answer({"type": "array", "items": ref("Pet")})},
                "security": [{"petstore_auth": []}],
            }
        },
        "/pet/{petId}": {
            "parameters": [{"name": "petId", "in": "path", "required": True,
                            "description": "ID of pet", "schema": {"type": "integer"}}],
            "get": {
                "operationId": "getPetById",
                "responses": {"200": answer(ref("Pet"))},
                "security": [{"api_key": []}, {"petstore_auth": []}],
            },
            "delete": {
                "operationId": "deletePet",
                "parameters": [{"name": "api_key", "in": "header", "schema": {"type": "string"}}],
                "responses": {"400": {"description": "Invalid pet value"}},
            },
        },
        "/store/inventory": {
            "get": {
                "operationId": "getInventory",
                "responses": {
                    "200": answer({"type": "object", "additionalProperties": {"type": "integer"}})
                },
                "security": [{"api_key": []}],
            }
        },
        "/user/createWithList": {
            "post": {
                "operationId": "createUsersWithListInput",
                "requestBody": {
                    "description": "The users.",
                    "content": {"application/json": {"schema": {
                        "type": "array", "items": {"type": "object", "properties": {
                            "username": {"type": "string"}}}}}},
                },
                "responses": {"200": {"description": "ok"}},
            }
        },
    },
    "components": {
        "schemas": {"Pet": PET},
        "securitySchemes": {
            "petstore_auth": {"type": "oauth2", "flows": {"implicit": {
                "authorizationUrl": "https://petstore.example/oauth", "scopes": {}}}},
            "api_key": {"type": "apiKey", "name": "api_key", "in": "header"},
        },
    },
}  # fmt: skip

# Bodies, form fields and a file as parameters; host, basePath and schemes; collection formats.
PETSTORE_2: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Petstore 2", "version": "1"},
    "host": "petstore.example.com",
    "basePath": "/v2",
    "schemes": ["http", "https"],
    "consumes": ["application/json", "application/xml"],
    "produces": ["application/json"],
    "parameters": {"limit": {"name": "limit", "in": "query", "type": "integer", "maximum": 9}},
    "paths": {
        "/pet": {
            "post": {
                "operationId": "addPet",
                "parameters": [{"in": "body", "name": "body", "required": True,
                                "description": "The pet.",
                                "schema": {"$ref": "#/definitions/Pet"}}],
                "responses": {405: {"description": "Invalid input"}},
                "security": [{"petstore_auth": ["write:pets"]}],
            }
        },
        "/pet/findByTags": {
            "get": {
                "operationId": "findPetsByTags",
                "parameters": [
                    {"name": "tags", "in": "query", "type": "array", "required": True,
                     "items": {"type": "string"}, "collectionFormat": "multi"},
                    {"name": "ids", "in": "query", "type": "array", "items": {"type": "integer"}},
                    {"name": "bars", "in": "query", "type": "array", "items": {"type": "string"},
                     "collectionFormat": "pipes"},
                    {"$ref": "#/parameters/limit"},
                ],
                "responses": {"200": {"description": "ok", "schema": {
                    "type": "array", "items": {"$ref": "#/definitions/Pet"}}}},
            }
        },
        "/pet/{petId}/uploadImage": {
            "post": {
                "operationId": "uploadFile",
                "consumes": ["multipart/form-data"],
                "parameters": [
                    {"name": "petId", "in": "path", "type": "integer", "required": True},
                    {"name": "additionalMetadata", "in": "formData", "type": "string"},
                    {"name": "file", "in": "formData", "type": "file", "required": True},
                ],
                "responses": {"200": {"description": "ok"}},
            }
        },
        "/login": {
            "post": {
                "operationId": "login",
                "consumes": ["application/x-www-form-urlencoded"],
                "schemes": ["https"],
                "parameters": [{"name": "user", "in": "formData", "type": "string",
                                "x-nullable": True}],
                "responses": {"200": {"description": "ok"}},
                "security": [{"basic": []}],
            }
        },
    },
    "definitions": {"Pet": PET},
    "securityDefinitions": {
        "petstore_auth": {"type": "oauth2", "flow": "accessCode",
                          "authorizationUrl": "https://petstore.example/oauth",
                          "tokenUrl": "https://petstore.example/token",
                          "scopes": {"write:pets": "modify"}},
        "api_key": {"type": "apiKey", "name": "api_key", "in": "header"},
        "basic": {"type": "basic"},
    },
}  # fmt: skip

# Ids with slashes, shared parameters by reference, nullable types, a body of alternatives, a path
# parameter in a query of the path, an operation without an id.
GITHUB: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "GitHub shape", "version": "1"},
    "servers": [{"url": "https://api.example.com"}],
    "paths": {
        "/": {"get": {"operationId": "meta/root", "summary": "API Root",
                      "responses": {"200": answer(ref("root"))}}},
        "/repos/{owner}/{repo}/issues": {
            "post": {
                "operationId": "issues/create",
                "description": "Create an issue.\n\nAny user can.",
                "parameters": [ref("owner", "parameters"), ref("repo", "parameters")],
                "requestBody": {"required": True, "content": {"application/json": {"schema": {
                    "type": "object",
                    "properties": {
                        "title": {"oneOf": [{"type": "string"}, {"type": "integer"}],
                                  "description": "The title."},
                        "assignee": {"type": "string", "nullable": True},
                        "labels": {"type": "array", "items": {"oneOf": [
                            {"type": "string"},
                            {"type": "object", "properties": {"id": {"type": "integer"}}}]}},
                    },
                    "required": ["title"],
                }}}},
                "responses": {"201": answer(ref("issue"))},
                "x-github": {"category": "issues"},
            },
            "get": {
                "operationId": "issues/list-for-repo",
                "parameters": [
                    ref("owner", "parameters"), ref("repo", "parameters"),
                    {"name": "per_page", "in": "query", "description": "Results per page.",
                     "schema": {"type": "integer", "default": 30}},
                    {"name": "since", "in": "query",
                     "schema": {"type": "string", "format": "date-time"}},
                ],
                "responses": {"200": answer({"type": "array", "items": ref("issue")}),
                              "304": {"description": "Not modified"}},
            },
        },
        "/repos/{owner}/{repo}/labels": {
            "put": {
                "operationId": "issues/set-labels",
                "parameters": [ref("owner", "parameters"), ref("repo", "parameters")],
                "requestBody": {"content": {"application/json": {"schema": {"oneOf": [
                    {"type": "array", "items": {"type": "string"}},
                    {"type": "object", "properties": {"labels": {"type": "array",
                                                                 "items": {"type": "string"}}}},
                ]}}}},
                "responses": {"200": {"description": "ok"}},
            }
        },
        "/markdown/raw": {
            "post": {
                "operationId": "markdown/render-raw",
                "requestBody": {"content": {"text/plain": {"schema": {"type": "string"}}}},
                "responses": {"200": answer({"type": "string"}, "text/html")},
            }
        },
        "/repos/{owner}/{repo}/tarball/{ref}": {
            "get": {
                "parameters": [ref("owner", "parameters"), ref("repo", "parameters"),
                               {"name": "ref", "in": "path", "required": True,
                                "schema": {"type": "string"}}],
                "responses": {"302": {"description": "Found"}},
            }
        },
    },
    "components": {
        "parameters": {
            "owner": {"name": "owner", "in": "path", "required": True,
                      "description": "The account.", "schema": {"type": "string"}},
            "repo": {"name": "repo", "in": "path", "required": True,
                     "description": "The repository.", "schema": {"type": "string"}},
        },
        "schemas": {
            "root": {"type": "object", "properties": {"url": {"type": "string"}}},
            "issue": {"title": "Issue", "type": "object", "required": ["id"], "properties": {
                "id": {"type": "integer"}, "user": {"nullable": True, "allOf": [ref("user")]}}},
            "user": {"type": "object", "properties": {"login": {"type": "string"}}},
        },
    },
}  # fmt: skip

# Forms with deep objects, an empty form for GET, expandable objects that hold each other.
STRIPE: dict[str, Any] = {
    "openapi": "3.0.0",
    "info": {"title": "Stripe shape", "version": "1"},
    "servers": [{"url": "https://api.example.com/"}],
    "security": [{"basicAuth": []}, {"bearerAuth": []}],
    "paths": {
        "/v1/charges": {
            "get": {
                "operationId": "GetCharges",
                "description": "<p>Returns a list of charges.</p>",
                "parameters": [
                    {"name": "created", "in": "query", "style": "deepObject", "explode": True,
                     "schema": {"anyOf": [{"type": "object", "properties": {
                         "gt": {"type": "integer"}}}, {"type": "integer"}]}},
                    {"name": "expand", "in": "query", "style": "deepObject", "explode": True,
                     "schema": {"type": "array", "items": {"type": "string", "maxLength": 5000}}},
                    {"name": "limit", "in": "query", "style": "form",
                     "schema": {"type": "integer"}},
                ],
                "requestBody": {"content": {"application/x-www-form-urlencoded": {
                    "encoding": {}, "schema": {"type": "object", "properties": {},
                                               "additionalProperties": False}}}, "required": False},
                "responses": {"200": answer(ref("charge"))},
            },
            "post": {
                "operationId": "PostCharges",
                "requestBody": {"content": {"application/x-www-form-urlencoded": {
                    "encoding": {"metadata": {"style": "deepObject", "explode": True},
                                 "expand": {"style": "deepObject", "explode": True}},
                    "schema": {"type": "object", "properties": {
                        "amount": {"type": "integer", "description": "Amount in cents."},
                        "expand": {"type": "array", "items": {"type": "string"}},
                        "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
                    }},
                }}, "required": False},
                "responses": {"200": answer(ref("charge"))},
            },
        },
    },
    "components": {
        "securitySchemes": {"basicAuth": {"type": "http", "scheme": "basic"},
                            "bearerAuth": {"type": "http", "scheme": "bearer"}},
        "schemas": {
            "charge": {"type": "object", "required": ["id"], "properties": {
                "id": {"type": "string"},
                "customer": {"anyOf": [{"type": "string"}, ref("customer")], "nullable": True}}},
            "customer": {"type": "object", "properties": {"default_charge": ref("charge")}},
        },
    },
}  # fmt: skip

# Swagger 2.0 without a host, long ids, path parameters of the path item, `*/*`, a schema that
# holds itself, bodies of PATCH in several media types.
KUBERNETES: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Kubernetes shape", "version": "v1"},
    "security": [{"BearerToken": []}],
    "paths": {
        "/api/v1/namespaces/{namespace}/pods/{name}": {
            "parameters": [
                {"name": "name", "in": "path", "required": True, "type": "string",
                 "uniqueItems": True},
                {"name": "namespace", "in": "path", "required": True, "type": "string"},
                {"name": "pretty", "in": "query", "type": "string"},
            ],
            "get": {
                "operationId": "readCoreV1NamespacedPod",
                "description": "read the specified Pod",
                "consumes": ["*/*"],
                "produces": ["application/json", "application/yaml"],
                "responses": {"200": {"description": "OK",
                                      "schema": {"$ref": "#/definitions/io.k8s.Pod"}}},
            },
            "patch": {
                "operationId": "patchCoreV1NamespacedPod",
                "consumes": ["application/json-patch+json", "application/merge-patch+json"],
                "parameters": [{"name": "body", "in": "body", "required": True,
                                "schema": {"$ref": "#/definitions/io.k8s.Patch"}}],
                "responses": {"200": {"description": "OK"}},
            },
            "put": {
                "operationId": "replaceCoreV1NamespacedPod",
                "consumes": ["*/*"],
                "parameters": [{"name": "body", "in": "body", "required": True,
                                "schema": {"$ref": "#/definitions/io.k8s.Pod"}}],
                "responses": {"200": {"description": "OK"}},
            },
        },
        "/apis/apps/v1/watch/namespaces/{namespace}/deployments/{name}/status/x": {
            "get": {
                "operationId": "watchAppsV1NamespacedDeploymentStatusForAVeryLongResourceNameList",
                "parameters": [{"name": "namespace", "in": "path", "required": True,
                                "type": "string"},
                               {"name": "name", "in": "path", "required": True,
                                "type": "string"}],
                "responses": {"200": {"description": "OK"}},
            }
        },
    },
    "definitions": {
        "io.k8s.Pod": {"type": "object", "properties": {
            "kind": {"type": "string"}, "spec": {"$ref": "#/definitions/io.k8s.Props"}}},
        "io.k8s.Props": {"type": "object", "properties": {
            "not": {"$ref": "#/definitions/io.k8s.Props"},
            "items": {"type": "array", "items": {"$ref": "#/definitions/io.k8s.Props"}},
            "port": {"type": "string", "format": "int-or-string"}}},
        "io.k8s.Patch": {"type": "object", "description": "Patch of an object."},
    },
    "securityDefinitions": {"BearerToken": {"type": "apiKey", "in": "header",
                                            "name": "authorization"}},
}  # fmt: skip

DOCUMENTS: dict[str, dict[str, Any]] = {
    "petstore_3": PETSTORE_3,
    "petstore_2": PETSTORE_2,
    "github": GITHUB,
    "stripe": STRIPE,
    "kubernetes": KUBERNETES,
}
