import { useEffect, useState } from 'preact/hooks';

export const pageNames = [
  'overview',
  'energy',
  'day',
  'quality',
  'devices',
  'budgets',
  'exports',
  'pipeline',
  'configuration',
  'why',
] as const;
export type PageName = (typeof pageNames)[number];

/**
 * What the page shows, as the part of the URL behind `#`. So each view can be sent as a link, and the "back"
 * button of the browser works.
 */
export interface Address {
  workgroup: string | undefined;
  page: PageName;
  query: Readonly<Record<string, string>>;
}

/** `#/home/energy?from=2026-11-01&to=2026-11-30` */
export function parseAddress(hash: string): Address {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [workgroup, page] = path.split('/').map(decodeURIComponentSafely);
  return {
    workgroup: workgroup || undefined,
    page: pageNames.find((name) => name === page) ?? 'overview',
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

/** @param query members that are undefined are left out */
export function linkTo(
  workgroup: string,
  page: PageName,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const parameters = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const search = new URLSearchParams(parameters).toString();
  return `#/${encodeURIComponent(workgroup)}/${page}${search && `?${search}`}`;
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

export function useAddress(): Address {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const read = () => setHash(location.hash);
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return parseAddress(hash);
}

/**
 * The token of a link such as `#token=...`. It is removed from the address at once, so it does not stay in
 * the history.
 */
export function takeLinkedToken(): string | undefined {
  const match = /^#\/?token=([^&]+)$/.exec(location.hash);
  if (!match) return undefined;
  history.replaceState(null, '', location.pathname + location.search);
  return decodeURIComponentSafely(match[1]!);
}
