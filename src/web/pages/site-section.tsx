import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { DeviceStatuses, Reconciliation, Variance } from '../facts/answers.ts';
import {
  actualSeries,
  budgetColumns,
  daysLeftOut,
  incompleteDays,
  type LeftOut,
  newestDays,
  variancePath,
} from '../facts/budget-columns.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { deviceName } from '../facts/series.ts';
import { RARE_MS, SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { ExactPercent, ExactPercentBeside } from '../parts/exact-number.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { BarFigure } from '../pictures/bar-figure.tsx';
import { shiftDay } from '../words/local-days.ts';
import { listWords, plural } from '../words/number-words.ts';
import type { ShownPeriod } from '../words/periods.ts';
import { inPeriod, longDay, periodName } from '../words/time-words.ts';
import { BudgetTable, ReconciliationTable } from './site-tables.tsx';

/** One site: its energy against its budget, and its meters against its devices. */
export function SiteSection(props: { site: { name: string; devices: number }; period: ShownPeriod }) {
  const { site, period } = props;
  const variance = useAnswer<Variance>(variancePath(site.name, period), SLOW_MS);
  return (
    <>
      <section class="card" aria-labelledby="budget">
        <h2 id="budget">{site.name}: actual energy against the budget</h2>
        <Shown of={variance} what="the budget" height={420}>
          {(answer) =>
            answer.total.budgetOfAllDaysWh === 0 ? (
              <Empty title="No budget in this period">
                Upload one with <code>wattline budget put</code>, or choose another period.
              </Empty>
            ) : (
              <Budget variance={answer} period={period} />
            )
          }
        </Shown>
      </section>
      {site.devices > 0 && <ReconciliationSection site={site.name} period={period} />}
    </>
  );
}

function Budget({ variance, period }: { variance: Variance; period: ShownPeriod }) {
  const { today } = useContext(PageWorkContext);
  const columns = budgetColumns(variance, period, today);
  const leftOut = daysLeftOut(variance, today);
  const isRunning = period.to >= today;
  return (
    <>
      <BarFigure
        sentence={<BudgetSentence variance={variance} period={period} daysToLookAt={leftOut.length} />}
        label={`Actual energy and budget, ${periodName(period)}`}
        columns={columns}
        series={actualSeries}
        height={240}
        wholeName={isRunning ? `${periodName(period)}, with today` : periodName(period)}
        referenceName="Budget"
      />
      <Pace total={variance.total} />
      <LeftOutDays title="Days to look at" days={leftOut} />
      <details class="more">
        <summary>The same as a table</summary>
        <BudgetTable variance={variance} period={period} />
      </details>
    </>
  );
}

function BudgetSentence(props: { variance: Variance; period: ShownPeriod; daysToLookAt: number }) {
  const { variance, period, daysToLookAt } = props;
  const { today } = useContext(PageWorkContext);
  const { total, scenario, metersWithoutBudget } = variance;
  return (
    <>
      {total.comparedDays === 0 ? (
        `No day can be compared ${inPeriod(period)}`
      ) : (
        <>
          <EnergyAmount wh={total.actualWh} /> of <EnergyAmount wh={total.budgetWh} /> {inPeriod(period)}
          {period.to >= today && ', up to yesterday'}
        </>
      )}
      {total.variancePercent !== null && (
        <>
          : <ExactPercentBeside percent={total.variancePercent} /> the budget
        </>
      )}
      {scenario && ` (${scenario})`}. {daysToLookAt > 0 && `${plural(daysToLookAt, 'day')} to look at. `}
      {metersWithoutBudget.length > 0 &&
        `Left out, because they have no budget: ${listWords(metersWithoutBudget)}.`}
    </>
  );
}

/** How much of the budget of the whole period is reached. */
function Pace({ total }: { total: Variance['total'] }) {
  const { actualWh, budgetToDateWh, budgetOfAllDaysWh } = total;
  const most = Math.max(actualWh, budgetOfAllDaysWh);
  const at = (wh: number) => Math.max(0, (wh / most) * 100);
  return (
    <div class="pace">
      <svg viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">
        <rect class="pace-ground" width="100" height="14" />
        <rect class="pace-actual" width={at(actualWh)} height="14" />
        <line class="pace-due" x1={at(budgetToDateWh)} x2={at(budgetToDateWh)} y1="0" y2="14" />
      </svg>
      <p class="pace-words">
        <span>
          Actual <EnergyAmount wh={actualWh} />
        </span>
        <span>
          Line: budget of the past days <EnergyAmount wh={budgetToDateWh} />
        </span>
        <span>
          Budget of all days <EnergyAmount wh={budgetOfAllDaysWh} />
        </span>
      </p>
    </div>
  );
}

function ReconciliationSection({ site, period }: { site: string; period: ShownPeriod }) {
  const { today } = useContext(PageWorkContext);
  const last = period.to < today ? period.to : shiftDay(today, -1);
  const reconciliation = useAnswer<Reconciliation>(
    period.from <= last &&
      `sites/${encodeURIComponent(site)}/reconciliation?startDate=${period.from}&endDate=${last}`,
    SLOW_MS,
  );
  const statuses = useAnswer<DeviceStatuses>('device-status', RARE_MS);
  if (period.from > last) return null;
  return (
    <section class="card" aria-labelledby="reconciliation">
      <h2 id="reconciliation">{site}: meters against devices</h2>
      <Shown of={reconciliation} what="the reconciliation" height={160}>
        {(answer) => {
          const { total } = answer;
          const incomplete = incompleteDays(answer, today, (device) => deviceName(device, statuses.answer));
          return (
            <>
              <ReconciliationSentence total={total} />
              <LeftOutDays title="Incomplete days, which are not compared" days={incomplete} />
              {total.completeDays > 0 && (
                <details class="more">
                  <summary>Each day</summary>
                  <ReconciliationTable answer={answer} site={site} from={period.from} to={last} />
                </details>
              )}
            </>
          );
        }}
      </Shown>
    </section>
  );
}

function ReconciliationSentence({ total }: { total: Reconciliation['total'] }) {
  return (
    <p class="sentence">
      {total.completeDays === 0 ? (
        `${total.days === 1 ? 'The day is not' : `None of ${plural(total.days, 'day')} is`} complete, so there is nothing to compare.`
      ) : (
        <>
          The meters have <EnergyAmount wh={total.metersWh} />, the devices{' '}
          <EnergyAmount wh={total.devicesWh} />: a difference of <EnergyAmount wh={total.differenceWh} />
          {total.differencePercent !== null && (
            <>
              {' '}
              (<ExactPercent percent={total.differencePercent} />)
            </>
          )}{' '}
          over {total.completeDays} of {plural(total.days, 'day')}.
        </>
      )}
    </p>
  );
}

/** A list of days that are left out, each with the reason. */
function LeftOutDays({ title, days }: { title: string; days: readonly LeftOut[] }) {
  const { workgroup } = useContext(PageWorkContext);
  if (days.length === 0) return null;
  const { named, earlier } = newestDays(days);
  return (
    <>
      <h3>{title}</h3>
      <ul class="plain">
        {named.map(({ day, reason }) => (
          <li key={day}>
            <a href={linkTo(workgroup.id, 'day', { day })}>{longDay(day)}</a>: {reason}
          </li>
        ))}
      </ul>
      {earlier > 0 && <p class="muted">And {plural(earlier, 'earlier day')}.</p>}
    </>
  );
}
