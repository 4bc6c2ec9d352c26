import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { DayDetails, DeviceStatuses } from '../facts/answers.ts';
import {
  countKinds,
  type DeviceFilter,
  type DeviceRow,
  deviceRows,
  energyOfDays,
} from '../facts/device-rows.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { Choice } from '../parts/choice.tsx';
import { DataTable, usePageRows } from '../parts/data-table.tsx';
import { DeviceStateText, LastData } from '../parts/device-state-text.tsx';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { PageLinks, pageOf } from '../parts/page-links.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { DaySpark } from '../pictures/spark.tsx';
import { listDays, shiftDay } from '../words/local-days.ts';
import { countText, plural } from '../words/number-words.ts';
import { timeAgo } from '../words/time-words.ts';
import { DeviceCard } from './device-card.tsx';

const DAYS = 30;
const filters: readonly DeviceFilter[] = ['all', 'offline', 'silent', 'online', 'heard', 'asleep', 'unknown'];
const filterNames: Readonly<Record<DeviceFilter, string>> = {
  all: 'All',
  offline: 'Offline',
  silent: 'Silent for a day',
  online: 'Online',
  heard: 'Sending data',
  asleep: 'Asleep',
  unknown: 'Never sent data',
};

/** Which devices are online, since when and why, and their last thirty days. */
export function DevicesPage({ query }: { query: Readonly<Record<string, string>> }) {
  const { workgroup } = useContext(PageWorkContext);
  const statuses = useAnswer<DeviceStatuses>('device-status');
  const link = (change: Readonly<Record<string, string | undefined>>) =>
    linkTo(workgroup.id, 'devices', { ...query, ...change });
  return (
    <>
      <div class="page-head">
        <h1>Devices</h1>
      </div>
      <Shown of={statuses} what="the devices" height={400}>
        {(answer) => {
          const all = deviceRows(answer);
          if (all.length === 0)
            return (
              <Empty title="No devices">
                No device is configured, and none has sent anything. A device appears here with its first
                message.
              </Empty>
            );
          const counts = countKinds(all);
          const filter = filters.find((one) => one === query.state) ?? 'all';
          const chosen = all.filter(
            ({ kind, name, id }) =>
              (filter === 'all' || kind === filter) &&
              `${name} ${id}`.toLowerCase().includes((query.find ?? '').toLowerCase()),
          );
          const opened = all.find(({ id }) => id === query.device);
          return (
            <>
              <div class="controls">
                <Choice
                  label="State"
                  chosen={filter}
                  options={filters
                    .filter((one) => one === 'all' || counts[one] > 0)
                    .map((option) => ({
                      key: option,
                      name: `${filterNames[option]} ${countText(counts[option])}`,
                      href: link({ state: option === 'all' ? undefined : option, page: undefined }),
                    }))}
                />
                {all.length > 10 && (
                  <SearchField
                    label="Find a device"
                    text={query.find ?? ''}
                    onText={(find) => {
                      location.hash = link({ find: find || undefined, page: undefined });
                    }}
                  />
                )}
              </div>
              {opened && <DeviceCard key={opened.id} row={opened} closeHref={link({ device: undefined })} />}
              <DeviceTable rows={chosen} all={all} query={query} />
            </>
          );
        }}
      </Shown>
    </>
  );
}

function DeviceTable(props: {
  rows: readonly DeviceRow[];
  all: readonly DeviceRow[];
  query: Readonly<Record<string, string>>;
}) {
  const { rows, all, query } = props;
  const { workgroup, today } = useContext(PageWorkContext);
  const { shown, page, pages } = pageOf(rows, query.page, usePageRows());
  const [from, to] = [shiftDay(today, 1 - DAYS), today];
  const days = listDays(from, to);
  const details = useAnswer<DayDetails>(
    shown.length > 0 &&
      `daily-energy/details?startDate=${from}&endDate=${to}&devices=${shown.map(({ id }) => id).join(',')}`,
    SLOW_MS,
  );
  const link = (change: Readonly<Record<string, string | undefined>>) =>
    linkTo(workgroup.id, 'devices', { ...query, ...change });
  const yesterday = shiftDay(today, -1);
  return (
    <section class="card" aria-label="Devices">
      <p class="sentence">{devicesSentence(all)}</p>
      {rows.length === 0 ? (
        <Empty title="No device is found">Choose another state, or another name.</Empty>
      ) : (
        <DataTable
          caption="Devices; those that need a look come first"
          rows={shown}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Device', cell: ({ id, name }) => <a href={link({ device: id })}>{name}</a> },
            { title: 'State', cell: (row) => <DeviceStateText row={row} /> },
            { title: 'Last data', cell: (row) => <LastData row={row} /> },
            {
              title: 'Yesterday',
              isNumber: true,
              cell: ({ id }) => <EnergyAmount wh={details.answer?.[yesterday]?.[id]?.energyWh} />,
            },
            {
              title: `Last ${DAYS} days`,
              cell: ({ id }) =>
                details.answer && <DaysOfDevice values={energyOfDays(details.answer, id, days)} />,
            },
          ]}
          file={{
            name: `${workgroup.id}-devices.csv`,
            heading: ['id', 'name', 'state', 'since', 'reason', 'last_data'],
            row: ({ id, name, status }) => [
              id,
              name,
              status.state,
              status.since,
              status.reason,
              status.lastSeen,
            ],
          }}
        />
      )}
      {details.failure && <p class="stale">Their energy cannot be shown. {details.failure.message}</p>}
      <PageLinks
        label="Pages of devices"
        pages={pages}
        page={page}
        hrefOf={(one) => link({ page: String(one) })}
      />
    </section>
  );
}

function DaysOfDevice({ values }: { values: ReadonlyArray<number | null | undefined> }) {
  const expected = values.filter((wh) => wh !== undefined);
  const missing = expected.filter((wh) => wh === null).length;
  return (
    <span class="days-of-device">
      <DaySpark values={values} />
      {expected.length === 0 || missing > 0 ? (
        <span class="muted days-words">
          {expected.length === 0 ? 'no energy' : `${plural(missing, 'day')} without data`}
        </span>
      ) : (
        <span class="visually-hidden">{plural(expected.length, 'day')}, none without data</span>
      )}
    </span>
  );
}

function devicesSentence(rows: readonly DeviceRow[]): string {
  const counts = countKinds(rows);
  const lastSeenTimes = rows.map(({ status }) => status.lastSeen).filter((at) => at !== null);
  const newest = lastSeenTimes.sort().at(-1);
  return [
    (counts.online > 0 || counts.heard === 0) &&
      `${countText(counts.online)} of ${plural(rows.length, 'device')} ${counts.online === 1 || rows.length === 1 ? 'is' : 'are'} online.`,
    counts.heard > 0 &&
      `${countText(counts.heard)} of ${plural(rows.length, 'device')} ${counts.heard === 1 ? 'sends' : 'send'} data. The service does not report silent devices; the setting stream.deviceTimeout changes that.`,
    counts.offline > 0 &&
      `${countText(counts.offline)} ${counts.offline === 1 ? 'is' : 'are'} offline and should be looked at.`,
    counts.silent > 0 &&
      `${countText(counts.silent)} ${counts.silent === 1 ? 'has' : 'have'} sent nothing for a day.`,
    counts.asleep > 0 &&
      `${countText(counts.asleep)} ${counts.asleep === 1 ? 'is' : 'are'} asleep, as announced.`,
    counts.unknown > 0 && `${countText(counts.unknown)} never sent anything.`,
    newest && `The newest data came ${timeAgo(newest)}.`,
  ]
    .filter(Boolean)
    .join(' ');
}
