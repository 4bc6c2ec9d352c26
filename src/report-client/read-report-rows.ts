import { TerminalError, TransientError } from '../lib/errors.ts';
import type { AnsweredRow } from './client-answers.ts';
import { readNdjsonLines } from './read-ndjson-lines.ts';
import type { Parameters, ReportRequest } from './report-request.ts';

/** The reports that are also answered as rows. */
export type RowReport =
  | 'daily-energy'
  | 'daily-energy/details'
  | 'daily-energy/changes'
  | 'interval-energy'
  | 'quality'
  | 'balance'
  | 'meter-data'
  | 'meter-data/details'
  | 'budget-data'
  | 'budget-data/details'
  | 'device-status'
  | 'devices'
  | 'gaps'
  | 'quarantine'
  | 'audit';

/** The parameter that takes the header `Wattline-Next` of an answer with pages. */
const nextParameters: Readonly<Partial<Record<RowReport, string>>> = {
  'daily-energy/changes': 'page',
  audit: 'before',
};

/**
 * The rows of a report. A page is requested again if its first row does not arrive. A failure after its first
 * row is an error, because the caller has these rows already.
 * @throws TransientError, TerminalError, or the signal's reason
 */
export async function* readReportRows(
  request: ReportRequest,
  report: RowReport,
  parameters: Parameters,
  signal: AbortSignal | undefined,
): AsyncGenerator<AnsweredRow, void> {
  let page: Parameters | undefined = parameters;
  while (page) {
    const idle = createIdleLimit(request.timeoutMs);
    try {
      const response: Response = await request.send(report, page, {
        headers: { accept: 'application/x-ndjson' },
        signal,
        read: async (given) => given,
        limit: idle.begin,
      });
      for await (const line of readNdjsonLines(idle.watch(response.body ?? new ReadableStream())))
        yield rowOf(line, report);
      page = nextPage(report, page, response.headers.get('wattline-next'));
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TransientError || error instanceof TerminalError) throw error;
      throw new TransientError('NetworkFailure', `GET ${report}: the rows ended before their end`);
    } finally {
      idle.end();
    }
  }
}

function nextPage(report: RowReport, parameters: Parameters, next: string | null): Parameters | undefined {
  const name = nextParameters[report];
  if (name === undefined || next === null || next === '') return undefined;
  // A server that repeats a page would be read for ever.
  if (parameters[name] === next)
    throw new TerminalError('NoProgress', `GET ${report}: the server names the same page as the next one`);
  return { ...parameters, [name]: next };
}

function rowOf(line: string, report: RowReport): AnsweredRow {
  try {
    return JSON.parse(line) as AnsweredRow;
  } catch {
    throw new TerminalError('InvalidAnswer', `GET ${report}: a row is not JSON`);
  }
}

/** Aborts if a wait takes too long. The time that the caller needs for rows does not count. */
function createIdleLimit(timeoutMs: number) {
  let controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const wait = () => {
    const current = controller;
    timer = setTimeout(
      () => current.abort(new TransientError('AnswerTimeout', 'no more rows in time')),
      timeoutMs,
    );
  };
  const end = () => clearTimeout(timer);
  return {
    begin(): AbortSignal {
      end();
      controller = new AbortController();
      wait();
      return controller.signal;
    },
    async *watch(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of body) {
        end();
        yield chunk;
        wait();
      }
    },
    end,
  };
}
