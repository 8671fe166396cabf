import { expect, test, vi } from "vitest";

let state = "visible";
vi.spyOn(document, "visibilityState", "get").mockImplementation(() => state as DocumentVisibilityState);
const { untilVisible, visible, whenHidden } = await import("../src/visible");

function show(value: string): void {
  state = value;
  document.dispatchEvent(new Event("visibilitychange"));
}

test("what a hidden tab ends begins again when it is shown", async () => {
  const ended = vi.fn();
  const giveUp = whenHidden(ended);
  await untilVisible();
  expect(ended).not.toHaveBeenCalled();
  show("hidden");
  expect(ended).toHaveBeenCalledOnce();
  let shown = false;
  const waits = untilVisible().then(() => (shown = true));
  await Promise.resolve();
  expect(shown).toBe(false);
  show("visible");
  await waits;
  giveUp();
  show("hidden");
  expect(ended).toHaveBeenCalledOnce();
  whenHidden(ended)(); // hidden already
  expect(ended).toHaveBeenCalledTimes(2);
});

test("a page that the browser keeps for going back counts as hidden", () => {
  show("visible");
  window.dispatchEvent(new Event("pagehide"));
  expect(visible.value).toBe(false);
  window.dispatchEvent(new Event("pageshow"));
  expect(visible.value).toBe(true);
});
