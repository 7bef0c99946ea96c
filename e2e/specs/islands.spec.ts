// What scripts add.
import { fill } from '../support/steps';
import { expect, test } from '../support/test';

test('the answer follows what is typed', async ({ as }) => {
  const member = await as('member');
  await member.goto('/teams/vision/requests/new?offering=a100-2g-20gb');
  const panel = member.getByRole('complementary');
  await expect(panel).toContainText('It fits.');
  await fill(member, { offering: 'A100 2g.20gb', nodes: 1, perNode: 9 });
  await expect(panel).toContainText('It does not fit now.');
  await expect(panel).toContainText('Shape');
  await member.getByLabel('On each node').fill('8');
  await expect(panel).toContainText('It fits.');
  await fill(member, { offering: 'H100', nodes: 1, perNode: 2 });
  await expect(panel).toContainText('6 × H100 stay free after it.');
});

test('a choice without scripts does not stand in the way of one with them', async ({ as }) => {
  const member = await as('member');
  const csrf = await member.locator('input[name=csrf]').first().inputValue();
  const origin = new URL(member.url()).origin;
  await member.request.post('/theme', { form: { csrf, theme: 'light', back: '/' }, headers: { origin } });
  await member.goto('/');
  await expect(member.locator('html')).toHaveAttribute('data-theme', 'light');
  await expect(async () => {
    await member.getByRole('button', { name: 'Dark' }).click();
    await expect(member.locator('html')).toHaveAttribute('data-theme', 'dark', { timeout: 500 });
  }).toPass();
  await member.goto('/catalogue');
  await expect(member.locator('html')).toHaveAttribute('data-theme', 'dark');
});

test('YAML is copied as it stands', async ({ as, server }) => {
  const member = await as('member');
  await member.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: server.url });
  await member.goto('/teams/vision/manifests');
  const quota = member.getByRole('main').getByRole('group').filter({ hasText: 'ResourceQuota' });
  await quota.locator('summary').first().click();
  await quota.getByRole('button', { name: 'Copy' }).click();
  await expect(quota.getByRole('button', { name: 'Copied' })).toBeVisible();
  const copied = await member.evaluate(() => navigator.clipboard.readText());
  expect(copied).toBe(await quota.locator('pre').first().textContent());
  expect(copied).toContain('kind: ResourceQuota');
});
