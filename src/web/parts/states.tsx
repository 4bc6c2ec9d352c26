import type { ComponentChildren } from 'preact';
import type { Failure } from '../facts/ask-service.ts';
import type { Answered } from '../facts/use-answer.ts';

/** Takes the place of a part that is being loaded, so that the rest of the page does not move. */
export function Loading({ height = 120, what }: { height?: number; what: string }) {
  return (
    <div class="loading" style={{ minHeight: `${height}px` }} role="status">
      <span class="visually-hidden">Reading {what} …</span>
    </div>
  );
}

/** There is nothing to show, and why. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div class="muted">{children}</div>}
    </div>
  );
}

const titles: Readonly<Record<Failure['kind'], string>> = {
  'signed-out': 'You are signed out',
  forbidden: 'Your token does not show this',
  'not-found': 'There is nothing here',
  refused: 'This cannot be shown',
  busy: 'The service is busy',
  unreachable: 'The service cannot be reached',
};

export function Failed({ failure, onRetry }: { failure: Failure; onRetry?: () => void }) {
  return (
    <div class="empty failed" role="alert">
      <p class="empty-title">{titles[failure.kind]}</p>
      <div class="muted">{failure.message}</div>
      {onRetry && (
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Shows an answer, or why there is none. An old answer stays while the service cannot give a newer one. */
export function Shown<Answer>(props: {
  of: Answered<Answer>;
  what: string;
  height?: number;
  children: (answer: Answer) => ComponentChildren;
}) {
  const { of, what, height, children } = props;
  const { answer, failure, refresh } = of;
  if (answer !== undefined)
    return (
      <>
        {failure && (
          <p class="stale" role="status">
            What you see may be old. {failure.message}
          </p>
        )}
        {children(answer)}
      </>
    );
  if (failure) return <Failed failure={failure} onRetry={refresh} />;
  return <Loading what={what} {...(height !== undefined && { height })} />;
}
