import { useContext, useState } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type {
  DailyEnergy,
  DayDetails,
  DayOfSeries,
  DeviceStatuses,
  Explained,
  ExplainedSource,
} from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { deviceName, seriesOf, splitSeries } from '../facts/series.ts';
import { useAnswer } from '../facts/use-answer.ts';
import { Choice, Select } from '../parts/choice.tsx';
import { DayStepper } from '../parts/day-stepper.tsx';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { FlagList, StatusWord } from '../parts/flag-list.tsx';
import { Empty, Failed, Loading, Shown } from '../parts/states.tsx';
import { WhyPicture } from '../pictures/why-picture.tsx';
import { flagText, sortFlags, worstRank } from '../words/flag-words.ts';
import { isDay, shiftDay } from '../words/local-days.ts';
import { exactEnergy, formatEnergy, formatShare } from '../words/number-words.ts';
import { dayAndTime, longDay } from '../words/time-words.ts';
import { CorrectionPanel } from './correction-panel.tsx';
import { ReadingTable, StreamTable, SumTable, VersionTable } from './why-tables.tsx';

/** Why the energy of a device on a day is what it is, and how to correct it. */
export function WhyPage({ query }: { query: Readonly<Record<string, string>> }) {
  const { workgroup, today } = useContext(PageWorkContext);
  const statuses = useAnswer<DeviceStatuses>('device-status', 15_000);
  // Devices of imports have no status, so the devices with energy are listed too.
  const energy = useAnswer<DailyEnergy>(
    `daily-energy?startDate=${shiftDay(today, -6)}&endDate=${today}`,
    60_000,
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
  const one = device && encodeURIComponent(device);
  const details = useAnswer<DayDetails>(
    one && `daily-energy/details?startDate=${day}&endDate=${day}&groupBy=source&devices=${one}`,
    15_000,
  );
  const sources = sourcesOf(details.answer?.[day]);
  // One source at a time, because a device can have many.
  const source = query.source ?? sources[0]?.source;
  const isDecided = details.answer !== undefined || details.failure !== undefined;
  const explained = useAnswer<Explained>(
    one &&
      isDecided &&
      `daily-energy/explain?device=${one}&day=${day}${source === undefined ? '' : `&source=${encodeURIComponent(source)}`}`,
    15_000,
  );
  const link = (change: Readonly<Record<string, string | undefined>>) =>
    linkTo(workgroup.id, 'why', { device, ...query, day, ...change });
  if (isListed && ids.length === 0) return <Empty title="No devices">Nothing has been measured yet.</Empty>;
  return (
    <>
      <div class="page-head">
        <h1>Why this number</h1>
        <DayStepper day={day} today={today} linkTo={(next) => link({ day: next })} />
      </div>
      <div class="controls">
        <Select
          label="Device"
          options={ids.map((id) => ({ key: id, name: deviceName(id, statuses.answer) }))}
          chosen={device ?? ''}
          onChoose={(key) => {
            location.hash = link({ device: key, source: undefined });
          }}
        />
        {sources.length > CHOICES_MAX && (
          <Select
            label="Source"
            options={sources.map(({ source: key, value }) => ({ key, name: nameOf(key, value) }))}
            chosen={source ?? ''}
            onChoose={(key) => {
              location.hash = link({ source: key });
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
            href: link({ source: key }),
          }))}
        />
      )}
      {explained.failure?.kind === 'not-found' && !explained.answer ? (
        <NotFound device={device!} day={day} message={explained.failure.message} />
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

function NotFound({ device, day, message }: { device: string; day: string; message: string }) {
  const { workgroup } = useContext(PageWorkContext);
  // The message names the nearest days with energy.
  const near = [...new Set(message.match(/\d{4}-\d\d-\d\d/g) ?? [])].filter((one) => one !== day);
  return (
    <Empty title={`No energy on ${longDay(day)}`}>
      <p>{message}</p>
      <p class="links">
        {near.map((one) => (
          <a key={one} class="chip" href={linkTo(workgroup.id, 'why', { device, day: one })}>
            {longDay(one)}
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

function WhySource(props: { explained: Explained; source: ExplainedSource; refresh(): void }) {
  const { explained, source, refresh } = props;
  const { zone } = useContext(PageWorkContext);
  const [picked, setPicked] = useState<{ from: string; to: string } | undefined>();
  const { result, flags, coverage, sum } = source;
  return (
    <>
      <section class="card" aria-labelledby="result">
        <h2 id="result" class="visually-hidden">
          {source.source}
        </h2>
        <dl class="facts">
          <div class="fact-main">
            <dt>{source.source === 'default' ? (explained.name ?? 'Energy') : source.source}</dt>
            <dd>
              {result ? (
                <span class="big">
                  <EnergyAmount wh={result.energyWh} />
                </span>
              ) : (
                'no energy'
              )}
            </dd>
            {result && <dd class="muted">{exactEnergy(result.energyWh)}</dd>}
          </div>
          {result && (
            <>
              <div>
                <dt>Status</dt>
                <dd>
                  <StatusWord status={result.status} />, version {result.version}
                </dd>
                <dd class="muted">computed {dayAndTime(result.computedAt, zone)}</dd>
              </div>
              <div>
                <dt>Read from</dt>
                <dd>
                  {result.table}.{result.field}
                </dd>
                <dd class="muted">{result.method.replaceAll('_', ' ')}</dd>
              </div>
              <div>
                <dt>Measured</dt>
                <dd>{formatShare(result.coverage)} of the day</dd>
                <dd class="muted">{coverage.text}</dd>
              </div>
              <div>
                <dt>Flags</dt>
                <dd>
                  <FlagList flags={result.flags} />
                </dd>
              </div>
            </>
          )}
        </dl>
        {flags.length > 0 && (
          <ul class="plain flag-reasons">
            {sortFlags(flags.map(({ flag }) => flag)).map((name) => {
              const flag = flags.find((one) => one.flag === name)!;
              return (
                <li key={name} title={flagText(name)}>
                  <strong>{name.replace('_', ' ')}</strong>: {flag.reason || flag.meaning}
                </li>
              );
            })}
          </ul>
        )}
      </section>
      <section class="card" aria-labelledby="readings">
        <h2 id="readings">Readings and what became of them</h2>
        <WhyPicture explained={explained} source={source} onPick={setPicked} />
        {source.events.length > 0 && (
          <>
            <h3>What happened</h3>
            <ul class="plain events">
              {source.events.map((event, index) => (
                <li key={index}>
                  <strong>{event.kind.replace('_', ' ')}</strong>: {event.text}
                </li>
              ))}
            </ul>
          </>
        )}
      </section>
      <section class="card" aria-labelledby="sum">
        <h2 id="sum">The sum, written out</h2>
        <p class="formula">{sum.text}</p>
        {!sum.agrees && (
          <p class="stale">This sum does not equal the stored energy. Newer readings are being computed.</p>
        )}
        <SumTable source={source} />
      </section>
      <CorrectionPanel explained={explained} source={source} picked={picked} onDone={refresh} />
      <details class="more">
        <summary>All readings ({source.readings.length})</summary>
        <ReadingTable explained={explained} source={source} onPick={setPicked} />
      </details>
      {explained.told && explained.told.sources.length > 1 && (
        <details class="more">
          <summary>What the device is: {explained.told.text}</summary>
          <ul class="plain">
            {explained.told.sources.map(({ source: name, role, counts, energyWh, reason }) => (
              <li key={`${name} ${role}`}>
                <strong>{name}</strong> <EnergyAmount wh={energyWh} /> –{' '}
                {counts ? 'counts' : 'does not count'}: {reason}
              </li>
            ))}
          </ul>
        </details>
      )}
      <details class="more">
        <summary>Fields that could measure it, and why this one ({source.streams.length})</summary>
        <StreamTable source={source} />
      </details>
      <details class="more" open={source.versions.length > 1}>
        <summary>Versions ({source.versions.length})</summary>
        <VersionTable source={source} />
      </details>
    </>
  );
}
