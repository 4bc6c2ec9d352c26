import type { ComponentType } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type PageWork, PageWorkContext } from '../facts/page-work.ts';
import { useWorkgroup } from '../facts/use-workgroup.ts';
import { BudgetsPage } from '../pages/budgets-page.tsx';
import { ConfigurationPage } from '../pages/configuration-page.tsx';
import { DayPage } from '../pages/day-page.tsx';
import { DevicesPage } from '../pages/devices-page.tsx';
import { EnergyPage } from '../pages/energy-page.tsx';
import { ExportsPage } from '../pages/exports-page.tsx';
import { OverviewPage } from '../pages/overview-page.tsx';
import { PipelinePage } from '../pages/pipeline-page.tsx';
import { QualityPage } from '../pages/quality-page.tsx';
import { WhyPage } from '../pages/why-page.tsx';
import { Failed, Loading } from '../parts/states.tsx';
import { today } from '../words/local-days.ts';
import { minuteMs } from '../words/time-units.ts';
import { type Address, linkTo, type PageName } from './address.ts';
import { Logo } from './logo.tsx';
import type { TokenSession } from './session.ts';
import { ThemeButton } from './theme-button.tsx';
import { WorkgroupChoice } from './workgroup-choice.tsx';

/**
 * All pages, in the order of the list. The page "Why" is not in the list: a person reaches it from a number,
 * and "Quality" is then marked as the current page.
 */
const pages: Readonly<
  Record<
    PageName,
    { name: string; title?: string; Page: ComponentType<{ query: Readonly<Record<string, string>> }> }
  >
> = {
  overview: { name: 'Overview', Page: OverviewPage },
  energy: { name: 'Energy', Page: EnergyPage },
  day: { name: 'Day', Page: DayPage },
  quality: { name: 'Quality', Page: QualityPage },
  devices: { name: 'Devices', Page: DevicesPage },
  budgets: { name: 'Budgets', title: 'Budgets and sites', Page: BudgetsPage },
  exports: { name: 'Exports', title: 'Exports and changes', Page: ExportsPage },
  pipeline: { name: 'Pipeline', Page: PipelinePage },
  configuration: { name: 'Configuration', Page: ConfigurationPage },
  why: { name: 'Why this number', Page: WhyPage },
};

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
  // They are gone with the token, because each token has a shell of its own.
  const keptAnswers = useRef<PageWork['keptAnswers']>(new Map());
  const { name, title = name, Page } = pages[address.page];
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
            keptAnswers: keptAnswers.current,
            onSignedOut,
          },
    [session, workgroup, root, known, day, onSignedOut],
  );
  useEffect(() => {
    document.title = `${title} – ${workgroup.id} – Wattline`;
  }, [title, workgroup.id]);
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
          <PageList workgroup={workgroup.id} chosen={address.page} query={address.query} />
          <ThemeButton />
          <button type="button" class="button quiet sign-out" onClick={() => onSignedOut()}>
            Sign out
          </button>
        </div>
      </header>
      <main ref={main} tabIndex={-1} id="main" class={`page page-${address.page}`}>
        {failure ? (
          <>
            <h1 class="visually-hidden">{title}</h1>
            <Failed failure={failure} onRetry={retry} />
          </>
        ) : work ? (
          <PageWorkContext.Provider value={work}>
            <Page key={workgroup.id} query={address.query} />
          </PageWorkContext.Provider>
        ) : (
          <Loading what="the workgroup" height={400} />
        )}
      </main>
      <footer class="foot">
        {zone && (
          <span>
            {address.query.zone === undefined || address.page !== 'day'
              ? `All days and times are those of ${zone}.`
              : `The days of the workgroup are those of ${zone}.`}
          </span>
        )}
        <span>
          {session.subject && <>Signed in as {session.subject}. </>}
          <a href="docs">API</a>
        </span>
      </footer>
    </>
  );
}

/** The pages that show a chosen period. A link from one of them to another keeps the period. */
const periodPages: ReadonlySet<PageName> = new Set(['energy', 'quality', 'budgets']);

/**
 * Links to all pages. On a narrow screen they are in a strip, which is scrolled so that the current page is
 * visible.
 */
function PageList(props: { workgroup: string; chosen: PageName; query: Address['query'] }) {
  const { workgroup, chosen, query } = props;
  const strip = useRef<HTMLElement>(null);
  const listed = chosen === 'why' ? 'quality' : chosen;
  const period = periodPages.has(chosen) ? { from: query.from, to: query.to } : {};
  useLayoutEffect(() => {
    const current = strip.current?.querySelector<HTMLElement>('[aria-current]');
    if (current) strip.current!.scrollLeft = current.offsetLeft - strip.current!.clientWidth / 3;
  }, [chosen]);
  return (
    <nav class="pages" aria-label="Pages" ref={strip}>
      {(Object.keys(pages) as PageName[])
        .filter((page) => page !== 'why')
        .map((page) => (
          <a
            key={page}
            href={linkTo(workgroup, page, periodPages.has(page) && page !== chosen ? period : {})}
            aria-current={page === listed ? (page === chosen ? 'page' : 'true') : undefined}
          >
            {pages[page].name}
          </a>
        ))}
    </nav>
  );
}

/** The current day. It changes at midnight also on a page that stays open. */
function useToday(zone: string | undefined): string | undefined {
  const [, redraw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => redraw((count) => count + 1), minuteMs);
    return () => clearInterval(timer);
  }, []);
  return zone === undefined ? undefined : today(zone);
}
