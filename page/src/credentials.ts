// Requests for credentials: what is asked for, and the answer in the form that the server takes.

import { isObject } from "./schema";
import type { CredentialRequest, Json, JsonObject } from "./types";

/** How a credential is given: by one or two secret fields, by consent elsewhere, or as JSON. */
export type Way = "key" | "token" | "password" | "consent" | "json";

const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");

export function wayOf(request: CredentialRequest): Way {
  const kind = text(request.scheme["type"]);
  if (kind === "apiKey") return "key";
  if (kind === "http") return text(request.scheme["scheme"]).toLowerCase() === "basic" ? "password" : "token";
  if (kind === "oauth2" || kind === "openIdConnect") return "consent";
  return "json";
}

/** The request in the arguments of a call. */
export function readRequest(args: JsonObject): CredentialRequest {
  const config = isObject(args["authConfig"]) ? args["authConfig"] : {};
  const given = isObject(config["exchangedAuthCredential"]) ? config["exchangedAuthCredential"] : {};
  const client = isObject(given["oauth2"]) ? given["oauth2"] : {};
  return {
    key: text(config["credentialKey"]),
    scheme: isObject(config["authScheme"]) ? config["authScheme"] : {},
    ...(text(client["authUri"]) ? { consentUri: text(client["authUri"]) } : {}),
    ...(text(client["redirectUri"]) ? { redirectUri: text(client["redirectUri"]) } : {}),
  };
}

/** What a person is asked for, in words. */
export function askedFor(request: CredentialRequest): string {
  const { scheme } = request;
  switch (wayOf(request)) {
    case "key":
      return `an API key${text(scheme["name"]) ? ` (${text(scheme["in"]) || "header"} ${text(scheme["name"])})` : ""}`;
    case "token":
      return "a token";
    case "password":
      return "a name and a password";
    case "consent":
      return "your consent at its provider";
    default:
      return "a credential";
  }
}

/** Where the person consents, if it is an address of the web. */
export function consentLink(request: CredentialRequest): URL | undefined {
  try {
    const url = new URL(request.consentUri ?? "");
    return url.protocol === "https:" || url.protocol === "http:" ? url : undefined;
  } catch {
    return undefined;
  }
}

/** The credential that fields stand for. Throw an error that says which field is missing. */
export function credentialOf(request: CredentialRequest, field: (name: string) => string): JsonObject {
  const need = (name: string, what: string): string => {
    const value = field(name);
    if (!value.trim()) throw new Error(`${what} is needed.`);
    return value;
  };
  const kind = text(request.scheme["type"]);
  switch (wayOf(request)) {
    case "key":
      return { authType: "apiKey", apiKey: need("secret", "The key").trim() };
    case "token":
      return http(text(request.scheme["scheme"]) || "bearer", { token: need("secret", "The token").trim() });
    case "password":
      return http("basic", { username: need("name", "The name"), password: need("secret", "The password") });
    case "consent": {
      const token = field("secret").trim();
      if (token) return { authType: kind, oauth2: { accessToken: token } };
      const address = need("address", "The address that the browser was sent back to").trim();
      if (!URL.canParse(address)) throw new Error("That is no address. Copy it whole from the browser.");
      const oauth2: JsonObject = { authResponseUri: address };
      if (request.redirectUri) oauth2["redirectUri"] = request.redirectUri;
      return { authType: kind, oauth2 };
    }
    default: {
      let found: Json;
      try {
        found = JSON.parse(need("json", "The credential")) as Json;
      } catch (error) {
        throw error instanceof SyntaxError ? new Error("That is no JSON.") : error; // its text would show the secret
      }
      if (!isObject(found)) throw new Error("A credential is a JSON object.");
      return found;
    }
  }
}

const http = (scheme: string, credentials: JsonObject): JsonObject => ({
  authType: "http",
  http: { scheme, credentials },
});
