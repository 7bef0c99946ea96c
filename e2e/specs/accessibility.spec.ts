// Every page in both themes against axe's rules, and on a narrow screen.
import AxeBuilder from '@axe-core/playwright';
import { expect, test, type Login, type Page } from '../support/test';

/** The first link of a page whose address is of this form. */
async function first(page: Page, from: string, form: RegExp): Promise<string> {
  await page.goto(from);
  const all = await page.getByRole('main').getByRole('link').evaluateAll(links => links.map(link => link.getAttribute('href') ?? ''));
  const found = all.find(href => form.test(href));
  if (!found) throw new Error(`${from} links nothing like ${form}`);
  return found;
}

const request = (page: Page) => first(page, '/teams/robotics/requests', /\/requests\/[0-9A-Z]{26}$/);
const grant = (page: Page) => first(page, '/teams/vision', /\/grants\/[0-9A-Z]{26}$/);

const PAGES: [Login, (string | ((page: Page) => Promise<string>))[]][] = [
  ['lead', ['/', '/catalogue', '/teams/vision', grant, '/teams/vision/members', '/teams/vision/manifests']],
  ['member', ['/teams/speech', '/teams/robotics/requests', '/teams/robotics/requests/new', request, '/nothing']],
  ['admin', ['/inbox', request, '/admin', '/admin/fleet', '/admin/audit']],
];

async function serious(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations
    .filter(found => found.impact === 'serious' || found.impact === 'critical')
    .flatMap(found => found.nodes.map(node => `${found.id}: ${node.html.slice(0, 200)} ${node.failureSummary ?? ''}`));
}

for (const theme of ['light', 'dark'] as const) {
  test.describe(`${theme} theme`, () => {
    test('sign in', async ({ visitor, server }) => {
      await visitor.context().addCookies([{ name: 'theme', value: theme, url: server.url }]);
      await visitor.goto('/sign-in');
      await expect(visitor.locator('html')).toHaveAttribute('data-theme', theme);
      expect(await serious(visitor)).toEqual([]);
    });
    for (const [login, paths] of PAGES) {
      test(`pages of ${login}`, async ({ as, server }) => {
        const page = await as(login);
        await page.context().addCookies([{ name: 'theme', value: theme, url: server.url }]);
        for (const place of paths) {
          const path = typeof place === 'string' ? place : await place(page);
          await page.goto(path);
          await expect(page.locator('html')).toHaveAttribute('data-theme', theme);
          // What is folded is read too.
          await page.getByRole('main').locator('details').evaluateAll(all => all.forEach(one => one.setAttribute('open', '')));
          expect.soft(await serious(page), path).toEqual([]);
        }
      });
    }
  });
}

for (const [login, paths] of PAGES) {
  test(`pages of ${login} fit a telephone`, async ({ as }) => {
    const page = await as(login);
    await page.setViewportSize({ width: 390, height: 844 });
    for (const place of paths) {
      const path = typeof place === 'string' ? place : await place(page);
      await page.goto(path);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect.soft(wider, `${path} is wider than the screen by`).toBeLessThanOrEqual(0);
    }
  });
}
