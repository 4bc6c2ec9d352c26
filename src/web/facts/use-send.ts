import { useContext, useState } from 'preact/hooks';
import { askService, RequestError } from './ask-service.ts';
import { PageWorkContext } from './page-work.ts';

/** Sends what a person has asked for. */
interface Sender {
  isBusy: boolean;
  /** Why the last attempt failed. */
  problem: string | undefined;
  /** @returns undefined if it failed; `problem` has the words */
  send<Answer>(path: string, body?: unknown, method?: 'POST' | 'DELETE'): Promise<Answer | undefined>;
}

export function useSend(): Sender {
  const { token, root, onSignedOut } = useContext(PageWorkContext);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | undefined>();
  const send = async <Answer>(path: string, body: unknown = {}, method: 'POST' | 'DELETE' = 'POST') => {
    setBusy(true);
    setProblem(undefined);
    try {
      const result = await askService<Answer>(root + path, {
        token,
        method,
        ...(method === 'POST' && { body }),
      });
      return result!.answer;
    } catch (error) {
      const failure =
        error instanceof RequestError ? error.failure : { kind: 'refused', message: String(error) };
      if (failure.kind === 'signed-out') onSignedOut(failure.message);
      else setProblem(failure.message);
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, problem, send };
}
