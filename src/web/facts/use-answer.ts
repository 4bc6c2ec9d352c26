// docs/decisions.md says why this is no library: "Our own hook for answers on the web page".
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { minuteMs } from '../words/time-units.ts';
import { askService, type Failure, RequestError } from './ask-service.ts';
import { PageWorkContext } from './page-work.ts';

export interface Answered<Answer> {
  /** The last answer to this question. It stays while a newer one cannot be had. */
  answer: Answer | undefined;
  /** Why the last attempt failed; undefined after a success. */
  failure: Failure | undefined;
  isLoading: boolean;
  /** Asks again at once. */
  refresh(): void;
}

/** How often an answer is asked for again. */
export const LIVE_MS = 5_000;
/** For answers that are large, or that change rarely. */
export const SLOW_MS = 15_000;
/** For names, settings and sums, for which a delay does not matter. */
export const RARE_MS = minuteMs;
/** After failures the first wait is `LIVE_MS`. It doubles, up to this. */
const WAIT_MS_MAX = minuteMs;
const KEPT_MAX = 60;

/**
 * The answer to a GET of a path below the workgroup. It is asked again and again while the page is visible;
 * if nothing has changed, the service answers with 304 and nothing is drawn.
 * @param path undefined: nothing is asked
 */
export function useAnswer<Answer>(
  path: string | false | undefined,
  everyMs: number | 'once' = LIVE_MS,
): Answered<Answer> {
  const { token, root, keptAnswers, onSignedOut } = useContext(PageWorkContext);
  const key = path ? root + path : undefined;
  const [, redraw] = useState(0);
  const failed = useRef<{ key: string; failure: Failure } | undefined>(undefined);
  const again = useRef<() => void>(() => undefined);

  useEffect(() => {
    if (key === undefined) return;
    const unmounted = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    const waitMs = everyMs === 'once' ? LIVE_MS : everyMs;
    const refresh = async () => {
      clearTimeout(timer);
      if (document.hidden && (keptAnswers.has(key) || failures > 0)) return;
      try {
        const answered = await askService<Answer>(key, {
          token,
          etag: keptAnswers.get(key)?.etag,
          signal: unmounted.signal,
        });
        const wasFailed = failed.current !== undefined;
        failed.current = undefined;
        failures = 0;
        if (answered) {
          keptAnswers.delete(key);
          keptAnswers.set(key, answered);
          if (keptAnswers.size > KEPT_MAX) keptAnswers.delete(keptAnswers.keys().next().value!);
        }
        if (answered || wasFailed) redraw((count) => count + 1);
      } catch (error) {
        if (unmounted.signal.aborted) return;
        const failure = failureOf(error);
        if (failure.kind === 'signed-out') return onSignedOut(failure.message);
        failures += 1;
        failed.current = { key, failure };
        redraw((count) => count + 1);
        if (failure.kind !== 'busy' && failure.kind !== 'unreachable') return;
      }
      if (unmounted.signal.aborted || (everyMs === 'once' && failures === 0)) return;
      timer = setTimeout(refresh, failures === 0 ? waitMs : waitAfterFailures(failures));
    };
    const onVisible = () => {
      if (!document.hidden && (everyMs !== 'once' || failures > 0)) void refresh();
      else clearTimeout(timer);
    };
    again.current = () => void refresh();
    document.addEventListener('visibilitychange', onVisible);
    void refresh();
    return () => {
      unmounted.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [key, everyMs]);

  const kept = key === undefined ? undefined : keptAnswers.get(key);
  const failure = failed.current?.key === key ? failed.current?.failure : undefined;
  return {
    answer: kept?.answer as Answer | undefined,
    failure,
    isLoading: key !== undefined && !kept && !failure,
    refresh: () => again.current(),
  };
}

function failureOf(error: unknown): Failure {
  return error instanceof RequestError ? error.failure : { kind: 'refused', message: String(error) };
}

function waitAfterFailures(failures: number): number {
  return Math.min(LIVE_MS * 2 ** Math.min(failures - 1, 4), WAIT_MS_MAX);
}
