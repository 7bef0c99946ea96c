// A server with the demo, in a folder and on a port of its own.
import { spawn, execFileSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binary, site } from './paths';

/** The demo has six teams with people; a seventh has nobody. */
export const FOREIGN_TEAM = 'team-0007';

const LOGINS = ['admin', 'approver', 'auditor', 'lead', 'member'] as const;
export type Login = (typeof LOGINS)[number];

export interface Server {
  url: string;
  passwords: Record<Login, string>;
  /** Subject and changed files of each commit of the manifests' repository, newest first. */
  log(): string;
  /** A file of the newest commit. */
  file(path: string): string;
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Settings of the caller's own server must not reach this one. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GPUAAS_')));
}

/** Resolves with what the server printed up to the line that says where it listens. */
function ready(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let out = '';
    let log = '';
    const late = setTimeout(() => reject(new Error(`the server is not ready after 90 s:\n${out}${log}`)), 90_000);
    child.stderr!.setEncoding('utf8').on('data', text => (log = (log + text).slice(-20_000)));
    child.stdout!.setEncoding('utf8').on('data', text => {
      out += text;
      if (!out.includes('listens at')) return;
      clearTimeout(late);
      resolve(out);
    });
    child.once('error', reject);
    child.once('exit', code => {
      clearTimeout(late);
      reject(new Error(`the server ended with ${code}:\n${out}${log}`));
    });
  });
}

/** Starts it and waits until it answers. */
export async function start(): Promise<Server> {
  const data = mkdtempSync(join(tmpdir(), 'gpuaas-e2e-'));
  const listen = `127.0.0.1:${await freePort()}`;
  const flags = ['serve', '--demo', '--demo-teams', '7', '--data', data, '--listen', listen, '--site', site()];
  const child = spawn(binary(), flags, { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      const hard = setTimeout(() => child.kill('SIGKILL'), 15_000);
      child.kill('SIGTERM');
      await ended;
      clearTimeout(hard);
    }
    rmSync(data, { recursive: true, force: true });
  };
  const git = (...words: string[]) =>
    execFileSync('git', ['--git-dir', join(data, 'manifests.git'), ...words], { encoding: 'utf8' });
  try {
    const printed = await ready(child);
    const passwords = Object.fromEntries(
      LOGINS.map(login => {
        const found = new RegExp(`^\\s*${login}\\s+(\\S+)$`, 'm').exec(printed);
        if (!found) throw new Error(`the demo printed no password for ${login}:\n${printed}`);
        return [login, found[1]];
      }),
    ) as Record<Login, string>;
    return {
      url: `http://${listen}`,
      passwords,
      log: () => git('log', '--name-only', '--format=commit %s'),
      file: path => git('show', `HEAD:${path}`),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
