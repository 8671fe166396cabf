// A call that waits for a credential: a form by the kind of credential, or a link to consent.
// What is typed stays in the fields of the form: it is in no state, no draft and no log of the page.

import { useState } from "preact/hooks";
import * as act from "../actions";
import { answer, outcomeOf } from "../answers";
import { askedFor, consentLink, credentialOf, wayOf } from "../credentials";
import { revealed } from "../hidden";
import * as s from "../state";
import type { Approval, CredentialRequest } from "../types";
import { Exact } from "./Exact";

export function Credential({ approval, done }: { approval: Approval; done?: boolean }) {
  const [wrong, setWrong] = useState("");
  const request = approval.credential ?? { key: "", scheme: {} };
  const outcome = outcomeOf(approval);
  const busy = s.answering.value.has(act.keyOf(approval));
  const over = done || outcome !== undefined;
  const name = approval.tool === act.CREDENTIAL ? approval.asker || "a toolset" : approval.tool;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const fields = new FormData(form);
    try {
      const credential = credentialOf(request, (field) => String(fields.get(field) ?? ""));
      form.reset();
      setWrong("");
      void answer(approval, { action: "credential", credential }).then(({ wrong }) => setWrong(wrong));
    } catch (error) {
      setWrong((error as Error).message);
    }
  };
  const refuse = () => void answer(approval, { action: "reject" }).then(({ wrong }) => setWrong(wrong));
  return (
    <div
      class={`decision ${over ? "done" : ""}`}
      role="group"
      aria-label={`Credential for ${revealed(name)}`}
      aria-busy={busy}
    >
      <p>
        <strong>
          <Exact text={name} />
        </strong>{" "}
        {over ? "asked for" : "asks for"} <Exact text={askedFor(request)} />
      </p>
      {request.key && (
        <p class="quiet">
          named <Exact text={request.key} />
        </p>
      )}
      {outcome && <p class="note">{outcome}</p>}
      {!over && (
        <form onSubmit={submit} noValidate autocomplete="off">
          <fieldset class="fields" disabled={busy}>
            <CredentialFields request={request} />
          </fieldset>
          {wrong && (
            <p class="error" role="alert">
              {wrong}
            </p>
          )}
          <p class="buttons">
            <button class="primary" disabled={busy}>
              Give the credential
            </button>
            <button type="button" class="danger" disabled={busy} onClick={refuse}>
              Refuse
            </button>
          </p>
        </form>
      )}
    </div>
  );
}

function CredentialFields({ request }: { request: CredentialRequest }) {
  switch (wayOf(request)) {
    case "key":
      return <Secret label="API key" />;
    case "token":
      return <Secret label="Token" />;
    case "password":
      return (
        <>
          <label class="field">
            <span>Name</span>
            <input name="name" autocomplete="off" spellcheck={false} />
          </label>
          <Secret label="Password" />
        </>
      );
    case "consent":
      return <Consent request={request} />;
    default:
      return (
        <label class="field">
          <span>Credential, a JSON object</span>
          <textarea name="json" rows={5} autocomplete="off" spellcheck={false} />
        </label>
      );
  }
}

function Secret({ label }: { label: string }) {
  return (
    <label class="field">
      <span>{label}</span>
      <input name="secret" type="password" autocomplete="new-password" spellcheck={false} />
    </label>
  );
}

function Consent({ request }: { request: CredentialRequest }) {
  const link = consentLink(request);
  return (
    <>
      {link ? (
        <p>
          1. <a href={link.href} target="_blank" rel="noopener noreferrer">Consent at {link.host} ↗</a>
        </p>
      ) : (
        <p class="note">The request names no address for consent; give an access token.</p>
      )}
      {link && (
        <label class="field">
          <span>2. The whole address that the browser was sent back to</span>
          <input name="address" autocomplete="off" spellcheck={false} placeholder={request.redirectUri} />
        </label>
      )}
      <details open={!link}>
        <summary>An access token instead</summary>
        <Secret label="Access token" />
      </details>
    </>
  );
}
