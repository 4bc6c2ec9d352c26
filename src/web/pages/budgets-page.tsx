import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { Variance } from '../facts/answers.ts';
import { variancePath } from '../facts/budget-columns.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { RARE_MS, useAnswer } from '../facts/use-answer.ts';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { ExactPercent } from '../parts/exact-number.tsx';
import { PageLinks, pageOf } from '../parts/page-links.tsx';
import { PeriodPicker } from '../parts/period-picker.tsx';
import { Empty } from '../parts/states.tsx';
import { countDays, isDay } from '../words/local-days.ts';
import { plural } from '../words/number-words.ts';
import { periodAround, type ShownPeriod } from '../words/periods.ts';
import { periodName } from '../words/time-words.ts';
import { SiteSection } from './site-section.tsx';

const SITES_OF_PAGE = 15;
const DAYS_MAX = 1_100;

/** Budget against actual energy of the sites, month to date, and meters against devices. */
export function BudgetsPage({ query }: { query: Readonly<Record<string, string>> }) {
  const { workgroup, today, sites } = useContext(PageWorkContext);
  const period = periodIn(query, today);
  const metered = sites.filter(({ meters }) => meters > 0);
  const chosen = metered.find(({ name }) => name === query.site) ?? metered[0];
  const link = (change: Readonly<Record<string, string | undefined>>) =>
    linkTo(workgroup.id, 'budgets', { ...query, ...change });
  return (
    <>
      <div class="page-head">
        <h1>Budgets and sites</h1>
        <PeriodPicker
          period={period}
          today={today}
          kinds={['month', 'year']}
          linkTo={({ from, to }) => link({ from, to })}
        />
      </div>
      {!chosen ? (
        <Empty title="No site with meters">
          A site names the meters and the devices that belong together. List <code>sites</code> and{' '}
          <code>meters</code> in the configuration, and upload a budget with <code>wattline budget put</code>.
        </Empty>
      ) : (
        <>
          {metered.length > 1 && (
            <SiteTable
              names={metered.map(({ name }) => name)}
              chosen={chosen.name}
              period={period}
              page={query.page}
              link={link}
            />
          )}
          <SiteSection key={`${chosen.name} ${period.from} ${period.to}`} site={chosen} period={period} />
        </>
      )}
    </>
  );
}

function SiteTable(props: {
  names: readonly string[];
  chosen: string;
  period: ShownPeriod;
  page: string | undefined;
  link(change: Readonly<Record<string, string | undefined>>): string;
}) {
  const { names, chosen, period, link } = props;
  const { shown, page, pages } = pageOf(names, props.page, SITES_OF_PAGE);
  return (
    <section class="card" aria-labelledby="sites">
      <h2 id="sites">All sites</h2>
      <p class="sentence">
        {plural(names.length, 'site')} in {periodName(period)}. The sums count the days that have both actual
        energy and a budget.
      </p>
      <section class="table-block" aria-label="Sites">
        <table>
          <caption class="visually-hidden">Sites</caption>
          <thead>
            <tr>
              <th scope="col">Site</th>
              <th scope="col" class="number">
                Actual
              </th>
              <th scope="col" class="number">
                Budget
              </th>
              <th scope="col" class="number">
                Difference
              </th>
              <th scope="col">Days compared</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((name) => (
              <SiteRow
                key={name}
                name={name}
                isChosen={name === chosen}
                period={period}
                href={link({ site: name })}
              />
            ))}
          </tbody>
        </table>
      </section>
      <PageLinks
        label="Pages of sites"
        pages={pages}
        page={page}
        hrefOf={(one) => link({ page: String(one) })}
      />
    </section>
  );
}

function SiteRow(props: { name: string; isChosen: boolean; period: ShownPeriod; href: string }) {
  const { name, isChosen, period, href } = props;
  const { answer, failure } = useAnswer<Variance>(variancePath(name, period), RARE_MS);
  const total = answer?.total;
  const isCompared = total && total.comparedDays > 0;
  return (
    <tr>
      <th scope="row">
        <a href={href} aria-current={isChosen ? 'true' : undefined}>
          {name}
        </a>
      </th>
      <td class="number" data-title="Actual">
        <EnergyAmount wh={isCompared ? total.actualWh : null} />
      </td>
      <td class="number" data-title="Budget">
        <EnergyAmount wh={isCompared ? total.budgetWh : null} />
      </td>
      <td class="number" data-title="Difference">
        <ExactPercent percent={isCompared ? total.variancePercent : null} />
      </td>
      <td data-title="Days compared">
        {failure && !answer
          ? failure.message
          : !total
            ? '…'
            : total.budgetOfAllDaysWh === 0
              ? 'no budget'
              : `${total.comparedDays} of ${plural(total.elapsedDays, 'past day')}`}
      </td>
    </tr>
  );
}

/** The period of the address, or the current month. */
function periodIn({ from, to }: Readonly<Record<string, string>>, today: string): ShownPeriod {
  if (isDay(from) && isDay(to) && from <= to && countDays(from, to) <= DAYS_MAX) return { from, to };
  return periodAround('month', today);
}
