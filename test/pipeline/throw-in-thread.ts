// Loaded into every thread of a process. On request, each thread except the main one throws an error that
// nothing catches.
import { BroadcastChannel, isMainThread } from 'node:worker_threads';

if (!isMainThread) {
  const channel = new BroadcastChannel('throw-in-thread');
  channel.onmessage = () => {
    throw new Error('a bug that nobody caught');
  };
  channel.unref();
}
