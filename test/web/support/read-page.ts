import type { Page } from 'playwright-core';

/** A number that is shown rounded, with its exact value. */
export interface ExactNumber {
  /** What it is: `amount` is energy in Wh, `exact-share` a share of 0 to 1. */
  kind: string;
  value: number;
  text: string;
  title: string | null;
}

/** What a page shows in numbers. */
export interface ShownPage {
  /**
   * Every line with a digit: a row of a table, a paragraph, an entry of a list. A rounded number stands in it
   * as its exact value in braces, an instant as its ISO time in angle brackets, and cells are separated by
   * bars. Names for screen readers begin with @.
   */
  lines: string[];
  numbers: ExactNumber[];
}

/** A number. S3 is a name. */
export const hasNumber = (text: string) => /(?<![A-Za-z\d])\d/.test(text);

/** Reads all numbers of a page, except those of axes and of choices that are closed. */
export async function readPage(page: Page): Promise<ShownPage> {
  const { lines, numbers } = await page.locator('main').evaluate(readMain);
  return { lines: lines.filter(hasNumber), numbers };
}

/** It runs in the browser, so it uses nothing of this file. */
function readMain(main: Element): ShownPage {
  const line =
    'tr, li, p, h1, h2, h3, dl > div, summary, figcaption, button, nav a, a.chip, .big, .small-number, .share, .field-name, .period-name, .pager > span, svg text, svg title';
  const notRead = 'option, svg text.axis';
  const textOf = (node: Node, own: Element): string => {
    if (node.nodeType === Node.TEXT_NODE) return (node as Text).data;
    if (!(node instanceof Element) || node.matches(notRead)) return '';
    if (node !== own && node.matches(line)) return '';
    if (node instanceof HTMLDataElement) return `{${node.value}}`;
    if (node instanceof HTMLTimeElement) return `<${node.dateTime}>`;
    if (node instanceof HTMLProgressElement) return `{${node.value}}`;
    return [...node.childNodes]
      .map((child) => textOf(child, own))
      .join(node.matches('tr, dl > div') ? ' | ' : '');
  };
  const squeezed = (text: string) => text.replaceAll(/\s+/g, ' ').trim();
  const lines = [...main.querySelectorAll(line)]
    .filter((element) => !element.closest(notRead))
    .map((element) => textOf(element, element));
  const named = [...main.querySelectorAll('[aria-label]')].map(
    (one) => `@ ${one.getAttribute('aria-label')}`,
  );
  // What stands in no line is unknown to the tests.
  const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  const loose: string[] = [];
  for (let text = texts.nextNode() as Text | null; text; text = texts.nextNode() as Text | null)
    if (!text.parentElement!.closest(`${line}, ${notRead}`)) loose.push(`in no line: ${text.data}`);
  const numbers = [...main.querySelectorAll('data')].map((one) => ({
    kind: one.className,
    value: Number(one.value),
    text: squeezed(one.textContent),
    title: one.getAttribute('title') && squeezed(one.getAttribute('title')!),
  }));
  return { lines: [...lines, ...named, ...loose].map(squeezed), numbers };
}
