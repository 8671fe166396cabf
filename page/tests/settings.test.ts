// What the address tells of the page's settings.

import { expect, test } from "vitest";
import { flag, setting, take } from "../src/settings";
import { sessions, titleOf } from "../src/state";

test("an address sets what it names, and what can be seen is else as at first", () => {
  const view = setting<"a" | "b">("v", "a", { among: ["a", "b"] });
  const only = flag("only", () => view.value === "b");
  const words = setting("words", "", { typed: true });
  take(new URLSearchParams("v=b&only=yes&words=a+b%26c"));
  expect([view.value, only.value, words.value]).toEqual(["b", "yes", "a b&c"]);
  take(new URLSearchParams("v=nonsense"));
  expect([view.value, only.value, words.value]).toEqual(["a", "yes", ""]); // `only` cannot be seen now
  take(new URLSearchParams("v=b"));
  expect(only.value).toBe("");
});

test("a session is named by its title, or by the beginning of a long id", () => {
  sessions.value = [{ id: "s1", userId: "ann", lastUpdateTime: 0, firstMessage: "Hello" }] as typeof sessions.value;
  expect(titleOf("ann", "s1")).toBe("Hello");
  expect(titleOf("bob", "s1")).toBe("s1");
  expect(titleOf("ann", "9440f5d2-c0d6-4a93-94dd-9ed8dff44ce0")).toBe("9440f5d2…");
});
