import { useCallback, useState } from 'preact/hooks';
import { takeLinkedToken, useAddress } from './address.ts';
import { readToken, storedToken, type TokenSession } from './session.ts';
import { Shell } from './shell.tsx';
import { SignIn } from './sign-in.tsx';

interface Entry {
  session: TokenSession | undefined;
  /** Why nobody is signed in. */
  reason: string | undefined;
}

/** The sign-in, or the pages. */
export function App() {
  const address = useAddress();
  const [entry, setEntry] = useState<Entry>(enter);
  const onSession = useCallback((session: TokenSession) => {
    storedToken.write(session.token);
    setEntry({ session, reason: undefined });
  }, []);
  const onSignedOut = useCallback((reason: string | undefined) => {
    storedToken.clear();
    setEntry({ session: undefined, reason });
  }, []);
  // A link with a token also works in a tab that is already open.
  const linked = takeLinkedToken();
  if (linked !== undefined) queueMicrotask(() => setEntry(enterWith(linked)));
  if (!entry.session) return <SignIn reason={entry.reason} onSession={onSession} />;
  return (
    <Shell key={entry.session.token} session={entry.session} address={address} onSignedOut={onSignedOut} />
  );
}

function enter(): Entry {
  const token = takeLinkedToken() ?? storedToken.read();
  return token === undefined ? { session: undefined, reason: undefined } : enterWith(token);
}

function enterWith(token: string): Entry {
  const read = readToken(token);
  if (read.kind === 'refused') {
    storedToken.clear();
    return { session: undefined, reason: read.reason };
  }
  storedToken.write(read.session.token);
  return { session: read.session, reason: undefined };
}
