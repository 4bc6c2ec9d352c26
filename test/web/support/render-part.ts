import { parseDocument } from 'htmlparser2';
import { type ComponentType, h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { type PageWork, PageWorkContext } from '../../../src/web/facts/page-work.ts';

type Parsed = ReturnType<typeof parseDocument>['children'][number];
type Element = Extract<Parsed, { attribs: unknown }>;

/** A part of the page as it is drawn, without a browser. Nothing is asked, and nothing can be clicked. */
export interface RenderedPart {
  /**
   * What a person sees, line by line: a row of a table, a paragraph, an entry of a list.
   *
   * - Cells are separated by bars.
   * - Braces have the exact value of a rounded number, or the address of a link.
   * - Angle brackets have the hint of a text, and the name for screen readers.
   * - Square brackets have a button, a field and its value, and a state that a sign shows.
   */
  lines: string[];
  /** The attributes of all elements of a kind, such as the `rect` of a picture. */
  elements(tag: string): Array<Record<string, string>>;
}

// Node has no screen. Parts are drawn as on a wide one.
globalThis.matchMedia ??= (media) =>
  Object.assign(new EventTarget(), { media, matches: false }) as MediaQueryList;

/** What parts of a page know, unless a test says otherwise. */
const work: PageWork = {
  token: 'token',
  subject: 'ada',
  workgroup: {
    id: 'home',
    maySeeAll: true,
    mayCorrect: true,
    mayOperate: true,
    mayAudit: true,
  },
  root: 'api/v1/orgs/home/',
  zone: 'Europe/Berlin',
  meters: [],
  sites: [],
  today: '2026-05-17',
  keptAnswers: new Map(),
  onSignedOut: () => undefined,
};

/**
 * Draws a part of the page.
 * @param answers what the service has answered, by path below the workgroup; all others are still awaited
 * @param changed what differs from a token that may do everything in the workgroup `home`
 */
export function renderPart<Props extends object>(
  Part: ComponentType<Props>,
  props: NoInfer<Props>,
  answers: Readonly<Record<string, unknown>> = {},
  changed: Partial<PageWork> = {},
): RenderedPart {
  const given = { ...work, ...changed };
  const keptAnswers = new Map(
    Object.entries(answers).map(([path, answer]) => [given.root + path, { answer }]),
  );
  const html = renderToString(
    h(PageWorkContext.Provider, { value: { ...given, keptAnswers }, children: h(Part, props) }),
  );
  const { children } = parseDocument(html);
  return { lines: linesOf(children), elements: (tag) => elementsOf(children, tag) };
}

function elementsOf(nodes: readonly Parsed[], tag: string): Array<Record<string, string>> {
  return nodes.flatMap((node) =>
    isElement(node)
      ? [...(node.name === tag ? [{ ...node.attribs }] : []), ...elementsOf(node.children, tag)]
      : [],
  );
}

const blocks = new Set(
  'address article dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 header label legend li main nav ol p section select svg summary table tbody tfoot thead tr ul'.split(
    ' ',
  ),
);

function linesOf(nodes: readonly Parsed[]): string[] {
  const lines = [''];
  const write = (text: string) => {
    lines[lines.length - 1] += text;
  };
  const read = (node: Parsed): void => {
    if (node.type === 'text') write(node.data);
    if (!isElement(node)) return;
    const { name, attribs } = node;
    // A picture that screen readers skip stands in a line of text.
    const isBlock = blocks.has(name) && !(name === 'svg' && attribs['aria-hidden']);
    if (isBlock) lines.push('');
    write(before(node));
    for (const [index, child] of node.children.entries()) {
      if (name === 'tr' && index > 0) write(' | ');
      read(child);
    }
    if (name === 'data') write(` {${attribs.value}}`);
    if (name === 'a') write(` {${attribs.href}}`);
    if (name === 'button') write(`${'disabled' in attribs ? ', disabled' : ''}]`);
    for (const hint of [name === 'data' ? undefined : attribs.title, attribs['aria-label']])
      if (hint) write(` <${hint}>`);
    if (isBlock) lines.push('');
  };
  nodes.forEach(read);
  return lines.map((line) => line.replaceAll(/\s+/g, ' ').trim()).filter(Boolean);
}

/** What is written before the content of an element. */
function before({ name, attribs }: Element): string {
  if (name === 'button') return '[';
  if (name === 'option') return 'selected' in attribs ? ' *' : ' ';
  if (name === 'progress') return `{${attribs.value ?? 'not known'}}`;
  if (name === 'input' || name === 'textarea') {
    const value =
      attribs.type === 'checkbox' || attribs.type === 'radio' ? 'checked' in attribs : attribs.value;
    return `[${attribs.type ?? name}: ${value ?? ''}${'disabled' in attribs ? ', disabled' : ''}]`;
  }
  const state = /\bstate-word-(\w+)/.exec(attribs.class ?? '')?.[1];
  return state === undefined ? '' : `[${state}] `;
}

function isElement(node: Parsed): node is Element {
  return 'attribs' in node;
}
