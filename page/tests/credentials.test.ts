// Requests for credentials become forms, and what is typed the answer that the server takes.

import { describe, expect, it } from "vitest";
import { askedFor, consentLink, credentialOf, readRequest, wayOf } from "../src/credentials";
import type { CredentialRequest, JsonObject } from "../src/types";

const request = (scheme: JsonObject, more: Partial<CredentialRequest> = {}): CredentialRequest => ({ key: "k", scheme, ...more });
const filled = (fields: { [name: string]: string }) => (name: string) => fields[name] ?? "";
const KEY = request({ type: "apiKey", name: "X-Key", in: "header" });
const LOGIN = request({ type: "oauth2" }, { consentUri: "https://login.test/a?b", redirectUri: "https://me.test/back" });

describe("a request", () => {
  it("is read from a call", () => {
    const oauth2 = { authUri: "https://login.test/a", redirectUri: "https://me.test" };
    expect(
      readRequest({ functionCallId: "c", authConfig: { authScheme: { type: "oauth2" }, credentialKey: "k", exchangedAuthCredential: { oauth2 } } }),
    ).toEqual({ key: "k", scheme: { type: "oauth2" }, consentUri: "https://login.test/a", redirectUri: "https://me.test" });
    expect(readRequest({ authConfig: "x" })).toEqual({ key: "", scheme: {} });
  });

  it("has a way by its scheme", () => {
    const ways = [{ type: "apiKey" }, { type: "http", scheme: "Basic" }, { type: "http", scheme: "bearer" }, { type: "openIdConnect" }, { type: "own" }, {}];
    expect(ways.map((scheme) => wayOf(request(scheme)))).toEqual(["key", "password", "token", "consent", "json", "json"]);
    expect(askedFor(KEY)).toBe("an API key (header X-Key)");
  });

  it("leads only to addresses of the web", () => {
    expect(consentLink(LOGIN)?.host).toBe("login.test");
    for (const consentUri of ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "", "//x"]) {
      expect(consentLink(request({}, { consentUri }))).toBeUndefined();
    }
  });
});

describe("an answer", () => {
  it("has the form that the server takes", () => {
    expect(credentialOf(KEY, filled({ secret: " sk " }))).toEqual({ authType: "apiKey", apiKey: "sk" });
    expect(credentialOf(request({ type: "http", scheme: "basic" }), filled({ name: "a", secret: " b " }))).toEqual({
      authType: "http", http: { scheme: "basic", credentials: { username: "a", password: " b " } },
    });
    expect(credentialOf(LOGIN, filled({ address: "https://me.test/back?code=1" }))).toEqual({
      authType: "oauth2", oauth2: { authResponseUri: "https://me.test/back?code=1", redirectUri: "https://me.test/back" },
    });
    expect(credentialOf(LOGIN, filled({ secret: "t" }))).toEqual({ authType: "oauth2", oauth2: { accessToken: "t" } });
    expect(credentialOf(request({ type: "own" }), filled({ json: '{"authType":"x"}' }))).toEqual({ authType: "x" });
  });

  it("that is not whole says what is missing, and repeats no secret", () => {
    expect(() => credentialOf(KEY, filled({}))).toThrow("The key is needed.");
    expect(() => credentialOf(LOGIN, filled({ address: "sk-1" }))).toThrow("That is no address");
    const wrong = () => credentialOf(request({}), filled({ json: "sk-secret" }));
    expect(wrong).toThrow("That is no JSON.");
  });
});
