import { type ComponentChildren, Fragment } from 'preact';
import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { Balances, DayDetails, Profiles } from '../facts/answers.ts';
import {
  type Compared,
  comparedWithUsual,
  firstDayOf,
  lastQuarter,
  missingOfDay,
  sumOfDay,
  sumOfMonth,
  sumOfMonthSoFar,
} from '../facts/overview-facts.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { profileColumns } from '../facts/profile-columns.ts';
import { sumOfKnown } from '../facts/sum-of-known.ts';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { ExactChange, ExactDuration, ExactPower, ExactShare } from '../parts/exact-number.tsx';
import { Spark } from '../pictures/spark.tsx';
import { shiftDay } from '../words/local-days.ts';
import { plural } from '../words/number-words.ts';
import type { BalanceRole } from '../words/role-words.ts';
import { clockTime } from '../words/time-words.ts';

/** Yesterday, today and this month in a few numbers, each compared with what is usual. */
export function OverviewTiles(props: {
  details: DayDetails;
  balances: Balances | undefined;
  roles: ReadonlyMap<string, BalanceRole>;
  profile: Profiles[string] | undefined;
  quarters: Balances | undefined;
  /** True if all days of this month were read. */
  hasMonth: boolean;
}) {
  const { details, balances, roles, profile, quarters, hasMonth } = props;
  const { workgroup, today, zone } = useContext(PageWorkContext);
  const yesterday = shiftDay(today, -1);
  const present = new Set(roles.values());
  const main = (['production', 'consumption', 'grid_import'] as const).find((role) => present.has(role));
  const chosen = (key: string) => main === undefined || roles.get(key) === main;
  const mainWh = (day: string) => sumOfDay(details, day, chosen);
  const ended = comparedWithUsual(mainWh, yesterday);
  const missingMs = missingOfDay(details, yesterday, chosen);
  const name = main === undefined ? 'All sources' : mainNames[main];
  const balance = balances?.[yesterday];
  const used = balances && comparedWithUsual((day) => balances[day]?.consumptionWh, yesterday);
  const month =
    balances && sumOfMonth(balances, today, firstDayOf(details) ?? today, (one) => one.consumptionWh);
  const figure = profileColumns(profile, {
    nameOf: (key) => key,
    roles: new Map(),
    zone,
    nowMs: Date.now(),
    other: undefined,
  });
  const quarter = figure?.columns.map((_, index) => sumOfInterval(profile!, index, chosen)) ?? [];
  return (
    <div class="tiles area-tiles">
      <Tile title="Yesterday" href={linkTo(workgroup.id, 'day', { day: yesterday })}>
        <MainNumber label={name} compared={ended} missingMs={missingMs} />
        {main !== 'consumption' && used && used.wh !== null && (
          <MainNumber label="Used" compared={used} isSmall />
        )}
      </Tile>
      <Tile title="Today so far" href={linkTo(workgroup.id, 'day', { day: today })}>
        <div class="big">
          <EnergyAmount wh={mainWh(today)} /> <span class="big-label">{name.toLowerCase()}</span>
        </div>
        <Spark values={quarter} tone={main ?? '1'} />
        <LastQuarter last={quarters && lastQuarter(quarters, present)} />
      </Tile>
      {balance && (balance.autarky !== null || balance.selfConsumptionRate !== null) && (
        <Tile title="Yesterday, own use">
          <Share
            label="Autarky"
            share={balance.autarky}
            help="Share of what was used that did not come from the grid"
          />
          <Share
            label="Self-consumption"
            share={balance.selfConsumptionRate}
            help="Share of what was produced that was used here"
          />
        </Tile>
      )}
      {hasMonth && (
        <Tile
          title="This month"
          href={linkTo(workgroup.id, 'energy', { from: `${today.slice(0, 7)}-01`, to: today })}
        >
          <div class="big">
            <EnergyAmount wh={sumOfMonthSoFar(details, today, chosen)} />{' '}
            <span class="big-label">{name.toLowerCase()}</span>
          </div>
          {main !== 'consumption' && month && month.wh !== null && (
            <p class="small-number">
              <EnergyAmount wh={month.wh} /> <span class="big-label">used</span>{' '}
              {month.unknownDays > 0 ? (
                <span class="muted remark">
                  {plural(month.unknownDays, 'day')} {month.unknownDays === 1 ? 'is' : 'are'} not known
                </span>
              ) : (
                !month.hasToday && <span class="muted remark">up to yesterday</span>
              )}
            </p>
          )}
        </Tile>
      )}
    </div>
  );
}

const mainNames = { production: 'Produced', consumption: 'Used', grid_import: 'From the grid' } as const;

function sumOfInterval(
  profile: Profiles[string],
  index: number,
  chosen: (key: string) => boolean,
): number | null {
  return sumOfKnown(
    Object.entries(profile.energyWh).map(([key, values]) => (chosen(key) ? values[index] : null)),
  );
}

/** The power of the last known quarter of an hour. */
function LastQuarter({ last }: { last: ReturnType<typeof lastQuarter> }) {
  const { zone } = useContext(PageWorkContext);
  if (!last) return null;
  const parts: Array<[watts: number | null, words: string]> = [
    [last.productionW, 'produced'],
    [last.consumptionW, 'used'],
    [last.gridImportW, 'from the grid'],
  ];
  return (
    <p class="muted">
      {clockTime(last.startMs, zone)} – {clockTime(last.endMs, zone)}:{' '}
      {parts
        .filter((part): part is [number, string] => part[0] !== null)
        .map(([watts, words], index) => (
          <Fragment key={words}>
            {index > 0 && ', '}
            <ExactPower watts={watts} /> {words}
          </Fragment>
        ))}
    </p>
  );
}

function Tile({ title, href, children }: { title: string; href?: string; children: ComponentChildren }) {
  return (
    <section class="card tile">
      <h2>{href === undefined ? title : <a href={href}>{title}</a>}</h2>
      {children}
    </section>
  );
}

function MainNumber(props: {
  label: string;
  compared: Compared;
  isSmall?: boolean;
  /** How much of the day is not measured. */
  missingMs?: number;
}) {
  const { label, compared, isSmall, missingMs = 0 } = props;
  const { wh, usualWh } = compared;
  const isCompared = wh !== null && usualWh !== undefined && usualWh !== 0;
  return (
    <>
      <div class={isSmall ? 'small-number' : 'big'}>
        <EnergyAmount wh={wh} /> <span class="big-label">{label.toLowerCase()}</span>
      </div>
      {!isSmall && (
        <p class="muted">
          {wh === null ? (
            'No data, which is not zero.'
          ) : isCompared ? (
            <>
              <ExactChange value={wh} reference={usualWh} /> on a usual day.
            </>
          ) : (
            'Too few days to say what is usual.'
          )}
          {wh !== null && missingMs > 0 && (
            <span class="so-far">
              {' '}
              Not measured: <ExactDuration ms={missingMs} /> of the day.
            </span>
          )}
        </p>
      )}
    </>
  );
}

function Share({ label, share, help }: { label: string; share: number | null; help: string }) {
  return (
    <div class="share" title={help}>
      <span class="share-name">{label}</span>{' '}
      <strong class="share-value">
        <ExactShare share={share} />
      </strong>
      <svg class="share-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect class="share-ground" width="100" height="6" />
        <rect class="share-fill" width={Math.max(0, Math.min(1, share ?? 0)) * 100} height="6" />
      </svg>
    </div>
  );
}
