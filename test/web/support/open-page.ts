import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect, inject, onTestFinished, test } from 'vitest';
import type { Served } from './serve-page.ts';

/** A test in the browser; skipped if there is none. */
export const testPage = test.skipIf(inject('page') === undefined);

export function served(): Served {
  return inject('page')!;
}

/** What must never happen on a page. */
export interface Watched {
  page: Page;
  /**
   * Errors of the console, uncaught errors, breaches of the content security policy, and requests to other
   * hosts.
   */
  complaints: string[];
  /** The addresses of all requests, with their status. */
  answers: Array<{ url: string; status: number; etag: string | undefined }>;
  /** The number of requests that have no answer yet. */
  inFlight(): number;
}

let connected: Promise<Browser> | undefined;

/** @param options.baseURL another service than that of all tests */
export async function openPage(options: BrowserContextOptions = {}): Promise<Watched> {
  connected ??= chromium.connect(served().browserEndpoint);
  const browser = await connected;
  const home = options.baseURL ?? served().url;
  const context = await browser.newContext({
    baseURL: home,
    viewport: { width: 1280, height: 900 },
    locale: 'en-GB',
    reducedMotion: 'reduce',
    ...options,
  });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  const answers: Watched['answers'] = [];
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`));
  page.on('console', (message) => {
    // An answer with an error status is also reported here. The tests look at the words of the page instead.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(`console: ${message.text()}`);
  });
  let open = 0;
  page.on('requestfinished', () => {
    open -= 1;
  });
  page.on('requestfailed', () => {
    open -= 1;
  });
  page.on('request', (request) => {
    open += 1;
    const { protocol, origin } = new URL(request.url());
    if (origin !== home && protocol !== 'blob:') complaints.push(`another host: ${request.url()}`);
  });
  page.on('response', (response) => {
    answers.push({
      url: response.url(),
      status: response.status(),
      etag: response.request().headers()['if-none-match'],
    });
  });
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => {
      // An uncaught error reaches the test.
      queueMicrotask(() => {
        throw new Error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
      });
    });
  });
  return { page, complaints, answers, inFlight: () => open };
}

/**
 * Opens a view, and pastes a token if nobody is signed in: only this view is loaded, and it asks for nothing
 * twice.
 */
export async function signIn(page: Page, view: string, token = served().token): Promise<void> {
  await page.goto(`/#/${view}`);
  const field = page.getByLabel('API token');
  await field.or(page.locator('header.top')).waitFor();
  if (!(await field.isVisible())) return;
  await field.fill(token);
  await field.press('Enter');
}

/** Waits until nothing of a page is being read. */
export async function untilComplete({ page, inFlight }: Watched): Promise<void> {
  await expect.poll(async () => (await page.locator('main .loading').count()) + inFlight()).toBe(0);
}

/** How often a test looks at a page that it lets ask again: an answer takes a while. */
export const ASKING = { interval: 500 };

/** Lets a page ask for everything again at once, as it does when it becomes visible. */
export async function askAgain(page: Page): Promise<void> {
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
}

/** Asks an endpoint of a workgroup with the token of the tests. */
export async function ask<Answer>(path: string): Promise<Answer> {
  const { url, token } = served();
  const answer = await fetch(`${url}/api/v1/orgs/${path}`, { headers: { Authorization: `Bearer ${token}` } });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Answer;
}
