import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { DeviceList, MeterList, SiteList } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { RARE_MS, useAnswer } from '../facts/use-answer.ts';
import { DataTable } from '../parts/data-table.tsx';
import { Shown } from '../parts/states.tsx';
import { identifierWords } from '../words/identifier-words.ts';
import { plural } from '../words/number-words.ts';
import { longDay } from '../words/time-words.ts';

/** The settings in force: the zone, devices with their roles, meters and sites. */
export function ConfigurationInForce() {
  const { zone, workgroup } = useContext(PageWorkContext);
  const devices = useAnswer<DeviceList>('devices', RARE_MS);
  const meters = useAnswer<MeterList>('meters', RARE_MS);
  const sites = useAnswer<SiteList>('sites', RARE_MS);
  return (
    <section class="card" aria-labelledby="in-force">
      <h2 id="in-force">What is in force</h2>
      <Shown of={devices} what="the settings" height={160}>
        {(answer) => {
          const withoutRole = answer.devices.filter(({ sources }) =>
            sources.every(({ role, negativeRole }) => role === null && negativeRole === null),
          ).length;
          const roles = answer.devices.flatMap(({ id, name, sources }) =>
            sources.map((source) => ({ ...source, id, device: name ?? id.slice(0, 8) })),
          );
          return (
            <>
              <p class="sentence">
                Days are those of {zone}.{' '}
                {[
                  plural(answer.devices.length, 'device'),
                  meters.answer && plural(meters.answer.meters.length, 'meter'),
                  sites.answer && plural(sites.answer.sites.length, 'site'),
                ]
                  .filter(Boolean)
                  .join(', ')}
                .{' '}
                {withoutRole > 0 &&
                  `${plural(withoutRole, 'device')} ${withoutRole === 1 ? 'has' : 'have'} no role, so the balance does not contain ${withoutRole === 1 ? 'it' : 'them'}.`}
              </p>
              <details class="more">
                <summary>Devices and the roles of their sources ({roles.length})</summary>
                <DataTable
                  caption="Sources and their roles"
                  rows={roles.map((role, index) => ({ ...role, index }))}
                  keyOf={({ index }) => String(index)}
                  columns={[
                    {
                      title: 'Device',
                      cell: ({ id, device }) => (
                        <a href={linkTo(workgroup.id, 'devices', { device: id })}>{device}</a>
                      ),
                    },
                    { title: 'Source', cell: ({ source }) => source },
                    { title: 'Role', cell: ({ role }) => identifierWords(role ?? 'none') },
                    {
                      title: 'Role of negative energy',
                      cell: ({ negativeRole }) => identifierWords(negativeRole ?? ''),
                    },
                    { title: 'Valid', cell: ({ from, to }) => validWords(from, to) },
                  ]}
                />
              </details>
            </>
          );
        }}
      </Shown>
      {meters.answer && meters.answer.meters.length > 0 && (
        <details class="more">
          <summary>Meters ({meters.answer.meters.length})</summary>
          <DataTable
            caption="Meters"
            rows={meters.answer.meters}
            keyOf={({ code }) => code}
            columns={[
              { title: 'Code', cell: ({ code }) => code },
              { title: 'Name', cell: ({ name }) => name ?? '' },
              {
                title: 'Read from',
                cell: ({ device, source }) =>
                  device === null
                    ? 'uploads'
                    : [nameOf(devices.answer, device), source].filter(Boolean).join(' · '),
              },
              { title: 'Sites', cell: ({ sites: names }) => names.join(', ') },
            ]}
          />
        </details>
      )}
      {sites.answer && sites.answer.sites.length > 0 && (
        <details class="more">
          <summary>Sites ({sites.answer.sites.length})</summary>
          <DataTable
            caption="Sites"
            rows={sites.answer.sites}
            keyOf={({ name }) => name}
            columns={[
              { title: 'Site', cell: ({ name }) => name },
              { title: 'Meters', cell: ({ meters: codes }) => codes.join(', ') },
              {
                title: 'Devices',
                cell: ({ devices: members }) =>
                  members.map(({ id, name }) => name ?? id.slice(0, 8)).join(', '),
              },
            ]}
          />
        </details>
      )}
    </section>
  );
}

function nameOf(list: DeviceList | undefined, device: string): string {
  return list?.devices.find(({ id }) => id === device)?.name ?? device.slice(0, 8);
}

function validWords(from: string | null, to: string | null): string {
  if (from === null && to === null) return 'always';
  return [from && `from ${longDay(from)}`, to && `until ${longDay(to)}`].filter(Boolean).join(' ');
}
