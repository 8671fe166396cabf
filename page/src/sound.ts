// The microphone as pieces of PCM, and a speaker that plays such pieces without gaps.

export interface Recorder {
  stop: () => void;
}

/** Record the microphone at a rate; `hear` gets pieces of 16-bit samples. */
export async function record(rate: number, hear: (piece: Int16Array) => void): Promise<Recorder> {
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: { echoCancellation: true, noiseSuppression: true, channelCount: 1 },
  });
  const context = new AudioContext({ sampleRate: rate });
  const stop = () => {
    for (const track of stream.getTracks()) track.stop();
    void context.close();
  };
  try {
    await context.audioWorklet.addModule(new URL("./microphone.js", import.meta.url));
    const source = context.createMediaStreamSource(stream);
    const worklet = new AudioWorkletNode(context, "microphone", { numberOfOutputs: 0 });
    worklet.port.onmessage = (event: MessageEvent<Int16Array>) => hear(event.data);
    source.connect(worklet);
    await context.resume();
  } catch (error) {
    stop();
    throw error;
  }
  return { stop };
}

/** How loud a piece is, from 0 to 1. */
export function loudness(piece: Int16Array): number {
  let sum = 0;
  for (const sample of piece) sum += sample * sample;
  return Math.min(1, Math.sqrt(sum / Math.max(1, piece.length)) / 8000);
}

/** PCM as base64. */
export function encodePcm(piece: Int16Array): string {
  const bytes = new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Base64, of either alphabet, as samples from -1 to 1. */
export function decodePcm(data: string): Float32Array<ArrayBuffer> {
  const binary = atob(data.replaceAll("-", "+").replaceAll("_", "/"));
  const samples = new Float32Array(binary.length >> 1);
  for (let at = 0; at < samples.length; at += 1) {
    const value = binary.charCodeAt(2 * at) | (binary.charCodeAt(2 * at + 1) << 8);
    samples[at] = (value >= 0x8000 ? value - 0x10000 : value) / 0x8000;
  }
  return samples;
}

/** The rate of a type such as `audio/pcm;rate=24000`; undefined if it is no PCM. */
export function rateOf(mimeType: string): number | undefined {
  if (!mimeType.startsWith("audio/pcm")) return undefined;
  return Number(/rate=(\d{4,6})/.exec(mimeType)?.[1] ?? 24_000);
}

/** Plays pieces one after the other; `silence` drops what was not played yet. */
export class Speaker {
  private context: AudioContext | undefined;
  private until = 0;
  private playing = new Set<AudioBufferSourceNode>();

  play(samples: Float32Array<ArrayBuffer>, rate: number): void {
    if (!samples.length) return;
    const context = (this.context ??= new AudioContext());
    const buffer = context.createBuffer(1, samples.length, rate);
    buffer.copyToChannel(samples, 0);
    const source = context.createBufferSource();
    source.buffer = buffer;
    source.connect(context.destination);
    source.onended = () => this.playing.delete(source);
    this.until = Math.max(this.until, context.currentTime + 0.03);
    source.start(this.until);
    this.until += buffer.duration;
    this.playing.add(source);
  }

  silence(): void {
    for (const source of this.playing) source.stop();
    this.playing.clear();
    this.until = 0;
  }

  close(): void {
    this.silence();
    void this.context?.close();
    this.context = undefined;
  }
}
