// Loaded into every thread of a process: makes those that are not the main one throw, uncaught, when they are
// told to.
import { BroadcastChannel, isMainThread } from 'node:worker_threads';

if (!isMainThread) {
  const channel = new BroadcastChannel('throw-in-thread');
  channel.onmessage = () => {
    throw new Error('a bug that nobody caught');
  };
  channel.unref();
}
