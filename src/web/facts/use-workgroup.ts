import { useCallback, useEffect, useState } from 'preact/hooks';
import type { WorkgroupAnswer } from './answers.ts';
import { askService, type Failure, RequestError } from './ask-service.ts';

const RETRY_MS = 5_000;

/** What the service knows of a workgroup. It is asked again until there is an answer. */
export function useWorkgroup(token: string, path: string, onSignedOut: (reason?: string) => void) {
  const [loaded, setLoaded] = useState<{ path: string; known?: WorkgroupAnswer; failure?: Failure }>({
    path,
  });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const unmounted = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    askService<WorkgroupAnswer>(path, { token, signal: unmounted.signal })
      .then((answered) => setLoaded({ path, known: answered!.answer }))
      .catch((error) => {
        if (unmounted.signal.aborted) return;
        const failure: Failure =
          error instanceof RequestError ? error.failure : { kind: 'refused', message: String(error) };
        if (failure.kind === 'signed-out') return onSignedOut(failure.message);
        setLoaded({ path, failure });
        if (failure.kind === 'unreachable' || failure.kind === 'busy')
          timer = setTimeout(() => setAttempt((count) => count + 1), RETRY_MS);
      });
    return () => {
      unmounted.abort();
      clearTimeout(timer);
    };
  }, [token, path, attempt, onSignedOut]);
  const retry = useCallback(() => setAttempt((count) => count + 1), []);
  return loaded.path === path ? { ...loaded, retry } : { retry, known: undefined, failure: undefined };
}
