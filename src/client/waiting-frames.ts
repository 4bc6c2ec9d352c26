import { countTogether } from './socket-answer.ts';
import type { SocketPayload } from './socket-payload.ts';

/** A frame of a subscription. It is acknowledged after its messages have landed. */
export interface WaitingFrame extends SocketPayload {
  acknowledge(): void;
}

/** The frames of a connection that have arrived, until they are taken. */
export interface WaitingFrames {
  count(): number;
  /** False if the frame is too much: the server sends faster than frames are taken. */
  hasRoomFor(frame: SocketPayload): boolean;
  add(frame: WaitingFrame): void;
  /** Takes the first frames that can form one answer. */
  takeTogether(): WaitingFrame[];
}

/** A limit for very small frames. */
const FRAMES_WAITING_MAX = 50_000;

/** @param bytesMax the largest size of all frames that wait */
export function createWaitingFrames(bytesMax: number): WaitingFrames {
  const frames: WaitingFrame[] = [];
  let waitingBytes = 0;
  return {
    count: () => frames.length,
    hasRoomFor: ({ bytes }) => waitingBytes + bytes.length <= bytesMax && frames.length < FRAMES_WAITING_MAX,
    add(frame) {
      waitingBytes += frame.bytes.length;
      frames.push(frame);
    },
    takeTogether() {
      const taken = frames.splice(0, countTogether(frames));
      for (const { bytes } of taken) waitingBytes -= bytes.length;
      return taken;
    },
  };
}
