// A question to a person, and the words of the message box until the server has taken them.

import { createElement, render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test, vi } from "vitest";
import { api, ApiError } from "../src/api";
import type { Approval, Numbered, Session } from "../src/types";

vi.stubGlobal("matchMedia", () => ({ matches: false }));
vi.stubGlobal("fetch", () => Promise.reject(new TypeError("no server")));
const s = await import("../src/state");
const box = await import("../src/box");
const { Question } = await import("../src/parts/Question");
const { Composer } = await import("../src/parts/Composer");

const WORDS = "my careful words";
let sessions = 0;
let question: Approval;

beforeEach(() => {
  const id = `s${(sessions += 1)}`;
  s.app.value = "a";
  s.session.value = { id, appName: "a", userId: "u" } as Session;
  s.events.value = [];
  question = { kind: "input", userId: "u", sessionId: id, eventId: "e", callId: "c", tool: "ask", args: {}, message: "Where?" };
  s.approvals.value = [question];
  vi.spyOn(api, "approvals").mockImplementation(async () => s.approvals.value);
  vi.spyOn(api, "status").mockResolvedValue({ state: "idle" });
});

async function answerInWords(): Promise<void> {
  const root = document.createElement("div");
  await act(() => render(createElement(Composer, {}), root));
  await act(() => box.write(WORDS));
  await act(async () => {
    root.querySelector("form")!.dispatchEvent(new Event("submit", { cancelable: true }));
    await new Promise((done) => setTimeout(done, 20));
  });
}

const answered = (result: string): Numbered => ({
  number: 1,
  event: {
    id: "f",
    invocationId: "i",
    author: "user",
    timestamp: 1,
    content: { role: "user", parts: [{ functionResponse: { id: "c", name: "adk_request_input", response: { result } } }] },
  },
});

test("words that answered a question leave the box", async () => {
  const given = vi.spyOn(api, "answer").mockResolvedValue({});
  await answerInWords();
  expect(given.mock.lastCall?.[2]).toEqual({ action: "respond", text: WORDS });
  expect(box.words.value).toBe("");
});

test.each([
  ["the server cannot be reached", new Error("The server cannot be reached.")],
  ["another person answered first", new ApiError(409, "answered", { callId: "c", answer: { result: "theirs" } })],
  ["the question is gone", new ApiError(404, "gone")],
  ["the answer does not fit", new ApiError(422, "no number")],
])("words are in the box again if %s", async (_, error) => {
  vi.spyOn(api, "answer").mockRejectedValue(error);
  await answerInWords();
  expect(box.words.value).toBe(WORDS);
});

test("words whose request broke leave the box once the log shows them as the answer", async () => {
  vi.spyOn(api, "answer").mockRejectedValue(new Error("The server cannot be reached."));
  await answerInWords();
  s.events.value = [answered("theirs")];
  expect(box.words.value).toBe(WORDS);
  s.events.value = [answered(WORDS)];
  expect(box.words.value).toBe("");
});

test("hidden characters of a question can be seen, and its lines stay lines", async () => {
  const root = document.createElement("div");
  const approval = { ...question, message: "Pay \u202eten?\n\u200bNow?" };
  await act(() => render(createElement(Question, { approval }), root));
  expect(root.querySelector(".question")!.textContent).toBe("Pay \\u202eten?\n\\u200bNow?");
});

test("a long argument that a question is about shows its beginning and its end", async () => {
  const root = document.createElement("div");
  const approval = { ...question, payload: { note: `harmless ${"x".repeat(991)}danger` } };
  await act(() => render(createElement(Question, { approval }), root));
  expect(root.textContent).toMatch(/harmless x+… 508 characters hidden …x+danger"/);
});
