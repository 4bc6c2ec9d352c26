import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { DayDetails, DeviceList, Explained } from '../facts/answers.ts';
import type { DeviceRow } from '../facts/device-rows.ts';
import { seriesColumns } from '../facts/energy-columns.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { splitSeries } from '../facts/series.ts';
import { RARE_MS, SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { DeviceStateText, LastData } from '../parts/device-state-text.tsx';
import { LimitTable } from '../parts/limit-table.tsx';
import { Loading } from '../parts/states.tsx';
import { DayTime } from '../parts/time-text.tsx';
import { BarFigure } from '../pictures/bar-figure.tsx';
import { identifierWords } from '../words/identifier-words.ts';
import { shiftDay } from '../words/local-days.ts';
import { longDay } from '../words/time-words.ts';
import { energySentence } from './energy-sentence.tsx';

const DAYS = 30;

/** One device: its state, what it is part of, its last thirty days by source, and its limits. */
export function DeviceCard({ row, closeHref }: { row: DeviceRow; closeHref: string }) {
  const { workgroup, today } = useContext(PageWorkContext);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const { id, name, status } = row;
  const period = { from: shiftDay(today, 1 - DAYS), to: today };
  const details = useAnswer<DayDetails>(
    `daily-energy/details?startDate=${period.from}&endDate=${period.to}&groupBy=source&devices=${id}`,
    SLOW_MS,
  );
  const list = useAnswer<DeviceList>('devices', RARE_MS);
  const listed = list.answer?.devices.find((one) => one.id === id);
  const lastDay = Object.keys(details.answer ?? {})
    .sort()
    .findLast((day) => day < today && Object.keys(details.answer![day]!).length > 0);
  const columns =
    details.answer &&
    seriesColumns(
      details.answer,
      () => true,
      (key) => splitSeries(key).source ?? 'default',
      {
        period,
        grain: 'day',
        today,
        hrefOf: (day) => linkTo(workgroup.id, 'why', { device: id, day }),
      },
    );
  return (
    <section class="card device-card" aria-labelledby="device">
      <div class="card-head">
        <h2 id="device" ref={heading} tabIndex={-1}>
          {name}
        </h2>
        <a class="chip" href={closeHref}>
          Close
        </a>
      </div>
      <dl class="facts">
        <Fact name="State">
          <DeviceStateText row={row} />
        </Fact>
        <Fact name="Since">
          <DayTime at={status.since} />
        </Fact>
        <Fact name="Last data">
          <LastData row={row} />
        </Fact>
        <Fact name="Id">
          <code>{id}</code>
        </Fact>
        {listed && listed.sites.length > 0 && <Fact name="Sites">{listed.sites.join(', ')}</Fact>}
        {listed && listed.meters.length > 0 && <Fact name="Meters">{listed.meters.join(', ')}</Fact>}
        {listed && listed.sources.length > 0 && (
          <Fact name="Sources and roles">
            {listed.sources
              .map(({ source, role }) => `${source}: ${identifierWords(role ?? 'no role')}`)
              .join(', ')}
          </Fact>
        )}
      </dl>
      <p class="links">
        <a class="chip" href={linkTo(workgroup.id, 'day', { device: id, day: today })}>
          Its day
        </a>
        <a class="chip" href={linkTo(workgroup.id, 'energy', { show: 'sources', device: id })}>
          Its energy
        </a>
        {lastDay && (
          <a class="chip" href={linkTo(workgroup.id, 'why', { device: id, day: lastDay })}>
            Why the number of {longDay(lastDay)}
          </a>
        )}
      </p>
      {!columns ? (
        <Loading what="the days of the device" height={320} />
      ) : columns.series.length === 0 ? (
        <p class="muted">It has no energy in the last {DAYS} days.</p>
      ) : (
        <BarFigure
          sentence={energySentence({
            show: 'sources',
            period,
            other: undefined,
            grain: 'day',
            columns,
            compared: undefined,
            today,
          })}
          label={`Energy of ${name}, last ${DAYS} days`}
          columns={columns.columns}
          series={columns.series}
          height={180}
          wholeName={`Last ${DAYS} days`}
        />
      )}
      {lastDay && <Limits device={id} day={lastDay} />}
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The limits of each source on the last day with energy. The worker gives them, so they can be missing. */
function Limits({ device, day }: { device: string; day: string }) {
  const explained = useAnswer<Explained>(`daily-energy/explain?device=${device}&day=${day}`, 'once');
  const sources = explained.answer?.sources.filter(({ limits }) => limits !== null) ?? [];
  if (explained.failure && !explained.answer)
    return <p class="muted">Its limits cannot be shown. {explained.failure.message}</p>;
  if (sources.length === 0) return null;
  return (
    <details class="more">
      <summary>Limits by which its readings are judged</summary>
      {sources.map(({ source, limits }) => (
        <div key={source}>
          {sources.length > 1 && <h3>{source}</h3>}
          <LimitTable limits={limits!} />
        </div>
      ))}
    </details>
  );
}
