"""Discovery documents in the shape of Google's, cut to what the tests look at."""

from typing import Any

SCOPE = "https://www.googleapis.com/auth/calendar"

CALENDAR: dict[str, Any] = {
    "kind": "discovery#restDescription",
    "id": "calendar:v3",
    "name": "calendar",
    "version": "v3",
    "title": "Calendar API",
    "description": "Manages calendars and events.",
    "documentationLink": "https://developers.google.com/calendar",
    "rootUrl": "https://www.googleapis.com/",
    "servicePath": "calendar/v3/",
    "auth": {
        "oauth2": {
            "scopes": {
                SCOPE: {"description": "See and edit calendars"},
                f"{SCOPE}.readonly": {"description": "See calendars"},
            }
        }
    },
    "schemas": {
        "Event": {
            "id": "Event",
            "type": "object",
            "properties": {
                "id": {"type": "string", "readOnly": True},
                "summary": {"type": "string", "required": True, "description": "The title."},
                "start": {"$ref": "EventTime", "description": "When it starts."},
                "attendees": {"type": "array", "items": {"$ref": "Person"}},
                "guests": {"type": "integer", "format": "int32", "default": "1", "minimum": "0"},
                "isLocked": {"type": "boolean", "default": "false"},
                "extra": {"type": "object", "additionalProperties": {"type": "any"}},
                "colour": {"type": "string", "enum": ["red"], "deprecated": True},
            },
        },
        "EventTime": {
            "type": "object",
            "properties": {"day": {"type": "string", "format": "date"}},
        },
        "Person": {"type": "object", "properties": {"knows": {"$ref": "Person"}}},
        "Events": {"type": "object", "properties": {}},
    },
    "resources": {
        "events": {
            "methods": {
                "list": {
                    "id": "calendar.events.list",
                    "path": "calendars/{calendarId}/events",
                    "httpMethod": "GET",
                    "description": "Returns events.",
                    "parameters": {
                        "calendarId": {
                            "type": "string",
                            "location": "path",
                            "required": True,
                            "description": "Which calendar.",
                        },
                        "eventTypes": {
                            "type": "string",
                            "location": "query",
                            "repeated": True,
                            "enum": ["default", "outOfOffice"],
                        },
                        "maxResults": {
                            "type": "integer",
                            "location": "query",
                            "default": "250",
                            "minimum": "1",
                            "maximum": "2500",
                        },
                        "alwaysIncludeEmail": {
                            "type": "boolean",
                            "location": "query",
                            "deprecated": True,
                            "description": "Ignored.",
                        },
                    },
                    "parameterOrder": ["calendarId"],
                    "response": {"$ref": "Events"},
                    "scopes": [SCOPE, f"{SCOPE}.readonly"],
                },
                "insert": {
                    "id": "calendar.events.insert",
                    "path": "calendars/{calendarId}/events",
                    "httpMethod": "POST",
                    "parameters": {
                        "calendarId": {"type": "string", "location": "path", "required": True}
                    },
                    "request": {"$ref": "Event"},
                    "response": {"$ref": "Event"},
                    "scopes": [SCOPE],
                },
            },
            "resources": {
                "labels": {
                    "methods": {
                        "delete": {
                            "id": "calendar.events.labels.delete",
                            "path": "{+name}",
                            "httpMethod": "DELETE",
                            "deprecated": True,
                            "parameters": {
                                "name": {
                                    "type": "string",
                                    "location": "path",
                                    "required": True,
                                    "pattern": "^labels/.*$",
                                }
                            },
                        }
                    }
                }
            },
        }
    },
    "methods": {"ping": {"id": "calendar.ping", "path": "ping", "httpMethod": "GET"}},
}

SHEETS: dict[str, Any] = {
    "rootUrl": "https://sheets.googleapis.com/",
    "servicePath": "",
    "schemas": {"ClearRequest": {"id": "ClearRequest", "type": "object", "properties": {}}},
    "resources": {
        "values": {
            "methods": {
                "append": {
                    "id": "sheets.values.append",
                    "path": "v4/spreadsheets/{spreadsheetId}/values/{range}:append",
                    "flatPath": "v4/spreadsheets/{spreadsheetId}/values/{range}:append",
                    "httpMethod": "POST",
                    "parameters": {
                        "spreadsheetId": {"location": "path", "required": True, "type": "string"},
                        "range": {"location": "path", "required": True, "type": "string"},
                    },
                },
                "clear": {
                    "id": "sheets.values.clear",
                    "path": "v4/spreadsheets/{+spreadsheetId}/values/{+range}:clear",
                    "flatPath": "v4/spreadsheets/{spreadsheetsId}/values/{valuesId}:clear",
                    "httpMethod": "POST",
                    "request": {"$ref": "ClearRequest"},
                    "parameters": {
                        "spreadsheetId": {"location": "path", "required": True, "type": "string"},
                        "range": {
                            "location": "path",
                            "required": True,
                            "type": "string",
                            "description": "What to clear.",
                        },
                    },
                },
                "send": {
                    "id": "sheets.values.send",
                    "path": "v1/{+parent}/send",
                    "flatPath": "v1/projects/{projectsId}/send",
                    "httpMethod": "POST",
                    "description": "Sends.",
                    "supportsMediaUpload": True,
                    "mediaUpload": {
                        "accept": ["*/*"],
                        "protocols": {"simple": {"multipart": True, "path": "/upload/v1/send"}},
                    },
                    "parameters": {
                        "parent": {"location": "path", "required": True, "type": "string"}
                    },
                },
            }
        }
    },
}
