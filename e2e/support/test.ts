// What every test gets: a server, and people who are signed in and whose console stays clean.
import { test as base, expect, type Browser, type BrowserContext, type Page } from '@playwright/test';
import { start, type Login, type Server } from './server';

export { expect, type Page };
export { FOREIGN_TEAM, type Login, type Server } from './server';

interface ForTest {
  /** A page in a context of its own, without an account. */
  visitor: Page;
  /** A page of a person; the same one each time a test asks. */
  as: (login: Login) => Promise<Page>;
}

/** A page that is told to be missing or refused is no fault; everything else that a page loads must be there. */
function watch(context: BrowserContext, faults: string[]): void {
  context.on('console', message => {
    const ofAnswer = message.text().startsWith('Failed to load resource: the server responded with a status of');
    if (message.type() === 'error' && !ofAnswer) faults.push(`console of ${message.page()?.url()}: ${message.text()}`);
  });
  context.on('weberror', error => faults.push(`script error: ${error.error().message}`));
  context.on('response', response => {
    const request = response.request();
    if (response.status() >= 500 || (response.status() >= 400 && request.resourceType() !== 'document'))
      faults.push(`${request.method()} ${response.url()} answered ${response.status()}`);
  });
  context.on('requestfailed', request => {
    // A question of the fit check that the next page made needless.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') faults.push(`${request.url()} failed`);
  });
}

export async function signIn(page: Page, login: string, password: string): Promise<void> {
  await page.getByLabel('Login').fill(login);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Contexts of a test. */
class Contexts {
  private readonly open: BrowserContext[] = [];
  private readonly people = new Map<Login, Promise<Page>>();
  readonly faults: string[] = [];

  constructor(
    private readonly browser: Browser,
    private readonly server: Server,
    private readonly options: { javaScriptEnabled?: boolean },
  ) {}

  async page(): Promise<Page> {
    const context = await this.browser.newContext({ ...this.options, baseURL: this.server.url });
    watch(context, this.faults);
    this.open.push(context);
    return context.newPage();
  }

  as(login: Login): Promise<Page> {
    const known = this.people.get(login);
    if (known) return known;
    const made = this.page().then(async page => {
      await page.goto('/sign-in');
      await signIn(page, login, this.server.passwords[login]);
      await expect(page.getByRole('heading', { level: 1 })).toHaveText(`Hello, Demo ${login}`);
      return page;
    });
    this.people.set(login, made);
    return made;
  }

  async close(): Promise<void> {
    for (const context of this.open) await context.close();
  }
}

export const test = base.extend<ForTest & { contexts: Contexts }, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = await start();
      await use(server);
      await server.stop();
    },
    { scope: 'worker', timeout: 120_000 },
  ],
  contexts: async ({ browser, server, javaScriptEnabled }, use) => {
    const contexts = new Contexts(browser, server, { javaScriptEnabled });
    await use(contexts);
    await contexts.close();
    expect(contexts.faults, 'the browser complained').toEqual([]);
  },
  visitor: async ({ contexts }, use) => use(await contexts.page()),
  as: async ({ contexts }, use) => use(login => contexts.as(login)),
});
