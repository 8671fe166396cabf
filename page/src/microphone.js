// Runs beside the sound of the browser: hands on what the microphone hears, in pieces of 40 ms.

class Microphone extends AudioWorkletProcessor {
  constructor() {
    super();
    this.piece = new Int16Array(Math.round(sampleRate * 0.04));
    this.filled = 0;
  }

  process(inputs) {
    const channel = inputs[0]?.[0];
    for (const sample of channel ?? []) {
      this.piece[this.filled] = Math.max(-1, Math.min(1, sample)) * 0x7fff;
      this.filled += 1;
      if (this.filled === this.piece.length) {
        this.port.postMessage(this.piece.slice());
        this.filled = 0;
      }
    }
    return true;
  }
}

registerProcessor("microphone", Microphone);
