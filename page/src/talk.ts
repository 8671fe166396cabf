// A live conversation: its socket, the microphone, the speaker, and what was said.

import { batch, signal } from "@preact/signals";
import { newSession, place } from "./actions";
import { api, socketProtocols } from "./api";
import { args, oneLine } from "./format";
import { decodePcm, encodePcm, loudness, rateOf, record, Speaker } from "./sound";
import type { Recorder } from "./sound";
import type { Event, JsonObject } from "./types";

/** A line of the conversation; one that is not whole yet grows. */
export interface Line {
  who: string;
  text: string;
  kind: "words" | "call" | "note" | "error";
  whole: boolean;
}

type TalkState = "off" | "connecting" | "on";

export const talkState = signal<TalkState>("off");
export const lines = signal<Line[]>([]);
export const muted = signal(false);
export const level = signal(0);
export const talkProblem = signal("");

const MOST_LINES = 500;
const BEHIND = 1_000_000; // bytes that wait in the socket; sound beyond them is left out

let socket: WebSocket | undefined;
let recorder: Recorder | undefined;
const speaker = new Speaker();

interface TalkOptions {
  modality: "AUDIO" | "TEXT";
  /** Hertz that the model hears. */
  rate: number;
  microphone: boolean;
}

/** Begin a conversation in the open session, or in a new one. */
export async function startTalk(options: TalkOptions): Promise<void> {
  if (talkState.value !== "off") return;
  batch(() => {
    talkState.value = "connecting";
    talkProblem.value = "";
    lines.value = [];
  });
  let opened: WebSocket | undefined;
  try {
    if (!place()) await newSession();
    const where = place();
    if (!where) throw new Error("No session could be made.");
    if ((talkState.value as TalkState) !== "connecting") return; // cancelled meanwhile
    opened = new WebSocket(api.liveAddress(where, options.modality), socketProtocols());
    socket = opened;
    await connected(opened);
    opened.onmessage = (event) => take(JSON.parse(String(event.data)) as LiveEvent);
    opened.onclose = (event) => socket === opened && end(reasonOf(event));
    if (options.microphone) {
      const started = await record(options.rate, (piece) => hear(piece, options.rate));
      if (socket !== opened) started.stop(); // it ended while the person was asked
      else recorder = started;
    }
    if (socket === opened) talkState.value = "on";
  } catch (error) {
    if (socket === opened) end(explain(error as Error)); // else the person has cancelled it
  }
}

function connected(opened: WebSocket): Promise<void> {
  return new Promise((done, failed) => {
    opened.onopen = () => done();
    opened.onclose = (event) => failed(new Error(reasonOf(event) || "The server refused the conversation."));
  });
}

function explain(error: Error): string {
  if (error.name === "NotAllowedError") return "The browser may not use the microphone: allow it in its settings.";
  if (error.name === "NotFoundError") return "No microphone was found.";
  return error.message;
}

const reasonOf = (event: CloseEvent): string => (event.code === 1000 ? "" : event.reason || `The conversation ended (${event.code}).`);

export function stopTalk(): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ close: true }));
  end("");
}

function end(problem: string): void {
  const old = socket;
  socket = undefined;
  recorder?.stop();
  recorder = undefined;
  speaker.close();
  old?.close();
  batch(() => {
    talkState.value = "off";
    level.value = 0;
    if (problem) talkProblem.value = problem;
    lines.value = lines.value.map((line) => ({ ...line, whole: true }));
  });
}

function hear(piece: Int16Array, rate: number): void {
  level.value = muted.value ? 0 : loudness(piece);
  if (muted.value || socket?.readyState !== WebSocket.OPEN || socket.bufferedAmount > BEHIND) return;
  const blob = { mime_type: `audio/pcm;rate=${rate}`, data: encodePcm(piece) };
  socket.send(JSON.stringify({ blob }));
}

/** Send words; return whether they could be sent. */
export function sayWords(text: string): boolean {
  if (socket?.readyState !== WebSocket.OPEN || !text.trim()) return false;
  socket.send(JSON.stringify({ content: { role: "user", parts: [{ text }] } }));
  add({ who: "user", text, kind: "words", whole: true });
  return true;
}

interface Transcription {
  text?: string;
  finished?: boolean;
}

interface LiveEvent extends Event {
  inputTranscription?: Transcription;
  outputTranscription?: Transcription;
  interrupted?: boolean;
  turnComplete?: boolean;
}

/** Take an event: play its sound, and note what was said and done. */
export function take(event: LiveEvent): void {
  if (event.interrupted) {
    speaker.silence();
    add({ who: event.author, text: "interrupted", kind: "note", whole: true });
  }
  transcribe("user", event.inputTranscription);
  transcribe(event.author, event.outputTranscription);
  if (event.errorCode) {
    add({ who: event.author, text: `${event.errorCode}: ${event.errorMessage ?? ""}`, kind: "error", whole: true });
  }
  for (const part of event.content?.parts ?? []) {
    const rate = part.inlineData && rateOf(part.inlineData.mimeType);
    if (rate) speaker.play(decodePcm(part.inlineData!.data), rate);
    if (part.text && !part.thought && event.author !== "user") {
      if (event.partial) grow(event.author, part.text);
      else finish(event.author, part.text);
    }
    if (part.functionCall) {
      const text = `${part.functionCall.name}(${args(part.functionCall.args)})`;
      add({ who: event.author, text, kind: "call", whole: true });
    }
    if (part.functionResponse) {
      const text = `${part.functionResponse.name}: ${oneLine(part.functionResponse.response as JsonObject, 160)}`;
      add({ who: event.author, text, kind: "call", whole: true });
    }
  }
}

function transcribe(who: string, one: Transcription | undefined): void {
  if (!one?.text) return;
  if (one.finished) finish(who, one.text);
  else grow(who, one.text);
}

const openLine = (who: string): number =>
  lines.value.findLastIndex((line) => line.who === who && line.kind === "words" && !line.whole);

/** Add a piece to what somebody is saying. */
function grow(who: string, text: string): void {
  const at = openLine(who);
  if (at < 0) add({ who, text, kind: "words", whole: false });
  else lines.value = lines.value.with(at, { ...lines.value[at]!, text: lines.value[at]!.text + text });
}

/** Put the whole text in the place of its pieces. */
function finish(who: string, text: string): void {
  const at = openLine(who);
  const line: Line = { who, text, kind: "words", whole: true };
  if (at < 0) add(line);
  else lines.value = lines.value.with(at, line);
}

function add(line: Line): void {
  lines.value = [...lines.value, line].slice(-MOST_LINES);
}
