// Coming and going.
import { expect, signIn, test } from '../support/test';

test('a wrong password is refused in words that tell nothing', async ({ visitor, server }) => {
  const refusals: string[] = [];
  for (const login of ['member', 'nobody-of-this-name']) {
    await visitor.goto('/sign-in');
    await signIn(visitor, login, 'not the password of anyone');
    const alert = visitor.getByRole('alert');
    await expect(alert).toBeVisible();
    await expect(visitor.getByLabel('Login')).toHaveValue(login);
    await expect(visitor.getByLabel('Password')).toHaveValue('');
    refusals.push(await alert.innerText());
  }
  expect(refusals[0]).toBe(refusals[1]);
  await signIn(visitor, 'member', server.passwords.member);
  await expect(visitor.getByRole('heading', { level: 1 })).toHaveText('Hello, Demo member');
});

test('who signs in comes to the page that they wanted, and sign out ends it', async ({ visitor, server }) => {
  await visitor.goto('/teams/vision/manifests');
  await expect(visitor).toHaveURL(/\/sign-in\?next=/);
  await signIn(visitor, 'member', server.passwords.member);
  await expect(visitor).toHaveURL('/teams/vision/manifests');
  const before = await visitor.context().cookies();

  await visitor.getByRole('button', { name: 'Sign out' }).click();
  await expect(visitor).toHaveURL('/sign-in');
  await visitor.goto('/teams/vision/manifests');
  await expect(visitor).toHaveURL(/\/sign-in\?next=/);
  // The old cookie opens nothing either.
  await visitor.context().addCookies(before);
  await visitor.goto('/teams/vision');
  await expect(visitor).toHaveURL(/\/sign-in\?next=/);
});

test('nobody is led to another site', async ({ visitor, server }) => {
  await visitor.goto('/sign-in?next=//example.org/');
  await signIn(visitor, 'auditor', server.passwords.auditor);
  await expect(visitor).toHaveURL('/');
  await expect(visitor.getByRole('heading', { level: 1 })).toHaveText('Hello, Demo auditor');
});

test('the colours that were chosen stay', async ({ as }) => {
  const member = await as('member');
  const dark = member.getByRole('button', { name: 'Dark' });
  await dark.click();
  await expect(dark).toHaveAttribute('aria-pressed', 'true');
  await expect(member.locator('html')).toHaveAttribute('data-theme', 'dark');
  await member.goto('/catalogue');
  await expect(member.locator('html')).toHaveAttribute('data-theme', 'dark');
  await member.getByRole('button', { name: 'Light' }).click();
  await expect(member.locator('html')).toHaveAttribute('data-theme', 'light');
});

test('an auditor reads everything and changes nothing', async ({ as }) => {
  const auditor = await as('auditor');
  for (const path of ['/admin', '/admin/fleet', '/admin/audit', '/teams/vision', '/teams/vision/manifests']) {
    const page = await auditor.goto(path);
    expect(page!.status(), path).toBe(200);
  }
  await auditor.goto('/inbox');
  const waits = auditor.getByRole('main').getByRole('listitem').filter({ hasText: 'Demo member' }).first();
  await expect(waits).toContainText('An approver decides it.');
  await expect(auditor.getByRole('button', { name: /^(Approve|Deny)/ })).toHaveCount(0);
  await auditor.goto('/admin/audit?action=request.approve');
  await expect(auditor.getByRole('table')).toContainText('request.approve');
  await expect(auditor.getByRole('table')).not.toContainText('request.submit');
});
