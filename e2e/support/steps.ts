// What people do on several pages.
import { expect, type Page } from './test';

export interface Wish {
  offering: string;
  nodes: number;
  perNode: number;
  purpose?: string;
}

/** Fills the request form that is open. */
export async function fill(page: Page, wish: Wish): Promise<void> {
  await page.getByRole('radio', { name: wish.offering }).check();
  await page.getByLabel('Nodes', { exact: true }).fill(String(wish.nodes));
  await page.getByLabel('On each node').fill(String(wish.perNode));
  if (wish.purpose) await page.getByLabel('What for').fill(wish.purpose);
}

/** Sends a request for a team and stays on its page. */
export async function send(page: Page, team: string, wish: Wish): Promise<void> {
  await page.goto(`/teams/${team}/requests/new`);
  await fill(page, wish);
  await page.getByRole('button', { name: 'Send the request' }).click();
  await expect(page.getByRole('status')).toContainText('it waits for approval');
}

/** The line of the inbox with this purpose. */
export function line(page: Page, purpose: string) {
  return page.getByRole('main').getByRole('listitem').filter({ hasText: purpose });
}

/** Loads the page again until it says so: a job has to run first. */
export async function reloadUntil(page: Page, seen: () => Promise<void>): Promise<void> {
  await expect(async () => {
    await page.reload();
    await seen();
  }).toPass({ timeout: 60_000, intervals: [500, 1000, 2000] });
}
