import { useContext, useEffect } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { DailyEnergy, DayDetails, DayOfSeries, DeviceStatuses, Explained } from '../facts/answers.ts';
import type { Failure } from '../facts/ask-service.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { deviceName, seriesOf, splitSeries } from '../facts/series.ts';
import { RARE_MS, SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { Choice, Select } from '../parts/choice.tsx';
import { DayStepper } from '../parts/day-stepper.tsx';
import { Empty, Failed, Loading, Shown } from '../parts/states.tsx';
import { worstRank } from '../words/flag-words.ts';
import { isDay, shiftDay } from '../words/local-days.ts';
import { formatEnergy } from '../words/number-words.ts';
import { longDay } from '../words/time-words.ts';
import { WhySource } from './why-source.tsx';

/** Why the energy of a device on a day is what it is, and how to correct it. */
export function WhyPage({ query }: { query: Readonly<Record<string, string>> }) {
  const { workgroup, today } = useContext(PageWorkContext);
  const statuses = useAnswer<DeviceStatuses>('device-status', SLOW_MS);
  // Devices from imports have no status. So devices that have energy are listed too.
  const energy = useAnswer<DailyEnergy>(
    `daily-energy?startDate=${shiftDay(today, -6)}&endDate=${today}`,
    RARE_MS,
  );
  const known = [...Object.keys(statuses.answer ?? {}), ...seriesOf(energy.answer ?? {})];
  const ids = [...new Set([...known, ...(query.device ? [query.device] : [])])].sort((a, b) =>
    deviceName(a, statuses.answer).localeCompare(deviceName(b, statuses.answer), undefined, {
      numeric: true,
    }),
  );
  const isListed = statuses.answer !== undefined && energy.answer !== undefined;
  const device = query.device ?? (isListed ? ids[0] : undefined);
  const day = isDay(query.day) ? query.day : today;
  const deviceParameter = device && encodeURIComponent(device);
  const details = useAnswer<DayDetails>(
    deviceParameter &&
      `daily-energy/details?startDate=${day}&endDate=${day}&groupBy=source&devices=${deviceParameter}`,
    SLOW_MS,
  );
  const sources = sourcesOf(details.answer?.[day]);
  // One source at a time, because a device can have many.
  const source = query.source ?? sources[0]?.source;
  const isDecided = details.answer !== undefined || details.failure !== undefined;
  // The worker has to compute an explanation, which takes time. So it is asked for again only if the
  // published day has changed.
  const explained = useAnswer<Explained>(
    deviceParameter &&
      isDecided &&
      `daily-energy/explain?device=${deviceParameter}&day=${day}${source === undefined ? '' : `&source=${encodeURIComponent(source)}`}`,
    'once',
  );
  const published = JSON.stringify(
    Object.values(details.answer?.[day] ?? {}).map(({ computedAt }) => computedAt),
  );
  useEffect(() => {
    if (explained.answer !== undefined) explained.refresh();
  }, [published]);
  const link = (change: Readonly<Record<string, string | undefined>>) =>
    linkTo(workgroup.id, 'why', { device, ...query, day, ...change });
  if (isListed && ids.length === 0)
    return (
      <>
        <div class="page-head">
          <h1>Why this number</h1>
        </div>
        <Empty title="No devices">Nothing has been measured yet.</Empty>
      </>
    );
  return (
    <>
      <div class="page-head">
        <h1>Why this number</h1>
        <DayStepper day={day} today={today} linkTo={(next) => link({ day: next })} />
      </div>
      <WhyControls
        ids={ids}
        statuses={statuses.answer}
        device={device}
        sources={sources}
        source={source}
        linkTo={link}
      />
      {explained.failure?.kind === 'not-found' && !explained.answer ? (
        <NotFound device={device!} day={day} failure={explained.failure} />
      ) : device === undefined ? (
        statuses.failure ? (
          <Failed failure={statuses.failure} onRetry={statuses.refresh} />
        ) : (
          <Loading what="devices" height={500} />
        )
      ) : (
        <Shown of={explained} what="the explanation" height={560}>
          {(answer) => <Why explained={answer} refresh={explained.refresh} />}
        </Shown>
      )}
    </>
  );
}

/** The choices of a device and of one of its sources. */
function WhyControls(props: {
  ids: readonly string[];
  statuses: DeviceStatuses | undefined;
  device: string | undefined;
  sources: ReturnType<typeof sourcesOf>;
  source: string | undefined;
  /** The address of this page with another choice. */
  linkTo(change: Readonly<Record<string, string | undefined>>): string;
}) {
  const { ids, statuses, device, sources, source, linkTo } = props;
  return (
    <>
      <div class="controls">
        <Select
          label="Device"
          options={ids.map((id) => ({ key: id, name: deviceName(id, statuses) }))}
          chosen={device ?? ''}
          onChoose={(key) => {
            location.hash = linkTo({ device: key, source: undefined });
          }}
        />
        {sources.length > CHOICES_MAX && (
          <Select
            label="Source"
            options={sources.map(({ source: key, value }) => ({ key, name: nameOf(key, value) }))}
            chosen={source ?? ''}
            onChoose={(key) => {
              location.hash = linkTo({ source: key });
            }}
          />
        )}
      </div>
      {sources.length > 1 && sources.length <= CHOICES_MAX && (
        <Choice
          label="Source"
          chosen={source ?? ''}
          options={sources.map(({ source: key, value }) => ({
            key,
            name: nameOf(key, value),
            href: linkTo({ source: key }),
          }))}
        />
      )}
    </>
  );
}

function NotFound({ device, day, failure }: { device: string; day: string; failure: Failure }) {
  const { workgroup } = useContext(PageWorkContext);
  const { before = null, after = null } = failure.nearestDays ?? {};
  const near = [before, after].filter((one) => one !== null);
  return (
    <Empty title={`No energy on ${longDay(day)}`}>
      <p>{failure.message}</p>
      <p class="links">
        {near.map((nearDay) => (
          <a key={nearDay} class="chip" href={linkTo(workgroup.id, 'why', { device, day: nearDay })}>
            {longDay(nearDay)}
          </a>
        ))}
      </p>
    </Empty>
  );
}

/** More sources than this are a list that opens. */
const CHOICES_MAX = 6;

function nameOf(source: string, { energyWh, flags }: DayOfSeries): string {
  const sign = ['bad', 'doubtful'].includes(worstRank(flags) ?? '') ? ' △' : '';
  return `${source} ${energyWh === null ? '–' : formatEnergy(energyWh)}${sign}`;
}

/** The sources of a device that have energy on a day, those with the worst flags first. */
function sourcesOf(values: DayDetails[string] | undefined) {
  const order = ['bad', 'doubtful', 'noted', undefined];
  return Object.entries(values ?? {})
    .map(([key, value]) => ({ source: splitSeries(key).source ?? 'default', value }))
    .sort(
      (a, b) =>
        order.indexOf(worstRank(a.value.flags)) - order.indexOf(worstRank(b.value.flags)) ||
        a.source.localeCompare(b.source, undefined, { numeric: true }),
    );
}

function Why({ explained, refresh }: { explained: Explained; refresh(): void }) {
  const [shown] = explained.sources;
  return (
    <>
      {explained.takenIn.batchesWaiting > 0 && (
        <p class="stale" role="status">
          New readings have landed and are not part of this number yet.
        </p>
      )}
      {shown && (
        <WhySource
          key={`${shown.source} ${explained.day}`}
          explained={explained}
          source={shown}
          refresh={refresh}
        />
      )}
    </>
  );
}
