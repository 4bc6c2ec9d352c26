import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { cannotBeRead } from '../../lib/errors.ts';
import type { Terminal } from '../../service/terminal.ts';
import { commandLineError } from '../command-line-error.ts';
import { runWithoutConfig } from '../run-service.ts';

interface McpOptions {
  url: string;
  tokenFile: string;
  workgroup?: string;
}

export function addMcpCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('mcp')
    .description(
      'answer the questions of an assistant over standard input and output (Model Context Protocol)',
    )
    .option('--url <url>', 'the address of the service', 'http://127.0.0.1:8080')
    .requiredOption('--token-file <file>', 'a file with a token that has search:read')
    .option(
      '-w, --workgroup <id>',
      'the workgroup of questions without a workgroup (default: the only one of the token)',
    )
    .addHelpText('after', help)
    .action(({ url, tokenFile, workgroup }: McpOptions) =>
      runWithoutConfig(command, terminal, async ({ signal }) => {
        const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio');
        const { createMcpServer } = await import('../../mcp/create-mcp-server.ts');
        const { createReportClient } = await import('../../report-client/report-client.ts');
        const token = readToken(resolve(terminal.cwd, tokenFile));
        const options = { url, token, ...(workgroup !== undefined && { workgroup }) };
        // A wrong address is an error at the start, and not only at the first question.
        createReportClient({ ...options, workgroup: workgroup ?? '-' });
        const transport = new StdioServerTransport(process.stdin, process.stdout, {
          maxBufferSize: MESSAGE_BYTES_MAX,
        });
        const whenEnded = new Promise<void>((resolve) => {
          process.stdin.once('close', resolve).once('end', resolve);
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
        const served = serveStdio(() => createMcpServer(options), { transport, maxSubscriptions: 0 });
        await whenEnded;
        await served.close();
        process.stdin.destroy();
      }),
    );
}

function readToken(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw commandLineError('--token-file', `${path} ${cannotBeRead(error)}`);
  }
}

/** A question to a tool is far smaller. */
const MESSAGE_BYTES_MAX = 64 * 1024;

const help = `
The page docs/mcp.md has the settings of usual assistants. All tools only read.

Examples:
  wattline mcp --url http://127.0.0.1:8080 --token-file assistant.token`;
