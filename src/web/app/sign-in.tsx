import { useState } from 'preact/hooks';
import { Logo } from './logo.tsx';
import { readToken, type TokenSession } from './session.ts';

/** Asks for a token. @param reason why the person has to sign in again */
export function SignIn({
  reason,
  onSession,
}: {
  reason: string | undefined;
  onSession(session: TokenSession): void;
}) {
  const [problem, setProblem] = useState<string | undefined>();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget as HTMLFormElement).get('token') ?? '');
    const read = readToken(text);
    if (read.kind === 'session') onSession(read.session);
    else setProblem(read.reason);
  };
  const message = problem ?? reason;
  return (
    <main class="sign-in">
      <Logo />
      <h1>Sign in</h1>
      {message && (
        <p class="notice" role="alert" id="problem">
          {message}
        </p>
      )}
      <form onSubmit={submit}>
        <label class="field" for="token">
          <span class="field-name">API token</span>
        </label>
        <textarea
          id="token"
          name="token"
          rows={5}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          aria-describedby={message ? 'problem token-help' : 'token-help'}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
        />
        <p class="muted" id="token-help">
          It stays in this tab and is deleted when the tab is closed. Make one with{' '}
          <code>wattline token create</code>.
        </p>
        <button type="submit" class="button primary">
          Sign in
        </button>
      </form>
      <p class="muted">
        For programs: <a href="docs">the API and its description</a>.
      </p>
    </main>
  );
}
