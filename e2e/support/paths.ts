// Where the programs are that the suite starts.
import { accessSync, constants, readdirSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const target = process.env.CARGO_TARGET_DIR ?? join(root, 'target');

function runs(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The first browser of PATH, by the names that distributions give it. */
export function browser(): string {
  const folders = (process.env.PATH ?? '').split(delimiter);
  for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
    const found = folders.map(folder => join(folder, name)).find(runs);
    if (found) return found;
  }
  throw new Error('no browser on PATH: install chromium');
}

/** The server: GPUAAS_BINARY, else the debug build. */
export function binary(): string {
  const file = resolve(process.env.GPUAAS_BINARY ?? join(target, 'debug/gpuaas'));
  if (!runs(file)) throw new Error(`${file} is not there: cargo build -p gpuaas, or name it in GPUAAS_BINARY`);
  return file;
}

/** The folder of the built pages: GPUAAS_SITE, else the one that .setup/frontend fills. */
export function site(): string {
  const folder = resolve(process.env.GPUAAS_SITE ?? join(target, 'site'));
  let names: string[] = [];
  try {
    names = readdirSync(join(folder, 'pkg'));
  } catch {
    // Told below with what is missing.
  }
  for (const ending of ['.css', '.js', '.wasm', '.svg']) {
    if (!names.some(name => name.endsWith(ending)))
      throw new Error(`${folder}/pkg has no file *${ending}: run .setup/frontend, or name another folder in GPUAAS_SITE`);
  }
  return folder;
}
