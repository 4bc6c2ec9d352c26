import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { WorkgroupAnswer } from '../facts/answers.ts';
import { askService, type Failure, RequestError } from '../facts/ask-service.ts';
import { type PageWork, PageWorkContext } from '../facts/page-work.ts';
import { DayPage } from '../pages/day-page.tsx';
import { EnergyPage } from '../pages/energy-page.tsx';
import { OverviewPage } from '../pages/overview-page.tsx';
import { QualityPage } from '../pages/quality-page.tsx';
import { WhyPage } from '../pages/why-page.tsx';
import { Failed, Loading } from '../parts/states.tsx';
import { today } from '../words/local-days.ts';
import { type Address, linkTo, type PageName } from './address.ts';
import { Logo } from './logo.tsx';
import type { TokenSession } from './session.ts';

const listed: ReadonlyArray<{ page: PageName; name: string }> = [
  { page: 'overview', name: 'Overview' },
  { page: 'energy', name: 'Energy' },
  { page: 'day', name: 'Day' },
  { page: 'quality', name: 'Quality' },
];
const titles: Readonly<Record<PageName, string>> = {
  overview: 'Overview',
  energy: 'Energy',
  day: 'Day',
  quality: 'Quality',
  why: 'Why this number',
};
const pages = {
  overview: OverviewPage,
  energy: EnergyPage,
  day: DayPage,
  quality: QualityPage,
  why: WhyPage,
} as const;

/** The frame of all pages: the workgroup, the pages, the zone, and the way out. */
export function Shell(props: {
  session: TokenSession;
  address: Address;
  onSignedOut(reason?: string): void;
}) {
  const { session, address, onSignedOut } = props;
  const workgroup = session.workgroups.find(({ id }) => id === address.workgroup) ?? session.workgroups[0]!;
  const root = `api/v1/orgs/${encodeURIComponent(workgroup.id)}/`;
  const { known, failure, retry } = useWorkgroup(session.token, `${root}workgroup`, onSignedOut);
  const zone = known?.timezone;
  const day = useToday(zone);
  const main = useRef<HTMLElement>(null);
  const Page = pages[address.page];
  const work = useMemo<PageWork | undefined>(
    () =>
      known === undefined || day === undefined
        ? undefined
        : {
            token: session.token,
            subject: session.subject,
            workgroup,
            root,
            zone: known.timezone,
            meters: known.meters,
            sites: known.sites,
            today: day,
            onSignedOut,
          },
    [session, workgroup, root, known, day, onSignedOut],
  );
  useEffect(() => {
    document.title = `${titles[address.page]} – ${workgroup.id} – Wattline`;
  }, [address.page, workgroup.id]);
  useEffect(() => scrollTo(0, 0), [address.page]);
  return (
    <>
      <button type="button" class="button skip" onClick={() => main.current?.focus()}>
        To the content
      </button>
      <header class="top">
        <div class="top-inner">
          <a class="home" href={linkTo(workgroup.id, 'overview')} aria-label="Wattline, overview">
            <Logo />
          </a>
          <WorkgroupChoice session={session} chosen={workgroup.id} page={address.page} />
          <nav class="pages" aria-label="Pages">
            {listed.map(({ page, name }) => (
              <a
                key={page}
                href={linkTo(workgroup.id, page)}
                aria-current={page === address.page ? 'page' : undefined}
              >
                {name}
              </a>
            ))}
          </nav>
          <button type="button" class="button quiet sign-out" onClick={() => onSignedOut()}>
            Sign out
          </button>
        </div>
      </header>
      <main ref={main} tabIndex={-1} id="main" class={`page page-${address.page}`}>
        {failure ? (
          <Failed failure={failure} onRetry={retry} />
        ) : work ? (
          <PageWorkContext.Provider value={work}>
            <Page key={workgroup.id} query={address.query} />
          </PageWorkContext.Provider>
        ) : (
          <Loading what="the workgroup" height={400} />
        )}
      </main>
      <footer class="foot">
        {zone && <span>All days and times are those of {zone}.</span>}
        <span>
          {session.subject && <>Signed in as {session.subject}. </>}
          <a href="docs">API</a>
        </span>
      </footer>
    </>
  );
}

function WorkgroupChoice({
  session,
  chosen,
  page,
}: {
  session: TokenSession;
  chosen: string;
  page: PageName;
}) {
  if (session.workgroups.length === 1) return <span class="workgroup">{chosen}</span>;
  return (
    <label class="workgroup">
      <span class="visually-hidden">Workgroup</span>
      <select
        value={chosen}
        onChange={(event) => {
          location.hash = linkTo(event.currentTarget.value, page === 'why' ? 'overview' : page);
        }}
      >
        {session.workgroups.map(({ id }) => (
          <option key={id} value={id} selected={id === chosen}>
            {id}
          </option>
        ))}
      </select>
    </label>
  );
}

const RETRY_MS = 5_000;

function useWorkgroup(token: string, path: string, onSignedOut: (reason?: string) => void) {
  const [found, setFound] = useState<{ path: string; known?: WorkgroupAnswer; failure?: Failure }>({ path });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const gone = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    askService<WorkgroupAnswer>(path, { token, signal: gone.signal })
      .then((answered) => setFound({ path, known: answered!.answer }))
      .catch((error) => {
        if (gone.signal.aborted) return;
        const failure: Failure =
          error instanceof RequestError ? error.failure : { kind: 'refused', message: String(error) };
        if (failure.kind === 'signed-out') return onSignedOut(failure.message);
        setFound({ path, failure });
        if (failure.kind === 'unreachable' || failure.kind === 'busy')
          timer = setTimeout(() => setAttempt((count) => count + 1), RETRY_MS);
      });
    return () => {
      gone.abort();
      clearTimeout(timer);
    };
  }, [token, path, attempt, onSignedOut]);
  const retry = useCallback(() => setAttempt((count) => count + 1), []);
  return found.path === path ? { ...found, retry } : { retry, known: undefined, failure: undefined };
}

const MINUTE_MS = 60_000;

/** The current day. It changes at midnight also on a page that stays open. */
function useToday(zone: string | undefined): string | undefined {
  const [, redraw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => redraw((count) => count + 1), MINUTE_MS);
    return () => clearInterval(timer);
  }, []);
  return zone === undefined ? undefined : today(zone);
}
